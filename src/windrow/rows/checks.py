"""Checks of the options of schemes and windows."""

from __future__ import annotations

import sys
from typing import Any

from windrow.errors import SpecError, quoted
from windrow.rows.duration import Duration, parse_duration


def check_duration(value: Any, option: str) -> None:
    """Reject anything that is not a duration on any clock: an unreadable string, or a negative or infinite number."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, Duration):
        raise SpecError(
            f"{option}: expected a duration such as '3 minutes', a timedelta or a number, got {quoted(value)}"
        )
    try:
        amount = value if isinstance(value, int | float) else parse_duration(value)
    except SpecError as error:
        raise SpecError(f"{option}: {error}") from None
    if not _is_finite(amount) or amount < 0:
        raise SpecError(f"{option}: expected a finite duration of zero or more, got {quoted(value)}")


def check_count(value: Any, option: str) -> None:
    """Reject anything that is not a positive 64-bit integer."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 2**63:
        raise SpecError(f"{option}: expected an integer from 1 to 2**63 - 1, got {quoted(value)}")


def check_limit(value: Any, what: str) -> float:
    """Return a finite limit as a float, or raise."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
        raise SpecError(f"{what}: expected a finite number, got {quoted(value)}")
    return float(value)


def check_attribute(name: Any, scheme: str) -> str:
    """Return the name of a column, or raise."""
    if not isinstance(name, str) or not name:
        raise SpecError(f"{scheme}: expected a column name, got {quoted(name)}")
    return name


def _is_finite(value: float) -> bool:
    """Return whether a number is within the range of floats; an integer may be too large."""
    return abs(value) <= sys.float_info.max
