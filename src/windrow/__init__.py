"""Windrow segments and aggregates streams of timestamped tuples on Spark, by what the data says and not by the clock."""

from windrow.aggregates import AggregateFunction, count, first, last, max, mean, min, stddev, sum, variance
from windrow.errors import WindrowError
from windrow.frames import Aggregate, Boundary, Custom, Delta, DoubleBoundary, Gap, Scheme, Threshold
from windrow.spark import ParquetSource, explain, fill, frames, parquet, session, widen
