"""The two-stacks aggregator: amortised constant time for any aggregate, without ever subtracting."""

from __future__ import annotations

from typing import Any, ClassVar

from windrow.synopses.exact.batch_ring import BatchRing
from windrow.synopses.exact.stacks import Stacks


class TwoStacks(BatchRing):
    """Keeps a partial aggregate an element, in two stacks that share one circular buffer.

    An element costs three merges at most, and an answer one; now and then an element costs as many as are in the
    window, when the stacks flip. Nothing is ever subtracted, so it suits any aggregate, and no rounding error outlives
    the elements it came from. A retention by count takes in a batch as a whole, which is several times as fast.

    >>> import numpy as np, windrow as wr
    >>> from windrow.synopses import Retention, TwoStacks
    >>> window = TwoStacks(wr.max("speed"), Retention(3))
    >>> window.roll(np.arange(5), np.array([9.0, 2.0, 4.0, 3.0, 1.0]), every=1)
    array([9., 9., 9., 4., 4.])
    """

    source: ClassVar[str] = "In-order sliding-window aggregation in worst-case constant time (2021), two-stacks lite"
    time: ClassVar[str] = "O(1) an element, amortised, at worst O(R); O(1) an answer"
    space: ClassVar[str] = "R + 1 partials"
    positions: ClassVar[int] = 3

    def empty(self) -> Any:
        """A window without elements."""
        return self.ring(Stacks, 2)
