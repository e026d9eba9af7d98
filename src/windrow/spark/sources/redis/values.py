"""How values are written to the fields of an entry and read from them. The source reads back what the sink writes.

| type | text |
| --- | --- |
| string | itself, in UTF-8 |
| binary | its bytes |
| byte, short, int, long | `-12` |
| float, double | `3.5`, `1e-9`, `nan`, `inf` |
| decimal | `12.50`, with no more digits than the type has |
| boolean | `true`, `false`; `1` and `0` are also read |
| date | `2026-03-02` |
| timestamp | `2026-03-02T07:01:00.000000Z`; read with any offset, or as UTC without one |
| timestamp_ntz | `2026-03-02T07:01:00.000000`, without an offset |

Timestamps are also read from numbers since 1970 if the option `epoch` gives their unit.

Anyone who can write to the stream chooses these texts, so reading one takes time linear in its length: no pattern
backtracks, and a number is compared with the range of its type before it is expanded.
"""

from __future__ import annotations

import datetime
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation
from typing import Any

from pyspark.sql import types as T

READABLE = "string, binary, byte, short, int, long, float, double, decimal, boolean, date, timestamp and timestamp_ntz"
_WIDTHS = {T.ByteType: 8, T.ShortType: 16, T.IntegerType: 32, T.LongType: 64}
_LARGEST = {T.FloatType: 3.4028235677973366e38, T.DoubleType: sys.float_info.max}
"""Beyond these, a number would become infinite. Up to half a step beyond the largest float, it still rounds down."""
_MICROSECONDS = {"seconds": 1_000_000, "milliseconds": 1_000, "microseconds": 1}
_1970 = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)
_MOST_CHARACTERS = 2_000
"""The longest text of a number or a timestamp; the exact value of any double is shorter."""
_LAST = Decimal(2**63)
"""More microseconds than any timestamp has."""
_INTEGER = re.compile(r"[+-]?[0-9]++")
_NUMBER = re.compile(r"[+-]?([0-9]++(\.[0-9]*+)?|\.[0-9]++)([eE][+-]?[0-9]++)?|[+-]?(inf|infinity)|nan", re.IGNORECASE)
_INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9:.,]++([zZ]|[+-][0-9:]++)?)?")
_EXACT = Context(prec=80)
_TRUTHS = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True)
class Reading:
    """The way to read a type. `parse` raises ValueError for a text that does not match `right`."""

    parse: Callable[[bytes], Any]
    right: str


def reading_of(kind: T.DataType, epoch: str | None) -> Reading | None:
    """Return how to read values of a type from the bytes of a field, or None if the type is not supported."""
    match kind:
        case T.StringType():
            return Reading(lambda data: data.decode(), "text in UTF-8")
        case T.BinaryType():
            return Reading(lambda data: data, "bytes")
        case T.ByteType() | T.ShortType() | T.IntegerType() | T.LongType():
            limit = 2 ** (_WIDTHS[type(kind)] - 1)
            return Reading(lambda data: _integer(data, limit), f"an integer from {-limit} to {limit - 1}")
        case T.FloatType() | T.DoubleType():
            largest = _LARGEST[type(kind)]
            return Reading(lambda data: _number(data, largest), "a number such as 3.5, 1e-9, nan or inf")
        case T.DecimalType():
            digits, scale = kind.precision, kind.scale
            right = f"a number of at most {digits - scale} digits before the point and {scale} after it"
            return Reading(lambda data: _decimal(data, digits, scale), right)
        case T.BooleanType():
            return Reading(_truth, "true, false, 1 or 0")
        case T.DateType():
            return Reading(_date, "a date such as 2026-03-02")
        case T.TimestampType():
            return _instants(epoch, "2026-03-02T07:01:00Z", lambda data: _in_utc(_instant(data)))
        case T.TimestampNTZType():
            return _instants(epoch, "2026-03-02T07:01:00", _local)
    return None


