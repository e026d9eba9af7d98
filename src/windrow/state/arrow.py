"""Tables of Arrow as bytes: bare where they are sent from task to task, with a header where they are kept."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.state.checks import check_same, check_that, check_version, reading
from windrow.state.header import seal, unseal


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
