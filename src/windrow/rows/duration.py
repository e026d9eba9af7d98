"""Durations: interval strings in Spark SQL's syntax, timedeltas or numbers, and their length on a clock.

A duration has a fixed length, so months and years are rejected. Strings are read as Spark reads them, in any of these
forms:

    3 minutes                                 interval 1 hour 30 minutes
    2.5 seconds                               interval '3' minute
    1 day -2 hours                            interval '1 02:30:00.5' day to second
"""

from __future__ import annotations

import math
import re
import sys
from datetime import timedelta
from numbers import Integral, Real
from typing import Literal, NoReturn, TypeAlias

from windrow.errors import SpecError, quoted

Duration: TypeAlias = str | timedelta | int | float
"""The types that are accepted as a duration."""

_MICROSECONDS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
DAY = _MICROSECONDS["day"]
_LONGEST = 2**63 - 1

_EXAMPLE = "such as '3 minutes' or '1 hour 30 minutes'"
_MOST_CHARACTERS = 1_000
"""Longer strings are rejected before any of the patterns below is tried."""
_LITERAL = re.compile(
    r"""interval(?=[\s'"+-])\s*+(?:(?P<quote>['"])\s*+(?:interval\s)?(?P<whole>[^'"]++)(?P=quote)|(?P<rest>.+))""",
    re.DOTALL,
)
_VALUE = r"(?:'\s*+(?P<inner>[+-]?)\s*+(?P<quoted>[\d.]++)\s*+'\s*+|(?P<bare>[\d.]++)\s++)"
_FIELDS = re.compile(r"(?P<sign>[+-]?)\s*+" + _VALUE + r"(?P<unit>[a-z]++)(?=[\s'+-]|$)\s*+", re.ASCII)
_NUMBER = re.compile(r"(?P<whole>\d*+)(?:(?P<point>\.)(?P<fraction>\d{0,9}))?", re.ASCII)
_RANGE = re.compile(
    r"(?P<sign>[+-]?)\s*+'\s*+(?P<inner>[+-]?)(?P<fields>[\d:. -]*\d)\s*+'"
    r"\s*+(?P<first>[a-z]++)\s++to\s++(?P<last>[a-z]++)",
    re.ASCII,
)
_RANGE_UNITS = ("day", "hour", "minute", "second")
_RANGE_LIMITS = {"hour": 23, "minute": 59, "second": 59}


def parse_duration(value: str | timedelta) -> int:
    """Return the length of a duration in microseconds.

    Only seconds may have a fraction. It is truncated to six digits, as in Spark.

    >>> parse_duration("1 hour 30 minutes")
    5400000000
    >>> parse_duration("interval '1:30' minute to second")
    90000000
    >>> parse_duration("2 months")
    Traceback (most recent call last):
    ...
    windrow.errors.SpecError: '2 months': a month has no fixed length; use days or weeks, e.g. '30 days'
    """
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1)
    if not isinstance(value, str):
        raise SpecError(f"expected a duration {_EXAMPLE}, got {quoted(value)}")
    text = value.strip().lower()
    if len(text) > _MOST_CHARACTERS:
        _unreadable(value)
    literal = _LITERAL.fullmatch(text)
    if literal:
        text = literal["whole"] or literal["rest"].replace('"', "'")
    elif "'" in text:
        _unreadable(value)
    ranged = _RANGE.fullmatch(text)
    length = _range(value, ranged) if ranged else _fields(value, text)
    if abs(length) > _LONGEST:
        raise SpecError(f"{quoted(value)} is longer than the longest duration, {_LONGEST} microseconds")
    return length


def duration_text(micros: int) -> str:
    """Format a length in microseconds as a duration that `parse_duration` reads.

    >>> duration_text(60_000_000), duration_text(5_400_000_001), duration_text(0)
    ('1 minute', '1 hour 30 minutes 1 microsecond', '0 seconds')
    """
    parts, rest = [], micros
    for unit in ("day", "hour", "minute", "second", "millisecond", "microsecond"):
        many, rest = divmod(rest, _MICROSECONDS[unit])
        if many:
            parts.append(f"{many} {unit}{'s' if many > 1 else ''}")
    return " ".join(parts) or "0 seconds"


