"""The native plan: frames that are runs of one label, found by Catalyst alone. No row leaves the JVM.

One window over the ordered rows of a group counts the places where a run breaks. The rows between two breaks form a
frame, which one aggregation summarizes. Columns that the user does not select are never computed: Catalyst prunes
`closed_at` and `frame` together with their window functions.

The scheme declares its labels and conditions in SQL (`Scheme.native_run`), so this module knows no particular scheme.
"""

from __future__ import annotations

from functools import reduce
from operator import or_

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from windrow.aggregates import AggregateFunction
from windrow.framing.query import FrameQuery
from windrow.framing.schemes.native import NativeRun
from windrow.rows import wire
from windrow.spark.plans.clock import as_number, distance
from windrow.spark.plans.declared import filled, kinds_of, masked
from windrow.spark.resolve.columns import column
from windrow.spark.resolve.nulls import lacks_label
from windrow.spark.resolve.predicates import condition
from windrow.spark.versions import from_arrow_type

_RUN, _NEXT = "__run", "__next"


def why_not_native(request: FrameQuery) -> str | None:
    """Return why Catalyst alone cannot run a query, or None if it can."""
    if not request.scheme.is_run:
        return f"{type(request.scheme).__name__} frames with these options are not runs of one label"
    for name, aggregate in request.roles.agg.items():
        if aggregate.spark_sql_over(*kinds_of(aggregate, request.types)) is None:
            owner = "" if aggregate.builtin else "user-defined "
            return f"agg {name!r}: the {owner}aggregate {aggregate!r} has no exact equivalent in Spark SQL"
    return None


def native_frames(df: DataFrame, request: FrameQuery, schema: StructType) -> DataFrame:
    """Compute frames with one ROWS window and one aggregation."""
    keys = [f"__{wire.key(i)}" for i in range(len(request.by))]
    run = request.scheme.limited(request.scheme.native_run(_inputs(request)))
    runs = _runs(_rows(df, request, keys), request, run, keys)
    frames = _summed(runs, request, keys).where(_qualifies(request, run))
    number = F.row_number().over(Window.partitionBy(*keys).orderBy(_RUN)) - 1
    return frames.withColumn("__frame", number.cast("bigint")).select(
        *(column(at).alias(name) for at, name in zip(_result_columns(request, keys), schema.names, strict=True))
    )


def _inputs(request: FrameQuery) -> dict[str, str]:
    """Return the internal names of the scheme's predicates and attributes, and of the values that label rows."""
    inputs = {name: f"__p{i}" for i, name in enumerate(request.predicates)}
    inputs |= {name: f"__{wire.attribute(i)}" for i, name in enumerate(request.attributes)}
    values = zip(request.label_columns, enumerate(request.agg.values()), strict=False)
    return inputs | {name: _value_names(j, aggregate)[0] for name, (j, aggregate) in values}


def _rows(df: DataFrame, request: FrameQuery, keys: list[str]) -> DataFrame:
    """Select what the query reads, under internal names: the keys, then all columns that order the rows, in that order.

    Ties are ordered as the kernel orders them: by the predicates, the attributes, and the values of the aggregates.
    """
    scheme = request.scheme
    truths = [condition(predicate) for predicate in scheme.predicates.values()]
    attributes = [column(name).cast("double") for name in scheme.attributes]
    chosen = [column(name).alias(key) for name, key in zip(request.by, keys, strict=True)]
    chosen += [column(request.on).alias("__on")]
    chosen += [column(name).alias(f"__{wire.tie(i)}") for i, name in enumerate(request.order_by)]
    chosen += [F.coalesce(truth, F.lit(False)).alias(f"__p{i}") for i, truth in enumerate(truths)]
    chosen += [attribute.alias(f"__{wire.attribute(i)}") for i, attribute in enumerate(attributes)]
    for j, aggregate in enumerate(request.agg.values()):
        values = masked([_value(request, aggregate, name) for name in aggregate.columns])
        chosen += [value.alias(name) for value, name in zip(values, _value_names(j, aggregate), strict=True)]
    present, taking_part = _present(request)
    return df.where(taking_part).select(*chosen, *([] if present is None else [present.alias("__present")]))


def _present(request: FrameQuery) -> tuple[Column | None, Column]:
    """Return which rows lack nothing, or None if rows that do are left out, and which rows take part.

    With `nulls="error"` nothing is missing here, and with `nulls="false"` a missing truth is false. A row that one part
    of a conjunction skips takes part if it breaks or fails another one: it ends a frame.
    """
    scheme = request.scheme
    rules = [rule for rule in scheme.null_rules if rule.policy in ("skip", "break")]
    skips = [_lacks(request, name) for rule in rules if rule.policy == "skip" for name in rule.inputs]
    breaks = [_lacks(request, name) for rule in rules if rule.policy == "break" for name in rule.inputs]
    fails = [
        F.coalesce(~condition(scheme.predicates[rule.hit]), F.lit(rule.policy == "false"))
        for rule in scheme.null_rules
        if rule.hit is not None
    ]
    ends = breaks + fails
    taking_part = reduce(or_, ends, ~reduce(or_, skips)) if skips else F.lit(True)
    return ~reduce(or_, skips + breaks) if skips + breaks and (breaks or (skips and ends)) else None, taking_part


