"""Redis streams as a sink: every row exactly once, even if the driver, a task or the connection dies.

A task stages its rows under a key that no other attempt uses. When all tasks of a batch are done, the driver runs one
script in Redis, which is atomic: it appends the staged rows to the stream and records the number of the batch, or does
nothing if that number is already recorded. The record belongs to the id of the query, which Spark stores in the
checkpoint. A restarted query therefore finds it, and a query with a new checkpoint starts from scratch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from windrow.errors import DataError, OutputError, SessionError, SpecError, TypeMismatchError, UnsupportedError
from windrow.spark.sources.redis.options import RedisOptions
from windrow.spark.sources.redis.server import PAGE, Server
from windrow.spark.sources.redis.values import READABLE, writing_of

QUERY_ID = "sql.streaming.queryId"
"""The local property in which Spark passes the id of the query to its tasks."""
KEPT_SECONDS = 24 * 3600
"""How long staged rows are kept if the query never returns for them."""
MOST_COLUMNS = 2_000
"""Redis scripts take at most 8,000 values at a time."""

_COMMIT = """
-- KEYS: the stream, the note of the last batch, the set of all keys with rows aside, then those of this batch.
-- ARGV: the number of the batch, then how many rows each of its keys has.
local batch = tonumber(ARGV[1])
if tonumber(redis.call('GET', KEYS[2]) or -1) < batch then
  -- A script is not undone where it fails, so everything is looked at before anything is written.
  local kind = redis.call('TYPE', KEYS[1])['ok']
  if kind ~= 'stream' and kind ~= 'none' then return redis.error_reply('the key is a ' .. kind .. ', not a stream') end
  for i = 4, #KEYS do
    if redis.call('XLEN', KEYS[i]) ~= tonumber(ARGV[i - 2]) then return {0, KEYS[i]} end
  end
  for i = 4, #KEYS do
    local from, page = '-', nil
    repeat
      page = redis.call('XRANGE', KEYS[i], from, '+', 'COUNT', 1000)
      for _, row in ipairs(page) do redis.call('XADD', KEYS[1], '*', unpack(row[2])) end
      if #page > 0 then from = '(' .. page[#page][1] end
    until #page < 1000
  end
  redis.call('SET', KEYS[2], batch)
end
-- Whatever is aside now belongs to this batch or to attempts that were given up.
for _, key in ipairs(redis.call('SMEMBERS', KEYS[3])) do redis.call('UNLINK', key) end
redis.call('UNLINK', KEYS[3])
return {1, ''}
"""


@dataclass(frozen=True)
class Aside(WriterCommitMessage):
    """The rows that a task has staged: for which query, under which key, and how many."""

    query: str
    key: str
    rows: int


class EntryWriter(DataSourceStreamArrowWriter):
    """A writer that appends rows to a stream, one entry per row."""

    def __init__(self, schema: StructType, options: RedisOptions, overwrite: bool) -> None:
        if overwrite:
            raise UnsupportedError(
                "outputMode: 'complete' would replace the stream; redis_streams supports only 'append'"
            )
        if len(options.streams) > 1:
            raise SpecError(f"stream: expected one stream to write to, got {', '.join(options.streams)}")
        check_columns(schema)
        self._schema, self._options, self._stream = schema, options, options.streams[0]

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Aside:
        """Stage the rows of a task."""
        query = query_of_task()
        staged, key = self._set_key(query), f"{self._set_key(query)}:{uuid4()}"
        rows = 0
        with self._server() as server:
            for page in pages(iterator, self._schema):
                with server.telling(self._stream):
                    pipe = server.client.pipeline(transaction=False)
                    pipe.sadd(staged, key)
                    # Rows are numbered, so a page that is accidentally sent twice is rejected instead of duplicated.
                    for number, row in enumerate(page, rows + 1):
                        pipe.xadd(key, row, id=f"0-{number}")
                    pipe.expire(key, KEPT_SECONDS)
                    pipe.expire(staged, 2 * KEPT_SECONDS)
                    pipe.execute()
                rows += len(page)
        return Aside(query, key, rows)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Append the staged rows, all or nothing, unless this batch has already been appended."""
        asides = [message for message in messages if isinstance(message, Aside) and message.rows]
        if not asides:
            return
        query = asides[0].query
        keys = [self._stream, note_key(self._stream, query), self._set_key(query), *(aside.key for aside in asides)]
        with self._server() as server, server.telling(self._stream):
            done, missing = server.client.eval(_COMMIT, len(keys), *keys, batchId, *(aside.rows for aside in asides))
        if not done:
            raise OutputError(
                f"stream {self._stream!r}: rows of batch {batchId} that were stored under {missing.decode()!r} "
                "disappeared before they were appended; restart the query, and make sure that Redis evicts no keys"
            )

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Delete the staged rows. Those of failed tasks are deleted with the next batch."""
        asides = [message for message in messages if isinstance(message, Aside) and message.rows]
        if asides:
            with self._server() as server, server.telling(self._stream):
                server.client.unlink(*(aside.key for aside in asides))

    def _server(self) -> Server:
        return Server(self._options, OutputError)

    def _set_key(self, query: str) -> str:
        return f"windrow:{self._stream}:{query}:aside"


def note_key(stream: str, query: str) -> str:
    """Return the key under which the last batch of a query is recorded."""
    return f"windrow:{stream}:{query}:batch"


def query_of_task() -> str:
    """Return the id of the query that a task belongs to."""
    task = TaskContext.get()
    query = task.getLocalProperty(QUERY_ID) if task else None
    if not query:
        raise SessionError(f"redis_streams: Spark does not pass {QUERY_ID!r}, the id of the query, to its tasks")
    return query


def check_columns(schema: StructType) -> None:
    """Reject columns that a field cannot hold."""
    if len(schema.fields) > MOST_COLUMNS:
        raise SpecError(f"schema: {len(schema.fields)} columns are too many for an entry; at most {MOST_COLUMNS} fit")
    for field in schema.fields:
        if writing_of(field.dataType) is None:
            raise TypeMismatchError(
                f"schema: column {field.name!r} is of type {field.dataType.simpleString()}; a field of a Redis stream "
                f"can hold {READABLE}: use to_json"
            )


def pages(batches: Iterable[pa.RecordBatch], schema: StructType) -> Iterator[list[dict[str, Any]]]:
    """Yield pages of rows as the fields of entries, without nulls."""
    names = [field.name for field in schema.fields]
    writings = [writing_of(field.dataType) for field in schema.fields]
    for batch in batches:
        for begin in range(0, batch.num_rows, PAGE):
            part = batch.slice(begin, PAGE)
            texts = [
                _texts(name, write, column)
                for name, write, column in zip(names, writings, part.columns, strict=True)
                if write is not None
            ]
            yield [_fields(names, row) for row in zip(*texts, strict=True)]


def _texts(name: str, write: Callable[[Any], str | bytes], column: pa.Array) -> list[str | bytes | None]:
    try:
        return [None if value is None else write(value) for value in column.to_pylist()]
    except (ValueError, OverflowError):
        raise DataError(
            f"column {name!r} has an instant before the year 1 or after 9999, which a field cannot hold; drop such rows"
        ) from None


def _fields(names: list[str], row: tuple[Any, ...]) -> dict[str, Any]:
    fields = {name: text for name, text in zip(names, row, strict=True) if text is not None}
    if not fields:
        raise DataError("a row is null in every column, and an entry of a Redis stream has at least one field; drop it")
    return fields
