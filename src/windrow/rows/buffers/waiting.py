"""The buffer for the rows of a stream: numbered pieces, each narrow in time, so that little is read or written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.rows.clock import Clock
from windrow.state.arrow import save_tables, saved_tables
from windrow.state.checks import check_that, reading
from windrow.tuning import Tuning, current_tuning

ROWS = "rows"
"""The kind of a saved piece."""


class Shelf(Protocol):
    """A store of numbered pieces of bytes, such as Spark's state store."""

    def put(self, number: int, data: bytes) -> None:
        """Store a piece."""

    def read(self, number: int) -> bytes:
        """Return a piece."""

    def drop(self, number: int) -> None:
        """Remove a piece."""


class MemoryShelf(dict[int, bytes]):
    """A shelf in memory."""

    def put(self, number: int, data: bytes) -> None:
        """Store a piece."""
        assert number not in self, "numbers are never used twice"
        self[number] = data

    def read(self, number: int) -> bytes:
        """Return a piece."""
        return self[number]

    def drop(self, number: int) -> None:
        """Remove a piece."""
        del self[number]


class Waiting(NamedTuple):
    """A piece on the shelf: its number, least and greatest `on`, number of rows, and size in bytes, if known."""

    number: int
    low: Any
    high: Any
    rows: int
    size: int = 0


@dataclass
class TimedShelf:
    """Buffered rows in pieces that follow each other in time as far as their arrival allows.

    Several can share one shelf.
    """

    shelf: Shelf
    clock: Clock
    on: str
    next: int = 0
    stride: int = 1
    pieces: list[Waiting] = field(default_factory=list)
    tuning: Tuning = field(default_factory=current_tuning)

    @property
    def rows(self) -> int:
        """The number of buffered rows."""
        return sum(piece.rows for piece in self.pieces)

    @property
    def size(self) -> int:
        """Their size in bytes."""
        return sum(piece.size for piece in self.pieces)

    @property
    def first(self) -> Any:
        """The least `on` of all rows; None without rows."""
        return min((piece.low for piece in self.pieces), default=None)

    def instants(self, table: pa.Table) -> npt.NDArray[Any]:
        """Return the `on` of each row."""
        return self.clock.read(table.column(self.on)).numbers

    def keep(self, tables: Iterable[pa.Table], most: int | None = None) -> None:
        """Put rows on the shelf, in pieces that follow each other in time, `most` of them at the most."""
        tables = [table for table in tables if table.num_rows]
        if not tables:
            return
        table = pa.concat_tables(tables)
        on = self.instants(table)
        order = np.argsort(on, kind="stable")
        pieces = min(most or self.tuning.pieces_per_batch, -(-on.size // self.tuning.rows_per_piece))
        for rows in np.array_split(order, pieces):
            data = save_tables(ROWS, [table.take(pa.array(rows)).combine_chunks()])
            piece = Waiting(self.next, on[rows[0]].item(), on[rows[-1]].item(), rows.size, len(data))
            self.shelf.put(piece.number, data)
            self.pieces.append(piece)
            self.next += self.stride

    def read(self, piece: Waiting) -> pa.Table:
        """Return the rows of a piece without removing it."""
        table = piece_of(self.shelf.read(piece.number))
        with reading():
            on = self.instants(table)
            actual = (on.size, on.min().item(), on.max().item())
        expected = (piece.rows, piece.low, piece.high)
        check_that(actual == expected, f"piece {piece.number} of the waiting rows to have {expected}, got {actual}")
        return table

    def drop(self, pieces: Sequence[Waiting]) -> None:
        """Remove pieces."""
        gone = {piece.number for piece in pieces}
        self.pieces = [piece for piece in self.pieces if piece.number not in gone]
        for number in gone:
            self.shelf.drop(number)

    def take(self, until: int | None = None) -> Iterator[pa.Table]:
        """Remove and yield the rows up to `until`, or all; pieces that extend past it are split."""
        due = [piece for piece in self.pieces if until is None or piece.low <= until]
        rest = []
        for piece in due:
            table = self.read(piece)
            if until is not None and piece.high > until:
                now = self.instants(table) <= until
                rest.append(table.filter(pa.array(~now)))
                table = table.filter(pa.array(now))
            yield table
        self.drop(due)
        self.keep(rest)

    def passed(self, fresh: Iterable[pa.Table], until: int | None) -> list[pa.Table]:
        """Return the buffered and new rows up to `until`, or none if it is None; keep the rest buffered."""
        if until is None:
            self.keep(fresh)
            return []
        due = [*self.take(until)]
        for table in fresh:
            now = self.instants(table) <= until
            due.append(table.filter(pa.array(now)))
            self.keep([table.filter(pa.array(~now))])
        return due

    def index(self) -> pa.Table:
        """Return the index of the pieces as Arrow."""
        columns = {name: [getattr(piece, name) for piece in self.pieces] for name in Waiting._fields}
        instant = pa.from_numpy_dtype(self.clock.dtype)
        kinds = {"number": pa.int64(), "low": instant, "high": instant, "rows": pa.int64(), "size": pa.int64()}
        return pa.table({name: pa.array(values, kinds[name]) for name, values in columns.items()})

    def restore(self, index: pa.Table, following: int) -> None:
        """Restore the index of the pieces; `following` is the number of the next piece."""
        self.pieces, self.next = [Waiting(**row) for row in index.to_pylist()], following
        numbers = [piece.number for piece in self.pieces]
        check_that(max(numbers, default=-1) < following, f"waiting pieces below {following}, got {numbers}")


def piece_of(data: bytes) -> pa.Table:
    """Return the rows of a piece."""
    with reading():
        (table,) = saved_tables(data, ROWS)
    return table
