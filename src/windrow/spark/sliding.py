"""`slide`: aggregates over windows. Panes are aggregated once, wherever that is cheapest, and combined to windows.

Panes are rows of a table: a group, a number, the state of each aggregate. Where they come from is the plan: Catalyst
aggregates them, tasks read them out of Parquet, or tasks aggregate what Spark hands them. What follows is the same for
all: the panes of a group come together, sorted by number alone, and a compiled kernel combines them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from windrow.aggregates import AggregateFunction
from windrow.errors import UnsupportedError
from windrow.rows.duration import Duration
from windrow.spark.plans.choice import PlanChoice, check_call, held_values, spark_schema
from windrow.spark.plans.native_panes import native_panes, why_not_native_panes
from windrow.spark.plans.panes import gathered_panes, ordered_windows, scanned_windows, windows_of_panes
from windrow.spark.plans.scan import ScanSource, scan_source
from windrow.spark.resolve.nulls import settle_nulls, settle_scanned
from windrow.spark.resolve.windows import AUTO, resolve_windows
from windrow.spark.sources.parquet import ParquetSource, check_files
from windrow.spark.streams.operator import in_stream, with_late
from windrow.spark.streams.options import StreamOptions, check_stream
from windrow.windows import Keep, Window
from windrow.windows.query import WindowQuery
from windrow.windows.stream import SlidePlan

Windows: TypeAlias = Window | Sequence[Window] | Mapping[str, Window]
Using: TypeAlias = str | Keep | Mapping[str, str | Keep | None] | None


def slide(
    source: DataFrame | ParquetSource,
    windows: Windows,
    *,
    on: str,
    by: str | Sequence[str] | None = None,
    agg: Mapping[str, AggregateFunction],
    order_by: str | Sequence[str] | None = None,
    nulls_on: str = "error",
    plan: str = "auto",
    empty: bool = False,
    only_changed: bool = False,
    using: Using = AUTO,
    ordered: bool = False,
    late: str = "drop",
    buckets: int | None = None,
    flush: str | None = None,
    keep_groups: Duration | None = None,
    initial: DataFrame | None = None,
) -> DataFrame:
    """Aggregate each group's tuples over windows that move along.

    Parameters
    ----------
    source
        A DataFrame, streaming or not, or Parquet files by `wr.parquet`, which are read without a shuffle of rows.
    windows
        One kind of window, such as `wr.Sliding("1 hour", every="1 minute")`, a list of several, or a dict from name to
        window. Several kinds share one pass and cost little more than one.
    on
        The progressing attribute: the column by which tuples are ordered, a timestamp, a date or a number.
    by
        The columns whose values make a group; without them all tuples are one group.
    agg
        Aggregates of each window's tuples, by the name of their result column.
    order_by
        Columns that order tuples with the same `on`; it matters to `wr.first`, `wr.last` and windows that are counted.
    nulls_on
        What to do with rows whose `on` or `by` is null or NaN: `"error"` (default) or `"drop"`.
    plan
        `"auto"` (default: the fastest that applies), `"native"`, `"shuffle"` or `"scan"`. A stream has one plan.
    empty
        Report windows without a tuple too, between a group's first and last.
    only_changed
        Report a window only if an aggregate differs from that of the group's window before it.
    using
        What keeps the windows, for all aggregates or in a dict from their names: `"auto"` (default), the name of a
        synopsis of `windrow.synopses`, a `wr.Keep` that says how wrong it may be, or None for panes. A synopsis takes
        each group's tuples in order, one group after the other. One that keeps a number of values, such as
        `ArasuMankuFixed`, has no answer, null, for the last `wr.Rows` window where the end of the data cut it. `"auto"`
        follows the planner: aggregates whose state is a few numbers are kept by panes; for quantiles, the median and
        the mode, panes would keep all values, so what the cost model finds cheapest is taken, within the aggregate's
        `eps`. `wr.explain` says what and why.
    ordered
        Streams only: the promise that each group's tuples arrive in order. A window is then due as soon as its group
        has a tuple past it, no watermark is needed, and `on` may be of any type.
    late
        Streams only: `"drop"` (default) drops and counts tuples that the watermark has passed when they arrive;
        `"emit"` gives them as rows of the result, in a column `late`.
    buckets
        Streams only: into how many pieces the state is spread, 32 by default; it must stay as it is for the life of a
        checkpoint.
    flush
        Streams only: the checkpoint location of a query with the same arguments that has ended. The result is then a
        table: the windows that the end of the stream leaves.
    keep_groups
        Streams only: how long a group with no window to be reported is remembered once the watermark is past its last
        row (or, with `ordered=True`, the latest row of any group), such as `"1 day"`. A group that comes back later is
        a new one. It matters for what is remembered for ever by default: the rows of `wr.Rows` and `wr.DistinctTimes`,
        and what `ordered`, `empty`, `only_changed` and `using` need.
    initial
        Streams only: the state of a stopped query, by `wr.migrate`, from which a query with a new checkpoint starts.

    Returns
    -------
    One row a window: the `by` columns, `window` (its name, if there are several kinds), `start`, `end`, `complete`, and
    the aggregates. A window of time has the tuples with `start <= on < end`. Windows that are counted, by `wr.Rows` or
    `wr.DistinctTimes`, have as `start` and `end` the `on` of their first and last tuple.

    `complete` is true where all of a window has been seen: a tuple of its group, or the watermark of a stream, is at or
    past its end. That the data end, in a table or by `flush=`, makes no window complete. Nor is one that is reported
    before its end by `emit=`, or that is counted and has fewer tuples than it should.

    `start` and `end` have the type of `on`. A window with a bound that this type cannot hold is refused when the query
    runs; cast `on` to a wider type then. A row may be in at most 10,000,000 windows of one kind.

    Examples
    --------
    >>> import windrow as wr
    >>> spark = wr.session()
    >>> loops = spark.createDataFrame([(1, 4), (2, 6), (9, 1), (14, 3)], "minute int, cars int")
    >>> slide(loops, wr.Sliding(10, every=5), on="minute", agg={"cars": wr.sum("cars")}).orderBy("end").show()
    +-----+---+--------+----+
    |start|end|complete|cars|
    +-----+---+--------+----+
    |   -5|  5|    true|  10|
    |    0| 10|    true|  11|
    |    5| 15|   false|   4|
    |   10| 20|   false|   3|
    +-----+---+--------+----+
    <BLANKLINE>
    """
    options = StreamOptions(False, ordered, late, buckets, flush, keep_groups, initial)
    return plan_slide(source, windows, on, by, agg, order_by, nulls_on, plan, empty, only_changed, using, options)[1]


def plan_slide(
    source: DataFrame | ParquetSource,
    windows: Windows,
    on: str,
    by: str | Sequence[str] | None,
    agg: Mapping[str, AggregateFunction] | None,
    order_by: str | Sequence[str] | None,
    nulls_on: str,
    plan: str,
    empty: bool,
    only_changed: bool,
    using: Using,
    options: StreamOptions,
) -> tuple[PlanChoice, DataFrame]:
    """The plan that runs, and its result."""
    df = check_call(source, nulls_on, plan)
    sorts = plan in ("auto", "shuffle")
    request, kept = resolve_windows(
        df, windows, on, by, agg, order_by, empty=empty, only_changed=only_changed, using=using, sorts=sorts
    )
    if df.isStreaming:
        choice, result = _streamed(df, request, options, nulls_on)
    else:
        options.refuse_for_tables()
        choice, result = _tabled(source, df, request, nulls_on, plan)
    if choice.plan != "native":
        paned = {name: aggregate for j, (name, aggregate) in enumerate(request.agg.items()) if j in request.paned}
        kept = (*kept, *held_values(paned, "window"))
    return PlanChoice(choice.plan, (*choice.reasons, *kept)), result


def _schema(df: DataFrame, request: WindowQuery) -> StructType:
    never_null = {*request.by, *(name for name, _ in request.leading)}
    return spark_schema(df, request, request.schema, ("start", "end"), never_null)


def _tabled(
    source: DataFrame | ParquetSource, df: DataFrame, request: WindowQuery, nulls_on: str, plan: str
) -> tuple[PlanChoice, DataFrame]:
    schema = _schema(df, request)
    share = f"panes of {request.pane_said}"
    against: list[str] = []
    if plan in ("auto", "scan"):
        scan = _scan(source, request, nulls_on)
        if isinstance(scan, ScanSource):
            reason = f"{share}, aggregated as Parquet is read with pyarrow: no sort, no shuffle of rows"
            return PlanChoice("scan", (reason,)), scanned_windows(scan, request, schema)
        if plan == "scan":
            raise UnsupportedError(f"plan='scan': {scan}")
        against += [f"no scan: {scan}"] if isinstance(source, ParquetSource) else []
    elif isinstance(source, ParquetSource):
        check_files(source)
    df = settle_nulls(df, request, nulls_on)
    obstacle = why_not_native_panes(request)
    if plan == "native" and obstacle:
        raise UnsupportedError(f"plan='native': {obstacle}; use 'auto' or 'shuffle'")
    if plan != "shuffle" and not obstacle:
        reason = f"{share}, aggregated by Catalyst and combined by the compiled kernel"
        return PlanChoice("native", (*against, reason)), windows_of_panes(native_panes(df, request), request, schema)
    against += [f"no native plan: {obstacle}"] if obstacle else []
    if request.commutes:
        reason = f"{share}, aggregated by the compiled kernel before a shuffle of panes"
        return PlanChoice("shuffle", (*against, reason)), windows_of_panes(gathered_panes(df, request), request, schema)
    reason = f"{share}: each group's tuples are sorted by Spark, and aggregated by the compiled kernel"
    return PlanChoice("shuffle", (*against, reason)), ordered_windows(df, request, schema)


def _scan(source: DataFrame | ParquetSource, request: WindowQuery, nulls_on: str) -> ScanSource | str:
    if not isinstance(source, ParquetSource):
        return "the source is a DataFrame; give Parquet files by wr.parquet"
    if not request.commutes:
        return "windows that are counted, aggregates that depend on the order of tuples, and synopses need them sorted"
    settle_scanned(source.df, request, nulls_on)
    return scan_source(source, request)


def _streamed(
    df: DataFrame, request: WindowQuery, options: StreamOptions, nulls_on: str
) -> tuple[PlanChoice, DataFrame]:
    check_stream(df, request, options)
    due = "their group has a tuple past them" if options.ordered else f"the watermark of {request.on!r} is past them"
    waits = "" if request.commutes or options.ordered else "; tuples wait for it, since their order matters"
    reason = f"a stream: tuples become part of their panes, windows are reported when {due}{waits}"
    schema = with_late(_schema(df, request), df, request, options)
    return PlanChoice("stream", (reason,)), in_stream(df, SlidePlan, request, schema, options, nulls_on)
