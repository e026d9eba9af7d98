"""Redis streams as a source. A batch is the entries after one id, up to another, and can be read again at any time.

A place in a stream is an id and the number of entries ever added up to it. The difference of two places therefore says
how many entries lie between them. If fewer are found, some were trimmed or deleted before they were read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from windrow.errors import SourceError, SpecError
from windrow.spark.sources.redis.options import RedisOptions
from windrow.spark.sources.redis.rows import RowReader
from windrow.spark.sources.redis.server import Extent, Place, Server

Offset = dict[str, dict[str, Any]]


Places = dict[str, Place]


@dataclass
class Span(InputPartition):
    """The entries that one task reads: after one id, up to another; `count` of them, or any number if it is None."""

    stream: str
    after: str
    upto: str
    count: int | None


class EntryReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A reader of the entries of one or more streams, batch by batch."""

    def __init__(self, schema: StructType, options: RedisOptions) -> None:
        RowReader(schema, options)
        self._schema, self._options = schema, options
        self._target: Places | None = None

    @cached_property
    def _server(self) -> Server:
        """The driver's connection; tasks have their own."""
        return Server(self._options)

    def initialOffset(self) -> Offset:
        """Return where a new query starts."""
        return to_offset({stream: first_place(self._server, stream, self._options.start) for stream in self._streams})

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return the maximum size of a batch."""
        most = self._options.most_entries
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def prepareForTriggerAvailableNow(self) -> None:
        """Set the current end of the streams as the end of the query."""
        self._target = self._last_places()

    def reportLatestOffset(self) -> Offset:
        """Return the end of the streams, for the progress of the query."""
        return to_offset(self._last_places())

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        """Return the end of the next batch."""
        begins = from_offset(start, self._streams)
        ends = {stream: self._end(stream, begins[stream]) for stream in self._streams}
        if isinstance(limit, ReadMaxRows):
            behind = {stream: max(0, ends[stream].added - begins[stream].added) for stream in self._streams}
            for stream, share in fair_shares(behind, limit.max_rows).items():
                if share < behind[stream]:
                    ends[stream] = self._step(stream, begins[stream], ends[stream], share)
        return to_offset(ends)

    def partitions(self, start: Offset, end: Offset) -> Sequence[Span]:
        """Cut the batch into one piece per task. Missing entries are already detected here."""
        begins, ends = from_offset(start, self._streams), from_offset(end, self._streams)
        return [span for stream in self._streams for span in self._cut(stream, begins[stream], ends[stream])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one piece."""
        assert isinstance(partition, Span)
        reader, count = RowReader(self._schema, self._options), 0
        with Server(self._options) as server:
            for entries in server.pages(partition.stream, partition.after, partition.upto):
                count += len(entries)
                yield reader.rows(partition.stream, entries)
        if partition.count is not None and count < partition.count:
            raise lost(partition.stream, partition.after, f"{partition.count - count} of {partition.count} entries")

    def stop(self) -> None:
        """Close the connection."""
        if "_server" in self.__dict__:
            self._server.close()

    @property
    def _streams(self) -> tuple[str, ...]:
        return self._options.streams

    def _last_places(self) -> Places:
        return {stream: self._server.extent(stream).end for stream in self._streams}

    def _end(self, stream: str, begin: Place) -> Place:
        """Return how far a stream can be read now; never before `begin`."""
        extent = self._server.extent(stream)
        if self._options.fail_on_loss:
            refuse_loss(stream, begin, extent)
        target = extent.end if self._target is None else self._target[stream]
        return Place(max(begin.id, target.id, key=id_key), target.added)

    def _step(self, stream: str, begin: Place, end: Place, share: int) -> Place:
        """Return the place `share` entries further on."""
        if not share:
            return begin
        at, count = self._server.walk(stream, begin.id, end.id, share)
        return Place(at, begin.added + count) if count == share else end

    def _cut(self, stream: str, begin: Place, end: Place) -> Iterator[Span]:
        """Yield pieces of about the same number of entries."""
        if begin == end:
            return
        after, total = begin.id, 0
        while True:
            upto, count = self._server.walk(stream, after, end.id, self._options.entries_per_partition)
            if not count:
                break
            yield Span(stream, after, upto, count if self._options.fail_on_loss else None)
            after, total = upto, total + count
        promised = end.added - begin.added
        if self._options.fail_on_loss and total < promised:
            raise lost(stream, begin.id, f"{promised - total} of {promised} entries")


class TableReader(DataSourceReader):
    """A reader of the current content of the streams, as a table."""

    def __init__(self, schema: StructType, options: RedisOptions) -> None:
        self._reader = EntryReader(schema, options)

    def partitions(self) -> Sequence[Span]:
        """Cut all entries into pieces."""
        start = self._reader.initialOffset()
        spans = self._reader.partitions(start, self._reader.reportLatestOffset())
        self._reader.stop()
        return spans

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one piece."""
        return self._reader.read(partition)


def first_place(server: Server, stream: str, start: str) -> Place:
    """Return the place to start from: `earliest`, `latest`, or after an id."""
    extent = server.extent(stream)
    if start == "latest":
        return extent.end
    if start == "earliest":
        return Place("0-0", extent.gone)
    after = min(start, extent.end.id, key=id_key)
    _, there = server.walk(stream, after, extent.end.id, extent.length)
    return Place(after, extent.end.added - there)


def refuse_loss(stream: str, begin: Place, extent: Extent) -> None:
    """Reject a stream that was reset, or that is trimmed faster than it is read."""
    if extent.end.added < begin.added or id_key(extent.end.id) < id_key(begin.id):
        raise lost(stream, begin.id, "the stream was deleted or set back, so that entries")
    if extent.gone > begin.added:
        raise lost(stream, begin.id, f"at least {extent.gone - begin.added} of the entries")


def fair_shares(behind: Mapping[str, int], most: int) -> dict[str, int]:
    """Share out `most` entries equally. What one stream does not need goes to those further behind."""
    shares: dict[str, int] = {}
    for stream in sorted(behind, key=lambda name: (behind[name], name)):
        shares[stream] = min(behind[stream], (most - sum(shares.values())) // (len(behind) - len(shares)))
    return shares


def id_key(id: str) -> tuple[int, int]:
    """Return a sort key for ids, in the order of Redis."""
    milliseconds, _, sequence = id.partition("-")
    return int(milliseconds), int(sequence)


def to_offset(places: Places) -> Offset:
    """Return places in the form that Spark stores in the checkpoint."""
    return {stream: asdict(place) for stream, place in places.items()}


def from_offset(offset: Offset, streams: Sequence[str]) -> Places:
    """Return the places in a checkpoint; reject one of other streams."""
    if set(offset) != set(streams):
        raise SpecError(
            f"stream: the checkpoint was written for {', '.join(map(repr, sorted(offset)))}, but this query reads "
            f"{', '.join(map(repr, sorted(streams)))}; read the same streams, or use a new checkpoint"
        )
    return {stream: Place(**offset[stream]) for stream in streams}


def lost(stream: str, after: str, what: str) -> SourceError:
    """Return the error for entries that were removed before they were read."""
    return SourceError(
        f"stream {stream!r}: {what} after {after} are gone, trimmed or deleted before this query read them; set the "
        "option 'failOnDataLoss' to 'false' to continue without them, or use a new checkpoint"
    )
