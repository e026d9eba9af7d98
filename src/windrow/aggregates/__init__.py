"""Aggregates: small algebras that reduce the values of a frame or window to one result."""

from windrow.aggregates.base import AggregateFunction
from windrow.aggregates.binning import Histogram
from windrow.aggregates.center import CenterOfMass
from windrow.aggregates.counting import Count
from windrow.aggregates.ends import First, Last
from windrow.aggregates.extremes import Max, Min
from windrow.aggregates.frequencies import CountDistinct, HeavyHitters, Mode, TopK
from windrow.aggregates.moments import Kurtosis, Skewness, Stddev, Variance
from windrow.aggregates.order import MaxN, Median, MinN, Quantile, Rank
from windrow.aggregates.over_time import Duration, Integral, TimeIn, TimeMean
from windrow.aggregates.pairs import Correlation, Covariance, Intercept, Slope
from windrow.aggregates.summing import Mean, Sum

center_of_mass = CenterOfMass
correlation, covariance, intercept, slope = Correlation, Covariance, Intercept, Slope
count, first, last = Count, First, Last
count_distinct, heavy_hitters, mode, top_k = CountDistinct, HeavyHitters, Mode, TopK
duration, integral, time_in, time_mean = Duration, Integral, TimeIn, TimeMean
histogram = Histogram
kurtosis, skewness, stddev, variance = Kurtosis, Skewness, Stddev, Variance
max, min = Max, Min
max_n, median, min_n, quantile, rank = MaxN, Median, MinN, Quantile, Rank
mean, sum = Mean, Sum

BUILTIN: tuple[type[AggregateFunction], ...] = (
    Count, Sum, Mean, Variance, Stddev, Skewness, Kurtosis, Min, Max, First, Last, Rank, Median, Quantile, MinN, MaxN,
    Mode, HeavyHitters, TopK, CountDistinct, Histogram, Covariance, Correlation, Slope, Intercept, CenterOfMass,
)  # fmt: skip
"""All built-in aggregates of values, family by family. If several are equally similar to an aggregate that was not
measured, the planner uses the costs of the first."""

TIMED: tuple[type[AggregateFunction], ...] = (TimeMean, Integral, Duration, TimeIn)
"""All built-in aggregates over time, which take the `on` of a row together with its value."""

__all__ = [
    "BUILTIN",
    "TIMED",
    "AggregateFunction",
    "CenterOfMass",
    "Correlation",
    "Count",
    "CountDistinct",
    "Covariance",
    "Duration",
    "First",
    "HeavyHitters",
    "Histogram",
    "Integral",
    "Intercept",
    "Kurtosis",
    "Last",
    "Max",
    "MaxN",
    "Mean",
    "Median",
    "Min",
    "MinN",
    "Mode",
    "Quantile",
    "Rank",
    "Skewness",
    "Slope",
    "Stddev",
    "Sum",
    "TimeIn",
    "TimeMean",
    "TopK",
    "Variance",
    "center_of_mass",
    "correlation",
    "count",
    "count_distinct",
    "covariance",
    "duration",
    "first",
    "heavy_hitters",
    "histogram",
    "integral",
    "intercept",
    "kurtosis",
    "last",
    "max",
    "max_n",
    "mean",
    "median",
    "min",
    "min_n",
    "mode",
    "quantile",
    "rank",
    "skewness",
    "slope",
    "stddev",
    "sum",
    "time_in",
    "time_mean",
    "top_k",
    "variance",
]
