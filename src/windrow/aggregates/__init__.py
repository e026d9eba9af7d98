"""Aggregates: small algebras that say how the values of a frame become one."""

from windrow.aggregates.base import AggregateFunction
from windrow.aggregates.counting import Count
from windrow.aggregates.ends import First, Last
from windrow.aggregates.extremes import Max, Min
from windrow.aggregates.moments import Stddev, Variance
from windrow.aggregates.summing import Mean, Sum

count, first, last = Count, First, Last
max, min = Max, Min
mean, sum = Mean, Sum
stddev, variance = Stddev, Variance

BUILTIN: tuple[type[AggregateFunction], ...] = (Count, First, Last, Max, Mean, Min, Stddev, Sum, Variance)

__all__ = [
    "BUILTIN",
    "AggregateFunction",
    "Count",
    "First",
    "Last",
    "Max",
    "Mean",
    "Min",
    "Stddev",
    "Sum",
    "Variance",
    "count",
    "first",
    "last",
    "max",
    "mean",
    "min",
    "stddev",
    "sum",
    "variance",
]
