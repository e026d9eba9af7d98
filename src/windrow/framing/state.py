"""Frames and framing states as Arrow tables, for exchange between tasks and for saved states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.framing.framer import Framer, Frames, State
from windrow.framing.records import OPEN, Groups, Records
from windrow.state.arrow import (
    _numpy,
    columns_of,
    fields_of,
)
from windrow.state.checks import check_indices, check_that


def pack_state(state: State) -> list[pa.Table]:
    """Return a state as two tables: its groups, and its open frames with their aggregates."""
    open_frames = columns_of("", state.records)
    for j, states in enumerate(state.aggregates):
        open_frames |= states.columns(f"aggregate{j}.")
    return [pa.table(columns_of("", state.groups)), pa.table(open_frames)]


def unpack_state(tables: Sequence[pa.Table], framer: Framer) -> State:
    """Return the state that `pack_state` wrote, for a framer of the same query."""
    groups, open_frames = tables
    states = tuple(
        accumulator.empty(0).read(f"aggregate{j}.", open_frames) for j, accumulator in enumerate(framer.accumulators)
    )
    like = Groups(np.empty(0, np.int64), np.empty((0, framer.automaton.width), np.int64), framer.groups.memo[:0])
    state = State(fields_of("", like, groups), fields_of("", framer.room(0), open_frames), states)
    _check_records(state.groups, state.records)
    return state


def pack_entries(state: State) -> tuple[dict[str, Any], pa.Table]:
    """Return a state from which single groups can be taken: columns per group, and open frames ordered by group.

    A group refers to its open frames by their positions among its own.
    """
    order = np.argsort(state.records.group, kind="stable")
    place = np.empty(order.size + 1, np.int64)
    place[order] = np.arange(order.size)
    records = state.records.take(order)
    first = np.searchsorted(records.group, np.arange(state.groups.next.size))
    opened = state.groups.open
    own = np.where(opened >= 0, place[opened] - first[:, None], -1)
    open_frames = columns_of("", records)
    for j, states in enumerate(state.aggregates):
        open_frames |= states.take(order).columns(f"aggregate{j}.")
    return columns_of("", state.groups._replace(open=own)), pa.table(open_frames)


def unpack_entries(groups: pa.Table, open_frames: pa.Table, framer: Framer) -> State:
    """Return the state that `pack_entries` wrote."""
    first = np.searchsorted(open_frames["group"].to_numpy(), np.arange(len(groups)))
    for i in range(framer.automaton.width):
        at = groups.schema.get_field_index(f"open.{i}")
        own = _numpy(groups, f"open.{i}", np.int64)
        groups = groups.set_column(at, f"open.{i}", pa.array(np.where(own >= 0, own + first, -1)))
    return unpack_state([groups, open_frames], framer)


def _check_records(groups: Groups, records: Records) -> None:
    """Reject indices out of range, which kernels would write to."""
    check_indices("groups of open frames", records.group, groups.next.size)
    check_indices("open frames of groups", groups.open, records.group.size, least=-1)
    held, slot = np.nonzero(groups.open >= 0)
    check_that((records.group[groups.open[held, slot]] == held).all(), "each group to have open frames of its own")
    check_that((records.status == OPEN).all(), "all frames to be open")


def pack_frames(frames: Frames) -> pa.Table:
    """Return frames that were closed by a row, as one table."""
    columns = columns_of("", frames.records)
    return pa.table(columns | {f"result{j}": array for j, array in enumerate(frames.aggregates)})


def unpack_frames(table: pa.Table, framer: Framer) -> Frames:
    """Return the frames that `pack_frames` wrote."""
    results = tuple(table.column(f"result{j}").combine_chunks() for j in range(len(framer.accumulators)))
    return Frames(fields_of("", framer.room(0), table), results, closed=True)


def take_frames(frames: Frames, rows: Any) -> Frames:
    """Return some of the frames."""
    at = pa.array(rows)
    return Frames(frames.records.take(rows), tuple(array.take(at) for array in frames.aggregates), frames.closed)
