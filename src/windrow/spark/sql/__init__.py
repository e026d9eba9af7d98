"""Frames in SQL: table functions that Spark runs in Python."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.udtf import UserDefinedTableFunction

from windrow.spark.arguments import check_spark
from windrow.spark.sessions import check_session
from windrow.spark.sql import functions

__all__ = ["register"]

HANDLERS = {
    "threshold_frames": functions.ThresholdFrames,
    "boundary_frames": functions.BoundaryFrames,
    "delta_frames": functions.DeltaFrames,
    "aggregate_frames": functions.AggregateFrames,
    "gap_frames": functions.GapFrames,
}


def register(spark: SparkSession) -> None:
    """Make frames available in the SQL of a session, as table functions.

    Parameters
    ----------
    spark
        The session, Spark Connect included. Windrow must be installed for the Python of its workers.

    After it, these functions find the frames that `wr.frames` finds, with the same columns:

        threshold_frames(TABLE(t), predicate =>, close =>, min_count =>, min_duration =>, segments =>, ...)
        boundary_frames(TABLE(t), grid =>, ...)
        delta_frames(TABLE(t), limits =>, op =>, reference =>, ...)
        aggregate_frames(TABLE(t), aggregate =>, op =>, limit =>, ...)
        gap_frames(TABLE(t), gap =>, ...)

    The dots are options of all: `on`, `by`, `order_by`, `agg`, `max_gap` and `nulls`. Options mean what they mean in
    Python and must be constants. Columns are texts: `'road'`, `'road, lane'` or `array('road', 'lane')`. Durations are
    texts, intervals or numbers. `grid` and `limits` are maps by column: `map('x', 10.0)`, `map('y', array(0, 5, 20))`.
    Aggregates are calls in text, `'sum(volume)'`, and `agg` is a map of them by result name. A map of SQL has no order,
    so what it adds to the result is sorted by name; `named_struct('x', 10.0, 'y', array(0, 5, 20))` keeps the order,
    and may mix types. A session variable goes into a predicate by its value: `predicate => 'speed < ' || slow`.

    Table functions read tables, not streams: Spark sorts their rows, and refuses a stream with "Sorting is not
    supported on streaming DataFrames/Datasets". Use `wr.frames` for streams. Dates and times must be within the years
    1 to 9999.

    Examples
    --------
    >>> import windrow as wr
    >>> spark = wr.session()
    >>> wr.register(spark)
    >>> loops = spark.createDataFrame([(1, 55.0), (2, 31.0), (3, 28.0), (4, 60.0)], "minute int, speed double")
    >>> loops.createOrReplaceTempView("loops")
    >>> spark.sql('''
    ...     SELECT start, end, count, slowest
    ...     FROM threshold_frames(
    ...         TABLE(loops), on => 'minute', predicate => 'speed < 40', agg => map('slowest', 'min(speed)')
    ...     )
    ... ''').show()
    +-----+---+-----+-------+
    |start|end|count|slowest|
    +-----+---+-----+-------+
    |    2|  3|    2|   28.0|
    +-----+---+-----+-------+
    <BLANKLINE>
    """
    check_spark(spark)
    check_session(spark)
    for name, handler in HANDLERS.items():
        spark.udtf.register(name, _table_function(spark, handler))


def _table_function(spark: SparkSession, handler: type) -> UserDefinedTableFunction:
    """A handler as Spark's table function, of the kind that the session takes.

    Without Arrow: with it, each row that comes is answered by a record batch of its own, mostly an empty one.
    """
    make: Any = F.udtf
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        from pyspark.sql.connect.functions import udtf as make
    made: UserDefinedTableFunction = make(handler, useArrow=False).asDeterministic()
    return made
