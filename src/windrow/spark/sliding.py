"""`slide`: aggregates over windows. Rows are aggregated once into panes, and panes are combined into windows.

A pane is a row of a table: its group, its number and the state of each aggregate. The plan decides who aggregates the
panes: Catalyst, tasks that read Parquet, or tasks that receive rows from Spark. The rest is the same for every plan:
the panes of a group are brought together and sorted by number, and a compiled kernel combines them.
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
from windrow.spark.plans.scan import ScanSource, scan_source
from windrow.spark.plans.task_panes import gathered_panes, scanned_windows
from windrow.spark.plans.windows_of_panes import combine_panes, ordered_windows
from windrow.spark.resolve.nulls import settle_nulls, settle_scanned
from windrow.spark.resolve.windows import AUTO, resolve_windows
from windrow.spark.sources.parquet import ParquetSource, check_files
from windrow.spark.streams.operator import in_stream, with_late
from windrow.spark.streams.options import AHEAD, StreamOptions, check_stream
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
    delay: Duration | None = None,
    ahead: Duration | None = AHEAD,
) -> DataFrame:
    """Aggregate each group's rows over moving windows.

    Parameters
    ----------
    source
        A DataFrame, batch or streaming, or Parquet files opened with `wr.parquet`, which are read without shuffling
        rows.
    windows
        One window spec, e.g. `wr.Sliding("1 hour", every="1 minute")`, a list of several, or a dict from name to spec.
        Several specs share one pass and cost little more than one.
    agg
        Aggregates over the rows of each window, keyed by result column.
    order_by
        Columns that break ties in `on`. They matter to `wr.first`, `wr.last` and count-based windows.
    empty
        Also return windows without rows, between a group's first and last window.
    only_changed
        Return a window only if an aggregate differs from the group's previous window.
    using
        How to store the windows, for all aggregates or as a dict keyed by result column: `"auto"` (default), the name
        of a synopsis in `windrow.synopses`, a `wr.Keep` that states the allowed error, or None for panes. `"auto"`
        follows the planner. Aggregates whose state is a few numbers use panes. For quantiles, the median and the mode,
        panes would store every value, so the planner picks what its cost model estimates to be cheapest, within the
        aggregate's `eps`. `wr.explain` shows the choice and the reason. A synopsis takes each group's rows in order,
        one group at a time. A synopsis of a fixed number of values, such as `ArasuMankuFixed`, returns null for a last
        `wr.Rows` window that is cut short by the end of the data.
    ordered
        Streams only. Promise that each group's rows arrive in order. A window is then due as soon as its group has a
        row past it. `on` needs no watermark and may also be a date or a number.
    flush
        Streams only. The checkpoint location of a finished query with the same arguments. The result is then a table of
        the windows that were still pending when the stream ended.
    keep_groups
        Streams only. How long to remember a group without a pending window after its last row, e.g. `"1 day"`, by the
        watermark (with `ordered=True`, by the latest row of its bucket). A group that reappears later is new. The
        option matters for state that is otherwise kept forever: the rows of `wr.Rows` and `wr.DistinctTimes`, and the
        state that `ordered`, `delay`, `empty`, `only_changed` and `using` need.
    delay
        Streams only. Put each group in order by its own newest row instead of by a watermark. A row is due once its
        group has a row that is more than `delay` newer, and a window once a row past it is due.
    on, by, nulls_on, plan, late, buckets, initial, ahead
        As in `wr.frames`.

    Returns
    -------
    One row per window: the `by` columns, `window` (its name, if there are several specs), `start`, `end`, `complete`,
    and the aggregates. A time-based window contains the rows with `start <= on < end`. For the count-based windows
    `wr.Rows` and `wr.DistinctTimes`, `start` and `end` are `on` of the first and last row.

    `complete` is true if the whole window has been seen: a row of its group, or the watermark of a stream, is at or
    past its end. The end of the data, in a table or with `flush=`, does not complete a window. A window that `emit=`
    reports before its end is incomplete, and so is a count-based window with fewer rows than it should have.

    A streaming result has `known_at` as its last column if the source has a watermark, as in `wr.frames`.

    `start` and `end` have the type of `on`. The query fails if a bound does not fit into that type; cast `on` to a
    wider type then. A row may be in at most 10,000,000 windows of one spec.

    Examples
    --------
    >>> import windrow as wr
    >>> spark = wr.session()
    >>> loops = spark.createDataFrame([(1, 4), (2, 6), (9, 1), (14, 3)], "minute int, cars int")
    >>> slide(loops, wr.Sliding(10, every=5), on="minute", agg={"cars": wr.sum("cars")}).orderBy(
    ...     "end"
    ... ).show()
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
    options = StreamOptions(False, ordered, late, buckets, flush, keep_groups, initial, delay, ahead)
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
    """Return the plan that runs and its result."""
    df = check_call(source, nulls_on, plan)
    sorts = plan in ("auto", "shuffle")
    request, storage = resolve_windows(
        df, windows, on, by, agg, order_by, empty=empty, only_changed=only_changed, using=using, sorts=sorts
    )
    if df.isStreaming:
        choice, result = _streamed(df, request, options, nulls_on)
    else:
        options.refuse_for_tables()
        choice, result = _tabled(source, df, request, nulls_on, plan)
    if choice.plan != "native":
        paned = {name: aggregate for j, (name, aggregate) in enumerate(request.agg.items()) if j in request.paned}
        storage = (*storage, *held_values(paned, "window"))
    return PlanChoice(choice.plan, (*choice.reasons, *storage)), result


