"""Stream framing: rows in as they arrive, frames out as the watermark passes them, state in between.

A `StreamFramer` handles a *bucket*, a share of the stream's groups. Rows that the watermark has not passed are buffered
on a shelf, in pieces that each cover a slice of time: a step writes only the rows that arrived and reads only those
that are due. The groups' state is stored in pieces on the same shelf. A step reads the state of the groups that have
due rows or whose gap is over, and adds one piece with its changes. The rest of the state, an index of the shelf, is one
small versioned Arrow blob.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.aggregates.over_time.carrying import IS_CARRIED
from windrow.framing.fragments import FRAGMENT, FragmentFramer, Fragments
from windrow.framing.framer import Frames, latest_rows
from windrow.framing.query import FrameQuery, frames_table, progress_table
from windrow.framing.schedule import ScheduledFramer
from windrow.framing.state import pack_entries, unpack_entries
from windrow.rows import wire
from windrow.rows.arrivals import Arrivals
from windrow.rows.bucket_plan import BucketPlan
from windrow.rows.buffers.waiting import Shelf
from windrow.rows.clock import LARGEST
from windrow.rows.group_store import NO_EVENT, Codes, Entries
from windrow.rows.groups import Directory
from windrow.rows.memory import Memory
from windrow.rows.ordering import read_in_order
from windrow.rows.query import Reader
from windrow.state.checks import reading

VERSION = 3
KIND = "frames"
"""The kind of state that a saved bucket has in its header."""


@dataclass(frozen=True)
class StreamPlan(BucketPlan[FrameQuery]):
    """A frame query on a stream: how its rows are read and how its frames are reported."""

    fragments: bool = False
    every: int | float | None = None
    """The multiples of `on` at which fragments are cut; None if each step cuts them."""
    punctuation: bool = False
    """Whether to report per group how far it has got: see `StreamFramer._progress`."""

    kind: ClassVar[str] = KIND
    version: ClassVar[int] = VERSION
    state: ClassVar[tuple[str, str]] = ("groups", "waiting")

    def load(self, shelf: Shelf, data: bytes | None) -> StreamFramer:
        """Return the saved bucket, or a new one."""
        return StreamFramer.load(self, shelf, data)

    @property
    def in_order(self) -> frozenset[str]:
        """The columns in whose order the frames of a group are reported; frames that overlap may end in any order."""
        return frozenset({"start", "end"} if "disjoint" in self.request.scheme.properties else ())

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
        every, agg = self.plan.every, list(request.agg.values())
        self.framer = (
            FragmentFramer(request.scheme, request.clock, request.types, agg, len(request.label_columns))
            if every is None
            else ScheduledFramer(request.scheme, request.clock, request.types, agg, every)
        )
        self.framer.directory = self.reader.directory
        self.arrivals = Arrivals(
            self.reader, self.shelf, self.plan.ordered, delay=self.plan.delay, listens=self.plan.idle is not None
        )
        self.memory = Memory(self.arrivals, self.plan.keep_groups, self._adopt, _idle)
        self._unreported: pa.Table | None = None
        """The punctuation of the last step, or None before the first."""
        self._punctuated = False
        self._moved: list[Codes] = []
        """The groups of which this step has framed rows or closed frames."""

    def step(
        self, arrived: Iterable[pa.Table], watermark: int | None, now: int | None = None
    ) -> tuple[list[pa.Table], list[pa.Table]]:
        """Take in new rows and advance to the watermark; return rows of the result and the late rows.

        `now` is the wall clock in milliseconds, if silent groups are closed.
        """
        arrived = list(arrived)
        self._punctuated, self._moved = False, []
        tables, late = self._advance(arrived, watermark, now)
        return [*tables, *self._progress(watermark)] if self.plan.punctuation else tables, late

    def _advance(
        self, arrived: list[pa.Table], watermark: int | None, now: int | None
    ) -> tuple[list[pa.Table], list[pa.Table]]:
        idle = self.plan.idle
        if not self.plan.per_group:
            due, late = self.arrivals.take(arrived, watermark)
            self.memory.recall(due, watermark)
            return [] if watermark is None else self._frame(due, watermark), late
        self.memory.recall(arrived, None if idle is None else now)
        if idle is not None and now is not None:
            self.arrivals.hear(arrived, now)
        due, late = self.arrivals.take(arrived, None)
        tables = self._frame(due, None)
        return tables if idle is None or now is None else [*tables, *self._close_silent(now - idle)], late

    def finish(self) -> list[pa.Table]:
        """End the stream: frame all buffered rows and cut the open frames."""
        self.memory.empty()
        return [*self._frame(self.arrivals.take_all(), None), self._table(self.framer.ended(self.framer.finish()))]

    def next_event(self) -> int | None:
        """Return the watermark at which work is due even if no row arrives, or None.

        If silent groups are closed, return the time of the wall clock instead, in milliseconds.
        """
        if self.plan.idle is not None:
            silent = int(self._silent_from(np.arange(len(self.reader.directory))).min(initial=NO_EVENT))
            silent = min(silent, self.memory.store.due or NO_EVENT)
            return None if silent == NO_EVENT else silent
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
        silent = self.framer.states[FRAGMENT].seen == 0
        groups = np.unique(np.concatenate([self.framer.records.group[silent], self.framer.held.group]))
        starts = self._open_since(silent)[groups]
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
            self._moved.append(rows.group)
        if watermark is not None and self._gap is not None:
            done.append(self._cut_gaps(watermark, self._gap))
        tables = [self._table(self.framer.ended(frames)) for frames in done if len(frames)]
        if self.plan.every is not None:
            # The pieces of a frame come before its end.
            tables.insert(0, self._table(self.framer.report()))
        elif self.plan.fragments:
            tables.append(self._table(self.framer.report()))
        return [table for table in tables if table.num_rows]

    def _close_silent(self, until: int) -> list[pa.Table]:
        """End the frames of groups that were last heard from at `until` or before, as the end of the data would."""
        codes = np.arange(len(self.reader.directory))
        codes = codes[(self.arrivals.heard <= until) & (self._silent_from(codes) < NO_EVENT)]
        if not codes.size:
            return []
        self.memory.touch(codes)
        self._moved.append(codes)
        own_order = self.arrivals.own_order
        tables = [] if own_order is None else self._frame(self.arrivals.counted(own_order.take_groups(codes)), None)
        cut = self.framer.finish(codes)
        return [*tables, self._table(self.framer.ended(cut))] if len(cut) else tables

    def _silent_from(self, codes: Codes) -> Codes:
        """Return when each of these groups counts as silent; never if it has nothing open and no buffered row."""
        self.arrivals.grow()
        self.framer.grow(len(self.reader.directory))
        pending = np.zeros(len(self.reader.directory), np.bool_)
        pending[self.framer.latest()[0]] = True
        if self.arrivals.own_order is not None:
            pending |= self.arrivals.own_order.newest > self.arrivals.last
        silent: Codes = np.where(pending, self.arrivals.heard + (self.plan.idle or 0), NO_EVENT)[codes]
        return silent

    def _cut_gaps(self, watermark: int, gap: int) -> Frames:
        """End the frames whose group can have no further row within the longest gap."""
        groups, latest = self.framer.latest()
        over = groups[self.plan.request.clock.reaches(np.full(latest.size, watermark), latest, gap)]
        self._moved.append(over)
        return self.framer.cut(over, np.full(over.size, watermark + 1, self.plan.request.clock.dtype))

    def _progress(self, watermark: int | None) -> list[pa.Table]:
        """Return, for each group of which this step framed rows or closed frames, how far it has got.

        `complete_until` is the watermark or, if groups have their own order, the last framed row. `open_since` is the
        start of the group's first frame that is or may be open. All frames that had ended by `complete_until` have
        been reported, except for those that start after `open_since`.
        """
        codes = np.unique(np.concatenate([np.empty(0, np.int64), *self._moved]))
        if not codes.size:
            return []
        clock, starts = self.plan.request.clock, self._open_since(np.ones(self.framer.records.group.size, np.bool_))
        until = self.arrivals.last if self.plan.per_group else np.full(starts.size, watermark, clock.dtype)
        keys = [key.take(pa.array(codes)) for key in self.reader.directory.keys()]  # noqa: SIM118 - not a dictionary
        return [progress_table(self.plan.request, keys, until[codes], starts[codes])]

    def _open_since(self, of: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
        """Return the start of the first of these open records per group, and of its held rows; else the greatest."""
        clock, held, records = self.plan.request.clock, self.framer.held, self.framer.records
        starts = np.full(len(self.reader.directory), clock.greatest, clock.dtype)
        np.minimum.at(starts, records.group[of], records.start[of])
        np.minimum.at(starts, held.group, held.on)
        return starts

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
        for last in state.last_values:
            needed |= last[:, 0] == IS_CARRIED
        busy, latest = latest_rows(codes.size, state.records, state.held, self.plan.request.clock)
        needed[busy] = True
        due = np.full(codes.size, NO_EVENT)
        if self._gap is not None:
            # A gap that would end after the last representable instant never ends.
            due[busy] = np.minimum(latest, NO_EVENT - self._gap) + self._gap
        if self.plan.idle is not None:
            due = self._silent_from(codes)
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
