"""A query that is carried over to another number of buckets gives what it would have given without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from frame_streams import AGG, KINDS, _reads, arrivals
from streams import FEWER
from windrow.framing.migration import OldBucket, first_share, furthest, read_label, take_over
from windrow.framing.query import FrameQuery
from windrow.framing.schemes import SCHEMES
from windrow.framing.stream import StreamPlan
from windrow.rows.buffers.waiting import MemoryShelf
from windrow.rows.query import Layout
from windrow.rows.roles import Roles

each_scheme = pytest.mark.parametrize("kind", SCHEMES, ids=lambda kind: kind.__name__)


class Query:
    """The buckets of a query, each with its shelf and its saved state."""

    def __init__(self, plan: Any, buckets: int) -> None:
        self.plan = plan
        self.shelves = [MemoryShelf() for _ in range(buckets)]
        self.states: list[bytes | None] = [None] * buckets

    def step(self, table: pa.Table, mark: int | None) -> list[dict[str, Any]]:
        to = self.buckets_of(table["by0"])
        found = []
        for b, shelf in enumerate(self.shelves):
            bucket = self.plan.load(shelf, self.states[b])
            found += bucket.step([table.filter(pa.array(to == b))], mark)[0]
            self.states[b] = bucket.save()
        return rows_of(found)

    def finish(self) -> list[dict[str, Any]]:
        pairs = zip(self.shelves, self.states, strict=True)
        return rows_of([part for shelf, state in pairs for part in self.plan.load(shelf, state).finish()])

    def buckets_of(self, keys: Any) -> np.ndarray:
        return np.array([sum(key.encode()) % len(self.shelves) for key in keys.to_pylist()], np.int64)

    def migrated(self, buckets: int, plan: Any = None) -> Query:
        """The same query with other buckets, which start from the shares of these."""
        new = Query(plan or self.plan, buckets)
        shelved = zip(self.shelves, self.states, strict=True)
        kind, version = self.plan.kind, self.plan.version
        old = [OldBucket.read(state, shelf, shelf, kind, version) for shelf, state in shelved if state]
        shares = (
            [(b, first_share(furthest(bucket.about for bucket in old), buckets, 0)) for b in range(buckets)]
            if old
            else []
        )
        for bucket in old:
            shares += bucket.shares(new.buckets_of(bucket.keys()["by0"]), buckets)
        for b, share in shares:
            started = new.plan.load(new.shelves[b], new.states[b])
            take_over(started, share, buckets)
            new.states[b] = started.save()
        return new


def rows_of(tables: list[pa.Table]) -> list[dict[str, Any]]:
    return [row for table in tables for row in table.to_pylist()]


def plan_for(scheme: wr.Scheme, **options: Any) -> StreamPlan:
    request = FrameQuery(scheme, Roles("on", ("g",), ("position",), AGG, KINDS))
    predicates = {name: _reads(name) for name in scheme.predicates}
    attributes = {name: name for name in scheme.attributes}
    layout = Layout("on", ("by0",), predicates, attributes, tuple(request.values), ("position",))
    return StreamPlan(request, layout, **options)


def run(plan: Any, batches: list[pa.Table], marks: list[int | None], changes: dict[int, int]) -> list[str]:
    """All rows of the result; `changes` says before which batch the query gets how many buckets."""
    query, found = Query(plan, 2), []
    for i, (table, mark) in enumerate(zip(batches, marks, strict=True)):
        if i in changes:
            query = query.migrated(changes[i])
        found += query.step(table, mark)
    return sorted(map(str, found + query.migrated(3).finish()))


@each_scheme
@FEWER
@given(data=st.data(), fragments=st.booleans(), delay=st.none() | st.integers(0, 6))
def test_frames_are_the_same_with_other_buckets(
    kind: type[wr.Scheme], data: st.DataObject, fragments: bool, delay: int | None
) -> None:
    scheme, table, batches, marks = data.draw(arrivals(kind))
    table = table.rename_columns(["by0", *table.column_names[1:]])
    changes = data.draw(st.dictionaries(st.integers(0, len(batches) - 1), st.integers(1, 4)))
    plan = plan_for(scheme, fragments=fragments, delay=delay)
    parts = [table.take(pa.array(rows, pa.int64())) for rows in batches]
    assert run(plan, parts, marks, changes) == run(plan, parts, marks, {})


def test_rows_that_were_late_stay_late_in_a_bucket_that_had_no_groups() -> None:
    plan = plan_for(wr.Gap(5))
    rows = pa.table({"by0": ["a"], "on": [100], "position": [0], "v": [1]})
    query = Query(plan, 1)
    query.step(rows.cast(pa.schema([("by0", pa.string()), *((n, KINDS[n]) for n in ("on", "position", "v"))])), 90)
    new = query.migrated(4)
    for shelf, state in zip(new.shelves, new.states, strict=True):
        assert plan.load(shelf, state).arrivals.watermark == 90


def test_another_query_is_refused() -> None:
    query = Query(plan_for(wr.Gap(5)), 2)
    query.step(pa.table({"by0": ["a"], "on": [1], "position": [0], "v": [1]}), 0)
    with pytest.raises(wr.SourceError, match=r"Gap\(5\).*Gap\(6\)"):
        query.migrated(3, plan_for(wr.Gap(6)))


def test_a_predicate_that_is_spelled_differently_is_no_other_query() -> None:
    table = pa.table({"by0": ["a"], "on": [1], "position": [0], "v": [1], "hit": [True]})
    query = Query(plan_for(wr.Threshold("hit and position>=0")), 2)
    query.step(table, 1)
    new = query.migrated(3, plan_for(wr.Threshold("(hit) AND (position >= 0)")))
    assert [row["count"] for row in new.finish()] == [1]


def test_a_state_for_another_number_of_buckets_is_refused() -> None:
    plan = plan_for(wr.Gap(5))
    share = first_share({"version": 2, "plan": plan.fingerprint, "watermark": 1}, 4, 7)
    assert read_label(share) == {"buckets": 4, "shares": 7}
    with pytest.raises(wr.SpecError, match="initial: the state was migrated to 4 buckets, but the query has 5"):
        take_over(plan.load(MemoryShelf(), None), share, 5)
