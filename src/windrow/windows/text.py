"""Windows as texts, such as `1 hour every 1 minute`, on the command line and in SQL."""

from __future__ import annotations

import re
from typing import Any

from windrow.errors import SpecError, quoted
from windrow.rows.text import as_duration
from windrow.windows.specs import Rows, Sliding, Tumbling, Window

WINDOW = re.compile(r"\s*+(?P<length>.+?)(?:\s++every\s++(?P<every>.+?))?\s*", re.IGNORECASE)
ROWS = re.compile(r"(?P<n>\d++)\s++rows?", re.IGNORECASE)


def as_window(text: str, option: str) -> Window:
    """Parse a window: a length and, if windows overlap, the step between them, both in time or both in rows.

    >>> as_window("1 hour every 1 minute", "--window"), as_window("5 minutes", "--window")
    (Sliding('1 hour', every='1 minute'), Tumbling('5 minutes'))
    >>> as_window("100 rows every 10 rows", "--window"), as_window("60 every 5", "--window")
    (Rows(100, every=10), Sliding(60, every=5))
    """
    match = WINDOW.fullmatch(text) if len(text) <= 1_000 else None
    if match is None:
        raise SpecError(f"{option}: expected a window, e.g. '1 hour every 1 minute'; got {quoted(text)}")
    every = match["every"] and as_duration(match["every"], option)
    return make_window(as_duration(match["length"], option), every, option)


def make_window(length: Any, every: Any, option: str) -> Window:
    """Return the window of a length and a step, or consecutive windows without a step.

    Both are durations, numbers if `on` is numeric, or texts such as `100 rows`.

    >>> make_window("100 rows", None, "length"), make_window(60, 5, "length")
    (Rows(100, every=100), Sliding(60, every=5))
    """
    rows, step = _rows(length), _rows(length if every is None else every)
    if (rows is None) != (step is None):
        raise SpecError(
            f"{option}: expected length and step both in time or both in rows, e.g. '100 rows every 10 rows'; "
            f"got {quoted(length)} every {quoted(every)}"
        )
    if rows is not None and step is not None:
        return Rows(rows, every=step)
    return Tumbling(length) if every is None else Sliding(length, every)


def _rows(value: Any) -> int | None:
    """Return the number of rows in a text such as `100 rows`, or None for other values."""
    match = ROWS.fullmatch(value.strip()) if isinstance(value, str) else None
    return None if match is None else int(match["n"])
