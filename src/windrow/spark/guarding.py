"""`guard`: hold back rows from the future before they can move the watermark."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.types import TimestampType

from windrow.errors import SpecError, TypeMismatchError
from windrow.rows.duration import Duration
from windrow.spark.arguments import check_dataframe, check_switch
from windrow.spark.resolve.columns import Columns, column
from windrow.spark.streams.future import divided, is_ahead
from windrow.spark.streams.options import AHEAD, has_watermark


def guard(stream: DataFrame, *, on: str, ahead: Duration = AHEAD, held: bool = False) -> DataFrame:
    """Hold back rows whose `on` is further ahead of the clock than `ahead`.

    A single row from the year 9999 moves Spark's watermark there and makes every later row late. Spark moves the
    watermark before any operator sees the row, so call `guard` before `withWatermark`:

        readings = wr.guard(readings, on="ts").withWatermark("ts", "10 seconds")

    The clock is the time at which Spark started the micro-batch. It is stored in the query's checkpoint, so a restart
    holds back the same rows.

    Parameters
    ----------
    stream
        A streaming DataFrame without a watermark on `on`, or a table.
    on
        The timestamp column of the watermark. Rows with null pass.
    ahead
        How far ahead of the clock a row may be: a duration such as `"1 hour"` (default) or a timedelta.
    held
        Return the rows that are held back instead of those that pass, e.g. to write them to a separate table.

    Returns
    -------
    The rows that pass, with the columns of `stream`. `observedMetrics` of the query's progress counts the rows held
    back, as `held` under a name that starts with `windrow guard`.

    Examples
    --------
    >>> import windrow as wr
    >>> rows = wr.session().sql(
    ...     "select timestamp'2024-05-01' ts union all select timestamp'9999-12-31'"
    ... )
    >>> guard(rows, on="ts").collect()
    [Row(ts=datetime.datetime(2024, 5, 1, 0, 0))]
    >>> guard(rows, on="ts", held=True).collect()
    [Row(ts=datetime.datetime(9999, 12, 31, 0, 0))]
    """
    check_dataframe(stream, "stream")
    check_switch(held, "held")
    field = Columns(stream).field(on, "on")
    if not isinstance(field.dataType, TimestampType):
        raise TypeMismatchError(
            f"on: column {field.name!r} is of type {field.dataType.simpleString()}; expected a timestamp, since only "
            "timestamps have a watermark that follows the clock"
        )
    if has_watermark(field):
        raise SpecError(
            f"on: column {field.name!r} already has a watermark, which a row from the future has moved by now; call "
            f"wr.guard before withWatermark"
        )
    return divided(stream, is_ahead(column(field.name), ahead), held=held)
