"""Conversion of rows of plain values to Arrow and back.

Instants are integers: microseconds, or days. A decimal is the integer without its point, and binary values are texts of
characters up to 255.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

ARROW: dict[str, pa.DataType] = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "date": pa.date32(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "decimal(20,2)": pa.decimal128(20, 2),
}
"""The types of columns, by Spark's names."""
WHOLE = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64, "timestamp": 64, "timestamp_ntz": 64, "date": 32}
"""The number of bits of the integer-valued types."""

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def extremes(kind: str) -> tuple[int, int]:
    """Return the smallest and largest value of an integer-valued type."""
    return -(1 << WHOLE[kind] - 1), (1 << WHOLE[kind] - 1) - 1


def array(values: Sequence[Any], kind: str) -> pa.Array:
    """Return plain values as a column."""
    if kind in ("timestamp", "timestamp_ntz"):
        return pa.array(values, pa.int64()).view(ARROW[kind])
    if kind == "date":
        return pa.array(values, pa.int32()).view(ARROW[kind])
    return pa.array([python_value(value, kind) for value in values], ARROW[kind], from_pandas=False)


def python_value(value: Any, kind: str) -> Any:
    """Return a plain value as Python has it."""
    if value is None:
        return None
    if kind == "timestamp":
        return EPOCH + datetime.timedelta(microseconds=value)
    if kind == "timestamp_ntz":
        return EPOCH.replace(tzinfo=None) + datetime.timedelta(microseconds=value)
    if kind == "date":
        return EPOCH.date() + datetime.timedelta(days=value)
    if kind == "binary":
        return value.encode("latin-1")
    return Decimal(value).scaleb(-2) if kind.startswith("decimal") else value


def table(types: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> pa.Table:
    """Return rows, whose values are in the order of `types`, as a table."""
    columns = zip(*rows, strict=True) if rows else [()] * len(types)
    return pa.table({name: array(list(c), kind) for (name, kind), c in zip(types.items(), columns, strict=True)})


def plain(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return the values of a column, with instants as integers."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz)).view(pa.int64())
    elif pa.types.is_date32(column.type):
        column = column.view(pa.int32())
    elif pa.types.is_binary(column.type):
        return [None if value is None else value.decode("latin-1") for value in column.to_pylist()]
    elif pa.types.is_decimal(column.type):
        return [None if value is None else int(value.scaleb(2)) for value in column.to_pylist()]
    elif pa.types.is_list(column.type) and pa.types.is_timestamp(column.type.value_type):
        return [None if x is None else [i.value for i in x] for x in column]
    return column.to_pylist()


def dictionaries(data: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of a table with plain values."""
    columns = [plain(column) for column in data.columns]
    return [dict(zip(data.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def as_stored(value: Any, kind: str) -> Any:
    """Return a value as its type stores it."""
    if kind != "float" or value is None:
        return value
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def is_nan(value: Any) -> bool:
    """Return whether a value is NaN."""
    return isinstance(value, float) and math.isnan(value)


def spark_key(value: Any) -> tuple[bool, bool, Any]:
    """Return a sort key with Spark's order: nulls first, NaN last."""
    nan = is_nan(value)
    return (value is not None, nan, 0 if value is None or nan else value)
