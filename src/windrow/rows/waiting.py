"""Where the tuples of a stream wait: in numbered pieces that are narrow in time, so that little is read or written."""

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

ROWS = "rows"
"""The kind of a saved piece."""
ROWS_A_PIECE = 4_096
"""Waiting tuples are cut into pieces of at least so many …"""
PIECES_A_BATCH = 8
"""… and at most so many pieces."""


class Shelf(Protocol):
    """What keeps pieces of bytes by number, such as Spark's state store."""

    def put(self, number: int, data: bytes) -> None:
        """Keep a piece."""

    def read(self, number: int) -> bytes:
        """Give a piece."""

    def drop(self, number: int) -> None:
        """Forget a piece."""


class Waiting(NamedTuple):
    """A piece on the shelf: its number, its least and greatest `on`, its tuples, and its bytes where they are known."""

    number: int
    low: Any
    high: Any
    rows: int
    size: int = 0


@dataclass
class TimedShelf:
    """Tuples in pieces that follow each other in time as far as their arrival allows; several may share one shelf."""

    shelf: Shelf
    clock: Clock
    on: str
    next: int = 0
    stride: int = 1
    pieces: list[Waiting] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """How many tuples wait."""
        return sum(piece.rows for piece in self.pieces)

    @property
    def size(self) -> int:
        """How many bytes they take."""
        return sum(piece.size for piece in self.pieces)

    @property
    def first(self) -> Any:
        """The least `on` of all tuples; None if there are none."""
        return min((piece.low for piece in self.pieces), default=None)

    def instants(self, table: pa.Table) -> npt.NDArray[Any]:
        """The `on` of tuples."""
        return self.clock.read(table.column(self.on)).numbers

    def keep(self, tables: Iterable[pa.Table], most: int = PIECES_A_BATCH) -> None:
        """Put tuples on the shelf, in pieces that follow each other in time."""
        tables = [table for table in tables if table.num_rows]
        if not tables:
            return
        table = pa.concat_tables(tables)
        on = self.instants(table)
        order = np.argsort(on, kind="stable")
        for rows in np.array_split(order, min(most, -(-on.size // ROWS_A_PIECE))):
            data = save_tables(ROWS, [table.take(pa.array(rows)).combine_chunks()])
            piece = Waiting(self.next, on[rows[0]].item(), on[rows[-1]].item(), rows.size, len(data))
            self.shelf.put(piece.number, data)
            self.pieces.append(piece)
            self.next += self.stride

    def read(self, piece: Waiting) -> pa.Table:
        """The tuples of a piece, which stays where it is."""
        table = piece_of(self.shelf.read(piece.number))
        with reading():
            on = self.instants(table)
            found = (on.size, on.min().item(), on.max().item())
        wanted = (piece.rows, piece.low, piece.high)
        check_that(found == wanted, f"piece {piece.number} of the waiting rows to have {wanted}, got {found}")
        return table

    def drop(self, pieces: Sequence[Waiting]) -> None:
        """Forget pieces."""
        gone = {piece.number for piece in pieces}
        self.pieces = [piece for piece in self.pieces if piece.number not in gone]
        for number in gone:
            self.shelf.drop(number)

    def take(self, until: int | None = None) -> Iterator[pa.Table]:
        """The tuples up to an instant, or all; they leave the shelf, and pieces that it goes through are cut."""
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
        """Of what waits and what arrived, the tuples up to an instant, none if there is no instant; the rest waits."""
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
        """What is where, as Arrow."""
        columns = {name: [getattr(piece, name) for piece in self.pieces] for name in Waiting._fields}
        instant = pa.from_numpy_dtype(self.clock.dtype)
        kinds = {"number": pa.int64(), "low": instant, "high": instant, "rows": pa.int64(), "size": pa.int64()}
        return pa.table({name: pa.array(values, kinds[name]) for name, values in columns.items()})

    def restore(self, index: pa.Table, following: int) -> None:
        """Know again what is where; `following` is the next piece's number."""
        self.pieces, self.next = [Waiting(**row) for row in index.to_pylist()], following
        numbers = [piece.number for piece in self.pieces]
        check_that(max(numbers, default=-1) < following, f"waiting pieces below {following}, got {numbers}")


def piece_of(data: bytes) -> pa.Table:
    """The rows of a piece."""
    with reading():
        (table,) = saved_tables(data, ROWS)
    return table
