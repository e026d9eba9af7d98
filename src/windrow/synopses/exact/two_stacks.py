"""The two-stacks aggregator: amortised constant time for any aggregate, without subtraction."""

from __future__ import annotations

from typing import Any, ClassVar

from windrow.aggregates import AggregateFunction
from windrow.synopses.costs import PER_VALUE, Complexity
from windrow.synopses.exact.batch_ring import BatchRing
from windrow.synopses.exact.stacks import Stacks


class TwoStacks(BatchRing):
    """A synopsis with one partial aggregate per value, in two stacks that share one circular buffer.

    Each value costs at most three merges, amortised, and each answer one. When the stacks flip, one value costs as many
    merges as the window has values. Nothing is ever subtracted, so it works for any aggregate, and no rounding error
    outlives the values it came from. With a retention by count, a batch is processed as a whole, which is several times
    faster.

    >>> import numpy as np, windrow as wr
    >>> from windrow.synopses import Retention, TwoStacks
    >>> window = TwoStacks(wr.max("speed"), Retention(3))
    >>> window.roll(np.arange(5), np.array([9.0, 2.0, 4.0, 3.0, 1.0]), every=1)
    array([9., 9., 9., 4., 4.])
    """

    source: ClassVar[str] = "In-order sliding-window aggregation in worst-case constant time (2021), two-stacks lite"
    time: ClassVar[str] = "O(1) per value, amortised, at worst O(R); O(1) per answer"
    space: ClassVar[str] = "R + 1 partials"
    positions: ClassVar[int] = 3

    @classmethod
    def costs(cls, aggregate: AggregateFunction) -> Complexity | None:
        """Return the terms of its update, its query and its space."""
        return PER_VALUE

    def empty(self) -> Any:
        """Return an empty window."""
        return self.ring(Stacks, 2)
