"""Cut Parquet into chunks along the progressing attribute, and read a chunk in order.

A chunk covers a range of `on`, open below and closed above, and names the row groups that overlap it. A tie in `on` is
therefore never cut. Row groups that overlap slightly, as in logs, cost only a second read of the overlap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.rows.clock import Clock
from windrow.spark.sources.parquet import RowGroup, naming, open_file, read_row_group
from windrow.tuning import Tuning, current_tuning

MOST_ROWS_PER_GROUP = 16_000_000
"""A larger row group would not fit comfortably into a task's memory."""
MOST_READ_TWICE = 0.25
"""The fraction of all rows that may be in row groups which two chunks must read."""
MOST_WAITING = 4
"""How many row groups' worth of rows may be held back at a time because later row groups start before they end."""


@dataclass(frozen=True)
class Chunk:
    """The rows with `after < on <= upto` (None: no bound), and the row groups that contain some, by least `on`."""

    number: int
    after: Any
    upto: Any
    row_groups: tuple[RowGroup, ...]


class OutOfOrder(str):
    """A reason against a scan that depends on the data. `plan="scan"` then falls back instead of failing."""

    __slots__ = ()


def why_not_chunks(row_groups: Sequence[RowGroup], chunks: Sequence[Chunk]) -> str | None:
    """Return why these row groups should not be read in chunks, or None if they can be."""
    rows = sum(group.rows for group in row_groups)
    if max(group.rows for group in row_groups) > MOST_ROWS_PER_GROUP:
        return f"a row group has more than {MOST_ROWS_PER_GROUP:,} rows"
    read = sum(group.rows for chunk in chunks for group in chunk.row_groups if group.low < _or(chunk.upto, np.inf))
    if read - rows > MOST_READ_TWICE * rows:
        return OutOfOrder("the files are not in the order of `on`: too many row groups overlap")
    largest = max(group.rows for group in row_groups)
    if _most_waiting(row_groups) > min(MOST_ROWS_PER_GROUP, MOST_WAITING * largest):
        return OutOfOrder("the files are not in the order of `on`: too many row groups overlap at one place")
    return None


def _or(value: Any, other: Any) -> Any:
    return other if value is None else value


def _most_waiting(row_groups: Sequence[RowGroup]) -> int:
    """Return the most rows of a chunk that may have to wait for a later row group which starts before they end."""
    ordered = sorted(row_groups, key=lambda group: group.low)
    most = 0
    waiting: list[RowGroup] = []
    for group in ordered:
        waiting = [other for other in waiting if other.high > group.low] + [group]
        most = max(most, sum(other.rows for other in waiting))
    return most


def cut_chunks(row_groups: Sequence[RowGroup], count: int) -> list[Chunk]:
    """Cut row groups into about `wanted` chunks of similar size, at the ends of row groups."""
    ordered = sorted(row_groups, key=lambda group: (group.low, group.path, group.index))
    share = sum(group.rows for group in ordered) / max(count, 1)
    cuts: list[Any] = []
    rows, high = 0, ordered[0].high
    for group, following in pairwise(ordered):
        rows += group.rows
        high = max(high, group.high)
        if rows >= share * (len(cuts) + 1) - group.rows / 2 and following.high > high and len(cuts) < count - 1:
            cuts.append(high)
    bounds = list(zip([None, *cuts], [*cuts, None], strict=True))
    return [Chunk(i, after, upto, _within(ordered, after, upto)) for i, (after, upto) in enumerate(bounds)]


def _within(ordered: Sequence[RowGroup], after: Any, upto: Any) -> tuple[RowGroup, ...]:
    return tuple(g for g in ordered if (after is None or g.high > after) and (upto is None or g.low <= upto))


@dataclass(frozen=True)
class ChunkReader:
    """A reader of chunks. Its tables follow each other in `on`; within a table, rows may be in any order."""

    path: str
    columns: tuple[str, ...]
    on: str
    clock: Clock
    tuning: Tuning = field(default_factory=current_tuning)
    encoded: tuple[str, ...] = ()
    """The columns of text and binary values that are read as codes with a dictionary."""

    def tables(self, chunk: Chunk, *, little: bool = False) -> Iterator[pa.Table]:
        """Yield the tables of a chunk, in order; with `little`, in small pieces if the rows of a row group are sorted.

        Rows that may have to be merged with a later row group are held back until it has been read.
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
        """Merge the rows held back with the new rows that are not after all of them. The other new rows come second."""
        if not held:
            return [table]
        last = max(self._on(part).max() for part in held)
        among, after = split(table, self._on(table) <= last)
        return [pa.concat_tables([*held, among]).combine_chunks(), after]

    def _parts(self, chunk: Chunk, little: bool) -> Iterator[tuple[pa.Table, Any]]:
        """Yield the part to read of each row group, with the smallest `on` that any later part can have."""
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
        return read_row_group(group, self.path, self.columns, self.encoded)

    def _pieces(self, group: RowGroup, chunk: Chunk, until: Any) -> Iterator[tuple[pa.Table, Any]]:
        """Yield a sorted row group piece by piece, up to the end of the chunk; yield any other as a whole."""
        on = self._on(read_row_group(group, self.path, [self.on]))
        if on.size and (on[1:] < on[:-1]).any():
            yield self._whole(group), until
            return
        end = on.size if chunk.upto is None else int(np.searchsorted(on, chunk.upto, "right"))
        at = 0
        with open_file(group.path, self.path, self.encoded) as file:
            read = file.iter_batches(
                self.tuning.rows_per_replay, row_groups=[group.index], columns=list(self.columns), use_threads=False
            )
            while at < end:
                with naming(group.path):
                    batch = next(read)
                at += batch.num_rows
                lows = [low for low in (until, on[at] if at < on.size else None) if low is not None]
                yield pa.Table.from_batches([batch]), min(lows, default=None)


def split(table: pa.Table, low: npt.NDArray[np.bool_]) -> tuple[pa.Table, pa.Table]:
    """Split a table into marked and unmarked rows. If the marked rows come first, both are slices, without a copy."""
    n = int(np.count_nonzero(low))
    if low[:n].all():
        return table.slice(0, n), table.slice(n)
    return table.filter(pa.array(low)), table.filter(pa.array(~low))
