"""Aggregates over time are the integrals of piecewise functions, in frames, filled frames and windows."""

from __future__ import annotations

import math
from datetime import timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from fill_streams import Story, filled, members, plan_for, stories
from fuzz.over_time import over_time
from streams import FEWER
from windrow.aggregates.base import name_of
from windrow.aggregates.engine.accumulator import Accumulator
from windrow.aggregates.over_time import Extents
from windrow.aggregates.over_time.base import OverTime
from windrow.aggregates.over_time.clock import PlainClock
from windrow.aggregates.text import as_aggregate
from windrow.filling.sweep import Summary, SweepBatch
from windrow.framing.parallel.in_process import Case
from windrow.framing.stream import StreamFramer, StreamPlan
from windrow.predicates.parse import parse_predicate
from windrow.rows.buffers.waiting import MemoryShelf
from windrow.rows.clock import Clock
from windrow.rows.ordering import read_in_order
from windrow.rows.query import Layout, Reader
from windrow.rows.roles import Condition, Roles
from windrow.windows import Keep
from windrow.windows.in_order import WindowsInOrder
from windrow.windows.query import WindowOptions, WindowQuery
from windrow.windows.stream import SlidePlan, StreamSlider

LARGEST = 2**63 - 1
VALUES = st.none() | st.integers(-4, 4).map(float)


@st.composite
def aggregates(draw: st.DrawFn, carries: bool = True) -> OverTime:
    """Any aggregate over time of the column `x`, on a clock of numbers."""
    hold = draw(st.sampled_from((None, None, 0, 1, 2.5, 4)))
    carry = carries and draw(st.booleans())
    kind = draw(st.sampled_from(("mean", "integral", "linear", "duration", "time_in")))
    if kind == "duration":
        return wr.duration(max_hold=hold, carry=carry)
    if kind == "time_in":
        return wr.time_in("x > 0", max_hold=hold, carry=carry)
    if kind == "linear":
        return draw(st.sampled_from((wr.time_mean, wr.integral)))("x", method="linear", max_hold=hold)
    return {"mean": wr.time_mean, "integral": wr.integral}[kind]("x", max_hold=hold, carry=carry)


def value_for(aggregate: OverTime, x: float | None) -> float | None:
    """What an aggregate takes from a row."""
    name = name_of(type(aggregate))
    if name == "duration":
        return 1.0
    return float(x is not None and x > 0) if name == "time_in" else x


def by_definition(
    aggregate: OverTime, rows: list[tuple[Any, Any]], earlier: list[tuple[Any, Any]], start: Any, end: Any
) -> float | None:
    """The result for the rows of an extent and those before it, given as pairs of `on` and `x`."""
    own, before = ([(t, value_for(aggregate, x)) for t, x in some] for some in (rows, earlier))
    known = [row for row in before if row[1] is not None]
    return over_time(
        name_of(type(aggregate)),
        own,
        start,
        end,
        method=aggregate.method,
        max_hold=aggregate.max_hold,
        before=known[-1] if aggregate.carry and known else None,
    )


def assert_close(found: Any, wanted: Any, note: Any = None) -> None:
    assert (found is None) == (wanted is None), (found, wanted, note)
    assert found is None or math.isclose(found, wanted, rel_tol=1e-9, abs_tol=1e-9), (found, wanted, note)


# The algebra.


