"""The base of samples: values of the window drawn at random, and estimates for the whole window from them.

Means, variances, standard deviations and quantiles are those of the sample. Counts and sums are scaled by the size of
the window. It is known if the retention is a count; otherwise an exponential histogram estimates it within eps / 2.
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

ESTIMATES: dict[type[AggregateFunction], int] = {
    Count: COUNT,
    Sum: SUM,
    Mean: MEAN,
    Variance: VARIANCE,
    Stddev: STDDEV,
    Median: QUANTILE,
    Quantile: QUANTILE,
}
"""The aggregates that a sample can estimate, and their codes in the kernels."""


class Estimate(NamedTuple):
    """An estimate and the number of items of the sample behind it."""

    value: Any
    size: int


def is_quantile(aggregate: AggregateFunction) -> bool:
    """Return whether an aggregate is answered from the sorted items of a sample."""
    return ESTIMATES.get(type(aggregate)) == QUANTILE


def sample_size(accuracy: Accuracy) -> int:
    """Return how many items give quantiles within eps with probability 1 - delta: eps⁻² · log₂(1 / (eps · delta)).

    >>> sample_size(Accuracy(eps=0.05, delta=0.01))
    4386
    """
    return max(1, round(math.log2(1 / (accuracy.eps * accuracy.delta)) / accuracy.eps**2))


class Sample(Estimator):
    """A random sample of a window. Create one with `Sample(aggregate, retention, accuracy, seed=…, size=…)`.

    Parameters
    ----------
    aggregate, retention, accuracy
        As for every synopsis.
    seed
        The seed of the random numbers: the same seed and the same values give the same sample.
    size
        The maximum or expected number of items; by default, as many as the accuracy requires.
    """

    deterministic: ClassVar[bool] = False
    error: ClassVar[str] = "ε·R ranks, with probability 1 - δ; of other aggregates, by the spread of values"
    rings: ClassVar[tuple[str, ...]] = ()
    """The arrays of the state whose last dimension grows on demand."""

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
        self.sample: Any = self._empty()
        self._ordered = ESTIMATES[type(aggregate)] == QUANTILE
        self.common = Common(
            self.by_time,
            self.length,
            ESTIMATES[type(aggregate)],
            float(getattr(aggregate, "q", 0.0)),
            np.zeros(2, np.int64),
            seeded(seed),
            Buckets.make(caps_for(accuracy.eps / 2) if self.by_time else (1, 1)),
            Slots.make(self._capacity(), self._ordered),
        )

    @classmethod
    def why_not(cls, aggregate: AggregateFunction, retention: Retention, accuracy: Accuracy = EXACT) -> str | None:
        """Return why this synopsis does not apply: the aggregate, the retention or the accuracy is not supported."""
        if type(aggregate) not in ESTIMATES:
            return f"a sample estimates {', '.join(kind.__name__.lower() for kind in ESTIMATES)} only"
        if retention.kind not in cls.retentions:
            return f"it supports a retention by {' or '.join(sorted(cls.retentions))} only, not by {retention.kind}"
        if accuracy.eps == 0 or accuracy.delta == 0:
            return "its error bound holds with some probability only; eps and delta must be above 0"
        return None

    @classmethod
    def unsure(cls, aggregate: AggregateFunction) -> str | None:
        """Return why the error is not guaranteed: the size of a sample is chosen for ranks."""
        if ESTIMATES.get(type(aggregate)) == QUANTILE:
            return None
        return "its error depends on the spread of the values"

    @abstractmethod
    def _empty(self) -> Any:
        """Return the state of an empty sample: a named tuple of arrays."""

    def _capacity(self) -> int:
        """Return the number of slots for items."""
        return self.size

    def _grow(self, elements: Elements, at: int) -> None:
        """Make more room, here for the number of values in a time window."""
        self.common = self.common._replace(counts=self.common.counts.grown())

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments that a saved state must match."""
        more = {"delta": self.accuracy.delta, "seed": self.seed, "size": self.size}
        return {**super().arguments, **more}

    def estimate(self) -> Estimate:
        """Return the estimate for the window, and the number of items behind it."""
        return Estimate(self.query(), int(self.common.slots.cursors[SIZE]))

    def items(self) -> Array:
        """Return the values in the sample, in no particular order."""
        self.query()
        return self.common.slots.values[self.common.slots.filled]

    @property
    def nbytes(self) -> int:
        """The memory used by the state, in bytes."""
        common = self.common
        parts = (self.sample, common.slots, common.counts, (common.clock, common.random))
        return sum(array.nbytes for part in parts for array in part)

    @property
    def _state(self) -> dict[str, Array]:
        common = self.common
        items = {"values": common.slots.values, "filled": common.slots.filled.view(np.uint8)}
        times = {"clock": common.clock, "random": common.random}
        return {**named("kept", self.sample), **named("counts", common.counts), **items, **times}

    def _check(self, arrays: dict[str, Array]) -> None:
        sample, filled, clock = unnamed("kept", type(self.sample), arrays), arrays["filled"], arrays["clock"]
        check_buckets(unnamed("counts", Buckets, arrays), self.common.counts.caps)
        check_shapes(sample, self._empty(), self.rings)
        check_that((filled <= 1).all(), "slots that are filled or not")
        check_that(filled.shape == arrays["values"].shape, "a value for each slot")
        check_that(0 <= clock[SEEN] <= MOST_SEEN, f"a number of values, got {clock[SEEN]}")
        slots = self._slots(sample)
        check_that(filled.size == slots, f"{slots} slots, got {filled.size}")
        self._check_sample(sample, filled.view(np.bool_), clock)

    def _slots(self, sample: Any) -> int:
        """Return the number of slots for the items of a state."""
        return self._capacity()

    @abstractmethod
    def _check_sample(self, sample: Any, filled: Array, clock: Array) -> None:
        """Raise for a saved state, of the right shapes, with which a kernel would run out of bounds or never finish."""

    def _restore(self, arrays: dict[str, Array]) -> None:
        self.sample = unnamed("kept", type(self.sample), arrays)
        self.common = self.common._replace(
            clock=arrays["clock"],
            random=arrays["random"],
            counts=unnamed("counts", Buckets, arrays),
            slots=Slots.filled_with(arrays["values"], arrays["filled"].view(np.bool_), self._ordered),
        )


def check_probability(option: str, value: Any) -> float:
    """Return `value` as a float; raise unless it is above 0 and at most 1."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating) or not 0 < value <= 1:
        raise SpecError(f"{option}: expected a number above 0 and up to 1, got {value!r}")
    return float(value)
