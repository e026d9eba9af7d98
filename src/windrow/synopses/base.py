"""The contract of a synopsis: what is kept of the newest elements of a stream, to tell an aggregate of them.

A synopsis is given elements in the order of their `on`; nobody tells it which ones leave the window, it must know that
itself. In a window of time elements also leave while none come, so it can be told how late it is. What it can do is
declared on its class, never guessed from its name: which retentions it keeps to, whether its answers are exact, and if
not, whether their error is certain or only likely to be within bounds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates import AggregateFunction
from windrow.errors import SpecError, UnsupportedError, is_one_of, quoted
from windrow.synopses.checks import NEVER, as_instants, check_moments, check_order
from windrow.synopses.due import NO_INSTANTS, ends_at

RetentionKind: TypeAlias = Literal["count", "time"]
Numbers: TypeAlias = npt.NDArray[np.float64]
Instants: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Retention:
    """Which elements are in the window: the last `length` ones, or those later than now minus `length`.

    Now is the newest `on`, or the moment that time has gone on to since, without an element.

    >>> Retention(100)
    Retention(length=100, kind='count')
    """

    length: int
    kind: RetentionKind = "count"

    def __post_init__(self) -> None:
        if not is_whole(self.length, 1, 2**63 - 1):
            said = "it must be a whole number from 1 to 2**63 - 1"
            raise SpecError(f"retention: {quoted(self.length)} is no length; {said}")
        if not is_one_of(self.kind, ("count", "time")):
            raise SpecError(f"retention: {quoted(self.kind)} is not a kind of retention; it must be 'count' or 'time'")


def is_whole(value: Any, least: int, most: int) -> bool:
    """Whether a value is a whole number within bounds, which no bool is."""
    return not isinstance(value, bool) and isinstance(value, int | np.integer) and bool(least <= value <= most)


def check_whole(option: str, value: Any, least: int, most: int = 2**63 - 1) -> int:
    """A whole number within bounds, or a refusal."""
    if not is_whole(value, least, most):
        raise SpecError(f"{option}: {quoted(value)} must be a whole number from {least} to {most}")
    return int(value)


LEAST_ERROR = 1e-12
"""The smallest error and probability above 0: less would ask for more elements than there can be."""


@dataclass(frozen=True)
class Accuracy:
    """How wrong an answer may be: by at most `eps`, relative, with a probability of at least `1 - delta`."""

    eps: float = 0.0
    delta: float = 0.0

    def __post_init__(self) -> None:
        for name in ("eps", "delta"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
                raise SpecError(f"{name}: {quoted(value)} must be a number of at least 0 and below 1")
            if 0 < value < LEAST_ERROR:
                raise SpecError(f"{name}: {value!r} is too small to matter; it must be 0 or at least {LEAST_ERROR:g}")


EXACT = Accuracy()


def _check_types(name: str, aggregate: Any, retention: Any, accuracy: Any) -> None:
    for option, value, kind, example in (
        ("aggregate", aggregate, AggregateFunction, "wr.sum('volume')"),
        ("retention", retention, Retention, "Retention(100)"),
        ("accuracy", accuracy, Accuracy, "Accuracy(eps=0.01)"),
    ):
        if not isinstance(value, kind):
            raise SpecError(f"{name}: {option} is {quoted(value)}; it must be one such as {example}")


class Synopsis(ABC):
    """What is kept of a window. Make one by `Synopsis(aggregate, retention, accuracy, seed=…)`."""

    retentions: ClassVar[frozenset[RetentionKind]]
    """Which retentions it keeps to; one that keeps to time keeps to count as well."""
    exact: ClassVar[bool]
    """Whether its answers are those of recomputation."""
    deterministic: ClassVar[bool]
    """Whether the same elements always give the same answer, and, if it is not exact, its error is always in bounds."""
    time: ClassVar[str]
    """How long an element and an answer take; R is the number of elements in the window."""
    space: ClassVar[str]
    """How much is kept."""
    error: ClassVar[str]
    """How wrong an answer may be."""
    source: ClassVar[str]
    """Where it is described."""
    newest: int
    """The moment that time has gone on to, by elements or without; of no meaning where the retention is a count."""

    def __init__(
        self, aggregate: AggregateFunction, retention: Retention, accuracy: Accuracy = EXACT, *, seed: int = 0
    ) -> None:
        _check_types(type(self).__name__, aggregate, retention, accuracy)
        seed = check_whole("seed", seed, 0)
        obstacle = self.why_not(aggregate, retention, accuracy)
        if obstacle:
            raise UnsupportedError(f"{type(self).__name__} cannot keep {aggregate!r} over {retention}: {obstacle}")
        self.aggregate, self.retention, self.accuracy, self.seed = aggregate, retention, accuracy, seed
        self.newest = NEVER

    @classmethod
    @abstractmethod
    def why_not(cls, aggregate: AggregateFunction, retention: Retention, accuracy: Accuracy = EXACT) -> str | None:
        """Why this synopsis does not apply, in words that can follow a colon; None if it does."""

    @classmethod
    def unsure(cls, aggregate: AggregateFunction) -> str | None:
        """Why the error that is asked for is no bound for this aggregate, in words that can follow "but"; or None."""
        return None

    @abstractmethod
    def update(self, on: Instants, x: Numbers) -> None:
        """Take in the next elements, in order; nulls never come here."""

    @abstractmethod
    def query(self) -> Any:
        """The aggregate of the elements in the window now; None if it is not defined for so few."""

    @abstractmethod
    def roll(self, on: Instants, x: Numbers, every: int) -> npt.NDArray[Any]:
        """Take in elements and answer after each `every` of them: the same as update and query in turn, compiled."""

    def advance(self, now: int) -> None:
        """Let time go on to `now` without an element: what is not later than `now` minus the retention leaves.

        Neither elements nor moments may be earlier from then on; FiBA alone takes in elements that are, as long as they
        are in the window. Where the retention is a count, or there is none, time does not matter.
        """
        if self.timed:
            self._go_on(int(check_moments("now", [now], self.newest)[0]))

    def answers(self, on: Instants, x: Numbers, moments: Instants) -> pa.Array:
        """Take in elements and answer at each of `moments`, none of which is earlier than the one before it.

        An answer is of the elements up to its moment (`on` <= moment) that are later than it minus the retention, or
        of the last ones up to it where the retention is a count. What came before counts as up to all moments.
        Elements after the last moment are taken in as well. An answer that is not defined is null.
        """
        on, x, moments = self._in_order(on, x, moments)
        return self._answer_at(on, x, ends_at(on, moments), moments if self.timed else NO_INSTANTS)

    def _answer_at(self, on: Instants, x: Any, ends: Instants, moments: Instants) -> pa.Array:
        """Take in elements and answer after so many of them, once time has advanced to the moment, if there are any."""
        return pa.array(self._step_by_step(on, x, ends, moments))

    def _step_by_step(self, on: Instants, x: Any, ends: Instants, moments: Instants = NO_INSTANTS) -> list[Any]:
        """Update, advance and query in turn, for synopses whose answers take much longer than that."""
        given, at = [], 0
        for i, end in enumerate(ends.tolist()):
            if at < end:
                self.update(on[at:end], x[at:end])
                at = end
            if moments.size:
                self._go_on(int(moments[i]))
            given.append(self.query())
        self.update(on[at:], x[at:])
        return given

    @property
    def timed(self) -> bool:
        """Whether elements leave as time goes on."""
        return self.retention is not None and self.retention.kind == "time"

    def _go_on(self, now: int) -> None:
        """Let time go on to a moment that is not before any other."""
        self.newest = now
        self._expire(now)

    def _expire(self, now: int) -> None:
        """Let go of what is not later than `now` minus the retention; for those that keep to a time."""
        raise NotImplementedError(f"{type(self).__name__} keeps to no retention of time")

    def _in_order(self, on: Instants, x: Numbers, moments: Instants) -> tuple[Instants, Any, Instants]:
        """Elements and moments to answer at; refuses those that are out of order, before anything has changed."""
        on = as_instants(on)
        check_order(on, NEVER)
        return on, np.asarray(x), check_moments("moments", moments, self.newest if self.timed else NEVER)

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """The memory that the state takes."""

    @abstractmethod
    def save(self) -> bytes:
        """The state as bytes: Arrow, with a version, never pickle."""

    @abstractmethod
    def load(self, data: bytes) -> None:
        """Go on from a state that was saved by a synopsis made with the same arguments."""
