"""The de-amortised bankers' aggregator in its lite form: worst-case constant time per value.

DABA keeps two stacks, like `TwoStacks`, but spreads the work of a flip over the values before it. The ring holds one
partial per value; six cursors cut it into five stretches. The second line shows what a partial at position p covers:

    HEAD          LEFT           RIGHT          ACCUMULATED     BACK           TAIL
     |  [p..BACK)  |  [p..RIGHT)  |     [p]      |  [p..BACK)    |     [p]      |
     |   finished  |     work     |     work     |   finished    |              |
     |<------------------------ front -------------------------->|<--- back --->|

Two states complete the window: `UNDER_WORK` covers `[RIGHT..BACK)` and `OF_BACK` covers `[BACK..TAIL)`. The answer is
the partial at HEAD merged with `OF_BACK`.

Each insertion and each eviction does one step:

- While LEFT < RIGHT, the step finishes one partial at each end of the work: the one at LEFT is merged with
  `UNDER_WORK`, the one before ACCUMULATED with its successor. LEFT moves right, ACCUMULATED moves left.
- Once LEFT, RIGHT and ACCUMULATED meet, all three move right together, one position per step.
- They reach BACK just before the back is as long as the front. In the next step the back joins the front: LEFT returns
  to HEAD, ACCUMULATED and BACK move to TAIL, `OF_BACK` becomes `UNDER_WORK`, and the work starts over.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from windrow.aggregates import AggregateFunction
from windrow.jit import WITHOUT_COUNTING
from windrow.state.checks import check_that
from windrow.synopses.costs import PER_VALUE, Complexity
from windrow.synopses.exact.algebra import added, merged, move, put_state, state_at
from windrow.synopses.exact.batch_ring import BatchRing
from windrow.synopses.exact.loop import MOVES, Moves
from windrow.synopses.exact.ring import HEAD, TAIL, oldest_leaves, ring_size
from windrow.synopses.exact.stacks import Stacks, partials_are_full, reach_back

LEFT, RIGHT, ACCUMULATED, BACK = 2, 3, 4, 5
"""Cursors: the boundaries of the unfinished stretches of the front, and the start of the back."""
ZERO, UNDER_WORK, OF_BACK = 0, 1, 2
"""Rows of states: of no values, of the front from `RIGHT` on, and of the back."""


class Daba(NamedTuple):
    """One partial aggregate per value, in five stretches.

    From the head to `LEFT`, and from `ACCUMULATED` to `BACK`, a partial covers its value and all later ones of the
    front. From `LEFT` to `RIGHT`, it covers those up to `RIGHT` only. From `RIGHT` to `ACCUMULATED`, and in the back,
    it covers its value alone.
    """

    times: npt.NDArray[np.int64]
    partials: npt.NDArray[Any]
    numbers: npt.NDArray[Any]
    cursors: npt.NDArray[np.int64]


@move
def step(tag: Any, window: Any) -> None:
    """Do the work that is due after an insertion or eviction."""
    cursors = window.cursors
    if cursors[HEAD] == cursors[BACK]:
        _start_over(tag, window)
        return
    if cursors[LEFT] == cursors[BACK]:
        _turn_over(tag, window)
    if cursors[LEFT] == cursors[RIGHT]:
        cursors[LEFT] += 1
        cursors[RIGHT] += 1
        cursors[ACCUMULATED] += 1
    else:
        _shrink(tag, window)


@move
def _start_over(tag: Any, window: Any) -> None:
    """Make the back the front: the front is empty and the back has at most one value."""
    cursors = window.cursors
    cursors[LEFT:] = cursors[TAIL]
    zero = state_at(tag, window.numbers, ZERO)
    put_state(tag, window.numbers, UNDER_WORK, zero)
    put_state(tag, window.numbers, OF_BACK, zero)


@move
def _turn_over(tag: Any, window: Any) -> None:
    """Let the back join the finished front once both have the same length, and start the work over."""
    cursors, numbers = window.cursors, window.numbers
    cursors[LEFT] = cursors[HEAD]
    cursors[ACCUMULATED] = cursors[BACK] = cursors[TAIL]
    put_state(tag, numbers, UNDER_WORK, state_at(tag, numbers, OF_BACK))
    put_state(tag, numbers, OF_BACK, state_at(tag, numbers, ZERO))


@move
def _shrink(tag: Any, window: Any) -> None:
    """Extend the oldest and the newest unfinished partial to the end of the front."""
    cursors, partials = window.cursors, window.partials
    mask = partials.shape[0] - 1
    left, last = cursors[LEFT] & mask, (cursors[ACCUMULATED] - 1) & mask
    rest = state_at(tag, window.numbers, UNDER_WORK)
    put_state(tag, partials, left, merged(tag, partials, state_at(tag, partials, left), rest))
    if cursors[ACCUMULATED] != cursors[BACK]:
        after = state_at(tag, partials, cursors[ACCUMULATED] & mask)
        put_state(tag, partials, last, merged(tag, partials, state_at(tag, partials, last), after))
    cursors[LEFT] += 1
    cursors[ACCUMULATED] -= 1


@njit(cache=True, **WITHOUT_COUNTING)
def finish_work(tag: Any, window: Any) -> None:
    """Finish the front at once: each partial covers its value and all later ones of the front."""
    cursors, partials = window.cursors, window.partials
    mask = partials.shape[0] - 1
    rest = state_at(tag, window.numbers, UNDER_WORK)
    for position in range(cursors[LEFT], cursors[RIGHT]):
        place = position & mask
        put_state(tag, partials, place, merged(tag, partials, state_at(tag, partials, place), rest))
    reach_back(tag, partials, cursors[RIGHT], min(cursors[ACCUMULATED], cursors[BACK] - 1))
    cursors[LEFT : BACK + 1] = cursors[BACK]


@njit(cache=True, **WITHOUT_COUNTING)
def resume(tag: Any, window: Any) -> None:
    """Resume from a finished front. A back that is at least as long joins it and is finished too."""
    cursors = window.cursors
    if cursors[BACK] - cursors[HEAD] <= cursors[TAIL] - cursors[BACK]:
        _turn_over(tag, window)
        finish_work(tag, window)
    # Each step moves these by one, and they must reach BACK when the back is one value shorter than the front.
    ahead = (cursors[BACK] - cursors[HEAD]) - (cursors[TAIL] - cursors[BACK])
    cursors[LEFT:BACK] = cursors[BACK] - max(0, ahead - 1)


def _pop(tag: Any, window: Any) -> None:
    window.cursors[HEAD] += 1
    step(tag, window)


def _push(tag: Any, window: Any, span: Any, now: Any, x: Any) -> None:
    numbers, tail = window.numbers, window.cursors[TAIL]
    if span.timed:
        window.times[tail & (window.times.size - 1)] = now
    alone = added(tag, numbers, state_at(tag, numbers, ZERO), x)
    put_state(tag, window.partials, tail & (window.partials.shape[0] - 1), alone)
    put_state(tag, numbers, OF_BACK, added(tag, numbers, state_at(tag, numbers, OF_BACK), x))
    window.cursors[TAIL] = tail + 1
    step(tag, window)


def _both(tag: Any, window: Any) -> Any:
    head = window.cursors[HEAD]
    back = state_at(tag, window.numbers, OF_BACK)
    if head == window.cursors[BACK]:
        return back
    front = state_at(tag, window.partials, head & (window.partials.shape[0] - 1))
    return merged(tag, window.numbers, front, back)


MOVES[Daba] = Moves(oldest_leaves, _pop, partials_are_full, _push, _both, ring_size)


class DABA(BatchRing):
    """A synopsis with one partial aggregate per value, at the same cost for every single value.

    It works like two stacks, but spreads the work of a flip over small steps: at most two merges per value that arrives
    and per value that leaves. No value has to wait until a whole window is aggregated. With a retention by count, a
    batch at least as long as the window is processed as two stacks do it, which is several times faster: the batch had
    to wait for as many values anyway.

    >>> import numpy as np, windrow as wr
    >>> from windrow.synopses import DABA, Retention
    >>> window = DABA(wr.first("speed"), Retention(3))
    >>> window.roll(np.arange(5), np.array([9.0, 2.0, 4.0, 3.0, 1.0]), every=1)
    array([9., 9., 9., 2., 4.])
    """

    source: ClassVar[str] = "In-order sliding-window aggregation in worst-case constant time (2021), DABA lite"
    time: ClassVar[str] = "O(1) per value and per answer, at worst"
    space: ClassVar[str] = "R + 2 partials"
    positions: ClassVar[int] = 6

    @classmethod
    def costs(cls, aggregate: AggregateFunction) -> Complexity | None:
        """Return the terms of its update, its query and its space."""
        return PER_VALUE

    def check(self, window: Any) -> None:
        """Raise if the cursors of a saved window are out of range or out of order."""
        super().check(window)
        head, tail, left, right, accumulated, back = window.cursors.tolist()
        rising = head <= left <= right <= accumulated <= back <= tail
        check_that(rising, f"cursors that rise from {head} to {tail}, got {[left, right, accumulated, back]}")

    def empty(self) -> Any:
        """Return an empty window."""
        return self.ring(Daba, 3)

    def suits(self, n: int, every: int) -> bool:
        """Return whether a batch is processed as a whole: only if that costs a few merges per value."""
        return super().suits(n, every) and n >= self.span.length

    def stacked(self) -> Stacks:
        """Return the window as two stacks: a finished front is a front stack."""
        times, partials, numbers, cursors = self.window
        self.compiled(finish_work)(self._tag, self.window)
        return Stacks(times, partials, numbers[[ZERO, OF_BACK]], cursors[[HEAD, TAIL, BACK]])

    def unstack(self, stacks: Stacks) -> None:
        """Resume from two stacks."""
        cursors = self.window.cursors
        cursors[[HEAD, TAIL, BACK]] = stacks.cursors
        cursors[LEFT:BACK] = cursors[BACK]
        self.window.numbers[[ZERO, OF_BACK]] = stacks.numbers
        self.compiled(resume)(self._tag, self.window)
