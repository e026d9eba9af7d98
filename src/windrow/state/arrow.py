"""Arrow tables as bytes: without a header between tasks, with a header in saved state."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.state.checks import check_same, check_that, check_version, reading
from windrow.state.header import seal, unseal


def pack(tables: Sequence[pa.Table]) -> bytes:
    """Pack several tables into one byte string."""
    sink = pa.BufferOutputStream()
    for table in tables:
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    return bytes(sink.getvalue())


def unpack(data: bytes | pa.Buffer) -> list[pa.Table]:
    """Return the tables that `pack` packed."""
    source = pa.BufferReader(data)
    tables = []
    while source.tell() < source.size():
        tables.append(pa.ipc.open_stream(source).read_all())
    return tables


def save_tables(kind: str, tables: Sequence[pa.Table]) -> bytes:
    """Pack several tables into a saved state."""
    return seal(kind, pack(tables))


def saved_tables(data: bytes, kind: str) -> list[pa.Table]:
    """Return the validated tables of a saved state of that kind; states from before there were headers are accepted."""
    payload = unseal(data, kind, bare=True)
    with reading():
        tables = unpack(payload)
        for table in tables:
            table.validate(full=True)
    return tables


def check_state(about: Mapping[str, Any], version: int, now: Mapping[str, Any]) -> None:
    """Reject a state that this code, or a query with the plan `now`, cannot resume from."""
    check_version("the checkpoint holds a state", about["version"], version, "use a new checkpoint")
    check_plan(about["plan"], now)


def check_plan(before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> None:
    """Reject a query that differs from the one that wrote the state."""
    check_same("the checkpoint was written", before or {}, "this query uses", now, before or (), "use a new checkpoint")


def described(table: pa.Table, about: Mapping[str, Any]) -> pa.Table:
    """Return a table, the first of a saved state, that carries a description of the state."""
    return table.replace_schema_metadata({"windrow": json.dumps(about)})


def about_of(table: pa.Table) -> dict[str, Any]:
    """Return the description that the first table of a saved state carries."""
    with reading():
        about: dict[str, Any] = json.loads(table.schema.metadata[b"windrow"])
        check_that({"version", "plan"} <= about.keys(), "a version and a plan")
    return about


def plan_of(data: bytes, kind: str) -> dict[str, Any]:
    """Return the plan of the query that wrote a saved state."""
    plan: dict[str, Any] = about_of(saved_tables(data, kind)[0])["plan"]
    return plan


def columns_of(prefix: str, fields: Any) -> dict[str, Any]:
    """Return flat arrays as columns of the same names; a matrix becomes one column per matrix column."""
    columns: dict[str, Any] = {}
    for name, array in fields._asdict().items():
        columns |= array_columns(f"{prefix}{name}", array)
    return columns


def array_columns(name: str, array: npt.NDArray[Any]) -> dict[str, Any]:
    """Return an array as a column, or as one column per matrix column."""
    if array.ndim == 1:
        return {name: pa.array(array)}
    return {f"{name}.{i}": pa.array(np.ascontiguousarray(array[:, i])) for i in range(array.shape[1])}


def fields_of(prefix: str, like: Any, table: pa.Table) -> Any:
    """Read flat arrays back, with the shapes of `like`; they are writable."""
    return type(like)(*(read_array(f"{prefix}{name}", array, table) for name, array in like._asdict().items()))


def read_array(name: str, like: npt.NDArray[Any], table: pa.Table) -> npt.NDArray[Any]:
    """Read the array that `array_columns` wrote, with the shape of `like`."""
    if like.ndim == 1:
        return _numpy(table, name, like.dtype)
    matrix = np.empty((table.num_rows, like.shape[1]), like.dtype)
    for i in range(like.shape[1]):
        matrix[:, i] = _numpy(table, f"{name}.{i}", like.dtype)
    return matrix


def _numpy(table: pa.Table, name: str, dtype: Any) -> npt.NDArray[Any]:
    column = table.column(name)
    check_that(not column.null_count, f"no nulls in column {name!r}")
    return np.array(column.to_numpy(), dtype=dtype)
