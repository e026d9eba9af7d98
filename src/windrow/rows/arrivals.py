"""Tuples of a stream as they arrive in a bucket of groups: some are late, some wait for the watermark, some are due."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.rows.query import Reader, RowBatch
from windrow.rows.waiting import Shelf, TimedShelf

WHOLE = "whole"
"""The column with all of a tuple, where late tuples are wanted back; it never waits on the shelf."""


@dataclass
class Counts:
    """What happened to the tuples of one progress."""

    arrived: int = 0
    late: int = 0
    framed: int = 0


@dataclass
class Arrivals:
    """What tells late tuples, and where those wait that the watermark has not passed."""

    reader: Reader
    shelf: Shelf
    ordered: bool = False
    """Whether each group's tuples arrive in order, so that all but those that do not are due at once."""
    waits: bool = True
    """Whether tuples are due when the watermark passes them, and not as soon as they are there."""
    watermark: int | None = None
    """Everything up to here has been due, and what still comes from there is late; None before the first."""
    counts: Counts = field(default_factory=Counts)

    def __post_init__(self) -> None:
        self.last: npt.NDArray[Any] = np.empty(0, self.reader.request.clock.dtype)
        """The `on` of each group's last row that was due."""
        self.newest: Any = None
        """The greatest of them in an ordered stream; None before the first."""
        self.waiting = TimedShelf(self.shelf, self.reader.request.clock, self.reader.layout.on)

    def take(self, arrived: Iterable[pa.Table], watermark: int | None) -> tuple[list[pa.Table], list[pa.Table]]:
        """Take in what arrived and go on to the watermark: the tuples that are due, and those that are late."""
        fresh, late = [], []
        for table in arrived:
            on_time, too_late = self._late(table)
            self.counts.arrived += table.num_rows
            self.counts.late += too_late.num_rows
            fresh.append(on_time.drop_columns(WHOLE) if WHOLE in on_time.column_names else on_time)
            late.append(too_late)
        due = self.waiting.passed(fresh, watermark) if self.waits and not self.ordered else fresh
        if watermark is not None and not self.ordered:
            self.watermark = watermark
        return self._counted(due), late

    def take_all(self) -> list[pa.Table]:
        """The stream is over: all that waits is due."""
        return self._counted([*self.waiting.take()])

    def _counted(self, due: Iterable[pa.Table]) -> list[pa.Table]:
        due = [table for table in due if table.num_rows]
        self.counts.framed += sum(table.num_rows for table in due)
        return due

    @property
    def time(self) -> Any:
        """How far the bucket is: at the watermark, or at the latest row if the stream is ordered; None before it."""
        return self.newest if self.ordered else self.watermark

    def met(self, tuples: RowBatch) -> None:
        """Remember the last row of each group."""
        self.grow()
        np.maximum.at(self.last, tuples.group, tuples.on)
        if self.ordered and tuples.on.size:
            latest = tuples.on.max().item()
            self.newest = latest if self.newest is None else max(self.newest, latest)

    def grow(self) -> None:
        """Make room for groups that were not met before."""
        more = len(self.reader.directory) - self.last.size
        lowest = self.reader.request.clock.lowest
        self.last = np.concatenate([self.last, np.full(more, lowest, self.last.dtype)])

    # The state, but for the shelf and for what is known of each group: words about it, and an index of what waits.

    def about(self) -> dict[str, Any]:
        """How far the bucket is."""
        return {"watermark": self.watermark, "newest": self.newest, "next": self.waiting.next}

    def restore(self, about: Mapping[str, Any], index: pa.Table) -> None:
        """Continue from what was saved."""
        self.watermark, self.newest = about["watermark"], about.get("newest")
        self.waiting.restore(index, about["next"])

    def _late(self, table: pa.Table) -> tuple[pa.Table, pa.Table]:
        on = self.waiting.instants(table)
        if self.ordered:
            by = self.reader.layout.by
            group = self.reader.directory.encode([table.column(name) for name in by], table.num_rows)
            self.grow()
            late = on < self.last[group]
        elif self.watermark is None:
            return table, table.slice(0, 0)
        else:
            late = on <= self.watermark
        if not late.any():
            return table, table.slice(0, 0)
        return table.filter(pa.array(~late)), table.filter(pa.array(late))
