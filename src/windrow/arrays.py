"""Columns of numbers as the kernels take them, read from Arrow and written back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def as_objects(column: pa.Array | pa.ChunkedArray) -> Array:
    """Arrow values as Python has them, one an element, whatever they are."""
    objects = np.empty(len(column), object)
    for i, value in enumerate(column.to_pylist()):
        objects[i] = value
    return objects


Array: TypeAlias = npt.NDArray[Any]


ALL_VALID = np.empty(0, np.bool_)


class Values(NamedTuple):
    """A column as the kernels take it: its numbers, and a flag a row if some are null (else an empty array)."""

    numbers: Array
    valid: npt.NDArray[np.bool_]


def _side_by_side(columns: Sequence[Values]) -> Values:
    """Several columns as one; a row with a null in any of them is null."""
    valid = [column.valid for column in columns if column.valid.size]
    both = np.logical_and.reduce(valid) if valid else ALL_VALID
    return Values(np.column_stack([column.numbers for column in columns]), both)


def _dtype_of(kind: pa.DataType) -> np.dtype[Any]:
    return np.dtype(np.float64 if pa.types.is_floating(kind) else np.int64)


def as_type(numbers: pa.Array, kind: pa.DataType) -> pa.Array:
    """Numbers as the float, integer, date or timestamp type they stand for."""
    return numbers.cast(kind, safe=False) if pa.types.is_floating(kind) else instants(numbers, kind)


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


def read_numbers(column: pa.Array | pa.ChunkedArray, dtype: np.dtype[Any]) -> Values:
    """An Arrow column of numbers or instants as a flat numpy array with its validity, copying only where it must.

    As objects it may be of any type.
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
    valid = ALL_VALID
    if column.null_count:
        valid = np.asarray(column.is_valid())
        column = column.fill_null(0)
    return Values(np.ascontiguousarray(column.to_numpy(zero_copy_only=False), dtype=dtype), valid)
