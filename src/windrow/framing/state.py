"""Frames and framing states as Arrow tables, for exchange between tasks and for saved states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.engine.codes import encode
from windrow.aggregates.over_time.carrying import NOTHING
from windrow.arrays import Values, as_objects
from windrow.framing.framer import Framer, Frames, State
from windrow.framing.records import OPEN, WAITING, Groups, Records
from windrow.rows.query import RowBatch
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
    return [pa.table(group_columns(state)), pa.table(open_frames), pack_rows(state.held)]


def group_columns(state: State) -> dict[str, Any]:
    """Return the columns that a state has per group."""
    columns: dict[str, Any] = columns_of("", state.groups)
    for j, last in enumerate(state.last_values):
        columns |= {f"last{j}.{i}": pa.array(np.ascontiguousarray(last[:, i])) for i in range(last.shape[1])}
    return columns


def unpack_state(tables: Sequence[pa.Table], framer: Framer) -> State:
    """Return the state that `pack_state` wrote, for a framer of the same query."""
    groups, open_frames, *held = tables
    states = tuple(
        accumulator.empty(0).read(f"aggregate{j}.", open_frames) for j, accumulator in enumerate(framer.accumulators)
    )
    like = Groups(np.empty(0, np.int64), np.empty((0, framer.automaton.width), np.int64), framer.groups.memo[:0])
    rows = unpack_rows(held[0], framer.no_rows()) if held else framer.no_rows()
    last_values = tuple(
        np.column_stack([_numpy(groups, f"last{j}.{i}", np.float64) for i in range(NOTHING.size)])
        for j in range(len(framer.last_values))
    )
    state = State(fields_of("", like, groups), fields_of("", framer.room(0), open_frames), states, rows, last_values)
    _check_records(state.groups, state.records)
    check_indices("groups of held rows", rows.group, state.groups.next.size)
    return state


def pack_rows(rows: RowBatch) -> pa.Table:
    """Return rows as a table."""
    columns: dict[str, Any] = {"group": pa.array(rows.group), "on": pa.array(rows.on)}
    named = {f"input.{name}": values for name, values in rows.inputs.items()}
    named |= {f"value{j}": values for j, values in enumerate(rows.values)}
    for name, (numbers, valid, dictionary) in named.items():
        columns[f"{name}.valid"] = pa.array(valid if valid.size else np.ones(len(numbers), np.bool_))
        if dictionary is not None:
            columns[f"{name}.0"] = dictionary.take(pa.array(numbers, mask=~valid if valid.size else None))
            continue
        matrix = numbers[:, None] if numbers.ndim == 1 else numbers
        columns |= {f"{name}.{i}": pa.array(np.ascontiguousarray(matrix[:, i])) for i in range(matrix.shape[1])}
    return pa.table(columns)


def unpack_rows(table: pa.Table, like: RowBatch) -> RowBatch:
    """Return the rows that `pack_rows` wrote, with the types of `like`."""

    def read(name: str, empty: Values) -> Values:
        if empty.dictionary is not None:
            return encode(table.column(f"{name}.0"), empty.dictionary.type)
        columns = [table.column(f"{name}.{i}") for i in range(1 if empty.numbers.ndim == 1 else empty.numbers.shape[1])]
        dtype = empty.numbers.dtype
        read = [as_objects(column) if dtype.hasobject else np.array(column.to_numpy(), dtype) for column in columns]
        numbers = read[0] if empty.numbers.ndim == 1 else np.column_stack(read)
        return Values(numbers, _numpy(table, f"{name}.valid", np.bool_))

    inputs = {name: read(f"input.{name}", empty) for name, empty in like.inputs.items()}
    values = [read(f"value{j}", empty) for j, empty in enumerate(like.values)]
    return RowBatch(_numpy(table, "group", np.int64), _numpy(table, "on", like.on.dtype), inputs, values)


def pack_entries(state: State) -> tuple[dict[str, Any], list[pa.Table]]:
    """Return a state from which single groups can be taken: columns per group, and open frames ordered by group.

    If the scheme may hold rows, they follow as another table.

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
    held = pack_rows(state.held)
    held = held.take(pa.array(np.argsort(state.held.group, kind="stable")))
    return group_columns(state._replace(groups=state.groups._replace(open=own))), [pa.table(open_frames), held]


def unpack_entries(groups: pa.Table, parts: Sequence[pa.Table], framer: Framer) -> State:
    """Return the state that `pack_entries` wrote."""
    open_frames, *held = parts
    first = np.searchsorted(open_frames["group"].to_numpy(), np.arange(len(groups)))
    for i in range(framer.automaton.width):
        at = groups.schema.get_field_index(f"open.{i}")
        own = _numpy(groups, f"open.{i}", np.int64)
        groups = groups.set_column(at, f"open.{i}", pa.array(np.where(own >= 0, own + first, -1)))
    return unpack_state([groups, open_frames, *held], framer)


def _check_records(groups: Groups, records: Records) -> None:
    """Reject indices out of range, which kernels would write to."""
    check_indices("groups of open frames", records.group, groups.next.size)
    check_indices("open frames of groups", groups.open, records.group.size, least=-1)
    held, slot = np.nonzero(groups.open >= 0)
    check_that((records.group[groups.open[held, slot]] == held).all(), "each group to have open frames of its own")
    check_that((records.status[groups.open[held, slot]] == OPEN).all(), "all open frames of groups to be open")
    check_that(np.isin(records.status, (OPEN, WAITING)).all(), "all frames to be open, or to wait for a number")


def pack_frames(frames: Frames) -> pa.Table:
    """Return frames that were closed by a row, as one table."""
    columns = columns_of("", frames.records)
    columns |= {f"result{j}": array for j, array in enumerate(frames.aggregates)}
    errors = pa.nulls(len(frames), pa.string()) if frames.errors is None else frames.errors
    return pa.table({**columns, "error": errors})


def unpack_frames(table: pa.Table, framer: Framer) -> Frames:
    """Return the frames that `pack_frames` wrote."""
    results = tuple(table.column(f"result{j}").combine_chunks() for j in range(len(framer.accumulators)))
    errors = table.column("error").combine_chunks()
    return Frames(fields_of("", framer.room(0), table), results, np.ones(len(table), np.bool_), errors)


def take_frames(frames: Frames, rows: Any) -> Frames:
    """Return some of the frames."""
    at = pa.array(rows)
    results = tuple(array.take(at) for array in frames.aggregates)
    errors = None if frames.errors is None else frames.errors.take(at)
    return Frames(frames.records.take(rows), results, frames.closed[rows], errors)
