"""The clock of a query: the type of `on`, the progressing attribute, and how durations are measured in it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.arrays import Values, instants, read_numbers
from windrow.errors import TypeMismatchError
from windrow.rows.duration import DAY, Duration, duration_text, to_clock

ClockKind: TypeAlias = Literal["timestamp", "date", "integer", "float"]
LARGEST = int(np.iinfo(np.int64).max)


@dataclass(frozen=True)
class Clock:
    """The type of `on` in the kernels: 64-bit integers for instants and integers, floats otherwise.

    Equal values of `on` are 0 apart, even if they are infinite. Distances are exact up to 2**63 - 1, whatever the type
    of the column. Longer distances and durations count as 2**63 - 1, which no distance exceeds.

    >>> Clock.of(pa.timestamp("us", "UTC"), "ts").at_least("3 minutes", "min_duration")
    180000000
    """

    kind: ClockKind
    type: pa.DataType

    @classmethod
    def of(cls, kind: pa.DataType, column: str) -> Clock:
        """Return the clock of a column of this Arrow type."""
        if pa.types.is_timestamp(kind):
            return cls("timestamp", kind)
        if pa.types.is_date32(kind):
            return cls("date", kind)
        if pa.types.is_integer(kind):
            return cls("integer", kind)
        if pa.types.is_floating(kind):
            return cls("float", kind)
        raise TypeMismatchError(
            f"on: column {column!r} is of type {kind}; expected a timestamp, a date, an integer or a float"
        )

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy type of `on` in the kernels."""
        return np.dtype(np.float64 if self.kind == "float" else np.int64)

    @property
    def lowest(self) -> int | float:
        """The least possible `on`."""
        return -LARGEST - 1 if self.dtype == np.int64 else -math.inf

    @property
    def greatest(self) -> int | float:
        """The greatest possible `on`."""
        return LARGEST if self.dtype == np.int64 else math.inf

    @property
    def steps_per_unit(self) -> float:
        """The number of steps of `on` in the unit of aggregates over time: seconds, days, or the unit of `on`."""
        return 1e6 if self.kind == "timestamp" else 1.0

    def steps(self, duration: Duration, option: str) -> float:
        """Return the length of a duration in steps of `on`, which need not be whole."""
        return float(to_clock(duration, self.kind, option))

    def length_text(self, length: float, on: str) -> str:
        """Return a distance on the clock as readable text.

        >>> (
        ...     Clock("timestamp", pa.timestamp("us")).length_text(90_000_000, "ts"),
        ...     Clock("integer", pa.int64()).length_text(5, "minute"),
        ... )
        ('1 minute 30 seconds', "5 units of 'minute'")
        """
        if self.kind in ("timestamp", "date"):
            return duration_text(round(length) * (1 if self.kind == "timestamp" else DAY))
        return f"{length:,} unit{'' if length == 1 else 's'} of {on!r}"

    def after(self, on: Any) -> Any:
        """Return the least `on` that is greater than this one."""
        return on + 1 if self.dtype == np.int64 else np.nextafter(on, math.inf)

    def read(self, column: pa.Array | pa.ChunkedArray) -> Values:
        """Read a column of `on` into the kernels' numbers."""
        return read_numbers(column, self.dtype)

    def write(self, numbers: pa.Array) -> pa.Array:
        """Convert the kernels' numbers to the type of the column."""
        return numbers.cast(self.type) if self.kind == "float" else instants(numbers, self.type)

    def reaches(self, later: npt.NDArray[Any], earlier: npt.NDArray[Any], length: int | float) -> npt.NDArray[np.bool_]:
        """Return which pairs of `on` are at least `length` apart.

        >>> clock = Clock.of(pa.int64(), "t")
        >>> clock.reaches(np.array([5, LARGEST]), np.array([1, -LARGEST]), 5).tolist()
        [False, True]
        """
        with np.errstate(invalid="ignore"):
            apart = later - earlier
        far: npt.NDArray[np.bool_] = np.where(later > earlier, (apart >= length) | (apart < 0), length <= 0)
        return far

    def exceeds(self, later: npt.NDArray[Any], earlier: npt.NDArray[Any], length: int | float) -> npt.NDArray[np.bool_]:
        """Return which pairs of `on` are more than `length` apart.

        >>> clock = Clock.of(pa.int64(), "t")
        >>> clock.exceeds(np.array([5, 6, 1]), np.array([1, 1, 6]), 4).tolist()
        [False, True, False]
        """
        if self.dtype == np.int64:
            most = int(min(length, LARGEST))
            return self.reaches(later, earlier, most + 1) if most < LARGEST else np.zeros(later.size, np.bool_)
        with np.errstate(invalid="ignore"):
            far: npt.NDArray[np.bool_] = (later > earlier) & (later - earlier > length)
        return far

    def at_least(self, duration: Duration | None, option: str) -> int | float:
        """Return the least difference of two `on` that reaches a duration; zero if it is None."""
        if duration is None:
            return 0 if self.dtype == np.int64 else 0.0
        value = to_clock(duration, self.kind, option)
        return min(math.ceil(value), LARGEST) if self.dtype == np.int64 else float(value)

    def at_most(self, duration: Duration | None, option: str) -> int | float:
        """Return the largest difference of two `on` that does not exceed a duration; no limit if it is None."""
        if duration is None:
            return LARGEST if self.dtype == np.int64 else math.inf
        value = to_clock(duration, self.kind, option)
        return min(math.floor(value), LARGEST) if self.dtype == np.int64 else float(value)
