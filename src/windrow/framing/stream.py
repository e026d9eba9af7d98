"""Stream framing: rows in as they arrive, frames out as the watermark passes them, state in between.

A `StreamFramer` handles a *bucket*, a share of the stream's groups. Rows that the watermark has not passed are buffered
on a shelf, in pieces that each cover a slice of time: a step writes only the rows that arrived and reads only those
that are due. The groups' state is stored in pieces on the same shelf. A step reads the state of the groups that have
due rows or whose gap is over, and adds one piece with its changes. The rest of the state, an index of the shelf, is one
small versioned Arrow blob.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.framing.fragments import FRAGMENT, FragmentFramer, Fragments
from windrow.framing.framer import Frames, latest_rows
from windrow.framing.query import FrameQuery, frames_table
from windrow.framing.records import OPEN
from windrow.framing.schedule import ScheduledFramer
from windrow.framing.state import pack_entries, unpack_entries
from windrow.rows import wire
from windrow.rows.arrivals import Arrivals
from windrow.rows.bucket_plan import BucketPlan
from windrow.rows.clock import LARGEST, Clock
from windrow.rows.group_store import NO_EVENT, Codes, Entries, GroupStore
from windrow.rows.groups import Directory
from windrow.rows.memory import Memory
from windrow.rows.ordering import read_in_order
from windrow.rows.query import Reader
from windrow.rows.waiting import Shelf, piece_of
from windrow.state.arrow import about_of, saved_tables
from windrow.state.checks import check_version, reading

VERSION = 3
KIND = "frames"
"""The kind of state that a saved bucket has in its header."""


@dataclass(frozen=True)
class StreamPlan(BucketPlan[FrameQuery]):
    """A frame query on a stream: how its rows are read and how its frames are reported."""

    fragments: bool = False
    every: int | float | None = None
    """The multiples of `on` at which fragments are cut; None if each step cuts them."""

    kind: ClassVar[str] = KIND
    version: ClassVar[int] = VERSION
    state: ClassVar[tuple[str, str]] = ("groups", "waiting")

    def load(self, shelf: Shelf, data: bytes | None) -> StreamFramer:
        """Return the saved bucket, or a new one."""
        return StreamFramer.load(self, shelf, data)

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Everything that a saved state depends on; a state is only valid for an equal fingerprint."""
        fragments = self.fragments if self.every is None else str(self.every)
        return {"scheme": self.request.scheme.fingerprint, **super().fingerprint, "fragments": fragments}


