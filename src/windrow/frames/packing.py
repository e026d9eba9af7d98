"""Frames and states as Arrow: bare where they are sent from task to task, with a header where they are kept."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.frames.framer import Framer, Frames, State
from windrow.frames.records import OPEN, Groups, Records
from windrow.saved import check_indices, check_same, check_that, check_version, reading, seal, unseal


def pack(tables: Sequence[pa.Table]) -> bytes:
    """Several tables in one piece of bytes."""
    sink = pa.BufferOutputStream()
    for table in tables:
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    return bytes(sink.getvalue())


def unpack(data: bytes | pa.Buffer) -> list[pa.Table]:
    """The tables of `pack`."""
    source = pa.BufferReader(data)
    tables = []
    while source.tell() < source.size():
        tables.append(pa.ipc.open_stream(source).read_all())
    return tables


def save_tables(kind: str, tables: Sequence[pa.Table]) -> bytes:
    """Several tables as a saved state."""
    return seal(kind, pack(tables))


def saved_tables(data: bytes, kind: str) -> list[pa.Table]:
    """The tables of a saved state of that kind, if they are whole; those from before there were headers too."""
    payload = unseal(data, kind, bare=True)
    with reading():
        tables = unpack(payload)
        for table in tables:
            table.validate(full=True)
    return tables


def check_state(about: Mapping[str, Any], version: int, now: Mapping[str, Any]) -> None:
    """Refuse a state that this code, or a query that asks for what `now` says, cannot go on from."""
    check_version("the checkpoint holds a state", about["version"], version, "start with a new checkpoint")
    check_plan(about["plan"], now)


def check_plan(asked: Mapping[str, Any] | None, now: Mapping[str, Any]) -> None:
    """Refuse a query that asks for something else than was asked before."""
    remedy = "start with a new checkpoint, or ask for what was asked before"
    check_same("the checkpoint was written", asked or {}, now, asked or (), remedy)


def about_of(table: pa.Table) -> dict[str, Any]:
    """What the first table of a saved state says about it."""
    with reading():
        about: dict[str, Any] = json.loads(table.schema.metadata[b"windrow"])
        check_that({"version", "plan"} <= about.keys(), "a version and a plan")
    return about


def plan_of(data: bytes, kind: str) -> dict[str, Any]:
    """What a saved state was asked for."""
    asked: dict[str, Any] = about_of(saved_tables(data, kind)[0])["plan"]
    return asked


def columns_of(prefix: str, fields: Any) -> dict[str, Any]:
    """Flat arrays as columns of their names; a matrix becomes a column each."""
    columns: dict[str, Any] = {}
    for name, array in fields._asdict().items():
        if array.ndim == 1:
            columns[f"{prefix}{name}"] = pa.array(array)
        else:
            columns |= {
                f"{prefix}{name}.{i}": pa.array(np.ascontiguousarray(array[:, i])) for i in range(array.shape[1])
            }
    return columns


def fields_of(prefix: str, like: Any, table: pa.Table) -> Any:
    """The flat arrays back, with the shapes of `like`; they can be written to."""
    arrays = []
    for name, array in like._asdict().items():
        if array.ndim == 1:
            arrays.append(_numpy(table, f"{prefix}{name}", array.dtype))
        else:
            matrix = np.empty((table.num_rows, array.shape[1]), array.dtype)
            for i in range(array.shape[1]):
                matrix[:, i] = _numpy(table, f"{prefix}{name}.{i}", array.dtype)
            arrays.append(matrix)
    return type(like)(*arrays)


def _numpy(table: pa.Table, name: str, dtype: Any) -> Any:
    column = table.column(name)
    check_that(not column.null_count, f"no nulls in column {name!r}")
    return np.array(column.to_numpy(), dtype=dtype)


def pack_state(state: State) -> list[pa.Table]:
    """A state as two tables: its groups, and its open frames with their aggregates."""
    open_frames = columns_of("", state.records)
    for j, kept in enumerate(state.aggregates):
        open_frames |= kept.columns(f"aggregate{j}.")
    return [pa.table(columns_of("", state.groups)), pa.table(open_frames)]


def unpack_state(tables: Sequence[pa.Table], framer: Framer) -> State:
    """The state of `pack_state`, for a framer of the same request."""
    groups, open_frames = tables
    states = tuple(keeper.empty(0).read(f"aggregate{j}.", open_frames) for j, keeper in enumerate(framer.keepers))
    like = Groups(np.empty(0, np.int64), np.empty((0, framer.automaton.width), np.int64), framer.groups.memo[:0])
    state = State(fields_of("", like, groups), fields_of("", framer.room(0), open_frames), states)
    _check_records(state.groups, state.records)
    return state


def pack_entries(state: State) -> tuple[dict[str, Any], pa.Table]:
    """A state so that groups can be taken out of it: columns a group, and open frames in the order of their groups.

    A group knows its open frames by their places among its own.
    """
    order = np.argsort(state.records.group, kind="stable")
    place = np.empty(order.size + 1, np.int64)
    place[order] = np.arange(order.size)
    records = state.records.take(order)
    first = np.searchsorted(records.group, np.arange(state.groups.next.size))
    opened = state.groups.open
    own = np.where(opened >= 0, place[opened] - first[:, None], -1)
    open_frames = columns_of("", records)
    for j, kept in enumerate(state.aggregates):
        open_frames |= kept.take(order).columns(f"aggregate{j}.")
    return columns_of("", state.groups._replace(open=own)), pa.table(open_frames)


def unpack_entries(groups: pa.Table, open_frames: pa.Table, framer: Framer) -> State:
    """The state of `pack_entries`."""
    first = np.searchsorted(open_frames["group"].to_numpy(), np.arange(len(groups)))
    for i in range(framer.automaton.width):
        at = groups.schema.get_field_index(f"open.{i}")
        own = _numpy(groups, f"open.{i}", np.int64)
        groups = groups.set_column(at, f"open.{i}", pa.array(np.where(own >= 0, own + first, -1)))
    return unpack_state([groups, open_frames], framer)


def _check_records(groups: Groups, records: Records) -> None:
    """Refuse places that kernels would write to and that do not exist."""
    check_indices("groups of open frames", records.group, groups.next.size)
    check_indices("open frames of groups", groups.open, records.group.size, least=-1)
    held, slot = np.nonzero(groups.open >= 0)
    check_that((records.group[groups.open[held, slot]] == held).all(), "each group to have open frames of its own")
    check_that((records.status == OPEN).all(), "all frames to be open")


def pack_frames(frames: Frames) -> pa.Table:
    """Frames that were closed by a tuple, as one table."""
    columns = columns_of("", frames.records)
    return pa.table(columns | {f"result{j}": array for j, array in enumerate(frames.aggregates)})


def unpack_frames(table: pa.Table, framer: Framer) -> Frames:
    """The frames of `pack_frames`."""
    results = tuple(table.column(f"result{j}").combine_chunks() for j in range(len(framer.keepers)))
    return Frames(fields_of("", framer.room(0), table), results, closed=True)


def take_frames(frames: Frames, rows: Any) -> Frames:
    """Some of the frames."""
    at = pa.array(rows)
    return Frames(frames.records.take(rows), tuple(array.take(at) for array in frames.aggregates), frames.closed)
