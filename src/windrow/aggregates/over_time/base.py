"""Aggregates over time: how long values held, and what they amount to.

A value holds from its row to the next non-null row, for at most `max_hold`:

    x  4 |      o-----------+  .  .  .            max_hold ends the first value early
       2 |                         o-------+
       1 |                                 o---------|
         +------|-----------|------|-------|---------|---> on
              row 1     max_hold  row 2   row 3     end

The state describes the rows of a stretch of time so that two neighbouring stretches can be merged. It consists of the
first and the last row, the area and the time between them, and the value carried in from before the first row:

    N                            0 without values, 1 if all have the same `on`, otherwise 2
    FIRST, FIRST + 1, FIRST_X    `on` of the first row, as two numbers, and its value
    LAST, LAST + 1, LAST_X       the same for the last row
    LEFT                         with method="linear", the known time before the last row, whose area is not added yet
    AREA, TIME                   the integral and the time for which values are known
    CARRIED                      0 if undecided, 1 if no value precedes the first row, 2 if one does
    CARRIED + 1 to CARRIED + 3   its `on`, as two numbers, and the value

Merging is associative but not commutative, and nothing can be removed. An integer `on` is split into its upper and
lower 32 bits, so that floats represent it exactly and differences are rounded once.
"""

from __future__ import annotations

import copy
import math
from dataclasses import KW_ONLY, dataclass
from datetime import timedelta
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import njit

from windrow.aggregates.base import AggregateFunction, Options, name_of
from windrow.aggregates.over_time.clock import Extents, PlainClock, TimeClock, check_hold
from windrow.arrays import ALL_VALID, Array, Values
from windrow.errors import SpecError, is_one_of, quoted

METHODS = ("previous", "linear")
N, FIRST, FIRST_X, LAST, LAST_X, LEFT, AREA, TIME, CARRIED = 0, 1, 3, 4, 6, 7, 8, 9, 10
IS_CARRIED = 2.0
LIMB = 2.0**32
"""The value of the upper half of an integer `on`."""
State = tuple[float, ...]


@njit(cache=True)
def _area(x: float, time: float) -> float:
    """Return the area under a value; an infinite value that holds for no time has none."""
    return x * time if time > 0.0 else 0.0


@njit(cache=True)
def _counted(gap: float, options: Any) -> float:
    """Return how much of the time between two rows is known."""
    if gap <= options[2]:
        return gap
    return 0.0 if options[0] else options[2]


