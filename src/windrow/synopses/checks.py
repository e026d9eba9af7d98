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
    windrow.errors.TypeMismatchError: on: expected whole numbers, got 0.5 (float64); count in a smaller unit
    """
    given = np.asarray(on)
    if given.size and given.dtype.kind not in "iu":
        raise TypeMismatchError(
            f"on: expected whole numbers, got {given.flat[0]} ({given.dtype}); count in a smaller unit"
        )
    if given.size and given.dtype.kind == "u" and given.max() > np.iinfo(np.int64).max:
        raise DataError(f"on: expected a number of at most 2**63 - 1, got {given.max()}")
    return np.ascontiguousarray(given, np.int64)


def check_every(every: int) -> None:
    """Raise unless the slide is a positive integer."""
    known = not isinstance(every, bool) and isinstance(every, int | np.integer)
    if not known or not 1 <= every < 2**63:
        said = "it must be a whole number from 1 to 2**63 - 1"
        raise SpecError(f"every: {quoted(every)} is no number of elements; {said}")


def check_elements(on: Array, x: Array, dtype: np.dtype[Any]) -> None:
    """Raise unless each value has an `on` and converts to `dtype` without loss."""
    if on.ndim != 1 or on.shape != x.shape:
        raise DataError(f"on has shape {on.shape} and x has shape {x.shape}; they must be flat and of one length")
    if not np.can_cast(x.dtype, dtype, "same_kind"):
        remedy = "leave out integral=True" if np.can_cast(x.dtype, np.float64, "same_kind") else "give numbers"
        raise TypeMismatchError(f"x: what is of type {x.dtype} cannot be kept as {dtype}; {remedy}")


def check_order(on: Array, newest: int) -> int:
    """Return the newest `on`; raise if a value is older than the one before it or than the current time."""
    if not on.size:
        return newest
    if on[0] == NEVER:
        raise DataError(f"on: expected a number from -2**63 + 1 on, got {NEVER}, which stands for no moment at all")
    if on[0] < newest or (on[1:] < on[:-1]).any():
        raise DataError("on: elements must come in order; use FiBA for elements that do not, or sort them by `on`")
    return int(on[-1])


def check_moments(option: str, moments: Any, newest: int) -> npt.NDArray[np.int64]:
    """Return times as 64-bit integers; raise unless they are integers, do not decrease and are not before `newest`."""
    given = np.asarray(moments)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise TypeMismatchError(f"{option}: {moments!r} must be flat and of whole numbers")
    whole = np.ascontiguousarray(given, np.int64)
    if whole.size and whole[0] < newest:
        raise DataError(f"{option}: {whole[0]} is before {newest}, to which time has gone on; it must not be earlier")
    if (whole[1:] < whole[:-1]).any():
        raise DataError(f"{option}: none may be earlier than the one before it; sort them")
    return whole
