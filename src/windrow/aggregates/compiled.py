"""From an aggregate's pure functions to compiled loops over the states of many frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from numba import njit
from numba.extending import overload
from numba.np.unsafe.ndarray import to_fixed_tuple

from windrow.aggregates.tags import owner_of, tag_of


def add_value(tag: Any, numbers: Any, k: Any, x: Any) -> None:
    """Replace state `k` by the state with one more value."""


def merge_state(tag: Any, numbers: Any, k: Any, other: Any) -> None:
    """Replace state `k` by the state of its values followed by those of state `other`."""


def finish_state(tag: Any, numbers: Any, k: Any) -> Any:
    """The result of state `k`."""


def _width(owner: Any) -> int:
    return len(owner.zero(False) if owner.keeps_integers else owner.zero())


@overload(add_value)
def _add_value(tag: Any, numbers: Any, k: Any, x: Any) -> Callable[..., None]:
    owner = owner_of(tag.instance_class)
    add, width = njit(owner.add), _width(owner)

    def add_to_row(tag: Any, numbers: Any, k: Any, x: Any) -> None:
        state = add(to_fixed_tuple(numbers[k], width), x)
        for i in range(width):
            numbers[k, i] = state[i]

    return add_to_row


@overload(merge_state)
def _merge_state(tag: Any, numbers: Any, k: Any, other: Any) -> Callable[..., None]:
    owner = owner_of(tag.instance_class)
    merge, width = njit(owner.merge), _width(owner)

    def merge_into_row(tag: Any, numbers: Any, k: Any, other: Any) -> None:
        state = merge(to_fixed_tuple(numbers[k], width), to_fixed_tuple(numbers[other], width))
        for i in range(width):
            numbers[k, i] = state[i]

    return merge_into_row


@overload(finish_state)
def _finish_state(tag: Any, numbers: Any, k: Any) -> Callable[..., Any]:
    owner = owner_of(tag.instance_class)
    finish, width = njit(owner.finish), _width(owner)

    def finish_row(tag: Any, numbers: Any, k: Any) -> Any:
        return finish(to_fixed_tuple(numbers[k], width))

    return finish_row


@njit(cache=True)
def _accumulate(tag: Any, seen: Any, numbers: Any, slots: Any, values: Any, valid: Any) -> None:
    for i in range(slots.shape[0]):
        if valid.size and not valid[i]:
            continue
        for w in range(slots.shape[1]):
            k = slots[i, w]
            if k >= 0:
                seen[k] += 1
                add_value(tag, numbers, k, values[i])


@njit(cache=True)
def _merge(tag: Any, seen: Any, numbers: Any, into: Any, parts: Any) -> None:
    for part in parts:
        k = into[part]
        if seen[part]:
            seen[k] += seen[part]
            merge_state(tag, numbers, k, part)


@njit(cache=True)
def _finish(tag: Any, numbers: Any, out: Any) -> None:
    for k in range(out.size):
        out[k] = finish_state(tag, numbers, k)


@dataclass(frozen=True)
class Algebra:
    """The compiled loops of one aggregate class."""

    accumulate: Callable[..., None]
    merge: Callable[..., None]
    finish: Callable[..., None]


def specialised(loop: Any, owner: Any) -> Any:
    """A loop for one aggregate: from the cache on disk for a built-in one, compiled in this process for a user's."""
    return loop if owner.builtin else _in_process(loop)


@cache
def _in_process(loop: Any) -> Any:
    return njit(loop.py_func)


@cache
def algebra_of(owner: Any) -> Algebra:
    """The compiled loops of an aggregate class.

    >>> from windrow.aggregates import Sum
    >>> algebra_of(Sum) is algebra_of(Sum)
    True
    """
    tag = tag_of(owner, builtin=owner.builtin)
    return Algebra(*(partial(specialised(loop, owner), tag) for loop in (_accumulate, _merge, _finish)))