@dataclass(frozen=True, repr=False)
class OverTime(AggregateFunction):
    """The base of aggregates over time. `reads` counts the numbers of a row, with its `on`."""

    _: KW_ONLY
    method: str = "previous"
    max_hold: str | timedelta | int | float | None = None
    carry: bool = False

    reads: ClassVar[int] = 3
    has_options: ClassVar[bool] = True
    order_sensitive: ClassVar[bool] = True
    timed: ClassVar[bool] = True
    interpolates: ClassVar[bool] = True
    """Whether there are values between two rows, so that `method` matters."""
    builtin: ClassVar[bool] = True
    source: ClassVar[str] = "time-weighted averages of process historians"
    clock: ClassVar[TimeClock] = PlainClock(np.dtype(np.int64))
    """The clock of `on`; instances are bound to that of a query."""

    def __post_init__(self) -> None:
        name = name_of(type(self))
        super().__post_init__()
        if not is_one_of(self.method, METHODS):
            raise SpecError(f"{name}: method: expected 'previous' or 'linear', got {quoted(self.method)}")
        if self.method != "previous" and not self.interpolates:
            raise SpecError(f"{name} takes no method: there are no values between two rows")
        if not isinstance(self.carry, bool):
            raise SpecError(f"{name}: carry: expected True or False, got {quoted(self.carry)}")
        if self.carry and self.method == "linear":
            raise SpecError(
                f"{name}: carry=True requires method='previous'; method='linear' counts only stretches between two rows"
            )
        check_hold(self.max_hold, name)

    def on_clock(self, clock: TimeClock) -> OverTime:
        """Return this aggregate bound to the clock of a query; raise if `max_hold` does not suit it."""
        bound = copy.copy(self)
        object.__setattr__(bound, "clock", clock)
        _ = bound.hold
        return bound

    @property
    def hold(self) -> float:
        """The longest time for which a value holds, in steps of the clock."""
        if self.max_hold is None:
            return math.inf
        return self.clock.steps(self.max_hold, f"{name_of(type(self))}: max_hold")

    @property
    def _limb(self) -> float:
        return LIMB if self.clock.dtype == np.int64 else 1.0

    def options(self, integral: bool) -> Options:
        """Return whether the method is linear, the value of an upper half of `on`, and the longest hold."""
        return np.array([float(self.method == "linear"), self._limb, self.hold])

    @classmethod
    def compiled_as(cls) -> type[AggregateFunction]:
        """Return this class: all aggregates over time share their functions."""
        return OverTime

    def result(self, area: Array, time: Array) -> Array:
        """Return the results of states, given the area under their values and the time for which these are known."""
        raise NotImplementedError

    @staticmethod
    def zero() -> State:  # noqa: D102
        return (0.0,) * 14

    @staticmethod
    def finish(s: State, options: Any) -> float:  # noqa: D102
        return s[8]

    @staticmethod
    def add(s: State, x: float, high: float, low: float, options: Any) -> State:  # noqa: D102
        if s[0] == 0.0:
            return (1.0, high, low, x, high, low, x, 0.0, 0.0, 0.0, s[10], s[11], s[12], s[13])
        if high == s[4] and low == s[5]:
            first = x if s[0] == 1.0 else s[3]
            return (s[0], s[1], s[2], first, s[4], s[5], x, s[7], s[8], s[9], s[10], s[11], s[12], s[13])
        between = _counted((high - s[4]) * options[1] + (low - s[5]), options)
        if options[0]:
            left, area = between, s[8] + _area(s[6], s[7] + between) / 2.0
        else:
            left, area = 0.0, s[8] + _area(s[6], between)
        return (2.0, s[1], s[2], s[3], high, low, x, left, area, s[9] + between, s[10], s[11], s[12], s[13])

    @staticmethod
    def merge(a: State, b: State, options: Any) -> State:  # noqa: D102
        c = a if a[10] > 0.0 else b
        if a[0] == 0.0:
            return (b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], c[10], c[11], c[12], c[13])
        if b[0] == 0.0:
            return (a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], c[10], c[11], c[12], c[13])
        n, first, area, left, time = 2.0, a[3], a[8] + b[8], b[7], a[9] + b[9]
        if a[4] == b[1] and a[5] == b[2]:
            # The last row of `a` gives way to the first one of `b`.
            n = max(a[0], b[0])
            if a[0] == 1.0:
                first = b[3]
            if b[0] == 1.0:
                left = a[7]
            else:
                area += _area(b[3], a[7]) / 2.0
        else:
            between = _counted((b[1] - a[4]) * options[1] + (b[2] - a[5]), options)
            time += between
            if options[0]:
                area += _area(a[6], a[7] + between) / 2.0
                if b[0] == 1.0:
                    left = between
                else:
                    area += _area(b[3], between) / 2.0
            else:
                area += _area(a[6], between)
        return (n, a[1], a[2], first, b[4], b[5], b[6], left, area, time, c[10], c[11], c[12], c[13])

    def with_on(self, values: Values, on: Array) -> Values:
        """Return the values of rows together with their `on`."""
        return values._replace(numbers=np.column_stack([values.numbers, *self._split(on)]))

    def within(self, numbers: Array, extents: Extents) -> Array:
        """Return states that include the time up to the end of their extents and the values carried in.

        In place of the area, they have the result.
        """
        s = numbers.copy()
        has_rows = s[:, N] > 0
        if self.method == "linear":
            s[:, AREA] += _areas(s[:, LAST_X], s[:, LEFT]) / 2
        else:
            high, low = self._split(extents.end)
            held = np.minimum(self._apart(s[:, LAST], s[:, LAST + 1], high, low), self.hold)
            _extend(s, np.where(has_rows, held, 0.0), LAST_X)
        if self.carry:
            _extend(s, self._carried_time(s, has_rows, extents), CARRIED + 3)
        s[:, [AREA, TIME]] /= self.clock.steps_per_unit
        s[:, AREA] = self.result(s[:, AREA], s[:, TIME])
        return s

    def _carried_time(self, s: Array, has_rows: Array, extents: Extents) -> Array:
        """Return how long the value carried in holds after the start."""
        start, end = self._split(extents.start), self._split(extents.end)
        until = [np.where(has_rows, s[:, FIRST + i], end[i]) for i in range(2)]
        gap = self._apart(*start, *until)
        left = self.hold - self._apart(s[:, CARRIED + 1], s[:, CARRIED + 2], *start)
        held: Array = np.where(s[:, CARRIED] == IS_CARRIED, np.minimum(gap, left), 0.0)
        return held

    def _split(self, on: Array) -> tuple[Array, Array]:
        """Return `on` as two floats."""
        if self._limb == 1.0:
            return on, np.zeros(on.size)
        return (on >> 32).astype(np.float64), (on & 0xFFFF_FFFF).astype(np.float64)

    def _apart(self, high: Array, low: Array, later_high: Array, later_low: Array) -> Array:
        """Return the time from one `on` to a later one."""
        with np.errstate(invalid="ignore"):
            gap = (later_high - high) * self._limb + (later_low - low)
        # Equal infinite `on` are 0 apart.
        apart: Array = np.where((later_high == high) & (later_low == low), 0.0, gap)
        return apart

    def undefined(self, seen: Array, numbers: Array) -> npt.NDArray[np.bool_]:
        """Return which states have no result: those without a value, even one that was carried in."""
        without: npt.NDArray[np.bool_] = (numbers[:, N] == 0) & (numbers[:, CARRIED] != IS_CARRIED)
        return without

    def compute(self, *values: Any) -> Any:
        """Aggregate a plain sequence of values with their `on`, which must be numbers in ascending order.

        >>> import windrow as wr
        >>> wr.integral("speed", max_hold=2).compute([10.0, None, 20.0, 0.0], [0, 1, 4, 5])
        40.0
        """
        from windrow.aggregates.engine.accumulator import Accumulator

        *columns, on = values
        instants = np.asarray(on)
        instants = instants.astype(np.float64 if instants.dtype.kind == "f" else np.int64)
        kinds = [pa.array(column) for column in columns]
        kinds = [column.cast(pa.float64()) if pa.types.is_null(column.type) else column for column in kinds]
        types = [column.type for column in kinds] or [pa.int64()]
        accumulator = Accumulator(self, *types, clock=PlainClock(instants.dtype))
        read = accumulator.read(*kinds) if kinds else Values(np.zeros(instants.size), ALL_VALID)
        states = accumulator.empty(1)
        slots = np.zeros((instants.size, 1), np.int64)
        accumulator.accumulate(states, slots, accumulator.with_on(read, instants))
        bounds = (instants[:1], instants[-1:]) if instants.size else (np.zeros(1, instants.dtype),) * 2
        return accumulator.finish(states, Extents(*bounds))[0].as_py()


def _areas(x: Array, time: Array) -> Array:
    """Return the areas under values; one that holds for no time has none."""
    with np.errstate(invalid="ignore"):
        areas: Array = np.where(time > 0, x * time, 0.0)
    return areas


def _extend(s: Array, time: Array, value: int) -> None:
    """Add the time for which a value of each state holds."""
    time = np.maximum(time, 0.0)
    s[:, AREA] += _areas(s[:, value], time)
    s[:, TIME] += time
