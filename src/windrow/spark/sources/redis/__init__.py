"""Redis streams as source and sink of Spark's streams, through Spark's API for data sources in Python."""

from __future__ import annotations

from pyspark.sql import SparkSession

from windrow.spark.arguments import check_spark
from windrow.spark.sources.redis.server import import_redis
from windrow.spark.versions import check_version

__all__ = ["register_redis"]

OLDEST_SPARK = (4, 2)
"""The first Spark whose sources in Python can limit their batches."""


def register_redis(spark: SparkSession) -> None:
    """Make Redis streams a source and a sink of a session, as the format `redis_streams`.

    Parameters
    ----------
    spark
        The session, Spark Connect included. Windrow and the package redis (`pip install windrow[redis]`) must be
        installed for the Python of its workers.

    Both sides take the options `url` (`redis://host:6379/0`, or `rediss://` for an encrypted connection) and `stream`,
    the key of a stream. For a server with a password, `username` and `password`, or `passwordVariable`, the name of an
    environment variable of the driver that holds the password. Neither is shown in plans, errors or logs.

    As a source, with a schema: an entry is a row, and a field the column of its name, read as the column's type; a
    field that is missing is null. The columns `_id`, `_time` and `_stream` tell of the entry itself. More options:

        stream                several are read as 'north,south'
        startingOffsets       'earliest' (default), 'latest', or the id of the entry after which to start
        maxEntriesPerTrigger  the most entries a batch has, of all streams together
        entriesPerPartition   how many entries a task reads; 20000 by default
        mode                  of values that cannot be read: 'error' (default), 'null', or 'drop' the row
        epoch                 numbers are read as instants: 'seconds', 'milliseconds' or 'microseconds' since 1970
        failOnDataLoss        'true' (default): entries that were trimmed before they were read are an error

    As a sink, in output mode append: a row is an entry, a column a field, and nulls are left out. Every row is appended
    once, however often the query is killed and started again from its checkpoint.

    Examples
    --------
    >>> import windrow as wr
    >>> spark = wr.session()
    >>> wr.register_redis(spark)
    >>> readings = spark.readStream.format("redis_streams").schema("detector string, at timestamp, speed double")
    >>> loops = readings.option("url", "redis://127.0.0.1:6379").option("stream", "loops").load()  # doctest: +SKIP
    """
    check_spark(spark)
    check_version(spark, OLDEST_SPARK, "redis_streams")
    import_redis()
    from windrow.spark.sources.redis.format import RedisStreams

    spark.dataSource.register(RedisStreams)
