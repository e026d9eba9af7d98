"""Frames and windows on Spark: the only part of Windrow that imports pyspark."""

from typing import TYPE_CHECKING

from windrow.on_demand import on_demand

if TYPE_CHECKING:
    from windrow.spark.assembly import assemble
    from windrow.spark.checkpoints import buffer_stats, open_frames
    from windrow.spark.explanation import explain
    from windrow.spark.failures import failure
    from windrow.spark.filling import fill
    from windrow.spark.framing import frames
    from windrow.spark.guarding import guard
    from windrow.spark.migration import migrate
    from windrow.spark.sessions import session
    from windrow.spark.sliding import slide
    from windrow.spark.sources.parquet import ParquetSource, parquet
    from windrow.spark.sources.redis import register_redis
    from windrow.spark.sql import register_sql
    from windrow.spark.widening import widen

__all__ = [
    "ParquetSource",
    "assemble",
    "buffer_stats",
    "explain",
    "failure",
    "fill",
    "frames",
    "guard",
    "migrate",
    "open_frames",
    "parquet",
    "register_redis",
    "register_sql",
    "session",
    "slide",
    "widen",
]

# Every Spark worker imports this package, so names are loaded on demand: a worker loads only what its task needs.
_HOMES = {
    "windrow.spark.assembly": ("assemble",),
    "windrow.spark.framing": ("frames",),
    "windrow.spark.checkpoints": ("buffer_stats", "open_frames"),
    "windrow.spark.explanation": ("explain",),
    "windrow.spark.failures": ("failure",),
    "windrow.spark.filling": ("fill",),
    "windrow.spark.guarding": ("guard",),
    "windrow.spark.migration": ("migrate",),
    "windrow.spark.sources.parquet": ("ParquetSource", "parquet"),
    "windrow.spark.sources.redis": ("register_redis",),
    "windrow.spark.sessions": ("session",),
    "windrow.spark.sliding": ("slide",),
    "windrow.spark.sql": ("register_sql",),
    "windrow.spark.widening": ("widen",),
}
__getattr__, __dir__ = on_demand(__name__, _HOMES)
