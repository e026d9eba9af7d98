"""Checks of saved states: damaged states, unknown versions, and states of other queries are rejected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from windrow.errors import SourceError, WindrowError

_REMEDY = "restore it from a copy, or start without it"


def damaged(problem: str) -> SourceError:
    """Return the error for a saved state that differs from what was written."""
    return SourceError(f"the saved state is damaged: {problem}; {_REMEDY}")


@contextmanager
def reading() -> Iterator[None]:
    """Report any failure to read a saved state as damage."""
    try:
        yield
    except (WindrowError, OSError, MemoryError):
        raise
    except Exception as problem:
        raise damaged(f"{type(problem).__name__}: {problem}") from problem


def check_that(holds: bool | np.bool_, what: str) -> None:
    """Reject a state that violates an assumption of the kernels."""
    if not holds:
        raise damaged(f"expected {what}")


def check_indices(name: str, indices: npt.NDArray[Any], size: int, least: int = 0) -> None:
    """Reject indices below `least` or not below `size`; `least` is -1 if that stands for none.

    >>> check_indices("groups", np.array([0, 3]), 3)
    Traceback (most recent call last):
    ...
    windrow.errors.SourceError: the saved state is damaged: expected groups from 0 to 2, got 3; restore it from a copy, or start without it
    """  # noqa: E501 - the message is one line
    if indices.size:
        low, high = indices.min(), indices.max()
        if low < least or high >= size:
            raise damaged(f"expected {name} from {least} to {size - 1}, got {low if low < least else high}")


def check_version(what: str, version: int, readable: int, otherwise: str) -> None:
    """Reject a state of any version other than `readable`.

    >>> check_version("the checkpoint holds a state", 2, 1, "use a new checkpoint")
    Traceback (most recent call last):
    ...
    windrow.errors.SourceError: the checkpoint holds a state of version 2, written by a newer Windrow; this one reads version 1: upgrade Windrow, or use a new checkpoint
    """  # noqa: E501 - the message is one line
    if version > readable:
        raise SourceError(
            f"{what} of version {version}, written by a newer Windrow; this one reads version {readable}: upgrade "
            f"Windrow, or {otherwise}"
        )
    if version < readable:
        raise SourceError(
            f"{what} of version {version}, written by an older Windrow; this one reads version {readable} only: "
            f"{otherwise}"
        )


def check_same(
    saved: str, before: Mapping[str, Any], current: str, now: Mapping[str, Any], names: Iterable[str], remedy: str
) -> None:
    """Reject options that differ from those of the saved state.

    >>> before, now = {"gap": 1}, {"gap": 2}
    >>> check_same(
    ...     "the checkpoint was written",
    ...     before,
    ...     "this query uses",
    ...     now,
    ...     ["gap"],
    ...     "use a new checkpoint",
    ... )
    Traceback (most recent call last):
    ...
    windrow.errors.SourceError: the checkpoint was written with gap=1, but this query uses gap=2; use a new checkpoint or restore gap=1
    """  # noqa: E501 - the message is one line
    for name in names:
        was, is_now = before.get(name), now.get(name)
        if was != is_now:
            raise SourceError(
                f"{saved} with {name}={was}, but {current} {name}={is_now}; {remedy} or restore {name}={was}"
            )
