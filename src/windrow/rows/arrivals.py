"""The arriving rows of a stream in one bucket of groups: late rows, rows that wait, and due rows.

Rows wait for the watermark, or for newer rows of their own group (`buffers/own_order.py`). In an ordered stream, none
do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.rows.buffers.own_order import OwnOrder
from windrow.rows.buffers.waiting import Shelf, TimedShelf
from windrow.rows.query import Reader, RowBatch

WHOLE = "whole"
"""The column that holds the whole row if late rows are returned; it is never buffered."""
LAST, NEWEST, HEARD = "last", "newest", "heard"
"""The columns of a stored group: the `on` of its last due row and of its newest row, and when it last sent a row."""
UNKNOWN = -1
"""The time at which a group was heard from, if no state has it."""


@dataclass
class Counts:
    """Row counts of one batch."""

    arrived: int = 0
    late: int = 0
    framed: int = 0


@dataclass
class Arrivals:
    """A filter for late rows and a buffer for rows that the watermark has not passed."""

    reader: Reader
    shelf: Shelf
    ordered: bool = False
    """Whether the rows of each group arrive in order. All rows except out-of-order ones are then due immediately."""
    waits: bool = True
    """Whether rows are due when the watermark passes them, instead of on arrival."""
    delay: int | float | None = None
    """How much newer a row of the same group must be for a row to be due; None if the watermark decides."""
    listens: bool = False
    """Whether to note when each group was heard from."""
    watermark: int | None = None
    """Rows up to this instant were already due; any that still arrive are late. None before the first watermark."""
    counts: Counts = field(default_factory=Counts)

    def __post_init__(self) -> None:
        self.last: npt.NDArray[Any] = np.empty(0, self.reader.request.clock.dtype)
        """The `on` of the last due row per group."""
        self.newest: Any = None
        """The greatest `on` of a due row if groups have their own order; None before the first row."""
        query = self.reader.request
        self.waiting = TimedShelf(self.shelf, query.clock, self.reader.layout.on, tuning=query.tuning)
        self.own_order = None if self.delay is None else OwnOrder(self.reader, self.waiting, self.delay)
        self.heard: npt.NDArray[np.int64] = np.empty(0, np.int64)
        """When each group last sent a row, by the wall clock in milliseconds; only if silent groups are closed."""

    @property
    def per_group(self) -> bool:
        """Whether each group progresses by its own rows, rather than all groups by the watermark."""
        return self.ordered or self.delay is not None

    def take(self, arrived: Iterable[pa.Table], watermark: int | None) -> tuple[list[pa.Table], list[pa.Table]]:
        """Take in new rows, advance to the watermark, and return the due rows and the late rows."""
        fresh, late = [], []
        for table in arrived:
            on_time, too_late = self._late(table)
            self.counts.arrived += table.num_rows
            self.counts.late += too_late.num_rows
            fresh.append(on_time.drop_columns(WHOLE) if WHOLE in on_time.column_names else on_time)
            late.append(too_late)
        if self.own_order is not None:
            return self.counted(self.own_order.take(fresh)), late
        due = self.waiting.passed(fresh, watermark) if self.waits and not self.ordered else fresh
        if watermark is not None and not self.ordered:
            self.watermark = watermark
        return self.counted(due), late

    def take_all(self) -> list[pa.Table]:
        """Return all buffered rows at the end of the stream."""
        return self.counted([*self.waiting.take()])

    def counted(self, due: Iterable[pa.Table]) -> list[pa.Table]:
        """Return the tables that have rows, and count these as framed."""
        due = [table for table in due if table.num_rows]
        self.counts.framed += sum(table.num_rows for table in due)
        return due

    @property
    def time(self) -> Any:
        """The progress of the bucket: the watermark, or the latest due row if groups have their own order.

        None at the start.
        """
        return self.newest if self.per_group else self.watermark

    def met(self, rows: RowBatch) -> None:
        """Record the last row of each group."""
        self.grow()
        np.maximum.at(self.last, rows.group, rows.on)
        if self.per_group and rows.on.size:
            latest = rows.on.max().item()
            self.newest = latest if self.newest is None else max(self.newest, latest)

    def grow(self) -> None:
        """Make room for new groups."""
        more = len(self.reader.directory) - self.last.size
        lowest = self.reader.request.clock.lowest
        self.last = np.concatenate([self.last, np.full(more, lowest, self.last.dtype)])
        self.heard = np.concatenate([self.heard, np.full(more, UNKNOWN, np.int64)])
        if self.own_order is not None:
            self.own_order.grow()

    # The state of each group.

    def columns(self, codes: npt.NDArray[np.int64]) -> dict[str, Any]:
        """Return how far these groups have got, for the store."""
        self.grow()
        columns = {LAST: self.last[codes]}
        columns |= {} if self.own_order is None else {NEWEST: self.own_order.newest[codes]}
        return columns | {HEARD: self.heard[codes]} if self.listens else columns

    def adopt(self, groups: pa.Table, codes: npt.NDArray[np.int64]) -> None:
        """Take over stored groups, which have the given codes."""
        self.grow()
        self.last[codes] = groups[LAST].to_numpy()
        if self.own_order is not None:
            self.own_order.newest[codes] = groups[NEWEST].to_numpy()
        if self.listens and HEARD in groups.column_names:
            self.heard[codes] = groups[HEARD].fill_null(UNKNOWN).to_numpy()

    def hear(self, tables: Iterable[pa.Table], now: int) -> None:
        """Note that the groups of these rows have just sent them, late or not."""
        for table in tables:
            if table.num_rows:
                codes = self.reader.directory.encode([table[name] for name in self.reader.layout.by], len(table))
                self.grow()
                self.heard[codes] = now
        self.grow()
        # These have been in the state since before it noted such times.
        self.heard[self.heard == UNKNOWN] = now

    def has_waiting(self, groups: pa.Table) -> npt.NDArray[np.bool_]:
        """Return which stored groups are known to have buffered rows: those whose newest row has not been due."""
        if self.own_order is None:
            return np.zeros(len(groups), np.bool_)
        waits: npt.NDArray[np.bool_] = groups[NEWEST].to_numpy() > groups[LAST].to_numpy()
        return waits

    # The state, except for the shelf and the state of each group: a summary, and an index of the buffered rows.

    def about(self) -> dict[str, Any]:
        """Return the progress of the bucket."""
        return {"watermark": self.watermark, "newest": self.newest, "next": self.waiting.next}

    def restore(self, about: Mapping[str, Any], index: pa.Table) -> None:
        """Resume from a saved state."""
        self.watermark, self.newest = about["watermark"], about.get("newest")
        self.waiting.restore(index, about["next"])

    def _late(self, table: pa.Table) -> tuple[pa.Table, pa.Table]:
        on = self.waiting.instants(table)
        if self.per_group:
            by = self.reader.layout.by
            group = self.reader.directory.encode([table.column(name) for name in by], table.num_rows)
            self.grow()
            last = self.last[group]
            late = on < last
            if self.own_order is not None:
                # Rows with equal `on` have an order too, so what has been framed cannot be joined by another.
                late |= (on == last) & (last > self.reader.request.clock.lowest)
        elif self.watermark is None:
            return table, table.slice(0, 0)
        else:
            late = on <= self.watermark
        if not late.any():
            return table, table.slice(0, 0)
        return table.filter(pa.array(~late)), table.filter(pa.array(late))