@FEWER
@given(
    aggregate=aggregates(carries=False),
    parts=st.lists(st.lists(st.tuples(st.integers(0, 3), VALUES), max_size=4), max_size=5),
    shift=st.sampled_from((0, 10**15, -LARGEST)),
    data=st.data(),
)
def test_parts_merge_to_the_whole_in_any_grouping(aggregate: OverTime, parts: Any, shift: int, data: Any) -> None:
    on, rows = shift, []
    for part in parts:
        stretch = []
        for step, x in part:
            on += step
            stretch.append((on, x))
        rows.append(stretch)
    accumulator = Accumulator(aggregate, pa.float64(), clock=PlainClock(np.dtype(np.int64)))
    flat = [row for part in rows for row in part]
    slots = np.array([k for k, part in enumerate(rows) for _ in part], np.int64).reshape(-1, 1)
    values = accumulator.with_on(
        accumulator.read(pa.array([value_for(aggregate, x) for _, x in flat], pa.float64())),
        np.array([t for t, _ in flat], np.int64),
    )
    states = accumulator.empty(len(rows))
    accumulator.accumulate(states, slots, values)
    alive = list(range(len(rows)))
    while len(alive) > 1:
        at = data.draw(st.integers(0, len(alive) - 2))
        into = np.arange(len(rows))
        into[alive[at + 1]] = alive[at]
        accumulator.merge(states, into, np.array([alive.pop(at + 1)]))
    end = on + data.draw(st.integers(0, 5))
    if rows:
        one = states.take(np.array(alive))
        found = accumulator.finish(one, Extents(np.array([shift]), np.array([end])))[0].as_py()
        assert_close(found, by_definition(aggregate, flat, [], shift, end), flat)


def test_differences_of_large_integers_are_exact() -> None:
    on = [-LARGEST - 1, -LARGEST, LARGEST - 2, LARGEST]
    assert wr.integral("x").compute([1.0, 0.0, 3.0, 9.0], on) == 7.0
    assert wr.duration().compute([LARGEST - 1, LARGEST]) == 1.0
    assert wr.duration().compute([-LARGEST - 1, LARGEST]) == 2.0**64


def test_equal_infinite_instants_are_no_time_apart() -> None:
    assert wr.duration(max_hold=5.0).compute([-math.inf, -math.inf, 0.0, 2.0, math.inf, math.inf]) == 12.0


def test_a_value_that_holds_for_no_time_adds_nothing_even_if_it_is_infinite_or_nan() -> None:
    assert wr.integral("x").compute([math.inf, 2.0, math.nan, 1.0, math.nan], [0, 0, 5, 5, 6]) == 11.0
    assert math.isnan(wr.time_mean("x").compute([1.0, math.nan, 1.0], [0, 1, 2]))
    assert wr.integral("x", method="linear").compute([math.inf, 2.0, 4.0, math.nan], [0, 0, 1, 9]) != 3.0
    assert wr.integral("x", method="linear", max_hold=1).compute([math.inf, 2.0, 4.0, math.nan], [0, 0, 1, 9]) == 3.0


def test_of_rows_with_equal_on_only_the_last_holds() -> None:
    assert wr.time_mean("x").compute([1.0, 9.0, 3.0, 5.0], [0, 0, 2, 4]) == 6.0
    assert wr.integral("x", method="linear").compute([0.0, 9.0, 3.0, 5.0], [0, 2, 2, 4]) == 11.0


def test_without_values_all_are_null_and_without_time_only_the_mean() -> None:
    for aggregate in (wr.time_mean("x"), wr.integral("x")):
        assert aggregate.compute([None, None], [0, 1]) is None
    assert wr.duration().compute([]) is None
    assert wr.time_mean("x").compute([4.0], [0]) is None
    assert (wr.integral("x").compute([4.0], [0]), wr.duration().compute([0])) == (0.0, 0.0)


# Frames.

SCHEMES = (
    wr.Threshold("x > 0"),
    wr.Threshold("y > 0", segments=True, min_count=2),
    wr.Delta({"y": 1.0}, min_count=2),
    pytest.param(wr.Threshold("y < 2", min_count=2), marks=pytest.mark.long),
    pytest.param(wr.Boundary({"y": 2.0}), marks=pytest.mark.long),
    pytest.param(wr.DoubleBoundary({"y": 2.0}), marks=pytest.mark.long),
    pytest.param(wr.Gap(3), marks=pytest.mark.long),
)


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    n = draw(st.integers(0, 25))
    on = np.cumsum(draw(st.lists(st.sampled_from((0, 1, 1, 2, 5)), min_size=n, max_size=n)), dtype=np.int64)
    several = {"min_size": n, "max_size": n}
    return pa.table(
        {
            "g": pa.array(draw(st.lists(st.sampled_from("ab"), **several)), pa.string()),
            "t": pa.array(on, pa.int64()),
            "x": pa.array(draw(st.lists(VALUES, **several)), pa.float64()),
            "y": pa.array(draw(st.lists(st.sampled_from((None, 0, 1, 2, 3)), **several)), pa.float64()),
            "p": pa.array(range(n), pa.int64()),
        }
    )


