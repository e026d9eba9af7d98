"""Sending what was found in a chunk to where the chunks are put together, in pieces of Arrow.

Groups are spread over buckets, and one task per bucket takes the chunks in order. A piece is one row of a table, which
no engine takes apart. For frames, a chunk sends to each bucket those of its groups, then the tuples that a
replay may need where they cannot be read again, and last the state in which it left each group. For windows it sends
panes.
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
from windrow.rows.groups import Codes, Directory, spread
from windrow.rows.ordering import read_in_order
from windrow.rows.query import Layout, Reader, RowBatch
from windrow.state.arrow import pack, unpack

PIECES = pa.schema(
    [("bucket", pa.int32()), ("chunk", pa.int32()), ("piece", pa.int32()), ("kind", pa.string()), ("data", pa.binary())]
)
FRAMES_A_PIECE = 500_000
MapInArrow: TypeAlias = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
ReplayChunk: TypeAlias = Callable[[int, list[pa.Table], list[pa.Array]], Iterator[RowBatch]]
"""Reads the tuples of a chunk again: its number, the tables of tuples that were sent, the `by` values of its groups."""
Resent: TypeAlias = Callable[[pa.Table], pa.Table]
"""Chooses the rows of a table that are sent along, all of one group."""


class PieceWriter:
    """Makes pieces of what one chunk sends, and numbers them."""

    def __init__(self, chunk: int, buckets: int, directory: Directory) -> None:
        self.chunk, self.buckets, self.directory = chunk, buckets, directory
        self._sent = 0

    def by_bucket(self, kind: str, table: pa.Table, group: Codes) -> Iterator[pa.RecordBatch]:
        """The rows of a table, each to the bucket of its group."""
        bucket = spread(self.directory.keys(), self.buckets)[group]
        for b in range(self.buckets):
            mine = table.filter(pa.array(bucket == b)) if self.buckets > 1 else table
            if mine.num_rows:
                yield self.piece(b, kind, [mine])

    def piece(self, bucket: int, kind: str, tables: list[pa.Table]) -> pa.RecordBatch:
        """One piece, as a row."""
        self._sent += 1
        values = (bucket, self.chunk, self._sent, kind, pack(tables))
        return pa.record_batch([pa.array([v], f.type) for v, f in zip(values, PIECES, strict=True)], schema=PIECES)


class Sender(PieceWriter):
    """Packs what one chunk's run from the empty state finds, for each bucket."""

    def __init__(self, chunk: int, buckets: int, directory: Directory, framer: Framer) -> None:
        super().__init__(chunk, buckets, directory)
        self.framer = framer
        self._waiting: list[pa.Table] = []

    def frames(self, frames: Frames) -> Iterator[pa.RecordBatch]:
        """Frames that closed; they wait until there are enough for a piece."""
        if len(frames):
            self._waiting.append(pack_frames(frames))
        if sum(table.num_rows for table in self._waiting) >= FRAMES_A_PIECE:
            yield from self._send_frames()

    def tuples(self, table: pa.Table, by: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Tuples of one group, for a replay."""
        if table.num_rows:
            key = [table.column(name).slice(0, 1).combine_chunks() for name in by]
            yield self.piece(int(spread(key, self.buckets)[0]), "tuples", [table])

    def last(self) -> Iterator[pa.RecordBatch]:
        """What is left, and the state of every group."""
        yield from self._send_frames()
        keys = self.directory.keys()
        bucket = spread(keys, self.buckets)
        self.framer.grow(bucket.size)
        for b in range(self.buckets):
            groups = np.flatnonzero(bucket == b)
            known = pa.table(
                {"group": pa.array(groups), **{f"by{i}": k.take(pa.array(groups)) for i, k in enumerate(keys)}}
            )
            heads = [self.framer.heads(groups)] if isinstance(self.framer, HeadFramer) else []
            yield self.piece(b, "state", [known, *pack_state(self.framer.export(groups)), *heads])

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
    """Frame one chunk from the empty state; what it sends to the buckets.

    Its tables follow each other in `on`. Of each, `sent` chooses the rows that cannot be read again.
    """
    reader, framer = Reader(request, layout), request.framer(HeadFramer if request.scheme.is_run else Framer)
    framer.directory = reader.directory
    sender = Sender(number, buckets, reader.directory, framer)
    for table in tables:
        yield from sender.frames(framer.process(read_in_order(reader, table)))
        if sent is not None:
            yield from sender.tuples(sent(table), layout.by)
    yield from sender.last()


def read_again(
    request: FrameQuery, layout: Layout, keys: list[pa.Array], tables: Iterable[pa.Table]
) -> Iterator[RowBatch]:
    """The rows of a chunk for a replay; the groups with these `by` values are the first ones, in this order."""
    reader = Reader(request, layout)
    reader.directory.encode(keys)
    return (read_in_order(reader, table) for table in tables)


def receiver(request: FrameQuery, replay: ReplayChunk) -> MapInArrow:
    """The function that goes through the chunks in order, bucket by bucket, and emits the true frames."""

    def receive(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _, pieces in groupby(pieces_in(batches), key=lambda row: row[0]):
            seams = Seams(request)
            frames: list[pa.Table] = []
            tuples: list[pa.Table] = []
            for _, chunk, kind, data in pieces:
                if kind == "frames":
                    frames += unpack(data)
                elif kind == "tuples":
                    tuples += unpack(data)
                else:
                    again = _replay_of(replay, chunk, tuples)
                    for table in seams.join(frames, unpack(data), again):
                        yield from table.to_batches()
                    frames, tuples = [], []
            yield from seams.finish().to_batches()

    return receive


def _replay_of(
    replay: ReplayChunk, chunk: int, tuples: list[pa.Table]
) -> Callable[[list[pa.Array]], Iterator[RowBatch]]:
    def again(keys: list[pa.Array]) -> Iterator[RowBatch]:
        return replay(chunk, tuples, keys)

    return again


def pieces_in(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, int, str, pa.Buffer]]:
    """The bucket, chunk, kind and data of each piece."""
    for batch in batches:
        for i in range(batch.num_rows):
            yield (
                batch["bucket"][i].as_py(),
                batch["chunk"][i].as_py(),
                batch["kind"][i].as_py(),
                batch["data"][i].as_buffer(),
            )
