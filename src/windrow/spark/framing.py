"""`frames`: check the arguments, choose a plan and build it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from windrow.aggregates import AggregateFunction
from windrow.errors import UnsupportedError, WindrowError
from windrow.framing.query import FrameQuery
from windrow.framing.schemes import Scheme
from windrow.predicates.parse import parse_predicate
from windrow.rows.duration import Duration
from windrow.spark.plans.choice import PlanChoice, check_call, spark_schema
from windrow.spark.plans.chunks import OutOfOrder
from windrow.spark.plans.native import native_frames, why_not_native
from windrow.spark.plans.ranges import find_cuts, range_frames
from windrow.spark.plans.scan import ScanPlan, plan_scan, scan_frames
from windrow.spark.plans.shuffle import shuffle_frames
from windrow.spark.resolve.columns import arrow_type
from windrow.spark.resolve.frames import resolve
from windrow.spark.resolve.nulls import settle_nulls, settle_scanned
from windrow.spark.resolve.predicates import check_condition
from windrow.spark.sources.parquet import ParquetSource, check_files
from windrow.spark.streams.operator import stream_frames, stream_schema
from windrow.spark.streams.options import AHEAD, StreamOptions, check_stream


def frames(
    source: DataFrame | ParquetSource,
    scheme: Scheme,
    *,
    on: str,
    by: str | Sequence[str] | None = None,
    agg: Mapping[str, AggregateFunction] | None = None,
    order_by: str | Sequence[str] | None = None,
    nulls_on: str = "error",
    plan: str = "auto",
    fragments: bool | Duration = False,
    ordered: bool = False,
    late: str = "drop",
    buckets: int | None = None,
    flush: str | None = None,
    keep_groups: Duration | None = None,
    initial: DataFrame | None = None,
    delay: Duration | None = None,
    ahead: Duration | None = AHEAD,
    idle: str | timedelta | None = None,
    punctuation: bool = False,
) -> DataFrame:
    """Segment each group's rows into frames whose bounds come from the data.

    Parameters
    ----------
    source
        A DataFrame, batch or streaming, or Parquet files opened with `wr.parquet`, which are framed without a sort or a
        shuffle where possible. A stream needs a watermark on `on`: rows are framed once the watermark has passed them.
        With `delay` or `ordered`, it needs none.
    scheme
        How frames start and end, e.g. `wr.Threshold("speed < 40", min_duration="3 minutes")`.
    on
        The progressing attribute: the column that orders the rows. A timestamp, a date or a number.
    by
        The columns that define a group. By default, all rows form one group.
    agg
        Aggregates over the rows of each frame, keyed by result column.
    order_by
        Columns that break ties in `on`. Remaining ties are broken by all columns that the query reads.
    nulls_on
        What to do with rows whose `on` or `by` is null or NaN: `"error"` (default) or `"drop"`.
    plan
        `"auto"` (default: the fastest plan that applies), `"native"`, `"shuffle"` or `"scan"`. Streams have only one
        plan.
    fragments
        Streams only. With True, whenever the stream makes progress, also emit the new part of every open frame that is
        already certain to qualify. With a duration such as `"1 minute"`, or a number if `on` is a number, cut the parts
        at its multiples, so that they do not depend on batches: the first part ends with the row that makes the frame
        certain to qualify, and a row exactly on a multiple belongs to the next part.
    ordered
        Streams only. Promise that each group's rows arrive in order, so they can be framed immediately. A row that
        breaks the promise is late. `on` needs no watermark and may have any of the types above.
    late
        Streams only. What to do with rows that arrive after the watermark has passed them: `"drop"` (default) drops and
        counts them; `"emit"` returns them as result rows, in a column `late`.
    buckets
        Streams only. The number of parts that the state is divided into. It limits how many cores a query can use. It
        cannot change during the lifetime of a checkpoint; see `wr.migrate`. By default, it is the number of partitions
        of the query's state, at most 32. Spark stores the former in the checkpoint, so a restart has the same number.
    flush
        Streams only. The checkpoint location of a finished query with the same arguments, such as a bounded replay. The
        result is then a table of the remaining frames: those of rows still buffered for the watermark, and those that
        were open. The checkpoint is only read. With `fragments`, a frame whose rows have all been emitted ends
        with a row whose `count` is 0 and whose `start` and `end` are null.
    keep_groups
        Streams only. How long to remember a group without an open frame after its last row, e.g. `"1 day"`, by the
        watermark (with `ordered=True`, by the latest row of its bucket). A group that reappears later is new:
        its frames are numbered from 0 again, and with `ordered=True` its rows may be earlier than before. By default,
        the number of each group's next frame is remembered forever. The value may change between restarts.
    initial
        Streams only. The state of a stopped query, as returned by `wr.migrate`, for a query with a new checkpoint to
        start from.
    delay
        Streams only. Put each group in order by its own newest row instead of by a watermark: a row is framed once its
        group has a row that is more than `delay` newer, e.g. `"30 seconds"`, or a number if `on` is a number. A row at
        or before the last one framed in its group is late. A slow group, or one with a row from the future, does not
        affect the others. The value may change between restarts.
    ahead
        With `delay=` only. Rows further ahead of the clock are held back: dropped, and counted as `held` in
        `observedMetrics`. `"1 hour"` by default; None lets all rows pass. Dates and timestamps without a time zone are
        compared with the clock of the session's time zone; numbers are not compared with any clock.
    idle
        Streams with `delay` or `ordered` only. Close what a group has open when it has sent no row for this long by the
        wall clock, e.g. `"10 minutes"`: its buffered rows are framed, and its frames end without a `closed_at`, minimal
        ones with `complete` false, as at the end of the data. A later row starts a new frame. Time in which the query
        does not run counts. The value may change between restarts, but cannot be added to a checkpoint or dropped.
    punctuation
        Streams only. Also return rows that show how far groups have got: after each batch, one row for every group of
        which the batch framed rows or closed frames. It has the `by` columns, `complete_until` and `open_since`; all
        other columns are null. All frames that had ended by `complete_until` have been returned. `open_since` is the
        start of the first frame that is or may be open, null without one; frames that overlap it may be missing.

    Returns
    -------
    One row per frame: the `by` columns, `frame` (numbered from 0 within each group), `start` and `end` (`on` of its
    first and last row), `closed_at` (`on` of the row that ended it; null if the data ended first), `count` (number of
    rows), `complete`, the columns that the scheme adds, and the aggregates.

    A streaming result adds `fragment`, `final` and, if the source has a watermark, `known_at`. Without
    `fragments`, `fragment` is 0 and `final` is true. With it, each frame is emitted as disjoint pieces, in order
    and with increasing `fragment`; the last one has `final=True`. `start`, `end`
    and `count` describe the piece, while the aggregates cover the frame up to its end. If a frame ends without another
    row, its last piece has a `count` of 0 and a null `start` and `end`. In a stream, a frame ended by a gap has no
    `closed_at`: it is emitted once the watermark has passed the gap, without a row that ends it.

    `known_at`, the last column, is the first microsecond after the watermark at which the row was emitted. It is the
    event time of the result, with the watermark of the source, so that Spark's windows, joins and
    `dropDuplicatesWithinWatermark` can follow in the same query. `wr.frames` and `wr.slide` can follow, too, with
    `on="start"` or `on="end"` and the same `by`: the frames of a group come in order.

    `observedMetrics` of the query's progress counts the rows that arrived, were late, were framed and were dropped for
    nulls, and reports the number of `groups` and the `state_bytes` of the buckets that were active.

    Examples
    --------
    >>> import windrow as wr
    >>> spark = wr.session()
    >>> loops = spark.createDataFrame(
    ...     [(1, 55.0), (2, 31.0), (3, 28.0), (4, 60.0)], "minute int, speed double"
    ... )
    >>> jams = frames(loops, wr.Threshold("speed < 40"), on="minute", agg={"slowest": wr.min("speed")})
    >>> jams.show()
    +-----+-----+---+---------+-----+--------+-------+
    |frame|start|end|closed_at|count|complete|slowest|
    +-----+-----+---+---------+-----+--------+-------+
    |    0|    2|  3|        4|    2|    true|   28.0|
    +-----+-----+---+---------+-----+--------+-------+
    <BLANKLINE>
    """
    options = StreamOptions(
        fragments, ordered, late, buckets, flush, keep_groups, initial, delay, ahead, idle, punctuation
    )
    return plan_frames(source, scheme, on, by, agg, order_by, nulls_on, plan, options)[1]


def plan_frames(
    source: DataFrame | ParquetSource,
    scheme: Scheme,
    on: str,
    by: str | Sequence[str] | None,
    agg: Mapping[str, AggregateFunction] | None,
    order_by: str | Sequence[str] | None,
    nulls_on: str,
    plan: str,
    options: StreamOptions,
) -> tuple[PlanChoice, DataFrame]:
    """Return the plan that runs and its result."""
    df = check_call(source, nulls_on, plan)
    request = resolve(df, scheme, on, by, agg, order_by, analyse_outside if isinstance(source, ParquetSource) else None)
    schema = result_schema(df, request)
    if df.isStreaming:
        return _streamed(df, request, schema, options, nulls_on)
    options.refuse_for_tables()
    against: list[str] = []
    if plan in ("auto", "scan"):
        scan = _scan(source, request, nulls_on)
        if isinstance(scan, ScanPlan):
            how = f"{len(scan.chunks)} chunk(s) read with pyarrow, no sort, no shuffle"
            reason = f"Parquet in the order of {request.on!r}: {how}"
            return PlanChoice("scan", (reason,)), scan_frames(source, scan, schema)  # type: ignore[arg-type]
        if plan == "scan" and not isinstance(scan, OutOfOrder):
            raise UnsupportedError(f"plan='scan': {scan}")
        against += [f"no scan: {scan}"] if isinstance(source, ParquetSource) else []
    elif isinstance(source, ParquetSource):
        check_files(source)
    df = settle_nulls(df, request, nulls_on)
    obstacle = why_not_native(request)
    if plan == "native" and obstacle:
        raise UnsupportedError(f"plan='native': {obstacle}; use 'auto' or 'shuffle'")
    if plan == "native" or (plan != "shuffle" and not obstacle):
        reason = f"{type(scheme).__name__} frames are runs of one label: one window and one aggregation in Catalyst"
        return PlanChoice("native", (*against, reason)), native_frames(df, request, schema)
    against += [f"no native plan: {obstacle}"] if obstacle else []
    cuts = find_cuts(df, request)
    if cuts:
        reason = f"{cuts.reason}: rows are sorted by range, framed by the compiled kernel, and the seams reconciled"
        return PlanChoice("shuffle", (*against, reason)), range_frames(df, request, cuts, schema)
    reason = "each group's rows are sorted by Spark and framed by the compiled kernel"
    return PlanChoice("shuffle", (*against, reason)), shuffle_frames(df, request, schema)


def _streamed(
    df: DataFrame, request: FrameQuery, schema: StructType, options: StreamOptions, nulls_on: str
) -> tuple[PlanChoice, DataFrame]:
    options = check_stream(df, request, options)
    schema = stream_schema(schema, df, request, options)
    order = f"are put in order by the watermark of {request.on!r}"
    if options.ordered:
        order = "arrive in order (ordered=True)"
    elif options.delay is not None:
        order = f"are put in order by the newest row of their group (delay={options.delay!r})"
    reason = f"a stream: rows {order} and are framed by the compiled kernel, with state per bucket of groups"
    return PlanChoice("stream", (reason,)), stream_frames(df, request, schema, options, nulls_on)


def _scan(source: DataFrame | ParquetSource, request: FrameQuery, nulls_on: str) -> ScanPlan | str:
    if not isinstance(source, ParquetSource):
        return "the source is a DataFrame; to scan Parquet files, open them with wr.parquet"
    settle_scanned(source.df, request, nulls_on)
    return plan_scan(source, request)


def analyse_outside(df: DataFrame, predicate: object, option: str) -> None:
    """Check a predicate without Spark if it can be evaluated without Spark, which saves a round trip."""
    try:
        fields = [pa.field(field.name, arrow_type(field, field.name)) for field in df.schema.fields]
        if not isinstance(predicate, str):
            raise UnsupportedError
        parsed = parse_predicate(predicate)
        parsed.compile(pa.schema(fields))
        if not {*parsed.columns} <= {*df.columns}:
            raise UnsupportedError  # case sensitivity depends on the session
    except WindrowError:
        check_condition(df, predicate, option)


def result_schema(df: DataFrame, request: FrameQuery) -> StructType:
    """Return the Spark schema of the result. Keys and instants keep the types they have in the source."""
    never_null = {*request.by, "frame", "start", "end", "count", "complete", *request.scheme.added_columns}
    return spark_schema(df, request, request.schema, ("start", "end", "closed_at"), never_null)
