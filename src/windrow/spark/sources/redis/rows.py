"""From the entries of a Redis stream to rows of a user's schema."""

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
"""Columns that tell of the entry itself: its id, the moment in the id, and the stream it is from."""

Cell = Callable[[str, str, dict[bytes, bytes]], Any]
"""The value of one column, by stream, id and fields."""


class UnreadableValue(Exception):
    """A value that cannot be read, in a query that drops such rows."""


class RowReader:
    """Reads entries as rows; made once a task, and before that to refuse a schema that cannot be read."""

    def __init__(self, schema: StructType, options: RedisOptions) -> None:
        if not schema.fields:
            raise SpecError(
                "schema: there are no columns; name fields to read, such as 'detector string, speed double'"
            )
        self._arrow = to_arrow_schema(schema)
        self._cells = [_cell(field, options) for field in schema.fields]

    def rows(self, stream: str, entries: Entries) -> pa.RecordBatch:
        """A row for every entry that can be read."""
        found = []
        for entry, fields in entries:
            id = entry.decode()
            try:
                found.append([cell(stream, id, fields) for cell in self._cells])
            except UnreadableValue:
                continue
        columns = zip(*found, strict=True) if found else [()] * len(self._cells)
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
            f"schema: column {field.name!r} is of type {field.dataType.simpleString()}; it tells of the entry itself "
            f"and must be a {ABOUT[field.name].simpleString()}"
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
            raise DataError(f"{where} is missing, and the schema says that it is never null")
        text = quoted(data.decode(errors="backslashreplace"))
        raise DataError(
            f"{where} is {text}, which is no {field.dataType.simpleString()}; it "
            f"must be {reading.right}, or set the option 'mode' to 'null' or 'drop'"
        )

    return cell
