"""The base of histograms: buckets that grow coarser with age, with a guaranteed error bound."""

from __future__ import annotations

from typing import ClassVar

from windrow.aggregates import AggregateFunction
from windrow.synopses.base import EXACT, Accuracy, Retention
from windrow.synopses.estimator import Estimator

MOST = float(2**62)


class Histogram(Estimator):
    """A synopsis of buckets whose error is always within eps."""

    deterministic: ClassVar[bool] = True
    keeps: ClassVar[tuple[type[AggregateFunction], ...]]
    """The aggregates that it answers."""

    @classmethod
    def why_not(cls, aggregate: AggregateFunction, retention: Retention, accuracy: Accuracy = EXACT) -> str | None:
        """Return why this synopsis does not apply: it does not answer the aggregate, or the answer must be exact."""
        if type(aggregate) not in cls.keeps:
            return f"it answers {', '.join(kind.__name__.lower() for kind in cls.keeps)} only"
        if accuracy.eps == 0:
            return "its answers are approximate; eps must be above 0"
        return None