def cuts_at(keys: list[tuple[str, int]]) -> pa.Table:
    return pa.table({"g": pa.array([g for g, _ in keys], pa.string()), "t": pa.array([t for _, t in keys], pa.int64())})


def check_frames(frames: list[dict[str, Any]], table: pa.Table, agg: dict[str, OverTime], scheme: wr.Scheme) -> None:
    """Compare the aggregates of frames with the definition; `first` and `last` are the places of its rows."""
    for frame in frames:
        rows = [row for row in table.to_pylist() if row["g"] == frame["g"]]
        own = [row for row in rows if frame["first"] <= row["p"] <= frame["last"]]
        if scheme.attributes:
            own = [row for row in own if all(row[name] is not None for name in scheme.attributes)]
        earlier = [row for row in rows if row["p"] < frame["first"]]
        for name, aggregate in agg.items():
            pairs = ([(row["t"], row["x"]) for row in some] for some in (own, earlier))
            assert_close(frame[name], by_definition(aggregate, *pairs, frame["start"], frame["end"]), (name, frame))


def check_stream(case: Case, whole: pa.Table, marks: list[int], every: int | None, named: dict[str, OverTime]) -> None:
    """Compare with the frames of a stream that is saved and loaded at each watermark, in pieces if `every` is given."""
    plan = StreamPlan(case.request, case.layout, fragments=every is not None, every=every)
    bucket, tables, before = StreamFramer(plan, MemoryShelf()), [], -2
    for mark in [*marks, 1000]:
        on = pc.field("t")
        tables += bucket.step([case.table.filter((on > before) & (on <= mark))], mark)[0]
        bucket, before = StreamFramer.load(plan, bucket.shelf, bucket.save()), mark
    found = [row for table in [*tables, *bucket.finish()] for row in table.to_pylist()]
    last = sorted((row for row in found if row["final"]), key=lambda row: (row["g"], row["frame"]))
    for mine, theirs in zip(whole.to_pylist(), last, strict=True):
        assert [theirs[name] for name in ("g", "first", "last")] == [mine[name] for name in ("g", "first", "last")]
        for name in named:
            assert_close(theirs[name], mine[name], (name, mine))
    starts = {(row["g"], row["frame"]): row["start"] for row in whole.to_pylist()}
    pieces = [row | {"start": starts[row["g"], row["frame"]]} for row in found if not row["final"]]
    check_frames(pieces, case.table, named, case.scheme)


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
@FEWER
@given(table=tables(), agg=st.lists(aggregates(), min_size=1, max_size=3), data=st.data())
def test_frames_however_rows_are_cut(scheme: wr.Scheme, table: pa.Table, agg: Any, data: Any) -> None:
    named = {f"a{j}": aggregate for j, aggregate in enumerate(agg)}
    places = {"first": wr.first("p"), "last": wr.last("p")}
    case = Case(table, scheme, "t", ("g",), {**named, **places}, ("p",))
    whole = case.whole()
    check_frames(whole.to_pylist(), table, named, scheme)
    upto = sorted(data.draw(st.sets(st.integers(-1, 40), max_size=4)))
    check_stream(case, whole, upto, None, named)
    if not getattr(scheme, "segments", False):
        check_stream(case, whole, upto, 4, named)
    cuts = cuts_at(sorted(data.draw(st.sets(st.tuples(st.sampled_from("ab"), st.integers(0, 30)), max_size=3))))
    ways = (case.whole(batch=3), case.chunks(upto, batch=4), case.chunks(upto, buckets=2), case.ranges(cuts, batch=5))
    for other in ways:
        assert len(other) == len(whole)
        for mine, theirs in zip(whole.to_pylist(), other.to_pylist(), strict=True):
            for name, value in mine.items():
                if name in named:
                    assert_close(theirs[name], value, (name, mine))
                else:
                    assert theirs[name] == value


