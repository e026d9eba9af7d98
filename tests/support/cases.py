"""Tables and queries that every engine must frame alike, and the frames they must find."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import windrow as wr
from windrow.aggregates import AggregateFunction
from windrow.framing.query import FrameQuery, frames_table
from windrow.predicates.parse import parse_predicate
from windrow.rows.query import Layout, Reader
from windrow.rows.roles import Roles

Rows = list[tuple[Any, ...]]
CLOCK_CHANGE, STEPS_BEFORE = 1_711_846_800_000_000, 300
"""When clocks skip an hour in Berlin, and where that is among the steps of a table."""


class Spread(wr.AggregateFunction):
    """The largest minus the smallest value, as a user would write it."""

    @staticmethod
    def zero():
        return (math.inf, -math.inf)

    @staticmethod
    def add(s, x):
        return (min(s[0], x), max(s[1], x))

    @staticmethod
    def merge(a, b):
        return (min(a[0], b[0]), max(a[1], b[1]))

    @staticmethod
    def finish(s):
        return s[1] - s[0]


class NativeSpread(Spread):
    """A user's aggregate that Spark SQL can compute too, over integers as an integer."""

    spark_sql = "max({x}) - min({x})"
    spark_sql_state = ("min({x})", "max({x})")


class LargestProduct(wr.AggregateFunction):
    """A user's aggregate of two columns."""

    reads = 2
    spark_sql = "max({x} * {y})"

    @property
    def columns(self):
        return (self.column, "g")

    @staticmethod
    def zero():
        return (-math.inf,)

    @staticmethod
    def add(s, x, y):
        return (max(s[0], x * y),)

    @staticmethod
    def merge(a, b):
        return (max(a[0], b[0]),)

    @staticmethod
    def finish(s):
        return s[0]


AGGREGATES: dict[str, AggregateFunction] = {
    "n": wr.count(),
    "known": wr.count("v"),
    "total": wr.sum("v"),
    "average": wr.mean("x"),
    "least": wr.min("v"),
    "most": wr.max("x"),
    "opening": wr.first("v"),
    "closing": wr.last("x"),
    "spread": wr.variance("x"),
}


def table(rows: int, groups: int, seed: int = 7, skew: float = 2.0) -> pa.Table:
    """Random walks of groups of very different size, with ties, gaps, nulls, NaN; in random order."""
    rng = np.random.default_rng(seed)
    g = (groups * rng.random(rows) ** skew).astype(np.int64)
    t = np.sort(rng.integers(0, 2 * rows, rows)) // groups
    x = np.empty(rows)
    level = rng.normal(0, 1, groups)
    for i in range(rows):
        level[g[i]] = 0.9 * level[g[i]] + rng.normal(0, 0.6)
        x[i] = round(level[g[i]], 2)
    v = rng.integers(0, 10, rows)
    gone = rng.random(rows)
    made = pa.table(
        {
            "g": pa.array(g),
            "t": pa.array(t),
            "x": pa.array(np.where(gone < 0.02, np.nan, x), mask=(gone > 0.02) & (gone < 0.05)),
            "v": pa.array(v, mask=gone > 0.95),
            "state": pa.array(np.select([x > 0.4, x < -0.4], ["high", "low"], "OFF"), mask=gone > 0.93),
            "text": pa.array([f"payload {i}" for i in range(rows)]),
        }
    )
    return made.take(pa.array(rng.permutation(rows)))


def on_the_clock(data: pa.Table) -> pa.Table:
    """The same with `t` as instants, ten minutes for each step, around a night in which clocks change in Berlin."""
    micros = CLOCK_CHANGE + 600_000_000 * (pc.subtract(data.column("t"), STEPS_BEFORE)).to_numpy()
    return data.set_column(data.column_names.index("t"), "t", pa.array(micros).cast(pa.timestamp("us", "UTC")))


def in_minutes(scheme: wr.Scheme) -> wr.Scheme:
    """A scheme with the durations that its numbers have in `on_the_clock`."""
    if isinstance(scheme, wr.Conjunction):
        return wr.Conjunction([in_minutes(part) for part in scheme.parts])
    numbers = {name: getattr(scheme, name, None) for name in ("gap", "max_gap", "min_duration", "max_duration")}
    return replace(scheme, **{name: f"{10 * n} minutes" for name, n in numbers.items() if n is not None})


def with_outages(rows: int, groups: int) -> pa.Table:
    """As `table`, with a long silence of all groups, and hours in which an attribute is missing everywhere."""
    made = table(rows, groups)
    t = made.column("t").to_numpy()
    last = int(t.max())
    dark = (t > last // 3) & (t < last // 2)
    t = np.where(t > 2 * last // 3, t + last, t)
    x = pc.if_else(pa.array(dark), pa.scalar(None, pa.float64()), made.column("x"))
    return made.set_column(1, "t", pa.array(t)).set_column(2, "x", x)


def frame_locally(
    data: pa.Table,
    scheme: wr.Scheme,
    on: str,
    by: Sequence[str],
    agg: Mapping[str, AggregateFunction],
    order_by: Sequence[str] = (),
) -> pa.Table:
    """The frames by the kernel alone, over rows sorted by plain Python."""
    types = {name: data.schema.field(name).type for name in data.column_names}
    evaluate = {name: parse_predicate(text).compile(data.schema) for name, text in scheme.predicates.items()}
    request = FrameQuery(scheme, Roles(on, tuple(by), tuple(order_by), dict(agg), types))
    layout = Layout(on, request.by, evaluate, {n: n for n in scheme.attributes}, tuple(request.values))
    keys = [data.column(name) for name in (*by, on, *order_by)]
    keys += [truth(data) for truth in evaluate.values()]
    keys += [data.column(name) for name in (*scheme.attributes, *filter(None, request.values))]
    order = sorted(range(data.num_rows), key=_sort_key([key.to_pylist() for key in keys]))
    reader, framer = Reader(request, layout), request.framer()
    closed = framer.process(reader.read(data.take(pa.array(order, pa.int64())).combine_chunks()))
    result = [frames_table(request, reader.directory.keys(), frames) for frames in (closed, framer.finish())]
    return pa.concat_tables(result)


def _sort_key(columns: list[list[Any]]):
    def key(i: int) -> tuple[Any, ...]:
        parts: list[Any] = []
        for column in columns:
            value = column[i]
            nan = isinstance(value, float) and math.isnan(value)
            parts.append((value is not None, nan, 0 if value is None or nan else value))
        return tuple(parts)

    return key


def rows_of(result: pa.Table, by: Sequence[str]) -> Rows:
    """Frames as sorted rows of plain values; floats are rounded to what all orders of adding agree on."""
    result = result.sort_by([(name, "ascending") for name in (*by, "frame")])
    columns = []
    for column in result.columns:
        if pa.types.is_timestamp(column.type):
            column = pc.cast(column, pa.timestamp("us", column.type.tz))
        columns.append([_plain(value) for value in column.to_pylist()])
    return list(zip(*columns, strict=True))


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else float(f"{value:.9g}") + 0.0
    if isinstance(value, datetime.datetime) and value.tzinfo:
        return value.astimezone(datetime.UTC)
    return value
