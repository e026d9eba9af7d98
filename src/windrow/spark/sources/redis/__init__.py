"""Redis streams as a source and sink of Spark streams, built on Spark's Python data source API."""

from __future__ import annotations

from pyspark.sql import SparkSession

from windrow.spark.arguments import check_spark
from windrow.spark.sources.redis.server import import_redis
from windrow.spark.versions import check_version

__all__ = ["register_redis"]

OLDEST_SPARK = (4, 2)
"""The first version of Spark in which Python data sources can limit their batches."""


def register_redis(spark: SparkSession) -> None:
    """Register Redis streams as a source and sink of a session, under the format `redis_streams`.

    Parameters
    ----------
    spark
        The session; Spark Connect works too. The workers' Python needs Windrow and the package redis
        (`pip install 'windrow[redis]'`).

    Notes
    -----
    Source and sink take the options `url` (`redis://host:6379/0`, or `rediss://` for an encrypted connection) and
    `stream`, the key of a stream. For a server with a password, set `username` and `password`, or `passwordVariable`,
    the name of an environment variable of the driver that holds the password. Credentials never appear in plans, errors
    or logs.

    The source needs a schema. Each entry becomes a row. Fields map to columns of the same (case-sensitive) name and are
    read as the column's type; missing fields are null. The columns `_id`, `_time` and `_stream` describe the entry
    itself. Options of the source:

    - `stream`: one key, or several as 'north,south'
    - `startingOffsets`: 'earliest' (default), 'latest', or the id of the entry after which to start
    - `maxEntriesPerTrigger`: the maximum number of entries per batch, over all streams
    - `entriesPerPartition`: the number of entries per task; 20000 by default
    - `mode`: for unreadable values: 'error' (default), 'null', or 'drop' to drop the row
    - `epoch`: read numbers as timestamps: 'seconds', 'milliseconds' or 'microseconds' since 1970
    - `failOnDataLoss`: 'true' (default): fail if entries were trimmed before they were read

    The sink supports the output mode append. Each row becomes an entry and each column a field; nulls are left out.
    Every row is appended exactly once, however often the query is killed and restarted from its checkpoint.

    Examples
    --------
    >>> import windrow as wr
    >>> spark = wr.session()
    >>> wr.register_redis(spark)
    >>> readings = spark.readStream.format("redis_streams").schema(
    ...     "detector string, at timestamp, speed double"
    ... )
    >>> loops = (
    ...     readings.option("url", "redis://127.0.0.1:6379").option("stream", "loops").load()
    ... )  # doctest: +SKIP
    """
    check_spark(spark)
    check_version(spark, OLDEST_SPARK, "redis_streams")
    import_redis()
    from windrow.spark.sources.redis.format import RedisStreams

    spark.dataSource.register(RedisStreams)
