"""`fill`: match the rows of any source with the frames of any other, and tag or aggregate them per frame.

Tables are sorted together and swept: see `plans/sweep.py`. Streams are matched by a stateful operator: see
`streams/fill_operator.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame

from windrow.aggregates import AggregateFunction
from windrow.spark.plans.choice import check_source
from windrow.spark.plans.sweep import aggregated, tagged
from windrow.spark.resolve.fills import refuse_carrying, resolve_fill, settle
from windrow.spark.resolve.nulls import check_policy
from windrow.spark.sessions import check_session
from windrow.spark.sources.parquet import ParquetSource
from windrow.spark.streams.fill_operator import stream_fill
from windrow.spark.streams.options import StreamOptions


def fill(
    frames: DataFrame | ParquetSource,
    source: DataFrame | ParquetSource,
    *,
    on: str,
    by: str | Sequence[str] | None = None,
    agg: Mapping[str, AggregateFunction] | None = None,
    order_by: str | Sequence[str] | None = None,
    nulls_on: str = "error",
    buckets: int | None = None,
    flush: str | None = None,
) -> DataFrame:
    """Match the rows of a source with frames: a row is in every frame of its group with `start <= on <= end`.

    Parameters
    ----------
    frames
        A table with the `by` columns, `frame`, `start` and `end`, such as `wr.frames` and `wr.widen` return. It may
        have more columns, and its frames may overlap.
    source
        The rows, from the source that was framed or from any other. If the schemas allow nulls, both tables are read
        once in advance to check for nulls: cache a table that is expensive to compute.
    on
        The column of `source` that holds the time of a row, comparable to `start` and `end`.
    by
        The columns, in both tables, that define a group. By default, all frames and rows form one group.
    agg
        Aggregates over the rows of each frame, keyed by result column. By default, rows are tagged instead.
    order_by
        Columns that break ties in `on`. Remaining ties are broken by all columns that the aggregates read.
    nulls_on
        What to do with rows whose `on` or `by` is null or NaN: `"error"` (default) or `"drop"`.
    buckets
        Streams only. As in `wr.frames`, for a stream of frames from elsewhere or a table of frames. A stream of frames
        that is framed in the same query is filled in the buckets that it was framed in.
    flush
        Streams only. The checkpoint location of a finished query with the same arguments. The result is then a table of
        what was still pending when the streams ended. The checkpoint is only read.

    Returns
    -------
    Without `agg`: the columns of the source and `frame`. A row appears once per frame that contains it; rows outside
    every frame are dropped. With `agg`: one row per frame, with the columns of `frames` and the aggregates. Frames
    without rows are included. A streaming result has `known_at` as its last column, as in `wr.frames`; that of the
    frames or the source is left out.

    Notes
    -----
    Either side may be a stream. If one side is a table, it is read once, when the query starts, and stored in the
    state.

    A streaming source needs a watermark on `on`. A stream of frames that is framed in the same query is the result of
    `wr.frames` or `wr.widen`, filled by the same groups: it carries its own progress, so buffered rows can be released
    as early as possible. Its rows may be filtered, and its columns selected and renamed; the stream is then framed
    twice, which filtering the result of `wr.fill` avoids. Any other stream of frames needs a watermark on `start`, with
    a delay as long as a frame may take to arrive after its start.

    A tagged row is emitted as soon as both the row and its frame have arrived. A frame with aggregates is emitted once
    the watermark has passed its end and the whole frame is known. Fragments are used as they arrive, but the result has
    one row per frame.

    `observedMetrics` of the query's progress counts the rows and frame pieces that arrived, were late, are held and
    were dropped for nulls. `wr.buffer_stats` shows how many rows were held.

    Examples
    --------
    >>> import windrow as wr
    >>> spark = wr.session()
    >>> jams = spark.createDataFrame([(0, 10, 20), (1, 30, 40)], "frame long, start int, end int")
    >>> reports = spark.createDataFrame([(5, "fog"), (10, "crash"), (20, "tow")], "at int, what string")
    >>> fill(jams, reports, on="at").sort("at").show()
    +---+-----+-----+
    | at| what|frame|
    +---+-----+-----+
    | 10|crash|    0|
    | 20|  tow|    0|
    +---+-----+-----+
    <BLANKLINE>
    >>> fill(jams, reports, on="at", agg={"reports": wr.count(), "last": wr.max("at")}).sort(
    ...     "frame"
    ... ).show()
    +-----+-----+---+-------+----+
    |frame|start|end|reports|last|
    +-----+-----+---+-------+----+
    |    0|   10| 20|      2|  20|
    |    1|   30| 40|      0|NULL|
    +-----+-----+---+-------+----+
    <BLANKLINE>
    """
    framed = check_source(frames, streams=True, argument="frames")
    rows = check_source(source, streams=True)
    check_session(rows.sparkSession)
    check_policy(nulls_on)
    query = resolve_fill(framed, rows, on, by, agg, order_by)
    options = StreamOptions(buckets=buckets, flush=flush)
    streaming = framed.isStreaming or rows.isStreaming
    if streaming:
        refuse_carrying(query)
    else:
        options.refuse_for_tables()
    rows = settle(framed, rows, query, nulls_on)
    if streaming:
        return stream_fill(framed, rows, query, nulls_on, options)
    return aggregated(framed, rows, query) if query.agg else tagged(framed, rows, query)
