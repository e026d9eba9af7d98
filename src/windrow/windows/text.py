"""Windows as texts, such as `1 hour every 1 minute`, on the command line and in SQL."""

from __future__ import annotations

import re

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
    length, every = match["length"], match["every"]
    rows = ROWS.fullmatch(length)
    step = ROWS.fullmatch(every) if every else rows
    if bool(rows) != bool(step):
        raise SpecError(
            f"{option}: expected length and step both in time or both in rows, e.g. '100 rows every 10 rows'; "
            f"got {quoted(text)}"
        )
    if rows and step:
        return Rows(int(rows["n"]), every=int(step["n"]))
    if every is None:
        return Tumbling(as_duration(length, option))
    return Sliding(as_duration(length, option), as_duration(every, option))
