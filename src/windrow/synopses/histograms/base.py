"""Histograms as synopses: buckets that grow coarser with age, with an error that is certain to be within bounds."""

from __future__ import annotations

from typing import ClassVar

from windrow.aggregates import AggregateFunction
from windrow.synopses.base import EXACT, Accuracy, Retention
from windrow.synopses.estimator import Estimator

MOST = float(2**62)


class Histogram(Estimator):
    """What the histograms share: an error that is certain to be within eps."""

    deterministic: ClassVar[bool] = True
    keeps: ClassVar[tuple[type[AggregateFunction], ...]]
    """The aggregates that it can tell."""

    @classmethod
    def why_not(cls, aggregate: AggregateFunction, retention: Retention, accuracy: Accuracy = EXACT) -> str | None:
        """Why this synopsis does not apply: another aggregate, or an answer that must be exact."""
        if type(aggregate) not in cls.keeps:
            return f"it keeps {', '.join(kind.__name__.lower() for kind in cls.keeps)} only"
        if accuracy.eps == 0:
            return "its answers are approximate; eps must be above 0"
        return None
