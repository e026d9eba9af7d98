"""Frames and windows on Spark: the only part of Windrow that imports pyspark."""

from windrow.spark.assemble import assemble
from windrow.spark.batch import frames
from windrow.spark.checkpoint import buffer_stats, open_frames
from windrow.spark.explain import explain
from windrow.spark.fill import fill
from windrow.spark.parquet import ParquetSource, parquet
from windrow.spark.redis import register_redis
from windrow.spark.session import session
from windrow.spark.slide import slide
from windrow.spark.sql import register
from windrow.spark.widen import widen

__all__ = [
    "ParquetSource",
    "assemble",
    "buffer_stats",
    "explain",
    "fill",
    "frames",
    "open_frames",
    "parquet",
    "register",
    "register_redis",
    "session",
    "slide",
    "widen",
]
