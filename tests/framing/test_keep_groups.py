"""Groups come and go by the thousand: what is read and written of them is little, and no result depends on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fill_streams as filling
import windows_by_definition as sliding
import windrow as wr
from frame_streams import plan_for
from streams import FEWER
from windrow.filling.filler import Filler
from windrow.framing.snapshot import Snapshot
from windrow.framing.stream import StreamFramer, StreamPlan
from windrow.rows.buffers.waiting import MemoryShelf
from windrow.rows.group_store import hashes_of
from windrow.rows.groups import Directory
from windrow.state.arrow import save_tables, saved_tables
from windrow.windows import DistinctTimes, Rows, Sliding, Window
from windrow.windows.stream import SlidePlan, StreamSlider


class Counting(MemoryShelf):
    """A shelf that knows how much is written to it."""

    written = 0

    def put(self, number: int, data: bytes) -> None:
        self.written += len(data)
        super().put(number, data)


def rows(group: Any, on: Any, hit: Any) -> pa.Table:
    n = len(group)
    columns = {
        "g": pa.array([f"key {g}" for g in group]),
        "on": pa.array(on, pa.int64()),
        "hit": pa.array(hit, pa.bool_()),
    }
    return pa.table(columns | {"v": pa.array(np.arange(n)), "position": pa.array(np.arange(n))})


def batches(seed: int, keys: int, n: int, size: int) -> list[tuple[pa.Table, int]]:
    """Rows of keys that come and go, and the watermark after each batch; rows come up to 30 behind."""
    rng = np.random.default_rng(seed)
    made = []
    for b in range(n):
        # Of all keys some are busy for a while; in between they are gone for long.
        group = (rng.integers(0, keys // 4, size) + (b // 5) * keys // 8) % keys
        on = 100 * b + rng.integers(0, 130, size)
        made.append((rows(group, on, rng.random(size) < 0.6), 100 * b + 70))
    return made


def run(bucket: Any, plan: Any, story: list[tuple[pa.Table, int]], *, save: bool, ordered: bool = False) -> list[Any]:
    """The rows of the result; with the state saved and loaded between any two batches, or with everything at hand."""
    shelf, result, late = MemoryShelf(), [], 0
    framer, saved = bucket(plan, shelf), None
    for table, mark in story:
        if save:
            framer = bucket.load(plan, shelf, saved)
        tables, left = framer.step([table], None if ordered else mark)
        late += sum(map(len, left))
        result += tables
        if save:
            event = framer.next_event()
            assert event is None or event > mark
            saved = framer.save()
    result += (bucket.load(plan, shelf, saved) if save else framer).finish()
    result = [tuple(row.items()) for part in result for row in part.to_pylist()]
    return [late, *sorted(result, key=repr)]


SCHEMES = [
    wr.Threshold("hit"),
    wr.Threshold("hit", min_count=3, max_gap=40),
    wr.Threshold("hit", min_count=2, segments=True),
    wr.Delta({"v": 50.0}, max_gap=60),
    wr.Gap(25),
]  # fmt: skip


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
@pytest.mark.parametrize("options", [{}, {"fragments": True}, {"ordered": True}], ids=str)
def test_frames_are_those_of_a_stream_that_keeps_everything(
    scheme: wr.Scheme, options: dict[str, bool], tune: Callable[..., object]
) -> None:
    tune(groups_per_piece=50)
    story, plan, ordered = batches(3, 600, 16, 150), plan_for(scheme, **options), "ordered" in options
    result = run(StreamFramer, plan, story, save=True, ordered=ordered)
    assert result == run(StreamFramer, plan, story, save=False, ordered=ordered)


WINDOWS = [[Sliding(40, 10)], [Rows(4, 2)], [DistinctTimes(3, 1)]]


@pytest.mark.parametrize("windows", WINDOWS, ids=repr)
@pytest.mark.parametrize("options", [{}, {"empty": True}, {"only_changed": True}, {"ordered": True}], ids=str)
def test_windows_are_those_of_a_stream_that_keeps_everything(
    windows: list[Window], options: dict[str, bool], tune: Callable[..., object]
) -> None:
    tune(groups_per_piece=50)
    ordered = options.get("ordered", False)
    query = {name: value for name, value in options.items() if name != "ordered"}
    agg = {"n": wr.count(), "median": wr.median("v"), "sum": wr.sum("v"), "last": wr.last("v")}
    plan = sliding.plan_of(sliding.slide_of(windows, agg, **query), ordered=ordered)
    story = []
    for table, mark in batches(5, 200, 10, 80):
        group = pa.array([int(name.split()[1]) for name in table["g"].to_pylist()])
        story.append((pa.table({"g": group, "on": table["on"], "v": table["v"]}), mark))
    result = run(StreamSlider, plan, story, save=True, ordered=ordered)
    assert result == run(StreamSlider, plan, story, save=False, ordered=ordered)


def step(
    plan: StreamPlan | SlidePlan, shelf: MemoryShelf, saved: bytes | None, table: pa.Table, mark: int | None
) -> Any:
    bucket = plan.load(shelf, saved)
    result, _ = bucket.step([table], mark)
    return bucket, bucket.save(), [row for part in result for row in part.to_pylist()]


def test_a_group_without_a_frame_is_forgotten_at_once() -> None:
    shelf, plan = MemoryShelf(), plan_for(wr.Threshold("hit"))
    bucket, saved, _ = step(plan, shelf, None, rows(range(50), [1] * 50, [True] * 25 + [False] * 25), 5)
    assert bucket.held["groups"] == 25
    bucket, saved, result = step(plan, shelf, saved, rows(range(50), [6] * 50, [False] * 50), 9)
    assert len(result) == bucket.held["groups"] == 25, "a group that had a frame keeps its next number"
    assert Snapshot(saved).rows(shelf).num_rows == 0


def test_what_is_written_depends_on_what_changed_and_not_on_all_groups() -> None:
    written = []
    for keys in (1_000, 8_000):
        shelf, plan = Counting(), plan_for(wr.Threshold("hit"))
        _, saved, _ = step(plan, shelf, None, rows(range(keys), [1] * keys, [True] * keys), 5)
        shelf.written = 0
        for t in range(10, 60, 10):
            _, saved, _ = step(plan, shelf, saved, rows(range(20), [t] * 20, [True] * 20), t + 5)
            shelf.written += len(saved)
        written.append(shelf.written)
    assert written[1] < 1.5 * written[0]


def test_a_group_is_forgotten_once_it_had_no_rows_for_long_enough() -> None:
    for keep, numbers in ((None, [0, 1, 2]), (100, [0, 1, 0])):
        shelf, plan, saved, result = MemoryShelf(), plan_for(wr.Threshold("hit"), keep_groups=keep), None, []
        for t in (10, 60, 400):
            _, saved, _ = step(plan, shelf, saved, rows([1, 1], [t, t + 1], [True, False])[:0], t - 5)
            _, saved, more = step(plan, shelf, saved, rows([1, 1], [t, t + 1], [True, False]), t + 5)
            result += [row["frame"] for row in more]
        assert result == numbers


def test_an_open_frame_keeps_its_group_however_long_it_is_open() -> None:
    shelf, plan = MemoryShelf(), plan_for(wr.Threshold("hit"), keep_groups=100)
    _, saved, _ = step(plan, shelf, None, rows([1, 1, 1], [1, 2, 3], [True, False, True]), 5)
    _, saved, _ = step(plan, shelf, saved, rows([2], [1_000], [True]), 2_000)
    _, saved, result = step(plan, shelf, saved, rows([1], [3_000], [False]), 3_000)
    assert [(row["frame"], row["start"]) for row in result] == [(1, 3)]


def test_an_ordered_stream_forgets_where_a_group_was() -> None:
    shelf, plan = MemoryShelf(), plan_for(wr.Threshold("hit"), ordered=True, keep_groups=100)
    _, saved, _ = step(plan, shelf, None, rows([1, 1], [500, 501], [True, False]), None)
    bucket = plan.load(shelf, saved)
    assert sum(map(len, bucket.step([rows([1], [400], [True])], None)[1])) == 1
    _, saved, _ = step(plan, shelf, saved, rows([2], [5_000], [False]), None)
    bucket = plan.load(shelf, saved)
    assert sum(map(len, bucket.step([rows([1], [400], [True])], None)[1])) == 0


def test_the_next_row_of_a_group_shows_how_long_it_was_away() -> None:
    """In an ordered stream no other row of the bucket may have shown it; a watermark may have passed that row too."""
    frame = [True, False]
    for again, ordered, number in ((599, True, 1), (601, True, 0), (599, False, 1), (601, False, 0)):
        shelf, plan = MemoryShelf(), plan_for(wr.Threshold("hit"), ordered=ordered, keep_groups=100)
        _, saved, _ = step(plan, shelf, None, rows([1, 1], [500, 501], frame), None if ordered else 510)
        _, _, result = step(plan, shelf, saved, rows([1, 1], [again, again + 1], frame), None if ordered else 900)
        assert [row["frame"] for row in result] == [number], (again, ordered)


def test_windows_of_rows_are_forgotten_after_long_enough() -> None:
    agg = {"n": wr.count()}
    for keep, counts in ((None, [2, 2]), (100, [2])):
        shelf, result, saved = MemoryShelf(), [], None
        slide = sliding.slide_of([Rows(2, 2)], agg)
        plan = SlidePlan(slide, sliding._layout(slide), keep_groups=keep)
        for on in ([10, 11, 12], [], [500]):
            table = sliding.table_of([sliding.Row(1, t, 0) for t in on])
            _, saved, more = step(plan, shelf, saved, table, max(on, default=400))
            result += [row["n"] for row in more]
        assert result == counts


def test_groups_that_are_over_leave_the_shelf_in_time() -> None:
    shelf, plan, saved = MemoryShelf(), plan_for(wr.Threshold("hit"), keep_groups=50), None
    sizes = []
    for b in range(60):
        keys = np.arange(200) + 200 * b
        table = rows(np.repeat(keys, 2), np.tile([100 * b, 100 * b + 1], 200), np.tile([True, False], 200))
        bucket, saved, _ = step(plan, shelf, saved, table, 100 * b + 5)
        sizes.append(bucket.held["groups"])
        assert bucket.held["state_bytes"] == sum(len(data) for data in shelf.values())
    assert max(sizes) <= 1_000


@FEWER
@given(
    st.lists(
        st.tuples(st.text(max_size=3), st.integers(), st.booleans()).map(lambda k: (k[0], k[1] % 2**60, k[2])),
        min_size=1,
        max_size=30,
    )
)
def test_a_hash_depends_on_the_key_only(keys: list[tuple[str, int, bool]]) -> None:
    columns = [pa.array(column) for column in zip(*keys, strict=True)]
    hashes = hashes_of(columns, len(keys))
    assert [hashes_of([c.slice(i, 1) for c in columns], 1)[0] for i in range(len(keys))] == hashes.tolist()
    codes = Directory([c.type for c in columns]).encode(columns)
    assert len(set(zip(codes.tolist(), hashes.tolist(), strict=True))) == len(set(codes.tolist()))


@pytest.mark.parametrize("fragments", [False, True])
def test_punctuation_is_that_of_all_groups_though_only_some_are_read(fragments: bool) -> None:
    rng, shelf = np.random.default_rng(4), MemoryShelf()
    plan, saved = plan_for(wr.Threshold("hit", min_count=2), fragments=fragments), None
    for t in range(0, 400, 10):
        keys = rng.integers(0, 30, 6)
        bucket = StreamFramer.load(plan, shelf, saved)
        bucket.step([rows(keys, [t] * 6, (rng.random(6) < 0.6).tolist())], t - 15)
        result = bucket.unreported()
        saved = bucket.save()
        # Without the table of the last punctuation, all groups are looked at.
        recalled = StreamFramer.load(plan, shelf, save_tables("frames", saved_tables(saved, "frames")[:3])).unreported()
        assert sorted(result.to_pylist(), key=repr) == sorted(recalled.to_pylist(), key=repr)
        if t % 70 == 0:  # A batch without punctuation: the next one has to look at all groups again.
            bucket = StreamFramer.load(plan, shelf, saved)
            bucket.step([rows(keys, [t + 5] * 6, (rng.random(6) < 0.6).tolist())], t - 12)
            saved = bucket.save()
    assert len(result), "some groups have open frames in the end"


def test_an_idle_batch_with_punctuation_reads_no_group(monkeypatch: pytest.MonkeyPatch) -> None:
    shelf, plan = MemoryShelf(), plan_for(wr.Threshold("hit"))
    bucket = StreamFramer(plan, shelf)
    bucket.step([rows(range(50), [1] * 50, [True] * 50)], 5)
    assert len(bucket.unreported()) == 50
    saved = bucket.save()
    monkeypatch.setattr(MemoryShelf, "read", lambda self, number: pytest.fail(f"piece {number} was read"))
    bucket = StreamFramer.load(plan, shelf, saved)
    bucket.step([], 6)
    assert len(bucket.unreported()) == 50


def test_a_filler_forgets_groups_without_frames() -> None:
    plan, shelf = filling.plan_for(filling.Story({}, [], [], []), {"n": wr.count()}), MemoryShelf()
    filler, names = Filler(plan, shelf), [f"g{i}" for i in range(200)]
    tuples = filling.rows_table([filling.Row(g, 5, 5, 5, 0) for g in names])
    pieces = [filling.Piece(g, 0, 4, 6, 0, True, 0) for g in names]
    pieces.append(filling.Piece("open", 0, 4, 5, 0, False, 0))
    result = filler.step([tuples], [filling.pieces_table(pieces)], 3, None)
    filler = Filler.load(plan, shelf, filler.save())
    result += filler.step([], [], 10, None)
    assert sum(map(len, result)) == 200
    state = filler.save()
    assert saved_tables(state, "fill")[0]["by0"].to_pylist() == ["open"]
    filler = Filler.load(plan, shelf, state)
    late = filling.pieces_table([filling.Piece("g7", 1, 4, 6, 0, True, 0)])
    filler.step([], [late], 10, None)
    assert filler.counts.late == 1, "a frame of a group that was forgotten is as late as before"
