"""Keeping the states of one aggregate for many frames at once, in flat arrays."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.base import AggregateFunction
from windrow.aggregates.compiled import algebra_of
from windrow.errors import TypeMismatchError

Array: TypeAlias = npt.NDArray[Any]
ALL_VALID = np.empty(0, np.bool_)


class Values(NamedTuple):
    """A column as the kernels take it: its numbers, and a flag a row if some are null (else an empty array)."""

    numbers: Array
    valid: npt.NDArray[np.bool_]


class States(NamedTuple):
    """An aggregate's states in many frames: how many values each has seen, and the numbers it consists of."""

    seen: npt.NDArray[np.int64]
    numbers: Array


class Keeper:
    """One aggregate bound to the type of its column.

    >>> import numpy as np, pyarrow as pa, windrow as wr
    >>> keeper = Keeper(wr.sum("volume"), pa.int32())
    >>> states = keeper.empty(2)
    >>> slots = np.array([[0], [0], [1]])
    >>> keeper.accumulate(states, slots, keeper.read(pa.array([1, 2, None], pa.int32())))
    >>> keeper.finish(states).to_pylist()
    [3, None]
    """

    def __init__(self, aggregate: AggregateFunction, values: pa.DataType) -> None:
        check_aggregated_type(aggregate, values)
        self.aggregate = aggregate
        self.integral = (
            aggregate.keeps_integers and not pa.types.is_floating(values) and not pa.types.is_decimal(values)
        )
        self.dtype = np.dtype(np.int64 if self.integral else np.float64)
        self.result = aggregate.result_type(values)
        self._zero = np.array(aggregate.zero_state(self.integral), self.dtype)
        owner: Any = type(aggregate)
        self._algebra = algebra_of(owner)

    def empty(self, n: int) -> States:
        """The states of `n` frames that have seen nothing."""
        numbers = np.empty((n, self._zero.size), self.dtype)
        numbers[:] = self._zero
        return States(np.zeros(n, np.int64), numbers)

    def read(self, column: pa.Array | pa.ChunkedArray) -> Values:
        """A column as numbers of the kind that this aggregate's state is kept in."""
        return read_numbers(column, self.dtype)

    def accumulate(self, states: States, slots: npt.NDArray[np.int64], values: Values) -> None:
        """Add each row's value, in row order, to the frames the row is in: `slots[i]`, where -1 is none."""
        self._algebra.accumulate(states.seen, states.numbers, slots, values.numbers, values.valid)

    def merge(self, states: States, into: npt.NDArray[np.int64], parts: npt.NDArray[np.int64]) -> None:
        """Append the state of each of `parts`, in order, to the state `into[part]` of the frame it is a part of."""
        self._algebra.merge(states.seen, states.numbers, into, parts)

    def finish(self, states: States) -> pa.Array:
        """The results of all states."""
        if self.integral:
            self.aggregate.check(states.numbers)
        floating = pa.types.is_floating(self.result)
        short = states.seen < self.aggregate.needs
        out = np.zeros(states.seen.size, np.float64 if floating else np.int64)
        if short.any():
            enough = np.empty(np.count_nonzero(~short), out.dtype)
            self._algebra.finish(states.numbers[~short], enough)
            out[~short] = enough
        else:
            self._algebra.finish(states.numbers, out)
        numbers = pa.array(out, mask=short if short.any() else None)
        return numbers.cast(self.result, safe=False) if floating else instants(numbers, self.result)


def instants(numbers: pa.Array, kind: pa.DataType) -> pa.Array:
    """Integers as the integer, date or timestamp type they stand for."""
    if pa.types.is_date32(kind):
        return numbers.cast(pa.int32()).view(kind)
    if pa.types.is_timestamp(kind):
        return numbers.view(pa.timestamp("us", kind.tz)).cast(kind)
    return numbers.cast(kind, safe=False)


def is_number(kind: pa.DataType) -> bool:
    """Whether a type is a number."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def is_instant(kind: pa.DataType) -> bool:
    """Whether a type is a point in time."""
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date32(kind))


def check_aggregated_type(aggregate: AggregateFunction, values: pa.DataType) -> None:
    """Refuse a column whose type the aggregate has no meaning for."""
    if not aggregate.columns or is_number(values) or (aggregate.accepts_instants and is_instant(values)):
        return
    wanted = "a number, a timestamp or a date" if aggregate.accepts_instants else "a number"
    raise TypeMismatchError(f"{aggregate!r}: column {aggregate.column!r} is of type {values}; it must be {wanted}")


def read_numbers(column: pa.Array | pa.ChunkedArray, dtype: np.dtype[Any]) -> Values:
    """An Arrow column of numbers or instants as a flat numpy array with its validity, copying only where it must."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kind = column.type
    if pa.types.is_date32(kind):
        column = column.view(pa.int32())
    elif pa.types.is_timestamp(kind):
        column = column.cast(pa.timestamp("us", kind.tz), safe=False).view(pa.int64())
    elif pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    valid = ALL_VALID
    if column.null_count:
        valid = np.asarray(column.is_valid())
        column = column.fill_null(0)
    return Values(np.ascontiguousarray(column.to_numpy(zero_copy_only=False), dtype=dtype), valid)
