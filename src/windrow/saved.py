"""States that were saved: which ones this code, asked for this, cannot go on from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from windrow.errors import SourceError


def check_version(what: str, version: int, known: int, otherwise: str) -> None:
    """Refuse a state of a later version than is known.

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
