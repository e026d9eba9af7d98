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

from windrow.aggregates import AggregateFunction, Count, Mean, Median, Quantile, Stddev, Sum, Variance
from windrow.arrays import Array
from windrow.errors import SpecError
from windrow.state.checks import check_that
from windrow.synopses.base import EXACT, Accuracy, Retention, check_whole
from windrow.synopses.estimator import Elements, Estimator, named, unnamed
from windrow.synopses.histograms.exponential_buckets import Buckets, caps_for, check_buckets
from windrow.synopses.samples.check import MOST_SEEN, check_shapes
from windrow.synopses.samples.random import seeded
from windrow.synopses.samples.slots import SIZE, Slots
from windrow.synopses.samples.window import COUNT, MEAN, QUANTILE, SEEN, STDDEV, SUM, VARIANCE, Common

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


class Sample(Estimator):
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

    deterministic: ClassVar[bool] = False
    error: ClassVar[str] = "ε·R ranks, with probability 1 - δ; of other aggregates, by the spread of values"
    rings: ClassVar[tuple[str, ...]] = ()
    """The arrays of its state that get longer, in their last dimension, when there is no more room."""

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
        self.size = sample_size(accuracy) if size is None else check_whole("size", size, 1, 2**40)
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

    @classmethod
    def unsure(cls, aggregate: AggregateFunction) -> str | None:
        """Why the error is no bound: the size of a sample is that for ranks."""
        if TELLS.get(type(aggregate)) == QUANTILE:
            return None
        return "its error depends on the spread of the values"

    @abstractmethod
    def _empty(self) -> Any:
        """The state of a sample of no elements: a named tuple of arrays."""

    def _capacity(self) -> int:
        """How many slots there are for items."""
        return self.size

    def _grow(self, elements: Elements, at: int) -> None:
        """Make more room; this one does it for the number of elements in a window of time."""
        self.common = self.common._replace(counts=self.common.counts.grown())

    @property
    def arguments(self) -> Mapping[str, Any]:
        """What a saved state must have been made with, to go on from it."""
        more = {"delta": self.accuracy.delta, "seed": self.seed, "size": self.size}
        return {**super().arguments, **more}

    def estimate(self) -> Estimate:
        """What the sample tells of the window now, and how many items it has."""
        return Estimate(self.query(), int(self.common.slots.cursors[SIZE]))

    def items(self) -> Array:
        """The elements in the sample now, in no order."""
        self.query()
        return self.common.slots.values[self.common.slots.filled]

    @property
    def nbytes(self) -> int:
        """The memory that the state takes."""
        common = self.common
        parts = (self.kept, common.slots, common.counts, (common.clock, common.random))
        return sum(array.nbytes for part in parts for array in part)

    @property
    def _state(self) -> dict[str, Array]:
        common = self.common
        items = {"values": common.slots.values, "filled": common.slots.filled.view(np.uint8)}
        times = {"clock": common.clock, "random": common.random}
        return {**named("kept", self.kept), **named("counts", common.counts), **items, **times}

    def _check(self, arrays: dict[str, Array]) -> None:
        kept, filled, clock = unnamed("kept", type(self.kept), arrays), arrays["filled"], arrays["clock"]
        check_buckets(unnamed("counts", Buckets, arrays), self.common.counts.caps)
        check_shapes(kept, self._empty(), self.rings)
        check_that((filled <= 1).all(), "slots that are filled or not")
        check_that(filled.shape == arrays["values"].shape, "a value for each slot")
        check_that(0 <= clock[SEEN] <= MOST_SEEN, f"a number of elements, got {clock[SEEN]}")
        slots = self._slots(kept)
        check_that(filled.size == slots, f"{slots} slots, got {filled.size}")
        self._check_kept(kept, filled.view(np.bool_), clock)

    def _slots(self, kept: Any) -> int:
        """How many slots there are for the items of a state."""
        return self._capacity()

    @abstractmethod
    def _check_kept(self, kept: Any, filled: Array, clock: Array) -> None:
        """Refuse a saved state of the sample, of the right shapes, that a kernel could leave or never finish with."""

    def _restore(self, arrays: dict[str, Array]) -> None:
        self.kept = unnamed("kept", type(self.kept), arrays)
        self.common = self.common._replace(
            clock=arrays["clock"],
            random=arrays["random"],
            counts=unnamed("counts", Buckets, arrays),
            slots=Slots.filled_with(arrays["values"], arrays["filled"].view(np.bool_), self._ordered),
        )


def check_probability(option: str, value: Any) -> float:
    """A number above 0 and up to 1, or a refusal."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating) or not 0 < value <= 1:
        raise SpecError(f"{option}: {value!r} must be a number above 0 and up to 1")
    return float(value)
