"""The de-amortised bankers' aggregator, in its lite form: constant time for each element, with no exception."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from windrow.state.checks import check_that
from windrow.synopses.exact.algebra import WITHOUT_COUNTING, added, merged, move, put_state, state_at
from windrow.synopses.exact.batch_ring import BatchRing
from windrow.synopses.exact.loop import MOVES, Moves
from windrow.synopses.exact.ring import HEAD, TAIL, oldest_leaves, ring_size
from windrow.synopses.exact.stacks import Stacks, partials_are_full, reach_back

LEFT, RIGHT, ACCUMULATED, BACK = 2, 3, 4, 5
"""Cursors: where the parts of the front begin that are under work, and where the back begins."""
ZERO, UNDER_WORK, OF_BACK = 0, 1, 2
"""Rows of states: of no values, of the front from `RIGHT` on, and of the back."""


class Daba(NamedTuple):
    """A partial aggregate an element, in five stretches one after the other.

    From the head to `LEFT`, and from `ACCUMULATED` to `BACK`, a partial is that of its element and all later ones of
    the front. From `LEFT` to `RIGHT` it reaches to `RIGHT` only. From `RIGHT` to `ACCUMULATED`, and in the back, it is
    that of its element alone. Each step turns one partial on either side of the second and third stretch into one of
    the first kind, so that both are done when the back has grown as long as the front.
    """

    times: npt.NDArray[np.int64]
    partials: npt.NDArray[Any]
    numbers: npt.NDArray[Any]
    cursors: npt.NDArray[np.int64]


@move
def step(tag: Any, window: Any) -> None:
    """Do the work that is due after an element has come or left."""
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
    """The front is empty and the back has one element at most: it is the front now."""
    cursors = window.cursors
    cursors[LEFT:] = cursors[TAIL]
    zero = state_at(tag, window.numbers, ZERO)
    put_state(tag, window.numbers, UNDER_WORK, zero)
    put_state(tag, window.numbers, OF_BACK, zero)


@move
def _turn_over(tag: Any, window: Any) -> None:
    """All of the front is done and the back is as long: the back joins the front, and the work begins again."""
    cursors, numbers = window.cursors, window.numbers
    cursors[LEFT] = cursors[HEAD]
    cursors[ACCUMULATED] = cursors[BACK] = cursors[TAIL]
    put_state(tag, numbers, UNDER_WORK, state_at(tag, numbers, OF_BACK))
    put_state(tag, numbers, OF_BACK, state_at(tag, numbers, ZERO))


@move
def _shrink(tag: Any, window: Any) -> None:
    """Let the oldest unfinished partial reach to the end of the front, and the newest one as well."""
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
    """Do all of the work on the front at once: each partial becomes that of its element and all later ones of it."""
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
    """Go on where no work on the front is left; a back that is as long joins it, and the work is done for it too."""
    cursors = window.cursors
    if cursors[BACK] - cursors[HEAD] <= cursors[TAIL] - cursors[BACK]:
        _turn_over(tag, window)
        finish_work(tag, window)
    # Each step moves these on by one, and they must be at the back when it is one element shorter than the front.
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
    """Keeps a partial aggregate an element and two more, at a cost that is the same for every single element.

    As two stacks, but the work of their flip is done in small steps beforehand: two merges at most for each element
    that comes and for each that leaves. So no element waits for a whole window to be aggregated. A batch that is as
    long as the window, of a retention by count, has to wait for as many elements anyway: it is taken in as two stacks
    do it, which is several times as fast.

    >>> import numpy as np, windrow as wr
    >>> from windrow.synopses import DABA, Retention
    >>> window = DABA(wr.first("speed"), Retention(3))
    >>> window.roll(np.arange(5), np.array([9.0, 2.0, 4.0, 3.0, 1.0]), every=1)
    array([9., 9., 9., 2., 4.])
    """

    source: ClassVar[str] = "In-order sliding-window aggregation in worst-case constant time (2021), DABA lite"
    time: ClassVar[str] = "O(1) an element and an answer, at worst"
    space: ClassVar[str] = "R + 2 partials"
    positions: ClassVar[int] = 6

    def check(self, window: Any) -> None:
        """Refuse a saved window whose cursors are not places in it, in their order."""
        super().check(window)
        head, tail, left, right, accumulated, back = window.cursors.tolist()
        rising = head <= left <= right <= accumulated <= back <= tail
        check_that(rising, f"cursors that rise from {head} to {tail}, got {[left, right, accumulated, back]}")

    def empty(self) -> Any:
        """A window without elements."""
        return self.ring(Daba, 3)

    def suits(self, n: int, every: int) -> bool:
        """Whether a batch is taken in as a whole: if it costs no more than a few merges an element."""
        return super().suits(n, every) and n >= self.span.length

    def stacked(self) -> Stacks:
        """The window as two stacks: a front without any work to do is a front stack."""
        times, partials, numbers, cursors = self.window
        self.compiled(finish_work)(self._tag, self.window)
        return Stacks(times, partials, numbers[[ZERO, OF_BACK]], cursors[[HEAD, TAIL, BACK]])

    def unstack(self, stacks: Stacks) -> None:
        """Go on from two stacks."""
        cursors = self.window.cursors
        cursors[[HEAD, TAIL, BACK]] = stacks.cursors
        cursors[LEFT:BACK] = cursors[BACK]
        self.window.numbers[[ZERO, OF_BACK]] = stacks.numbers
        self.compiled(resume)(self._tag, self.window)
