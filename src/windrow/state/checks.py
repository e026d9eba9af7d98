"""States that were saved: a header that identifies and protects them, and which ones this code cannot continue from.

Every saved state, of an operator or of a synopsis, is a header of 64 bytes and a payload of Arrow. The header has a
version, the *kind* of the state, the length of the payload and a checksum of all of it. So a state of another kind, a
damaged one and one of a newer version are refused before anything is read from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from windrow.errors import SourceError, WindrowError

_REMEDY = "restore it from a copy, or start without it"


def damaged(problem: str) -> SourceError:
    """The error for a saved state that cannot be what was written."""
    return SourceError(f"the saved state is damaged: {problem}; {_REMEDY}")


@contextmanager
def reading() -> Iterator[None]:
    """Whatever goes wrong while a saved state is read means that it is not what this code wrote."""
    try:
        yield
    except (WindrowError, OSError, MemoryError):
        raise
    except Exception as problem:
        raise damaged(f"{type(problem).__name__}: {problem}") from problem


def check_that(holds: bool | np.bool_, what: str) -> None:
    """Refuse a state in which something does not hold that the kernels rely on."""
    if not holds:
        raise damaged(f"expected {what}")


def check_indices(name: str, indices: npt.NDArray[Any], size: int, least: int = 0) -> None:
    """Refuse places that are not among `size` ones; `least` is -1 where that stands for none.

    >>> check_indices("groups", np.array([0, 3]), 3)
    Traceback (most recent call last):
    ...
    windrow.errors.SourceError: the saved state is damaged: expected groups from 0 to 2, got 3; restore it from a copy, or start without it
    """  # noqa: E501 - the message is one line
    if indices.size:
        low, high = indices.min(), indices.max()
        if low < least or high >= size:
            raise damaged(f"expected {name} from {least} to {size - 1}, got {low if low < least else high}")


def check_version(what: str, version: int, known: int, otherwise: str) -> None:
    """Refuse a state of another version than is known.

    >>> check_version("the checkpoint holds a state", 2, 1, "start with a new checkpoint")
    Traceback (most recent call last):
    ...
    windrow.errors.SourceError: the checkpoint holds a state of version 2, written by a newer Windrow; this one knows version 1: upgrade Windrow, or start with a new checkpoint
    """  # noqa: E501 - the message is one line
    if version > known:
        raise SourceError(
            f"{what} of version {version}, written by a newer Windrow; this one knows version {known}: upgrade "
            f"Windrow, or {otherwise}"
        )
    if version < known:
        raise SourceError(
            f"{what} of version {version}, written by an older Windrow; this one resumes from version {known} only: "
            f"{otherwise}"
        )


def check_same(what: str, before: Mapping[str, Any], now: Mapping[str, Any], names: Iterable[str], remedy: str) -> None:
    """Refuse what was asked otherwise before.

    >>> check_same("the checkpoint was written", {"gap": 1}, {"gap": 2}, ["gap"], "start with a new one")
    Traceback (most recent call last):
    ...
    windrow.errors.SourceError: the checkpoint was written with gap=1, and now it is gap=2; start with a new one
    """
    for name in names:
        if before.get(name) != now.get(name):
            raise SourceError(f"{what} with {name}={before.get(name)}, and now it is {name}={now.get(name)}; {remedy}")
