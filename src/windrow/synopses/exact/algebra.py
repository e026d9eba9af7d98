"""An aggregate's functions over states held in registers, specialised by the aggregate's tag.

A state is a tuple of numbers of one type, the type of the array that stores it. The compiler thus sees tuples of one
shape even where an aggregate's own functions mix integers and floats.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from numba import njit, types
from numba.extending import overload

from windrow.aggregates.engine.tags import owner_of
from windrow.jit import WITHOUT_COUNTING

move = njit(**WITHOUT_COUNTING)
"""Compiles a building block of the kernels."""


def state_at(tag: Any, numbers: Any, k: Any) -> Any:
    """Return state `k` as a tuple."""


def zero_state(tag: Any, numbers: Any) -> Any:
    """Return the state of no values, as compile-time constants."""


def put_state(tag: Any, numbers: Any, k: Any, state: Any) -> None:
    """Write a tuple as state `k`."""


def state_in(tag: Any, columns: Any, k: Any) -> Any:
    """Return state `k` as a tuple, from states stored by column: row i holds the i-th number of each state."""


def put_in(tag: Any, columns: Any, k: Any, state: Any) -> None:
    """Write a tuple as state `k` of states stored by column."""


def added(tag: Any, numbers: Any, state: Any, x: Any) -> Any:
    """Return the state with one more value."""


def removed(tag: Any, numbers: Any, state: Any, x: Any) -> Any:
    """Return the state with one value removed."""


def merged(tag: Any, numbers: Any, a: Any, b: Any) -> Any:
    """Return the state of the values of `a` followed by those of `b`."""


def finished(tag: Any, state: Any) -> Any:
    """Return the result of a state."""


def width_of(owner: Any) -> int:
    """Return how many numbers a state has."""
    return len(owner.zero(False) if owner.keeps_integers else owner.zero())


def _own(owner: Any, function: Any) -> Any:
    """Return one of an aggregate's functions, compiled.

    In a user's function, division by zero raises, as in Python. The built-in functions check the divisor themselves;
    without the compiler's check, their loops can be vectorised.
    """
    return njit(error_model="numpy" if owner.builtin else "python", **WITHOUT_COUNTING)(function)


def _options_of(owner: Any) -> Any:
    """Return a function from a tag to the trailing arguments of the aggregate's functions."""
    return move(lambda tag: (tag.options,)) if owner.has_options else move(lambda tag: ())


@cache
def _cast(width: int) -> Any:
    """Return a compiled function that casts the numbers of a tuple to the type of an array."""
    last = width - 1
    if not last:
        return move(lambda numbers, state: (numbers.dtype.type(state[0]),))
    before = _cast(last)
    return move(lambda numbers, state: (*before(numbers, state), numbers.dtype.type(state[last])))


@cache
def _row(width: int) -> Any:
    """Return a compiled function that reads a row of a matrix as a tuple, number by number, without a view."""
    last = width - 1
    if not last:
        return move(lambda numbers, k: (numbers[k, 0],))
    before = _row(last)
    return move(lambda numbers, k: (*before(numbers, k), numbers[k, last]))


@cache
def _column(width: int) -> Any:
    """Return a compiled function that reads a column of a matrix as a tuple."""
    last = width - 1
    if not last:
        return move(lambda numbers, k: (numbers[0, k],))
    before = _column(last)
    return move(lambda numbers, k: (*before(numbers, k), numbers[last, k]))


@overload(state_at, strict=False, jit_options=WITHOUT_COUNTING)
def _state_at(tag: Any, numbers: Any, k: Any) -> Callable[..., Any]:
    row = _row(width_of(owner_of(tag.instance_class)))
    return lambda tag, numbers, k: row(numbers, k)


@overload(zero_state, strict=False, jit_options=WITHOUT_COUNTING)
def _zero_state(tag: Any, numbers: Any) -> Callable[..., Any]:
    owner = owner_of(tag.instance_class)
    zero = owner.zero(isinstance(numbers.dtype, types.Integer)) if owner.keeps_integers else owner.zero()
    cast = _cast(len(zero))
    return lambda tag, numbers: cast(numbers, zero)


@overload(put_state, jit_options=WITHOUT_COUNTING)
def _put_state(tag: Any, numbers: Any, k: Any, state: Any) -> Callable[..., None]:
    width = width_of(owner_of(tag.instance_class))

    def put(tag: Any, numbers: Any, k: Any, state: Any) -> None:
        for i in range(width):
            numbers[k, i] = state[i]

    return put


@overload(state_in, strict=False, jit_options=WITHOUT_COUNTING)
def _state_in(tag: Any, columns: Any, k: Any) -> Callable[..., Any]:
    column = _column(width_of(owner_of(tag.instance_class)))
    return lambda tag, columns, k: column(columns, k)


@overload(put_in, jit_options=WITHOUT_COUNTING)
def _put_in(tag: Any, columns: Any, k: Any, state: Any) -> Callable[..., None]:
    width = width_of(owner_of(tag.instance_class))

    def put(tag: Any, columns: Any, k: Any, state: Any) -> None:
        for i in range(width):
            columns[i, k] = state[i]

    return put


@overload(added, strict=False, jit_options=WITHOUT_COUNTING)
def _added(tag: Any, numbers: Any, state: Any, x: Any) -> Callable[..., Any]:
    owner = owner_of(tag.instance_class)
    add, cast, options = _own(owner, owner.add), _cast(width_of(owner)), _options_of(owner)
    return lambda tag, numbers, state, x: cast(numbers, add(state, x, *options(tag)))


@overload(removed, strict=False, jit_options=WITHOUT_COUNTING)
def _removed(tag: Any, numbers: Any, state: Any, x: Any) -> Callable[..., Any]:
    owner = owner_of(tag.instance_class)
    remove, cast, options = _own(owner, owner.remove), _cast(width_of(owner)), _options_of(owner)
    return lambda tag, numbers, state, x: cast(numbers, remove(state, x, *options(tag)))


@overload(merged, strict=False, jit_options=WITHOUT_COUNTING)
def _merged(tag: Any, numbers: Any, a: Any, b: Any) -> Callable[..., Any]:
    owner = owner_of(tag.instance_class)
    merge, cast, options = _own(owner, owner.merge), _cast(width_of(owner)), _options_of(owner)
    return lambda tag, numbers, a, b: cast(numbers, merge(a, b, *options(tag)))


@overload(finished, strict=False, jit_options=WITHOUT_COUNTING)
def _finished(tag: Any, state: Any) -> Callable[..., Any]:
    owner = owner_of(tag.instance_class)
    finish, options = _own(owner, owner.finish), _options_of(owner)
    return lambda tag, state: finish(state, *options(tag))
