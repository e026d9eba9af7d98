"""The vocabulary of costs: time and space per window as expressions in R, S and B.

An instantaneous approach recomputes the aggregate of all R values: T(R), S(R). An incremental one adds S values to its
synopsis and queries it once per slide: T(R, S, B) = S·Tu(R) + Tq(R), S(B, R). Each synopsis declares in `costs` the
terms of its Tu, its Tq and its space. Each term is written once and used twice: with symbols, terms are complexities to
compare by limits; with numbers, they are the columns of the regressions that estimate the cost of each term on a
machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from windrow.errors import SpecError, quoted
from windrow.extras import require
from windrow.synopses.exact.ring import SMALLEST

Quantity: TypeAlias = Any
"""A number, an array of numbers, or a symbol."""


@dataclass(frozen=True)
class Quantities:
    """The quantities that costs depend on, as arrays or symbols, with matching functions."""

    R: Quantity
    """Values per window."""
    S: Quantity
    """Values per slide."""
    P: Quantity
    """Values per pane."""
    k: Quantity
    """Values per sample."""
    e: Quantity
    """Reciprocal of the allowed error."""
    log: Callable[[Quantity], Quantity]
    """Logarithm to base 2, of numbers of at least 1."""
    least: Callable[[Quantity, Quantity], Quantity]
    room: Callable[[Quantity], Quantity]
    """The capacity of a buffer that doubles until it holds this many values."""
    B: Quantity = 0
    """Values that arrive at a time; 0 if many slides arrive at once."""

    @property
    def m(self) -> Quantity:
        """The actual number of values in a sample."""
        return self.least(self.k, self.R)


def numbers(R: Quantity, S: Quantity, P: Quantity, k: Quantity, e: Quantity, B: Quantity = 1) -> Quantities:  # noqa: N803
    """Return quantities that are numbers as arrays."""
    R, S, P, k, e, B = (np.asarray(quantity, np.float64) for quantity in (R, S, P, k, e, B))  # noqa: N806
    return Quantities(R, S, P, k, e, lambda q: np.log2(np.maximum(q, 1.0)), np.minimum, _power_of_two, B)


def _power_of_two(n: Quantity) -> Quantity:
    return np.exp2(np.ceil(np.log2(np.maximum(n, SMALLEST))))


@cache
def symbols() -> Quantities:
    """Return the quantities as positive symbols; a sample is smaller than a window that may grow without bound."""
    require("comparing costs", "studies")
    import sympy

    R, S, P, k, e = sympy.symbols("R S P k e", positive=True)  # noqa: N806
    return Quantities(R, S, P, k, e, sympy.log, lambda a, _: a, lambda n: n)


Term: TypeAlias = Callable[[Quantities], Quantity]


def _terms(**of: Term) -> Mapping[str, Term]:
    return MappingProxyType(of)


NEAR = 1 << 16
"""Approximate number of values that fit in a core's caches; access to larger windows is slower."""


def _once(share: Quantity, q: Quantities) -> Quantity:
    """Return how often an event occurs per slide, given its average number, if at most one occurrence counts."""
    return q.least(share, q.R**0)


def _apart(q: Quantities) -> Quantity:
    """Return how many values share the error of a block (`Terms.apart` in `synopses/arasu_manku/layout.py`)."""
    return 8 / 3 * q.e * (q.log(q.e) + 6)


