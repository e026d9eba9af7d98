"""The codec of a bucket of `wr.fill`: what it holds, except for the buffered rows themselves, as bytes and back.

The state is a sequence of Arrow tables: the groups with frames (with a summary in the schema's metadata), an index of
the rows ahead of the watermark and one of those behind it, the frames under way, the open frames with the states of
their aggregates, and the result columns of the open frames. The buffered rows are pieces on the bucket's shelf.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.filling.held import BufferStats, Held
from windrow.filling.open_frames import Spans
from windrow.filling.plan import FillPlan
from windrow.filling.sweep import Placed
from windrow.rows.buffers.waiting import Shelf
from windrow.state.arrow import about_of, check_state, columns_of, described, fields_of, save_tables, saved_tables
from windrow.state.checks import check_indices, check_that, reading

VERSION = 2
KIND = "fill"
"""The kind of state that a saved bucket has in its header."""


def save_held(held: Held) -> bytes:
    """Return what a bucket holds as bytes, without the pieces on its shelf."""
    about = {
        "version": VERSION,
        "plan": held.plan.fingerprint,
        "watermark": held.watermark,
        "held": asdict(held.stats),
        "next": [held.ahead.next, held.behind.next],
        "looked_through": held.checked,
    }
    groups, spans, under_way = _with_groups(held)
    open_frames = columns_of("", spans)
    for j, states in enumerate(held.open.states):
        open_frames |= states.columns(f"aggregate{j}.")
    tables = [
        described(groups, about),
        held.ahead.index(),
        held.behind.index(),
        pa.table(columns_of("", under_way)),
        pa.table(open_frames),
    ]
    return save_tables(KIND, tables if held.open.columns is None else [*tables, held.open.columns])


def _with_groups(held: Held) -> tuple[pa.Table, Spans, Placed]:
    """Return the groups with frames, and these frames; other groups need no state, since rows carry their keys."""
    spans, under_way = held.open.spans, held.under_way
    groups_of_frames = np.concatenate([spans.group, under_way.group])
    codes, place = np.unique(groups_of_frames, return_inverse=True)
    if not held.plan.key_types:
        codes, place = np.zeros(1, np.int64), groups_of_frames
    values = [column.take(pa.array(codes)) for column in held.directory.keys()]  # noqa: SIM118, not a dict
    groups = pa.table({"group": np.arange(codes.size), **dict(zip(held.plan.keys, values, strict=True))})
    n = spans.group.size
    return groups, spans._replace(group=place[:n]), under_way._replace(group=place[n:])


def load_held(plan: FillPlan, shelf: Shelf, data: bytes | None) -> Held:
    """Return what a saved bucket holds; nothing if it is None."""
    held = Held(plan, shelf)
    if data is None:
        return held
    tables = saved_tables(data, KIND)
    about = about_of(tables[0])
    check_state(about, VERSION, plan.fingerprint)
    with reading():
        _restore(held, about, *tables)
    return held


def _restore(
    held: Held,
    about: dict[str, Any],
    groups: pa.Table,
    ahead: pa.Table,
    behind: pa.Table,
    under_way: pa.Table,
    open_frames: pa.Table,
    *columns: pa.Table,
) -> None:
    held.directory.restore([groups.column(key) for key in held.plan.keys], groups.num_rows)
    held.ahead.restore(ahead, about["next"][0])
    held.behind.restore(behind, about["next"][1])
    held.under_way = fields_of("", held.under_way, under_way)
    held.open.spans = fields_of("", held.open.spans, open_frames)
    for name, frames in (("frames under way", held.under_way), ("open frames", held.open.spans)):
        check_indices(f"groups of {name}", frames.group, groups.num_rows)
    held.open.states = [
        accumulator.empty(0).read(f"aggregate{j}.", open_frames) for j, accumulator in enumerate(held.plan.accumulators)
    ]
    held.open.columns = columns[0] if columns else None
    if held.plan.frame_columns:
        n, expected = 0 if not columns else columns[0].num_rows, held.open.spans.group.size
        check_that(n == expected, f"rows for {expected} open frames, got {n}")
    held.watermark, held.checked = about["watermark"], about["looked_through"]
    held.stats = BufferStats(**about["held"])


def saved_stats(data: bytes) -> dict[str, Any]:
    """Return statistics of the rows that a saved bucket held, for `wr.buffer_stats`."""
    groups, ahead, behind, _, open_frames, *_ = saved_tables(data, KIND)
    stats = BufferStats(**about_of(groups)["held"])
    return {
        "held": sum(ahead["rows"].to_pylist()) + sum(behind["rows"].to_pylist()),
        "open": open_frames.num_rows,
        "progresses": stats.steps,
        "held_max": stats.most,
        "held_mean": stats.total / stats.steps if stats.steps else None,
        "frames": stats.frames,
        "at_frames_max": stats.most_at_frames,
        "at_frames_mean": stats.total_at_frames / stats.frames if stats.frames else None,
    }