# Frames filled from another source.


@FEWER
@given(
    frames=st.lists(st.tuples(st.sampled_from((0, 1)), st.integers(0, 20), st.integers(-1, 12)), max_size=6),
    rows=st.lists(st.tuples(st.sampled_from((0, 1)), st.integers(0, 30), VALUES), max_size=20),
    agg=st.lists(aggregates(), min_size=1, max_size=3),
    cuts=st.lists(st.integers(0, 26), max_size=3),
    dtype=st.sampled_from((np.dtype(np.int64), np.dtype(np.float64))),
)
def test_filled_frames(frames: Any, rows: Any, agg: list[OverTime], cuts: list[int], dtype: Any) -> None:
    entries = [(g, start, start + length, k, True) for k, (g, start, length) in enumerate(frames)]
    entries += [(g, on, x, k, False) for k, (g, on, x) in enumerate(rows)]
    entries.sort(key=lambda entry: (entry[0], entry[1], not entry[4], entry[3]))
    accumulators = [Accumulator(aggregate, pa.float64(), clock=PlainClock(dtype)) for aggregate in agg]
    summary = Summary(accumulators, dtype)
    found = []
    for a, b in pairwise([0, *(min(cut, len(entries)) for cut in sorted(cuts)), len(entries)]):
        if piece := entries[a:b]:
            groups = dict.fromkeys([*([entries[a - 1][0]] if a else []), *(entry[0] for entry in piece)])
            code = {g: i for i, g in enumerate(groups)}
            batch = SweepBatch(
                np.array([code[entry[0]] for entry in piece], np.int64),
                np.array([entry[1] for entry in piece], dtype),
                np.array([entry[4] for entry in piece]),
                np.array([entry[2] for entry in piece if entry[4]], dtype),
            )
            x = [None if entry[4] else entry[2] for entry in piece]
            values = [
                k.with_on(k.read(pa.array([value_for(one, each) for each in x], pa.float64())), batch.on)
                for k, one in zip(accumulators, agg, strict=True)
            ]
            numbers = pa.table({"frame": pa.array([entry[3] for entry in piece if entry[4]], pa.int64())})
            found += summary.add(batch, numbers, values).to_pylist()
    last = summary.finish()
    found += [] if last is None else last.to_pylist()
    assert sorted(row["frame"] for row in found) == list(range(len(frames)))
    in_order = sorted(rows, key=lambda row: row[1])
    for row in found:
        group, start, length = frames[row["frame"]]
        mine = [(on, x) for g, on, x in in_order if g == group]
        own = [pair for pair in mine if start <= pair[0] <= start + length]
        earlier = [pair for pair in mine if pair[0] < start]
        for j, aggregate in enumerate(agg):
            wanted = by_definition(aggregate, own, earlier, start, start + length)
            assert_close(row[f"aggregate{j}"], wanted, (aggregate, frames[row["frame"]], mine))


@FEWER
@given(story=stories(), hold=st.sampled_from((None, 0, 3)))
def test_frames_filled_from_a_stream(story: Story, hold: int | None) -> None:
    agg: dict[str, OverTime] = {
        "mean": wr.time_mean("v", max_hold=hold),
        "line": wr.integral("v", method="linear", max_hold=hold),
        "time": wr.duration(max_hold=hold),
    }
    found, _ = filled(story, plan_for(story, agg))
    assert len(found) == len(story.frames)
    for row in found:
        start, end = story.frames[row["by0"], row["c0"]]
        own = [(u.on, u.v) for u in members(story, row["by0"], (start, end))]
        for j, aggregate in enumerate(agg.values()):
            assert_close(row[f"aggregate{j}"], by_definition(aggregate, own, [], start, end), (aggregate, own))


# Windows.

WINDOWS = (
    wr.Sliding(7, every=3),
    wr.Landmark(4),
    wr.Rows(4, every=2),
    pytest.param(wr.Tumbling(5), marks=pytest.mark.long),
    pytest.param(wr.Sliding(6, every=6, emit=2), marks=pytest.mark.long),
    pytest.param(wr.DistinctTimes(3, every=2), marks=pytest.mark.long),
)


