"""Labels: columns of any type of which a scheme only asks whether two rows have the same value.

Kernels compare labels as 64-bit integers, which are the same in every process and in every batch. A number, a Boolean
or an instant is its own label. Text, binary values and decimals have labels of two integers, made once per distinct
value of a batch: the 128 bits of a decimal, the bytes of a short text, a cryptographic digest of a long one.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.aggregates.engine.codes import bytes_of, is_coded
from windrow.arrays import ALL_VALID, Values, is_instant, is_number, read_numbers
from windrow.errors import SpecError, TypeMismatchError, quoted
from windrow.framing.schemes.rules.conversion import converted

Labels = npt.NDArray[np.int64]
OWN_BYTES = 15
"""The most bytes of a text or binary value that its label contains as they are."""


@dataclass(frozen=True)
class LabelColumn:
    """A column whose values label the rows, and the values that count as missing."""

    column: str
    ignore: tuple[Any, ...] = ()

    def __str__(self) -> str:
        """Name the column in errors about missing values.

        >>> str(LabelColumn("state", ("OFF",)))
        "column 'state', with ignore=['OFF'],"
        """
        return f"column {self.column!r}" + (f", with ignore={[*self.ignore]!r}," if self.ignore else "")

    def read(self, values: Values, kind: pa.DataType) -> Values:
        """Return the labels of values of a type, one row of integers each; missing and ignored values are null.

        >>> from windrow.aggregates.engine.codes import encode
        >>> states = encode(pa.array(["ON", "OFF", "ON", None]), pa.string())
        >>> labels, valid, _ = LabelColumn("state", ("OFF",)).read(states, pa.string())
        >>> labels.shape, (labels[0] == labels[2]).all(), valid.tolist()
        ((4, 2), np.True_, [True, False, True, False])
        """
        labels = _labels_of_numbers(values) if values.dictionary is None else _labels_of_codes(values)
        present = [values.valid] if values.valid.size else []
        if values.numbers.dtype == np.float64:
            present.append(~np.isnan(values.numbers))
        if self.ignore:
            present.append(~_is_any_of(values, self.ignored(kind)))
        valid = np.logical_and.reduce(present) if present else ALL_VALID
        return Values(labels, ALL_VALID if valid.all() else valid)

    def width(self, kind: pa.DataType) -> int:
        """Return the number of integers in a label of a value of this type."""
        return 2 if is_coded(kind) else 1

    def ignored(self, kind: pa.DataType) -> pa.Array:
        """Return the ignored values that a column of this type can have."""
        suitable = (converted(value, kind) for value in self.ignore)
        return pa.array([value for value in suitable if value is not None], kind)


def check_labels(labels: Mapping[str, LabelColumn], types: Mapping[str, pa.DataType], scheme: str) -> None:
    """Reject columns whose values have no plain equality, and ignored values that none of the columns can have."""
    kinds = {label.column: types[label.column] for label in labels.values()}
    for name, kind in kinds.items():
        if not (is_number(kind) or is_instant(kind) or is_coded(kind) or pa.types.is_boolean(kind)):
            raise TypeMismatchError(
                f"{scheme}: column {name!r} is of type {kind}; it must be a number, a timestamp, a date, text, "
                "a binary value or a Boolean"
            )
    shown = ", ".join(f"{name!r} of type {kind}" for name, kind in kinds.items())
    for value in {value: None for label in labels.values() for value in label.ignore}:
        if all(converted(value, kind) is None for kind in kinds.values()):
            columns = "column" if len(kinds) == 1 else "any of the columns"
            zone = "a time zone" if getattr(value, "tzinfo", None) is None else "no time zone"
            is_instant_of_other_kind = isinstance(value, datetime.datetime) and any(
                map(pa.types.is_timestamp, kinds.values())
            )
            hint = f"; expected {zone} in it" if is_instant_of_other_kind else ""
            raise SpecError(f"ignore: expected values of {columns} {shown}; got {quoted(value)}{hint}")


def with_plain_zeros(values: Values) -> Values:
    """Return floats with 0.0 in place of -0.0, which is equal."""
    is_float = values.dictionary is None and values.numbers.dtype == np.float64
    return values._replace(numbers=values.numbers + 0.0) if is_float else values


def _labels_of_numbers(values: Values) -> Labels:
    """Return numbers by their bits."""
    return np.ascontiguousarray(values.numbers).view(np.int64)[:, None]


def _labels_of_codes(values: Values) -> Labels:
    """Return the labels of decimals, text and binary values."""
    dictionary = values.dictionary
    assert dictionary is not None
    if not len(dictionary):
        return np.zeros((values.numbers.size, 2), np.int64)
    if pa.types.is_decimal(dictionary.type):
        labels = np.frombuffer(dictionary.buffers()[1], np.int64).reshape(-1, 2)[dictionary.offset :]
    else:
        labels = _labels_of_bytes(*bytes_of(dictionary))
    return np.take(labels, values.numbers, axis=0)


def _labels_of_bytes(at: Labels, content: npt.NDArray[np.uint8]) -> Labels:
    """Return 16 bytes per value: up to 15 of its own and their number, or a digest of 15 bytes and 255.

    Saved states contain labels: a change makes them unreadable.
    """
    begin, lengths = at[:-1], np.diff(at)
    labels = np.zeros((lengths.size, OWN_BYTES + 1), np.uint8)
    is_short = lengths <= OWN_BYTES
    for j in range(OWN_BYTES):
        has = np.flatnonzero(is_short & (lengths > j))
        labels[has, j] = content[begin[has] + j]
    labels[:, OWN_BYTES] = np.where(is_short, lengths, 255)
    for i in np.flatnonzero(~is_short):
        digest = hashlib.blake2b(content[begin[i] : at[i + 1]].tobytes(), digest_size=OWN_BYTES).digest()
        labels[i, :OWN_BYTES] = np.frombuffer(digest, np.uint8)
    return labels.view(np.int64)


def _is_any_of(values: Values, some: pa.Array) -> npt.NDArray[np.bool_]:
    """Return which values are equal to any of the given ones."""
    if values.dictionary is None:
        return np.isin(values.numbers, read_numbers(some, values.numbers.dtype).numbers)
    if not len(values.dictionary):
        return np.zeros(values.numbers.size, np.bool_)
    is_any = pc.is_in(values.dictionary, value_set=some.cast(values.dictionary.type))
    return np.asarray(is_any)[values.numbers]
