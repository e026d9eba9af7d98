"""Two stacks over one circular buffer: their moves, and the base of all windows that are a ring of partials."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from windrow.state.checks import check_that
from windrow.synopses.exact.algebra import added, merged, move, put_state, state_at
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

SPLIT = 2
"""Cursor: where the front stack ends and the back stack begins."""
ZERO, BACK = 0, 1
"""Rows of states: of no values, and of all values in the back stack."""


class Stacks(NamedTuple):
    """One partial aggregate per value.

    In the front stack, up to the split, each partial covers its value and all later ones of the front. In the back
    stack, each covers its value alone, and one further state covers the whole back stack.
    """

    times: npt.NDArray[np.int64]
    partials: npt.NDArray[Any]
    numbers: npt.NDArray[Any]
    cursors: npt.NDArray[np.int64]


@move
def reach_back(tag: Any, partials: Any, first: int, last: int) -> None:
    """Extend each partial from `first` on to cover its value and all later ones up to `last`; `last` stays as it is."""
    mask = partials.shape[0] - 1
    state = state_at(tag, partials, last & mask)
    for position in range(last - 1, first - 1, -1):
        state = merged(tag, partials, state_at(tag, partials, position & mask), state)
        put_state(tag, partials, position & mask, state)


@move
def flip(tag: Any, window: Any) -> None:
    """Turn the back stack into the front stack by aggregating its values from the newest to the oldest."""
    cursors = window.cursors
    head, tail = cursors[HEAD], cursors[TAIL]
    reach_back(tag, window.partials, head, tail - 1)
    cursors[SPLIT] = tail
    put_state(tag, window.numbers, BACK, state_at(tag, window.numbers, ZERO))


@move
def pop(tag: Any, window: Any) -> None:
    """Remove the oldest partial."""
    if window.cursors[HEAD] == window.cursors[SPLIT]:
        flip(tag, window)
    window.cursors[HEAD] += 1


@move
def both(tag: Any, window: Any) -> Any:
    """Return the state of the front stack merged with that of the back stack."""
    head = window.cursors[HEAD]
    back = state_at(tag, window.numbers, BACK)
    if head == window.cursors[SPLIT]:
        return back
    front = state_at(tag, window.partials, head & (window.partials.shape[0] - 1))
    return merged(tag, window.numbers, front, back)


def _pop(tag: Any, window: Any) -> None:
    pop(tag, window)


def _push(tag: Any, window: Any, span: Any, now: Any, x: Any) -> None:
    numbers, tail = window.numbers, window.cursors[TAIL]
    if span.timed:
        window.times[tail & (window.times.size - 1)] = now
    alone = added(tag, numbers, state_at(tag, numbers, ZERO), x)
    put_state(tag, window.partials, tail & (window.partials.shape[0] - 1), alone)
    put_state(tag, numbers, BACK, added(tag, numbers, state_at(tag, numbers, BACK), x))
    window.cursors[TAIL] = tail + 1


def _both(tag: Any, window: Any) -> Any:
    return both(tag, window)


def partials_are_full(window: Any) -> Any:
    """Return whether every place of the ring holds a partial."""
    return window.cursors[TAIL] - window.cursors[HEAD] == window.partials.shape[0]


MOVES[Stacks] = Moves(oldest_leaves, _pop, partials_are_full, _push, _both, ring_size)


class PartialsRing(ExactSynopsis):
    """The base of synopses that store a ring of partial aggregates and cursors that are positions in it."""

    rings: ClassVar[tuple[str, ...]] = ("times", "partials")
    positions: ClassVar[int]
    """How many of the cursors are positions."""

    def ring(self, kind: Any, rows: int) -> Any:
        """Return an empty ring with all cursors at 0 and `rows` separate states; by time, each partial has an `on`."""
        times = np.empty(SMALLEST if self.span.timed else 0, np.int64)
        partials = np.empty((SMALLEST, self.zero.shape[1]), self.dtype)
        return kind(times, partials, np.repeat(self.zero, rows, axis=0), np.zeros(self.positions, np.int64))

    def check(self, window: Any) -> None:
        """Raise if the cursors of a saved window are out of range."""
        check_ring(window, self.rings, self.positions, None if self.span.timed else self.span.length)
        check_that(window.partials.shape[1] == self.zero.shape[1], "partials of as many numbers as a state has")
        held = getattr(window, self.rings[0]).size
        check_that(bool(held) == self.span.timed, "an `on` for each partial of a window of time")

    def grown(self, window: Any) -> Any:
        """Return the same window with twice the room."""
        return self._resized(window, 2 * len(window.partials), int(window.cursors[HEAD]))

    def live(self, window: Any) -> Any:
        """Return the same window in the smallest ring that holds it, with positions starting at 0."""
        head, tail = map(int, window.cursors[:2])
        window = self._resized(window, capacity_for(tail - head), 0)
        window.cursors[: self.positions] -= head
        return window

    def _resized(self, window: Any, capacity: int, begin: int) -> Any:
        head, tail = map(int, window.cursors[:2])
        rings = {name: resized(getattr(window, name), head, tail, capacity, begin) for name in self.rings}
        return window._replace(**rings, cursors=window.cursors.copy())