def window_query(window: Any, agg: dict[str, Any], table: pa.Table, empty: bool) -> WindowQuery:
    types = dict(zip(table.column_names, table.schema.types, strict=True))
    return WindowQuery(WindowOptions({"w": window}, False, empty), Roles("t", ("g",), ("p",), agg, types))


def layout_of(query: WindowQuery, table: pa.Table) -> Layout:
    values = tuple(
        parse_predicate(value.text).compile(table.schema) if isinstance(value, Condition) else value
        for value in query.values
    )
    return Layout("t", ("g",), {}, {}, values, ("p",))


def check_windows(found: list[dict[str, Any]], table: pa.Table, agg: dict[str, OverTime]) -> None:
    for window in found:
        rows = [row for row in table.to_pylist() if row["g"] == window["g"]]
        if window["first"] is None:
            own, earlier = [], [row for row in rows if row["t"] < window["start"]]
        else:
            own = [row for row in rows if window["first"] <= row["p"] <= window["last"]]
            earlier = [row for row in rows if row["p"] < window["first"]]
        for name, aggregate in agg.items():
            pairs = ([(row["t"], row["x"]) for row in some] for some in (own, earlier))
            assert_close(window[name], by_definition(aggregate, *pairs, window["start"], window["end"]), (name, window))


@pytest.mark.parametrize("window", WINDOWS, ids=repr)
@FEWER
@given(table=tables(), agg=st.lists(aggregates(), min_size=1, max_size=3), empty=st.booleans(), data=st.data())
def test_windows_in_batches_and_in_streams(window: Any, table: pa.Table, agg: Any, empty: bool, data: Any) -> None:
    named = {f"a{j}": aggregate for j, aggregate in enumerate(agg)}
    query = window_query(window, {**named, "first": wr.first("p"), "last": wr.last("p")}, table, empty)
    assert not query.commutes
    cuts = data.draw(st.sets(st.integers(1, 24), max_size=4))
    on = table["t"].to_pylist()
    bounds = [0, *(c for c in sorted(cuts) if c < len(on) and on[c - 1] < on[c]), len(on)]
    reader = Reader(query, layout_of(query, table))
    windows, found = WindowsInOrder(query, reader.directory), []
    plan = SlidePlan(query, layout_of(query, table))
    bucket, streamed = StreamSlider(plan, MemoryShelf()), []
    for a, b in pairwise(bounds):
        found += windows.add(read_in_order(reader, table.slice(a, b - a)))
        if b > a:
            streamed += bucket.step([table.slice(a, b - a)], on[b - 1])[0]
            bucket = StreamSlider.load(plan, bucket.arrivals.waiting.shelf, bucket.save())
    found += windows.finish()
    streamed += bucket.finish()
    whole, later = (
        sorted((row for part in parts for row in part.to_pylist()), key=_place) for parts in (found, streamed)
    )
    check_windows(whole, table, named)
    check_windows(later, table, named)
    assert [_place(row) for row in later] == [_place(row) for row in whole]


def _place(row: dict[str, Any]) -> tuple[Any, ...]:
    return (row["g"], row["end"], row["start"], row["first"] or 0)


