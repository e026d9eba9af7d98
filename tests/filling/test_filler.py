"""Filling a stream gives the pairs of the definition, however frames, pieces of frames and rows arrive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fill_streams import (
    AGG,
    END,
    NOTHING,
    Row,
    arrived,
    filled,
    frame,
    members,
    names,
    plan_for,
    punctuation,
    rows_table,
    stories,
    under_way,
)
from streams import FEWER
from windrow.aggregates.engine.accumulator import Accumulator
from windrow.errors import SourceError
from windrow.filling import codec
from windrow.filling.filler import Filler
from windrow.rows.buffers.waiting import MemoryShelf


@pytest.mark.parametrize("sides", [{}, {"frames_are_table": True}, {"rows_are_table": True}], ids=str)
@FEWER
@given(data=st.data())
def test_rows_are_tagged_with_the_frames_of_the_definition(sides: dict[str, bool], data: st.DataObject) -> None:
    story = data.draw(stories(**sides))
    rows, _ = filled(story, plan_for(story, {}, **sides))
    expected = [(u.name, number) for (g, number), span in story.frames.items() for u in members(story, g, span)]
    assert sorted((row["name"], row["frame"]) for row in rows) == sorted(expected)


@pytest.mark.parametrize("sides", [{}, {"frames_are_table": True}, {"rows_are_table": True}], ids=str)
@FEWER
@given(data=st.data())
def test_frames_have_the_aggregates_of_the_definition(sides: dict[str, bool], data: st.DataObject) -> None:
    story = data.draw(stories(**sides))
    rows, _ = filled(story, plan_for(story, AGG, **sides))
    pieces = {key: [p for p in story.pieces if (p.group, p.number) == key] for key in story.frames}
    expected = []
    for (group, number), span in story.frames.items():
        accumulators = [Accumulator(a, pa.int64()) for a in AGG.values()]
        inside = members(story, group, span)
        results = []
        for accumulator, aggregate in zip(accumulators, AGG.values(), strict=True):
            state = accumulator.empty(1)
            column = pa.array([u.v if aggregate.columns else 0 for u in inside], pa.int64())
            slots = pa.array([0] * len(inside), pa.int64()).to_numpy().reshape(-1, 1)
            accumulator.accumulate(state, slots, accumulator.read(column))
            results.append(accumulator.finish(state)[0].as_py())
        count = sum(p.end is not None for p in pieces[group, number])
        expected.append((group, number, *span, count, *results))
    names = ("by0", "c0", "c1", "c2", "c3", *(f"aggregate{j}" for j in range(len(AGG))))
    results = [tuple(row[name] for name in names) for row in rows]

    def rounded(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        return sorted(((*row[:-1], row[-1] and round(row[-1], 6)) for row in rows), key=repr)

    assert rounded(results) == rounded(expected)


@FEWER
@given(data=st.data())
def test_nothing_is_held_that_no_frame_can_have(data: st.DataObject) -> None:
    story = data.draw(stories())
    for agg in ({}, AGG):
        _, filler = filled(story, plan_for(story, agg), finish=False)
        mark = story.marks[-1]
        starts = dict(zip(*under_way(story, len(story.marks) - 1, mark).to_pydict().values(), strict=True))
        waits = [u for u in story.rows if u.on > mark]
        may = [u for u in story.rows if u.on <= mark and u.on >= starts.get(u.group, END + 1)]
        spans = filler.held.open.spans
        open_pieces = [(g, r) for g, r, f in zip(spans.group, spans.reach, spans.final, strict=True) if not f]
        names = filler.held.directory.keys()[0].to_pylist()
        going = [
            u for u in story.rows if u.on <= mark and any(names[g] == u.group and u.on > r for g, r in open_pieces)
        ]
        assert filler.held.ahead.rows == len(waits)
        # What was held for a frame that came to nothing may stay until all is looked through.
        assert filler.held.behind.rows >= len({*may, *going})


def test_late_rows_and_late_frames_are_counted_and_left_out() -> None:
    filler = Filler(plan_for(NOTHING, {}), MemoryShelf())
    assert filler.step([arrived(3, 12)], [], 10) == []
    assert filler.step([arrived(10, 11)], [frame(0, 10, 12)], 10) == []
    assert filler.counts.late == 2
    assert names(filler.step([], [frame(1, 11, 12)], 12)) == [(11, 1), (12, 1)]


def test_whole_frames_of_one_number_stay_apart() -> None:
    for batches in ([[(0, 10, 20), (0, 40, 50)]], [[(0, 10, 20)], [(0, 40, 50)]]):
        filler = Filler(plan_for(NOTHING, AGG), MemoryShelf())
        results = filler.step([arrived(*range(0, 60, 5))], [], None)
        for some in batches:
            results += filler.step([], [frame(*one) for one in some], None)
        results += filler.step([], [], 60)
        rows = [(row["c1"], row["c2"], row["aggregate0"]) for part in results for row in part.to_pylist()]
        assert sorted(rows) == [(10, 20, 3), (40, 50, 3)]


def test_the_punctuation_of_the_frames_says_what_is_held() -> None:
    filler = Filler(plan_for(NOTHING, {}), MemoryShelf())
    # A frame is under way from 4 on: what is before it can go, what is in it cannot.
    assert filler.step([arrived(1, 2, 4, 5, 6)], [], 6, punctuation(4)) == []
    assert filler.held.behind.rows == 3
    assert filler.step([arrived(7, 8)], [], 8, punctuation(4)) == []
    assert filler.held.behind.rows == 5
    assert names(filler.step([arrived(9)], [frame(0, 4, 7)], 9, punctuation(None))) == [(4, 0), (5, 0), (6, 0), (7, 0)]
    assert filler.held.rows == 0
    assert filler.held.stats.most == 6


def test_fragments_let_go_what_whole_frames_would_hold() -> None:
    """The frame of "Framing systems II" that covers everything: whole, all its rows wait; in pieces, a batch does."""
    most = {}
    for in_pieces in (False, True):
        filler = Filler(plan_for(NOTHING, {}), MemoryShelf())
        results = []
        for batch in range(20):
            on = range(10 * batch, 10 * batch + 10)
            last = batch == 19
            piece = frame(0, on[0], on[-1], batch, last) if in_pieces else frame(0, 0, on[-1])
            pieces = [piece] if in_pieces or last else []
            results += filler.step([arrived(*on)], pieces, on[-1], punctuation(None if in_pieces or last else 0))
        assert names(results) == [(t, 0) for t in range(200)]
        assert filler.held.rows == 0
        most[in_pieces] = filler.held.stats.most
    assert most == {False: 200, True: 10}


def test_what_was_held_for_nothing_is_found_when_it_has_doubled(tune: Callable[..., object]) -> None:
    tune(rows_per_piece=10)
    filler = Filler(plan_for(NOTHING, {}), MemoryShelf())

    def step(batch: int, groups: str) -> None:
        on = [10 * batch + i for i in range(5)]
        rows = [Row(g, t, t, t, 0) for g in "ab" for t in on]
        way = pa.table({"by0": pa.array(list(groups)), "start": pa.array([0] * len(groups), pa.int64())})
        filler.step([rows_table(rows)], [], on[-1], way)

    # The frame of group a stays open; that of group b is discarded after the second batch.
    for batch in range(30):
        step(batch, "ab" if batch < 2 else "a")
    in_a = 30 * 5
    assert in_a <= filler.held.behind.rows <= in_a + 10
    assert len(filler.held.behind.pieces) < 30


def test_a_state_of_another_query_or_a_newer_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_for(NOTHING, {})
    filler = Filler(plan, MemoryShelf())
    filler.step([arrived(3)], [], 2)
    state = filler.save()
    with pytest.raises(SourceError, match=r"written with agg=\{\}, but this query uses agg="):
        Filler.load(plan_for(NOTHING, AGG), MemoryShelf(), state)
    monkeypatch.setattr(codec, "VERSION", 0)
    with pytest.raises(SourceError, match="version 2, written by a newer Windrow"):
        Filler.load(plan, MemoryShelf(), state)
