"""Streams of rows for `StreamFramer`: arrival in any order, watermarks, and the frames they must give."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import strategies as st

import windrow as wr
from fuzz.schemes import SPECIFICATIONS
from streams import TYPES, Sample, samples
from windrow.framing.query import FrameQuery, frames_table
from windrow.framing.schemes import SCHEMES
from windrow.framing.stream import StreamFramer, StreamPlan
from windrow.rows.buffers.waiting import MemoryShelf
from windrow.rows.clock import LARGEST
from windrow.rows.query import Layout, Reader
from windrow.rows.roles import Roles

AGG = {"n": wr.count("v"), "first": wr.first("v"), "last": wr.last("v"), "sum": wr.sum("v"), "spread": wr.variance("v")}


KINDS = TYPES | {"on": pa.int64(), "g": pa.string(), "hit": pa.bool_(), "stop": pa.bool_()}


each_scheme = pytest.mark.parametrize("kind", SCHEMES, ids=lambda kind: kind.__name__)


def table_of(groups: list[Sample]) -> pa.Table:
    """The tuples of all groups; those of a group are in order, by `position`."""
    rows = [
        {"g": f"g{g}", "on": sample.on[i], **{name: column[i] for name, column in sample.columns.items()}}
        for g, sample in enumerate(groups)
        for i in range(len(sample))
    ]
    names = ["g", "on", *groups[0].columns]
    return pa.table({name: pa.array([row[name] for row in rows], KINDS[name]) for name in names})


def plan_for(scheme: wr.Scheme, **options: bool) -> StreamPlan:
    request = FrameQuery(scheme, Roles("on", ("g",), ("position",), AGG, KINDS))
    layout = Layout(
        "on", ("g",), {name: _reads(name) for name in scheme.predicates}, {name: name for name in scheme.attributes},
        tuple(request.values), ("position",),
    )  # fmt: skip
    return StreamPlan(request, layout, **options)


def _reads(name: str):
    return lambda table: table.column(name).combine_chunks()


@st.composite
def arrivals(draw: st.DrawFn, kind: type[wr.Scheme]) -> tuple[wr.Scheme, pa.Table, list[list[int]], list[int]]:
    """A scheme, tuples, in which batch each of them arrives, and a watermark a batch that makes none of them late."""
    scheme = draw(SPECIFICATIONS[kind])
    missing = False if scheme.nulls == "error" else None
    groups = draw(st.lists(samples(scheme, max_size=9, missing=missing, more=["v"]), min_size=1, max_size=3))
    table = table_of(groups)
    batches = draw(st.integers(1, 5))
    arrives = draw(st.lists(st.integers(0, batches - 1), min_size=len(table), max_size=len(table)))
    on = table["on"].to_pylist()
    marks, reached = [], -1
    for batch in range(batches):
        later = [t for t, at in zip(on, arrives, strict=True) if at > batch]
        most = min(later, default=max(on, default=0) + 7) - 1
        reached = max(reached, draw(st.integers(min(reached, most), most)))
        marks.append(reached)
    order = draw(st.permutations(range(len(table))))
    return scheme, table, [[i for i in order if arrives[i] == batch] for batch in range(batches)], marks


def streamed(plan: StreamPlan, table: pa.Table, batches: list[list[int]], marks: list[int]) -> list[dict[str, Any]]:
    """The rows of the result, with the state saved and loaded between any two batches."""
    shelf, state, found, steps = MemoryShelf(), None, [], []
    for rows, mark in zip(batches, marks, strict=True):
        bucket = StreamFramer.load(plan, shelf, state)
        tables, late = bucket.step([table.take(pa.array(rows, pa.int64()))], mark)
        assert sum(part.num_rows for part in late) == 0
        assert bucket.arrivals.waiting.rows == sum(1 for r in _so_far(batches, rows) if table["on"][r].as_py() > mark)
        assert {number for number in shelf if number >= 0} == {piece.number for piece in bucket.arrivals.waiting.pieces}
        assert bucket.next_event() is None or bucket.next_event() > mark
        if plan.fragments:
            assert len(bucket.framer.report().frames) == 0, "a frame that is sure was not reported"
        found += tables
        steps.append(tables)
        state = bucket.save()
    bucket = StreamFramer.load(plan, shelf, state)
    found += bucket.finish()
    check_in_order(steps, plan.in_order)
    assert not shelf
    return [row for part in found for row in part.to_pylist()]


def check_in_order(steps: list[list[pa.Table]], names: frozenset[str]) -> None:
    """Check that no step reports a row of a group before one of an earlier step, by each of the columns."""
    latest: dict[tuple[str, str], Any] = {}
    for tables in steps:
        rows = [row for table in tables for row in table.to_pylist()]
        for name in names:
            given = [(row["g"], row[name]) for row in rows if row[name] is not None]
            assert all(latest.get((group, name), value) <= value for group, value in given), (name, given, latest)
            for group, value in sorted(given):
                latest[group, name] = value


def _so_far(batches: list[list[int]], last: list[int]) -> list[int]:
    seen: list[int] = []
    for rows in batches:
        seen += rows
        if rows is last:
            break
    return seen


def framed(plan: StreamPlan, table: pa.Table, *, gap_closes: bool) -> list[dict[str, Any]]:
    """The frames of a batch; those that a gap ended have no `closed_at` in a stream."""
    request = plan.request
    reader, framer = Reader(request, plan.layout), request.framer()
    ordered = table.sort_by([("g", "ascending"), ("on", "ascending"), ("position", "ascending")])
    done = [framer.process(reader.read(ordered)), framer.finish()]
    rows = [row for part in done for row in frames_table(request, reader.directory.keys(), part).to_pylist()]
    gap = request.scheme.longest_gap(request.clock)
    gap_closes = gap_closes and not request.scheme.needs_closing_row
    for row in rows:
        if gap_closes and gap < LARGEST and row["closed_at"] is not None and row["closed_at"] - row["end"] > gap:
            row["closed_at"] = None
    return sorted(rows, key=lambda row: (row["g"], row["frame"]))


def assembled(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Fragments put together, after a check that they are disjoint, in order, and end with the final one."""
    frames = defaultdict(list)
    for row in rows:
        frames[row["g"], row["frame"]].append(row)
    whole = []
    for pieces in frames.values():
        assert [piece["fragment"] for piece in pieces] == list(range(len(pieces)))
        assert [piece["final"] for piece in pieces] == [False] * (len(pieces) - 1) + [True]
        full = [piece for piece in pieces if piece["count"]]
        assert all(a["end"] <= b["start"] for a, b in pairwise(full))
        assert all(piece["start"] is None and piece["end"] is None for piece in pieces if not piece["count"])
        last = {name: value for name, value in pieces[-1].items() if name not in ("fragment", "final")}
        last |= {"start": full[0]["start"], "end": full[-1]["end"], "count": sum(p["count"] for p in pieces)}
        whole.append(last)
    return sorted(whole, key=lambda row: (row["g"], row["frame"]))


def close(found: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> bool:
    """Equal, but for the rounding of variances."""
    rounded = [
        [{**row, "spread": row["spread"] and round(row["spread"], 6)} for row in rows] for rows in (found, wanted)
    ]
    return rounded[0] == rounded[1]


def tuples(*rows: tuple[str, int, bool]) -> pa.Table:
    """Tuples of a threshold stream: group, `on`, hit."""
    group, on, hit = zip(*rows, strict=True)
    columns = {"g": pa.array(group), "on": pa.array(on), "hit": pa.array(hit)}
    return pa.table(columns | {"v": pa.array(on), "position": pa.array(range(len(on)))})


def pieces(found: list[pa.Table]) -> list[tuple[Any, ...]]:
    names = ("frame", "start", "end", "count", "fragment", "final")
    return [tuple(row[name] for name in names) for part in found for row in part.to_pylist()]
