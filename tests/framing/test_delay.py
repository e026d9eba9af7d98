"""With `delay=`, each group is put in order by its own newest row; frames are those of the rows that are not late."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windows_by_definition as sliding
import windrow as wr
from frame_streams import arrivals, assembled, close, each_scheme, framed, pieces, plan_for, tuples
from streams import FEWER
from windrow.framing.stream import StreamFramer, StreamPlan
from windrow.rows.buffers.waiting import MemoryShelf
from windrow.rows.clock import LARGEST, Clock
from windrow.windows.stream import StreamSlider


class Definition:
    """The rule in plain Python: rows are due once their group has one more than `delay` newer, and late after that."""

    def __init__(self, delay: float) -> None:
        self.delay = delay
        self.newest: dict[Any, float] = {}
        self.framed: dict[Any, float] = {}
        self.waiting: list[tuple[Any, float, int]] = []
        self.accepted: list[int] = []

    def step(self, rows: list[tuple[Any, float, int]]) -> list[int]:
        """Take in rows of group, `on` and position; return the positions of those that are late."""
        late = [row for row in rows if row[0] in self.framed and row[1] <= self.framed[row[0]]]
        for row in rows:
            if row not in late:
                self.newest[row[0]] = max(self.newest.get(row[0], row[1]), row[1])
                self.waiting.append(row)
                self.accepted.append(row[2])
        due = [row for row in self.waiting if self.newest[row[0]] - row[1] > self.delay]
        for group, on, _ in due:
            self.framed[group] = max(self.framed.get(group, on), on)
        self.waiting = [row for row in self.waiting if row not in due]
        return [row[2] for row in late]


def rows_of(table: pa.Table, batch: list[int]) -> list[tuple[Any, float, int]]:
    group, on = table["g"].to_pylist(), table["on"].to_pylist()
    return [(group[i], on[i], i) for i in batch]


def streamed(plan: StreamPlan, table: pa.Table, batches: list[list[int]]) -> tuple[list[dict[str, Any]], list[int]]:
    """The rows of the result, and the rows that were not late; the state is saved and loaded between batches."""
    shelf, state, found = MemoryShelf(), None, []
    rule = Definition(plan.delay or 0)
    numbered = table.append_column("row", pa.array(np.arange(len(table))))
    for batch in batches:
        bucket = StreamFramer.load(plan, shelf, state)
        tables, late = bucket.step([numbered.take(pa.array(batch, pa.int64()))], None)
        assert sorted(row for part in late for row in part["row"].to_pylist()) == sorted(
            rule.step(rows_of(table, batch))
        )
        assert bucket.arrivals.waiting.rows == len(rule.waiting)
        assert {number for number in shelf if number >= 0} == {piece.number for piece in bucket.arrivals.waiting.pieces}
        assert bucket.next_event() is None
        found += tables
        state = bucket.save()
    found += StreamFramer.load(plan, shelf, state).finish()
    assert not shelf
    return [row for part in found for row in part.to_pylist()], rule.accepted


@each_scheme
@FEWER
@given(data=st.data(), delay=st.integers(0, 6), fragments=st.booleans())
def test_frames_are_those_of_a_batch_of_the_rows_that_are_not_late(
    kind: type[wr.Scheme], data: st.DataObject, delay: int, fragments: bool
) -> None:
    scheme, table, batches, _ = data.draw(arrivals(kind))
    plan = plan_for(scheme, delay=delay, fragments=fragments)
    rows, accepted = streamed(plan, table, batches)
    if not fragments:
        assert all(row.pop("fragment") == 0 and row.pop("final") for row in rows)
        rows.sort(key=lambda row: (row["g"], row["frame"]))
    found = assembled(rows) if fragments else rows
    assert close(found, framed(plan, table.take(pa.array(sorted(accepted), pa.int64())), gap_closes=False))


def test_no_row_is_late_that_comes_within_the_delay(tune: Callable[..., object]) -> None:
    tune(rows_per_piece=20, groups_per_piece=10)
    rng = np.random.default_rng(7)
    on = np.sort(rng.integers(0, 2_000, 3_000)) + 1
    group = rng.integers(0, 40, on.size)
    speed = rng.integers(1, 50, 40)[group]  # slow groups are far behind fast ones
    table = pa.table(
        {
            "g": [f"g{g}" for g in group],
            "on": on * speed,
            "hit": rng.random(on.size) < 0.6,
            "v": np.arange(on.size),
            "position": np.arange(on.size),
        }
    )
    arrives = np.argsort(on + rng.integers(0, 10, on.size), kind="stable")
    plan = plan_for(wr.Threshold("hit", min_count=2), delay=10 * 50)
    rows, accepted = streamed(plan, table, [part.tolist() for part in np.array_split(arrives, 40)])
    assert len(accepted) == on.size
    found = [{name: row[name] for name in row if name not in ("fragment", "final")} for row in rows]
    found.sort(key=lambda row: (row["g"], row["frame"]))
    assert close(found, framed(plan, table, gap_closes=False))


def test_a_row_from_the_future_spoils_its_own_group_only() -> None:
    bucket = StreamFramer(plan_for(wr.Threshold("hit"), delay=5), MemoryShelf())
    bucket.step([tuples(("a", 1, True), ("b", 1, True), ("a", 9_999_999, True))], None)
    _, late = bucket.step([tuples(("a", 3, True), ("b", 3, True), ("b", 2, True))], None)
    assert not sum(map(len, late)), "nothing after 1 has been framed in either group"
    _, late = bucket.step([tuples(("a", 2, True), ("b", 2, False), ("a", 4, False), ("b", 4, False))], None)
    assert [(row["g"], row["on"]) for part in late for row in part.to_pylist()] == [("a", 2)]
    result, _ = bucket.step([tuples(("b", 10, False))], None)
    assert [(row["g"], row["start"], row["end"]) for row in result[0].to_pylist()] == [("b", 1, 1), ("b", 2, 3)]


def test_a_frame_is_reported_in_the_batch_that_shows_its_end() -> None:
    bucket = StreamFramer(plan_for(wr.Threshold("hit"), delay=2), MemoryShelf())
    assert pieces(bucket.step([tuples(("a", 1, True), ("a", 3, False), ("a", 5, False))], None)[0]) == []
    assert pieces(bucket.step([tuples(("a", 6, False))], None)[0]) == [(0, 1, 1, 1, 0, True)]


def test_a_row_that_equals_one_that_has_been_framed_is_late() -> None:
    bucket = StreamFramer(plan_for(wr.Threshold("hit"), delay=0), MemoryShelf())
    bucket.step([tuples(("a", 1, True), ("a", 2, True))], None)
    _, late = bucket.step([tuples(("a", 1, False), ("a", 2, True))], None)
    assert [row["on"] for part in late for row in part.to_pylist()] == [1]


def test_pieces_of_slow_groups_are_combined_and_those_of_others_not_read(tune: Callable[..., object]) -> None:
    tune(rows_per_piece=10)
    shelf = MemoryShelf()
    bucket = StreamFramer(plan_for(wr.Threshold("hit"), delay=3), shelf)
    for t in range(50):
        bucket.step([tuples((f"slow{t}", t, True), ("fast", t, True))], None)
    assert bucket.arrivals.waiting.rows == 50 + 4
    assert len(bucket.arrivals.waiting.pieces) < 15, "the rows of groups that have ended are in few pieces"
    before = dict(shelf)
    bucket.step([tuples(("slow49", 50, True))], None)
    rewritten = {number for number in before if number >= 0} - {*shelf}
    assert len(rewritten) <= 2, "nothing was due, so at most the smallest pieces were combined"


def test_groups_with_buffered_rows_are_not_forgotten() -> None:
    plan = plan_for(wr.Threshold("hit"), delay=5, keep_groups=10)
    shelf, state, found = MemoryShelf(), None, []
    for on in range(0, 200, 7):
        bucket = StreamFramer.load(plan, shelf, state)
        rows = [("busy", on, on % 2 == 0)]
        rows += [("quiet", 0, True), ("quiet", 1, False), ("quiet", 7, True)] if on == 0 else []
        found += bucket.step([tuples(*rows)], None)[0]
        state = bucket.save()
    bucket = StreamFramer.load(plan, shelf, state)
    found += bucket.step([tuples(("quiet", 8, False), ("quiet", 20, True))], None)[0]
    quiet = [(row["frame"], row["start"]) for part in found for row in part.to_pylist() if row["g"] == "quiet"]
    assert quiet == [(0, 0), (1, 7)]


@pytest.mark.parametrize("windows", [[wr.Sliding(6, 2)], [wr.Rows(4, 2)], [wr.DistinctTimes(3, 1)]], ids=repr)
def test_windows_are_those_of_the_rows_that_are_not_late(windows: list[wr.Window]) -> None:
    agg = {"n": wr.count(), "sum": wr.sum("v"), "last": wr.last("v")}
    query = sliding.slide_of(windows, agg)
    rng = np.random.default_rng(3)
    n, delay = 300, 4
    group, on = rng.integers(0, 4, n), np.arange(n) // 3 + rng.integers(0, 6, n)
    on *= group + 1
    table = pa.table({"g": group, "on": on, "v": rng.permutation(n)})
    plan, rule = sliding.plan_of(query, delay=delay), Definition(delay)
    shelf, state, found = MemoryShelf(), None, []
    for batch in np.array_split(np.arange(n), 17):
        slider = StreamSlider.load(plan, shelf, state)
        tables, late = slider.step([table.take(pa.array(batch))], None)
        assert sum(map(len, late)) == len(rule.step(rows_of(table, batch.tolist())))
        found += tables
        state = slider.save()
    found += StreamSlider.load(plan, shelf, state).finish()
    assert 0 < len(rule.accepted) < n
    whole = StreamSlider(sliding.plan_of(query, delay=LARGEST), MemoryShelf())
    whole.step([table.take(pa.array(rule.accepted))], None)
    assert _counted(found) == _counted(whole.finish())


def _counted(tables: list[pa.Table]) -> dict[Any, int]:
    counts: dict[Any, int] = defaultdict(int)
    for row in (row for part in tables for row in part.to_pylist()):
        counts[tuple(row.items())] += 1
    return counts


def test_distances_are_exact_at_the_ends_of_the_clock() -> None:
    clock, real = Clock.of(pa.int64(), "t"), Clock.of(pa.float64(), "t")
    ends = np.array([LARGEST]), np.array([-LARGEST])
    assert clock.exceeds(*ends, LARGEST - 1).all()
    assert not clock.exceeds(*ends, LARGEST).any(), "no distance exceeds the largest"
    assert real.exceeds(np.array([np.inf, np.inf]), np.array([0.0, np.inf]), 1e308).tolist() == [True, False]
