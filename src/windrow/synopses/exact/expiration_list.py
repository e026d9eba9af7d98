"""The expiration list: stores all values and, where removal is sound, their running state (thesis, section 4.3)."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from windrow.aggregates import AggregateFunction
from windrow.arrays import Array
from windrow.synopses.costs import FOLDED, Complexity
from windrow.synopses.exact.algebra import added, move, put_state, removed, state_at
from windrow.synopses.exact.loop import MOVES, Moves
from windrow.synopses.exact.recomputation import ZERO, Elements, ValueRing, append, fold, list_is_full
from windrow.synopses.exact.ring import HEAD, TAIL, oldest_leaves, ring_size

REMOVED, STRANGE = 2, 3
"""Cursors of a compensated list: values removed since its sum was last recomputed, and values that are not finite."""
HIGH, LOW, TOTAL = 1, 2, 3
"""Further rows of states: the running one, its rounding error, and the sum of both."""


class Running(NamedTuple):
    """All values and their state, updated by adding arriving values and removing leaving ones."""

    times: npt.NDArray[np.int64]
    values: Array
    numbers: Array
    cursors: npt.NDArray[np.int64]


class Compensated(NamedTuple):
    """All values and the sum of their states, with its rounding error."""

    times: npt.NDArray[np.int64]
    values: Array
    numbers: Array
    cursors: npt.NDArray[np.int64]


def _undo(tag: Any, window: Any) -> None:
    oldest = window.values[window.cursors[HEAD] & (window.values.size - 1)]
    put_state(tag, window.numbers, HIGH, removed(tag, window.numbers, state_at(tag, window.numbers, HIGH), oldest))
    window.cursors[HEAD] += 1


def _apply(tag: Any, window: Any, span: Any, now: Any, x: Any) -> None:
    append(window, span, now, x)
    put_state(tag, window.numbers, HIGH, added(tag, window.numbers, state_at(tag, window.numbers, HIGH), x))


def _running(tag: Any, window: Any) -> Any:
    return state_at(tag, window.numbers, HIGH)


MOVES[Running] = Moves(oldest_leaves, _undo, list_is_full, _apply, _running, ring_size)


@move
def accumulate(tag: Any, window: Any, x: Any, sign: Any) -> None:
    """Add a value to the sum or subtract it; the rounding error goes into the low part."""
    numbers = window.numbers
    gained = added(tag, numbers, state_at(tag, numbers, ZERO), x)
    if not all_finite(gained):
        window.cursors[STRANGE] += sign
        return
    for j in range(len(gained)):
        term = sign * (gained[j] - numbers[ZERO, j])
        high = numbers[HIGH, j]
        total = high + term
        shift = total - high
        numbers[LOW, j] += (high - (total - shift)) + (term - shift)
        numbers[HIGH, j] = total


@move
def all_finite(state: Any) -> bool:
    """Return whether no number of a state is infinite or NaN."""
    for number in state:  # noqa: SIM110 - numba does not support generators here
        if not np.isfinite(number):
            return False
    return True


@move
def fold_again(tag: Any, window: Any) -> None:
    """Recompute the sum of all values, so that no error outlives its values by more than a window."""
    cursors, mask = window.cursors, window.values.size - 1
    window.numbers[HIGH:] = 0.0
    cursors[REMOVED] = cursors[STRANGE] = 0
    for position in range(cursors[HEAD], cursors[TAIL]):
        accumulate(tag, window, window.values[position & mask], 1)


def _take_out(tag: Any, window: Any) -> None:
    cursors = window.cursors
    oldest = window.values[cursors[HEAD] & (window.values.size - 1)]
    cursors[HEAD] += 1
    cursors[REMOVED] += 1
    if cursors[REMOVED] > cursors[TAIL] - cursors[HEAD]:
        fold_again(tag, window)
    else:
        accumulate(tag, window, oldest, -1)


def _put_in(tag: Any, window: Any, span: Any, now: Any, x: Any) -> None:
    append(window, span, now, x)
    accumulate(tag, window, x, 1)


def _total(tag: Any, window: Any) -> Any:
    numbers = window.numbers
    for j in range(numbers.shape[1]):
        numbers[TOTAL, j] = numbers[ZERO, j] + (numbers[HIGH, j] + numbers[LOW, j])
    state = state_at(tag, numbers, TOTAL)
    if window.cursors[STRANGE] or not all_finite(state):
        return fold(tag, window)
    return state


MOVES[Compensated] = Moves(oldest_leaves, _take_out, list_is_full, _put_in, _total, ring_size)


class ExpirationList(ValueRing):
    """A synopsis that stores all values and, where removal is sound, their running state.

    Over integers, a leaving value is removed from the state exactly. Over floats, removal would leave behind the
    rounding errors of values long gone. Aggregates whose state is a sum therefore keep a compensated sum, with twice
    the precision of a float, and recompute it once per window; infinities and NaN never enter it. All other aggregates
    are computed on each query, as in recomputation.

    >>> import numpy as np, windrow as wr
    >>> from windrow.synopses import ExpirationList, Retention
    >>> window = ExpirationList(wr.mean("speed"), Retention(8))
    >>> window.roll(np.arange(12), np.array([8.0, 10, 6, 4, 7, 11, 2, 1, 3, 12, 5, 9]), every=4)
    array([7.   , 6.125, 6.25 ])
    """

    source: ClassVar[str] = "On a design space for sliding windows (2011), section 4.3"
    time: ClassVar[str] = "O(1) per value; O(1) per answer where removal is sound, otherwise O(R)"
    space: ClassVar[str] = "R values"

    @classmethod
    def costs(cls, aggregate: AggregateFunction) -> Complexity | None:
        """Return the terms of its update, its query and its space; only sums remove values."""
        if aggregate.additive:
            return Complexity(("one", "log_R"), ("one",), ("one", "room_R"))
        return FOLDED

    def empty(self) -> Any:
        """Return an empty window of the kind that is sound for the aggregate."""
        if self.integral and self.aggregate.invertible:
            return self.ring(Running, 2)
        if not self.integral and self.aggregate.additive:
            window = self.ring(Compensated, 4)
            window.numbers[HIGH:] = 0.0
            return window
        return self.ring(Elements, 1)