@dataclass
class StreamFramer:
    """The framer of one bucket of a stream's groups."""

    plan: StreamPlan
    shelf: Shelf

    def __post_init__(self) -> None:
        request = self.plan.request
        self.reader = Reader(request, self.plan.layout)
        arguments = (request.scheme, request.clock, request.types, list(request.agg.values()))
        every = self.plan.every
        self.framer = FragmentFramer(*arguments) if every is None else ScheduledFramer(*arguments, every)
        self.framer.directory = self.reader.directory
        self.arrivals = Arrivals(self.reader, self.shelf, self.plan.ordered, delay=self.plan.delay)
        self.memory = Memory(self.arrivals, self.plan.keep_groups, self._adopt, _idle)
        self._unreported: pa.Table | None = None
        """The punctuation of the last step, or None before the first."""
        self._punctuated = False

    def step(self, arrived: Iterable[pa.Table], watermark: int | None) -> tuple[list[pa.Table], list[pa.Table]]:
        """Take in new rows and advance to the watermark; return rows of the result and the late rows."""
        arrived = list(arrived)
        self._punctuated = False
        if self.plan.per_group:
            self.memory.recall(arrived)
        due, late = self.arrivals.take(arrived, watermark)
        if self.plan.per_group:
            return self._frame(due, None), late
        self.memory.recall(due, watermark)
        return [] if watermark is None else self._frame(due, watermark), late

    def finish(self) -> list[pa.Table]:
        """End the stream: frame all buffered rows and cut the open frames."""
        self.memory.empty()
        return [*self._frame(self.arrivals.take_all(), None), self._table(self.framer.ended(self.framer.finish()))]

    def next_event(self) -> int | None:
        """Return the watermark at which work is due even if no row arrives, or None."""
        if self.plan.per_group:
            return None
        events = [self.arrivals.waiting.first, self.memory.store.due]
        busy, latest = self.framer.latest()
        if self._gap is not None and busy.size:
            events.append(int(latest.min()) + self._gap)
        return min((event for event in events if event is not None), default=None)

    def unreported(self) -> pa.Table:
        """Return the groups with an open, unreported frame, and the start of the first such frame per group.

        This is the bucket's punctuation: any other frame still to be reported starts after the watermark.
        """
        before = self._elsewhere()
        clock = self.plan.request.clock
        silent = self.framer.states[FRAGMENT].seen == 0
        held = self.framer.held
        members = np.concatenate([self.framer.records.group[silent], held.group])
        groups, place = np.unique(members, return_inverse=True)
        starts = np.full(groups.size, clock.greatest, clock.dtype)
        np.minimum.at(starts, place, np.concatenate([self.framer.records.start[silent], held.on]))
        keys = {wire.key(i): key.take(pa.array(groups)) for i, key in enumerate(self.reader.directory.keys())}
        punctuation = pa.table(keys | {"start": pa.array(starts)})
        self._unreported = punctuation if before is None else pa.concat_tables([before, punctuation]).combine_chunks()
        self._punctuated = True
        return self._unreported

    def _elsewhere(self) -> pa.Table | None:
        """Return the last punctuation of the groups not in memory; without one, recall all groups.

        A group that is not in memory has not changed, so a batch need not read all groups for its punctuation.
        """
        if self._unreported is None or not self.reader.directory.types:
            self.memory.recall_all()
            return None
        directory = Directory(self.reader.directory.types)
        names = [*wire.keys(len(directory.types))]
        directory.restore([self._unreported.column(name) for name in names], len(self._unreported))
        at_hand = directory.encode(self.reader.directory.keys())
        left = np.setdiff1d(np.arange(len(self._unreported)), at_hand)
        return self._unreported.take(pa.array(left))

    # Framing.

    @property
    def _gap(self) -> int | None:
        """The longest gap within a frame if the watermark alone can show that it is over, else None."""
        request = self.plan.request
        gap = request.scheme.longest_gap(request.clock)
        waits = self.plan.per_group or request.scheme.needs_closing_row
        return None if waits or gap >= LARGEST else int(gap)

    def _frame(self, due: list[pa.Table], watermark: int | None) -> list[pa.Table]:
        done: list[Frames] = []
        if due:
            rows = read_in_order(self.reader, pa.concat_tables(due).combine_chunks())
            done.append(self.framer.process(rows))
            self.arrivals.met(rows)
        if watermark is not None and self._gap is not None:
            done.append(self._cut_gaps(watermark, self._gap))
        tables = [self._table(self.framer.ended(frames)) for frames in done if len(frames)]
        if self.plan.every is not None:
            # The pieces of a frame come before its end.
            tables.insert(0, self._table(self.framer.report()))
        elif self.plan.fragments:
            tables.append(self._table(self.framer.report()))
        return [table for table in tables if table.num_rows]

    def _cut_gaps(self, watermark: int, gap: int) -> Frames:
        """End the frames whose group can have no further row within the longest gap."""
        groups, latest = self.framer.latest()
        over = groups[self.plan.request.clock.reaches(np.full(latest.size, watermark), latest, gap)]
        return self.framer.cut(over, np.full(over.size, watermark + 1, self.plan.request.clock.dtype))

    def _table(self, pieces: Fragments) -> pa.Table:
        """Return fragments as rows of the result."""
        request, clock = self.plan.request, self.plan.request.clock
        table = frames_table(request, self.reader.directory.keys(), pieces.frames)
        records = pieces.frames.records
        changed: dict[str, Any] = {}
        if pieces.frames.closed.any() and self._gap is not None:
            by_gap = pa.array(clock.reaches(records.closed, records.end, self._gap + 1))
            changed["closed_at"] = pc.if_else(by_gap, pa.scalar(None, clock.type), table.column("closed_at"))
        if self.plan.fragments:
            no_tuple = pc.equal(pieces.count, 0)
            end = pc.if_else(no_tuple, pa.scalar(None, clock.type), table.column("end"))
            changed |= {"start": pieces.start, "end": end, "count": pieces.count}
        for name, column in changed.items():
            at = table.schema.get_field_index(name)
            table = table.set_column(at, table.schema.field(at), column)
        table = table.append_column("fragment", pieces.fragment)
        return table.append_column("final", pa.array(np.full(len(table), pieces.final)))

    # The state as bytes.

    def save(self) -> bytes:
        """Write changed groups to the shelf and return the rest of the state, an index of the shelf."""
        self.framer.grow(len(self.reader.directory))
        self.memory.write(self._entries)
        tables = [self.arrivals.waiting.index(), self.memory.store.index()]
        if self._punctuated:
            tables.append(self._unreported)
        return self.plan.save(self.arrivals, tables, {"clock": self.plan.request.clock.type})

    @property
    def held(self) -> dict[str, int]:
        """The number of groups, and the bytes of their state and of the buffered rows, without the index."""
        store = self.memory.store
        return {"groups": store.live, "state_bytes": store.size + self.arrivals.waiting.size}

    def _entries(self, codes: Codes) -> tuple[dict[str, Any], list[pa.Table], Any, Codes]:
        """Return groups as store entries; a group with no open frame, number or memory need not be stored."""
        state = self.framer.export(codes)
        columns, (open_frames, rows) = pack_entries(state)
        groups = state.groups
        fresh = groups.memo == self.framer.automaton.group_memo
        needed = (groups.open >= 0).any(axis=1) | (groups.next > 0) | ~fresh.all(axis=1)
        busy, latest = latest_rows(codes.size, state.records, state.held, self.plan.request.clock)
        needed[busy] = True
        due = np.full(codes.size, NO_EVENT)
        if self._gap is not None:
            # A gap that would end after the last representable instant never ends.
            due[busy] = np.minimum(latest, NO_EVENT - self._gap) + self._gap
        parts = [open_frames, rows] if self.framer.automaton.searches else [open_frames]
        return columns, parts, needed | self.plan.per_group, due

    def _adopt(self, entries: Entries, codes: Codes) -> None:
        with reading():
            self.framer.adopt(codes, unpack_entries(entries.groups, entries.parts, self.framer))

    @classmethod
    def load(cls, plan: StreamPlan, shelf: Shelf, data: bytes | None) -> StreamFramer:
        """Return the saved bucket, or a new one."""
        bucket = cls(plan, shelf)
        if data is None:
            return bucket
        about, tables = plan.read(data)
        with reading():
            waiting, index, *unreported = tables
            bucket.arrivals.restore(about, waiting)
            bucket.memory.store.restore(index)
            bucket._unreported = unreported[0] if unreported else None
        return bucket


def _idle(entries: Entries) -> Any:
    """Return which groups have no open frame and no row that may open one."""
    idle = np.ones(len(entries.groups), np.bool_)
    for part in entries.parts:
        idle[part["group"].to_numpy()] = False
    return idle


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
