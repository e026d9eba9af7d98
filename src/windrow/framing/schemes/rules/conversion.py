"""Single values that a user gives for a column, converted to the type of the column."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

Convert: TypeAlias = Callable[[Any, pa.DataType], Any]
Number: TypeAlias = int | float | Decimal


class Written(str):
    """A value as text, from the command line: it can stand for a value of any type.

    >>> converted(Written("7"), pa.int32()), converted("7", pa.int32())
    (7, None)
    """

    __slots__ = ()


def converted(value: Any, kind: pa.DataType) -> Any:
    """Return a value in the Python type that stands for a type, or None if a column of this type cannot have it.

    >>> converted(3.0, pa.int32()), converted(3.5, pa.int32()), converted(True, pa.int32())
    (3, None, None)
    """
    for is_kind, convert in _CONVERSIONS:
        if is_kind(kind):
            try:
                return convert(_parsed(value, kind) if isinstance(value, Written) else value, kind)
            except (ValueError, InvalidOperation, OverflowError, pa.ArrowException):
                return None
    return None


def _parsed(text: Written, kind: pa.DataType) -> Any:
    """Return what a text stands for in a column of this type."""
    plain = str(text)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return plain.encode()
    if pa.types.is_boolean(kind):
        return {"true": True, "false": False}.get(plain.lower())
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return Decimal(plain)
    if pa.types.is_date(kind):
        return datetime.date.fromisoformat(plain)
    return datetime.datetime.fromisoformat(plain) if pa.types.is_timestamp(kind) else plain


def _of(expected: type, but: type | None = None) -> Convert:
    """Return a conversion that accepts values of one Python type."""
    return lambda value, _: value if isinstance(value, expected) and not (but and isinstance(value, but)) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, Number | np.integer | np.floating) and not isinstance(value, bool)


def _integer(value: Any, kind: pa.DataType) -> Any:
    if not _is_number(value) or value != int(value):
        return None
    return pa.scalar(int(value), kind).as_py()


def _float(value: Any, kind: pa.DataType) -> Any:
    return pa.scalar(float(value), pa.float64()).cast(kind).as_py() if _is_number(value) else None


def _decimal(value: Any, kind: pa.DataType) -> Any:
    if not _is_number(value):
        return None
    # The digits that a float is shown with, not those of its binary fraction.
    exact = (
        value if isinstance(value, Decimal) else Decimal(repr(value.item() if isinstance(value, np.generic) else value))
    )
    return pa.scalar(exact).cast(kind).as_py()


def _instant(value: Any, kind: pa.DataType) -> Any:
    """Accept an instant with a time zone if the type has one, otherwise one without."""
    if not isinstance(value, datetime.datetime):
        return None
    return value if (value.tzinfo is not None) == (kind.tz is not None) else None


_CONVERSIONS: tuple[tuple[Callable[[pa.DataType], bool], Convert], ...] = (
    (pa.types.is_string, _of(str)),
    (pa.types.is_large_string, _of(str)),
    (pa.types.is_binary, _of(bytes)),
    (pa.types.is_large_binary, _of(bytes)),
    (pa.types.is_boolean, _of(bool)),
    (pa.types.is_integer, _integer),
    (pa.types.is_floating, _float),
    (pa.types.is_decimal, _decimal),
    (pa.types.is_date, _of(datetime.date, but=datetime.datetime)),
    (pa.types.is_timestamp, _instant),
)
"""How a value becomes one of a type, by the type."""