def writing_of(kind: T.DataType) -> Callable[[Any], str | bytes] | None:
    """Return how to write values of a type into a field, or None if the type is not supported."""
    match kind:
        case T.StringType() | T.BinaryType():
            return lambda value: value
        case T.ByteType() | T.ShortType() | T.IntegerType() | T.LongType():
            return str
        case T.FloatType() | T.DoubleType():
            return repr
        case T.DecimalType():
            return lambda value: format(value, "f")
        case T.BooleanType():
            return lambda value: "true" if value else "false"
        case T.DateType():
            return lambda value: value.isoformat()
        case T.TimestampType():
            return lambda value: f"{_in_utc(value).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"
        case T.TimestampNTZType():
            return lambda value: value.isoformat(timespec="microseconds")
    return None


def time_of(entry: str) -> datetime.datetime | None:
    """Return the time in the id of an entry, or None if it is out of range: ids may be any numbers."""
    milliseconds = int(entry.partition("-")[0])
    try:
        return (_1970 + milliseconds * 1000 * _MICROSECOND).replace(tzinfo=datetime.UTC)
    except OverflowError:
        return None


def _text(data: bytes) -> str:
    """Return the text of any type but a string, which may have any length."""
    if len(data) > _MOST_CHARACTERS:
        raise ValueError("too long")
    return data.decode()


def _integer(data: bytes, limit: int) -> int:
    text = _text(data)
    if not _INTEGER.fullmatch(text) or not -limit <= int(text) < limit:
        raise ValueError(text)
    return int(text)


def _number(data: bytes, largest: float) -> float:
    text = _text(data)
    if not _NUMBER.fullmatch(text):
        raise ValueError(text)
    value = float(text)
    if abs(value) > largest and "inf" not in text.lower():
        raise ValueError(text)
    return value


def _decimal(data: bytes, digits: int, scale: int) -> Decimal:
    text = _text(data)
    if not _NUMBER.fullmatch(text):
        raise ValueError(text)
    try:
        value = Decimal(text)
        exact = value.quantize(Decimal(1).scaleb(-scale), context=_EXACT)
    except (InvalidOperation, OverflowError) as error:
        raise ValueError(text) from error
    if exact != value or len(exact.as_tuple().digits) > digits:
        raise ValueError(text)
    return exact


def _truth(data: bytes) -> bool:
    text = _text(data).lower()
    if text not in _TRUTHS:
        raise ValueError(text)
    return _TRUTHS[text]


def _date(data: bytes) -> datetime.date:
    return datetime.datetime.strptime(_text(data), "%Y-%m-%d").date()


def _instant(data: bytes) -> datetime.datetime:
    text = _text(data)
    if not _INSTANT.fullmatch(text):
        raise ValueError(text)
    return datetime.datetime.fromisoformat(text)


def _local(data: bytes) -> datetime.datetime:
    value = _instant(data)
    if value.tzinfo is not None:
        raise ValueError(value)
    return value


def _in_utc(value: datetime.datetime) -> datetime.datetime:
    return value.astimezone(datetime.UTC) if value.tzinfo else value.replace(tzinfo=datetime.UTC)


def _instants(epoch: str | None, example: str, parse: Callable[[bytes], datetime.datetime]) -> Reading:
    """Return how to read instants in ISO 8601 or, with `epoch`, as numbers. The unit is never guessed."""
    if epoch is None:
        return Reading(parse, f"an instant such as {example}, or a number if the option 'epoch' names its unit")
    unit = _MICROSECONDS[epoch]
    utc = example.endswith("Z")

    def parse_number(data: bytes) -> datetime.datetime:
        text = _text(data)
        if not _NUMBER.fullmatch(text):
            return parse(data)
        try:
            number = Decimal(text) * unit
            if not abs(number) < _LAST:  # otherwise all digits that the exponent asks for would be written out
                raise ValueError(text)
            value = _1970 + round(number) * _MICROSECOND
        except (InvalidOperation, OverflowError) as error:
            raise ValueError(text) from error
        return _in_utc(value) if utc else value

    return Reading(parse_number, f"an instant such as {example}, or {epoch} since 1970")
