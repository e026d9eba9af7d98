"""Pieces: the results of a chunk as Arrow data, sent to the task that joins the chunks.

Groups are spread over buckets, and one task per bucket takes the chunks in order. A piece is a single row of a table,
so no engine splits it. A chunk sends to each bucket the frames of its groups, then the rows that a replay may need if
they cannot be read again, and last the outgoing state per group. For windows it sends panes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from windrow.framing.framer import Framer, Frames
from windrow.framing.parallel.heads import HeadFramer
from windrow.framing.parallel.seams import Seams
from windrow.framing.query import FrameQuery
from windrow.framing.state import pack_frames, pack_state
from windrow.rows import wire
from windrow.rows.groups import Codes, Directory, spread
from windrow.rows.ordering import read_in_order
from windrow.rows.query import Layout, Reader, RowBatch
from windrow.state.arrow import pack, unpack

PIECES = pa.schema(
    [("bucket", pa.int32()), ("chunk", pa.int32()), ("piece", pa.int32()), ("kind", pa.string()), ("data", pa.binary())]
)
FRAMES_PER_PIECE = 500_000
MapInArrow: TypeAlias = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
ReplayChunk: TypeAlias = Callable[[int, list[pa.Table], list[pa.Array]], Iterator[RowBatch]]
"""Reads the rows of a chunk again, given its number, the tables of rows it sent, and the `by` values of its groups."""
Resent: TypeAlias = Callable[[pa.Table], pa.Table]
"""Selects the rows of a table to send for a replay, all of one group."""


class PieceWriter:
    """A writer that packs and numbers the pieces of one chunk."""

    def __init__(self, chunk: int, buckets: int, directory: Directory) -> None:
        self.chunk, self.buckets, self.directory = chunk, buckets, directory
        self._sent = 0

    def by_bucket(self, kind: str, table: pa.Table, group: Codes) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a table as pieces, one per bucket that has rows."""
        bucket = spread(self.directory.keys(), self.buckets)[group]
        for b in range(self.buckets):
            mine = table.filter(pa.array(bucket == b)) if self.buckets > 1 else table
            if mine.num_rows:
                yield self.piece(b, kind, [mine])

    def piece(self, bucket: int, kind: str, tables: list[pa.Table]) -> pa.RecordBatch:
        """Return one piece as a record batch of one row."""
        self._sent += 1
        values = (bucket, self.chunk, self._sent, kind, pack(tables))
        return pa.record_batch([pa.array([v], f.type) for v, f in zip(values, PIECES, strict=True)], schema=PIECES)


class Sender(PieceWriter):
    """A writer of the guess of one chunk: its frames, rows and states, per bucket."""

    def __init__(self, chunk: int, buckets: int, directory: Directory, framer: Framer) -> None:
        super().__init__(chunk, buckets, directory)
        self.framer = framer
        self._waiting: list[pa.Table] = []

    def frames(self, frames: Frames) -> Iterator[pa.RecordBatch]:
        """Buffer closed frames, and yield pieces when there are enough of them."""
        if len(frames):
            self._waiting.append(pack_frames(frames))
        if sum(table.num_rows for table in self._waiting) >= FRAMES_PER_PIECE:
            yield from self._send_frames()

    def rows(self, table: pa.Table, by: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield rows of one group, for a replay."""
        if table.num_rows:
            key = [table.column(name).slice(0, 1).combine_chunks() for name in by]
            yield self.piece(int(spread(key, self.buckets)[0]), "rows", [table])

    def last(self) -> Iterator[pa.RecordBatch]:
        """Yield the remaining frames and the state of every group."""
        yield from self._send_frames()
        keys = self.directory.keys()
        bucket = spread(keys, self.buckets)
        self.framer.grow(bucket.size)
        for b in range(self.buckets):
            groups = np.flatnonzero(bucket == b)
            numbered = pa.table(
                {"group": pa.array(groups), **{wire.key(i): k.take(pa.array(groups)) for i, k in enumerate(keys)}}
            )
            heads = [self.framer.heads(groups)] if isinstance(self.framer, HeadFramer) else []
            yield self.piece(b, "state", [numbered, *pack_state(self.framer.export(groups)), *heads])

    def _send_frames(self) -> Iterator[pa.RecordBatch]:
        if not self._waiting:
            return
        table, self._waiting = pa.concat_tables(self._waiting), []
        yield from self.by_bucket("frames", table, table.column("group").to_numpy())


def run_from_empty(
    request: FrameQuery,
    layout: Layout,
    number: int,
    buckets: int,
    tables: Iterable[pa.Table],
    sent: Resent | None = None,
) -> Iterator[pa.RecordBatch]:
    """Frame one chunk from the empty state and yield the pieces for the buckets.

    The tables follow each other in `on`. `sent` selects the rows of each table that cannot be read again.
    """
    reader, framer = Reader(request, layout), request.framer(HeadFramer if request.has_heads else Framer)
    framer.directory, framer.is_guess = reader.directory, True
    sender = Sender(number, buckets, reader.directory, framer)
    for table in tables:
        yield from sender.frames(framer.process(read_in_order(reader, table)))
        if sent is not None:
            yield from sender.rows(sent(table), layout.by)
    yield from sender.last()


def read_again(
    request: FrameQuery, layout: Layout, keys: list[pa.Array], tables: Iterable[pa.Table]
) -> Iterator[RowBatch]:
    """Yield the rows of a chunk for a replay; the groups with the given `by` values get the first codes, in order."""
    reader = Reader(request, layout)
    reader.directory.encode(keys)
    return (read_in_order(reader, table) for table in tables)


def receiver(request: FrameQuery, replay: ReplayChunk) -> MapInArrow:
    """Return the function that joins the chunks in order, bucket by bucket, and yields the true frames."""

    def receive(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _, pieces in groupby(pieces_in(batches), key=lambda row: row[0]):
            seams = Seams(request)
            frames: list[pa.Table] = []
            rows: list[pa.Table] = []
            for _, chunk, kind, data in pieces:
                if kind == "frames":
                    frames += unpack(data)
                elif kind == "rows":
                    rows += unpack(data)
                else:
                    again = _replay_of(replay, chunk, rows)
                    for table in seams.join(frames, unpack(data), again):
                        yield from table.to_batches()
                    frames, rows = [], []
            yield from seams.finish().to_batches()

    return receive


def _replay_of(replay: ReplayChunk, chunk: int, rows: list[pa.Table]) -> Callable[[list[pa.Array]], Iterator[RowBatch]]:
    def again(keys: list[pa.Array]) -> Iterator[RowBatch]:
        return replay(chunk, rows, keys)

    return again


def pieces_in(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, int, str, pa.Buffer]]:
    """Yield the bucket, chunk, kind and data of each piece."""
    for batch in batches:
        for i in range(batch.num_rows):
            yield (
                batch["bucket"][i].as_py(),
                batch["chunk"][i].as_py(),
                batch["kind"][i].as_py(),
                batch["data"][i].as_buffer(),
            )
