"""Frames and windows in SQL: table functions that Spark runs in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.udtf import UserDefinedTableFunction

from windrow.framing.schemes import SCHEME_REGISTRY, Conjunction
from windrow.spark.arguments import check_spark
from windrow.spark.sessions import check_session
from windrow.spark.sql.functions import frames_handler, windows_handler
from windrow.spark.workers.modules import import_modules

__all__ = ["register_sql"]


def register_sql(spark: SparkSession, modules: Sequence[str] = ()) -> None:
    """Register table functions that make frames and windows available in the SQL of a session.

    Parameters
    ----------
    spark
        The session; Spark Connect works too. The workers' Python needs Windrow.
    modules
        Modules with schemes, aggregates and synopses of your own, as dotted names or paths of `.py` files. A scheme
        `CountRuns` becomes the function `count_runs_frames`, an aggregate `Span` the call `span(speed)`. The modules
        are sent to the workers. Those of installed packages that declare entry points need not be named here.

    Notes
    -----
    These functions return the same frames as `wr.frames`, with the same columns:

        threshold_frames(TABLE(t), predicate =>, close =>, min_count =>, min_duration =>, segments =>, ...)
        boundary_frames(TABLE(t), grid =>, ...)
        double_boundary_frames(TABLE(t), grid =>, ...)
        delta_frames(TABLE(t), limits =>, op =>, reference =>, ...)
        aggregate_frames(TABLE(t), aggregate =>, op =>, limit =>, ...)
        gap_frames(TABLE(t), gap =>, ...)

    And one returns the windows of `wr.slide`:

        slide_windows(TABLE(t), length =>, every =>, using =>, eps =>, delta =>, ...)

    `length => '1 hour', every => '1 minute'` makes windows of time, `length => '100 rows'` windows of rows.

    The dots stand for the common options `on`, `by`, `order_by`, `agg` and, for frames, `max_gap` and `nulls`. Options
    have the same meaning as in Python and must be constants:

    - Columns are strings: `'road'`, `'road, lane'` or `array('road', 'lane')`.
    - Durations are strings, intervals or numbers.
    - `grid` and `limits` are maps by column: `map('x', 10.0)`, `map('y', array(0, 5, 20))`; or texts as on the command
      line: `'x=10,y=0:5:20'`.
    - Aggregates are calls as strings, e.g. `'sum(volume)'`. `agg` maps result names to such calls.
    - SQL maps have no order, so the columns they add to the result are sorted by name. A struct such as
      `named_struct('x', 10.0, 'y', array(0, 5, 20))` keeps the order, and may mix types.
    - To use a session variable in a predicate, insert its value: `predicate => 'speed < ' || slow`.

    Table functions read tables, not streams: Spark sorts their rows, and rejects a stream with "Sorting is not
    supported on streaming DataFrames/Datasets". Use `wr.frames` for streams. Dates and times must be within the years 1
    to 9999.

    Examples
    --------
    >>> import windrow as wr
    >>> spark = wr.session()
    >>> wr.register_sql(spark)
    >>> loops = spark.createDataFrame(
    ...     [(1, 55.0), (2, 31.0), (3, 28.0), (4, 60.0)], "minute int, speed double"
    ... )
    >>> loops.createOrReplaceTempView("loops")
    >>> spark.sql('''
    ...     SELECT start, end, count, slowest
    ...     FROM threshold_frames(
    ...         TABLE(loops), on => 'minute', predicate => 'speed < 40',
    ...         agg => map('slowest', 'min(speed)')
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
    import_modules(modules, "modules")
    for name, kind in SCHEME_REGISTRY.classes().items():
        if kind.main_option() is not None or kind is Conjunction:
            spark.udtf.register(f"{name}_frames", _table_function(spark, frames_handler(kind)))
    spark.udtf.register("slide_windows", _table_function(spark, windows_handler()))


def _table_function(spark: SparkSession, handler: type) -> UserDefinedTableFunction:
    """Return a handler as a Spark table function of the kind that the session takes.

    Arrow is off: with it, every input row would be answered by its own record batch, usually an empty one.
    """
    make: Any = F.udtf
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        from pyspark.sql.connect.functions import udtf as make
    made: UserDefinedTableFunction = make(handler, useArrow=False).asDeterministic()
    return made
