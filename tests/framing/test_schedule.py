"""Pieces of frames are cut at multiples of event time, whatever the batches: by the definition, for every scheme."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import windrow as wr
from frame_streams import arrivals, assembled, close, each_scheme, framed, pieces, plan_for, streamed, tuples
from streams import FEWER
from windrow.errors import UnsupportedError
from windrow.framing.schedule import cells, check_schedule
from windrow.framing.stream import StreamFramer, StreamPlan
from windrow.framing.theory.brute_force import final_frames, settle_nulls
from windrow.framing.theory.local import StreamRow
from windrow.rows.buffers.waiting import MemoryShelf


def scheduled(scheme: wr.Scheme, every: int, **options: Any) -> StreamPlan:
    plan = plan_for(scheme, fragments=True, every=every, **options)
    try:
        check_schedule(scheme, plan.request.clock, plan.request.types)
    except UnsupportedError:
        assume(False)
    return plan


def sure_at(scheme: Any, on: list[int]) -> int:
    """The position of the row with which a frame reaches its minimum; past the end if none does."""
    if not scheme.is_maximal:
        return 0
    least, fewest = getattr(scheme, "min_duration", None) or 0, getattr(scheme, "min_count", 1)
    return next((i for i in range(len(on)) if i + 1 >= fewest and on[i] - on[0] >= least), len(on))


def by_definition(scheme: wr.Scheme, table: pa.Table, every: int) -> Iterator[tuple[Any, ...]]:
    """The group, frame, number, start, end, count and finality of each piece, and the sum of all rows up to its end."""
    rows = sorted(table.to_pylist(), key=lambda row: (row["g"], row["on"], row["position"]))
    for group in sorted({row["g"] for row in rows}):
        sample = settle_nulls(scheme, [StreamRow(row["on"], row) for row in rows if row["g"] == group])
        for number, frame in enumerate(final_frames(scheme, sample)):
            members = [sample[i] for i in frame.members]
            on, values = [row.on for row in members], [row.values["v"] for row in members]
            last = sure_at(scheme, on)
            cuts = [last + 1] if last < len(on) else []
            cuts += [i for i in range(last + 2, len(on)) if on[i] // every != on[i - 1] // every]
            bounds = [0, *cuts, len(on)]
            for k, (a, b) in enumerate(pairwise(bounds)):
                known = [value for value in values[:b] if value is not None]
                ends = (on[a], on[b - 1]) if a < b else (None, None)
                total = sum(known) if known else None
                yield group, number, k, *ends, b - a, k == len(bounds) - 2, total


def found_in(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    names = ("g", "frame", "fragment", "start", "end", "count", "final", "sum")
    return sorted((tuple(row[name] for name in names) for row in rows), key=lambda row: row[:3])


@each_scheme
@FEWER
@given(data=st.data(), every=st.integers(1, 9))
def test_pieces_are_those_of_the_definition(kind: type[wr.Scheme], data: st.DataObject, every: int) -> None:
    scheme, table, batches, marks = data.draw(arrivals(kind))
    plan = scheduled(scheme, every)
    rows = streamed(plan, table, batches, marks)
    assert close(assembled(rows), framed(plan, table, gap_closes=True))
    if kind is wr.Custom:
        whole = streamed(plan, table, [[*range(len(table))]], [max(table["on"].to_pylist(), default=0)])
        assert found_in(rows) == found_in(whole)
    else:
        assert found_in(rows) == [*by_definition(scheme, table, every)]


def test_a_frame_that_reaches_its_minimum_is_reported_at_once_and_then_by_the_clock() -> None:
    plan = scheduled(wr.Threshold("hit", min_count=2), 10, ordered=True)
    bucket = StreamFramer(plan, MemoryShelf())
    assert pieces(bucket.step([tuples(("a", 3, True))], None)[0]) == []
    assert pieces(bucket.step([tuples(("a", 8, True))], None)[0]) == [(0, 3, 8, 2, 0, False)]
    assert pieces(bucket.step([tuples(("a", 9, True))], None)[0]) == []
    assert pieces(bucket.step([tuples(("a", 10, True), ("a", 14, True))], None)[0]) == [(0, 9, 9, 1, 1, False)]
    assert pieces(bucket.step([tuples(("a", 35, True), ("a", 36, False))], None)[0]) == [
        (0, 10, 14, 2, 2, False),
        (0, 35, 35, 1, 3, True),
    ]


def test_pieces_do_not_depend_on_batches() -> None:
    rng = np.random.default_rng(2)
    n = 400
    columns = {"g": [f"g{g}" for g in rng.integers(0, 5, n)], "on": np.arange(n) // 2, "hit": rng.random(n) < 0.9}
    table = pa.table(columns | {"v": np.arange(n), "position": np.arange(n)})
    plan = scheduled(wr.Threshold("hit", min_duration=7), 6, ordered=True)
    results = []
    for batches in (1, 3, 50):
        shelf, state, rows = MemoryShelf(), None, []
        for part in np.array_split(np.arange(n // 2), batches):
            bucket = StreamFramer.load(plan, shelf, state)
            some = table.slice(2 * int(part[0]), 2 * part.size)
            rows += [row for found in bucket.step([some], None)[0] for row in found.to_pylist()]
            state = bucket.save()
        rows += [row for found in StreamFramer.load(plan, shelf, state).finish() for row in found.to_pylist()]
        results.append(
            [*found_in(rows), sorted((row["g"], row["frame"], row["fragment"], row["spread"]) for row in rows)]
        )
    assert results[0] == results[1] == results[2]
    assert len(results[0]) > 60


def test_cells_of_floats_are_exact() -> None:
    on = np.array([0.3, 3 * 0.1, -0.1, np.inf])
    assert cells(on, 0.1).tolist() == [2.0, 3.0, -1.0, np.inf]


def test_schemes_whose_rows_are_settled_later_are_refused() -> None:
    request = plan_for(wr.Threshold("hit")).request
    with pytest.raises(UnsupportedError, match=r"^fragments: .*Threshold with a minimum.*fragments=True"):
        check_schedule(wr.Threshold("hit", segments=True, min_count=2), request.clock, request.types)
    check_schedule(wr.Threshold("hit", segments=True), request.clock, request.types)
