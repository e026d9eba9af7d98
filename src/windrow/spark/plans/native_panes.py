"""Panes aggregated by Catalyst alone: no row leaves the JVM."""

from __future__ import annotations

from itertools import islice

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from windrow.aggregates.engine.accumulator import Accumulator
from windrow.aggregates.engine.codes import is_coded
from windrow.rows import wire
from windrow.spark.plans.clock import as_integer
from windrow.spark.plans.declared import filled, kinds_of, masked
from windrow.spark.plans.shuffle import select_rows
from windrow.spark.resolve.columns import column
from windrow.windows.gather import FARTHEST_PANE
from windrow.windows.query import WindowQuery


def why_not_native_panes(request: WindowQuery) -> str | None:
    """Return why Catalyst alone cannot aggregate the panes, or None if it can."""
    if request.unit != "time":
        return "counted windows need the rows of each group in order"
    if request.options.using:
        return "a synopsis needs the rows of each group in order"
    for name, aggregate in request.agg.items():
        if aggregate.spark_sql_state_over(*kinds_of(aggregate, request.types)) is None:
            owner = "" if aggregate.builtin else "user-defined "
            return f"agg {name!r}: Spark SQL cannot compute the partial state of the {owner}aggregate {aggregate!r}"
    return None


def native_panes(df: DataFrame, request: WindowQuery) -> DataFrame:
    """Aggregate panes in one aggregation. No row leaves the JVM, only panes do."""
    rows, layout = select_rows(df, request)
    values = iter(layout.values)
    chosen, sums = [*map(column, layout.by), pane_number(request).alias("pane")], []
    for j, accumulator in enumerate(request.accumulators):
        kinds = kinds_of(accumulator.aggregate, request.types)
        columns = [name for name in islice(values, accumulator.aggregate.reads) if isinstance(name, str)]
        names = [f"{wire.state(j)}{name}" for name in columns]
        numbers = _numbers(columns, kinds, accumulator)
        chosen += [number.alias(name) for number, name in zip(numbers, names, strict=True)]
        sums += _state(wire.state(j), accumulator, names, kinds)
    return rows.select(*chosen).groupBy(*layout.by, "pane").agg(*sums)


def _numbers(columns: list[str], kinds: list[pa.DataType], accumulator: Accumulator) -> list[Column]:
    """Return the columns that an aggregate reads, as the numbers that the kernel would read or as values to compare."""
    if accumulator.aggregate.only_compares and any(map(is_coded, kinds)):
        return [column(name) for name in columns]
    if accumulator.integral:
        return masked([as_integer(column(name), kind) for name, kind in zip(columns, kinds, strict=False)])
    return masked([column(name).cast("double") for name in columns])


def _state(prefix: str, accumulator: Accumulator, names: list[str], kinds: list[pa.DataType]) -> list[Column]:
    """Return the state columns of an aggregate over columns of these names, named as in `States`."""
    integral = accumulator.integral
    templates, zero = accumulator.aggregate.spark_sql_state_over(*kinds), accumulator.aggregate.zero_state(integral)
    assert templates is not None
    number = "bigint" if integral else "double"
    state = [filled("count({x})", names).alias(f"{prefix}seen")]
    for i, (template, empty) in enumerate(zip(templates, zero, strict=True)):
        value = filled(template, names)
        if accumulator.coding is None or accumulator.coding.at != i:
            value = F.coalesce(value.cast(number), F.lit(empty).cast(number))
        state.append(value.alias(f"{prefix}numbers{i}"))
    return state


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
