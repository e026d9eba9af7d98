"""The exponential histogram as a synopsis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from windrow.aggregates import AggregateFunction, Count, Mean, Sum
from windrow.arrays import Array
from windrow.errors import DataError, SpecError
from windrow.synopses.base import EXACT, Accuracy, Instants, Numbers, Retention
from windrow.synopses.costs import Complexity
from windrow.synopses.due import NO_INSTANTS, Due
from windrow.synopses.estimator import Elements, named, unnamed
from windrow.synopses.histograms import exponential_buckets as exponential
from windrow.synopses.histograms.base import MOST, Histogram
from windrow.synopses.histograms.exponential_buckets import COUNT, MEAN, SUM, Buckets, caps_for


class ExponentialHistogram(Histogram):
    """A synopsis of the count, sum or mean of non-negative integers, within eps.

    Parameters
    ----------
    aggregate, retention, accuracy, seed
        As for every synopsis; only the accuracy's eps matters.
    caps
        The maximum number of buckets of size 1, and of each other size. By default, as many as keep the error within
        eps.
    only_nonzero
        Whether to count only values other than 0.

    Examples
    --------
    >>> import numpy as np
    >>> from windrow.aggregates import Sum
    >>> from windrow.synopses import Accuracy, Retention
    >>> histogram = ExponentialHistogram(Sum("volume"), Retention(100_000), Accuracy(eps=0.1))
    >>> histogram.update(np.arange(300_000), np.full(300_000, 7.0))
    >>> abs(histogram.query() - 700_000) <= 0.1 * 700_000, histogram.nbytes < 10_000
    (True, True)
    """

    source: ClassVar[str] = "On a design space for sliding windows (2011), section 4.6.1"
    time: ClassVar[str] = "O(log S) per value, where S is the sum, or R for a count; O(1) per answer"
    space: ClassVar[str] = "O(1/ε·log S) buckets"
    error: ClassVar[str] = "ε, relative, always"
    version: ClassVar[int] = 2
    keeps: ClassVar[tuple[type[AggregateFunction], ...]] = (Count, Sum, Mean)
    needs_whole: ClassVar[bool] = True

    @classmethod
    def costs(cls, aggregate: AggregateFunction) -> Complexity | None:
        """Return the terms of its update, its query and its space."""
        return Complexity(("one", "log_R"), ("one", "log_R"), ("one", "e_whole", "e_whole_log_R"))

    def __init__(
        self,
        aggregate: AggregateFunction,
        retention: Retention,
        accuracy: Accuracy = EXACT,
        *,
        seed: int = 0,
        caps: tuple[int, int] | None = None,
        only_nonzero: bool = False,
    ) -> None:
        super().__init__(aggregate, retention, accuracy, seed=seed)
        self.what = {Count: COUNT, Sum: SUM, Mean: MEAN}[type(aggregate)]
        # A mean over time is the quotient of two estimates, so each needs a smaller error.
        eps = accuracy.eps / (2 + accuracy.eps) if self.what == MEAN and self.by_time else accuracy.eps
        self.caps = _check_caps(caps) if caps is not None else caps_for(eps)
        if only_nonzero and self.what != COUNT:
            raise SpecError(f"only_nonzero: supported for count only, not for {aggregate!r}; omit it")
        self.only_nonzero = only_nonzero
        counts = self.what == COUNT or (self.what == MEAN and self.by_time)
        self._counts = Buckets.make(self.caps if counts else (1, 1))
        self._sums = Buckets.make((1, 1) if self.what == COUNT else self.caps)
        self._clock = np.zeros(2, np.int64)

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments that a saved state must match."""
        return {**super().arguments, "caps": self.caps, "only_nonzero": self.only_nonzero}

    @property
    def buckets(self) -> list[tuple[int, int]]:
        """The size and time of each bucket of the count, or of the sum, from the oldest to the newest."""
        buckets = self._counts if self.what == COUNT else self._sums
        listed = []
        for level in range(buckets.first.size - 1, -1, -1):
            for j in range(buckets.runs[level]):
                at = (buckets.first[level] + j) % buckets.stamp.shape[1]
                listed += [(1 << level, int(buckets.stamp[level, at]))] * int(buckets.many[level, at])
        return listed

    def _elements(self, on: Instants, x: Numbers) -> Elements:
        amounts = self._amounts(np.ascontiguousarray(x, np.float64))
        return super()._elements(on, x)[0], *amounts

    def _step(self, elements: Elements, due: Due, at: int) -> int:
        window = (self._clock, self.by_time, self.length, self.what)
        return int(exponential.roll(self._counts, self._sums, *window, *elements, due, at))

    def _run(self, elements: Elements, ends: Instants, moments: Instants = NO_INSTANTS) -> Due:
        if elements[2].sum(dtype=np.float64) + float(self._sums.cursors[exponential.TOTAL]) <= MOST:
            return super()._run(elements, ends, moments)
        # Some window may be too large. In that case, none of the batch is added.
        before, newest = {name: array.copy() for name, array in self._state.items()}, self.newest
        try:
            return super()._run(elements, ends, moments)
        except DataError:
            self._restore(before)
            self.newest = newest
            raise

    def _too_large(self) -> DataError:
        return DataError(
            f"{self.aggregate!r}: the sum of a window exceeds 62 bits; divide column {self.aggregate.column!r}"
        )

    def _grow(self, elements: Elements, at: int) -> None:
        _, counted, summed = elements
        if self._sums.first.size >= exponential.MOST_LEVELS:
            raise self._too_large()
        if not exponential.has_room(self._counts, counted[at]):
            self._counts = self._counts.grown()
        if not exponential.has_room(self._sums, summed[at]):
            self._sums = self._sums.grown()

    def _amounts(self, x: Array) -> tuple[Array, Array]:
        """Return how many ones each value adds to the count, and to the sum."""
        nothing = np.zeros(x.size, np.int64)
        if self.what == COUNT:
            return (x != 0).astype(np.int64) if self.only_nonzero else np.ones(x.size, np.int64), nothing
        wrong = ~((x >= 0) & (x == np.floor(x)) & np.isfinite(x))
        if wrong.any():
            raise DataError(
                f"{self.aggregate!r}: an exponential histogram expects non-negative integers, got {x[wrong][0]}"
            )
        if x.size and x.max() > MOST:
            raise self._too_large()
        counted = np.ones(x.size, np.int64) if self.what == MEAN and self.by_time else nothing
        return counted, x.astype(np.int64)

    @property
    def _state(self) -> dict[str, Array]:
        return {**named("counts", self._counts), **named("sums", self._sums), "clock": self._clock}

    def _check(self, arrays: dict[str, Array]) -> None:
        for part, buckets in (("counts", self._counts), ("sums", self._sums)):
            exponential.check_buckets(unnamed(part, Buckets, arrays), buckets.caps)

    def _restore(self, arrays: dict[str, Array]) -> None:
        self._clock = arrays["clock"]
        self._counts, self._sums = (unnamed(part, Buckets, arrays) for part in ("counts", "sums"))


def _check_caps(caps: Any) -> tuple[int, int]:
    fit = isinstance(caps, tuple | list) and len(caps) == 2
    if not fit or any(isinstance(cap, bool) or not isinstance(cap, int) or cap < 1 for cap in caps):
        raise SpecError(f"caps: expected two integers of at least 1, for size 1 and for other sizes, got {caps!r}")
    return int(caps[0]), int(caps[1])
