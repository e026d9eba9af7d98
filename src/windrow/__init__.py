"""Windrow segments and aggregates streams of timestamped tuples on Spark, by what the data says, not by the clock."""

from windrow.aggregates import AggregateFunction, count, first, last, max, mean, min, stddev, sum, variance
from windrow.errors import (
    ColumnError,
    DataError,
    OutputError,
    SessionError,
    SourceError,
    SpecError,
    TypeMismatchError,
    UnsupportedError,
    WindrowError,
)
from windrow.frames import Aggregate, Boundary, Custom, Delta, DoubleBoundary, Gap, Scheme, Threshold
from windrow.spark import ParquetSource, assemble, explain, fill, frames, open_frames, parquet, register, session, widen

__version__ = "0.1.0"

__all__ = [
    "Aggregate",
    "AggregateFunction",
    "Boundary",
    "ColumnError",
    "Custom",
    "DataError",
    "Delta",
    "DoubleBoundary",
    "Gap",
    "OutputError",
    "ParquetSource",
    "Scheme",
    "SessionError",
    "SourceError",
    "SpecError",
    "Threshold",
    "TypeMismatchError",
    "UnsupportedError",
    "WindrowError",
    "__version__",
    "assemble",
    "count",
    "explain",
    "fill",
    "first",
    "frames",
    "last",
    "max",
    "mean",
    "min",
    "open_frames",
    "parquet",
    "register",
    "session",
    "stddev",
    "sum",
    "variance",
    "widen",
]
