"""One loop for every exact synopsis: what leaves the window goes, an element comes in, an answer is given.

The parts of the loop are *moves*. Each kind of window is a named tuple of flat arrays with moves of its own, and the
compiler picks them by the type of the window, as it picks an aggregate's functions by the tag. No move allocates: the
loop stops where a window is full, the caller makes room, and the loop goes on.
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

from windrow.synopses.exact.algebra import WITHOUT_COUNTING, finished, move, put_state


class Span(NamedTuple):
    """A retention as the loops take it: its length, and whether it is one of time."""

    length: int
    timed: bool


class When(NamedTuple):
    """When to answer: after how many elements and, if time goes on until then, at which moments; both never fall."""

    ends: npt.NDArray[np.int64]
    moments: npt.NDArray[np.int64]


class Answers(NamedTuple):
    """Room for what a roll answers: results, how many elements each is of, and the states if they must be checked.

    Without any room, nothing is answered.
    """

    results: npt.NDArray[Any]
    sizes: npt.NDArray[np.int64]
    states: npt.NDArray[Any]


@dataclass(frozen=True)
class Moves:
    """What a kind of window does in the loop. Plain functions, compiled into it."""

    leaves: Callable[..., bool]
    evict: Callable[..., None]
    is_full: Callable[..., bool]
    insert: Callable[..., None]
    answer: Callable[..., Any]
    size: Callable[..., int]


MOVES: dict[type, Moves] = {}
"""The moves of each kind of window."""


def leaves(window: Any, span: Any, now: Any) -> Any:
    """Whether the oldest element is no longer in the window once one of `now` is in it."""


def evict(tag: Any, window: Any) -> None:
    """Take out the oldest element."""


def is_full(window: Any) -> Any:
    """Whether there is no room for one more element."""


def insert(tag: Any, window: Any, span: Any, now: Any, x: Any) -> None:
    """Take in one element."""


def answer(tag: Any, window: Any) -> Any:
    """The state of all elements in the window."""


def size(window: Any) -> Any:
    """How many elements are in the window."""


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
    """A loop for one aggregate: from the cache on disk for a built-in one, compiled in this process for a user's."""
    return loop if owner.builtin else _in_process(loop)


@cache
def _in_process(loop: Any) -> Any:
    return move(loop.py_func)


@njit(cache=True, **WITHOUT_COUNTING)
def roll(
    tag: Any, window: Any, span: Any, on: Any, x: Any, at: int, given: int, every: int, when: Any, answers: Any
) -> int:
    """Take in the elements from `at` on and give the answers from `given` on; returns where there was no more room.

    Answers are given after each `every` of all elements or, if it is 0, as `when` says. There is one loop for all that,
    since it is compiled for each aggregate and each kind of window.
    """
    while True:
        until = x.size + 1
        if every:
            until = (given + 1) * every
        elif given < when.ends.size:
            until = when.ends[given]
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
            while span.timed and leaves(window, span, when.moments[given]):
                evict(tag, window)
        if answers.sizes.size:
            state = answer(tag, window)
            answers.sizes[given] = size(window)
            answers.results[given] = finished(tag, state)
            if answers.states.size:
                put_state(tag, answers.states, given, state)
        given += 1
