"""Windows by their definition: which there are, what is in them, and what their aggregates are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from streams import FEWER, Span, Trail
from test_filler import Dictionary
from windrow.aggregates.keeper import Keeper
from windrow.errors import DataError, SourceError, SpecError, UnsupportedError
from windrow.frames.clock import Clock
from windrow.frames.ordering import read_in_order
from windrow.frames.request import Layout, Reader
from windrow.windows import DistinctTimes, Landmark, Rows, Sliding, Tumbling, Window
from windrow.windows.gather import Gatherer
from windrow.windows.request import Kinds, Slide
from windrow.windows.slider import Slider, panes_schema, panes_table
from windrow.windows.specs import Shape
from windrow.windows.stream import SlidePlan, StreamSlider

INT64 = pa.int64()
INTEGERS = Clock.of(INT64, "on")
AGG = {
    "n": wr.count(), "sum": wr.sum("v"), "first": wr.first("v"), "last": wr.last("v"), "min": wr.min("v"),
    "mean": wr.mean("v"), "variance": wr.variance("v"), "median": wr.median("v"), "top": wr.top_k("v", 2),
    "span": Span("v"), "trail": Trail("v"),
}  # fmt: skip
FREE = {name: aggregate for name, aggregate in AGG.items() if aggregate.builtin and not aggregate.order_sensitive}
"""Aggregates that do not depend on the order of tuples."""
TYPES = {"g": pa.int64(), "on": pa.int64(), "v": pa.int64()}


class Tuple(NamedTuple):
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


TUPLES = st.lists(
    st.builds(Tuple, st.integers(0, 2), st.integers(-20, 40), st.none() | st.integers(-5, 5)), max_size=25
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


def slide_of(windows: list[Window], agg: dict[str, Any], value: pa.DataType = INT64, **options: Any) -> Slide:
    kinds = Kinds({repr(window): window for window in windows}, named=True, **options)
    return Slide(kinds, "on", ("g",), (), agg, TYPES | {"v": value})


def plan_of(slide: Slide, **options: bool) -> SlidePlan:
    return SlidePlan(slide, _layout(slide), **options)


def _layout(slide: Slide) -> Layout:
    return Layout("on", ("g",), {}, {}, tuple(slide.values))


def by_definition(
    tuples: list[Tuple], windows: list[Window], until: int | None = None, *, empty: bool = False
) -> list[Found]:
    """All windows, found by looking at every instant, or number of tuples, at which one can end.

    A group has reached its last tuple, and the instant `until` that the watermark of a stream has reached.
    """
    found: list[Found] = []
    for window in windows:
        for g in sorted({u.g for u in tuples}):
            mine = [u for u in tuples if u.g == g]
            if isinstance(window, Rows):
                found += _counted(mine, window)
            else:
                found += _timed(mine, window, until, empty)
    return found


def _timed(mine: list[Tuple], window: Window, until: int | None, empty: bool) -> list[Found]:
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


def _counted(mine: list[Tuple], window: Rows) -> list[Found]:
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
    keeper = Keeper(aggregate, pa.int64())
    states = keeper.empty(1)
    column = pa.array(list(values) if aggregate.columns else [0] * len(values), pa.int64())
    keeper.accumulate(states, np.zeros((len(values), 1), np.int64), keeper.read(column))
    return keeper.finish(states)[0].as_py()


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


def table_of(tuples: list[Tuple], value: pa.DataType = INT64) -> pa.Table:
    types = TYPES | {"v": value}
    return pa.table({name: pa.array([getattr(u, name) for u in tuples], kind) for name, kind in types.items()})


def slid(tuples: list[Tuple], slide: Slide, cuts: list[int]) -> list[pa.Table]:
    """The windows of tuples that come in the order of `on`, cut into batches where the cuts are."""
    reader, gatherer = Reader(slide, _layout(slide)), Gatherer(slide)
    slider = Slider(slide, reader.directory)
    tuples = sorted(tuples, key=lambda u: u.on)
    found = []
    for on in [*sorted(cuts), 1_000]:
        batch = [u for u in tuples if u.on <= on]
        tuples = tuples[len(batch) :]
        slider.add(*gatherer.gather(read_in_order(reader, table_of(batch))))
        found += slider.report(gatherer.past(slider.latest()))
    return [*found, *slider.report(gatherer.past(slider.latest()), final=True)]


CUTS = st.lists(st.integers(-20, 40), max_size=3)


@FEWER
@given(TUPLES, KINDS, CUTS, st.booleans())
def test_windows_have_the_tuples_of_the_definition(
    tuples: list[Tuple], windows: list[Window], cuts: list[int], empty: bool
) -> None:
    found = slid(tuples, slide_of(windows, AGG, empty=empty), cuts)
    assert rows_in(found) == rows_of(by_definition(tuples, windows, empty=empty), AGG)


@FEWER
@given(TUPLES, several(timed()), st.randoms(use_true_random=False), st.booleans())
def test_panes_may_come_in_parts_and_in_any_order(tuples: list[Tuple], windows: list[Window], chance, empty) -> None:
    slide = slide_of(windows, FREE, empty=empty)
    chance.shuffle(tuples)
    parts = []
    for some in (tuples[::2], tuples[1::2]):
        reader = Reader(slide, _layout(slide))
        parts.append(panes_table(reader.directory, *Gatherer(slide).gather(reader.read(table_of(some)))))
    together = pa.concat_tables(parts).sort_by("pane")
    assert together.schema == panes_schema(slide)
    slider = Slider(slide, Reader(slide, _layout(slide)).directory)
    found = []
    for begin in range(0, len(together), 3):
        slider.add(*slider.read(together.slice(begin, 3)))
        found += slider.report(slider.latest())
    found += slider.report(slider.latest(), final=True)
    wanted = by_definition(sorted(tuples, key=lambda u: (u.g, u.on)), windows, empty=empty)
    assert rows_in(found) == rows_of(wanted, FREE)


@st.composite
def stories(draw: st.DrawFn) -> tuple[list[Tuple], list[list[Tuple]], list[int | None]]:
    """Tuples, in which batch each of them arrives, and a watermark a batch that makes none of them late."""
    tuples = draw(TUPLES)
    n = draw(st.integers(1, 5))
    arrives = draw(st.lists(st.integers(0, n - 1), min_size=len(tuples), max_size=len(tuples)))
    batches = [[u for u, at in zip(tuples, arrives, strict=True) if at == i] for i in range(n)]
    marks: list[int | None] = [None]
    for i in range(n):
        still = [u.on for batch in batches[i + 1 :] for u in batch]
        mark = draw(st.none() | st.integers(-25, 60))
        if mark is not None and marks[-1] is not None:
            mark = max(mark, marks[-1])
        if mark is not None:
            mark = min([mark, *(on - 1 for on in still)])
        marks.append(marks[-1] if mark is None else mark)
    return tuples, batches, marks[1:]


@FEWER
@given(stories(), KINDS, st.booleans(), st.booleans())
def test_a_stream_has_the_windows_of_the_definition(story, windows: list[Window], free: bool, empty: bool) -> None:
    tuples, batches, marks = story
    agg = FREE if free else AGG
    plan = plan_of(slide_of(windows, agg, empty=empty))
    shelf, saved, found = Dictionary(), None, []
    for batch, mark in zip(batches, marks, strict=True):
        bucket = StreamSlider.load(plan, shelf, saved)
        rows, late = bucket.step([table_of(batch)], mark)
        assert not any(table.num_rows for table in late)
        for table in rows:
            ends = np.array(table["end"])
            assert isinstance(windows[0], Rows) or mark is None or (ends <= mark + 1).all()
        found += rows
        saved = bucket.save()
    found += StreamSlider.load(plan, shelf, saved).finish()
    reached = marks[-1]
    wanted = by_definition(tuples, windows, -100 if reached is None else reached + 1, empty=empty)
    assert rows_in(found) == rows_of(wanted, agg)
    assert not shelf


def test_a_stream_without_groups_starts_again_when_all_its_windows_are_reported() -> None:
    kinds = Kinds({"w": Tumbling(10)}, named=False)
    slide = Slide(kinds, "on", (), (), {"n": wr.count()}, TYPES)
    plan, shelf = SlidePlan(slide, Layout("on", (), {}, {}, tuple(slide.values))), Dictionary()
    bucket = StreamSlider(plan, shelf)
    assert bucket.step([table_of([Tuple(0, 3, 1)])], 20)[0][0]["n"].to_pylist() == [1]
    again = StreamSlider.load(plan, shelf, bucket.save())
    assert again.step([table_of([Tuple(0, 25, 1), Tuple(0, 26, 1)])], 40)[0][0]["n"].to_pylist() == [2]


@FEWER
@given(TUPLES, KINDS, CUTS)
def test_an_ordered_stream_has_the_windows_of_a_table(tuples: list[Tuple], windows: list[Window], cuts) -> None:
    plan = plan_of(slide_of(windows, AGG), ordered=True)
    rest = sorted(tuples, key=lambda u: u.on)
    shelf, saved, found = Dictionary(), None, []
    for on in [*sorted(cuts), 1_000]:
        batch = [u for u in rest if u.on <= on]
        rest = rest[len(batch) :]
        bucket = StreamSlider.load(plan, shelf, saved)
        rows, _ = bucket.step([table_of(batch)], None)
        found += rows
        saved = bucket.save()
    found += StreamSlider.load(plan, shelf, saved).finish()
    assert rows_in(found) == rows_of(by_definition(tuples, windows), AGG)


@FEWER
@given(TUPLES, several(timed()), CUTS)
def test_only_what_changed_is_reported(tuples: list[Tuple], windows: list[Window], cuts: list[int]) -> None:
    agg = {"n": wr.count(), "top": wr.top_k("v", 1), "mean": wr.mean("v")}
    found = rows_in(slid(tuples, slide_of(windows, agg, only_changed=True), cuts))
    wanted: list[tuple[Any, ...]] = []
    last: dict[Any, tuple[Any, ...]] = {}
    for row in rows_of(by_definition(tuples, windows), agg):
        if last.get(row[:2]) != row[5:]:
            wanted.append(row)
        last[row[:2]] = row[5:]
    assert found == wanted


EXACT = {
    "Recomputation": "total",
    "TwoStacks": "mean",
    "DABA": "total",
    "FiBA": "mean",
    "Panes": "total",
    "Ordered": "median",
}


@pytest.mark.parametrize("synopsis", EXACT)
@FEWER
@given(story=stories(), kinds=st.one_of(several(timed()), several(counted(Rows)), several(counted(DistinctTimes))))
def test_windows_that_a_synopsis_keeps_are_the_same(synopsis: str, story, kinds: list[Window]) -> None:
    kinds = [kind for kind in kinds if not isinstance(kind, Landmark) and not getattr(kind, "emit", None)]
    tuples, batches, marks = story
    agg = {"n": wr.count(), "median": wr.median("v"), "total": wr.sum("v"), "mean": wr.mean("v")}
    if kinds:
        plan = plan_of(slide_of(kinds, agg, using={EXACT[synopsis]: wr.Keep(synopsis)}))
        shelf, saved, found = Dictionary(), None, []
        for batch, mark in zip(batches, marks, strict=True):
            bucket = StreamSlider.load(plan, shelf, saved)
            found += bucket.step([table_of(batch)], mark)[0]
            saved = bucket.save()
        found += StreamSlider.load(plan, shelf, saved).finish()
        reached = -100 if marks[-1] is None else marks[-1] + 1
        assert rows_in(found) == rows_of(by_definition(tuples, kinds, reached), agg)


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


def valued(values: list[Any]) -> st.SearchStrategy[list[Tuple]]:
    """Tuples in the order of `on`, of such values."""
    value = st.none() | st.sampled_from(values)
    rows = st.lists(st.builds(Tuple, st.integers(0, 1), st.integers(-20, 40), value), min_size=1, max_size=25)
    return rows.map(lambda found: sorted(found, key=lambda u: u.on))


def windows_kept(tuples: list[Tuple], windows: list[Window], agg: dict[str, Any], kind: pa.DataType, **options: Any):
    """The windows of a stream of one batch, as a table; or what it refuses them with."""
    bucket = StreamSlider(plan_of(slide_of(windows, agg, kind, **options)), Dictionary())
    found = [*bucket.step([table_of(tuples, kind)], None)[0], *bucket.finish()]
    return pa.concat_tables(found).sort_by([("window", "ascending"), ("g", "ascending"), ("end", "ascending")])


def assert_same_column(found: pa.ChunkedArray, wanted: pa.ChunkedArray) -> None:
    """Two columns have nulls in the same places, NaN in the same places, and else numbers that are near."""
    assert found.is_null().to_pylist() == wanted.is_null().to_pylist()
    kept, right = ([float(x) for x in column.drop_null().to_pylist()] for column in (found, wanted))
    np.testing.assert_allclose(kept, right, rtol=1e-9, atol=0)


@pytest.mark.parametrize("synopsis", KEEPERS)
@FEWER
@given(valued(FLOATS + ENDLESS), timed() | counted(Rows) | counted(DistinctTimes))
def test_a_synopsis_keeps_any_float_as_panes_do(synopsis: str, tuples: list[Tuple], window: Window) -> None:
    if isinstance(window, Landmark) or getattr(window, "emit", None):
        return
    agg = KEEPERS[synopsis]
    panes = windows_kept(tuples, [window], agg, pa.float64())
    kept = windows_kept(tuples, [window], agg, pa.float64(), using=dict.fromkeys(agg, wr.Keep(synopsis)))
    for name in ("start", "end", "complete", *agg):
        assert_same_column(kept[name], panes[name])


@pytest.mark.parametrize("synopsis", ["Recomputation", "Ordered"])
def test_a_synopsis_puts_rows_at_fractions_into_the_windows_that_panes_do(synopsis: str) -> None:
    places = [-3.5, -1.5, -1.0, -0.5, -0.0, 0.2, 0.9, 1.1, 1.9, 2.0, 7.5]
    rows = pa.table({"g": [0] * len(places), "on": places, "v": [2.0**i for i in range(len(places))]})
    agg = {"a": KEEPERS[synopsis]["median" if synopsis == "Ordered" else "sum"]}
    found = []
    for using in ({}, {"using": {"a": wr.Keep(synopsis)}}):
        kinds = Kinds({"w": Sliding(2, every=1)}, named=False, **using)
        slide = Slide(kinds, "on", ("g",), (), agg, {"g": INT64, "on": pa.float64(), "v": pa.float64()})
        bucket = StreamSlider(plan_of(slide), Dictionary())
        found.append(pa.concat_tables([*bucket.step([rows], None)[0], *bucket.finish()]).sort_by("end").to_pylist())
    assert found[0] == found[1]
    assert len(found[0]) > 8


@FEWER
@given(valued([2**63 - 1, -(2**63), 5, -10, 2**62]), timed() | counted(Rows) | counted(DistinctTimes))
def test_sums_of_integers_in_windows_pass_64_bits_on_the_way_only(tuples: list[Tuple], window: Window) -> None:
    agg = {"sum": wr.sum("v")}
    wanted = [
        sum(v for v in w.values if v is not None)
        # Rows of one instant come in the order of their values, nulls first.
        for w in by_definition(sorted(tuples, key=lambda u: (u.g, u.on, u.v is not None, u.v or 0)), [window], -100)
    ]
    if all(-(2**63) <= total < 2**63 for total in wanted):
        found = windows_kept(tuples, [window], agg, INT64)["sum"].to_pylist()
        assert sorted(total or 0 for total in found) == sorted(wanted)
    else:
        with pytest.raises(DataError, match="past 64 bits"):
            windows_kept(tuples, [window], agg, INT64)


def test_not_a_number_is_an_answer_and_no_null() -> None:
    tuples = [Tuple(0, t, float("nan") if t == 7 else float(t)) for t in range(20)]
    for synopsis, agg in KEEPERS.items():
        using = dict.fromkeys(agg, wr.Keep(synopsis))
        kept = windows_kept(tuples, [Sliding(10, every=2)], agg, pa.float64(), using=using)
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
    gatherer = Gatherer(slide, slider.kept)
    slider.add(*gatherer.gather(reader.read(table_of([Tuple(0, t, v) for t, v in enumerate([0, 0, 1, 1])]))))
    found = [*slider.report(gatherer.past(slider.latest()), final=True)]
    # The second window has the last two rows alone, and the synopsis keeps the last four.
    assert [row["q"] for table in found for row in table.to_pylist()] == [0, None]


QUANTILE = {"q": wr.quantile("v", 0.9, eps=0.05), "n": wr.count()}


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
    tuples = [Tuple(0, i, int(v)) for i, v in enumerate(rng.integers(0, 1_000, 3_000))]
    bucket = StreamSlider(plan_of(slide_of([window], QUANTILE, using={"q": keep})), Dictionary())
    rows = bucket.step([table_of(tuples)], 2_900)[0]
    assert len(rows[0]) > 20
    for found in rows[0].to_pylist():
        last = found["end"] if isinstance(window, Sliding) else found["end"] + 1
        inside = sorted(u.v for u in tuples if found["start"] <= u.on < last)
        assert len(inside) == found["n"]
        low, high = np.searchsorted(inside, found["q"], "left"), np.searchsorted(inside, found["q"], "right")
        assert low - 0.05 * len(inside) - 1 <= 0.9 * len(inside) <= high + 0.05 * len(inside) + 1


def test_nulls_are_tuples_that_a_count_of_values_misses() -> None:
    bucket = StreamSlider(plan_of(slide_of([Rows(5)], QUANTILE, using={"q": wr.Keep("ArasuMankuFixed")})), Dictionary())
    with pytest.raises(DataError, match="column 'v' has nulls, which count as tuples"):
        bucket.step([table_of([Tuple(0, 1, None)])], 5)


@pytest.mark.parametrize(
    ("kinds", "agg", "keep", "said"),
    [
        ([Landmark(5)], wr.sum("v"), "TwoStacks", "a landmark window has no retention"),
        ([Sliding(10, 5, emit=1)], wr.sum("v"), "TwoStacks", "emit= asks for windows that are shorter"),
        ([Sliding(10, 5)], wr.top_k("v", 2), "TwoStacks", "cannot keep top_k"),
        ([Sliding(10, 5)], wr.variance("v"), "BiasedReservoir", "eps and delta must be above 0"),
    ],
)
def test_what_no_synopsis_can_keep_is_refused(kinds: list[Window], agg: Any, keep: str, said: str) -> None:
    with pytest.raises(UnsupportedError, match=said):
        slide_of(kinds, {"a": agg}, using={"a": wr.Keep(keep)}).check()


def test_unknown_synopses_are_refused() -> None:
    with pytest.raises(SpecError, match="there is no synopsis 'Magic'; there are Recomputation"):
        wr.Keep("Magic")
    with pytest.raises(SpecError, match="is no synopsis"):
        wr.Keep(dict)  # type: ignore[arg-type]


def test_a_group_that_is_over_is_forgotten() -> None:
    plan = plan_of(slide_of([Sliding(10, 5)], FREE))
    shelf = Dictionary()
    bucket = StreamSlider(plan, shelf)
    bucket.step([table_of([Tuple(1, 3, 1), Tuple(2, 100, 1)])], 50)
    again = StreamSlider.load(plan, shelf, bucket.save())
    assert again.held["groups"] == 1
    assert again.next_event() == 104


def test_late_tuples_are_counted_and_left_out() -> None:
    bucket = StreamSlider(plan_of(slide_of([Tumbling(10)], FREE)), Dictionary())
    bucket.step([table_of([Tuple(1, 3, 1)])], 5)
    rows, late = bucket.step([table_of([Tuple(1, 5, 1), Tuple(1, 6, 1)])], 20)
    assert [table["on"].to_pylist() for table in late] == [[5]]
    assert rows[0]["n"].to_pylist() == [2]
    assert (bucket.arrivals.counts.arrived, bucket.arrivals.counts.late) == (3, 1)


def test_a_state_of_other_windows_is_refused() -> None:
    bucket = StreamSlider(plan_of(slide_of([Tumbling(10)], FREE)), Dictionary())
    bucket.step([table_of([Tuple(1, 3, 1)])], 5)
    with pytest.raises(SourceError, match="windows="):
        StreamSlider.load(plan_of(slide_of([Tumbling(20)], FREE)), Dictionary(), bucket.save())


def test_a_landmark_keeps_one_pane_of_what_is_over() -> None:
    slide = slide_of([Landmark(1)], {"n": wr.count(), "median": wr.median("v")})
    bucket = StreamSlider(plan_of(slide), Dictionary())
    for i in range(100):
        rows, _ = bucket.step([table_of([Tuple(1, i, i)])], i)
        assert bucket.slider.panes.group.size <= 2
    assert rows[0]["n"].to_pylist() == [100]


def test_an_endless_float_is_in_no_window() -> None:
    types = TYPES | {"on": pa.float64()}
    slide = Slide(Kinds({"w": Tumbling(10)}, named=False), "on", ("g",), (), {"n": wr.count()}, types)
    table = pa.table({"g": [1], "on": [float("inf")]})
    with pytest.raises(DataError, match="inf is in no window"):
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
        (lambda: Sliding(10, 4, emit=3).shape(INTEGERS), "emit=3 does not divide every=4"),
        (lambda: Sliding(0, 0).shape(INTEGERS), "length=0 must be longer than nothing"),
        (lambda: Sliding(None, 1), "length: give a duration"),  # type: ignore[arg-type]
        (lambda: Sliding("1 minute", "5 seconds").shape(INTEGERS), "`on` is a number"),
        (lambda: Sliding(2.5, 1).shape(INTEGERS), r"length=2.5: an integer has whole steps"),
        (lambda: Tumbling("36 hours").shape(Clock.of(pa.date32(), "day")), "a date has whole days"),
        (lambda: Rows(0), "n: 0 is no number of rows"),
        (lambda: Rows(3, every=4), "every=4 is more than n=3"),
        (lambda: DistinctTimes(True), "n: True is no number"),
    ],
)
def test_windows_that_mean_nothing_are_refused(make: Any, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        make()
