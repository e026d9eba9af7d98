"""Two stacks over a whole batch: a retention by count tells beforehand when they flip, so no element has to ask.

A window of the last R elements flips its stacks every R elements (known from van Herk, Gil and Werman). In such a block
the states of the front stack are there already, one a row, those of the back stack follow from the elements, and each
answer is one merge of a row of either. A block is cut into tiles that fit the fastest cache: for each, one loop goes
through the elements, with the state in registers, and another answers, in which no step waits for the one before.

What is added and merged, and in which order, is the same as element by element, and so is the window in the end.
"""

from __future__ import annotations

from typing import Any

from numba import njit

from windrow.synopses.algebra import (
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
from windrow.synopses.ring import HEAD, TAIL
from windrow.synopses.stacks import BACK, SPLIT, flip

TILE = 248
"""Elements a tile. No power of two: the numbers of a state would all lie in the same few lines of the cache."""


@move
def _alone(tag: Any, numbers: Any, x: Any) -> Any:
    """The state of one element."""
    return added(tag, numbers, zero_state(tag, numbers), x)


@move
def _aggregate_backwards(tag: Any, rows: Any, x: Any) -> None:
    """What a flip makes of a back stack of these elements: in each row, the state of its element and all later ones."""
    last = x.size - 1
    state = _alone(tag, rows, x[last])
    put_state(tag, rows, last, state)
    for i in range(last):
        k = last - 1 - i
        state = merged(tag, rows, _alone(tag, rows, x[k]), state)
        put_state(tag, rows, k, state)


@move
def _push(tag: Any, backs: Any, back: Any, x: Any) -> Any:
    """Put elements on the back stack and note its state with each; returns that with all."""
    for i in range(x.size):
        back = added(tag, backs, back, x[i])
        put_in(tag, backs, i, back)
    return back


@move
def _exchange(tag: Any, rows: Any, fronts: Any, backs: Any, back: Any, x: Any) -> Any:
    """The same while as many elements leave the front stack; its states are noted as well."""
    for i in range(x.size):
        put_in(tag, fronts, i, state_at(tag, rows, i))
        back = added(tag, backs, back, x[i])
        put_in(tag, backs, i, back)
    return back


@move
def _weave(
    tag: Any, rows: Any, turned: bool, fronts: Any, backs: Any, back: Any, next_front: Any, x: Any, later: Any
) -> tuple[Any, Any]:
    """The same while the next front stack is made of the elements at the other end of the block.

    Its states go into the rows that become free, so they are in the opposite order. Neither of the two running states
    waits for the other: both together take hardly longer than one.
    """
    last = x.size - 1
    for i in range(x.size):
        k = last - i if turned else i
        put_in(tag, fronts, i, state_at(tag, rows, k))
        back = added(tag, backs, back, x[i])
        put_in(tag, backs, i, back)
        next_front = merged(tag, backs, _alone(tag, backs, later[last - i]), next_front)
        put_state(tag, rows, k, next_front)
    return back, next_front


@move
def _keep(tag: Any, partials: Any, tail: int, x: Any) -> None:
    """Write the newest elements, each alone, into their places in the ring."""
    mask = partials.shape[0] - 1
    for i in range(x.size):
        put_state(tag, partials, (tail - x.size + i) & mask, _alone(tag, partials, x[i]))


@move
def _answer(tag: Any, fronts: Any, backs: Any, first: int, every: int, results: Any) -> None:
    """Answers from the states of both stacks."""
    for i in range(results.size):
        k = first + i * every
        results[i] = finished(tag, merged(tag, backs, state_in(tag, fronts, k), state_in(tag, backs, k)))


@move
def _answer_alone(tag: Any, backs: Any, first: int, every: int, results: Any) -> None:
    """Answers from the states of the back stack, where the front stack is empty."""
    for i in range(results.size):
        results[i] = finished(tag, state_in(tag, backs, first + i * every))


@move
def _show(tag: Any, both: bool, fronts: Any, backs: Any, first: int, every: int, states: Any) -> None:
    """The states that were answered from, for those who must check them."""
    for i in range(states.shape[0]):
        k = first + i * every
        state = state_in(tag, backs, k)
        put_state(tag, states, i, merged(tag, backs, state_in(tag, fronts, k), state) if both else state)


@njit(cache=True, **WITHOUT_COUNTING)
def roll_counted(tag: Any, window: Any, length: int, x: Any, every: int, tiles: Any, results: Any, states: Any) -> None:
    """Take in elements and answer after each `every` of them; the ring must have room for all that will be in it."""
    partials, numbers, cursors = window.partials, window.numbers, window.cursors
    fronts, backs = tiles[0], tiles[1]
    head, split, tail = cursors[HEAD], cursors[SPLIT], cursors[TAIL]
    back, next_front = state_at(tag, numbers, BACK), zero_state(tag, numbers)
    weaving = turned = False
    at = given = 0
    due = every - 1
    while at < x.size:
        m = min(fronts.shape[1], x.size - at)
        both = split - head > 1
        if both and weaving:
            m = min(m, split - head - 1)
            place = length - 1 - head - m if turned else head + 1
            end = at + length - 1 - 2 * head
            back, next_front = _weave(
                tag, partials[place : place + m], turned, fronts, backs, back, next_front, x[at : at + m],
                x[end - m : end],
            )  # fmt: skip
            head += m
        elif both:
            place = (head + 1) & (partials.shape[0] - 1)
            m = min(m, min(split - head - 1, partials.shape[0] - place))
            back = _exchange(tag, partials[place : place + m], fronts, backs, back, x[at : at + m])
            head += m
        elif split > head or tail - head < length:
            # The front stack has its last element and loses it, or the window is not full: nothing has left it yet.
            m = min(m, max(split - head, length - (tail - head)))
            back = _push(tag, backs, back, x[at : at + m])
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
                weaving = turned or x.size - at >= 2 * length
                if weaving:
                    next_front = _alone(tag, numbers, x[at + length - 1])
                    put_state(tag, partials, length - 1 if turned else 0, next_front)
            back = zero_state(tag, numbers)
            continue
        first = due - at
        at += m
        tail += m
        if at > due:
            n = 1 if every >= m else 1 + (at - 1 - due) // every
            if not both:
                _answer_alone(tag, backs, first, every, results[given : given + n])
            elif every == 1:
                _answer(tag, fronts, backs, 0, 1, results[given : given + n])
            else:
                _answer(tag, fronts, backs, first, every, results[given : given + n])
            if states.size:
                _show(tag, both, fronts, backs, first, every, states[given : given + n])
            given += n
            due += n * every
    _keep(tag, partials, tail, x[x.size - min(tail - split, x.size) :])
    put_state(tag, numbers, BACK, back)
    cursors[HEAD], cursors[SPLIT], cursors[TAIL] = head, split, tail
