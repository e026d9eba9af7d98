"""Frames on Spark: the only part of Windrow that imports pyspark."""

from windrow.spark.batch import explain, frames
from windrow.spark.parquet import ParquetSource, parquet
from windrow.spark.session import session

__all__ = ["ParquetSource", "explain", "frames", "parquet", "session"]
