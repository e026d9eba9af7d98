"""Compiled loops over the states of many frames, generated from an aggregate's pure functions.

The operations on a single state are overloads, which the compiler selects by the aggregate's tag. For aggregates whose
states are objects, the same loops run as plain Python. The tag is then the aggregate itself, and the bodies of the
functions below are executed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numba import njit
from numba.extending import overload
from numba.np.unsafe.ndarray import to_fixed_tuple

from windrow.aggregates.engine.tags import owner_of, tag_of
from windrow.aggregates.engine.value_runs import BEGIN, LENGTH, settle


def add_value(tag: Any, numbers: Any, k: Any, x: Any) -> None:
    """Replace state `k` by the state with one more value; with several columns, `x` is a row."""
    values = tuple(x) if tag.reads > 1 else (x,)
    numbers[k, 0] = tag.add(numbers[k, 0], *values, *tag.last_arguments(integral=False))


def merge_state(tag: Any, numbers: Any, k: Any, other: Any) -> None:
    """Replace state `k` by the state of its values followed by those of state `other`."""
    numbers[k, 0] = tag.merge(numbers[k, 0], numbers[other, 0], *tag.last_arguments(integral=False))


def finish_state(tag: Any, numbers: Any, k: Any) -> Any:
    """Return the result of state `k`."""


def finish_kept(tag: Any, numbers: Any, runs: Any, k: Any) -> Any:
    """Return the result of state `k`, which may consist of the values themselves."""
    return tag.finish(numbers[k, 0], *tag.last_arguments(integral=False))


def finish_list(tag: Any, numbers: Any, runs: Any, k: Any, items: Any, counts: Any) -> Any:
    """Write the list that is the result of state `k`, and return its length."""


def _width(owner: Any) -> int:
    return len(owner.zero(False) if owner.keeps_integers else owner.zero())


@cache
def _row(width: int) -> Any:
    """Compile a function that returns a row of a matrix as a tuple; it reads single numbers and creates no view."""
    last = width - 1
    if not last:
        return njit(lambda numbers, k: (numbers[k, 0],))
    before = _row(last)
    return njit(lambda numbers, k: (*before(numbers, k), numbers[k, last]))


def _values_of(owner: Any) -> Any:
    """Compile a function that turns a value, or a row of several, into the arguments of `add`."""
    reads = owner.reads
    if reads == 1:
        return njit(lambda x: (x,))
    return njit(lambda x: to_fixed_tuple(x, reads))


def _options_of(owner: Any) -> Any:
    """Compile a function that returns the trailing arguments of an aggregate's functions, given its tag."""
    return njit(lambda tag: (tag.options,)) if owner.has_options else njit(lambda tag: ())


def _state_of(owner: Any) -> Any:
    """Compile a function that reads a state from the arrays that hold it."""
    if owner.form == "numbers":
        row = _row(_width(owner))
        return njit(lambda numbers, runs, k: row(numbers, k))
    if owner.form == "row":
        return njit(lambda numbers, runs, k: numbers[k])

    def run_at(numbers: Any, runs: Any, k: Any) -> Any:
        settle(runs, k)
        begin, end = runs.spans[k, BEGIN], runs.spans[k, BEGIN] + runs.spans[k, LENGTH]
        return runs.values[begin:end], runs.counts[begin:end]

    return njit(run_at)


@overload(add_value)
def _add_value(tag: Any, numbers: Any, k: Any, x: Any) -> Callable[..., None]:
    owner = owner_of(tag.instance_class)
    add, values, options = njit(owner.add), _values_of(owner), _options_of(owner)
    if owner.form == "row":

        def add_in_place(tag: Any, numbers: Any, k: Any, x: Any) -> None:
            add(numbers[k], *(values(x) + options(tag)))

        return add_in_place
    width = _width(owner)
    row = _row(width)

    def add_to_row(tag: Any, numbers: Any, k: Any, x: Any) -> None:
        state = add(row(numbers, k), *(values(x) + options(tag)))
        for i in range(width):
            numbers[k, i] = state[i]

    return add_to_row


