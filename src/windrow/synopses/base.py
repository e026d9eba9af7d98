"""The contract of a synopsis: what is kept of the newest elements of a stream, to tell an aggregate of them.

A synopsis is given elements in the order of their `on`; nobody tells it which ones leave the window, it must know that
itself. What it can do is declared on its class, never guessed from its name: which retentions it keeps to, whether its
answers are exact, and if not, whether their error is certain or only likely to be within bounds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from windrow.aggregates import AggregateFunction
from windrow.errors import SpecError, UnsupportedError

RetentionKind: TypeAlias = Literal["count", "time"]
Numbers: TypeAlias = npt.NDArray[np.float64]
Instants: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Retention:
    """Which elements are in the window: the last `length` ones, or those later than the newest `on` minus `length`.

    >>> Retention(100)
    Retention(length=100, kind='count')
    """

    length: int
    kind: RetentionKind = "count"

    def __post_init__(self) -> None:
        if isinstance(self.length, bool) or not isinstance(self.length, int | np.integer) or self.length < 1:
            raise SpecError(f"retention: {self.length!r} is no length; it must be a whole number of at least 1")
        if self.kind not in ("count", "time"):
            raise SpecError(f"retention: {self.kind!r} is not a kind of retention; it must be 'count' or 'time'")


@dataclass(frozen=True)
class Accuracy:
    """How wrong an answer may be: by at most `eps`, relative, with a probability of at least `1 - delta`."""

    eps: float = 0.0
    delta: float = 0.0

    def __post_init__(self) -> None:
        for name in ("eps", "delta"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
                raise SpecError(f"{name}: {value!r} must be a number of at least 0 and below 1")


EXACT = Accuracy()


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

    def __init__(
        self, aggregate: AggregateFunction, retention: Retention, accuracy: Accuracy = EXACT, *, seed: int = 0
    ) -> None:
        obstacle = self.why_not(aggregate, retention, accuracy)
        if obstacle:
            raise UnsupportedError(f"{type(self).__name__} cannot keep {aggregate!r} over {retention}: {obstacle}")
        self.aggregate, self.retention, self.accuracy, self.seed = aggregate, retention, accuracy, seed

    @classmethod
    @abstractmethod
    def why_not(cls, aggregate: AggregateFunction, retention: Retention, accuracy: Accuracy = EXACT) -> str | None:
        """Why this synopsis does not apply, in words that can follow a colon; None if it does."""

    @abstractmethod
    def update(self, on: Instants, x: Numbers) -> None:
        """Take in the next elements, in order; nulls never come here."""

    @abstractmethod
    def query(self) -> Any:
        """The aggregate of the elements in the window now; None if it is not defined for so few."""

    @abstractmethod
    def roll(self, on: Instants, x: Numbers, every: int) -> npt.NDArray[Any]:
        """Take in elements and answer after each `every` of them: the same as update and query in turn, compiled."""

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
