"""The contract of a synopsis: state that summarises the newest values of a stream and answers an aggregate over them.

A synopsis receives values in the order of their `on` and decides itself which ones have left the window. In a time
window, values also leave while none arrive, so the clock can be advanced without a value. Each class declares its
capabilities: which retentions it supports, whether its answers are exact and, if not, whether the error bound is
certain or holds with some probability.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates import AggregateFunction, Sum
from windrow.errors import SpecError, UnsupportedError, is_one_of, quoted
from windrow.synopses.checks import NEVER, as_instants, check_moments, check_order
from windrow.synopses.costs import Complexity
from windrow.synopses.due import NO_INSTANTS, ends_at

RetentionKind: TypeAlias = Literal["count", "time"]
Numbers: TypeAlias = npt.NDArray[np.float64]
Instants: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Retention:
    """The extent of a window: its last `length` values, or the values later than now minus `length`.

    Now is the newest `on`, or the time to which the clock was advanced since.

    >>> Retention(100)
    Retention(length=100, kind='count')
    """

    length: int
    kind: RetentionKind = "count"

    def __post_init__(self) -> None:
        if not is_whole(self.length, 1, 2**63 - 1):
            raise SpecError(f"retention: expected an integer from 1 to 2**63 - 1, got {quoted(self.length)}")
        if not is_one_of(self.kind, ("count", "time")):
            raise SpecError(f"retention: expected the kind 'count' or 'time', got {quoted(self.kind)}")


def is_whole(value: Any, least: int, most: int) -> bool:
    """Return whether `value` is an integer within bounds; bools are not."""
    return not isinstance(value, bool) and isinstance(value, int | np.integer) and bool(least <= value <= most)


def check_whole(option: str, value: Any, least: int, most: int = 2**63 - 1) -> int:
    """Return `value` as an int; raise unless it is an integer within bounds."""
    if not is_whole(value, least, most):
        raise SpecError(f"{option}: expected an integer from {least} to {most}, got {quoted(value)}")
    return int(value)


LEAST_ERROR = 1e-12
"""The smallest error and probability above 0. Anything smaller would require more values than can exist."""


@dataclass(frozen=True)
class Accuracy:
    """The error allowed in an answer: at most `eps`, relative, with a probability of at least `1 - delta`."""

    eps: float = 0.0
    delta: float = 0.0

    def __post_init__(self) -> None:
        for name in ("eps", "delta"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
                raise SpecError(f"{name}: expected a number of at least 0 and below 1, got {quoted(value)}")
            if 0 < value < LEAST_ERROR:
                raise SpecError(f"{name}: expected 0 or at least {LEAST_ERROR:g}, got {value!r}, which is too small")


EXACT = Accuracy()


def _check_types(name: str, aggregate: Any, retention: Any, accuracy: Any) -> None:
    for option, value, kind, example in (
        ("aggregate", aggregate, AggregateFunction, "wr.sum('volume')"),
        ("retention", retention, Retention, "Retention(100)"),
        ("accuracy", accuracy, Accuracy, "Accuracy(eps=0.01)"),
    ):
        if not isinstance(value, kind):
            raise SpecError(f"{name}: {option}: expected e.g. {example}, got {quoted(value)}")


class Synopsis(ABC):
    """The stored summary of a window. Create one with `Synopsis(aggregate, retention, accuracy, seed=…)`."""

    retentions: ClassVar[frozenset[RetentionKind]]
    """The supported kinds of retention. Support for time implies support for count."""
    exact: ClassVar[bool]
    """Whether its answers equal those of recomputation."""
    deterministic: ClassVar[bool]
    """Whether equal input gives equal answers and, for inexact answers, whether the error bound always holds."""
    time: ClassVar[str]
    """The cost per value and per answer; R is the number of values in the window."""
    space: ClassVar[str]
    """The size of the state."""
    error: ClassVar[str]
    """The error bound of an answer."""
    source: ClassVar[str]
    """The paper that describes it."""
    example_aggregate: ClassVar[AggregateFunction] = Sum("x")
    """An aggregate that it answers, for tests and benchmarks."""
    needs_whole: ClassVar[bool] = False
    """Whether it stores only non-negative integers."""
    needs_size: ClassVar[bool] = False
    """Whether it must know how many values a window has, so that the planner offers it for counts only."""
    newest: int
    """The current time, from values or from `advance`; meaningless if the retention is a count."""

    def __init__(
        self, aggregate: AggregateFunction, retention: Retention, accuracy: Accuracy = EXACT, *, seed: int = 0
    ) -> None:
        _check_types(type(self).__name__, aggregate, retention, accuracy)
        seed = check_whole("seed", seed, 0)
        obstacle = self.why_not(aggregate, retention, accuracy)
        if obstacle:
            raise UnsupportedError(f"{type(self).__name__} does not support {aggregate!r} over {retention}: {obstacle}")
        self.aggregate, self.retention, self.accuracy, self.seed = aggregate, retention, accuracy, seed
        self.newest = NEVER

    @classmethod
    @abstractmethod
    def why_not(cls, aggregate: AggregateFunction, retention: Retention, accuracy: Accuracy = EXACT) -> str | None:
        """Return why this synopsis does not apply, phrased to follow a colon, or None if it applies."""

    @classmethod
    def unsure(cls, aggregate: AggregateFunction) -> str | None:
        """Return why the requested error is not guaranteed for this aggregate, phrased to follow "but", or None."""
        return None

    @classmethod
    def costs(cls, aggregate: AggregateFunction) -> Complexity | None:
        """Return the terms of its update, its query and its space for an aggregate that it answers.

        A calibration estimates the weight of each term. Without terms, the cost of a synopsis is unknown, and it is
        used only if it is named.
        """
        return None

    @classmethod
    def calibrates(cls, retention: Retention, accuracy: Accuracy) -> bool:
        """Return whether a calibration measures such a window; False where it would take most of the time."""
        return True

    @classmethod
    def example(cls, retention: Retention, **options: Any) -> Synopsis:
        """Return an empty example over a retention, or over none if it supports none, for tests and benchmarks."""
        accuracy = Accuracy(0.0 if cls.exact else 0.1, 0.0 if cls.deterministic else 0.01)
        supported: Any = retention if cls.retentions else None
        return cls(cls.example_aggregate, supported, accuracy, **options)

    @abstractmethod
    def update(self, on: Instants, x: Numbers) -> None:
        """Add the next values, in order and without nulls."""

    @abstractmethod
    def query(self) -> Any:
        """Return the aggregate of the values in the window, or None if it is undefined for so few."""

    @abstractmethod
    def roll(self, on: Instants, x: Numbers, every: int) -> npt.NDArray[Any]:
        """Add values and return the answer after every `every`-th one.

        Equivalent to alternating `update` and `query`, but compiled.
        """

    def advance(self, now: int) -> None:
        """Advance the clock to `now` without a value: values not later than `now` minus the retention leave.

        Later values and times must not be earlier than `now`. Only FiBA accepts earlier values, as long as they are in
        the window. Without a retention by time, this has no effect.
        """
        if self.timed:
            self._go_on(int(check_moments("now", [now], self.newest)[0]))

    def answers(self, on: Instants, x: Numbers, moments: Instants) -> pa.Array:
        """Add values and answer at each of `moments`, which must not decrease.

        The answer at a moment covers the values up to it (`on` <= moment) that are later than the moment minus the
        retention or, if the retention is a count, the last values up to it. Values added by earlier calls count as up
        to every moment. Values after the last moment are added too. Undefined answers are null.
        """
        on, x, moments = self._in_order(on, x, moments)
        return self._answer_at(on, x, ends_at(on, moments), moments if self.timed else NO_INSTANTS)

    def _answer_at(self, on: Instants, x: Any, ends: Instants, moments: Instants) -> pa.Array:
        """Add values and answer after each count in `ends`, advancing the clock to its moment first if there is one."""
        return pa.array(self._step_by_step(on, x, ends, moments))

    def _step_by_step(self, on: Instants, x: Any, ends: Instants, moments: Instants = NO_INSTANTS) -> list[Any]:
        """Alternate update, advance and query, for synopses whose queries cost far more than this loop."""
        answers, at = [], 0
        for i, end in enumerate(ends.tolist()):
            if at < end:
                self.update(on[at:end], x[at:end])
                at = end
            if moments.size:
                self._go_on(int(moments[i]))
            answers.append(self.query())
        self.update(on[at:], x[at:])
        return answers

    @property
    def timed(self) -> bool:
        """Whether values leave as time passes."""
        return self.retention is not None and self.retention.kind == "time"

    def _go_on(self, now: int) -> None:
        """Advance the clock to a time that has been checked."""
        self.newest = now
        self._expire(now)

    def _expire(self, now: int) -> None:
        """Drop values that are not later than `now` minus the retention; implemented where time is supported."""
        raise NotImplementedError(f"{type(self).__name__} does not support a retention by time")

    def _in_order(self, on: Instants, x: Numbers, moments: Instants) -> tuple[Instants, Any, Instants]:
        """Return the values and the moments to answer at; raise before any change if they are out of order."""
        on = as_instants(on)
        check_order(on, NEVER)
        return on, np.asarray(x), check_moments("moments", moments, self.newest if self.timed else NEVER)

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """The memory used by the state, in bytes."""

    @abstractmethod
    def save(self) -> bytes:
        """Return the state as versioned Arrow bytes, never as pickle."""

    @abstractmethod
    def load(self, data: bytes) -> None:
        """Restore a state saved by a synopsis with the same arguments."""
