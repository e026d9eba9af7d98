"""`frames` and `explain`: checking what was asked, choosing a plan, building it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StructField, StructType

from windrow.aggregates import AggregateFunction
from windrow.errors import SpecError, UnsupportedError, WindrowError
from windrow.frames import Scheme
from windrow.frames.predicate import parse_predicate
from windrow.frames.request import Request
from windrow.spark.native import native_frames, why_not_native
from windrow.spark.nulls import check_policy, settle_floats, settle_nulls
from windrow.spark.parquet import ParquetSource, check_files
from windrow.spark.ranges import find_cuts, range_frames
from windrow.spark.resolve import arrow_type, check_condition, resolve
from windrow.spark.scan import ScanPlan, plan_scan, scan_frames
from windrow.spark.session import check_session
from windrow.spark.shuffle import shuffle_frames

PLANS = ("auto", "native", "shuffle", "scan")


@dataclass(frozen=True)
class Choice:
    """The plan that runs, and why."""

    plan: str
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join([f"plan: {self.plan}", *(f"  - {reason}" for reason in self.reasons)])


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
) -> DataFrame:
    """Segment each group's tuples into frames, by what the data says.

    Parameters
    ----------
    source
        A DataFrame, or Parquet files by `wr.parquet`, which are framed without a sort or a shuffle where that is right.
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
        `"auto"` (default: the fastest that applies), `"native"`, `"shuffle"` or `"scan"`.

    Returns
    -------
    One row a frame: the `by` columns, `frame` (numbered from 0 in each group), `start` and `end` (the `on` of its
    first and last tuple), `closed_at` (the `on` of the tuple that ended it; null where the stream ended first),
    `count` (of tuples), `complete`, what the scheme adds, and the aggregates.

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
    return _planned(source, scheme, on, by, agg, order_by, nulls_on, plan)[1]


def explain(
    source: DataFrame | ParquetSource,
    scheme: Scheme,
    *,
    on: str,
    by: str | Sequence[str] | None = None,
    agg: Mapping[str, AggregateFunction] | None = None,
    order_by: str | Sequence[str] | None = None,
    nulls_on: str = "error",
    plan: str = "auto",
) -> Choice:
    """Say which plan `frames` would run with the same arguments, and why.

    >>> import windrow as wr
    >>> loops = wr.session().createDataFrame([(1, 55.0)], "minute int, speed double")
    >>> print(explain(loops, wr.Threshold("speed < 40"), on="minute"))
    plan: native
      - Threshold frames are runs of one label: one window and one aggregation in Catalyst
    """
    return _planned(source, scheme, on, by, agg, order_by, nulls_on, plan)[0]


def _planned(
    source: DataFrame | ParquetSource,
    scheme: Scheme,
    on: str,
    by: str | Sequence[str] | None,
    agg: Mapping[str, AggregateFunction] | None,
    order_by: str | Sequence[str] | None,
    nulls_on: str,
    plan: str,
) -> tuple[Choice, DataFrame]:
    df = check_source(source)
    check_session(df.sparkSession)
    check_policy(nulls_on)
    if plan not in PLANS:
        raise SpecError(f"plan: {plan!r} is not a plan; it must be one of {', '.join(PLANS)}")
    request = resolve(df, scheme, on, by, agg, order_by, analyse_outside if isinstance(source, ParquetSource) else None)
    schema = result_schema(df, request)
    against: list[str] = []
    if plan in ("auto", "scan"):
        scan = _scan(source, request, nulls_on)
        if isinstance(scan, ScanPlan):
            how = f"{len(scan.chunks)} chunk(s) read with pyarrow, no sort, no shuffle"
            reason = f"Parquet in the order of {request.on!r}: {how}"
            return Choice("scan", (reason,)), scan_frames(source, scan, schema)  # type: ignore[arg-type]
        if plan == "scan" and not isinstance(source, ParquetSource):
            raise UnsupportedError(f"plan='scan': {scan}")
        against += [f"no scan: {scan}"] if isinstance(source, ParquetSource) else []
    elif isinstance(source, ParquetSource):
        check_files(source.path)
    df = settle_nulls(df, request, nulls_on)
    obstacle = why_not_native(request)
    if plan == "native" and obstacle:
        raise UnsupportedError(f"plan='native': {obstacle}; use 'auto' or 'shuffle'")
    if plan == "native" or (plan != "shuffle" and not obstacle):
        reason = f"{type(scheme).__name__} frames are runs of one label: one window and one aggregation in Catalyst"
        return Choice("native", (*against, reason)), native_frames(df, request, schema)
    against += [f"no native plan: {obstacle}"] if obstacle else []
    cuts = find_cuts(df, request)
    if cuts:
        reason = f"{cuts.reason}: tuples are sorted by range, framed by the compiled kernel, and the seams reconciled"
        return Choice("shuffle", (*against, reason)), range_frames(df, request, cuts, schema)
    reason = "each group's tuples are sorted by Spark and framed by the compiled kernel"
    return Choice("shuffle", (*against, reason)), shuffle_frames(df, request, schema)


def _scan(source: DataFrame | ParquetSource, request: Request, nulls_on: str) -> ScanPlan | str:
    if not isinstance(source, ParquetSource):
        return "the source is a DataFrame; give Parquet files by wr.parquet"
    settle_floats(source.df, request, nulls_on)
    return plan_scan(source, request)


def analyse_outside(df: DataFrame, predicate: object, option: str) -> None:
    """Check a predicate without Spark where it can be evaluated without Spark, which saves a round trip."""
    try:
        fields = [pa.field(field.name, arrow_type(field, field.name)) for field in df.schema.fields]
        if not isinstance(predicate, str):
            raise UnsupportedError
        parse_predicate(predicate).compile(pa.schema(fields))
    except WindrowError:
        check_condition(df, predicate, option)


def check_source(source: DataFrame | ParquetSource) -> DataFrame:
    """The DataFrame of a source, or a refusal."""
    df = source.df if isinstance(source, ParquetSource) else source
    if not hasattr(df, "sparkSession") or not hasattr(df, "schema"):
        raise SpecError(f"{source!r} is neither a DataFrame nor a Parquet source by wr.parquet")
    if df.isStreaming:
        raise UnsupportedError("streaming DataFrames are not framed yet")
    return df


def result_schema(df: DataFrame, request: Request) -> StructType:
    """The schema of the result as Spark has it: keys and instants keep the types they have in the table."""
    kept = {field.name: field.dataType for field in df.schema.fields}
    instants = dict.fromkeys(("start", "end", "closed_at"), kept[request.on])
    found = {name: kept[name] for name in request.by} | instants
    for name, aggregate in request.agg.items():
        if (
            aggregate.columns
            and aggregate.result_type(request.types[aggregate.column]) == request.types[aggregate.column]
        ):
            found[name] = next(f.dataType for f in df.schema.fields if f.name.lower() == aggregate.column.lower())
    never_null = {*request.by, "frame", "start", "end", "count", "complete", *request.scheme.extras}
    return StructType(
        [
            StructField(f.name, found.get(f.name) or from_arrow_type(f.type), f.name not in never_null)
            for f in request.schema
        ]
    )
