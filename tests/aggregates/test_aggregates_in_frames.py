"""Aggregates whose state grows, or that read two columns or give lists, wherever states of frames go.

States are cut into batches, saved and loaded, sent as heads and joined at seams, reported in fragments, and taken apart
and put together by fills. What comes out must always be the aggregate of the frame's rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from aggregate_references import is_close
from frame_streams import KINDS, _reads, arrivals, table_of
from streams import FEWER, TYPES, samples
from windrow.aggregates import BUILTIN
from windrow.aggregates.engine.accumulator import Accumulator
from windrow.filling.filler import Filler
from windrow.filling.plan import FillPlan
from windrow.filling.sweep import Summary, SweepBatch
from windrow.framing.assembly import put_together
from windrow.framing.framer import Framer
from windrow.framing.parallel.heads import HeadFramer
from windrow.framing.parallel.seams import Seams
from windrow.framing.query import FrameQuery, frames_table
from windrow.framing.state import pack_frames, pack_state
from windrow.framing.stream import StreamFramer, StreamPlan
from windrow.rows.buffers.waiting import MemoryShelf
from windrow.rows.clock import Clock
from windrow.rows.query import Layout, Reader
from windrow.rows.roles import Roles
from windrow.testing import example_aggregate

GROWN = [kind for kind in BUILTIN if kind.form != "numbers" or kind.reads > 1]
AGG = {kind.__name__: example_aggregate(kind, "v", "position") for kind in GROWN}
MEMBERS = {"rows": wr.max_n("position", 99)}
"""Marks which rows are in a frame."""
RUNS = [wr.Threshold("hit"), wr.Boundary({"x": 2.0}), wr.Gap(2)]
each_run = pytest.mark.parametrize("scheme", RUNS, ids=lambda scheme: type(scheme).__name__)


def request_for(scheme: wr.Scheme) -> tuple[FrameQuery, Layout]:
    request = FrameQuery(scheme, Roles("on", ("g",), ("position",), AGG | MEMBERS, KINDS))
    predicates = {name: _reads(name) for name in scheme.predicates}
    attributes = {name: name for name in scheme.attributes}
    return request, Layout("on", ("g",), predicates, attributes, tuple(request.values), ("position",))


def in_order(table: pa.Table) -> pa.Table:
    return table.sort_by([("g", "ascending"), ("on", "ascending"), ("position", "ascending")])


def check_frames(rows: Sequence[dict[str, Any]], table: pa.Table) -> None:
    """The aggregates of each frame are those of its rows, computed by themselves."""
    v = {(row["g"], row["position"]): row["v"] for row in table.to_pylist()}
    for row in rows:
        members = sorted(row["rows"])
        assert row["count"] == len(members)
        values = pa.array([v[row["g"], position] for position in members], pa.int64())
        for name, aggregate in AGG.items():
            wanted = aggregate.compute(*[values, pa.array(members, pa.int64())][: aggregate.reads])
            assert is_close(row[name], wanted), (name, row[name], wanted)


@pytest.mark.parametrize("kind", [wr.Threshold, wr.Boundary, wr.Delta, wr.DoubleBoundary], ids=lambda k: k.__name__)
@pytest.mark.parametrize("fragments", [False, True], ids=["whole", "in fragments"])
@FEWER
@given(data=st.data())
def test_a_stream_that_is_saved_at_every_step(kind: type[wr.Scheme], fragments: bool, data: st.DataObject) -> None:
    scheme, table, batches, marks = data.draw(arrivals(kind))
    request, layout = request_for(scheme)
    plan = StreamPlan(request, layout, fragments=fragments)
    shelf, state, found = MemoryShelf(), None, []
    for rows, mark in zip(batches, marks, strict=True):
        bucket = StreamFramer.load(plan, shelf, state)
        found += bucket.step([table.take(pa.array(rows, pa.int64()))], mark)[0]
        state = bucket.save()
    found += StreamFramer.load(plan, shelf, state).finish()
    if fragments:
        found = [part for part in found if part.num_rows]
        found = list(put_together(pa.concat_tables(found), ["g"])) if found else []
    check_frames([row for part in found for row in part.to_pylist()], table)


@each_run
@FEWER
@given(data=st.data())
def test_chunks_that_are_joined_at_their_seams(scheme: wr.Scheme, data: st.DataObject) -> None:
    groups = data.draw(st.lists(samples(scheme, missing=False, more=["v"]), min_size=1, max_size=3))
    table = in_order(table_of(groups)).sort_by([("on", "ascending"), ("g", "ascending"), ("position", "ascending")])
    cuts = sorted(data.draw(st.lists(st.integers(0, len(table)), max_size=3)))
    request, layout = request_for(scheme)
    seams, found = Seams(request), []
    for begin, end in zip([0, *cuts], [*cuts, len(table)], strict=True):
        chunk = table.slice(begin, end - begin)
        reader, framer = Reader(request, layout), request.framer(HeadFramer)
        assert isinstance(framer, HeadFramer)
        frames = [pack_frames(framer.process(reader.read(chunk.slice(i, 3)))) for i in range(0, len(chunk), 3)]
        known = np.arange(len(reader.directory))
        framer.grow(known.size)
        keys = {f"by{i}": key for i, key in enumerate(reader.directory.keys())}
        state = [pa.table({"group": known, **keys}), *pack_state(framer.export(known)), framer.heads(known)]
        found += seams.join(frames, state, lambda keys: pytest.fail("runs need no replay"))
    found.append(seams.finish())
    rows = [row for part in found for row in part.to_pylist()]
    check_frames(rows, table)
    reader, framer = Reader(request, layout), request.framer()
    whole = [framer.process(reader.read(table)), framer.finish()]
    wanted = [row for part in whole for row in frames_table(request, reader.directory.keys(), part).to_pylist()]

    def place(row: dict[str, Any]) -> tuple[str, int]:
        return row["g"], row["frame"]

    assert [row["rows"] for row in sorted(rows, key=place)] == [row["rows"] for row in sorted(wanted, key=place)]


@FEWER
@given(data=st.data())
def test_groups_that_go_from_framer_to_framer(data: st.DataObject) -> None:
    """Some groups leave with their state, are forgotten, and continue elsewhere next to others."""
    scheme = wr.Threshold("hit")
    groups = data.draw(st.lists(samples(scheme, missing=False, more=["v"]), min_size=2, max_size=4))
    table = in_order(table_of(groups))
    at = data.draw(st.integers(0, 12))
    leaves = np.flatnonzero(data.draw(st.lists(st.booleans(), min_size=len(groups), max_size=len(groups))))
    request, layout = request_for(scheme)
    reader, here, there = Reader(request, layout), request.framer(), request.framer()
    reader.directory.encode([pa.array([f"g{i}" for i in range(len(groups))])], len(groups))
    position = table["position"].to_numpy()
    early, late = table.filter(pa.array(position < at)), table.filter(pa.array(position >= at))
    found = [here.process(reader.read(early))]
    here.grow(len(groups))
    there.adopt(leaves, here.export(leaves))
    here.forget(leaves)
    rest = reader.read(late)
    gone = np.isin(rest.group, leaves)
    for framer, mine in ((here, ~gone), (there, gone)):
        found += [framer.process(rest.where(mine)), framer.finish()]
    keys = reader.directory.keys()
    check_frames([row for part in found for row in frames_table(request, keys, part).to_pylist()], table)


# Filling.

CLOCK = Clock.of(pa.int64(), "on")
NAMED = {**AGG, "names": wr.max_n("position", 99)}
EVERY = list(NAMED.values())
COLUMNS = [name for aggregate in EVERY for name in aggregate.columns]


def filled_right(row: dict[str, Any], aggregates: Sequence[Any], tuples: Sequence[tuple[int, int, int | None]]) -> None:
    """Tuples are (position, on, v)."""
    inside = [t for t in tuples if row["start"] <= t[1] <= row["end"]]
    columns = {
        "v": pa.array([t[2] for t in inside], pa.int64()),
        "position": pa.array([t[0] for t in inside], pa.int64()),
    }
    for j, aggregate in enumerate(aggregates):
        wanted = aggregate.compute(*(columns[name] for name in aggregate.columns))
        assert is_close(row[f"aggregate{j}"], wanted), (aggregate, row)


FRAMES = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9)), max_size=6)
TUPLES = st.lists(st.tuples(st.integers(0, 24), st.none() | st.integers(-4, 4)), max_size=14)


@FEWER
@given(frames=FRAMES, tuples=TUPLES, cuts=st.lists(st.integers(0, 20), max_size=3))
def test_a_fill_in_batches(frames: list[tuple[int, int]], tuples: list[tuple[int, Any]], cuts: list[int]) -> None:
    rows: list[Any] = [(start, 0, start + length, None) for start, length in frames]
    rows += [(on, 1, None, v) for on, v in tuples]
    rows.sort(key=lambda row: row[:2])
    accumulators = [Accumulator.of(aggregate, TYPES) for aggregate in EVERY]
    summary, found = Summary(accumulators, CLOCK.dtype), []
    ends = sorted(min(cut, len(rows)) for cut in cuts)
    for begin, end in zip([0, *ends], [*ends, len(rows)], strict=True):
        piece = rows[begin:end]
        columns = {
            "v": pa.array([row[3] for row in piece], pa.int64()),
            "position": pa.array(range(begin, end), pa.int64()),
        }
        opens = np.array([row[1] == 0 for row in piece], np.bool_)
        on = np.array([row[0] for row in piece], np.int64)
        framed = [(row[0], row[2]) for row in piece if row[1] == 0]
        table = pa.table(
            {"start": pa.array([f[0] for f in framed], pa.int64()), "end": pa.array([f[1] for f in framed], pa.int64())}
        )
        values = [k.read(*(columns[name] for name in k.aggregate.columns)) for k in accumulators]
        swept = SweepBatch(np.zeros(len(piece), np.int64), on, opens, table["end"].to_numpy())
        found += summary.add(swept, table, values).to_pylist()
    last = summary.finish()
    found += [] if last is None else last.to_pylist()
    assert len(found) == len(frames)
    every = [(i, row[0], row[3]) for i, row in enumerate(rows) if row[1] == 1]
    for row in found:
        filled_right(row, EVERY, every)


@FEWER
@given(frames=FRAMES, tuples=TUPLES, data=st.data())
def test_a_fill_of_a_stream_that_is_saved_at_every_step(
    frames: list[tuple[int, int]], tuples: list[tuple[int, Any]], data: st.DataObject
) -> None:
    accumulators = tuple(Accumulator.of(aggregate, TYPES) for aggregate in EVERY)
    plan = FillPlan(
        CLOCK, (pa.string(),), accumulators, tuple(COLUMNS), ("position",), (), ("c0", "c1"), {}, {"agg": repr(EVERY)}
    )
    batch_of_frame = [data.draw(st.integers(0, 2)) for _ in frames]
    batch_of_tuple = [data.draw(st.integers(0, 2)) for _ in tuples]
    shelf, state, found = MemoryShelf(), None, []
    for batch in range(3):
        filler = Filler.load(plan, shelf, state)
        arriving = [(i, *t) for i, t in enumerate(tuples) if batch_of_tuple[i] == batch]
        table = pa.table(
            {
                "by0": pa.array(["g"] * len(arriving), pa.string()),
                "on": pa.array([t[1] for t in arriving], pa.int64()),
                "v": pa.array([t[2] for t in arriving], pa.int64()),
                "position": pa.array([t[0] for t in arriving], pa.int64()),
            }
        )
        mine = [(i, *f) for i, f in enumerate(frames) if batch_of_frame[i] == batch]
        start = pa.array([f[1] for f in mine], pa.int64())
        end = pa.array([f[1] + f[2] for f in mine], pa.int64())
        pieces = pa.table(
            {
                "by0": pa.array(["g"] * len(mine), pa.string()), "number": pa.array([f[0] for f in mine], pa.int64()),
                "start": start, "end": end, "fragment": pa.array([0] * len(mine), pa.int64()),
                "final": pa.array([True] * len(mine), pa.bool_()), "c0": start, "c1": end,
            }
        )  # fmt: skip
        # Watermarks pass all but what is still to come.
        later = [t[0] for i, t in enumerate(tuples) if batch_of_tuple[i] > batch]
        later += [f[0] for i, f in enumerate(frames) if batch_of_frame[i] > batch]
        found += filler.step([table], [pieces], min(later, default=99) - 1)
        state = filler.save()
    found += Filler.load(plan, shelf, state).finish()
    rows = [
        dict(zip(["start", "end"], list(row.values())[:2], strict=True)) | row
        for part in found
        for row in part.to_pylist()
    ]
    assert len(rows) == len(frames)
    for row in rows:
        filled_right(row, EVERY, [(i, *t) for i, t in enumerate(tuples)])


# Many values.


def test_a_frame_of_many_values_in_many_batches() -> None:
    rng = np.random.default_rng(5)
    values = [rng.normal(size=40_000), rng.integers(0, 50, 40_000).astype(float)]
    types = {"x": pa.float64()}
    aggregates = [wr.median("x"), wr.quantile("x", 0.99), wr.count_distinct("x"), wr.mode("x"), wr.top_k("x", 3)]
    for x in values:
        framer = Framer(wr.Gap(1e9), Clock.of(pa.int64(), "on"), types, aggregates)
        request = FrameQuery(
            wr.Gap(1e9), Roles("on", (), (), dict(zip("abcde", aggregates, strict=True)), types | {"on": pa.int64()})
        )
        reader = Reader(request, Layout("on", (), {}, {}, ("x",) * 5))
        for begin in range(0, x.size, 1_000):
            batch = pa.table({"on": np.arange(begin, begin + 1_000), "x": x[begin : begin + 1_000]})
            framer.process(reader.read(batch))
        found = [column[0].as_py() for column in framer.finish().aggregates]
        distinct, counts = np.unique(x, return_counts=True)
        ordered = np.sort(x)
        order = np.argsort(-counts, kind="stable")[:3]
        top = [{"value": distinct[i], "count": counts[i]} for i in order]
        assert found == [ordered[19_999], ordered[39_599], distinct.size, distinct[counts.argmax()], top]
        runs = framer.states[0].runs
        assert runs is not None
        assert runs.values.size <= 1024, "what ended is still held"


def test_a_run_takes_space_by_its_different_values() -> None:
    accumulator = Accumulator(wr.mode("x"), pa.int64())
    states = accumulator.empty(3)
    slots = np.arange(90_000).reshape(-1, 1) % 3
    accumulator.accumulate(states, slots, accumulator.read(pa.array(np.arange(90_000) // 3 % 7)))
    assert states.seen.tolist() == [30_000] * 3
    assert states.runs is not None
    assert states.runs.values.size < 1_000
    assert accumulator.finish(states).to_pylist() == [0] * 3


def test_copies_of_states_are_apart() -> None:
    accumulator = Accumulator(wr.count_distinct("x"), pa.int64())
    states = accumulator.empty(2)

    def add(to: Any, slot: int, *values: int) -> None:
        accumulator.accumulate(to, np.full((len(values), 1), slot), accumulator.read(pa.array(values)))

    add(states, 0, 1, 2, 3)
    add(states, 1, 7)
    twins = states.take(np.array([0, 0, 1]))
    add(twins, 0, 4, 5)
    add(twins, 1, 1, 1, 9)
    add(states, 0, *range(100, 150))
    assert accumulator.finish(twins).to_pylist() == [5, 4, 1]
    assert accumulator.finish(states).to_pylist() == [53, 1]
    states.put(np.array([1]), twins.take(np.array([0])))
    assert accumulator.finish(states).to_pylist() == [53, 5]
    assert accumulator.finish(states.joined(twins)).to_pylist() == [53, 5, 5, 4, 1]


def test_values_are_read_row_by_row() -> None:
    accumulator = Accumulator(wr.covariance("x", "y"), pa.int32(), pa.float32())
    read = accumulator.read(pa.array([1, None, 3], pa.int32()), pa.array([1.5, 2.5, None], pa.float32()))
    assert read.valid.tolist() == [True, False, False]
    assert read.at(np.array([0, 2])).numbers.shape == (2, 2)
