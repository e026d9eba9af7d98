"""Cutting Parquet into chunks along the progressing attribute, and reading a chunk in order.

A chunk covers a range of `on`, open below and closed above, and names the row groups that reach into it. So a tie in
`on` is never cut, and row groups that overlap a little, as logs do, cost a second read of the overlap and nothing
else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.rows.clock import Clock
from windrow.spark.sources.parquet import RowGroup, naming, open_file, read_row_group

MOST_ROWS_A_GROUP = 16_000_000
"""A larger row group would not fit into a task's memory at ease."""
MOST_READ_TWICE = 0.25
"""The part of all rows that may lie in row groups which two chunks must read."""
MOST_WAITING = 4
"""How many row groups' worth of rows may have to be held at a time because later ones begin before they end."""
ROWS_A_REPLAY = 65_536
"""How many rows at a time are read where a short look may be enough."""


@dataclass(frozen=True)
class Chunk:
    """The tuples with `after < on <= upto` (None: no bound), and the row groups that have some, by least `on`."""

    number: int
    after: Any
    upto: Any
    row_groups: tuple[RowGroup, ...]


class OutOfOrder(str):
    """A reason against a scan that only the data can give, so that a scan which was asked for falls back."""

    __slots__ = ()


def why_not_chunks(row_groups: Sequence[RowGroup], chunks: Sequence[Chunk]) -> str | None:
    """Why these row groups should not be read in chunks; None if they can be."""
    rows = sum(group.rows for group in row_groups)
    if max(group.rows for group in row_groups) > MOST_ROWS_A_GROUP:
        return f"a row group has more than {MOST_ROWS_A_GROUP:,} rows"
    read = sum(group.rows for chunk in chunks for group in chunk.row_groups if group.low < _or(chunk.upto, np.inf))
    if read - rows > MOST_READ_TWICE * rows:
        return OutOfOrder("the files are not in the order of `on`: too many row groups overlap")
    largest = max(group.rows for group in row_groups)
    if _most_waiting(row_groups) > min(MOST_ROWS_A_GROUP, MOST_WAITING * largest):
        return OutOfOrder("the files are not in the order of `on`: too many row groups overlap at one place")
    return None


def _or(value: Any, other: Any) -> Any:
    return other if value is None else value


def _most_waiting(row_groups: Sequence[RowGroup]) -> int:
    """The most rows that can have to wait, in a chunk, for a later row group that begins before they end."""
    ordered = sorted(row_groups, key=lambda group: group.low)
    most = 0
    waiting: list[RowGroup] = []
    for group in ordered:
        waiting = [other for other in waiting if other.high > group.low] + [group]
        most = max(most, sum(other.rows for other in waiting))
    return most


def cut_chunks(row_groups: Sequence[RowGroup], wanted: int) -> list[Chunk]:
    """About as many chunks as wanted, of about as many rows each, cut where row groups end."""
    ordered = sorted(row_groups, key=lambda group: (group.low, group.path, group.index))
    share = sum(group.rows for group in ordered) / max(wanted, 1)
    cuts: list[Any] = []
    rows, high = 0, ordered[0].high
    for group, following in pairwise(ordered):
        rows += group.rows
        high = max(high, group.high)
        if rows >= share * (len(cuts) + 1) - group.rows / 2 and following.high > high and len(cuts) < wanted - 1:
            cuts.append(high)
    bounds = list(zip([None, *cuts], [*cuts, None], strict=True))
    return [Chunk(i, after, upto, _within(ordered, after, upto)) for i, (after, upto) in enumerate(bounds)]


def _within(ordered: Sequence[RowGroup], after: Any, upto: Any) -> tuple[RowGroup, ...]:
    return tuple(g for g in ordered if (after is None or g.high > after) and (upto is None or g.low <= upto))


@dataclass(frozen=True)
class ChunkReader:
    """Reads chunks of one source: tables that follow each other in `on`; inside a table rows may be in any order."""

    path: str
    columns: tuple[str, ...]
    on: str
    clock: Clock

    def tables(self, chunk: Chunk, *, little: bool = False) -> Iterator[pa.Table]:
        """The tables of a chunk, in order; with `little`, in small pieces where the rows of a row group are sorted.

        Rows that a later row group may still have to be mixed with are held back until it has been read.
        """
        held: list[pa.Table] = []
        for table, until in self._parts(chunk, little):
            pieces, held = self._mixed(held, table), []
            for piece in pieces:
                ready, later = (piece, None) if until is None else split(piece, self._on(piece) < until)
                if later is not None and later.num_rows:
                    held.append(later)
                if ready.num_rows:
                    yield ready
        if held:
            yield pa.concat_tables(held)

    def _on(self, table: pa.Table) -> npt.NDArray[Any]:
        return self.clock.read(table.column(self.on)).numbers

    def _mixed(self, held: list[pa.Table], table: pa.Table) -> list[pa.Table]:
        """The rows held back, with the new ones that do not come after all of them; then the other new ones."""
        if not held:
            return [table]
        last = max(self._on(part).max() for part in held)
        among, after = split(table, self._on(table) <= last)
        return [pa.concat_tables([*held, among]).combine_chunks(), after]

    def _parts(self, chunk: Chunk, little: bool) -> Iterator[tuple[pa.Table, Any]]:
        """What is read of each row group, with the smallest `on` that any later part can have."""
        groups = chunk.row_groups
        for group, following in zip(groups, [*groups[1:], None], strict=True):
            until = None if following is None else following.low
            reaches_out = chunk.upto is not None and group.high > chunk.upto
            parts = self._pieces(group, chunk, until) if little or reaches_out else [(self._whole(group), until)]
            for table, until_part in parts:
                if chunk.after is not None and group.low <= chunk.after:
                    table = split(table, self._on(table) <= chunk.after)[1]
                if reaches_out:
                    table = split(table, self._on(table) <= chunk.upto)[0]
                yield table, until_part

    def _whole(self, group: RowGroup) -> pa.Table:
        return read_row_group(group, self.path, self.columns)

    def _pieces(self, group: RowGroup, chunk: Chunk, until: Any) -> Iterator[tuple[pa.Table, Any]]:
        """A sorted row group piece by piece, no further than the chunk; any other as a whole."""
        on = self._on(read_row_group(group, self.path, [self.on]))
        if on.size and (on[1:] < on[:-1]).any():
            yield self._whole(group), until
            return
        end = on.size if chunk.upto is None else int(np.searchsorted(on, chunk.upto, "right"))
        at = 0
        with open_file(group.path, self.path) as file:
            read = file.iter_batches(
                ROWS_A_REPLAY, row_groups=[group.index], columns=list(self.columns), use_threads=False
            )
            while at < end:
                with naming(group.path):
                    batch = next(read)
                at += batch.num_rows
                lows = [low for low in (until, on[at] if at < on.size else None) if low is not None]
                yield pa.Table.from_batches([batch]), min(lows, default=None)


def split(table: pa.Table, low: npt.NDArray[np.bool_]) -> tuple[pa.Table, pa.Table]:
    """The rows that are marked and those that are not; slices, without a copy, where the marked ones come first."""
    n = int(np.count_nonzero(low))
    if low[:n].all():
        return table.slice(0, n), table.slice(n)
    return table.filter(pa.array(low)), table.filter(pa.array(~low))
