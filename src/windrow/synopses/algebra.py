"""An aggregate's functions over states that stay in registers, specialised by the aggregate's tag.

A state is a tuple of numbers of one type, that of the array it is kept in. So the compiler sees tuples of one shape
wherever an aggregate's own functions mix integers and floats.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from numba import njit
from numba.extending import overload

from windrow.aggregates.tags import owner_of

WITHOUT_COUNTING = {"_nrt": False}
"""Nothing here allocates, so nothing needs to count references to arrays: doing it takes longer than all the rest."""
move = njit(**WITHOUT_COUNTING)
"""Compiles a function that others are made of."""


def state_at(tag: Any, numbers: Any, k: Any) -> Any:
    """State `k` as a tuple."""


def put_state(tag: Any, numbers: Any, k: Any, state: Any) -> None:
    """Write a tuple as state `k`."""


def added(tag: Any, numbers: Any, state: Any, x: Any) -> Any:
    """The state with one more value."""


def removed(tag: Any, numbers: Any, state: Any, x: Any) -> Any:
    """The state with one value less."""


def merged(tag: Any, numbers: Any, a: Any, b: Any) -> Any:
    """The state of the values behind `a` followed by those behind `b`."""


def finished(tag: Any, state: Any) -> Any:
    """The result of a state."""


def width_of(owner: Any) -> int:
    """How many numbers a state has."""
    return len(owner.zero(False) if owner.keeps_integers else owner.zero())


def _options_of(owner: Any) -> Any:
    """How a tag gives the last arguments of an aggregate's functions."""
    return move(lambda tag: (tag.options,)) if owner.has_options else move(lambda tag: ())


@cache
def _cast(width: int) -> Any:
    """A compiled function that gives the numbers of a tuple the type of an array's elements."""
    last = width - 1
    if not last:
        return move(lambda numbers, state: (numbers.dtype.type(state[0]),))
    before = _cast(last)
    return move(lambda numbers, state: (*before(numbers, state), numbers.dtype.type(state[last])))


@cache
def _row(width: int) -> Any:
    """A compiled function that gives a row of a matrix as a tuple; reading number by number, it makes no view."""
    last = width - 1
    if not last:
        return move(lambda numbers, k: (numbers[k, 0],))
    before = _row(last)
    return move(lambda numbers, k: (*before(numbers, k), numbers[k, last]))


@overload(state_at, strict=False, jit_options=WITHOUT_COUNTING)
def _state_at(tag: Any, numbers: Any, k: Any) -> Callable[..., Any]:
    row = _row(width_of(owner_of(tag.instance_class)))
    return lambda tag, numbers, k: row(numbers, k)


@overload(put_state, jit_options=WITHOUT_COUNTING)
def _put_state(tag: Any, numbers: Any, k: Any, state: Any) -> Callable[..., None]:
    width = width_of(owner_of(tag.instance_class))

    def put(tag: Any, numbers: Any, k: Any, state: Any) -> None:
        for i in range(width):
            numbers[k, i] = state[i]

    return put


@overload(added, strict=False, jit_options=WITHOUT_COUNTING)
def _added(tag: Any, numbers: Any, state: Any, x: Any) -> Callable[..., Any]:
    owner = owner_of(tag.instance_class)
    add, cast, options = move(owner.add), _cast(width_of(owner)), _options_of(owner)
    return lambda tag, numbers, state, x: cast(numbers, add(state, x, *options(tag)))


@overload(removed, strict=False, jit_options=WITHOUT_COUNTING)
def _removed(tag: Any, numbers: Any, state: Any, x: Any) -> Callable[..., Any]:
    owner = owner_of(tag.instance_class)
    remove, cast, options = move(owner.remove), _cast(width_of(owner)), _options_of(owner)
    return lambda tag, numbers, state, x: cast(numbers, remove(state, x, *options(tag)))


@overload(merged, strict=False, jit_options=WITHOUT_COUNTING)
def _merged(tag: Any, numbers: Any, a: Any, b: Any) -> Callable[..., Any]:
    owner = owner_of(tag.instance_class)
    merge, cast, options = move(owner.merge), _cast(width_of(owner)), _options_of(owner)
    return lambda tag, numbers, a, b: cast(numbers, merge(a, b, *options(tag)))


@overload(finished, strict=False, jit_options=WITHOUT_COUNTING)
def _finished(tag: Any, state: Any) -> Callable[..., Any]:
    owner = owner_of(tag.instance_class)
    finish, options = move(owner.finish), _options_of(owner)
    return lambda tag, state: finish(state, *options(tag))
