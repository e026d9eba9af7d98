"""Which of two costs grows faster, and the bounds of the literature."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from windrow.aggregates import AggregateFunction

if TYPE_CHECKING:
    from sympy import Expr, Symbol


@dataclass(frozen=True)
class Relation:
    """How one cost grows beside another: by the limit of their ratio."""

    limit: Any

    @property
    def is_at_most(self) -> bool:
        """Whether the first is in O of the second: it grows no faster."""
        return bool(self.limit.is_finite)

    @property
    def is_at_least(self) -> bool:
        """Whether the first is in Ω of the second: it grows no slower."""
        return not bool(self.limit.is_zero)

    @property
    def is_same(self) -> bool:
        """Whether the first is in Θ of the second: both grow alike."""
        return self.is_at_most and self.is_at_least

    def __str__(self) -> str:
        if self.is_same:
            return "Θ"
        return "O" if self.is_at_most else "Ω"


def grows(cost: Expr, beside: Expr, as_: Symbol) -> Relation:
    """How a cost grows beside another as a quantity grows without bound.

    >>> q = symbols()
    >>> str(grows(q.S * 3 + 1, q.R, q.R)), str(grows(q.R, q.S * 3 + 1, q.R)), str(grows(2 * q.R, q.R, q.R))
    ('O', 'Ω', 'Θ')
    """
    import sympy

    ratio = sympy.sympify(cost) / beside
    # All quantities are at least 1, and logarithms at least 0, which a limit must know.
    others = {symbol: 1 + sympy.Dummy(symbol.name, positive=True) for symbol in ratio.free_symbols - {as_}}
    return Relation(sympy.limit(sympy.simplify(ratio.subs(others)), as_, sympy.oo))


@dataclass(frozen=True)
class Bounds:
    """The least cost of an aggregate whose window is kept as aggregates of batches of B elements."""

    space: Any
    """Of all batches, and of the aggregate of the whole where it is kept."""
    slide: Any
    """The time that the updates of a slide take."""
    query: Any
    """The time of an answer."""
    known: bool
    """Whether these bounds hold from above as well."""

    @property
    def update(self) -> Any:
        """The time that an element takes, amortised over a slide."""
        import sympy

        return sympy.expand(self.slide / _batch()[1])


@cache
def _batch() -> tuple[Any, Any, Any]:
    import sympy

    return tuple(sympy.symbols("R S B", positive=True))


def bounds(*, bounded: bool, differential: bool) -> Bounds:
    """What keeping a window by batches costs at least, by the properties of the aggregate (thesis, 3.4.5 to 3.4.10).

    An aggregate of a batch is made by adding its B elements one by one. If it is differential, it goes into the
    aggregate of the whole and comes out again when the batch leaves, so an answer is only looked up; if not, an answer
    goes through all batches. If it is not bounded, an aggregate of a batch is as large as the batch.

    >>> bounds(bounded=True, differential=True).update
    1 + 4/B
    """
    R, S, B = _batch()  # noqa: N806
    space = R / B + 1 if bounded else R
    if differential:
        return Bounds(space, S / B * (B + 1 + 1) + S / B * (1 + 1), R**0, known=bounded)
    if bounded:
        return Bounds(space, S / B * (B + 1) + S / B, R / B, known=False)
    return Bounds(space, S / B * B + S / B * B, R, known=False)


def bounds_of(aggregate: AggregateFunction) -> Bounds:
    """The same for an aggregate, by what it declares."""
    return bounds(bounded=aggregate.bounded, differential=aggregate.invertible)
