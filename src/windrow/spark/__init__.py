"""Frames and windows on Spark: the only part of Windrow that imports pyspark."""

from typing import TYPE_CHECKING

from windrow.on_demand import on_demand

if TYPE_CHECKING:
    from windrow.spark.assemble import assemble
    from windrow.spark.batch import frames
    from windrow.spark.checkpoint import buffer_stats, open_frames
    from windrow.spark.explain import explain
    from windrow.spark.failure import failure
    from windrow.spark.fill import fill
    from windrow.spark.guard import guard
    from windrow.spark.migrate import migrate
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
    "failure",
    "fill",
    "frames",
    "guard",
    "migrate",
    "open_frames",
    "parquet",
    "register",
    "register_redis",
    "session",
    "slide",
    "widen",
]

# Each of Spark's workers loads this package: it should load no more than its task needs.
_HOMES = {
    "windrow.spark.assemble": ("assemble",),
    "windrow.spark.batch": ("frames",),
    "windrow.spark.checkpoint": ("buffer_stats", "open_frames"),
    "windrow.spark.explain": ("explain",),
    "windrow.spark.failure": ("failure",),
    "windrow.spark.fill": ("fill",),
    "windrow.spark.guard": ("guard",),
    "windrow.spark.migrate": ("migrate",),
    "windrow.spark.parquet": ("ParquetSource", "parquet"),
    "windrow.spark.redis": ("register_redis",),
    "windrow.spark.session": ("session",),
    "windrow.spark.slide": ("slide",),
    "windrow.spark.sql": ("register",),
    "windrow.spark.widen": ("widen",),
}
__getattr__, __dir__ = on_demand(__name__, _HOMES)