def _lacks(request: FrameQuery, name: str) -> Column:
    """Return whether a predicate is null, an attribute null or NaN, or the value of a label missing."""
    if name in request.predicates:
        return condition(request.predicates[name]).isNull()
    if name in request.label_columns:
        label = request.label_columns[name]
        return lacks_label(label, request.types[label.column])
    attribute = column(name).cast("double")
    return attribute.isNull() | F.isnan(attribute)


def _value(request: FrameQuery, aggregate: AggregateFunction, name: str) -> Column:
    """Return a column as an aggregate reads it: one that computes with decimals takes them as floats."""
    as_float = pa.types.is_decimal(request.types[name]) and not aggregate.only_compares
    return column(name).cast("double") if as_float else column(name)


def _value_names(j: int, aggregate: AggregateFunction) -> list[str]:
    """Return the internal names of the columns that the j-th aggregate reads."""
    return [f"__{wire.value(j)}_{i}" for i in range(len(aggregate.columns))]


def _runs(rows: DataFrame, request: FrameQuery, run: NativeRun, keys: list[str]) -> DataFrame:
    """Return the rows that are in runs, each with the number of its run."""
    order = rows.columns[len(keys) :]
    window = Window.partitionBy(*keys).orderBy(*order)
    hit = F.expr(run.hit)
    rows = rows.withColumn("__hit", hit & column("__present") if "__present" in rows.columns else hit)
    breaks = ~column("__hit")
    labels = {f"__label{i}": F.expr(label) for i, label in enumerate(run.labels)}
    for name, label in labels.items():
        rows = rows.withColumn(name, label)
        breaks = breaks | ~column(name).eqNullSafe(F.lag(name).over(window))
    longest = request.scheme.longest_gap(request.clock)
    is_limited = longest < request.clock.greatest
    if is_limited:
        on = as_number(column("__on"), request.clock)
        apart = distance(on, F.lag(on).over(window), request.clock)
        breaks = breaks | F.coalesce(apart > F.lit(longest), F.lit(False))
    if labels or is_limited:
        rows = rows.withColumn("__breaks", breaks)
        breaks = column("__breaks")
    so_far = window.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    if run.max_count is not None:
        rows, breaks = _cut_by_count(rows, breaks, run.max_count, window, so_far)
    number = F.sum(F.when(breaks, 1).otherwise(0)).over(so_far)
    return rows.withColumn(_RUN, number).withColumn(_NEXT, F.lead("__on").over(window)).where("__hit")


def _cut_by_count(
    rows: DataFrame, breaks: Column, most: int, window: WindowSpec, so_far: WindowSpec
) -> tuple[DataFrame, Column]:
    """Return the rows with their place in the group, and breaks after every `most` rows of a run."""
    rows = rows.withColumn("__broken", breaks).withColumn("__place", F.row_number().over(window))
    # A row that is in no run breaks before the next one, any other break is the first row of its run.
    first = column("__place") + F.when(column("__hit"), 0).otherwise(1)
    begin = F.coalesce(F.max(F.when(column("__broken"), first)).over(so_far), F.lit(1))
    rows = rows.withColumn("__cut", column("__hit") & ((column("__place") - begin) % most == 0))
    return rows, column("__broken") | (column("__cut") & (column("__place") > 1))


def _summed(runs: DataFrame, request: FrameQuery, keys: list[str]) -> DataFrame:
    """Aggregate the rows into one row per run. All its rows have the same labels, which are therefore keys."""
    labels = [name for name in runs.columns if name.startswith("__label")]
    last_of_group = F.count(_NEXT) < F.count(F.lit(1))
    order = [name for name in runs.columns if name.startswith(("__on", "__tie", "__p", "__a", "__v"))]
    sums = [
        F.min("__on").alias("__start"),
        F.max("__on").alias("__end"),
        F.when(last_of_group, F.lit(None)).otherwise(F.max(_NEXT)).alias("__closed_at"),
        F.count(F.lit(1)).alias("__count"),
    ]
    for j, aggregate in enumerate(request.agg.values()):
        if j >= len(request.label_columns):
            sums.append(_result(j, aggregate, request, order).alias(f"__r{j}"))
    return runs.groupBy(*keys, _RUN, *labels).agg(*sums).withColumn("__complete", F.lit(True))


def _result(j: int, aggregate: AggregateFunction, request: FrameQuery, order: list[str]) -> Column:
    """Return the result of the j-th aggregate, by the Spark SQL that it declares."""
    kinds = kinds_of(aggregate, request.types)
    template = aggregate.spark_sql_over(*kinds)
    assert template is not None
    result = filled(template, _value_names(j, aggregate), order)
    return result if aggregate.builtin else result.cast(from_arrow_type(aggregate.result_type(kinds[0])))


def _qualifies(request: FrameQuery, run: NativeRun) -> Column:
    enough = F.lit(True)
    if run.min_count > 1:
        enough = enough & (column("__count") >= run.min_count)
    if run.min_duration is not None:
        least = request.clock.at_least(run.min_duration, "min_duration")
        last = F.coalesce("__closed_at", "__end") if run.half_open else column("__end")
        end, start = as_number(last, request.clock), as_number(column("__start"), request.clock)
        enough = enough & (distance(end, start, request.clock) >= F.lit(least))
    return enough


def _result_columns(request: FrameQuery, keys: list[str]) -> list[str]:
    labels = [f"__label{i}" for i in range(len(request.scheme.added_columns))]
    results = [f"__r{j}" for j in range(len(request.label_columns), len(request.agg))]
    return [*keys, "__frame", "__start", "__end", "__closed_at", "__count", "__complete", *labels, *results]
