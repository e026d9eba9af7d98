"""Columns of numbers in the form that the kernels take, read from Arrow and written back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Array: TypeAlias = npt.NDArray[Any]
ALL_VALID = np.empty(0, np.bool_)
"""The flags of a column without nulls."""


class Values(NamedTuple):
    """A column in the form that the kernels take: its numbers, and one flag per row if some are null (else empty)."""

    numbers: Array
    valid: npt.NDArray[np.bool_]
    dictionary: pa.Array | None = None
    """The distinct values in order, if the numbers are codes: places in the dictionary."""

    def at(self, rows: Array) -> Values:
        """Return some of the rows, given by their indices or by a flag per row."""
        return self._replace(numbers=self.numbers[rows], valid=self.valid[rows] if self.valid.size else self.valid)


def side_by_side(columns: Sequence[Values]) -> Values:
    """Combine several columns into one; a row with a null in any of them is null."""
    valid = [column.valid for column in columns if column.valid.size]
    both = np.logical_and.reduce(valid) if valid else ALL_VALID
    return Values(np.column_stack([column.numbers for column in columns]), both)


def dtype_of(kind: pa.DataType) -> np.dtype[Any]:
    """Return the numpy type in which values of an Arrow type are computed: 64-bit floats or integers."""
    return np.dtype(np.float64 if pa.types.is_floating(kind) else np.int64)


def as_type(numbers: pa.Array, kind: pa.DataType) -> pa.Array:
    """Convert numbers to the float, integer, date, timestamp or Boolean type that they represent."""
    return numbers.cast(kind, safe=False) if pa.types.is_floating(kind) else instants(numbers, kind)


def instants(numbers: pa.Array, kind: pa.DataType) -> pa.Array:
    """Convert integers to the integer, date, timestamp or Boolean type that they represent."""
    if pa.types.is_date32(kind):
        return numbers.cast(pa.int32()).view(kind)
    if pa.types.is_timestamp(kind):
        return numbers.view(pa.timestamp("us", kind.tz)).cast(kind)
    return numbers.cast(kind, safe=False)


def is_number(kind: pa.DataType) -> bool:
    """Return whether a type is numeric."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def is_instant(kind: pa.DataType) -> bool:
    """Return whether a type is a point in time."""
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date32(kind))


def read_numbers(column: pa.Array | pa.ChunkedArray, dtype: np.dtype[Any]) -> Values:
    """Read an Arrow column of numbers, instants or Booleans into a flat numpy array with its validity.

    It is copied only if necessary. If `dtype` is object, the column may have any type.
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if dtype.hasobject:
        return Values(as_objects(column), np.asarray(column.is_valid()) if column.null_count else ALL_VALID)
    kind = column.type
    if pa.types.is_date32(kind):
        column = column.view(pa.int32())
    elif pa.types.is_timestamp(kind):
        column = column.cast(pa.timestamp("us", kind.tz), safe=False).view(pa.int64())
    elif pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    elif pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    valid = ALL_VALID
    if column.null_count:
        valid = np.asarray(column.is_valid())
        column = column.fill_null(0)
    return Values(np.ascontiguousarray(column.to_numpy(zero_copy_only=False), dtype=dtype), valid)


def as_objects(column: pa.Array | pa.ChunkedArray) -> Array:
    """Return Arrow values of any type as Python objects, one per element."""
    objects = np.empty(len(column), object)
    for i, value in enumerate(column.to_pylist()):
        objects[i] = value
    return objects
