"""Windows by their definition: which there are, what is in them, and what their aggregates are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from streams import FEWER
from sweeps import sweep
from windows_by_definition import (
    AGG,
    CUTS,
    ENDLESS,
    EXACT,
    FLOATS,
    FREE,
    INT64,
    INTEGERS,
    KEEPERS,
    KINDS,
    QUANTILE,
    ROWS,
    TYPES,
    Row,
    _layout,
    assert_same_column,
    by_definition,
    counted,
    plan_of,
    rows_in,
    rows_of,
    several,
    slid,
    slide_of,
    stories,
    table_of,
    timed,
    valued,
    windows_kept,
)
from windrow.errors import DataError, SourceError, SpecError, UnsupportedError
from windrow.rows.buffers.waiting import MemoryShelf
from windrow.rows.clock import Clock
from windrow.rows.query import Layout, Reader
from windrow.rows.roles import Roles
from windrow.windows import DistinctTimes, Landmark, Rows, Sliding, Tumbling, Window
from windrow.windows.gather import Gatherer
from windrow.windows.pane_table import panes_schema, panes_table
from windrow.windows.query import WindowOptions, WindowQuery
from windrow.windows.slider import Slider
from windrow.windows.specs import Shape
from windrow.windows.stream import SlidePlan, StreamSlider


@FEWER
@given(ROWS, KINDS, CUTS, st.booleans())
def test_windows_have_the_rows_of_the_definition(
    rows: list[Row], windows: list[Window], cuts: list[int], empty: bool
) -> None:
    found = slid(rows, slide_of(windows, AGG, empty=empty), cuts)
    assert rows_in(found) == rows_of(by_definition(rows, windows, empty=empty), AGG)


@FEWER
@given(ROWS, several(timed()), st.randoms(use_true_random=False), st.booleans())
def test_panes_may_come_in_parts_and_in_any_order(rows: list[Row], windows: list[Window], chance, empty) -> None:
    slide = slide_of(windows, FREE, empty=empty)
    chance.shuffle(rows)
    parts = []
    for some in (rows[::2], rows[1::2]):
        reader = Reader(slide, _layout(slide))
        parts.append(panes_table(reader.directory, *Gatherer(slide).gather(reader.read(table_of(some)))))
    together = pa.concat_tables(parts).sort_by("pane")
    assert together.schema == panes_schema(slide)
    slider = Slider(slide, Reader(slide, _layout(slide)).directory)
    found = []
    for begin in range(0, len(together), 3):
        slider.add_table(together.slice(begin, 3))
        found += slider.report(slider.latest())
    found += slider.report(slider.latest(), final=True)
    wanted = by_definition(sorted(rows, key=lambda u: (u.g, u.on)), windows, empty=empty)
    assert rows_in(found) == rows_of(wanted, FREE)


@FEWER
@given(stories(), KINDS, st.booleans(), st.booleans())
def test_a_stream_has_the_windows_of_the_definition(story, windows: list[Window], free: bool, empty: bool) -> None:
    rows, batches, marks = story
    agg = FREE if free else AGG
    plan = plan_of(slide_of(windows, agg, empty=empty))
    shelf, saved, found = MemoryShelf(), None, []
    for batch, mark in zip(batches, marks, strict=True):
        bucket = StreamSlider.load(plan, shelf, saved)
        results, late = bucket.step([table_of(batch)], mark)
        assert not any(table.num_rows for table in late)
        for table in results:
            ends = np.array(table["end"])
            assert isinstance(windows[0], Rows) or mark is None or (ends <= mark + 1).all()
        found += results
        saved = bucket.save()
    found += StreamSlider.load(plan, shelf, saved).finish()
    reached = marks[-1]
    wanted = by_definition(rows, windows, -100 if reached is None else reached + 1, empty=empty)
    assert rows_in(found) == rows_of(wanted, agg)
    assert not shelf


def test_a_stream_without_groups_starts_again_when_all_its_windows_are_reported() -> None:
    kinds = WindowOptions({"w": Tumbling(10)}, named=False)
    slide = WindowQuery(kinds, Roles("on", (), (), {"n": wr.count()}, TYPES))
    plan, shelf = SlidePlan(slide, Layout("on", (), {}, {}, tuple(slide.values))), MemoryShelf()
    bucket = StreamSlider(plan, shelf)
    assert bucket.step([table_of([Row(0, 3, 1)])], 20)[0][0]["n"].to_pylist() == [1]
    again = StreamSlider.load(plan, shelf, bucket.save())
    assert again.step([table_of([Row(0, 25, 1), Row(0, 26, 1)])], 40)[0][0]["n"].to_pylist() == [2]


@FEWER
@given(ROWS, KINDS, CUTS)
def test_an_ordered_stream_has_the_windows_of_a_table(rows: list[Row], windows: list[Window], cuts) -> None:
    plan = plan_of(slide_of(windows, AGG), ordered=True)
    rest = sorted(rows, key=lambda u: u.on)
    shelf, saved, found = MemoryShelf(), None, []
    for on in [*sorted(cuts), 1_000]:
        batch = [u for u in rest if u.on <= on]
        rest = rest[len(batch) :]
        bucket = StreamSlider.load(plan, shelf, saved)
        found += bucket.step([table_of(batch)], None)[0]
        saved = bucket.save()
    found += StreamSlider.load(plan, shelf, saved).finish()
    assert rows_in(found) == rows_of(by_definition(rows, windows), AGG)


@FEWER
@given(ROWS, several(timed()), CUTS)
def test_only_what_changed_is_reported(rows: list[Row], windows: list[Window], cuts: list[int]) -> None:
    agg = {"n": wr.count(), "top": wr.top_k("v", 1), "mean": wr.mean("v")}
    found = rows_in(slid(rows, slide_of(windows, agg, only_changed=True), cuts))
    wanted: list[tuple[Any, ...]] = []
    last: dict[Any, tuple[Any, ...]] = {}
    for row in rows_of(by_definition(rows, windows), agg):
        if last.get(row[:2]) != row[5:]:
            wanted.append(row)
        last[row[:2]] = row[5:]
    assert found == wanted


@pytest.mark.parametrize("synopsis", sweep(EXACT, *(name for name in EXACT if name != "FiBA")))
@FEWER
@given(story=stories(), kinds=st.one_of(several(timed()), several(counted(Rows)), several(counted(DistinctTimes))))
def test_windows_that_a_synopsis_keeps_are_the_same(synopsis: str, story, kinds: list[Window]) -> None:
    kinds = [kind for kind in kinds if not isinstance(kind, Landmark) and not getattr(kind, "emit", None)]
    rows, batches, marks = story
    agg = {"n": wr.count(), "median": wr.median("v"), "total": wr.sum("v"), "mean": wr.mean("v")}
    if kinds:
        plan = plan_of(slide_of(kinds, agg, using={EXACT[synopsis]: wr.Keep(synopsis)}))
        shelf, saved, found = MemoryShelf(), None, []
        for batch, mark in zip(batches, marks, strict=True):
            bucket = StreamSlider.load(plan, shelf, saved)
            found += bucket.step([table_of(batch)], mark)[0]
            saved = bucket.save()
        found += StreamSlider.load(plan, shelf, saved).finish()
        reached = -100 if marks[-1] is None else marks[-1] + 1
        assert rows_in(found) == rows_of(by_definition(rows, kinds, reached), agg)


@pytest.mark.parametrize("synopsis", sweep(KEEPERS, *(name for name in KEEPERS if name != "FiBA")))
@FEWER
@given(valued(FLOATS + ENDLESS), timed() | counted(Rows) | counted(DistinctTimes))
def test_a_synopsis_keeps_any_float_as_panes_do(synopsis: str, rows: list[Row], window: Window) -> None:
    if isinstance(window, Landmark) or getattr(window, "emit", None):
        return
    agg = KEEPERS[synopsis]
    panes = windows_kept(rows, [window], agg, pa.float64())
    kept = windows_kept(rows, [window], agg, pa.float64(), using=dict.fromkeys(agg, wr.Keep(synopsis)))
    for name in ("start", "end", "complete", *agg):
        assert_same_column(kept[name], panes[name])


@pytest.mark.parametrize("synopsis", ["Recomputation", "Ordered"])
def test_a_synopsis_puts_rows_at_fractions_into_the_windows_that_panes_do(synopsis: str) -> None:
    places = [-3.5, -1.5, -1.0, -0.5, -0.0, 0.2, 0.9, 1.1, 1.9, 2.0, 7.5]
    rows = pa.table({"g": [0] * len(places), "on": places, "v": [2.0**i for i in range(len(places))]})
    agg = {"a": KEEPERS[synopsis]["median" if synopsis == "Ordered" else "sum"]}
    found = []
    for using in ({}, {"using": {"a": wr.Keep(synopsis)}}):
        kinds = WindowOptions({"w": Sliding(2, every=1)}, named=False, **using)
        slide = WindowQuery(kinds, Roles("on", ("g",), (), agg, {"g": INT64, "on": pa.float64(), "v": pa.float64()}))
        bucket = StreamSlider(plan_of(slide), MemoryShelf())
        found.append(pa.concat_tables([*bucket.step([rows], None)[0], *bucket.finish()]).sort_by("end").to_pylist())
    assert found[0] == found[1]
    assert len(found[0]) > 8


@FEWER
@given(valued([2**63 - 1, -(2**63), 5, -10, 2**62]), timed() | counted(Rows) | counted(DistinctTimes))
def test_sums_of_integers_in_windows_pass_64_bits_on_the_way_only(rows: list[Row], window: Window) -> None:
    agg = {"sum": wr.sum("v")}
    wanted = [
        sum(v for v in w.values if v is not None)
        # Rows of one instant come in the order of their values, nulls first.
        for w in by_definition(sorted(rows, key=lambda u: (u.g, u.on, u.v is not None, u.v or 0)), [window], -100)
    ]
    if all(-(2**63) <= total < 2**63 for total in wanted):
        found = windows_kept(rows, [window], agg, INT64)["sum"].to_pylist()
        assert sorted(total or 0 for total in found) == sorted(wanted)
    else:
        with pytest.raises(DataError, match="exceeds 64 bits"):
            windows_kept(rows, [window], agg, INT64)


def test_not_a_number_is_an_answer_and_no_null() -> None:
    rows = [Row(0, t, float("nan") if t == 7 else float(t)) for t in range(20)]
    for synopsis, agg in KEEPERS.items():
        using = dict.fromkeys(agg, wr.Keep(synopsis))
        kept = windows_kept(rows, [Sliding(10, every=2)], agg, pa.float64(), using=using)
        bounds = zip(kept["start"].to_pylist(), kept["end"].to_pylist(), strict=True)
        poisoned = [start <= 7 < end for start, end in bounds]
        assert sum(poisoned) == 5
        for name in agg.keys() - {"median", "least"}:
            found = kept[name].to_pylist()
            assert [x is not None and np.isnan(x) for x in found] == poisoned, (synopsis, name)


def test_a_synopsis_that_counts_has_no_answer_for_a_window_that_the_end_cut() -> None:
    slide = slide_of([Rows(4, 3)], {"q": wr.median("v")}, using={"q": wr.Keep("ArasuMankuFixed", 0.1)})
    reader = Reader(slide, _layout(slide))
    slider = Slider(slide, reader.directory)
    gatherer = Gatherer(slide, slider.synopsis_windows)
    slider.add(*gatherer.gather(reader.read(table_of([Row(0, t, v) for t, v in enumerate([0, 0, 1, 1])]))))
    found = [*slider.report(gatherer.past(slider.latest()), final=True)]
    # The second window has the last two rows alone, and the synopsis keeps the last four.
    assert [row["q"] for table in found for row in table.to_pylist()] == [0, None]


@pytest.mark.parametrize(
    ("keep", "window"),
    [
        (wr.Keep("ArasuMankuVariable"), Sliding(500, 100)),
        (wr.Keep("ArasuMankuFixed"), Rows(500, 100)),
        (wr.Keep("KLLPanes", delta=0.01), Rows(500, 100)),
    ],
    ids=lambda asked: str(getattr(asked, "synopsis", "")),
)
def test_quantiles_within_a_stated_error(keep: wr.Keep, window: Window) -> None:
    rng = np.random.default_rng(2)
    rows = [Row(0, i, int(v)) for i, v in enumerate(rng.integers(0, 1_000, 3_000))]
    bucket = StreamSlider(plan_of(slide_of([window], QUANTILE, using={"q": keep})), MemoryShelf())
    results = bucket.step([table_of(rows)], 2_900)[0]
    assert len(results[0]) > 20
    for found in results[0].to_pylist():
        last = found["end"] if isinstance(window, Sliding) else found["end"] + 1
        inside = sorted(u.v for u in rows if found["start"] <= u.on < last)
        assert len(inside) == found["n"]
        low, high = np.searchsorted(inside, found["q"], "left"), np.searchsorted(inside, found["q"], "right")
        assert low - 0.05 * len(inside) - 1 <= 0.9 * len(inside) <= high + 0.05 * len(inside) + 1


def test_nulls_are_rows_that_a_count_of_values_misses() -> None:
    bucket = StreamSlider(
        plan_of(slide_of([Rows(5)], QUANTILE, using={"q": wr.Keep("ArasuMankuFixed")})), MemoryShelf()
    )
    with pytest.raises(DataError, match="column 'v' has nulls, whose rows count too"):
        bucket.step([table_of([Row(0, 1, None)])], 5)


@pytest.mark.parametrize(
    ("kinds", "agg", "keep", "said"),
    [
        ([Landmark(5)], wr.sum("v"), "TwoStacks", "a landmark window has no fixed length"),
        ([Sliding(10, 5, emit=1)], wr.sum("v"), "TwoStacks", "emit= reports shorter ones"),
        ([Sliding(10, 5)], wr.top_k("v", 2), "TwoStacks", "does not support top_k"),
        ([Sliding(10, 5)], wr.variance("v"), "BiasedReservoir", "eps and delta must be above 0"),
    ],
)
def test_what_no_synopsis_can_keep_is_refused(kinds: list[Window], agg: Any, keep: str, said: str) -> None:
    with pytest.raises(UnsupportedError, match=said):
        slide_of(kinds, {"a": agg}, using={"a": wr.Keep(keep)}).check()


def test_unknown_synopses_are_refused() -> None:
    with pytest.raises(SpecError, match="unknown synopsis 'Magic'; available: ArasuMankuFixed"):
        wr.Keep("Magic")
    with pytest.raises(SpecError, match="using: expected the name of a synopsis, such as 'TwoStacks', got"):
        wr.Keep(dict)  # type: ignore[arg-type]


def test_a_group_that_is_over_is_forgotten() -> None:
    plan = plan_of(slide_of([Sliding(10, 5)], FREE))
    shelf = MemoryShelf()
    bucket = StreamSlider(plan, shelf)
    bucket.step([table_of([Row(1, 3, 1), Row(2, 100, 1)])], 50)
    again = StreamSlider.load(plan, shelf, bucket.save())
    assert again.held["groups"] == 1
    assert again.next_event() == 104


def test_late_rows_are_counted_and_left_out() -> None:
    bucket = StreamSlider(plan_of(slide_of([Tumbling(10)], FREE)), MemoryShelf())
    bucket.step([table_of([Row(1, 3, 1)])], 5)
    rows, late = bucket.step([table_of([Row(1, 5, 1), Row(1, 6, 1)])], 20)
    assert [table["on"].to_pylist() for table in late] == [[5]]
    assert rows[0]["n"].to_pylist() == [2]
    assert (bucket.arrivals.counts.arrived, bucket.arrivals.counts.late) == (3, 1)


def test_a_state_of_other_windows_is_refused() -> None:
    bucket = StreamSlider(plan_of(slide_of([Tumbling(10)], FREE)), MemoryShelf())
    bucket.step([table_of([Row(1, 3, 1)])], 5)
    with pytest.raises(SourceError, match="windows="):
        StreamSlider.load(plan_of(slide_of([Tumbling(20)], FREE)), MemoryShelf(), bucket.save())


def test_a_landmark_keeps_one_pane_of_what_is_over() -> None:
    slide = slide_of([Landmark(1)], {"n": wr.count(), "median": wr.median("v")})
    bucket = StreamSlider(plan_of(slide), MemoryShelf())
    for i in range(100):
        rows, _ = bucket.step([table_of([Row(1, i, i)])], i)
        assert bucket.slider.panes.group.size <= 2
    assert rows[0]["n"].to_pylist() == [100]


def test_an_endless_float_is_in_no_window() -> None:
    types = TYPES | {"on": pa.float64()}
    slide = WindowQuery(
        WindowOptions({"w": Tumbling(10)}, named=False), Roles("on", ("g",), (), {"n": wr.count()}, types)
    )
    table = pa.table({"g": [1], "on": [float("inf")]})
    with pytest.raises(DataError, match="inf is too far from zero for windows"):
        Gatherer(slide).gather(Reader(slide, _layout(slide)).read(table))


def test_windows_are_read_on_a_clock() -> None:
    times = Clock.of(pa.timestamp("us", "UTC"), "at")
    assert Sliding("1 hour", "1 minute", emit="10 seconds").shape(times) == Shape(
        "time", 3_600_000_000, 60_000_000, 10_000_000
    )
    assert Tumbling("1 day").shape(Clock.of(pa.date32(), "day")) == Shape("time", 1, 1)
    assert Landmark(5).shape(INTEGERS) == Shape("time", None, 5)
    assert Rows(100, every=10).shape(INTEGERS) == Shape("rows", 100, 10)
    assert DistinctTimes(3).shape(INTEGERS) == Shape("times", 3, 1)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Sliding(5, 10).shape(INTEGERS), "every=10 is longer than length=5"),
        (lambda: Sliding(10, 4, emit=3).shape(INTEGERS), "emit=3 must divide every=4"),
        (lambda: Sliding(0, 0).shape(INTEGERS), "length: 0 must be greater than zero"),
        (lambda: Sliding(None, 1), "length: expected a duration"),  # type: ignore[arg-type]
        (lambda: Sliding("1 minute", "5 seconds").shape(INTEGERS), "`on` is a number"),
        (lambda: Sliding(2.5, 1).shape(INTEGERS), r"length: 2\.5 must be an integer"),
        (
            lambda: Tumbling("36 hours").shape(Clock.of(pa.date32(), "day")),
            "length: '36 hours' must be a number of whole days",
        ),
        (lambda: Rows(0), r"n: expected an integer from 1 to 2\*\*62 - 1, got 0"),
        (lambda: Rows(3, every=4), "every=4 is greater than n=3"),
        (lambda: DistinctTimes(True), r"n: expected an integer .*, got True"),
    ],
)
def test_windows_that_mean_nothing_are_refused(make: Any, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        make()
