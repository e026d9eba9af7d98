"""Samples as synopses: some elements of the window, drawn at random, and what they tell of all of them.

Means, variances, standard deviations and quantiles are those of the sample; counts and sums are scaled by the size of
the window, which is known where it is a number of elements and else kept in an exponential histogram, within eps / 2.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from windrow.aggregates import AggregateFunction, Count, Mean, Median, Quantile, Stddev, Sum, Variance
from windrow.errors import SpecError
from windrow.synopses.base import EXACT, Accuracy, Instants, Numbers, Retention, RetentionKind, Synopsis
from windrow.synopses.exact import check_elements, check_every, check_order
from windrow.synopses.histograms_exponential import Buckets, caps_for
from windrow.synopses.packing import pack_arrays, unpack_arrays
from windrow.synopses.samples_common import COUNT, MEAN, QUANTILE, STDDEV, SUM, VARIANCE, Common
from windrow.synopses.samples_random import seeded
from windrow.synopses.samples_slots import SIZE, Slots

Array = npt.NDArray[Any]
NEVER = np.iinfo(np.int64).min
NOTHING = np.empty(0)
TELLS: dict[type[AggregateFunction], int] = {
    Count: COUNT,
    Sum: SUM,
    Mean: MEAN,
    Variance: VARIANCE,
    Stddev: STDDEV,
    Median: QUANTILE,
    Quantile: QUANTILE,
}
"""What a sample can tell, and how the kernels call it."""


class Estimate(NamedTuple):
    """What a sample tells, and how many items it has."""

    value: Any
    size: int


def sample_size(accuracy: Accuracy) -> int:
    """How many items tell quantiles within eps with probability 1 - delta: eps⁻² · log₂(1 / (eps · delta)), rounded.

    >>> sample_size(Accuracy(eps=0.05, delta=0.01))
    4386
    """
    return max(1, round(math.log2(1 / (accuracy.eps * accuracy.delta)) / accuracy.eps**2))


class Sample(Synopsis):
    """What the samples share. Make one by `Sample(aggregate, retention, accuracy, seed=…, size=…)`.

    Parameters
    ----------
    aggregate, retention, accuracy
        As for every synopsis.
    seed
        Of the random numbers: the same seed and the same elements give the same sample.
    size
        How many items it has, at most or as expected; without it, as many as the accuracy asks for.
    """

    retentions: ClassVar[frozenset[RetentionKind]] = frozenset({"count", "time"})
    exact: ClassVar[bool] = False
    deterministic: ClassVar[bool] = False
    error: ClassVar[str] = "ε·R ranks, with probability 1 - δ; of other aggregates, by the spread of values"
    version: ClassVar[int] = 1
    """Of the state as bytes; to be raised when its arrays change their meaning."""

    def __init__(
        self,
        aggregate: AggregateFunction,
        retention: Retention,
        accuracy: Accuracy = EXACT,
        *,
        seed: int = 0,
        size: int | None = None,
    ) -> None:
        super().__init__(aggregate, retention, accuracy, seed=seed)
        check_whole("seed", seed, 0)
        self.size = sample_size(accuracy) if size is None else check_whole("size", size, 1)
        self.by_time, self.length = retention.kind == "time", int(retention.length)
        self.newest = NEVER
        self.kept: Any = self._empty()
        self._ordered = TELLS[type(aggregate)] == QUANTILE
        self.common = Common(
            self.by_time,
            self.length,
            TELLS[type(aggregate)],
            float(getattr(aggregate, "q", 0.0)),
            np.zeros(2, np.int64),
            seeded(seed),
            Buckets.make(caps_for(accuracy.eps / 2) if self.by_time else (1, 1)),
            Slots.make(self._capacity(), self._ordered),
        )

    @classmethod
    def why_not(cls, aggregate: AggregateFunction, retention: Retention, accuracy: Accuracy = EXACT) -> str | None:
        """Why this synopsis does not apply: what a sample cannot tell, another retention, or too much asked for."""
        if type(aggregate) not in TELLS:
            return f"a sample tells {', '.join(kind.__name__.lower() for kind in TELLS)} only"
        if retention.kind not in cls.retentions:
            return f"it keeps to retentions of {' or '.join(sorted(cls.retentions))}, not of {retention.kind}"
        if accuracy.eps == 0 or accuracy.delta == 0:
            return "its answers are only likely to be within bounds; eps and delta must be above 0"
        return None

    @abstractmethod
    def _empty(self) -> Any:
        """The state of a sample of no elements: a named tuple of arrays."""

    def _capacity(self) -> int:
        """How many slots there are for items."""
        return self.size

    @abstractmethod
    def _step(self, every: int, on: Array, x: Array, out: Array, at: int) -> int:
        """Take in elements from `at` on, as far as there is room; how far it got."""

    @abstractmethod
    def _answer(self) -> float:
        """What the sample tells now, not a number if it tells nothing."""

    def _grow(self) -> None:
        """Make more room; this one does it for the number of elements in a window of time."""
        self.common = self.common._replace(counts=self.common.counts.grown())

    @property
    def arguments(self) -> Mapping[str, Any]:
        """What a saved state must have been made with, to go on from it."""
        return {
            "aggregate": repr(self.aggregate),
            "length": self.length,
            "kind": self.retention.kind,
            "eps": self.accuracy.eps,
            "delta": self.accuracy.delta,
            "seed": self.seed,
            "size": self.size,
        }

    def update(self, on: Instants, x: Numbers) -> None:
        """Take in the next elements, in order."""
        self._run(*self._elements(on, x), 0, NOTHING)

    def roll(self, on: Instants, x: Numbers, every: int) -> Array:
        """Take in elements and answer after each `every` of them."""
        check_every(every)
        on, x = self._elements(on, x)
        out = np.empty(x.size // every)
        self._run(on, x, int(every), out)
        return out

    def query(self) -> Any:
        """What the sample tells of the window now; None if it has too few items for that."""
        answer = self._answer()
        if np.isnan(answer) and self.common.slots.cursors[SIZE] < max(1, self.aggregate.needs):
            return None
        return int(answer) if isinstance(self.aggregate, Count) else float(answer)

    def estimate(self) -> Estimate:
        """What the sample tells of the window now, and how many items it has."""
        return Estimate(self.query(), int(self.common.slots.cursors[SIZE]))

    def items(self) -> Array:
        """The elements in the sample now, in no order."""
        self._answer()
        return self.common.slots.values[self.common.slots.filled]

    @property
    def nbytes(self) -> int:
        """The memory that the state takes."""
        common = self.common
        parts = (self.kept, common.slots, common.counts, (common.clock, common.random))
        return sum(array.nbytes for part in parts for array in part)

    def save(self) -> bytes:
        """The sample as bytes, with the state of its random numbers."""
        common = self.common
        arrays = {f"kept.{name}": array for name, array in self.kept._asdict().items()}
        arrays |= {f"counts.{name}": array for name, array in common.counts._asdict().items()}
        arrays |= {"values": common.slots.values, "filled": common.slots.filled.view(np.uint8)}
        arrays |= {"clock": common.clock, "random": common.random, "newest": np.array([self.newest])}
        return pack_arrays(type(self).__name__, self.version, self.arguments, arrays)

    def load(self, data: bytes) -> None:
        """Go on from a sample that was saved by a synopsis made with the same arguments."""
        arrays = unpack_arrays(data, type(self).__name__, self.version, self.arguments)
        self.newest = int(arrays["newest"][0])
        self.kept = type(self.kept)(**{name: arrays[f"kept.{name}"] for name in self.kept._fields})
        self.common = self.common._replace(
            clock=arrays["clock"],
            random=arrays["random"],
            counts=Buckets(**{name: arrays[f"counts.{name}"] for name in Buckets._fields}),
            slots=Slots.filled_with(arrays["values"], arrays["filled"].view(np.bool_), self._ordered),
        )

    def _run(self, on: Array, x: Array, every: int, out: Array) -> None:
        at = 0
        while (at := self._step(every, on, x, out, at)) < on.size:
            self._grow()

    def _elements(self, on: Instants, x: Numbers) -> tuple[Array, Array]:
        on, x = np.ascontiguousarray(on, np.int64), np.ascontiguousarray(x, np.float64)
        check_elements(on, x, x.dtype)
        if self.by_time:
            self.newest = check_order(on, self.newest)
        return on, x


def check_whole(option: str, value: Any, least: int) -> int:
    """A whole number of at least so much, or a refusal."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise SpecError(f"{option}: {value!r} must be a whole number of at least {least}")
    return int(value)


def check_probability(option: str, value: Any) -> float:
    """A number above 0 and up to 1, or a refusal."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating) or not 0 < value <= 1:
        raise SpecError(f"{option}: {value!r} must be a number above 0 and up to 1")
    return float(value)
