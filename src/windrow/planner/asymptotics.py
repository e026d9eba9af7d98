"""Asymptotic comparison of costs, and the bounds from the literature."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from windrow.aggregates import AggregateFunction
from windrow.extras import require

if TYPE_CHECKING:
    from sympy import Expr, Symbol


@dataclass(frozen=True)
class Relation:
    """How one cost grows relative to another: the limit of their ratio."""

    limit: Any

    @property
    def is_at_most(self) -> bool:
        """Whether the first cost is in O of the second: it grows no faster."""
        return bool(self.limit.is_finite)

    @property
    def is_at_least(self) -> bool:
        """Whether the first cost is in Ω of the second: it grows no slower."""
        return not bool(self.limit.is_zero)

    @property
    def is_same(self) -> bool:
        """Whether the first cost is in Θ of the second: both grow alike."""
        return self.is_at_most and self.is_at_least

    def __str__(self) -> str:
        if self.is_same:
            return "Θ"
        return "O" if self.is_at_most else "Ω"


def grows(cost: Expr, other: Expr, as_: Symbol) -> Relation:
    """Compare the growth of two costs as a quantity tends to infinity.

    >>> from windrow.synopses.costs import symbols
    >>> q = symbols()
    >>> (
    ...     str(grows(q.S * 3 + 1, q.R, q.R)),
    ...     str(grows(q.R, q.S * 3 + 1, q.R)),
    ...     str(grows(2 * q.R, q.R, q.R)),
    ... )
    ('O', 'Ω', 'Θ')
    """
    import sympy

    ratio = sympy.sympify(cost) / other
    # Every quantity is at least 1 and every logarithm at least 0; the limit needs to know this.
    others = {symbol: 1 + sympy.Dummy(symbol.name, positive=True) for symbol in ratio.free_symbols - {as_}}
    return Relation(sympy.limit(sympy.simplify(ratio.subs(others)), as_, sympy.oo))


@dataclass(frozen=True)
class Bounds:
    """Lower bounds for an aggregate whose window is stored as aggregates of batches of B values."""

    space: Any
    """Space of all batches, plus the aggregate of the whole window where it is stored."""
    slide: Any
    """Time of all updates in a slide."""
    query: Any
    """Time of one query."""
    tight: bool
    """Whether these are upper bounds as well."""

    @property
    def update(self) -> Any:
        """The time per value, amortised over a slide."""
        import sympy

        return sympy.expand(self.slide / _batch()[1])


@cache
def _batch() -> tuple[Any, Any, Any]:
    require("comparing costs", "studies")
    import sympy

    return tuple(sympy.symbols("R S B", positive=True))


def bounds(*, bounded: bool, differential: bool) -> Bounds:
    """Return the least cost of a window of batches, by the properties of the aggregate (thesis, 3.4.5 to 3.4.10).

    The aggregate of a batch is built by adding its B values one by one. If the aggregate is differential, batches are
    added to and removed from the aggregate of the whole window, so a query is a lookup; otherwise a query visits all
    batches. If it is not bounded, the aggregate of a batch is as large as the batch.

    >>> bounds(bounded=True, differential=True).update
    1 + 4/B
    """
    R, S, B = _batch()  # noqa: N806
    space = R / B + 1 if bounded else R
    if differential:
        return Bounds(space, S / B * (B + 1 + 1) + S / B * (1 + 1), R**0, tight=bounded)
    if bounded:
        return Bounds(space, S / B * (B + 1) + S / B, R / B, tight=False)
    return Bounds(space, S / B * B + S / B * B, R, tight=False)


def bounds_of(aggregate: AggregateFunction) -> Bounds:
    """Return the bounds for an aggregate, by the properties it declares."""
    return bounds(bounded=aggregate.bounded, differential=aggregate.invertible)
