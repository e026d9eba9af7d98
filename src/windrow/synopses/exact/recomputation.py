"""Recomputation: stores all values and computes each answer from all of them (thesis, definition 2.4.3)."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from windrow.aggregates import AggregateFunction
from windrow.arrays import Array
from windrow.state.checks import check_that
from windrow.synopses.costs import FOLDED, Complexity
from windrow.synopses.exact.algebra import added, move, state_at
from windrow.synopses.exact.base import ExactSynopsis
from windrow.synopses.exact.loop import MOVES, Moves
from windrow.synopses.exact.ring import (
    HEAD,
    SMALLEST,
    TAIL,
    capacity_for,
    check_ring,
    oldest_leaves,
    resized,
    ring_size,
)

ZERO = 0
"""The row of the state of no values."""


class Elements(NamedTuple):
    """All values of a window; `times` is empty if the retention is a count."""

    times: npt.NDArray[np.int64]
    values: Array
    numbers: Array
    cursors: npt.NDArray[np.int64]


@move
def append(window: Any, span: Any, now: Any, x: Any) -> None:
    """Write a value after the newest one."""
    tail = window.cursors[TAIL]
    if span.timed:
        window.times[tail & (window.times.size - 1)] = now
    window.values[tail & (window.values.size - 1)] = x
    window.cursors[TAIL] = tail + 1


def list_is_full(window: Any) -> Any:
    """Return whether there is no room for another value."""
    return window.cursors[TAIL] - window.cursors[HEAD] == window.values.size


def _forget(tag: Any, window: Any) -> None:
    window.cursors[HEAD] += 1


def _remember(tag: Any, window: Any, span: Any, now: Any, x: Any) -> None:
    append(window, span, now, x)


@move
def fold(tag: Any, window: Any) -> Any:
    """Return the state of all values, from scratch."""
    state = state_at(tag, window.numbers, ZERO)
    mask = window.values.size - 1
    head, tail = window.cursors[HEAD], window.cursors[TAIL]
    for position in range(head, tail):
        state = added(tag, window.numbers, state, window.values[position & mask])
    return state


def _fold(tag: Any, window: Any) -> Any:
    return fold(tag, window)


MOVES[Elements] = Moves(oldest_leaves, _forget, list_is_full, _remember, _fold, ring_size)


class ValueRing(ExactSynopsis):
    """The base of synopses that store all values, in a ring."""

    def ring(self, kind: Any, rows: int) -> Any:
        """Return an empty ring of a kind, with `rows` separate states."""
        times = np.empty(SMALLEST if self.span.timed else 0, np.int64)
        numbers = np.repeat(self.zero, rows, axis=0)
        return kind(times, np.empty(SMALLEST, self.dtype), numbers, np.zeros(4, np.int64))

    def check(self, window: Any) -> None:
        """Raise if the cursors of a saved window are out of range."""
        check_ring(window, ("times", "values"), 2, None if self.span.timed else self.span.length)
        check_that(bool(window.times.size) == self.span.timed, "an `on` for each value of a window of time")

    def grown(self, window: Any) -> Any:
        """Return the same window with twice the room."""
        return self._resized(window, 2 * window.values.size, int(window.cursors[HEAD]))

    def live(self, window: Any) -> Any:
        """Return the same window in the smallest ring that holds it, with positions starting at 0."""
        head, tail = window.cursors[:2]
        window = self._resized(window, capacity_for(int(tail - head)), 0)
        window.cursors[:2] = 0, tail - head
        return window

    def _resized(self, window: Any, capacity: int, begin: int) -> Any:
        head, tail = map(int, window.cursors[:2])
        rings = {name: resized(getattr(window, name), head, tail, capacity, begin) for name in ("times", "values")}
        return window._replace(**rings, cursors=window.cursors.copy())


class Recomputation(ValueRing):
    """A synopsis that stores all values and recomputes the aggregate on each query: the instantaneous approach.

    Updates cost almost nothing, so it is the best choice for small windows and rare queries. It is also the reference
    for all other synopses.

    >>> import numpy as np, windrow as wr
    >>> from windrow.synopses import Recomputation, Retention
    >>> window = Recomputation(wr.max("speed"), Retention(3))
    >>> window.update(np.arange(5), np.array([9.0, 2.0, 4.0, 3.0, 1.0]))
    >>> window.query()
    4.0
    """

    source: ClassVar[str] = "On a design space for sliding windows (2011), definition 2.4.3"
    time: ClassVar[str] = "O(1) per value, O(R) per answer"
    space: ClassVar[str] = "R values"

    @classmethod
    def costs(cls, aggregate: AggregateFunction) -> Complexity | None:
        """Return the terms of its update, its query and its space."""
        return FOLDED

    def empty(self) -> Any:
        """Return an empty window."""
        return self.ring(Elements, 1)
