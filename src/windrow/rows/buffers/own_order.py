"""Order per group: a row is due once its group has a row that is more than a delay newer.

No watermark is needed, so a group that is slow, or one with a row from the future, affects no other group. Buffered
rows are on the shelf of the bucket, in pieces that are narrow in time. A row becomes due only if its group has received
a newer one, so a step reads only the pieces in which a group with new rows can have a due row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.rows.buffers.waiting import TimedShelf, Waiting
from windrow.rows.groups import Codes, Directory
from windrow.rows.query import Reader

Flags = npt.NDArray[np.bool_]


class OwnOrder:
    """The buffer of a bucket whose groups are each put in order by their own newest row."""

    def __init__(self, reader: Reader, waiting: TimedShelf, delay: int | float) -> None:
        self.reader, self.waiting, self.delay = reader, waiting, delay
        self.clock = reader.request.clock
        self.newest: npt.NDArray[Any] = np.empty(0, self.clock.dtype)
        """The `on` of the newest row per group, due or not."""

    def grow(self) -> None:
        """Make room for new groups."""
        more = len(self.reader.directory) - self.newest.size
        self.newest = np.concatenate([self.newest, np.full(more, self.clock.lowest, self.newest.dtype)])

    def take(self, fresh: Sequence[pa.Table]) -> list[pa.Table]:
        """Take in new rows and return all rows that are due; the groups of the new rows must be loaded."""
        fresh = [table for table in fresh if table.num_rows]
        if not fresh:
            return []
        groups = [self._groups(self.reader.directory, table) for table in fresh]
        self.grow()
        for table, group in zip(fresh, groups, strict=True):
            np.maximum.at(self.newest, group, self.waiting.instants(table))
        active = np.unique(np.concatenate(groups))
        top = self.newest[active].max()
        pieces = [piece for piece in self.waiting.pieces if self._is_due(np.array([top]), np.array([piece.low]))[0]]
        due = self._pick(pieces, active, self._is_due)
        for table, group in zip(fresh, groups, strict=True):
            now = self._is_due(self.newest[group], self.waiting.instants(table))
            due.append(table.filter(pa.array(now)))
            self.waiting.keep([table.filter(pa.array(~now))])
        return due

    def take_groups(self, codes: Codes) -> list[pa.Table]:
        """Return all buffered rows of some groups, which are due now whatever follows."""
        return self._pick(self.waiting.pieces, codes, lambda _, on: np.ones(on.size, np.bool_))

    def _is_due(self, newest: npt.NDArray[Any], on: npt.NDArray[Any]) -> Flags:
        return self.clock.exceeds(newest, on, self.delay)

    def _groups(self, directory: Directory, table: pa.Table) -> Codes:
        return directory.encode([table.column(name) for name in self.reader.layout.by], table.num_rows)

    def _pick(
        self, pieces: Sequence[Waiting], codes: Codes, is_due: Callable[[npt.NDArray[Any], npt.NDArray[Any]], Flags]
    ) -> list[pa.Table]:
        """Remove the due rows of some groups from pieces of the shelf, and return them.

        Small pieces are combined, so that the rows of slow groups end up in few pieces.
        """
        # Rows of other groups are on the shelf too. They must not get a code here, since they are not loaded.
        chosen = Directory(self.reader.request.by_types)
        chosen.encode([key.take(pa.array(codes)) for key in self.reader.directory.keys()])  # noqa: SIM118
        newest = self.newest[codes]
        due, rest, changed = [], [], []
        small: list[tuple[Waiting, pa.Table]] = []
        for piece in list(pieces):
            table = self.waiting.read(piece)
            group = self._groups(chosen, table)
            mine = group < codes.size
            now = mine & is_due(newest[np.where(mine, group, 0)], self.waiting.instants(table))
            if now.any():
                changed.append(piece)
                due.append(table.filter(pa.array(now)))
                rest.append(table.filter(pa.array(~now)))
            elif 2 * piece.rows < self.waiting.tuning.rows_per_piece:
                small.append((piece, table))
        if len(small) > 1:
            changed += [piece for piece, _ in small]
            rest += [table for _, table in small]
        self.waiting.drop(changed)
        self.waiting.keep(rest)
        return due
