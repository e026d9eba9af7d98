"""The order of values: NaN is greater than any other value, and equal to itself."""

from __future__ import annotations

from typing import Any

from numba import njit


@njit(cache=True)
def precedes(a: Any, b: Any) -> bool:
    """Return whether a value is less than another; NaN is the greatest."""
    return bool(a < b or (b != b and a == a))


@njit(cache=True)
def is_same(a: Any, b: Any) -> bool:
    """Return whether two values are equal; NaN is equal to itself."""
    return bool(a == b or (a != a and b != b))