@overload(merge_state)
def _merge_state(tag: Any, numbers: Any, k: Any, other: Any) -> Callable[..., None]:
    owner = owner_of(tag.instance_class)
    merge, options = njit(owner.merge), _options_of(owner)
    if owner.form == "row":

        def merge_in_place(tag: Any, numbers: Any, k: Any, other: Any) -> None:
            merge(numbers[k], numbers[other], *options(tag))

        return merge_in_place
    width = _width(owner)
    row = _row(width)

    def merge_into_row(tag: Any, numbers: Any, k: Any, other: Any) -> None:
        state = merge(row(numbers, k), row(numbers, other), *options(tag))
        for i in range(width):
            numbers[k, i] = state[i]

    return merge_into_row


@overload(finish_state)
def _finish_state(tag: Any, numbers: Any, k: Any) -> Callable[..., Any]:
    owner = owner_of(tag.instance_class)
    finish, options, state = njit(owner.finish), _options_of(owner), _state_of(owner)

    def finish_row(tag: Any, numbers: Any, k: Any) -> Any:
        return finish(state(numbers, None, k), *options(tag))

    return finish_row


@overload(finish_kept)
def _finish_kept(tag: Any, numbers: Any, runs: Any, k: Any) -> Callable[..., Any]:
    owner = owner_of(tag.instance_class)
    finish, options, state = njit(owner.finish), _options_of(owner), _state_of(owner)

    def finish_one(tag: Any, numbers: Any, runs: Any, k: Any) -> Any:
        return finish(state(numbers, runs, k), *options(tag))

    return finish_one


@overload(finish_list)
def _finish_list(tag: Any, numbers: Any, runs: Any, k: Any, items: Any, counts: Any) -> Callable[..., Any]:
    owner = owner_of(tag.instance_class)
    finish, options, state = njit(owner.finish), _options_of(owner), _state_of(owner)
    if owner.gives == "list":

        def write_list(tag: Any, numbers: Any, runs: Any, k: Any, items: Any, counts: Any) -> Any:
            return finish(state(numbers, runs, k), *(options(tag) + (items,)))  # noqa: RUF005 - numba

        return write_list

    def write_counted(tag: Any, numbers: Any, runs: Any, k: Any, items: Any, counts: Any) -> Any:
        return finish(state(numbers, runs, k), *(options(tag) + (items, counts)))  # noqa: RUF005 - numba

    return write_counted


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
def _finish(tag: Any, numbers: Any, runs: Any, rows: Any, out: Any) -> None:
    for k in rows:
        out[k] = finish_kept(tag, numbers, runs, k)


@njit(cache=True)
def _finish_lists(tag: Any, numbers: Any, runs: Any, rows: Any, items: Any, counts: Any, lengths: Any) -> int:
    at = 0
    for k in rows:
        lengths[k] = finish_list(tag, numbers, runs, k, items[at:], counts[at:])
        at += lengths[k]
    return at


@dataclass(frozen=True)
class Algebra:
    """The compiled loops of one aggregate."""

    accumulate: Callable[..., None]
    merge: Callable[..., None]
    finish: Callable[..., Any]


def specialised(loop: Any, owner: Any) -> Any:
    """Return the loop for one aggregate: cached on disk if it is built in, compiled in this process if it is not.

    For states that are objects, the loop runs uncompiled.
    """
    if owner.form == "objects":
        return loop.py_func
    return loop if owner.builtin else _in_process(loop)


@cache
def _in_process(loop: Any) -> Any:
    return njit(loop.py_func)


def tag_for(aggregate: Any, integral: bool) -> Any:
    """Return the first argument of all loops, which gives numba the aggregate's class, and the loops its options.

    >>> import windrow as wr
    >>> tag_for(wr.quantile("temp", 0.99), integral=False).options
    array([0.99])
    """
    owner = aggregate.compiled_as()
    if owner.form == "objects":
        return aggregate
    tag = tag_of(owner, builtin=owner.builtin)
    return tag._replace(options=np.asarray(aggregate.options(integral))) if owner.has_options else tag


def algebra_for(aggregate: Any, integral: bool) -> Algebra:
    """Return the compiled loops of an aggregate."""
    owner, tag = aggregate.compiled_as(), tag_for(aggregate, integral)
    loops = (_accumulate, _merge, _finish if owner.gives == "number" else _finish_lists)
    return Algebra(*(partial(specialised(loop, owner), tag) for loop in loops))
