"""Ranges of group and `on`: where to cut a table, and how to frame a range that may start inside a group.

Each range is framed from the empty state, and the seams are reconciled as in a scan. The rows of a range cannot be read
again. A scheme that is not stitched therefore also sends the rows of the group that the preceding cut goes through, the
only group that can have an open frame there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.framing.parallel.pieces import ReplayChunk, read_again, run_from_empty
from windrow.framing.query import FrameQuery
from windrow.rows.groups import Directory
from windrow.rows.ordering import in_larger_tables, whole_instants
from windrow.rows.query import Layout, RowBatch


@dataclass(frozen=True)
class Cuts:
    """Where to cut and why: each key (`by` columns and `on`, in order) is the last of its range."""

    keys: pa.Table
    reason: str


def why_ranges(sample: pa.Table, cores: int) -> str | None:
    """Return why groups alone would not keep `cores` cores busy, or None if they would."""
    by = sample.column_names[:-1]
    if not by:
        return "there is one group"
    largest = pc.max(sample.group_by(by).aggregate([([], "count_all")])["count_all"]).as_py() / sample.num_rows
    return f"one group has about {largest:.0%} of the tuples" if largest > 1 / cores else None


def quantiles(sample: pa.Table, ranges: int) -> pa.Table:
    """Return the distinct keys, in order, that cut a sample into `ranges` parts of about equal size.

    >>> quantiles(pa.table({"g": [1, 2, 1, 2], "on": [8, 5, 7, 6]}), 4).to_pylist()
    [{'g': 1, 'on': 8}, {'g': 2, 'on': 5}, {'g': 2, 'on': 6}]
    """
    rising = [(name, "ascending") for name in sample.column_names]
    ordered = sample.sort_by(rising)
    cuts = ordered.take(pa.array(np.linspace(0, ordered.num_rows, ranges + 1)[1:-1].astype(np.int64)))
    # Grouping returns keys in hash order, but a range is found by binary search among the cuts.
    return cuts.group_by(cuts.column_names, use_threads=False).aggregate([]).sort_by(rising)


def buckets_of(request: FrameQuery, cuts: pa.Table) -> int:
    """Return the number of buckets over which groups are spread when the ranges are joined."""
    return cuts.num_rows + 1 if request.by else 1


def run_range(
    request: FrameQuery, layout: Layout, cuts: pa.Table, number: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Frame one range, sorted by `on`, from the empty state, and yield the pieces for the buckets."""
    cut_group = Directory(request.by_types)
    if number:
        cut_group.encode([cuts[i].slice(number - 1, 1) for i in range(len(layout.by))])

    def of_cut_group(table: pa.Table) -> pa.Table:
        code = cut_group.encode([table.column(name) for name in layout.by], table.num_rows)
        return table.filter(pa.array(code == 0))

    tables = whole_instants(in_larger_tables(batches, request.tuning), layout.on, request.clock)
    sent = of_cut_group if number and not request.has_heads else None
    return run_from_empty(request, layout, number, buckets_of(request, cuts), tables, sent)


def replay_sent(request: FrameQuery, layout: Layout) -> ReplayChunk:
    """Return the function that reads the cut group again from the rows that were sent."""

    def replay(number: int, tables: list[pa.Table], keys: list[pa.Array]) -> Iterator[RowBatch]:
        return read_again(request, layout, keys, tables)

    return replay
