"""Streams of frames and rows for `Filler`, and which rows lie in which frames."""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa
from hypothesis import strategies as st

import windrow as wr
from windrow.aggregates.engine.accumulator import Accumulator
from windrow.filling.filler import Filler
from windrow.filling.plan import FillPlan
from windrow.rows.buffers.waiting import MemoryShelf
from windrow.rows.clock import Clock

CLOCK = Clock.of(pa.int64(), "on")


AGG = {"n": wr.count(), "total": wr.sum("v"), "first": wr.first("v"), "last": wr.last("v"), "spread": wr.variance("v")}


END = 30


FRAME_TYPES = {
    "by0": pa.string(), "number": pa.int64(), "start": pa.int64(), "end": pa.int64(), "fragment": pa.int64(),
    "final": pa.bool_(), "c0": pa.int64(), "c1": pa.int64(), "c2": pa.int64(), "c3": pa.int64(),
}  # fmt: skip


class Piece(NamedTuple):
    """A piece of a frame, and the batch in which it arrives."""

    group: str
    number: int
    start: int | None
    end: int | None
    fragment: int
    final: bool
    batch: int


class Row(NamedTuple):
    group: str
    on: int
    v: int | None
    name: int
    batch: int


class Story(NamedTuple):
    """What arrives when, the watermark of each batch, and the frames that the pieces are of."""

    frames: dict[tuple[str, int], tuple[int, int]]
    pieces: list[Piece]
    rows: list[Row]
    marks: list[int]


GROUPS = st.sampled_from("ab")


@st.composite
def stories(draw: st.DrawFn, *, frames_are_table: bool = False, rows_are_table: bool = False) -> Story:
    """Frames that overlap as they like, cut into pieces; a piece arrives when the watermark has passed its end."""
    batches = draw(st.integers(1, 5))
    marks = sorted(draw(st.lists(st.integers(-1, END), min_size=batches, max_size=batches)))
    frames, pieces = {}, []
    for number in range(draw(st.integers(0, 5))):
        group, start = draw(GROUPS), draw(st.integers(0, 20))
        cuts = sorted(draw(st.lists(st.integers(start, 22), min_size=1, max_size=1 if frames_are_table else 3)))
        frames[group, number] = (start, cuts[-1])
        batch, begins = 0, start
        for fragment, end in enumerate(cuts):
            final = fragment == len(cuts) - 1
            # A last piece that brings nothing new has neither start nor end.
            empty = fragment > 0 and final and draw(st.booleans()) and cuts[-2] == end
            batch = draw(st.integers(batch, batches))
            place = (None, None) if empty else (min(begins, end), end)
            pieces.append(Piece(group, number, *place, fragment, final, -1 if frames_are_table else batch))
            begins = end
    rows = []
    for name in range(draw(st.integers(0, 12))):
        on = draw(st.integers(0, 24))
        # A row is on time in the batches before which the watermark has not passed it.
        latest = sum(mark < on for mark in marks)
        batch = draw(st.integers(0, min(latest, batches - 1)))
        rows.append(Row(draw(GROUPS), on, draw(st.none() | st.integers(-5, 5)), name, -1 if rows_are_table else batch))
    return Story(frames, pieces, rows, marks)


def plan_for(story: Story, agg: dict[str, Any], **sides: bool) -> FillPlan:
    accumulators = tuple(Accumulator(a, pa.int64()) for a in agg.values())
    values = tuple("v" if a.columns else None for a in agg.values())
    return FillPlan(
        CLOCK, (pa.string(),), accumulators, values, ("name",), ("by0", "on", "name"),
        ("by0", "c0", "c1", "c2", "c3") if agg else (), {"start": "c1", "end": "c2", "count": "c3"},
        {"agg": repr(agg)}, **sides,
    )  # fmt: skip


def pieces_table(pieces: list[Piece]) -> pa.Table:
    rows = [
        (p.group, p.number, p.start, p.end, p.fragment, p.final, p.number, p.start, p.end, 0 if p.end is None else 1)
        for p in pieces
    ]
    columns = zip(*rows, strict=True) if rows else [()] * len(FRAME_TYPES)
    return pa.table(
        {name: pa.array(column, kind) for (name, kind), column in zip(FRAME_TYPES.items(), columns, strict=True)}
    )


def rows_table(rows: list[Row]) -> pa.Table:
    return pa.table(
        {
            "by0": pa.array([u.group for u in rows], pa.string()),
            "on": pa.array([u.on for u in rows], pa.int64()),
            "v": pa.array([u.v for u in rows], pa.int64()),
            "name": pa.array([u.name for u in rows], pa.int64()),
        }
    )


def under_way(story: Story, batch: int, mark: int) -> pa.Table:
    """Return what a stream of frames reports: the starts of frames behind the watermark that have not arrived yet."""
    starts: dict[str, int] = {}
    for (group, number), (start, _) in story.frames.items():
        first = min(p.batch for p in story.pieces if (p.group, p.number) == (group, number))
        if first > batch and start <= mark:
            starts[group] = min(start, starts.get(group, start))
    return pa.table({"by0": pa.array(list(starts), pa.string()), "start": pa.array(list(starts.values()), pa.int64())})


def filled(story: Story, plan: FillPlan, *, finish: bool = True) -> tuple[list[dict[str, Any]], Filler]:
    """The rows of the result, with the state saved and loaded between any two batches."""
    shelf = MemoryShelf()
    filler = Filler(plan, shelf)
    filler.take_table(
        [rows_table(story.rows)] if plan.rows_are_table else [],
        [pieces_table(story.pieces)] if plan.frames_are_table else [],
    )
    results: list[pa.Table] = []
    for batch, mark in enumerate(story.marks):
        filler = Filler.load(plan, shelf, filler.save())
        arrived = rows_table([u for u in story.rows if u.batch == batch])
        pieces = pieces_table([p for p in story.pieces if p.batch == batch])
        results += filler.step([arrived], [pieces], mark, under_way(story, batch, mark))
        assert filler.counts.late == 0
        assert set(shelf) == {p.number for part in (filler.held.ahead, filler.held.behind) for p in part.pieces}
    filler = Filler.load(plan, shelf, filler.save())
    if finish:
        results += filler.finish([pieces_table([p for p in story.pieces if p.batch == len(story.marks)])])
        assert not shelf
    return [row for table in results for row in table.to_pylist()], filler


def members(story: Story, group: str, span: tuple[int, int]) -> list[Row]:
    inside = [u for u in story.rows if u.group == group and span[0] <= u.on <= span[1]]
    return sorted(inside, key=lambda u: (u.on, u.name))


def frame(number: int, start: int | None, end: int | None, fragment: int = 0, final: bool = True) -> pa.Table:
    return pieces_table([Piece("a", number, start, end, fragment, final, 0)])


def arrived(*on: int) -> pa.Table:
    return rows_table([Row("a", t, t, t, 0) for t in on])


def punctuation(start: int | None) -> pa.Table:
    """Return what the stream of frames reports about group a: where its first frame under way starts."""
    groups, starts = ([], []) if start is None else (["a"], [start])
    return pa.table({"by0": pa.array(groups, pa.string()), "start": pa.array(starts, pa.int64())})


def names(results: list[pa.Table]) -> list[tuple[int, int]]:
    return sorted((row["name"], row["frame"]) for part in results for row in part.to_pylist())


NOTHING = Story({}, [], [], [])
