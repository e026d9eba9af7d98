"""Durations, numbers and lists of columns as texts, on the command line and in SQL.

A value that is not a text is returned as it is: SQL also has numbers, intervals and arrays. `option` names the option
in errors: `--max-gap` on the command line, `max_gap` in SQL.
"""

from __future__ import annotations

from typing import Any

from windrow.errors import SpecError, quoted


def as_duration(value: Any, option: str) -> Any:
    """Parse a duration. A bare number is in the unit of a numeric `on`; other texts are parsed with their clock.

    >>> as_duration("3 minutes", "--gap"), as_duration("5", "--gap"), as_duration("2.5", "--gap")
    ('3 minutes', 5, 2.5)
    """
    if not isinstance(value, str):
        return value
    for number in (int, float):
        try:
            return number(value)
        except ValueError:
            continue
    return value


def as_integer(value: Any, option: str) -> Any:
    """Parse an integer.

    >>> as_integer("3", "--min-count")
    3
    """
    try:
        return int(value) if isinstance(value, str) else value
    except ValueError:
        raise SpecError(f"{option}: expected an integer, got {quoted(value)}") from None


def as_number(value: Any, option: str) -> Any:
    """Parse a number.

    >>> as_number("0.5", "--limit")
    0.5
    """
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        raise SpecError(f"{option}: expected a number such as 0.5, got {quoted(value.strip())}") from None


def as_columns(value: Any, option: str) -> list[Any] | None:
    """Return the columns named in a text, with commas between them, or in an array.

    >>> as_columns("road, lane", "by"), as_columns(["a, b"], "by")
    (['road', 'lane'], ['a, b'])
    """
    if value is None or isinstance(value, list):
        return value
    if not isinstance(value, str):
        raise SpecError(f"{option}: expected column names such as 'road' or 'road, lane', got {quoted(value)}")
    names = [name.strip() for name in value.split(",")]
    if not all(names):
        raise SpecError(f"{option}: empty column name in {quoted(value)}; separate names by commas: 'road, lane'")
    return names
