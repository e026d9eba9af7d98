"""Checks of the input of a synopsis: values with an `on` each, in order, and times to advance to."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from windrow.arrays import Array
from windrow.errors import DataError, SpecError, TypeMismatchError, quoted

NEVER = np.iinfo(np.int64).min
"""The newest time of a synopsis before any value or advance."""


def as_instants(on: Any) -> npt.NDArray[np.int64]:
    """Return the `on` of values as 64-bit integers; raise for other types.

    >>> as_instants([0.5, 1.0])
    Traceback (most recent call last):
    ...
    windrow.errors.TypeMismatchError: on: expected integers, got 0.5 (float64); count in a smaller unit
    """
    instants = np.asarray(on)
    if instants.size and instants.dtype.kind not in "iu":
        raise TypeMismatchError(
            f"on: expected integers, got {instants.flat[0]} ({instants.dtype}); count in a smaller unit"
        )
    if instants.size and instants.dtype.kind == "u" and instants.max() > np.iinfo(np.int64).max:
        raise DataError(f"on: expected a number of at most 2**63 - 1, got {instants.max()}")
    return np.ascontiguousarray(instants, np.int64)


def check_every(every: int) -> None:
    """Raise unless the slide is a positive integer."""
    is_integer = not isinstance(every, bool) and isinstance(every, int | np.integer)
    if not is_integer or not 1 <= every < 2**63:
        raise SpecError(f"every: expected an integer from 1 to 2**63 - 1, got {quoted(every)}")


def check_elements(on: Array, x: Array, dtype: np.dtype[Any]) -> None:
    """Raise unless each value has an `on` and converts to `dtype` without loss."""
    if on.ndim != 1 or on.shape != x.shape:
        raise DataError(f"on and x: expected flat arrays of equal length, got the shapes {on.shape} and {x.shape}")
    if not np.can_cast(x.dtype, dtype, "same_kind"):
        remedy = "omit integral=True" if np.can_cast(x.dtype, np.float64, "same_kind") else "pass numbers"
        raise TypeMismatchError(f"x: values of type {x.dtype} cannot be stored as {dtype}; {remedy}")


def check_order(on: Array, newest: int) -> int:
    """Return the newest `on`; raise if a value is older than the one before it or than the current time."""
    if not on.size:
        return newest
    if on[0] == NEVER:
        raise DataError(f"on: expected a number of at least -2**63 + 1, got {NEVER}, which is reserved")
    if on[0] < newest or (on[1:] < on[:-1]).any():
        raise DataError("on: values must arrive in order; sort them by `on`, or use FiBA")
    return int(on[-1])


def check_moments(option: str, moments: Any, newest: int) -> npt.NDArray[np.int64]:
    """Return times as 64-bit integers; raise unless they are integers, do not decrease and are not before `newest`."""
    array = np.asarray(moments)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise TypeMismatchError(f"{option}: expected a flat array of integers, got {moments!r}")
    whole = np.ascontiguousarray(array, np.int64)
    if whole.size and whole[0] < newest:
        raise DataError(f"{option}: expected at least {newest}, the time that was reached, got {whole[0]}")
    if (whole[1:] < whole[:-1]).any():
        raise DataError(f"{option}: expected moments in ascending order; sort them")
    return whole
