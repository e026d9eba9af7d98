"""Two stacks over a whole batch: a retention by count tells beforehand when they flip, so no element has to ask.

A window of the last R elements flips its stacks every R elements (known from van Herk, Gil and Werman). In such a block
the states of the front stack are there already, one a row, those of the back stack follow from the elements, and each
answer is one merge of a row of either. A block is cut into tiles that fit the fastest cache: for each, one loop goes
through the elements, with the state in registers, and another answers, in which no step waits for the one before. Where
answers are cheap or few, the first loop gives them itself.

What is added and merged, and in which order, is the same as element by element, and so is the window in the end.

Elements are numbers, or the states of panes: what is said of an element here holds for both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit
from numba.extending import overload

from windrow.synopses.exact.algebra import (
    WITHOUT_COUNTING,
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
"""Elements a tile. No power of two: the numbers of a state would all lie in the same few lines of the cache."""
FRONTS, BACKS = 0, 1
"""Parts of a tile: the states of either stack that belong together."""


def alone(tag: Any, numbers: Any, x: Any, i: Any) -> Any:
    """The state of element `i` and nothing else."""


def along(tag: Any, numbers: Any, state: Any, x: Any, i: Any) -> Any:
    """The state with element `i` as well."""


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
    """What a flip makes of a back stack of these elements: in each row, the state of its element and all later ones."""
    last = len(x) - 1
    state = alone(tag, rows, x, last)
    put_state(tag, rows, last, state)
    for i in range(last):
        k = last - 1 - i
        state = merged(tag, rows, alone(tag, rows, x, k), state)
        put_state(tag, rows, k, state)


@move
def _answer(tag: Any, state: Any, given: int, answers: Any) -> None:
    answers.results[given] = finished(tag, state)
    if answers.states.size:
        put_state(tag, answers.states, given, state)


@move
def _push(tag: Any, numbers: Any, tile: Any, back: Any, x: Any, due: int, every: int, given: int, answers: Any) -> Any:
    """Put elements on the back stack and answer from it; returns its state, and when and where the next answer is due.

    Of a tile, its states are noted instead, to be answered from later.
    """
    for i in range(len(x)):
        back = along(tag, numbers, back, x, i)
        if tile is not None:
            put_in(tag, tile[BACKS], i, back)
        elif i == due:
            _answer(tag, back, given, answers)
            due += every
            given += 1
    return back, due - len(x), given


@move
def _exchange(
    tag: Any, rows: Any, step: int, tile: Any, back: Any, x: Any, due: int, every: int, given: int, answers: Any
) -> Any:  # fmt: skip
    """The same while there is a front stack, whose states are in the rows; it loses `step` elements each time."""
    for i in range(len(x)):
        back = along(tag, rows, back, x, i)
        if tile is not None:
            put_in(tag, tile[FRONTS], i, state_at(tag, rows, i * step))
            put_in(tag, tile[BACKS], i, back)
        elif i == due:
            _answer(tag, merged(tag, rows, state_at(tag, rows, i * step), back), given, answers)
            due += every
            given += 1
    return back, due - len(x), given


@move
def _weave(
    tag: Any, rows: Any, tile: Any, back: Any, x: Any, due: int, every: int, given: int, answers: Any,
    next_front: Any, later: Any, turned: bool,
) -> Any:  # fmt: skip
    """The same while the next front stack is made of the elements at the other end of the block.

    Its states go into the rows that become free, so they are in the opposite order. Neither of the two running states
    waits for the other: both together take hardly longer than one.
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
            _answer(tag, merged(tag, rows, front, back), given, answers)
            due += every
            given += 1
        next_front = merged(tag, rows, alone(tag, rows, later, last - i), next_front)
        put_state(tag, rows, k, next_front)
    return back, due - len(x), given, next_front


@move
def _answer_tile(tag: Any, both: bool, tile: Any, results: Any) -> None:
    """Answers from the states of both stacks, or of the back stack where the front stack is empty."""
    fronts, backs = tile[FRONTS], tile[BACKS]
    if both:
        for i in range(results.size):
            results[i] = finished(tag, merged(tag, backs, state_in(tag, fronts, i), state_in(tag, backs, i)))
    else:
        for i in range(results.size):
            results[i] = finished(tag, state_in(tag, backs, i))


@move
def _keep(tag: Any, partials: Any, tail: int, x: Any) -> None:
    """Write the newest elements, each alone, into their places in the ring."""
    mask = partials.shape[0] - 1
    for i in range(len(x)):
        put_state(tag, partials, (tail - len(x) + i) & mask, alone(tag, partials, x, i))


@njit(cache=True, **WITHOUT_COUNTING)
def roll_counted(tag: Any, window: Any, length: int, x: Any, every: int, tile: Any, answers: Any) -> None:
    """Take in elements and answer after each `every` of them; the ring must have room for all that will be in it.

    Without a tile, None, each answer is given at once. With one, all are given, and their states cannot be had.
    """
    partials, numbers, cursors = window.partials, window.numbers, window.cursors
    head, split, tail = cursors[HEAD], cursors[SPLIT], cursors[TAIL]
    back, next_front = state_at(tag, numbers, BACK), zero_state(tag, numbers)
    weaving = turned = False
    at = given = 0
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
            back, due, given, next_front = _weave(
                tag, partials[place : place + m], tile, back, x[at : at + m], due, every, given, answers,
                next_front, x[end - m : end], turned,
            )  # fmt: skip
            head += m
        elif both:
            place = (head + step) & (partials.shape[0] - 1)
            m = min(m, min(split - head - 1, partials.shape[0] - place) if step else length - (tail - head))
            rows = partials[place : place + m]
            back, due, given = _exchange(tag, rows, step, tile, back, x[at : at + m], due, every, given, answers)
            head += m * step
        elif split > head or not step:
            # The front stack has its last element and loses it, or the window is not full: nothing has left it yet.
            m = min(m, max(split - head, length - (tail - head)))
            back, due, given = _push(tag, numbers, tile, back, x[at : at + m], due, every, given, answers)
            head = split
        else:
            if at < length:
                # Only the first flip can be one of elements that came before this batch.
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
                # A block can be woven if all of it is here. The order of the rows must be right again in the end.
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
    """The state of each `length` elements."""
    for pane in range(len(states)):
        state = zero_state(tag, states)
        for i in range(pane * length, (pane + 1) * length):
            state = added(tag, states, state, x[i])
        put_state(tag, states, pane, state)