def windows_schema(df: DataFrame, request: WindowQuery) -> StructType:
    """Return the columns of the result."""
    never_null = {*request.by, *(name for name, _ in request.leading)}
    return spark_schema(df, request, request.schema, ("start", "end"), never_null)


def _tabled(
    source: DataFrame | ParquetSource, df: DataFrame, request: WindowQuery, nulls_on: str, plan: str
) -> tuple[PlanChoice, DataFrame]:
    schema = windows_schema(df, request)
    share = f"panes of {request.pane_text}"
    rejected: list[str] = []
    if plan in ("auto", "scan"):
        scan = _scan(source, request, nulls_on)
        if isinstance(scan, ScanSource):
            reason = f"{share}, aggregated as Parquet is read with pyarrow: no sort, no shuffle of rows"
            return PlanChoice("scan", (reason,)), scanned_windows(scan, request, schema)
        if plan == "scan":
            raise UnsupportedError(f"plan='scan': {scan}")
        rejected += [f"no scan: {scan}"] if isinstance(source, ParquetSource) else []
    elif isinstance(source, ParquetSource):
        check_files(source)
    df = settle_nulls(df, request, nulls_on)
    obstacle = why_not_native_panes(request)
    if plan == "native" and obstacle:
        raise UnsupportedError(f"plan='native': {obstacle}; use 'auto' or 'shuffle'")
    if plan != "shuffle" and not obstacle:
        reason = f"{share}, aggregated by Catalyst and combined by the compiled kernel"
        return PlanChoice("native", (*rejected, reason)), combine_panes(native_panes(df, request), request, schema)
    rejected += [f"no native plan: {obstacle}"] if obstacle else []
    if request.commutes:
        reason = f"{share}, aggregated by the compiled kernel before a shuffle of panes"
        panes = gathered_panes(df, request)
        return PlanChoice("shuffle", (*rejected, reason)), combine_panes(panes, request, schema)
    reason = f"{share}: each group's rows are sorted by Spark and aggregated by the compiled kernel"
    return PlanChoice("shuffle", (*rejected, reason)), ordered_windows(df, request, schema)


def _scan(source: DataFrame | ParquetSource, request: WindowQuery, nulls_on: str) -> ScanSource | str:
    if not isinstance(source, ParquetSource):
        return "the source is a DataFrame; to scan Parquet files, open them with wr.parquet"
    if not request.commutes:
        return "count-based windows, aggregates that depend on the order of rows, and synopses need sorted rows"
    settle_scanned(source.df, request, nulls_on)
    return scan_source(source, request)


def _streamed(
    df: DataFrame, request: WindowQuery, options: StreamOptions, nulls_on: str
) -> tuple[PlanChoice, DataFrame]:
    options = check_stream(df, request, options)
    due = "their group has a row past them" if options.ordered else f"the watermark of {request.on!r} is past them"
    waits = "" if request.commutes or options.ordered else "; rows are buffered until then, since their order matters"
    if options.delay is not None:
        due = f"their group has a row past them and one that is more than {options.delay!r} newer"
        waits = "; rows are buffered until then"
    reason = f"a stream: rows are added to their panes, and windows are reported when {due}{waits}"
    schema = with_late(windows_schema(df, request), df, request, options)
    return PlanChoice("stream", (reason,)), in_stream(df, SlidePlan, request, schema, options, nulls_on)
