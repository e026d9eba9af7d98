"""The native plan: frames that are runs of one label, found by Catalyst alone. No row leaves the JVM.

One window over the ordered rows of a group counts the places where a run breaks. The rows between two breaks form a
frame, which one aggregation summarizes. Columns that the user does not select are never computed: Catalyst prunes
`closed_at` and `frame` together with their window functions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import and_

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from windrow.aggregates import AggregateFunction, Count, First, Last, Max, Mean, Min, Stddev, Sum, Variance
from windrow.framing.query import FrameQuery
from windrow.framing.schemes import Boundary, Gap, Scheme, Threshold
from windrow.framing.schemes.grid import FARTHEST_CELL, LARGEST_CELL, SMALLEST_CELL, Grid
from windrow.rows import wire
from windrow.spark.plans.clock import as_number, distance
from windrow.spark.plans.sums import whole_sum
from windrow.spark.resolve.columns import column
from windrow.spark.resolve.predicates import condition

_RUN, _NEXT = "__run", "__next"


def why_not_native(request: FrameQuery) -> str | None:
    """Return why Catalyst alone cannot run a query, or None if it can."""
    if not request.scheme.is_run:
        return f"{type(request.scheme).__name__} frames with these options are not runs of one label"
    for name, aggregate in request.agg.items():
        if type(aggregate) not in _AGGREGATES:
            what = (
                f"{aggregate!r}, which Spark has no exact equal of" if aggregate.builtin else "a user-defined aggregate"
            )
            return f"agg {name!r} is {what}"
    return None


def native_frames(df: DataFrame, request: FrameQuery, schema: StructType) -> DataFrame:
    """Compute frames with one ROWS window and one aggregation."""
    keys = [f"__{wire.key(i)}" for i in range(len(request.by))]
    runs = _runs(_tuples(df, request, keys), request, keys)
    frames = _summed(runs, request, keys).where(_qualifies(request))
    number = F.row_number().over(Window.partitionBy(*keys).orderBy(_RUN)) - 1
    return frames.withColumn("__frame", number.cast("bigint")).select(
        *(column(at).alias(name) for at, name in zip(_result_columns(request, keys), schema.names, strict=True))
    )


def _tuples(df: DataFrame, request: FrameQuery, keys: list[str]) -> DataFrame:
    """Select what the query reads, under internal names: the keys, then all columns that order the rows, in that order.

    `__hit` separates rows that can be in a frame from rows that only end one.
    """
    scheme = request.scheme
    attributes = [column(name).cast("double") for name in scheme.attributes]
    hit, takes_part = _hit(scheme, attributes)
    chosen = [column(name).alias(key) for name, key in zip(request.by, keys, strict=True)]
    chosen += [column(request.on).alias("__on")]
    chosen += [column(name).alias(f"__{wire.tie(i)}") for i, name in enumerate(request.order_by)]
    # Ties are ordered as the kernel orders them: by attributes, or by the predicate if there is one.
    chosen += [attribute.alias(f"__{wire.attribute(i)}") for i, attribute in enumerate(attributes)] + [
        hit.alias("__hit")
    ]
    chosen += [_value(request, a).alias(f"__{wire.value(j)}") for j, a in enumerate(request.agg.values()) if a.columns]
    return (df if takes_part is None else df.where(takes_part)).select(*chosen)


def _hit(scheme: Scheme, attributes: list[Column]) -> tuple[Column, Column | None]:
    """Return whether a row can be in a frame, and whether it takes part at all (None: all do), by the null policy."""
    if isinstance(scheme, Threshold):
        truth = condition(scheme.predicate)
        return F.coalesce(truth, F.lit(False)), truth.isNotNull() if scheme.nulls == "skip" else None
    if not attributes:
        return F.lit(True), None
    present = reduce(and_, (attribute.isNotNull() & ~F.isnan(attribute) for attribute in attributes))
    return (present, None) if scheme.nulls == "break" else (F.lit(True), present)


def _value(request: FrameQuery, aggregate: AggregateFunction) -> Column:
    value = column(aggregate.column)
    return value.cast("double") if pa.types.is_decimal(request.types[aggregate.column]) else value


def _runs(tuples: DataFrame, request: FrameQuery, keys: list[str]) -> DataFrame:
    """Return the rows that are in runs, each with the number of its run."""
    scheme = request.scheme
    order = tuples.columns[len(keys) :]
    window = Window.partitionBy(*keys).orderBy(*order)
    breaks = ~column("__hit")
    labels: list[str] = []
    if isinstance(scheme, Boundary):
        for i, (name, grid) in enumerate(scheme.grids.items()):
            labels.append(f"__cell{i}")
            tuples = tuples.withColumn(labels[-1], cell(column(f"__{wire.attribute(i)}"), grid).alias(f"cell_{name}"))
    for label in labels:
        breaks = breaks | ~column(label).eqNullSafe(F.lag(label).over(window))
    longest = scheme.gap if isinstance(scheme, Gap) else None
    for gap, option in ((longest, "gap"), (scheme.max_gap, "max_gap")):
        if gap is not None:
            on = as_number(column("__on"), request.clock)
            apart = distance(on, F.lag(on).over(window), request.clock)
            breaks = breaks | F.coalesce(apart > F.lit(request.clock.at_most(gap, option)), F.lit(False))
    if labels or longest is not None or scheme.max_gap is not None:
        tuples = tuples.withColumn("__breaks", breaks)
        breaks = column("__breaks")
    rows = window.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    run = F.sum(F.when(breaks, 1).otherwise(0)).over(rows)
    return tuples.withColumn(_RUN, run).withColumn(_NEXT, F.lead("__on").over(window)).where("__hit")


def _summed(runs: DataFrame, request: FrameQuery, keys: list[str]) -> DataFrame:
    """Aggregate the rows into one row per run."""
    cells = [n for n in runs.columns if n.startswith("__cell")]
    last_of_group = F.count(_NEXT) < F.count(F.lit(1))
    order = F.struct(*(n for n in runs.columns if n.startswith(("__on", "__tie", "__hit", "__a", "__v"))))
    sums = [
        F.min("__on").alias("__start"),
        F.max("__on").alias("__end"),
        F.when(last_of_group, F.lit(None)).otherwise(F.max(_NEXT)).alias("__closed_at"),
        F.count(F.lit(1)).alias("__count"),
        *(F.max(name).alias(name) for name in cells),
    ]
    for j, aggregate in enumerate(request.agg.values()):
        value = column(f"__{wire.value(j)}") if aggregate.columns else F.lit(1)
        sums.append(_aggregated(aggregate, value, order, request).alias(f"__r{j}"))
    return runs.groupBy(*keys, _RUN).agg(*sums).withColumn("__complete", F.lit(True))


def _aggregated(aggregate: AggregateFunction, value: Column, order: Column, request: FrameQuery) -> Column:
    if isinstance(aggregate, Sum) and pa.types.is_integer(request.types[aggregate.column]):
        return whole_sum(value, request.types[aggregate.column], aggregate)
    return _AGGREGATES[type(aggregate)](value, order)


def _qualifies(request: FrameQuery) -> Column:
    scheme = request.scheme
    enough = F.lit(True)
    if isinstance(scheme, Threshold):
        if scheme.min_count > 1:
            enough = enough & (column("__count") >= scheme.min_count)
        if scheme.min_duration is not None:
            least = request.clock.at_least(scheme.min_duration, "min_duration")
            end, start = (as_number(column(name), request.clock) for name in ("__end", "__start"))
            enough = enough & (distance(end, start, request.clock) >= F.lit(least))
    return enough


def _result_columns(request: FrameQuery, keys: list[str]) -> list[str]:
    cells = [f"__cell{i}" for i in range(len(request.scheme.extras))]
    results = [f"__r{j}" for j in range(len(request.agg))]
    return [*keys, "__frame", "__start", "__end", "__closed_at", "__count", "__complete", *cells, *results]


def cell(value: Column, grid: Grid) -> Column:
    """Return the cell of a value, by the same definition as in the kernel."""
    if isinstance(grid, tuple):
        return reduce(lambda total, point: total + (value > point).cast("bigint"), grid, F.lit(0).cast("bigint"))
    width = F.lit(float(grid))
    inside = F.abs(value / width) <= F.lit(FARTHEST_CELL)
    near = F.ceil(F.when(inside, value / width).otherwise(0.0))
    below, above = (near - 1) * width >= value, near * width < value
    far = F.when(value > 0, F.lit(LARGEST_CELL)).otherwise(F.lit(SMALLEST_CELL))
    return F.when(~inside, far).when(below, near - 1).when(above, near + 1).otherwise(near)


_AGGREGATES: dict[type[AggregateFunction], Callable[[Column, Column], Column]] = {
    Count: lambda value, order: F.count(value),
    First: lambda value, order: F.min_by(value, F.when(value.isNotNull(), order)),
    Last: lambda value, order: F.max_by(value, F.when(value.isNotNull(), order)),
    Max: lambda value, order: F.max(value),
    Mean: lambda value, order: F.avg(value.cast("double")),
    Min: lambda value, order: F.min(value),
    Stddev: lambda value, order: F.stddev_samp(value.cast("double")),
    Sum: lambda value, order: F.sum(value),
    Variance: lambda value, order: F.var_samp(value.cast("double")),
}
