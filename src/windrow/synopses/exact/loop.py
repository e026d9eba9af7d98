"""The loop of every exact synopsis: evict expired values, insert one value, answer if due.

The steps of the loop are *moves*. Each kind of window is a named tuple of flat arrays with its own moves. The compiler
selects them by the type of the window, as it selects an aggregate's functions by the tag. No move allocates: the loop
returns when a window is full, the caller makes room and calls it again.

The window of a synopsis is defined in its own module, which registers its moves in `MOVES`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit
from numba.extending import overload

from windrow.jit import WITHOUT_COUNTING
from windrow.synopses.exact.algebra import finished, move, put_state


class Span(NamedTuple):
    """A retention as the loops take it: its length, and whether it is by time."""

    length: int
    timed: bool


class When(NamedTuple):
    """When to answer: the number of values before each answer and, optionally, the times to advance to."""

    ends: npt.NDArray[np.int64]
    moments: npt.NDArray[np.int64]


class Answers(NamedTuple):
    """Room for answers: results, the number of values behind each, and the states if they must be checked.

    Without room, the loop gives no answers.
    """

    results: npt.NDArray[Any]
    sizes: npt.NDArray[np.int64]
    states: npt.NDArray[Any]


@dataclass(frozen=True)
class Moves:
    """The steps of one kind of window, as plain functions that are compiled into the loop."""

    leaves: Callable[..., bool]
    evict: Callable[..., None]
    is_full: Callable[..., bool]
    insert: Callable[..., None]
    answer: Callable[..., Any]
    size: Callable[..., int]


MOVES: dict[type, Moves] = {}
"""The moves of each kind of window."""


def leaves(window: Any, span: Any, now: Any) -> Any:
    """Return whether the oldest value leaves the window when time reaches `now`."""


def evict(tag: Any, window: Any) -> None:
    """Remove the oldest value."""


def is_full(window: Any) -> Any:
    """Return whether the window lacks room for one more value."""


def insert(tag: Any, window: Any, span: Any, now: Any, x: Any) -> None:
    """Insert one value."""


def answer(tag: Any, window: Any) -> Any:
    """Return the state of all values in the window."""


def size(window: Any) -> Any:
    """Return the number of values in the window."""


@overload(leaves, jit_options=WITHOUT_COUNTING)
def _leaves(window: Any, span: Any, now: Any) -> Callable[..., bool]:
    return MOVES[window.instance_class].leaves


@overload(evict, jit_options=WITHOUT_COUNTING)
def _evict(tag: Any, window: Any) -> Callable[..., None]:
    return MOVES[window.instance_class].evict


@overload(is_full, jit_options=WITHOUT_COUNTING)
def _is_full(window: Any) -> Callable[..., bool]:
    return MOVES[window.instance_class].is_full


@overload(insert, jit_options=WITHOUT_COUNTING)
def _insert(tag: Any, window: Any, span: Any, now: Any, x: Any) -> Callable[..., None]:
    return MOVES[window.instance_class].insert


@overload(answer, jit_options=WITHOUT_COUNTING)
def _answer(tag: Any, window: Any) -> Callable[..., Any]:
    return MOVES[window.instance_class].answer


@overload(size, jit_options=WITHOUT_COUNTING)
def _size(window: Any) -> Callable[..., int]:
    return MOVES[window.instance_class].size


def specialised(loop: Any, owner: Any) -> Any:
    """Return a loop for one aggregate: cached on disk for a built-in one, compiled in this process for a user's."""
    return loop if owner.builtin else _in_process(loop)


@cache
def _in_process(loop: Any) -> Any:
    return move(loop.py_func)


@njit(cache=True, **WITHOUT_COUNTING)
def roll(
    tag: Any, window: Any, span: Any, on: Any, x: Any, at: int, answered: int, every: int, when: Any, answers: Any
) -> int:
    """Add values from `at` on and give answers from `answered` on; return the position at which the room ran out.

    Answers are due after every `every`-th value or, if `every` is 0, as `when` states. One loop serves both, since it
    is compiled per aggregate and kind of window.
    """
    while True:
        until = x.size + 1
        if every:
            until = (answered + 1) * every
        elif answered < when.ends.size:
            until = when.ends[answered]
        stop = min(until, x.size)
        while at < stop:
            while leaves(window, span, on[at]):
                evict(tag, window)
            if is_full(window):
                return at
            insert(tag, window, span, on[at], x[at])
            at += 1
        if at < until:
            return at
        if when.moments.size:
            while span.timed and leaves(window, span, when.moments[answered]):
                evict(tag, window)
        if answers.sizes.size:
            state = answer(tag, window)
            answers.sizes[answered] = size(window)
            answers.results[answered] = finished(tag, state)
            if answers.states.size:
                put_state(tag, answers.states, answered, state)
        answered += 1
