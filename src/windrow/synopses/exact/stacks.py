"""Two stacks over one circular buffer: their moves, and what all windows share that are a ring of partials."""

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
    """A partial aggregate an element.

    In the front stack, up to the split, each partial is that of its element and all later ones of the front. In the
    back stack each is that of its element alone, and one more is that of all of them.
    """

    times: npt.NDArray[np.int64]
    partials: npt.NDArray[Any]
    numbers: npt.NDArray[Any]
    cursors: npt.NDArray[np.int64]


@move
def reach_back(tag: Any, partials: Any, first: int, last: int) -> None:
    """Make of each partial from `first` on that of its element and all later ones up to `last`, which stays."""
    mask = partials.shape[0] - 1
    state = state_at(tag, partials, last & mask)
    for position in range(last - 1, first - 1, -1):
        state = merged(tag, partials, state_at(tag, partials, position & mask), state)
        put_state(tag, partials, position & mask, state)


@move
def flip(tag: Any, window: Any) -> None:
    """Make the back stack the front one: aggregate its elements from the newest to the oldest."""
    cursors = window.cursors
    head, tail = cursors[HEAD], cursors[TAIL]
    reach_back(tag, window.partials, head, tail - 1)
    cursors[SPLIT] = tail
    put_state(tag, window.numbers, BACK, state_at(tag, window.numbers, ZERO))


@move
def pop(tag: Any, window: Any) -> None:
    """Take out the oldest partial."""
    if window.cursors[HEAD] == window.cursors[SPLIT]:
        flip(tag, window)
    window.cursors[HEAD] += 1


@move
def both(tag: Any, window: Any) -> Any:
    """The state of the front stack followed by that of the back stack."""
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
    """Whether there is a partial in each place of the ring."""
    return window.cursors[TAIL] - window.cursors[HEAD] == window.partials.shape[0]


MOVES[Stacks] = Moves(oldest_leaves, _pop, partials_are_full, _push, _both, ring_size)


class PartialsRing(ExactSynopsis):
    """What synopses share that keep a ring of partial aggregates, and cursors that are positions in it."""

    rings: ClassVar[tuple[str, ...]] = ("times", "partials")
    positions: ClassVar[int]
    """How many of the cursors are positions."""

    def ring(self, kind: Any, rows: int) -> Any:
        """An empty ring with an `on` for each partial, all cursors positions in it, and some states beside it."""
        times = np.empty(SMALLEST if self.span.timed else 0, np.int64)
        partials = np.empty((SMALLEST, self.zero.shape[1]), self.dtype)
        return kind(times, partials, np.repeat(self.zero, rows, axis=0), np.zeros(self.positions, np.int64))

    def check(self, window: Any) -> None:
        """Refuse a saved window whose cursors are not places in it."""
        check_ring(window, self.rings, self.positions, None if self.span.timed else self.span.length)
        check_that(window.partials.shape[1] == self.zero.shape[1], "partials of as many numbers as a state has")
        held = getattr(window, self.rings[0]).size
        check_that(bool(held) == self.span.timed, "an `on` for each partial of a window of time")

    def grown(self, window: Any) -> Any:
        """The same window with room for twice as many partials."""
        return self._resized(window, 2 * len(window.partials), int(window.cursors[HEAD]))

    def live(self, window: Any) -> Any:
        """The same window in a ring as small as can be, its positions starting at 0."""
        head, tail = map(int, window.cursors[:2])
        window = self._resized(window, capacity_for(tail - head), 0)
        window.cursors[: self.positions] -= head
        return window

    def _resized(self, window: Any, capacity: int, begin: int) -> Any:
        head, tail = map(int, window.cursors[:2])
        rings = {name: resized(getattr(window, name), head, tail, capacity, begin) for name in self.rings}
        return window._replace(**rings, cursors=window.cursors.copy())
