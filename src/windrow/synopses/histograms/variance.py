"""The variance histogram as a synopsis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from windrow.aggregates import AggregateFunction, Stddev, Variance
from windrow.arrays import Array
from windrow.errors import SpecError
from windrow.synopses.base import EXACT, Accuracy, Retention
from windrow.synopses.costs import Complexity
from windrow.synopses.due import Due
from windrow.synopses.estimator import Elements
from windrow.synopses.histograms import variance_buckets as spread
from windrow.synopses.histograms.base import Histogram
from windrow.synopses.histograms.variance_buckets import Rules, VarianceBuckets


class VarianceHistogram(Histogram):
    """A synopsis of the variance or the standard deviation, within eps.

    Parameters
    ----------
    aggregate, retention, accuracy, seed
        As for every synopsis; only the accuracy's eps matters.
    merge_after
        The number of new buckets after which merging is attempted. By default, the number of buckets left by the last
        attempt, so that its cost is amortised over the values.

    Examples
    --------
    >>> import numpy as np
    >>> from windrow.aggregates import Variance
    >>> from windrow.synopses import Accuracy, Retention
    >>> histogram = VarianceHistogram(Variance("speed"), Retention(8), Accuracy(eps=0.5))
    >>> histogram.update(np.arange(12), np.array([8.0, 10, 6, 4, 7, 11, 2, 1, 3, 12, 5, 9]))
    >>> round(histogram.query() * 7 / 8, 4)
    15.1875
    """

    source: ClassVar[str] = "On a design space for sliding windows (2011), section 4.6.2"
    time: ClassVar[str] = "O(1) per value, amortised; O(1) per answer"
    space: ClassVar[str] = "O(1/ε²·log R) buckets"
    error: ClassVar[str] = "ε, relative, always"
    version: ClassVar[int] = 2
    keeps: ClassVar[tuple[type[AggregateFunction], ...]] = (Variance, Stddev)
    example_aggregate: ClassVar[AggregateFunction] = Variance("x")

    @classmethod
    def costs(cls, aggregate: AggregateFunction) -> Complexity | None:
        """Return the terms of its update, its query and its space."""
        return Complexity(("one", "log_R", "log_e"), ("one", "log_R"), ("one", "room_buckets"))

    def __init__(
        self,
        aggregate: AggregateFunction,
        retention: Retention,
        accuracy: Accuracy = EXACT,
        *,
        seed: int = 0,
        merge_after: int | None = None,
    ) -> None:
        super().__init__(aggregate, retention, accuracy, seed=seed)
        if merge_after is not None and (
            isinstance(merge_after, bool) or not isinstance(merge_after, int) or merge_after < 1
        ):
            raise SpecError(f"merge_after: expected an integer of at least 1, or None, got {merge_after!r}")
        self.merge_after = merge_after
        self._rules = Rules.of(accuracy.eps, self.by_time, self.length, merge_after or 0)
        self._buckets = VarianceBuckets.make()
        if merge_after:
            self._buckets.cursors[spread.QUOTA] = merge_after
        self._root = isinstance(aggregate, Stddev)

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments that a saved state must match."""
        return {**super().arguments, "merge_after": self.merge_after}

    @property
    def buckets(self) -> list[tuple[int, float, float, float]]:
        """The time, count, mean and sum of squared distances of each bucket, from the oldest to the newest."""
        buckets = self._buckets
        rows = slice(buckets.cursors[spread.FRONT], buckets.cursors[spread.END])
        moments = buckets.moments[rows].tolist()
        return [(stamp, n, mean, v) for stamp, (n, mean, v) in zip(buckets.stamp[rows].tolist(), moments, strict=True)]

    def _step(self, elements: Elements, due: Due, at: int) -> int:
        return int(spread.roll(self._buckets, self._rules, self._root, *elements, due, at))

    def _grow(self, elements: Elements, at: int) -> None:
        self._buckets = self._buckets.grown()

    @property
    def _state(self) -> dict[str, Array]:
        return self._buckets._asdict()

    def _check(self, arrays: dict[str, Array]) -> None:
        spread.check_buckets(VarianceBuckets(**arrays))

    def _restore(self, arrays: dict[str, Array]) -> None:
        self._buckets = VarianceBuckets(**arrays)
