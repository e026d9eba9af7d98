"""`frames`: checking what was asked, choosing a plan, building it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
from windrow.spark.streams.options import StreamOptions, check_stream


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
    fragments: bool = False,
    ordered: bool = False,
    late: str = "drop",
    buckets: int | None = None,
    flush: str | None = None,
    keep_groups: Duration | None = None,
    initial: DataFrame | None = None,
) -> DataFrame:
    """Segment each group's tuples into frames, by what the data says.

    Parameters
    ----------
    source
        A DataFrame, streaming or not, or Parquet files by `wr.parquet`, which are framed without a sort or a shuffle
        where that is right. A stream needs a watermark on `on`: tuples are framed as it passes them.
    scheme
        How frames start and end, such as `wr.Threshold("speed < 40", min_duration="3 minutes")`.
    on
        The progressing attribute: the column by which tuples are ordered, a timestamp, a date or a number.
    by
        The columns whose values make a group; without them all tuples are one group.
    agg
        Aggregates of each frame's tuples, by the name of their result column.
    order_by
        Columns that order tuples with the same `on`; after them, ties are ordered by all that the query reads.
    nulls_on
        What to do with rows whose `on` or `by` is null or NaN: `"error"` (default) or `"drop"`.
    plan
        `"auto"` (default: the fastest that applies), `"native"`, `"shuffle"` or `"scan"`. A stream has one plan.
    fragments
        Streams only: report, at each progress, the new piece of every open frame that is already sure to qualify.
    ordered
        Streams only: the promise that each group's tuples arrive in order, so that they are framed at once. A tuple
        that breaks the promise is late. No watermark is needed, and `on` may be of any type.
    late
        Streams only: `"drop"` (default) drops and counts tuples that the watermark has passed when they arrive;
        `"emit"` gives them as rows of the result, in a column `late`.
    buckets
        Streams only: into how many pieces the state is spread, 32 by default. It bounds how many cores a query can use,
        and must stay as it is for the life of a checkpoint.
    flush
        Streams only: the checkpoint location of a query with the same arguments that has ended, such as a bounded
        replay. The result is then a table: the frames that the end of the stream leaves, of tuples that waited for the
        watermark and of frames that were open. The checkpoint is only read. With `fragments=True`, a frame whose
        tuples were all reported before ends with a row whose `count` is 0 and whose `start` and `end` are null.
    keep_groups
        Streams only: how long a group without an open frame is remembered once the watermark is past its last row (or,
        with `ordered=True`, the latest row of any group), such as `"1 day"`. A group that comes back later is a new
        one: its frames count from 0 again, and with `ordered=True` its rows may be earlier than before. By default the
        number of a group's next frame is remembered for ever. It may change when the query restarts.
    initial
        Streams only: the state of a stopped query, by `wr.migrate`, from which a query with a new checkpoint starts.

    Returns
    -------
    One row a frame: the `by` columns, `frame` (numbered from 0 in each group), `start` and `end` (the `on` of its
    first and last tuple), `closed_at` (the `on` of the tuple that ended it; null where the stream ended first),
    `count` (of tuples), `complete`, what the scheme adds, and the aggregates.

    A stream's result adds `fragment` and `final`. Without `fragments=True` they are 0 and true. With it, the rows of
    one `frame` are its pieces, in order, disjoint, with rising `fragment`; `start`, `end` and `count` are the piece's,
    aggregates are of the frame up to there, and the last piece has `final`. A frame may end without a further tuple:
    its last piece then has `count` 0, and null for `start` and `end`. A frame that a gap ended has no `closed_at` in a
    stream: it is reported when the watermark is past the gap, with no tuple to end it. How many tuples arrived, were
    late, were framed and were dropped for their nulls is in `observedMetrics` of the query's progress, with the number
    of `groups` and the `state_bytes` that the buckets hold which had something to do.

    Examples
    --------
    >>> import windrow as wr
    >>> spark = wr.session()
    >>> loops = spark.createDataFrame([(1, 55.0), (2, 31.0), (3, 28.0), (4, 60.0)], "minute int, speed double")
    >>> jams = frames(loops, wr.Threshold("speed < 40"), on="minute", agg={"slowest": wr.min("speed")})
    >>> jams.show()
    +-----+-----+---+---------+-----+--------+-------+
    |frame|start|end|closed_at|count|complete|slowest|
    +-----+-----+---+---------+-----+--------+-------+
    |    0|    2|  3|        4|    2|    true|   28.0|
    +-----+-----+---+---------+-----+--------+-------+
    <BLANKLINE>
    """
    options = StreamOptions(fragments, ordered, late, buckets, flush, keep_groups, initial)
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
    """The plan that runs, and its result."""
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
        reason = f"{cuts.reason}: tuples are sorted by range, framed by the compiled kernel, and the seams reconciled"
        return PlanChoice("shuffle", (*against, reason)), range_frames(df, request, cuts, schema)
    reason = "each group's tuples are sorted by Spark and framed by the compiled kernel"
    return PlanChoice("shuffle", (*against, reason)), shuffle_frames(df, request, schema)


def _streamed(
    df: DataFrame, request: FrameQuery, schema: StructType, options: StreamOptions, nulls_on: str
) -> tuple[PlanChoice, DataFrame]:
    check_stream(df, request, options)
    schema = stream_schema(schema, df, request, options)
    order = "the promise that they arrive in order" if options.ordered else f"the watermark of {request.on!r}"
    reason = f"a stream: tuples are put in order by {order} and framed by the compiled kernel, with state by bucket"
    return PlanChoice("stream", (reason,)), stream_frames(df, request, schema, options, nulls_on)


def _scan(source: DataFrame | ParquetSource, request: FrameQuery, nulls_on: str) -> ScanPlan | str:
    if not isinstance(source, ParquetSource):
        return "the source is a DataFrame; give Parquet files by wr.parquet"
    settle_scanned(source.df, request, nulls_on)
    return plan_scan(source, request)


def analyse_outside(df: DataFrame, predicate: object, option: str) -> None:
    """Check a predicate without Spark where it can be evaluated without Spark, which saves a round trip."""
    try:
        fields = [pa.field(field.name, arrow_type(field, field.name)) for field in df.schema.fields]
        if not isinstance(predicate, str):
            raise UnsupportedError
        parsed = parse_predicate(predicate)
        parsed.compile(pa.schema(fields))
        if not {*parsed.columns} <= {*df.columns}:
            raise UnsupportedError  # whether letter case matters depends on the session
    except WindrowError:
        check_condition(df, predicate, option)


def result_schema(df: DataFrame, request: FrameQuery) -> StructType:
    """The schema of the result as Spark has it: keys and instants keep the types they have in the table."""
    never_null = {*request.by, "frame", "start", "end", "count", "complete", *request.scheme.extras}
    return spark_schema(df, request, request.schema, ("start", "end", "closed_at"), never_null)
