"""Two stacks over a whole batch. A retention by count fixes in advance when they flip, so no value has to check.

A window of the last R values flips its stacks every R values (the van Herk/Gil-Werman algorithm). After a flip, the
front stack holds one state per row: the suffixes of the previous block. The back stack runs over the current block as a
prefix. Each answer merges one suffix with one prefix. With R = 4, after the flip at `|`:

    values      x0      x1      x2      x3   |   x4      x5      x6      x7
    front    [x0..x3][x1..x3][x2..x3] [x3]   |
    back                                     |  [x4]  [x4..x5][x4..x6][x4..x7]

    answer after x4 = merge([x1..x3], [x4])         after x6 = merge([x3], [x4..x6])
    answer after x5 = merge([x2..x3], [x4..x5])     after x7 = [x4..x7], and the stacks flip

Two measures make this fast:

- *Tiles.* A block is cut into tiles that fit the L1 cache. One loop runs over the values of a tile with the state in
  registers and stores both states per value. A second loop answers; its iterations are independent. Where answers are
  few or cheap, the first loop answers directly, without a tile.
- *Weaving.* If the next two blocks are available, the front stack of the block after is built in the same loop, from
  the far end of the block. Its states go into the rows that the current front frees, hence in the opposite order
  (`turned`). The second of the two blocks restores the order:

    front rows     f0    f1    f2    f3      fi = [xi..x3]; f0 is not needed again
    at the flip    g3    f1    f2    f3      g3 = [x7]
    after x4       g3    g2    f2    f3      g2 = [x6..x7]
    after x6       g3    g2    g1    g0      the next front stack, in reverse

Values are added and merged in the same order as one by one, and the final window is the same. A "value" here is a
number or the state of a pane.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit
from numba.extending import overload

from windrow.jit import WITHOUT_COUNTING
from windrow.synopses.exact.algebra import (
    added,
    finished,
    merged,
    move,
    put_in,
    put_state,
    state_at,
    state_in,
    zero_state,
)
from windrow.synopses.exact.ring import HEAD, TAIL
from windrow.synopses.exact.stacks import BACK, SPLIT, flip

TILE = 248
"""Values per tile. Not a power of two, which would map the numbers of a state to the same few cache lines."""
FRONTS, BACKS = 0, 1
"""Parts of a tile: the front and back states to be merged."""


def alone(tag: Any, numbers: Any, x: Any, i: Any) -> Any:
    """Return the state of value `i` alone."""


def along(tag: Any, numbers: Any, state: Any, x: Any, i: Any) -> Any:
    """Return the state with value `i` added."""


@overload(alone, strict=False, jit_options=WITHOUT_COUNTING)
def _alone(tag: Any, numbers: Any, x: Any, i: Any) -> Callable[..., Any]:
    if x.ndim == 2:
        return lambda tag, numbers, x, i: state_at(tag, x, i)
    return lambda tag, numbers, x, i: added(tag, numbers, zero_state(tag, numbers), x[i])


@overload(along, strict=False, jit_options=WITHOUT_COUNTING)
def _along(tag: Any, numbers: Any, state: Any, x: Any, i: Any) -> Callable[..., Any]:
    if x.ndim == 2:
        return lambda tag, numbers, state, x, i: merged(tag, numbers, state, state_at(tag, x, i))
    return lambda tag, numbers, state, x, i: added(tag, numbers, state, x[i])


@move
def _aggregate_backwards(tag: Any, rows: Any, x: Any) -> None:
    """Write what a flip makes of these values: row i gets the state of value i and all later ones."""
    last = len(x) - 1
    state = alone(tag, rows, x, last)
    put_state(tag, rows, last, state)
    for i in range(last):
        k = last - 1 - i
        state = merged(tag, rows, alone(tag, rows, x, k), state)
        put_state(tag, rows, k, state)


@move
def _answer(tag: Any, state: Any, answered: int, answers: Any) -> None:
    answers.results[answered] = finished(tag, state)
    if answers.states.size:
        put_state(tag, answers.states, answered, state)


@move
def _push(
    tag: Any, numbers: Any, tile: Any, back: Any, x: Any, due: int, every: int, answered: int, answers: Any
) -> Any:
    """Push values onto the back stack and answer from it; return its state and the next answer's offset and index.

    With a tile, store the states instead of answering.
    """
    for i in range(len(x)):
        back = along(tag, numbers, back, x, i)
        if tile is not None:
            put_in(tag, tile[BACKS], i, back)
        elif i == due:
            _answer(tag, back, answered, answers)
            due += every
            answered += 1
    return back, due - len(x), answered


@move
def _exchange(
    tag: Any, rows: Any, step: int, tile: Any, back: Any, x: Any, due: int, every: int, answered: int, answers: Any
) -> Any:  # fmt: skip
    """Do the same with a front stack, whose states are in `rows`; it loses `step` values per value pushed."""
    for i in range(len(x)):
        back = along(tag, rows, back, x, i)
        if tile is not None:
            put_in(tag, tile[FRONTS], i, state_at(tag, rows, i * step))
            put_in(tag, tile[BACKS], i, back)
        elif i == due:
            _answer(tag, merged(tag, rows, state_at(tag, rows, i * step), back), answered, answers)
            due += every
            answered += 1
    return back, due - len(x), answered


@move
def _weave(
    tag: Any, rows: Any, tile: Any, back: Any, x: Any, due: int, every: int, answered: int, answers: Any,
    next_front: Any, later: Any, turned: bool,
) -> Any:  # fmt: skip
    """Do the same while building the next front stack from the values at the far end of the block.

    Its states go into the rows that become free, in the opposite order. The two running states do not depend on each
    other, so both together take little longer than one.
    """
    last = len(x) - 1
    for i in range(len(x)):
        k = last - i if turned else i
        front = state_at(tag, rows, k)
        back = along(tag, rows, back, x, i)
        if tile is not None:
            put_in(tag, tile[FRONTS], i, front)
            put_in(tag, tile[BACKS], i, back)
        elif i == due:
            _answer(tag, merged(tag, rows, front, back), answered, answers)
            due += every
            answered += 1
        next_front = merged(tag, rows, alone(tag, rows, later, last - i), next_front)
        put_state(tag, rows, k, next_front)
    return back, due - len(x), answered, next_front


@move
def _answer_tile(tag: Any, both: bool, tile: Any, results: Any) -> None:
    """Answer from the states of both stacks, or of the back stack alone if the front is empty."""
    fronts, backs = tile[FRONTS], tile[BACKS]
    if both:
        for i in range(results.size):
            results[i] = finished(tag, merged(tag, backs, state_in(tag, fronts, i), state_in(tag, backs, i)))
    else:
        for i in range(results.size):
            results[i] = finished(tag, state_in(tag, backs, i))


@move
def _keep(tag: Any, partials: Any, tail: int, x: Any) -> None:
    """Write the newest values, each alone, into their places in the ring."""
    mask = partials.shape[0] - 1
    for i in range(len(x)):
        put_state(tag, partials, (tail - len(x) + i) & mask, alone(tag, partials, x, i))


@njit(cache=True, **WITHOUT_COUNTING)
def roll_counted(tag: Any, window: Any, length: int, x: Any, every: int, tile: Any, answers: Any) -> None:
    """Add values and answer after every `every`-th one; the ring must have room for the whole window.

    If `tile` is None, each answer is given at once. Otherwise there is an answer per value, and its state is not
    returned.
    """
    partials, numbers, cursors = window.partials, window.numbers, window.cursors
    head, split, tail = cursors[HEAD], cursors[SPLIT], cursors[TAIL]
    back, next_front = state_at(tag, numbers, BACK), zero_state(tag, numbers)
    weaving = turned = False
    at = answered = 0
    due = every - 1
    while at < len(x):
        m = len(x) - at
        if tile is not None:
            m = min(m, TILE)
        step = 0 if tail - head < length else 1
        both = split - head > step
        if both and weaving:
            m = min(m, split - head - 1)
            place = length - 1 - head - m if turned else head + 1
            end = at + length - 1 - 2 * head
            back, due, answered, next_front = _weave(
                tag, partials[place : place + m], tile, back, x[at : at + m], due, every, answered, answers,
                next_front, x[end - m : end], turned,
            )  # fmt: skip
            head += m
        elif both:
            place = (head + step) & (partials.shape[0] - 1)
            m = min(m, min(split - head - 1, partials.shape[0] - place) if step else length - (tail - head))
            rows = partials[place : place + m]
            back, due, answered = _exchange(tag, rows, step, tile, back, x[at : at + m], due, every, answered, answers)
            head += m * step
        elif split > head or not step:
            # The front stack holds its last value and loses it, or the window is not full and nothing has left it yet.
            m = min(m, max(split - head, length - (tail - head)))
            back, due, answered = _push(tag, numbers, tile, back, x[at : at + m], due, every, answered, answers)
            head = split
        else:
            if at < length:
                # Only the first flip can cover values from before this batch.
                _keep(tag, partials, tail, x[:at])
                cursors[HEAD], cursors[TAIL] = head, tail
                flip(tag, window)
                split = tail
            else:
                if weaving:
                    turned = not turned
                else:
                    _aggregate_backwards(tag, partials[:length], x[at - length : at])
                head, split, tail = 0, length, length
                # Blocks are woven in pairs: the second one restores the order of the rows.
                weaving = turned or len(x) - at >= 2 * length
                if weaving:
                    next_front = alone(tag, numbers, x, at + length - 1)
                    put_state(tag, partials, length - 1 if turned else 0, next_front)
            back = zero_state(tag, numbers)
            continue
        if tile is not None:
            _answer_tile(tag, both, tile, answers.results[at : at + m])
        at += m
        tail += m
    _keep(tag, partials, tail, x[len(x) - min(tail - split, len(x)) :])
    put_state(tag, numbers, BACK, back)
    cursors[HEAD], cursors[SPLIT], cursors[TAIL] = head, split, tail


@njit(cache=True, **WITHOUT_COUNTING)
def sum_up(tag: Any, x: Any, length: int, states: Any) -> None:
    """Write the state of each run of `length` values."""
    for pane in range(len(states)):
        state = zero_state(tag, states)
        for i in range(pane * length, (pane + 1) * length):
            state = added(tag, states, state, x[i])
        put_state(tag, states, pane, state)
