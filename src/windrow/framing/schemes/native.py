"""Runs of one label in Spark SQL, for schemes whose frames Catalyst can compute by itself."""

from __future__ import annotations

import math
from dataclasses import dataclass

from windrow.rows.duration import Duration


@dataclass(frozen=True)
class NativeRun:
    """Frames as maximal runs of rows with equal labels, in Spark SQL over the scheme's inputs.

    The native plan takes care of groups, order, nulls and gaps (`longest_gap`).
    """

    labels: tuple[str, ...] = ()
    """Expressions; a frame ends where one of them changes. They are the columns that the scheme adds to a frame."""
    hit: str = "true"
    """A condition: rows for which it does not hold end a frame and are in none."""
    min_count: int = 1
    """Drop frames with fewer rows."""
    min_duration: Duration | None = None
    """Drop shorter frames."""
    max_count: int | None = None
    """Cut runs into frames of at most so many rows."""
    half_open: bool = False
    """Whether frames last until the row that ends them, rather than until their own last row."""


def literal(number: float) -> str:
    """Return a number as a Spark SQL literal of type BIGINT or DOUBLE.

    >>> literal(5), literal(-0.5), literal(math.inf)
    ('5L', '(-0.5D)', "double('inf')")
    """
    if not math.isfinite(number):
        return f"double('{number}')"
    text = f"{number}L" if isinstance(number, int) else f"{number!r}D"
    return f"({text})" if text.startswith("-") else text
