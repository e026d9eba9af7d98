"""The kinds of windows that a user can specify. Each is validated on construction and applied to a clock later."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from numbers import Integral
from typing import ClassVar, Literal, TypeAlias

from windrow.errors import SpecError, quoted
from windrow.rows.checks import check_duration
from windrow.rows.clock import LARGEST, Clock
from windrow.rows.duration import Duration, to_clock

Unit: TypeAlias = Literal["time", "rows", "times"]
MOST_WINDOWS_PER_ROW = 10_000_000
"""The limit on time windows, or reports of them, per row (`length / every`): a single row produces that many rows."""


@dataclass(frozen=True)
class Shape:
    """A window in whole steps: of the clock, of rows, or of distinct times. A landmark window has no length."""

    unit: Unit
    length: int | None
    every: int
    emit: int | None = None

    @property
    def steps(self) -> list[int]:
        """All lengths that a pane must divide."""
        return [step for step in (self.length, self.every, self.emit) if step]

    def in_panes(self, pane: int) -> tuple[int, int, int]:
        """Return the length (0 for a landmark window), the step and the reporting step, in panes."""
        return (self.length or 0) // pane, self.every // pane, (self.emit or self.every) // pane


@dataclass(frozen=True, repr=False)
class Window:
    """The base of all kinds of windows: `Sliding`, `Tumbling`, `Landmark`, `Rows` and `DistinctTimes`."""

    unit: ClassVar[Unit] = "time"

    def __repr__(self) -> str:
        shown = [repr(getattr(self, item.name)) for item in fields(self) if item.name == fields(self)[0].name]
        for item in fields(self)[1:]:
            value = getattr(self, item.name)
            if value != item.default:
                shown.append(f"{item.name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def shape(self, clock: Clock) -> Shape:
        """Return the window in steps of a clock."""
        raise NotImplementedError


@dataclass(frozen=True, repr=False)
class Sliding(Window):
    """Windows of a fixed length in time that advance by a fixed step.

    A window contains the rows from its start up to, but not including, its end. Windows end at all multiples of
    `every`, counted from the zero of the clock: the start of 1970 in UTC, or the number 0. Spark's own `window` cuts
    them in the same way.

    Parameters
    ----------
    length
        The length of a window: a duration such as `"1 hour"`, or a number if `on` is numeric.
    every
        The step from one window to the next, at most the length.
    emit
        Report the current window before it is complete, at all multiples of this step, which must divide `every`.

    Examples
    --------
    >>> Sliding("1 hour", "1 minute", emit="10 seconds")
    Sliding('1 hour', every='1 minute', emit='10 seconds')
    """

    length: Duration
    every: Duration
    emit: Duration | None = None

    def __post_init__(self) -> None:
        for name in ("length", "every", "emit"):
            value = getattr(self, name)
            if value is not None or name != "emit":
                _check(value, name)

    def shape(self, clock: Clock) -> Shape:
        """Return the window in steps of a clock."""
        length, every = (_steps(getattr(self, name), clock, name) for name in ("length", "every"))
        emit = None if self.emit is None else _steps(self.emit, clock, "emit")
        if every > length:
            raise SpecError(
                f"every={self.every!r} is longer than length={self.length!r}, so some rows would be in no window; "
                "choose a step of at most the length"
            )
        reports = length // (emit or every)
        if reports > MOST_WINDOWS_PER_ROW:
            step = f"every={self.every!r}" if emit is None else f"emit={self.emit!r}"
            raise SpecError(
                f"{step} with length={self.length!r} puts each row into {reports:,} windows; expected at most "
                f"{MOST_WINDOWS_PER_ROW:,}; choose a longer step"
            )
        if emit and every % emit:
            raise SpecError(f"emit={self.emit!r} must divide every={self.every!r}")
        return Shape("time", length, every, emit)


@dataclass(frozen=True, repr=False)
class Tumbling(Window):
    """Consecutive windows of a fixed length in time.

    Examples
    --------
    >>> Tumbling("5 minutes")
    Tumbling('5 minutes')
    """

    length: Duration
    emit: Duration | None = None

    def __post_init__(self) -> None:
        Sliding(self.length, self.length, self.emit)

    def shape(self, clock: Clock) -> Shape:
        """Return the window in steps of a clock."""
        return Sliding(self.length, self.length, self.emit).shape(clock)


@dataclass(frozen=True, repr=False)
class Landmark(Window):
    """All rows of the group so far, reported at all multiples of a step.

    Examples
    --------
    >>> Landmark("1 second")
    Landmark('1 second')
    """

    every: Duration

    def __post_init__(self) -> None:
        _check(self.every, "every")

    def shape(self, clock: Clock) -> Shape:
        """Return the window in steps of a clock."""
        return Shape("time", None, _steps(self.every, clock, "every"))


@dataclass(frozen=True, repr=False)
class Rows(Window):
    """The last rows of the group, by count.

    Parameters
    ----------
    n
        The number of rows in a window.
    every
        The number of rows from one window to the next; 1 by default.

    Examples
    --------
    >>> Rows(100, every=10)
    Rows(100, every=10)
    """

    n: int
    every: int = 1

    unit: ClassVar[Unit] = "rows"

    def __post_init__(self) -> None:
        for name in ("n", "every"):
            _check_number(getattr(self, name), name)
        if self.every > self.n:
            raise SpecError(
                f"every={self.every} is greater than n={self.n}, so some rows would be in no window; choose a step of "
                "at most n"
            )

    def shape(self, clock: Clock) -> Shape:
        """Return the window in rows."""
        return Shape(self.unit, int(self.n), int(self.every))


@dataclass(frozen=True, repr=False)
class DistinctTimes(Rows):
    """The rows of the group's last distinct times.

    Examples
    --------
    >>> DistinctTimes(3)
    DistinctTimes(3)
    """

    unit: ClassVar[Unit] = "times"


def _check(value: object, name: str) -> None:
    if value is None:
        raise SpecError(f"{name}: expected a duration such as '5 minutes', or a number if `on` is numeric, got None")
    check_duration(value, name)


def _check_number(value: object, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral) or not 1 <= int(value) < 2**62:
        raise SpecError(f"{name}: expected an integer from 1 to 2**62 - 1, got {quoted(value)}")


def _steps(value: Duration, clock: Clock, name: str) -> int:
    """Return a duration in whole steps of a clock."""
    length = to_clock(value, clock.kind, name)
    if length <= 0:
        raise SpecError(f"{name}: {value!r} must be greater than zero")
    if length > LARGEST:
        raise SpecError(f"{name}: expected at most 2**63 - 1 steps of `on`, got {quoted(value)}")
    if clock.kind == "float" or length != int(length):
        expected = "a number of whole days" if clock.kind == "date" else "an integer"
        if clock.kind == "float":
            expected = "an integer, since windows over floats are cut at integers; scale `on`, or cast it to an integer"
        if Fraction(length).denominator != 1:
            raise SpecError(f"{name}: {value!r} must be {expected}")
    return int(length)


def pane_of(shapes: list[Shape]) -> int:
    """Return the length of the longest pane from which all windows can be built.

    >>> pane_of([Shape("time", 60, 10), Shape("time", 300, 10), Shape("time", None, 4)])
    2
    """
    return math.gcd(*(step for shape in shapes for step in shape.steps))
