"""The aggregates over time: mean, integral, duration, and the time in a condition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from windrow.aggregates.base import AggregateFunction
from windrow.aggregates.over_time.base import TIME, OverTime
from windrow.arrays import Array
from windrow.errors import SpecError, quoted


@dataclass(frozen=True, repr=False)
class TimeMean(OverTime):
    """The mean of a column over time: each value is weighted by how long it held.

    Parameters
    ----------
    column
        The column of values. Nulls are passed over, so the earlier value keeps holding.
    method
        `"previous"` (default): a value holds until the next one. `"linear"`: the value changes linearly from one row to
        the next; only stretches between two rows count.
    max_hold
        The longest time for which a value holds, e.g. `"5 minutes"`, or a number if `on` is numeric. With
        `method="linear"`, a longer stretch between two rows does not count.
    carry
        Whether the last value before the start of the frame or window holds until its first value.

    Examples
    --------
    >>> import windrow as wr
    >>> wr.time_mean("speed").compute([10.0, 40.0, 0.0], [0, 30, 40])
    17.5
    >>> wr.time_mean("speed", method="linear").compute([10.0, 40.0, 0.0], [0, 30, 40])
    23.75
    """

    def undefined(self, seen: Array, numbers: Array) -> npt.NDArray[np.bool_]:
        """Return which states have no result: those whose values are known for no time."""
        without: npt.NDArray[np.bool_] = super().undefined(seen, numbers) | (numbers[:, TIME] == 0)
        return without

    def result(self, area: Array, time: Array) -> Array:
        """Return the area per time."""
        return np.divide(area, time, where=time > 0, out=np.zeros(area.size))


@dataclass(frozen=True, repr=False)
class Integral(OverTime):
    """The integral of a column over time: in units of the column times seconds, if `on` is a timestamp.

    The unit of time is a day if `on` is a date, and the unit of `on` if it is a number. The options are those of
    `time_mean`. The result is 0.0 if values are known for no time, as in a frame of one row.

    >>> import windrow as wr
    >>> wr.integral("watts").compute([100.0, 60.0, 0.0], [0, 10, 40])
    2800.0
    """

    def result(self, area: Array, time: Array) -> Array:
        """Return the area."""
        return area


@dataclass(frozen=True, repr=False)
class Duration(OverTime):
    """The time that is covered by rows: each counts until the next one, for at most `max_hold`.

    The unit is that of `integral`. `max_hold` and `carry` are those of `time_mean`.

    >>> import windrow as wr
    >>> wr.duration(max_hold=10).compute([0, 4, 60, 65])
    19.0
    """

    column: str = "*"

    interpolates: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.column != "*":
            raise SpecError(f"duration takes no column and counts every row; got {quoted(self.column)}")

    @property
    def columns(self) -> tuple[str, ...]:
        """No column: every row counts."""
        return ()

    @classmethod
    def example(cls, column: str = "x", other: str = "y") -> AggregateFunction:
        """Return an example."""
        return cls()

    def result(self, area: Array, time: Array) -> Array:
        """Return the time."""
        return time


@dataclass(frozen=True, repr=False)
class TimeIn(OverTime):
    """The time for which a condition held, such as `"speed > 80"`; a null condition is false.

    A row decides until the next one. The unit is that of `integral`; `max_hold` and `carry` are those of `time_mean`.

    >>> import windrow as wr
    >>> wr.time_in("speed > 80", max_hold="5 minutes")
    time_in('speed > 80', max_hold='5 minutes')
    >>> wr.time_in("speed > 80").compute([True, False, None, True, False], [0, 4, 5, 20, 21])
    5.0
    """

    interpolates: ClassVar[bool] = False
    of_condition: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.column, str) or not self.column.strip():
            raise SpecError(f"TimeIn expects a condition such as 'speed > 80', got {quoted(self.column)}")
        super().__post_init__()

    @property
    def columns(self) -> tuple[str, ...]:
        """No column: the condition may read several."""
        return ()

    @classmethod
    def example(cls, column: str = "x", other: str = "y") -> AggregateFunction:
        """Return an example."""
        return cls(f"{column} > 0")

    def result(self, area: Array, time: Array) -> Array:
        """Return the area."""
        return area
