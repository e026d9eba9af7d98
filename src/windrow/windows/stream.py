"""Stream windows: rows in as they arrive, windows out as the watermark passes their ends, state in between.

A `StreamSlider` handles a *bucket*, a share of the stream's groups. If the order of rows makes no difference, they are
added to their panes on arrival and nothing is buffered. Otherwise they are buffered until the watermark passes them.
The groups' state is stored as in `framing/stream.py`: a step reads and writes only the groups it affects.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from windrow.aggregates.over_time.carrying import NOTHING
from windrow.rows import wire
from windrow.rows.arrivals import Arrivals
from windrow.rows.bucket_plan import BucketPlan
from windrow.rows.buffers.waiting import Shelf
from windrow.rows.group_store import DUE, NO_EVENT, Codes, Entries, follow
from windrow.rows.memory import Memory
from windrow.rows.ordering import read_in_order
from windrow.rows.query import Reader
from windrow.state.checks import check_that, reading
from windrow.windows.gather import Gatherer
from windrow.windows.query import WindowQuery
from windrow.windows.ranges import Indices, PaneKeys
from windrow.windows.slider import NO_END, Slider

VERSION = 3
KIND = "slide"
"""The kind of state that a saved bucket has in its header."""


@dataclass(frozen=True)
class SlidePlan(BucketPlan[WindowQuery]):
    """A window query on a stream, and how its rows are read."""

    kind: ClassVar[str] = KIND
    version: ClassVar[int] = VERSION
    state: ClassVar[tuple[str, str]] = ("panes", "waiting")

    def load(self, shelf: Shelf, data: bytes | None) -> StreamSlider:
        """Return the saved bucket, or a new one."""
        return StreamSlider.load(self, shelf, data)

    @property
    def in_order(self) -> frozenset[str]:
        """The columns in whose order the windows of a group are reported.

        Windows are reported as they end, those of several lengths in no order of their starts. What `emit=` reports
        early comes again, and in any order.
        """
        windows = self.request.options.windows.values()
        if any(getattr(window, "emit", None) is not None for window in windows):
            return frozenset()
        return frozenset({"start", "end"} if len(windows) == 1 else {"end"})

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Everything that a saved state depends on; a state is only valid for an equal fingerprint."""
        options = self.request.options
        return {
            "windows": {name: repr(window) for name, window in options.windows.items()},
            **super().fingerprint,
            "empty": options.empty,
            "using": {name: repr(keep) for name, keep in options.using.items()},
            "only_changed": options.only_changed,
        }


