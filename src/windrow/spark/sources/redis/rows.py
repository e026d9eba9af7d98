"""Turn the entries of a Redis stream into rows of a user's schema."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StringType, StructField, StructType, TimestampType

from windrow.errors import DataError, SpecError, TypeMismatchError, quoted
from windrow.spark.sources.redis.options import RedisOptions
from windrow.spark.sources.redis.server import Entries
from windrow.spark.sources.redis.values import READABLE, Reading, reading_of, time_of
from windrow.spark.versions import to_arrow_schema

ABOUT = {"_id": StringType(), "_time": TimestampType(), "_stream": StringType()}
"""The columns that describe the entry itself: its id, the time in the id, and its stream."""

Cell = Callable[[str, str, dict[bytes, bytes]], Any]
"""A function that returns the value of one column from stream, id and fields."""


class UnreadableValue(Exception):
    """An error for a value that cannot be read, in a query that drops such rows."""


class RowReader:
    """A reader of entries as rows. Created once per task, and on the driver to reject an unsupported schema."""

    def __init__(self, schema: StructType, options: RedisOptions) -> None:
        if not schema.fields:
            raise SpecError("schema: expected at least one column, e.g. 'detector string, speed double'")
        self._arrow = to_arrow_schema(schema)
        self._cells = [_cell(field, options) for field in schema.fields]

    def rows(self, stream: str, entries: Entries) -> pa.RecordBatch:
        """Return one row per entry that can be read."""
        rows = []
        for entry, fields in entries:
            id = entry.decode()
            try:
                rows.append([cell(stream, id, fields) for cell in self._cells])
            except UnreadableValue:
                continue
        columns = zip(*rows, strict=True) if rows else [()] * len(self._cells)
        arrays = [pa.array(values, field.type) for values, field in zip(columns, self._arrow, strict=True)]
        return pa.record_batch(arrays, schema=self._arrow)


def _cell(field: StructField, options: RedisOptions) -> Cell:
    if field.name in ABOUT:
        return _about(field)
    reading = reading_of(field.dataType, options.epoch)
    if reading is None:
        raise TypeMismatchError(
            f"schema: column {field.name!r} is of type {field.dataType.simpleString()}; a field of a Redis stream is "
            f"read as {READABLE}: read it as a string, then use from_json"
        )
    return _field(field, reading, options.mode)


def _about(field: StructField) -> Cell:
    if field.dataType != ABOUT[field.name]:
        raise TypeMismatchError(
            f"schema: column {field.name!r} is of type {field.dataType.simpleString()}; it describes the entry "
            f"itself; expected {ABOUT[field.name].simpleString()}"
        )
    cells: dict[str, Cell] = {
        "_id": lambda stream, id, fields: id,
        "_time": lambda stream, id, fields: time_of(id),
        "_stream": lambda stream, id, fields: stream,
    }
    return cells[field.name]


def _field(field: StructField, reading: Reading, mode: str) -> Cell:
    key, parse = field.name.encode(), reading.parse

    def cell(stream: str, id: str, fields: dict[bytes, bytes]) -> Any:
        data = fields.get(key)
        if data is None and field.nullable:
            return None
        try:
            if data is not None:
                return parse(data)
        except (ValueError, ArithmeticError):
            pass
        if mode == "drop":
            raise UnreadableValue
        if mode == "null" and field.nullable:
            return None
        where = f"stream {stream!r}, entry {id}: column {field.name!r}"
        if data is None:
            raise DataError(f"{where} is missing, but the schema declares it as not null")
        text = quoted(data.decode(errors="backslashreplace"))
        raise DataError(
            f"{where}: expected {reading.right}, got {text}; to accept such values, set the option 'mode' to 'null' or "
            "'drop'"
        )

    return cell
