"""A stream gives the frames of a batch, however its rows arrive, with its state saved and loaded at every step."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from frame_streams import (
    arrivals,
    assembled,
    close,
    each_scheme,
    framed,
    pieces,
    plan_for,
    streamed,
    tuples,
)
from streams import FEWER
from windrow.errors import SourceError
from windrow.framing.stream import StreamFramer, StreamPlan
from windrow.rows.buffers.waiting import MemoryShelf


@each_scheme
@FEWER
@given(data=st.data())
def test_a_stream_gives_the_frames_of_a_batch(kind: type[wr.Scheme], data: st.DataObject) -> None:
    scheme, table, batches, marks = data.draw(arrivals(kind))
    plan = plan_for(scheme)
    rows = streamed(plan, table, batches, marks)
    assert all(row.pop("fragment") == 0 and row.pop("final") for row in rows)
    assert close(sorted(rows, key=lambda row: (row["g"], row["frame"])), framed(plan, table, gap_closes=True))


@each_scheme
@FEWER
@given(data=st.data())
def test_fragments_assemble_to_the_frames_of_a_batch(kind: type[wr.Scheme], data: st.DataObject) -> None:
    scheme, table, batches, marks = data.draw(arrivals(kind))
    plan = plan_for(scheme, fragments=True)
    assert close(assembled(streamed(plan, table, batches, marks)), framed(plan, table, gap_closes=True))


@each_scheme
@FEWER
@given(data=st.data())
def test_an_ordered_stream_is_framed_at_once(kind: type[wr.Scheme], data: st.DataObject) -> None:
    scheme, table, _, _ = data.draw(arrivals(kind))
    plan = plan_for(scheme, ordered=True)
    ordered = table.sort_by([("on", "ascending"), ("position", "ascending")])
    on = ordered["on"].to_pylist()
    # A batch may end between two instants only: which of two tied rows comes first is not for arrival to say.
    places = [i for i in range(1, len(on)) if on[i - 1] < on[i]]
    cuts = sorted(data.draw(st.sets(st.sampled_from(places)))) if places else []
    bucket, result = StreamFramer(plan, MemoryShelf()), []
    for a, b in pairwise([0, *cuts, len(on)]):
        tables, late = bucket.step([ordered.slice(a, b - a)], None)
        assert not sum(map(len, late))
        assert not bucket.arrivals.waiting.rows
        result += tables
        bucket = StreamFramer.load(plan, bucket.shelf, bucket.save())
    result += bucket.finish()
    rows = [{k: v for k, v in row.items() if k not in ("fragment", "final")} for t in result for row in t.to_pylist()]
    rows.sort(key=lambda row: (row["g"], row["frame"]))
    assert close(rows, framed(plan, ordered, gap_closes=False))


def test_late_tuples_are_counted_and_handed_back() -> None:
    bucket = StreamFramer(plan_for(wr.Threshold("hit")), MemoryShelf())
    bucket.step([tuples(("a", 5, True), ("a", 9, True))], 6)
    result, late = bucket.step([tuples(("a", 6, True), ("a", 7, False), ("b", 2, True))], 8)
    assert [row["on"] for part in late for row in part.to_pylist()] == [6, 2]
    assert (bucket.arrivals.counts.arrived, bucket.arrivals.counts.late) == (5, 2)
    assert [(row["start"], row["end"], row["closed_at"]) for row in result[0].to_pylist()] == [(5, 5, 7)]


def test_an_ordered_stream_refuses_what_comes_out_of_order() -> None:
    bucket = StreamFramer(plan_for(wr.Threshold("hit"), ordered=True), MemoryShelf())
    bucket.step([tuples(("a", 5, True), ("b", 1, True))], None)
    _, late = bucket.step([tuples(("a", 4, True), ("b", 2, True), ("a", 5, True))], None)
    assert [(row["g"], row["on"]) for part in late for row in part.to_pylist()] == [("a", 4)]


def test_a_gap_ends_a_frame_as_soon_as_the_watermark_is_past_it() -> None:
    bucket = StreamFramer(plan_for(wr.Gap(10)), MemoryShelf())
    result, _ = bucket.step([tuples(("a", 5, True), ("b", 14, True))], 14)
    assert not result
    assert bucket.next_event() == 15
    result, _ = bucket.step([], 15)
    assert [(row["g"], row["start"], row["closed_at"], row["final"]) for row in result[0].to_pylist()] == [
        ("a", 5, None, True)
    ]


def test_a_frame_is_reported_with_the_tuple_that_makes_it_sure() -> None:
    bucket = StreamFramer(plan_for(wr.Threshold("hit", min_duration=3), fragments=True), MemoryShelf())
    assert bucket.step([tuples(("a", 1, True), ("a", 3, True))], 3)[0] == []
    result, _ = bucket.step([tuples(("a", 4, True))], 4)
    assert [(row["start"], row["end"], row["count"], row["final"]) for row in result[0].to_pylist()] == [
        (1, 4, 3, False)
    ]
    result, _ = bucket.step([tuples(("a", 6, False))], 6)
    (last,) = result[0].to_pylist()
    assert (last["start"], last["end"], last["count"], last["fragment"], last["final"]) == (None, None, 0, 1, True)
    assert (last["sum"], last["n"], last["closed_at"]) == (8, 3, 6)


def test_waiting_tuples_lie_in_narrow_pieces(tune: Callable[..., object]) -> None:
    tune(rows_per_piece=10)
    shelf = MemoryShelf()
    bucket = StreamFramer(plan_for(wr.Threshold("hit")), shelf)
    bucket.step([tuples(*(("a", t, True) for t in range(60)))], 0)
    before = dict(shelf)
    assert len(before) == 6
    bucket.step([], 14)
    unchanged = [number for number in before if number in shelf]
    assert len(unchanged) == 4, "a progress reads what is due and writes the rest of one piece, no more"
    assert bucket.arrivals.waiting.rows == 45


def test_a_state_of_a_newer_version_or_of_another_query_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_for(wr.Threshold("hit"))
    bucket = StreamFramer(plan, MemoryShelf())
    bucket.step([tuples(("a", 5, True))], 6)
    state = bucket.save()
    other = plan_for(wr.Threshold("hit", min_count=2))
    with pytest.raises(
        SourceError, match=r"written with scheme=Threshold\('`hit`'\), but this query uses .*min_count=2"
    ):
        StreamFramer.load(other, MemoryShelf(), state)
    with pytest.raises(SourceError, match="fragments=False"):
        StreamFramer.load(plan_for(wr.Threshold("hit"), fragments=True), MemoryShelf(), state)
    monkeypatch.setattr(StreamPlan, "version", 0)
    with pytest.raises(SourceError, match="version 3, written by a newer Windrow"):
        StreamFramer.load(plan, MemoryShelf(), state)
    monkeypatch.setattr(StreamPlan, "version", 4)
    with pytest.raises(SourceError, match="version 3, written by an older Windrow"):
        StreamFramer.load(plan, MemoryShelf(), state)


# The worked behaviour of "Capturing episodes" (2012), 4.2, and of "Framing systems II".


def test_nothing_is_framed_before_punctuation_and_then_in_order() -> None:
    bucket = StreamFramer(plan_for(wr.Threshold("hit", min_count=2)), MemoryShelf())
    assert bucket.step([tuples(("a", 4, False), ("a", 2, True), ("a", 7, True), ("a", 3, True))], None)[0] == []
    assert pieces(bucket.step([tuples(("a", 1, True), ("a", 6, True))], 5)[0]) == [(0, 1, 3, 3, 0, True)]
    assert pieces(bucket.step([tuples(("a", 8, False))], 8)[0]) == [(1, 6, 7, 2, 0, True)]


def test_a_long_frame_is_reported_at_each_punctuation_under_one_number() -> None:
    bucket = StreamFramer(plan_for(wr.Threshold("hit", min_count=20), fragments=True), MemoryShelf())
    reports = []
    for punctuation in range(10, 60, 10):
        arrived = tuples(*(("a", t, t < 45) for t in range(punctuation - 9, punctuation + 1)))
        reports.append(pieces(bucket.step([arrived], punctuation)[0]))
    # Too short at 10; sure with the 20th tuple, so reported at 20; whole at 50, where the last piece ends before it.
    assert reports == [
        [],
        [(0, 1, 20, 20, 0, False)],
        [(0, 21, 30, 10, 1, False)],
        [(0, 31, 40, 10, 2, False)],
        [(0, 41, 44, 4, 3, True)],
    ]


def test_a_frame_that_ends_exactly_on_a_punctuation_is_told_by_the_next() -> None:
    bucket = StreamFramer(plan_for(wr.Threshold("hit"), fragments=True), MemoryShelf())
    assert pieces(bucket.step([tuples(("a", 1, True), ("a", 2, True))], 2)[0]) == [(0, 1, 2, 2, 0, False)]
    assert pieces(bucket.step([tuples(("a", 3, False))], 3)[0]) == [(0, None, None, 0, 1, True)]


def test_on_and_off_segments_of_any_minimum_come_in_fragments_too() -> None:
    scheme = wr.Threshold("hit", min_count=3, segments=True)
    bucket = StreamFramer(plan_for(scheme, fragments=True), MemoryShelf())
    hits = [False, False, True, False, True, True, True, True, False]
    reports = []
    for at in range(0, 9, 3):
        arrived = tuples(*(("a", t, hits[t]) for t in range(at, at + 3)))
        reports.append([(*row[:4], row[5]) for row in pieces(bucket.step([arrived], at + 2)[0])])
    # The run at 2 turns out to be too short and belongs to the off segment; the one from 4 on is sure with its third.
    assert reports == [
        [(0, 0, 1, 2, False)],
        [(0, 2, 3, 2, False)],
        [(0, None, None, 0, True), (1, 4, 7, 4, True), (2, 8, 8, 1, False)],
    ]


def test_each_group_has_its_own_frames_and_one_punctuation_serves_all() -> None:
    bucket = StreamFramer(plan_for(wr.Threshold("hit")), MemoryShelf())
    arrived = tuples(("a", 1, True), ("b", 1, False), ("b", 2, True), ("a", 3, False), ("b", 4, False))
    result, _ = bucket.step([arrived], 4)
    assert sorted((row["g"], row["start"], row["closed_at"]) for row in result[0].to_pylist()) == [
        ("a", 1, 3),
        ("b", 2, 4),
    ]