class StreamSlider:
    """The windows of one bucket of a stream's groups."""

    def __init__(self, plan: SlidePlan, shelf: Shelf) -> None:
        self.plan, self.query = plan, plan.request
        self.reader = Reader(self.query, plan.layout)
        self.arrivals = Arrivals(self.reader, shelf, plan.ordered, not self.query.commutes, plan.delay)
        self.slider = Slider(self.query, self.reader.directory)
        self.gatherer = Gatherer(self.query, self.slider.synopsis_windows, self.slider.directory)
        self.memory = Memory(self.arrivals, plan.keep_groups, self._adopt, self._idle)

    def step(self, arrived: Iterable[pa.Table], watermark: int | None) -> tuple[list[pa.Table], list[pa.Table]]:
        """Take in new rows and advance to the watermark; return rows of the result and the late rows."""
        arrived = list(arrived)
        if self.plan.per_group:
            self.memory.recall(arrived)
        due, late = self.arrivals.take(arrived, watermark)
        if not self.plan.per_group:
            self.memory.recall(due, watermark)
        self._gather(due)
        if watermark is None and not self.plan.per_group:
            return [], late
        return [*self.slider.report(self._past())], late

    def finish(self) -> list[pa.Table]:
        """End the stream: all windows are due."""
        self.memory.empty()
        self._gather(self.arrivals.take_all())
        past = self._past(settled=True)
        if self.query.unit == "time":
            # A pane is complete if a later row of its group has arrived, even if the watermark has not passed it.
            past = np.maximum(past, self.slider.latest())
        return [*self.slider.report(past, final=True)]

    def next_event(self) -> int | None:
        """Return the watermark at which work is due even if no row arrives, or None."""
        if self.plan.per_group:
            return None
        events = [self.arrivals.waiting.first, self.memory.store.due]
        if self._timed and (end := self.slider.next_end()) is not None:
            events.append(end * self.query.pane - 1)
        return min((event for event in events if event is not None), default=None)

    @property
    def _timed(self) -> bool:
        """Whether the watermark alone decides when windows are due."""
        return self.query.unit == "time" and not self.plan.per_group

    def _gather(self, due: list[pa.Table]) -> None:
        if due:
            table = pa.concat_tables(due).combine_chunks()
            rows = self.reader.read(table) if self.query.commutes else read_in_order(self.reader, table)
            self.arrivals.met(rows)
            self.slider.add(*self.gatherer.gather(rows))

    def _past(self, *, settled: bool = False) -> Indices:
        """Return how many panes of each group are complete."""
        if self.plan.per_group or self.query.unit != "time":
            return self.gatherer.past(self.slider.latest(), settled=settled or not self.plan.ordered)
        watermark = self.arrivals.watermark
        # Before the first watermark, no pane is known to be complete.
        whole = np.iinfo(np.int64).min + 1 if watermark is None else (watermark + 1) // self.query.pane
        return np.full(len(self.reader.directory), whole)

    # The state as bytes.

    @property
    def _forgets(self) -> bool:
        """Whether a group without panes needs no state; without `by`, the one group is always kept."""
        options = self.query.options
        stores = options.empty or options.only_changed or options.using or not self.query.by or self.plan.per_group
        stores = stores or self.query.carries
        return self.query.unit == "time" and not stores

    def save(self) -> bytes:
        """Write changed groups to the shelf and return the rest of the state, an index of the shelf."""
        self.slider.grow()
        self.gatherer.grow(len(self.reader.directory))
        self.memory.write(self._entries)
        return self.plan.save(self.arrivals, [self.arrivals.waiting.index(), self.memory.store.index()])

    @property
    def held(self) -> dict[str, int]:
        """The number of groups, and the bytes of their state and of the buffered rows, without the index."""
        store = self.memory.store
        return {"groups": store.live, "state_bytes": store.size + self.arrivals.waiting.size}

    def _entries(self, codes: Codes) -> tuple[dict[str, Any], list[pa.Table], Any, Codes]:
        """Return groups as store entries."""
        slider = self.slider
        columns: dict[str, Any] = {f"after{k}": after[codes] for k, after in enumerate(slider.after)}
        if self.query.unit != "time":
            columns |= {"counted": self.gatherer.counted[codes], "latest": self.gatherer.latest[codes]}
        for j, last in self.gatherer.last_values.items():
            columns |= {f"last{j}.{i}": last.numbers[codes, i] for i in range(NOTHING.size)}
        place = np.full(len(self.reader.directory), -1, np.int64)
        place[codes] = np.arange(codes.size)
        held: dict[str, Any] = {"group": slider.panes.group, "pane": slider.panes.number}
        for j, states in enumerate(slider.states):
            held |= states.columns(wire.state(j))
        parts = [pa.table(held), *(change.table() for change in slider.changes)]
        parts += [table for windows in slider.synopsis_windows.values() for table in windows.tables()]
        needed = np.full(codes.size, not self._forgets)
        at = place[slider.panes.group]
        needed[at[at >= 0]] = True
        due = np.full(codes.size, NO_EVENT)
        if self._timed:
            ends = slider.next_ends()[codes]
            waits = ends < NO_END
            # An end after the last representable instant is never reached.
            due[waits] = np.minimum(ends[waits], NO_EVENT // self.query.pane) * self.query.pane - 1
        return columns, [follow(part, place) for part in parts], needed, due

    def _idle(self, entries: Entries) -> Any:
        """Return which groups have no pending window; counted windows are never pending without new rows."""
        if self.query.unit != "time":
            return np.ones(len(entries.groups), np.bool_)
        if self._timed:
            return entries.groups[DUE].to_numpy() == NO_EVENT
        idle = np.ones(len(entries.groups), np.bool_)
        idle[entries.parts[0]["group"].to_numpy()] = False
        return idle

    def _adopt(self, entries: Entries, codes: Codes) -> None:
        slider, groups = self.slider, entries.groups
        with reading():
            parts = [part.set_column(0, "group", pa.array(codes[part["group"].to_numpy()])) for part in entries.parts]
            slider.grow()
            for k in range(len(slider.shapes)):
                slider.after[k][codes] = _integers(groups, f"after{k}")
            held, *left = parts
            panes = PaneKeys(_integers(held, "group"), _integers(held, "pane"))
            check_that(_rises(_integers(entries.parts[0], "group"), panes.number), "panes in their order")
            slider.add(
                panes,
                [accumulator.empty(0).read(wire.state(j), held) for j, accumulator in enumerate(slider.accumulators)],
            )
            for change in slider.changes:
                change.adopt(left.pop(0))
            for windows in slider.synopsis_windows.values():
                windows.adopt([left.pop(0), left.pop(0)])
            self.gatherer.grow(len(self.reader.directory))
            for j, last in self.gatherer.last_values.items():
                last.numbers[codes] = np.column_stack([groups[f"last{j}.{i}"] for i in range(NOTHING.size)])
            if self.query.unit != "time":
                self.gatherer.counted[codes] = _integers(groups, "counted")
                self.gatherer.latest[codes] = groups["latest"].to_numpy()
                check_that((self.gatherer.counted >= 0).all(), "no fewer than 0 rows in a group")

    @classmethod
    def load(cls, plan: SlidePlan, shelf: Shelf, data: bytes | None) -> StreamSlider:
        """Return the saved bucket, or a new one."""
        bucket = cls(plan, shelf)
        if data is None:
            return bucket
        about, (waiting, index) = plan.read(data)
        with reading():
            bucket.arrivals.restore(about, waiting)
            bucket.memory.store.restore(index)
        return bucket


def _integers(table: pa.Table, name: str) -> Indices:
    column = table.column(name)
    check_that(not column.null_count, f"no nulls in column {name!r}")
    return np.array(column.to_numpy(), np.int64)


def _rises(group: Indices, number: Indices) -> bool:
    """Return whether panes are ordered by group and number, without duplicates."""
    later = (group[1:] == group[:-1]) & (number[1:] > number[:-1])
    return bool(((group[1:] > group[:-1]) | later).all())