TERMS = _terms(
    one=lambda q: q.R**0,
    R=lambda q: q.R,
    S=lambda q: q.S,
    log_R=lambda q: q.log(q.R),
    far=lambda q: q.log(q.R / NEAR),
    room_R=lambda q: q.room(q.R),
    calls=lambda q: q.S / q.B,
    # Panes.
    per_P=lambda q: 1 / q.P,
    log_P=lambda q: q.log(q.P),
    panes=lambda q: q.R / q.P,
    room_panes=lambda q: q.room(q.R / q.P),
    R_log_panes=lambda q: q.R * q.log(q.R / q.P),
    # Samples of k items, at most as many as the window has, which values enter and leave. For a quantile the items are
    # sorted: changed items are moved to their places one by one, or everything is sorted if that is cheaper.
    k=lambda q: q.k,
    m=lambda q: q.m,
    log_k=lambda q: q.log(q.k),
    k_log_R=lambda q: q.k * q.log(q.R),
    room_m=lambda q: q.room(q.m),
    m_log_m=lambda q: q.m * q.log(q.m),
    enters=lambda q: q.m / q.R,
    enters_log=lambda q: q.m / q.R * q.log(q.m),
    k_per_R=lambda q: q.k / q.R,
    k_per_R_log=lambda q: q.k / q.R * q.log(q.k),
    m_shifted=lambda q: q.m * q.least(2 * q.S * q.m / q.R, 16 * q.log(q.m)),
    k_shifted=lambda q: q.k * q.least(2 * q.S * q.k / q.R, 16 * q.log(q.k)),
    all_shifted=lambda q: q.m * q.least(2 * q.S, 16 * q.log(q.m)),
    in_panes=lambda q: 8 * q.least(q.k, q.R / 8),
    in_panes_log=lambda q: 8 * q.least(q.k, q.R / 8) * q.log(q.k),
    # Summaries within an error: their size, at most the window's; a histogram allocates whole levels.
    log_e=lambda q: q.log(q.e),
    log_e_squared=lambda q: q.log(q.e) ** 2,
    log_e_log_R=lambda q: q.log(q.e) * q.log(q.R),
    e_whole=lambda q: q.e,
    e_whole_log_R=lambda q: q.e * q.log(q.R),
    e=lambda q: q.least(q.e, q.R),
    e_log_R=lambda q: q.least(q.e * q.log(q.R), q.R),
    e_log_e=lambda q: q.least(q.e * q.log(q.e), q.R),
    e_log_e_squared=lambda q: q.least(q.e * q.log(q.e) ** 2, q.R),
    # Blocks of Arasu and Manku: one summary with its share of the error per level of the window.
    spread=lambda q: q.least(_apart(q), q.R),
    spread_far=lambda q: q.least(_apart(q), q.R / 8),
    spread_levels=lambda q: _apart(q) * q.log(1 + q.R / _apart(q)),
    room_buckets=lambda q: q.room(q.least(24 * q.e**2 * q.log(q.R), 4 * q.R)),
    # Sketches of panes: 2/ε of them, merged whenever another one is complete.
    per_sketch=lambda q: q.least(2 * q.e / q.R, q.R**0),
    sketched=lambda q: q.least(32 * q.e**2, q.R),
    merged=lambda q: _once(2 * q.S * q.e / q.R, q) * q.least(32 * q.e**2, q.R),
    merges=lambda q: _once(2 * q.S * q.e / q.R, q) * q.least(2 * q.e, q.R),
)
"""All terms of costs, by their names in a model. No term grows with the allowed error, so a synopsis is never predicted
to cost more because its answers may be less exact.
"""


@dataclass(frozen=True)
class Complexity:
    """The terms of the cost per value, of the cost per query, and of the space."""

    update: tuple[str, ...]
    query: tuple[str, ...]
    space: tuple[str, ...]

    def __post_init__(self) -> None:
        for name in (*self.update, *self.query, *self.space):
            if name not in TERMS:
                raise SpecError(f"costs: unknown term {quoted(name)}; available: {', '.join(TERMS)}")

    def time(self, q: Quantities) -> Quantity:
        """Return S·Tu + Tq, the time per slide, with each term counted once."""
        update = sum(TERMS[name](q) for name in self.update)
        return q.S * update + sum(TERMS[name](q) for name in self.query)

    def size(self, q: Quantities) -> Quantity:
        """Return the space, with each term counted once."""
        return sum(TERMS[name](q) for name in self.space)

    def time_terms(self, q: Quantities) -> dict[str, Quantity]:
        """Return the terms of the time per slide by name: those per value times the slide, and those per query."""
        return {name: value_of(name, q) for name in (*(PER_VALUE_OF_SLIDE + name for name in self.update), *self.query)}

    def space_terms(self, q: Quantities) -> dict[str, Quantity]:
        """Return the terms of the space by name."""
        return {name: value_of(name, q) for name in self.space}


PER_VALUE_OF_SLIDE = "S*"
"""Prefix of the names of terms that are paid for each value of a slide."""


def value_of(name: str, q: Quantities) -> Quantity:
    """Return the value of a term by its name in a model."""
    if name.startswith(PER_VALUE_OF_SLIDE):
        return q.S * TERMS[name.removeprefix(PER_VALUE_OF_SLIDE)](q)
    return TERMS[name](q)


FOLDED = Complexity(("one",), ("one", "R"), ("one", "room_R"))
"""All values are stored, and each query folds them."""
PER_VALUE = Complexity(("one", "log_R", "far"), ("one",), ("one", "room_R"))
"""One partial aggregate is stored per value."""
