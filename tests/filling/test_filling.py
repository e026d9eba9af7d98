"""The sweep finds the rows of each frame that the definition gives, however its input is cut into batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from streams import FLOAT, INTEGER, Span
from windrow.aggregates.engine.accumulator import Accumulator
from windrow.arrays import Values
from windrow.filling.sweep import Summary, Sweep, SweepBatch, Tagger
from windrow.rows.clock import Clock
from windrow.rows.groups import Directory


class Frame(NamedTuple):
    group: int
    start: int
    end: int
    number: int


class Row(NamedTuple):
    group: int
    on: int
    value: int | None
    name: int


GROUPS, TIMES = st.integers(0, 3), st.integers(0, 12)
FRAMES = st.lists(st.builds(Frame, GROUPS, TIMES, TIMES, st.integers(0, 5)), max_size=14)
ROWS = st.lists(st.tuples(GROUPS, TIMES, st.none() | st.integers(-5, 5)), max_size=14).map(
    lambda rows: [Row(*row, name) for name, row in enumerate(rows)]
)
CUTS = st.lists(st.integers(0, 28), max_size=8).map(sorted)
AGGREGATES = (wr.count(), wr.count("v"), wr.sum("v"), wr.first("v"), wr.last("v"), wr.max("v"), wr.mean("v"), Span("v"))


def members(frame: Frame, rows: Iterable[Row]) -> list[Row]:
    """The rows of a frame by the definition, in order of time and, at one time, of arrival."""
    return sorted(
        (u for u in rows if u.group == frame.group and frame.start <= u.on <= frame.end),
        key=lambda u: (u.on, u.name),
    )


def batches(
    frames: Sequence[Frame], rows: Sequence[Row], cuts: Sequence[int], clock: Clock
) -> Iterator[tuple[SweepBatch, list[Any]]]:
    """Frames and rows in order, cut at the given places; each batch also as plain entries."""
    entries: list[Any] = sorted([*frames, *rows], key=lambda r: (r[0], r[1], isinstance(r, Row)))
    directory = Directory([pa.int64()])
    edges = [0, *(cut for cut in cuts if cut < len(entries)), len(entries)]
    for low, high in pairwise(edges):
        if piece := entries[low:high]:
            opens = np.array([isinstance(row, Frame) for row in piece])
            group = directory.encode([pa.array([row[0] for row in piece])])
            on = np.array([row[1] for row in piece], clock.dtype)
            end = np.array([f.end for f in piece if isinstance(f, Frame)], clock.dtype)
            yield SweepBatch(group, on, opens, end), piece
            directory = Directory([pa.int64()])
            directory.encode([pa.array([piece[-1][0]])])


@pytest.mark.parametrize("clock", [INTEGER, FLOAT], ids=["integer", "float"])
@given(frames=FRAMES, rows=ROWS, cuts=CUTS)
def test_rows_are_tagged_with_the_frames_they_are_in(
    clock: Clock, frames: list[Frame], rows: list[Row], cuts: list[int]
) -> None:
    tagger = Tagger(clock.dtype)
    tagged = []
    for batch, piece in batches(frames, rows, cuts, clock):
        number = np.array([f.number for f in piece if isinstance(f, Frame)], np.int64)
        for row, tag in tagger.tag(batch, number):
            tagged += [(piece[i].name, n) for i, n in zip(row.tolist(), tag.tolist(), strict=True)]
    assert sorted(tagged) == sorted((u.name, f.number) for f in frames for u in members(f, rows))


@pytest.mark.parametrize("clock", [INTEGER, FLOAT], ids=["integer", "float"])
@given(frames=FRAMES, rows=ROWS, cuts=CUTS)
def test_frames_are_summed_up_once_each(clock: Clock, frames: list[Frame], rows: list[Row], cuts: list[int]) -> None:
    named = [frame._replace(number=i) for i, frame in enumerate(frames)]
    summary = Summary([Accumulator(a, pa.int64()) for a in AGGREGATES], clock.dtype)
    results = []
    for batch, piece in batches(named, rows, cuts, clock):
        v = [row.value if isinstance(row, Row) else None for row in piece]
        column = pa.array(v, pa.int64())
        values = [
            Accumulator(a, pa.int64()).read(column) if a.columns else Values(batch.group, np.empty(0, np.bool_))
            for a in AGGREGATES
        ]
        numbers = pa.table({"number": pa.array([f.number for f in piece if isinstance(f, Frame)], pa.int64())})
        results += summary.add(batch, numbers, values).to_pylist()
    last = summary.finish()
    results += [] if last is None else last.to_pylist()
    assert sorted(tuple(row.values()) for row in results) == [(f.number, *sums(members(f, rows))) for f in named]


def sums(rows: Sequence[Row]) -> tuple[Any, ...]:
    """The aggregates of some rows, in plain Python."""
    values = [u.value for u in rows if u.value is not None]
    if not values:
        return (len(rows), 0, None, None, None, None, None, None)
    total, top = sum(values), max(values)
    return (len(rows), len(values), total, values[0], values[-1], top, total / len(values), top - min(values))


def test_many_pairs_come_in_pieces_of_bounded_size(tune: Callable[..., object]) -> None:
    tune(pairs_per_result=8)
    opens = np.array([True] * 5 + [False] * 6)
    rows = SweepBatch(np.zeros(11, np.int64), np.arange(11), opens, np.full(5, 99))
    pieces = list(Sweep(np.dtype(np.int64)).pairs(rows))
    assert [len(piece.row) for piece in pieces] == [5] * 6
    assert [set(piece.row) for piece in pieces] == [{i} for i in range(5, 11)]


def test_a_row_in_more_frames_than_a_piece_has_room_for(tune: Callable[..., object]) -> None:
    tune(pairs_per_result=2)
    opens, end = np.array([True] * 6 + [False] * 2), np.array([9, 9, 9, 9, 9, 6])
    batch = SweepBatch(np.zeros(8, np.int64), np.arange(8), opens, end)
    pairs = [pair for piece in Sweep(np.dtype(np.int64)).pairs(batch) for pair in zip(*piece, strict=True)]
    assert pairs == [*((6, k) for k in range(6)), *((7, k) for k in range(5))]


def test_only_open_frames_are_remembered() -> None:
    sweep = Sweep(np.dtype(np.int64))
    for batch in range(50):
        on = np.arange(batch * 100, batch * 100 + 100)
        frames = SweepBatch(np.zeros(100, np.int64), on, np.ones(100, np.bool_), on + 3)
        assert not list(sweep.pairs(frames))
        assert sweep.end.size == 4


def test_frames_of_an_earlier_group_are_forgotten() -> None:
    sweep = Sweep(np.dtype(np.int64))
    one = np.ones(1, np.bool_)
    assert not list(sweep.pairs(SweepBatch(np.zeros(1, np.int64), np.array([0]), one, np.array([100]))))
    assert not list(sweep.pairs(SweepBatch(np.ones(1, np.int64), np.array([1]), ~one, np.empty(0, np.int64))))
    assert sweep.left.size == 0