def to_clock(value: Duration, kind: Literal["timestamp", "date", "integer", "float"], option: str) -> int | float:
    """Convert a duration to the unit of the progressing attribute: microseconds, days, or the attribute's own unit.

    >>> to_clock("3 minutes", "timestamp", "min_duration")
    180000000
    >>> to_clock("36 hours", "date", "max_gap")
    1.5
    >>> to_clock(2.5, "float", "max_gap")
    2.5
    """
    number: object = value
    if kind in ("timestamp", "date"):
        if not isinstance(value, str | timedelta):
            raise SpecError(
                f"{option}: `on` is a {kind}, so expected a string such as '3 minutes' or a timedelta, got "
                f"{quoted(value)}"
            )
        try:
            micros = parse_duration(value)
        except SpecError as error:
            raise SpecError(f"{option}: {error}") from None
        length: int | float = micros if kind == "timestamp" else micros // DAY if micros % DAY == 0 else micros / DAY
    elif not isinstance(number, bool) and isinstance(number, Real):
        try:
            length = int(number) if isinstance(number, Integral) else float(number)
        except OverflowError:  # a fraction too large for a float
            length = math.inf
    else:
        raise SpecError(f"{option}: `on` is a number, so expected a number in its unit, got {quoted(value)}")
    if not abs(length) <= sys.float_info.max:  # an integer may be too large for a float
        raise SpecError(f"{option}: expected a finite duration, got {quoted(value)}")
    if length < 0:
        raise SpecError(f"{option}: expected a duration of zero or more, got {quoted(value)}")
    return length


def _fields(value: str, text: str) -> int:
    """Return the sum of fields such as `3 minutes` or `-'3' minute`."""
    total, at = 0, 0
    while at < len(text) or not text:
        field = _FIELDS.match(text, at)
        number = field and _NUMBER.fullmatch(field["quoted"] or field["bare"])
        if field is None or number is None or not (number["whole"] or number["fraction"]):
            _unreadable(value)
        unit = _unit(value, field["unit"])
        if number["point"] and unit != "second":
            raise SpecError(f"{quoted(value)}: only seconds may have a fraction; write '90 seconds', not '1.5 minutes'")
        size = int(number["whole"] or 0) * _MICROSECONDS[unit] + int((number["fraction"] or "").ljust(6, "0")[:6])
        total += -size if (field["sign"] == "-") != (field["inner"] == "-") else size
        at = field.end()
    return total


def _range(value: str, ranged: re.Match[str]) -> int:
    """Return the length of `'1 02:30:00.5' day to second` or one of the five shorter ranges."""
    first, last = ranged["first"], ranged["last"]
    if "month" in (first, last) or "year" in (first, last):
        _no_fixed_length(value, "month")
    if first not in _RANGE_UNITS or last not in _RANGE_UNITS or _RANGE_UNITS.index(first) >= _RANGE_UNITS.index(last):
        _unreadable(value)
    units = _RANGE_UNITS[_RANGE_UNITS.index(first) : _RANGE_UNITS.index(last) + 1]
    pattern = r"(\d+)" + "".join(f"{' ' if before == 'day' else ':'}(\\d{{1,2}})" for before in units[:-1])
    parts = re.fullmatch(pattern + (r"(?:\.(\d{1,9}))?" if last == "second" else "()"), ranged["fields"], re.ASCII)
    if parts is None:
        _unreadable(value)
    *numbers, fraction = parts.groups()
    if any(int(number) > _RANGE_LIMITS[unit] for unit, number in zip(units[1:], numbers[1:], strict=True)):
        _unreadable(value)
    length = sum(int(number) * _MICROSECONDS[unit] for unit, number in zip(units, numbers, strict=True))
    length += int((fraction or "").ljust(6, "0")[:6])
    return -length if (ranged["sign"] == "-") != (ranged["inner"] == "-") else length


def _unit(value: str, unit: str) -> str:
    """Return the singular of a unit of fixed length."""
    name = unit.removesuffix("s")
    if name in ("month", "year"):
        _no_fixed_length(value, name)
    return name if name in _MICROSECONDS and unit in (name, name + "s") else _unreadable(value)


def _no_fixed_length(value: str, unit: str) -> NoReturn:
    raise SpecError(f"{quoted(value)}: a {unit} has no fixed length; use days or weeks, e.g. '30 days'")


def _unreadable(value: str) -> NoReturn:
    raise SpecError(f"expected a duration of fixed length {_EXAMPLE}, got {quoted(value)}")
