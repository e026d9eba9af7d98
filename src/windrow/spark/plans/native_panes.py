"""Panes aggregated by Catalyst alone: no row leaves the JVM."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from windrow.aggregates import AggregateFunction, Count, Max, Mean, Min, Sum, Variance
from windrow.aggregates.engine.accumulator import Accumulator
from windrow.aggregates.extremes import LARGEST, SMALLEST
from windrow.aggregates.pairs import Pair
from windrow.aggregates.summing import FLOATS
from windrow.rows import wire
from windrow.spark.plans.clock import as_integer
from windrow.spark.plans.shuffle import select_rows
from windrow.spark.plans.sums import sum_state
from windrow.spark.resolve.columns import column
from windrow.windows.gather import FARTHEST_PANE
from windrow.windows.query import WindowQuery

Native = Callable[[list[Column], bool], list[Column]]
"""A function from the values of an aggregate, and whether it stores integers, to the numbers of its state."""


def why_not_native_panes(request: WindowQuery) -> str | None:
    """Return why Catalyst alone cannot aggregate the panes, or None if it can."""
    if request.unit != "time":
        return "windows that are counted need each group's tuples in order"
    if request.options.using:
        return "a synopsis takes each group's tuples in order"
    for name, aggregate in request.agg.items():
        if _native_form(aggregate) is None:
            what = "Spark has no partial form for" if aggregate.builtin else "only the kernel knows"
            return f"agg {name!r} is {aggregate!r}, which {what}"
    return None


def native_panes(df: DataFrame, request: WindowQuery) -> DataFrame:
    """Aggregate panes in one aggregation. No row leaves the JVM, only panes do."""
    tuples, layout = select_rows(df, request)
    names = iter(layout.values)
    sums: list[Column] = []
    for j, (aggregate, accumulator) in enumerate(zip(request.agg.values(), request.accumulators, strict=True)):
        read = [next(names) for _ in range(aggregate.reads)]
        sums += _native_state(wire.state(j), accumulator, read, request.types)
    return tuples.withColumn("pane", pane_number(request)).groupBy(*layout.by, "pane").agg(*sums)


def _native_state(
    prefix: str, accumulator: Accumulator, read: list[str | None], types: dict[str, pa.DataType]
) -> list[Column]:
    """Return the state columns of an aggregate, named as in `States`. `read` names the columns it reads, if any."""
    aggregate, integral = accumulator.aggregate, accumulator.integral
    kinds = [types[name] for name in aggregate.columns] or [pa.int64()]
    values = [F.lit(1) if at is None else _as_number(at, kind, integral) for at, kind in zip(read, kinds, strict=True)]
    form = _native_form(aggregate)
    assert form is not None
    whole = integral and isinstance(aggregate, Sum)
    state = sum_state(values[0], kinds[0]) if whole else form(values, integral)
    numbers = [number.cast("bigint" if integral else "double") for number in state]
    named = [number.alias(f"{prefix}numbers{i}") for i, number in enumerate(numbers)]
    return [F.count(_together(values)).alias(f"{prefix}seen"), *named]


def pane_number(request: WindowQuery) -> Column:
    """Return the number of each row's pane, exactly as the kernel counts them."""
    pane = request.pane
    if request.clock.kind == "float":
        return _pane_of_float(column("on").cast("double"), F.lit(float(pane)))
    since, length = as_integer(column("on"), request.clock.type), F.lit(pane).cast("bigint")
    # Division truncates towards zero; a negative remainder belongs to the pane below.
    below = F.when((since < 0) & (since % length != 0), 1).otherwise(0)
    return F.call_function("div", since, length) - below


def _pane_of_float(on: Column, pane: Column) -> Column:
    """Return the pane, as the kernel does: the quotient can round across a boundary, so the definition decides."""
    inside = F.abs(on / pane) <= F.lit(FARTHEST_PANE)
    near = F.floor(F.when(inside, on / pane).otherwise(0.0))
    nearby = F.when(near * pane > on, near - 1).when((near + 1) * pane <= on, near + 1).otherwise(near)
    advice = " is too far from zero for windows, which are numbered with 64 bits; drop such rows"
    refused = F.concat(F.lit("on: "), on.cast("string"), F.lit(advice))
    return F.when(inside, nearby).otherwise(F.raise_error(refused).cast("bigint"))


def _as_number(at: str, kind: pa.DataType, integral: bool) -> Column:
    """Return a column as the numbers that the kernel would read."""
    return as_integer(column(at), kind) if integral else column(at).cast("double")


def _together(values: list[Column]) -> Column:
    """Return an expression that is null if any of the values is null."""
    whole = values[0]
    for value in values[1:]:
        whole = F.when(value.isNotNull(), whole)
    return whole


def _count(values: list[Column], integral: bool) -> list[Column]:
    return [F.count(values[0])]


def _sum(values: list[Column], integral: bool) -> list[Column]:
    """Return the state of a sum of floats. For integers it depends on their width; see `sum_state`."""
    return [F.coalesce(F.sum(values[0]), F.lit(0.0)), F.lit(float(FLOATS))]


def _mean(values: list[Column], integral: bool) -> list[Column]:
    return [F.count(values[0]), F.coalesce(F.sum(values[0]), F.lit(0.0))]


def _min(values: list[Column], integral: bool) -> list[Column]:
    return [F.coalesce(F.min(values[0]), F.lit(LARGEST if integral else float("nan")))]


def _max(values: list[Column], integral: bool) -> list[Column]:
    return [F.coalesce(F.max(values[0]), F.lit(SMALLEST if integral else float("-inf")))]


def _variance(values: list[Column], integral: bool) -> list[Column]:
    (x,) = values
    n = F.count(x)
    return [n, F.coalesce(F.avg(x), F.lit(0.0)), F.coalesce(F.var_pop(x) * n, F.lit(0.0))]


def _pair(values: list[Column], integral: bool) -> list[Column]:
    x, y = (F.when(_together(values).isNotNull(), value) for value in values)
    n = F.count(x)
    means = [F.avg(x), F.avg(y)]
    spreads = [F.var_pop(x) * n, F.var_pop(y) * n, F.covar_pop(x, y) * n]
    return [n, *(F.coalesce(part, F.lit(0.0)) for part in means + spreads)]


_NATIVE: dict[type[AggregateFunction], Native] = {
    Count: _count, Sum: _sum, Mean: _mean, Min: _min, Max: _max, Variance: _variance, Pair: _pair,
}  # fmt: skip
"""The states that Catalyst can compute, by class of aggregate."""


def _native_form(aggregate: AggregateFunction) -> Native | None:
    if not aggregate.builtin:
        return None
    return next((form for kind, form in _NATIVE.items() if isinstance(aggregate, kind)), None)
