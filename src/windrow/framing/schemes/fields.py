"""Records that a user declares by their starting values: how they are checked, and how they are stored in numbers.

A field is an integer, a boolean or a float, like its starting value. Each takes 8 bytes, so a record is also a row of
64-bit numbers, which is what states consist of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from keyword import iskeyword
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numba import types
from numba.core import ir

from windrow.arrays import Array
from windrow.errors import SpecError, quoted
from windrow.rows.clock import LARGEST

FieldValue: TypeAlias = bool | int | float
SPARE = "_"
"""The field of a record that has no other: numba does not support records without fields."""
NUMPY: dict[type, Any] = {bool: np.bool_, int: np.int64, float: np.float64}
ARROW: dict[type, pa.DataType] = {bool: pa.bool_(), int: pa.int64(), float: pa.float64()}


def check_fields(fields: Any, option: str) -> dict[str, FieldValue]:
    """Return the fields of a record with their starting values, or raise."""
    if not isinstance(fields, Mapping):
        raise SpecError(f"{option}: expected initial values by field, e.g. {{'high': 0.0}}; got {quoted(fields)}")
    checked: dict[str, FieldValue] = {}
    for name, value in fields.items():
        if not is_attribute(name):
            raise SpecError(
                f"{option}: expected an identifier that is not a keyword as the name of a field, got {quoted(name)}"
            )
        if not isinstance(value, int | float) or value != value:
            raise SpecError(f"{option}: expected a number or a boolean for field {name!r}, got {quoted(value)}")
        if isinstance(value, int) and not -LARGEST - 1 <= value <= LARGEST:
            raise SpecError(
                f"{option}: expected an integer from -2**63 to 2**63 - 1 for field {name!r}, got {quoted(value)}; "
                "start with a float if it may be larger"
            )
        # A NumPy float is a float too, but its repr is not a literal.
        checked[name] = float(value) if isinstance(value, float) else value
    return checked


def check_distinct_fields(scheme: str, **records: Mapping[str, FieldValue]) -> None:
    """Reject a name that two records share."""
    for (one, fields), (other, more) in combinations(records.items(), 2):
        if shared := [name for name in fields if name in more]:
            raise SpecError(f"{scheme}: duplicate field {shared[0]!r} in {one} and {other}; rename one of them")


def is_attribute(name: Any) -> bool:
    """Return whether a function can write `record.name`."""
    return isinstance(name, str) and name.isidentifier() and not iskeyword(name)


def layout_of(fields: Mapping[str, FieldValue]) -> np.dtype[Any]:
    """Return the record type of some fields, 8 bytes each."""
    formats = {name: NUMPY[type(value)] for name, value in fields.items()} or {SPARE: np.float64}
    return np.dtype(
        {
            "names": list(formats),
            "formats": list(formats.values()),
            "offsets": [8 * i for i in range(len(formats))],
            "itemsize": 8 * len(formats),
        }
    )


def numbers_of(fields: Mapping[str, FieldValue]) -> Array:
    """Return the starting values as 64-bit numbers: as floats if all are floats, else the bits of each as an integer.

    >>> numbers_of({"high": -2.0}), numbers_of({"seen": 3, "high": 0.0, "on": True})
    (array([-2.]), array([3, 0, 1]))
    """
    record = np.zeros(1, layout_of(fields))
    for name, value in fields.items():
        record[name] = value
    return record.view(np.float64 if all(type(value) is float for value in fields.values()) else np.int64)


def as_records(numbers: Array, fields: Mapping[str, FieldValue]) -> Array:
    """Return rows of numbers as records that share their memory."""
    return numbers.view(layout_of(fields))[:, 0] if fields else np.zeros(len(numbers), layout_of(fields))


def rounded_fields(compiled: Any, kinds: tuple[Any, ...]) -> Iterator[str]:
    """Yield the fields of records of these types that a function assigns floats to although they are not floats.

    Functions that it calls are included. A function that numba has loaded from its cache on disk cannot be inspected.
    """
    left, seen = [compiled], set()
    while left:
        function = left.pop()
        seen.add(function)
        for arguments, overload in function.overloads.items():
            typed = overload.type_annotation
            if set(kinds).isdisjoint(arguments) or isinstance(typed, str):
                continue
            called = {kind.dispatcher for kind in typed.typemap.values() if isinstance(kind, types.Dispatcher)}
            left += called - seen
            yield from filter(None, (_rounded_field(each, typed.typemap) for each in typed.calltypes))


def _rounded_field(statement: Any, typemap: Mapping[str, Any]) -> str | None:
    """Return the field that a statement assigns a float to although it is not a float, or None."""
    if not isinstance(statement, ir.SetAttr):
        return None
    record, value = typemap[statement.target.name], typemap[statement.value.name]
    if not isinstance(record, types.Record) or not isinstance(value, types.Float):
        return None
    return None if isinstance(record.typeof(statement.attr), types.Float) else str(statement.attr)
