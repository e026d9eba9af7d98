"""With `punctuation=True`, rows show per group up to when all frames have been returned, and what is open."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from frame_streams import arrivals, each_scheme, framed, plan_for, tuples
from streams import FEWER
from windrow.framing.stream import StreamFramer
from windrow.rows.buffers.waiting import MemoryShelf


def is_progress(row: dict[str, Any]) -> bool:
    return row.get("complete_until") is not None


@each_scheme
@FEWER
@given(data=st.data(), delay=st.none() | st.integers(0, 5))
def test_all_frames_up_to_the_punctuation_have_been_returned(
    kind: type[wr.Scheme], data: st.DataObject, delay: int | None
) -> None:
    scheme, table, batches, marks = data.draw(arrivals(kind))
    plan = plan_for(scheme, punctuation=True, delay=delay)
    shelf, state = MemoryShelf(), None
    returned: dict[str, set[tuple[int, int]]] = {}
    accepted: list[int] = []
    numbered = table.append_column("row", pa.array(range(len(table)), pa.int64()))
    for batch, mark in zip(batches, marks, strict=True):
        bucket = StreamFramer.load(plan, shelf, state)
        found, late = bucket.step([numbered.take(pa.array(batch, pa.int64()))], None if delay is not None else mark)
        state = bucket.save()
        behind = {row for part in late for row in part["row"].to_pylist()}
        accepted += [row for row in batch if row not in behind]
        rows = [row for part in found for row in part.to_pylist()]
        for row in rows:
            if not is_progress(row):
                returned.setdefault(row["g"], set()).add((row["frame"], row["start"]))
        progress = [row for row in rows if is_progress(row)]
        assert len({row["g"] for row in progress}) == len(progress)
        for row in progress:
            until, since = row["complete_until"], row["open_since"]
            assert all(row[name] is None for name in row if name not in ("g", "complete_until", "open_since"))
            known = table.take(pa.array(sorted(accepted), pa.int64())).to_pylist()
            known = [one for one in known if one["g"] == row["g"] and one["on"] <= until]
            frames = framed(plan, pa.Table.from_pylist(known, table.schema), gap_closes=False)
            closed = {(f["frame"], f["start"]) for f in frames if f["closed_at"] is not None}
            missing = closed - returned.get(row["g"], set())
            assert all(since is not None and start > since for _, start in missing)
            still_open = [f["start"] for f in frames if f["closed_at"] is None]
            gap = scheme.longest_gap(plan.request.clock)
            if delay is None:
                still_open = [f["start"] for f in frames if f["closed_at"] is None and until - f["end"] < gap]
            assert not still_open or (since is not None and since <= min(still_open))


def test_punctuation_follows_the_frames_of_the_groups_that_moved() -> None:
    bucket = StreamFramer(plan_for(wr.Threshold("hit"), punctuation=True), MemoryShelf())
    rows = [tuples(("a", 1, True), ("a", 2, False), ("b", 1, True), ("c", 9, True))]
    found = [row for part in bucket.step(rows, 5)[0] for row in part.to_pylist()]
    assert [(row["g"], row["frame"]) for row in found if not is_progress(row)] == [("a", 0)]
    assert [(row["g"], row["complete_until"], row["open_since"]) for row in found[1:]] == [("a", 5, None), ("b", 5, 1)]
    assert bucket.step([], 6)[0] == [], "nothing has been framed"


@pytest.mark.parametrize("how", [{"ordered": True}, {"delay": 3}], ids=str)
def test_a_group_that_is_closed_for_silence_has_nothing_open(how: dict[str, Any]) -> None:
    bucket = StreamFramer(plan_for(wr.Threshold("hit"), punctuation=True, idle=100, **how), MemoryShelf())
    bucket.step([tuples(("a", 1, True), ("a", 2, True))], None, 0)
    found = [row for part in bucket.step([], None, 100)[0] for row in part.to_pylist()]
    assert [(row["start"], row["complete_until"], row["open_since"]) for row in found if is_progress(row)] == [
        (None, 2, None)
    ]
