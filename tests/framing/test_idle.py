"""With `idle=`, what a group has open is closed once it has sent nothing for long, by a clock that tests move."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from frame_streams import arrivals, close, each_scheme, framed, plan_for, tuples
from streams import FEWER
from windrow.framing.stream import StreamFramer, StreamPlan
from windrow.rows.buffers.waiting import MemoryShelf

IDLE = 1_000


def run(plan: StreamPlan, story: list[tuple[pa.Table | None, int]]) -> tuple[list[dict[str, Any]], StreamFramer]:
    """The rows of the result, with the state saved and loaded between any two steps, and the bucket."""
    shelf, state, found = MemoryShelf(), None, []
    for table, now in story:
        bucket = StreamFramer.load(plan, shelf, state)
        found += bucket.step([] if table is None else [table], None, now)[0]
        event = bucket.next_event()
        assert event is None or event > now, "what is due at this time has been done"
        state = bucket.save()
    bucket = StreamFramer.load(plan, shelf, state)
    return [row for part in found for row in part.to_pylist()], bucket


@each_scheme
@FEWER
@given(data=st.data(), delay=st.none() | st.integers(0, 4))
def test_each_silence_ends_the_data_of_a_group(kind: type[wr.Scheme], data: st.DataObject, delay: int | None) -> None:
    """Rows come in two parts with a silence in between: each part gives the frames of a table, numbered throughout."""
    scheme, table, _, _ = data.draw(arrivals(kind))
    if kind is wr.Custom:
        return  # the state of a group lasts longer than its frames
    ordered = table.sort_by([("on", "ascending"), ("position", "ascending")])
    on = ordered["on"].to_pylist()
    places = [i for i in range(1, len(on)) if on[i - 1] < on[i]]
    cut = data.draw(st.sampled_from(places)) if places else len(on)
    plan = plan_for(scheme, idle=IDLE, **({"ordered": True} if delay is None else {"delay": delay}))
    rows, bucket = run(plan, [(ordered.slice(0, cut), 0), (None, IDLE), (ordered.slice(cut), IDLE), (None, 3 * IDLE)])
    assert bucket.next_event() is None
    assert not bucket.arrivals.waiting.rows
    assert bucket.finish() == [] or all(not len(part) for part in bucket.finish())
    expected: list[dict[str, Any]] = []
    numbers: dict[str, int] = {}
    for part in (ordered.slice(0, cut), ordered.slice(cut)):
        for row in framed(plan, part, gap_closes=False):
            number = numbers.get(row["g"], 0)
            numbers[row["g"]] = number + 1
            expected.append({**row, "frame": number})
    found = [{name: row[name] for name in row if name not in ("fragment", "final")} for row in rows]
    order = lambda row: (row["g"], row["frame"])  # noqa: E731
    assert close(sorted(found, key=order), sorted(expected, key=order))


def test_only_silent_groups_are_closed() -> None:
    plan = plan_for(wr.Threshold("hit"), idle=IDLE, ordered=True)
    story = [
        (tuples(("a", 1, True), ("b", 1, True)), 0),
        (tuples(("b", 2, True)), 600),
        (None, 1_000),
        (tuples(("a", 3, True), ("a", 2, False)), 1_500),
        (None, 1_600),
    ]
    rows, bucket = run(plan, story)
    assert [(row["g"], row["start"], row["end"], row["closed_at"], row["complete"]) for row in rows] == [
        ("a", 1, 1, None, True),
        ("b", 1, 2, None, True),
    ]
    assert bucket.next_event() == 2_500


def test_late_rows_show_that_a_group_is_alive() -> None:
    plan = plan_for(wr.Threshold("hit"), idle=IDLE, ordered=True)
    rows, _ = run(plan, [(tuples(("a", 5, True)), 0), (tuples(("a", 1, True)), 900), (None, 1_100)])
    assert rows == []


def test_minimal_frames_are_incomplete_and_frames_too_short_are_dropped() -> None:
    plan = plan_for(wr.Aggregate(wr.sum("v"), ">", 100), idle=IDLE, delay=3)
    rows, _ = run(plan, [(tuples(("a", 1, True), ("a", 2, True)), 0), (None, IDLE), (tuples(("a", 9, True)), IDLE)])
    assert [(row["start"], row["end"], row["closed_at"], row["complete"]) for row in rows] == [(1, 2, None, False)]
    plan = plan_for(wr.Threshold("hit", min_count=3), idle=IDLE, delay=3)
    rows, bucket = run(plan, [(tuples(("a", 1, True), ("a", 2, True)), 0), (None, IDLE)])
    assert rows == []
    _, late = bucket.step([tuples(("a", 2, True), ("a", 3, True))], None, IDLE)
    assert [row["on"] for part in late for row in part.to_pylist()] == [2], "the buffered rows have been framed"


def test_silent_groups_can_be_forgotten() -> None:
    plan = plan_for(wr.Threshold("hit"), idle=IDLE, delay=3, keep_groups=10)
    story: list[tuple[pa.Table | None, int]] = [(tuples(("a", 1, True), ("b", 1, True)), 0), (None, IDLE)]
    story += [(tuples(("b", 10 * k, True)), IDLE + k) for k in range(1, 12)]
    rows, bucket = run(plan, story)
    assert len(rows) == 2
    assert bucket.held["groups"] == 1


def test_idle_can_be_switched_on_and_off() -> None:
    shelf = MemoryShelf()
    without, with_idle = (plan_for(wr.Threshold("hit"), ordered=True, idle=idle) for idle in (None, IDLE))
    bucket = StreamFramer(without, shelf)
    bucket.step([tuples(*((f"g{i}", 1, True) for i in range(8)))], None)
    state = bucket.save()
    for plan, now, expected in ((with_idle, 0, 0), (with_idle, IDLE, 1), (without, 2 * IDLE, 0), (with_idle, 9_000, 0)):
        bucket = StreamFramer.load(plan, shelf, state)
        arrived = [tuples(("g0", 2, True))] if now == 0 else [tuples(("g1", now, True))]
        found = bucket.step(arrived, None, now)[0]
        assert sum(map(len, found)) == expected
        state = bucket.save()


@pytest.mark.parametrize("how", [{"ordered": True}, {"delay": 5}], ids=str)
def test_pieces_of_a_silent_group_end_with_an_empty_one(how: dict[str, Any]) -> None:
    plan = plan_for(wr.Threshold("hit"), idle=IDLE, fragments=True, every=10, **how)
    rows, _ = run(plan, [(tuples(("a", 1, True), ("a", 2, True)), 0), (None, IDLE)])
    assert [(row["start"], row["count"], row["final"]) for row in rows] == [(1, 1, False), (2, 1, True)]
