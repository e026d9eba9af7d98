"""What the local conditions of schemes are made of: the rows of a stream and plain comparisons between them.

A scheme's local condition is its definition in plain Python (`Scheme.local_condition`). It shares nothing with the
kernel: Python's integers do not overflow, and every interval is judged by itself.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from windrow.rows.clock import LARGEST
from windrow.rows.duration import Duration, parse_duration

COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class StreamRow(NamedTuple):
    """One row of a group: its `on`, the scheme's inputs by name, and whether it breaks frames.

    `skipped_by` are the parts of a conjunction that skip the row, by their positions.
    """

    on: float
    values: Mapping[str, Any]
    breaks: bool = False
    skipped_by: frozenset[int] = frozenset()


Stream: TypeAlias = Sequence[StreamRow]
"""The rows of one group in order (definition 1, bounded)."""


def are_close(extent: Stream, gap: Duration) -> bool:
    """Return whether no two neighbours are further apart than a gap."""
    return all(distance(b.on, a.on) <= length(gap, b.on) for a, b in pairwise(extent))


def distance(later: float, earlier: float) -> float:
    """Return the distance between two values: 0 for equal infinities, and at most `LARGEST` for integers."""
    apart = 0 if later == earlier else later - earlier
    return min(apart, LARGEST) if isinstance(apart, int) else apart


def length(duration: Duration, on: float) -> float:
    """Return a duration as a number on the clock of `on`, in its unit or microseconds; integers at most `LARGEST`."""
    number = duration if isinstance(duration, int | float) else parse_duration(duration)
    return min(number, LARGEST) if isinstance(on, int) else number
