"""Saved buckets of streams of frames, readable without their query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.framing.records import OPEN
from windrow.framing.stream import KIND, VERSION
from windrow.rows import wire
from windrow.rows.buffers.waiting import Shelf, piece_of
from windrow.rows.clock import Clock
from windrow.rows.group_store import GroupStore
from windrow.rows.groups import Directory
from windrow.state.arrow import about_of, saved_tables
from windrow.state.checks import check_version, reading


class Snapshot:
    """A saved bucket, readable without its query: the open frames and the number of buffered rows."""

    def __init__(self, data: bytes) -> None:
        with reading():
            self.tables = saved_tables(data, KIND)
            self.head, about = self.tables[0], about_of(self.tables[0])
            check_version("the checkpoint holds a state", about["version"], VERSION, "look at it with that one")
            self.by = about["plan"]["by"]
            self.types = [self.head.schema.field(wire.key(i)).type for i in range(len(self.by))]
            self.clock = Clock.of(self.head.schema.field("clock").type, "on")

    @property
    def schema(self) -> pa.Schema:
        """The `by` columns, the columns of an open frame, and the number of buffered rows of its group."""
        on = self.clock.type
        fields = list(zip(self.by, self.types, strict=True))
        fields += [("frame", pa.int64()), ("start", on), ("end", on), ("count", pa.int64()), ("waiting", pa.int64())]
        return pa.schema(fields)

    def open_frames(self, shelf: Shelf) -> tuple[pa.Table, pa.Table | None]:
        """Return the stored groups and their open frames, or None for the frames if no group is stored."""
        store = GroupStore(shelf, self.types)
        with reading():
            store.restore(self.tables[2])
        entries = store.all()
        return (self.head, None) if entries is None else (entries.groups, entries.parts[0])

    def rows(self, shelf: Mapping[int, bytes]) -> pa.Table:
        """Return one row per open frame, and one per group that has buffered rows but no open frame."""
        directory = Directory(self.types)
        stored, opened = self.open_frames(shelf)  # type: ignore[arg-type]  # the mapping also reads as a shelf
        directory.encode([stored.column(name) for name in wire.keys(len(self.by))], stored.num_rows)
        waiting = np.zeros(max(stored.num_rows, len(directory)), np.int64)
        for table in (piece_of(data) for number, data in shelf.items() if number >= 0):
            group = directory.encode([table.column(name) for name in wire.keys(len(self.by))], table.num_rows)
            waiting = np.append(waiting, np.zeros(len(directory) - waiting.size, np.int64))
            np.add.at(waiting, group, 1)
        if opened is None:
            on = pa.from_numpy_dtype(self.clock.dtype)
            kinds = {"group": pa.int64(), "number": pa.int64(), "start": on, "end": on, "count": pa.int64()}
            opened = pa.schema(kinds.items()).empty_table()
        else:
            opened = opened.filter(pc.equal(opened["status"], OPEN))
        framed = opened["group"].to_numpy()
        others = np.setdiff1d(np.flatnonzero(waiting), framed)
        group = np.concatenate([framed, others])
        number = opened["number"].to_numpy()
        frame = pa.array(number, mask=number < 0)
        none = pa.nulls(others.size, pa.int64())
        keys = directory.keys()
        columns: list[Any] = [key.take(pa.array(group)) for key in keys]
        columns.append(pa.concat_arrays([frame, none]))
        for name in ("start", "end"):
            columns.append(
                self.clock.write(pa.concat_arrays([opened[name].combine_chunks(), none.cast(opened[name].type)]))
            )
        columns.append(pa.concat_arrays([opened["count"].combine_chunks(), pa.array(np.zeros(others.size, np.int64))]))
        return pa.table([*columns, pa.array(waiting[group])], schema=self.schema)