# Options and refusals.


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: wr.time_mean("x", method="cubic"), "time_mean: method: expected 'previous' or 'linear', got 'cubic'"),
        (lambda: wr.integral("x", method="linear", carry=True), "carry=True requires method='previous'"),
        (lambda: wr.integral("x", carry=1), "integral: carry: expected True or False, got 1"),
        (lambda: wr.duration(max_hold=-1), "duration: max_hold: expected a finite duration of zero or more, got -1"),
        (lambda: wr.duration(max_hold=math.inf), "expected a finite duration of zero or more, got inf"),
        (lambda: wr.duration(max_hold=math.nan), "expected a finite duration of zero or more, got nan"),
        (lambda: wr.duration(max_hold=timedelta(seconds=-1)), "expected a finite duration of zero or more"),
        (lambda: wr.duration(max_hold=True), "expected a duration such as '3 minutes', a timedelta or a number"),
        (lambda: wr.duration("x"), "duration takes no column and counts every row; got 'x'"),
        (lambda: wr.duration(method="linear"), "duration takes no method"),
        (lambda: wr.time_in("x > 3", method="linear"), "time_in takes no method"),
        (lambda: wr.time_in(" "), "TimeIn expects a condition such as 'speed > 80', got ' '"),
        (lambda: wr.time_in(5), "TimeIn expects a condition such as 'speed > 80', got 5"),
        (lambda: wr.time_mean(""), "TimeMean expects a column name, got ''"),
        (lambda: wr.Aggregate(wr.integral("x"), ">", 5), "Aggregate: integral.* depends on where the frame ends"),
        (lambda: wr.duration(max_hold="a while").on_clock(TIMESTAMPS), "duration: max_hold: .*'a while'"),
        (lambda: wr.duration(max_hold="-3 minutes").on_clock(TIMESTAMPS), "expected a duration of zero or more"),
        (lambda: wr.duration(max_hold=3).on_clock(TIMESTAMPS), "duration: max_hold: `on` is a timestamp"),
        (lambda: wr.duration(max_hold="3 days").on_clock(INTEGERS), "duration: max_hold: `on` is a number"),
        (lambda: wr.duration(max_hold="3 days").compute([1, 2]), "duration: max_hold: `on` is a number"),
        (
            lambda: Keep("TwoStacks").make(Accumulator(wr.integral("x"), pa.float64()), SHAPE),
            "time for which they hold",
        ),
    ],
)
def test_bad_options_are_refused(make: Any, message: str) -> None:
    with pytest.raises((wr.SpecError, wr.UnsupportedError), match=message):
        make()


TIMESTAMPS, INTEGERS = Clock.of(pa.timestamp("us", "UTC"), "t"), Clock.of(pa.int64(), "t")
SHAPE = wr.Tumbling(5).shape(INTEGERS)


def test_text_cannot_be_averaged_over_time() -> None:
    with pytest.raises(wr.TypeMismatchError, match="column 'x' is of type string; it must be a number"):
        Accumulator(wr.time_mean("x"), pa.string())


def test_no_synopsis_is_advised_for_aggregates_over_time() -> None:
    with pytest.raises(wr.UnsupportedError, match=r"wr\.slide stores it in panes instead"):
        wr.advise(wr.time_mean("x"), retention=1000, slide=10)


@pytest.mark.parametrize(
    ("text", "aggregate"),
    [
        ("time_mean(x)", wr.time_mean("x")),
        ("time_mean(`a, b`, method=linear)", wr.time_mean("a, b", method="linear")),
        ("integral(x, max_hold=5 minutes, carry=true)", wr.integral("x", max_hold="5 minutes", carry=True)),
        ("integral(x, max_hold=2.5)", wr.integral("x", max_hold=2.5)),
        ("duration()", wr.duration()),
        ("duration(max_hold='1 hour')", wr.duration(max_hold="1 hour")),
        ("time_in(abs(x) > 3 or y in (1, 2), carry=false)", wr.time_in("abs(x) > 3 or y in (1, 2)")),
        ("time_in(carry = 3)", wr.time_in("carry = 3")),
        ("quantile(x, 0.5, eps=0.01)", wr.quantile("x", 0.5, eps=0.01)),
    ],
)
def test_written_as_text(text: str, aggregate: wr.AggregateFunction) -> None:
    assert as_aggregate(text, "--agg") == aggregate


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time_mean(x, carry=maybe)", "--agg: carry: expected true or false, got 'maybe'"),
        ("time_mean(x, carry=true, carry=true)", "--agg: time_mean: carry is given twice"),
        ("quantile(x, 0.5, eps=small)", "--agg: expected a number"),
        ("time_in()", "TimeIn expects a condition"),
        ("time_mean()", "time_mean.. requires a column"),
    ],
)
def test_bad_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(wr.SpecError, match=message):
        as_aggregate(text, "--agg")
