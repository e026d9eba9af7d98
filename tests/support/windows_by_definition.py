"""Windows of random rows straight from their definition."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

import windrow as wr
from streams import Span, Trail
from windrow.aggregates.engine.accumulator import Accumulator
from windrow.rows.buffers.waiting import MemoryShelf
from windrow.rows.clock import Clock
from windrow.rows.ordering import read_in_order
from windrow.rows.query import Layout, Reader
from windrow.rows.roles import Roles
from windrow.windows import DistinctTimes, Landmark, Rows, Sliding, Window
from windrow.windows.gather import Gatherer
from windrow.windows.query import WindowOptions, WindowQuery
from windrow.windows.slider import Slider
from windrow.windows.stream import SlidePlan, StreamSlider

INT64 = pa.int64()


INTEGERS = Clock.of(INT64, "on")


AGG = {
    "n": wr.count(), "sum": wr.sum("v"), "first": wr.first("v"), "last": wr.last("v"), "min": wr.min("v"),
    "mean": wr.mean("v"), "variance": wr.variance("v"), "median": wr.median("v"), "top": wr.top_k("v", 2),
    "span": Span("v"), "trail": Trail("v"),
}  # fmt: skip


FREE = {name: aggregate for name, aggregate in AGG.items() if aggregate.builtin and not aggregate.order_sensitive}
"""Aggregates that do not depend on the order of rows."""


TYPES = {"g": pa.int64(), "on": pa.int64(), "v": pa.int64()}


class Row(NamedTuple):
    g: int
    on: int
    v: int | None


class Found(NamedTuple):
    """A window: its kind, its group, its start and end, whether it is complete, its values."""

    kind: str
    g: int
    start: int
    end: int
    complete: bool
    values: tuple[int | None, ...]


ROWS = st.lists(
    st.builds(Row, st.integers(0, 2), st.integers(-20, 40), st.none() | st.integers(-5, 5)), max_size=25
).map(lambda rows: sorted(rows, key=lambda u: (u.g, u.on, u.v is not None, u.v)))


@st.composite
def timed(draw: st.DrawFn) -> Window:
    emit = draw(st.integers(1, 3))
    every = emit * draw(st.integers(1, 3))
    if draw(st.integers(0, 3)) == 0:
        return Landmark(every)
    return Sliding(every + draw(st.integers(0, 9)), every, draw(st.sampled_from([None, emit])))


@st.composite
def counted(draw: st.DrawFn, kind: type[Rows]) -> Window:
    every = draw(st.integers(1, 4))
    return kind(every + draw(st.integers(0, 5)), every)


def several(one: st.SearchStrategy[Window]) -> st.SearchStrategy[list[Window]]:
    return st.lists(one, min_size=1, max_size=3, unique_by=repr)


KINDS = st.one_of(several(timed()), several(counted(Rows)), several(counted(DistinctTimes)))


def slide_of(windows: list[Window], agg: dict[str, Any], value: pa.DataType = INT64, **options: Any) -> WindowQuery:
    kinds = WindowOptions({repr(window): window for window in windows}, named=True, **options)
    return WindowQuery(kinds, Roles("on", ("g",), (), agg, TYPES | {"v": value}))


def plan_of(slide: WindowQuery, **options: bool) -> SlidePlan:
    return SlidePlan(slide, _layout(slide), **options)


def _layout(slide: WindowQuery) -> Layout:
    return Layout("on", ("g",), {}, {}, tuple(slide.values))


def by_definition(
    rows: list[Row], windows: list[Window], until: int | None = None, *, empty: bool = False
) -> list[Found]:
    """All windows, found by looking at every instant, or number of rows, at which one can end.

    A group has reached its last row, and the instant `until` that the watermark of a stream has reached.
    """
    found: list[Found] = []
    for window in windows:
        for g in sorted({u.g for u in rows}):
            mine = [u for u in rows if u.g == g]
            if isinstance(window, Rows):
                found += _counted(mine, window)
            else:
                found += _timed(mine, window, until, empty)
    return found


def _timed(mine: list[Row], window: Window, until: int | None, empty: bool) -> list[Found]:
    shape = window.shape(INTEGERS)
    low, high = mine[0].on, mine[-1].on
    past = high if until is None else max(high, until)
    emit = shape.emit or shape.every
    reported = []
    for end in range((low - 50) // emit * emit, high + 60, emit):
        whole = -(-end // shape.every) * shape.every
        start = low // shape.every * shape.every if shape.length is None else whole - shape.length
        inside = tuple(u.v for u in mine if start <= u.on < end)
        reported.append(Found(repr(window), mine[0].g, start, end, end == whole and end <= past, inside))
    if shape.length is None:
        reported = [w for w in reported if w.values and w.end <= high // shape.every * shape.every + shape.every]
    full = [i for i, w in enumerate(reported) if w.values]
    return reported[full[0] : full[-1] + 1] if empty else [w for w in reported if w.values]


def _counted(mine: list[Row], window: Rows) -> list[Found]:
    place = list(range(len(mine)))
    if isinstance(window, DistinctTimes):
        times = sorted({u.on for u in mine})
        place = [times.index(u.on) for u in mine]
    n, found = place[-1] + 1, []
    for end in range(window.every, n + window.every, window.every):
        inside = [u for u, at in zip(mine, place, strict=True) if end - window.n <= at < end]
        complete = end <= n and end >= window.n
        found.append(Found(repr(window), mine[0].g, inside[0].on, inside[-1].on, complete, tuple(u.v for u in inside)))
    return found


def aggregated(aggregate: wr.AggregateFunction, values: tuple[int | None, ...]) -> Any:
    accumulator = Accumulator(aggregate, pa.int64())
    states = accumulator.empty(1)
    column = pa.array(list(values) if aggregate.columns else [0] * len(values), pa.int64())
    accumulator.accumulate(states, np.zeros((len(values), 1), np.int64), accumulator.read(column))
    return accumulator.finish(states)[0].as_py()


def rows_of(found: list[Found], agg: dict[str, Any]) -> list[tuple[Any, ...]]:
    rows = [
        (w.g, w.kind, w.start, w.end, w.complete, *(aggregated(aggregate, w.values) for aggregate in agg.values()))
        for w in found
    ]
    return ordered(rows)


def rows_in(tables: list[pa.Table]) -> list[tuple[Any, ...]]:
    return ordered([tuple(row.values()) for table in tables for row in table.to_pylist()])


def ordered(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    rounded = [tuple(round(x, 9) if isinstance(x, float) else x for x in row) for row in rows]
    return sorted(rounded, key=lambda row: (row[1], row[0], row[3], row[2], repr(row)))


def table_of(rows: list[Row], value: pa.DataType = INT64) -> pa.Table:
    types = TYPES | {"v": value}
    return pa.table({name: pa.array([getattr(u, name) for u in rows], kind) for name, kind in types.items()})


def slid(rows: list[Row], slide: WindowQuery, cuts: list[int]) -> list[pa.Table]:
    """The windows of rows that come in the order of `on`, cut into batches where the cuts are."""
    reader, gatherer = Reader(slide, _layout(slide)), Gatherer(slide)
    slider = Slider(slide, reader.directory)
    rows = sorted(rows, key=lambda u: u.on)
    found = []
    for on in [*sorted(cuts), 1_000]:
        batch = [u for u in rows if u.on <= on]
        rows = rows[len(batch) :]
        slider.add(*gatherer.gather(read_in_order(reader, table_of(batch))))
        found += slider.report(gatherer.past(slider.latest()))
    return [*found, *slider.report(gatherer.past(slider.latest()), final=True)]


CUTS = st.lists(st.integers(-20, 40), max_size=3)


@st.composite
def stories(draw: st.DrawFn) -> tuple[list[Row], list[list[Row]], list[int | None]]:
    """Rows, in which batch each of them arrives, and a watermark per batch that makes none of them late."""
    rows = draw(ROWS)
    n = draw(st.integers(1, 5))
    arrives = draw(st.lists(st.integers(0, n - 1), min_size=len(rows), max_size=len(rows)))
    batches = [[u for u, at in zip(rows, arrives, strict=True) if at == i] for i in range(n)]
    marks: list[int | None] = [None]
    for i in range(n):
        still = [u.on for batch in batches[i + 1 :] for u in batch]
        mark = draw(st.none() | st.integers(-25, 60))
        if mark is not None and marks[-1] is not None:
            mark = max(mark, marks[-1])
        if mark is not None:
            mark = min([mark, *(on - 1 for on in still)])
        marks.append(marks[-1] if mark is None else mark)
    return rows, batches, marks[1:]


EXACT = {
    "Recomputation": "total",
    "TwoStacks": "mean",
    "DABA": "total",
    "FiBA": "mean",
    "Panes": "total",
    "Ordered": "median",
}


FLOATS = [0.0, -0.0, 1.0, -1.0, 0.1, -2.5, 5e-324, -5e-324]


ENDLESS = [float("nan"), float("inf"), float("-inf")]


KEEPERS = {
    "Recomputation": {"sum": wr.sum("v"), "max": wr.max("v"), "kurtosis": wr.kurtosis("v")},
    "TwoStacks": {"sum": wr.sum("v"), "mean": wr.mean("v"), "max": wr.max("v")},
    "DABA": {"sum": wr.sum("v"), "max": wr.max("v")},
    "FiBA": {"mean": wr.mean("v")},
    "Panes": {"sum": wr.sum("v"), "variance": wr.variance("v")},
    "Ordered": {"median": wr.median("v"), "least": wr.quantile("v", 0.0), "most": wr.quantile("v", 1.0)},
}
"""What exact synopses keep, whatever the numbers are."""


def valued(values: list[Any]) -> st.SearchStrategy[list[Row]]:
    """Rows in the order of `on`, of such values."""
    value = st.none() | st.sampled_from(values)
    rows = st.lists(st.builds(Row, st.integers(0, 1), st.integers(-20, 40), value), min_size=1, max_size=25)
    return rows.map(lambda found: sorted(found, key=lambda u: u.on))


def windows_kept(rows: list[Row], windows: list[Window], agg: dict[str, Any], kind: pa.DataType, **options: Any):
    """The windows of a stream of one batch, as a table; or what it refuses them with."""
    bucket = StreamSlider(plan_of(slide_of(windows, agg, kind, **options)), MemoryShelf())
    found = [*bucket.step([table_of(rows, kind)], None)[0], *bucket.finish()]
    return pa.concat_tables(found).sort_by([("window", "ascending"), ("g", "ascending"), ("end", "ascending")])


def assert_same_column(found: pa.ChunkedArray, wanted: pa.ChunkedArray) -> None:
    """Two columns have nulls in the same places, NaN in the same places, and else numbers that are near."""
    assert found.is_null().to_pylist() == wanted.is_null().to_pylist()
    kept, right = ([float(x) for x in column.drop_null().to_pylist()] for column in (found, wanted))
    np.testing.assert_allclose(kept, right, rtol=1e-9, atol=0)


QUANTILE = {"q": wr.quantile("v", 0.9, eps=0.05), "n": wr.count()}
