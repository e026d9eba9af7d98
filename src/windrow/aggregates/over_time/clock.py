"""The clock and the extents that aggregates over time need."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any, NamedTuple, Protocol

import numpy as np

from windrow.arrays import Array
from windrow.errors import SpecError, quoted


class TimeClock(Protocol):
    """The clock of `on`, as far as these aggregates need it."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy type of `on`."""

    @property
    def steps_per_unit(self) -> float:
        """The number of steps of `on` in the unit of results: seconds for timestamps."""

    def steps(self, duration: Any, option: str) -> float:
        """Return a duration in steps of `on`, or raise."""


class PlainClock:
    """A clock of plain numbers."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self.steps_per_unit = 1.0

    def steps(self, duration: Any, option: str) -> float:
        """Return a number as it is."""
        if isinstance(duration, str | timedelta):
            raise SpecError(f"{option}: `on` is a number, so expected a number in its unit, got {quoted(duration)}")
        return float(duration)


class Extents(NamedTuple):
    """The starts and ends of frames or windows, as numbers of the clock."""

    start: Array
    end: Array

    def take(self, rows: Any) -> Extents:
        """Return some of the extents."""
        return Extents(self.start[rows], self.end[rows])


def check_hold(hold: Any, name: str) -> None:
    """Reject what is not a duration on any clock; whether text is one shows when the clock is known."""
    if hold is None or (isinstance(hold, str) and hold.strip()):
        return
    if isinstance(hold, bool) or not isinstance(hold, timedelta | int | float):
        raise SpecError(
            f"{name}: max_hold: expected a duration such as '3 minutes', a timedelta or a number, got {quoted(hold)}"
        )
    amount = hold.total_seconds() if isinstance(hold, timedelta) else hold
    if not 0 <= amount < math.inf:
        raise SpecError(f"{name}: max_hold: expected a finite duration of zero or more, got {quoted(hold)}")
