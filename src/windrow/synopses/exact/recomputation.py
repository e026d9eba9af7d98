"""Recomputation: stores all values and computes each answer from all of them."""

from __future__ import annotations

from typing import Any, ClassVar

from windrow.synopses.exact.lists import (
    Elements,
    _List,
)


class Recomputation(_List):
    """A synopsis that stores all values and recomputes the aggregate on each query: the instantaneous approach.

    Updates cost almost nothing, so it is the best choice for small windows and rare queries. It is also the reference
    for all other synopses.

    >>> import numpy as np, windrow as wr
    >>> from windrow.synopses import Recomputation, Retention
    >>> window = Recomputation(wr.max("speed"), Retention(3))
    >>> window.update(np.arange(5), np.array([9.0, 2.0, 4.0, 3.0, 1.0]))
    >>> window.query()
    4.0
    """

    source: ClassVar[str] = "On a design space for sliding windows (2011), definition 2.4.3"
    time: ClassVar[str] = "O(1) an element, O(R) an answer"
    space: ClassVar[str] = "R elements"

    def empty(self) -> Any:
        """Return an empty window."""
        return self.ring(Elements, 1)
