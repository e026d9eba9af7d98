"""The stored state of the groups of a bucket. A batch writes only the groups that it changed.

The state of a group is an *entry*: a row with its key, and rows of further tables, such as its open frames. A batch
reads the entries of the groups that it has rows for, or that are due, and adds a piece with their new entries. If a
group has several entries, the newest one counts. Pieces of similar size are merged, so each entry is rewritten only a
few times. Large pieces are split by the hash of the key, so a lookup of few groups reads few pieces. If a group with an
entry in an older piece no longer needs one, it gets an entry that marks it as forgotten.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.rows import wire
from windrow.rows.buffers.waiting import Shelf
from windrow.rows.groups import Directory
from windrow.state.arrow import save_tables, saved_tables
from windrow.state.checks import check_indices, check_that, reading
from windrow.tuning import Tuning, current_tuning

KIND = "groups"
"""The kind of a saved piece."""
NO_EVENT = int(np.iinfo(np.int64).max)
HASH, DUE, GONE = "hash", "due", "gone"
"""The columns of every entry: the hash of its key, the time it is due, and whether the group is forgotten."""

Codes = npt.NDArray[np.int64]


class Entries(NamedTuple):
    """Entries of different groups: one row per group, and tables whose column `group` refers to these rows."""

    groups: pa.Table
    parts: tuple[pa.Table, ...]

    def take(self, rows: Codes) -> Entries:
        """Return some entries, in the given order."""
        place = np.full(len(self.groups), -1, np.int64)
        place[rows] = np.arange(rows.size)
        return Entries(self.groups.take(pa.array(rows)), tuple(follow(part, place) for part in self.parts))


def follow(part: pa.Table, place: Codes) -> pa.Table:
    """Return the rows of groups that have a place, in the order of the places."""
    to = place[part["group"].to_numpy()]
    rows = np.flatnonzero(to >= 0)
    order = rows[np.argsort(to[rows], kind="stable")]
    return part.take(pa.array(order)).set_column(0, "group", pa.array(to[order]))


def _joined(several: Sequence[Entries]) -> Entries:
    """Concatenate entries."""
    parts, base = [], 0
    for entries in several:
        parts.append([part.set_column(0, "group", pa.array(part["group"].to_numpy() + base)) for part in entries.parts])
        base += len(entries.groups)
    # An option that was changed in between may have added a column.
    groups = pa.concat_tables([entries.groups for entries in several], promote_options="default")
    return Entries(
        groups, tuple(pa.concat_tables(tables, promote_options="default") for tables in zip(*parts, strict=True))
    )


class Piece(NamedTuple):
    """A piece on the shelf: its number, level, range of hashes, number of entries, size in bytes and first due time."""

    number: int
    level: int
    low: int
    high: int
    rows: int
    size: int
    due: int


@dataclass
class GroupStore:
    """The entries of all groups of a bucket. Buffered rows may share the shelf, so pieces have numbers below 0."""

    shelf: Shelf
    types: Sequence[pa.DataType]
    pieces: list[Piece] = field(default_factory=list)
    """The pieces, oldest level first."""
    next: int = 1
    live: int = 0
    """The number of groups that have an entry."""
    tuning: Tuning = field(default_factory=current_tuning)

    @property
    def size(self) -> int:
        """The total size of the pieces in bytes."""
        return sum(piece.size for piece in self.pieces)

    @property
    def due(self) -> int | None:
        """The time the first group is due. It may be too early, but never too late."""
        least = min((piece.due for piece in self.pieces), default=NO_EVENT)
        return None if least == NO_EVENT else least

    # Reading.

    def find(self, hashes: npt.NDArray[np.int64], until: int | None = None) -> Entries | None:
        """Return the entries of keys with these hashes and of groups that are due by `until`; None if no entry matches.

        Hash collisions may add the entries of a few other keys.
        """
        if until is not None:
            hashes = np.union1d(hashes, self._overdue(until))
        hashes = np.unique(hashes)
        matches = []
        for piece in reversed(self.pieces):
            if np.searchsorted(hashes, piece.low, "left") < np.searchsorted(hashes, piece.high, "right"):
                entries = self._read(piece)
                rows = np.flatnonzero(np.isin(entries.groups[HASH].to_numpy(), hashes))
                if rows.size:
                    matches.append(entries.take(rows))
        return self._newest(matches)

    def all(self) -> Entries | None:
        """Return all current entries."""
        return self._newest([self._read(piece) for piece in reversed(self.pieces)])

    def _overdue(self, until: int) -> npt.NDArray[np.int64]:
        """Return the hashes of groups that are due."""
        hashes = [np.empty(0, np.int64)]
        for i, piece in enumerate(self.pieces):
            if piece.due <= until:
                groups = self._read(piece).groups
                due = groups[DUE].to_numpy()
                hashes.append(groups[HASH].to_numpy()[due <= until])
                # These are read now, and get new entries if they are still the newest of their groups.
                self.pieces[i] = piece._replace(due=int(due[due > until].min(initial=NO_EVENT)))
        return np.concatenate(hashes)

    def _newest(self, newest_first: Sequence[Entries]) -> Entries | None:
        """Return the first entry per group, given the newest pieces first; leave out forgotten groups."""
        if not newest_first:
            return None
        entries = _joined(newest_first)
        first = self._first(entries.groups)
        first = first[~np.asarray(entries.groups[GONE].take(pa.array(first)))]
        return entries.take(first) if first.size else None

    def _first(self, groups: pa.Table) -> Codes:
        """Return the first row of each key."""
        codes = Directory(self.types).encode([groups.column(name) for name in self._keys], len(groups))
        _, rows = np.unique(codes, return_index=True)
        return np.sort(rows)

    @property
    def _keys(self) -> list[str]:
        return [*wire.keys(len(self.types))]

    def _read(self, piece: Piece) -> Entries:
        with reading():
            groups, *parts = saved_tables(self.shelf.read(-piece.number), KIND)
            entries = Entries(groups, tuple(parts))
            low, high = (int(x) for x in (groups[HASH].to_numpy().min(), groups[HASH].to_numpy().max()))
            actual, expected = (len(groups), low, high), (piece.rows, piece.low, piece.high)
            check_that(actual == expected, f"piece {piece.number} of the groups to have {expected}, got {actual}")
            for part in parts:
                check_that(part.column_names[0] == "group" and not part["group"].null_count, "rows with their group")
                check_indices("groups of rows", part["group"].to_numpy(), len(groups))
        return entries

    # Writing.

    def add(
        self, several: Sequence[Entries], expired: Callable[[Entries], npt.NDArray[np.bool_]] | None = None
    ) -> None:
        """Add entries that are newer than all others; merges drop the entries that `expired` selects."""
        if not sum(len(entries.groups) for entries in several):
            return
        level = self._put(several, 1 + max((piece.level for piece in self.pieces), default=-1))
        while level > 0:
            below = [piece for piece in self.pieces if piece.level < level]
            if not below:
                break
            older = [piece for piece in below if piece.level == below[-1].level]
            newer = [piece for piece in self.pieces if piece.level >= level]
            if sum(piece.rows for piece in older) > 2 * sum(piece.rows for piece in newer):
                break
            level = self._merge(older, newer, oldest=len(older) == len(below), expired=expired)

    def clear(self) -> None:
        """Remove all entries."""
        for piece in self.pieces:
            self.shelf.drop(-piece.number)
        self.pieces, self.live = [], 0

    def _merge(
        self,
        older: list[Piece],
        newer: list[Piece],
        *,
        oldest: bool,
        expired: Callable[[Entries], npt.NDArray[np.bool_]] | None,
    ) -> int:
        """Merge two levels into one."""
        entries = _joined([self._read(piece) for piece in (*newer, *older)])
        entries = entries.take(self._first(entries.groups))
        gone = np.array(entries.groups[GONE])
        if expired is not None:
            over = expired(entries) & ~gone
            self.live -= int(over.sum())
            gone |= over
        for piece in (*older, *newer):
            self.shelf.drop(-piece.number)
        self.pieces = [piece for piece in self.pieces if piece.level < older[0].level]
        alive = np.flatnonzero(~gone)
        if oldest:
            return self._put([entries.take(alive)], older[0].level)
        return self._put([entries.take(alive), forgotten(entries.take(np.flatnonzero(gone)))], older[0].level)

    def _put(self, several: Sequence[Entries], level: int) -> int:
        """Put entries on the shelf as one level, split by hash."""
        entries = _joined([some for some in several if len(some.groups)] or several[:1])
        hashes = entries.groups[HASH].to_numpy()
        order = np.argsort(hashes, kind="stable")
        for rows in np.array_split(order, max(1, -(-order.size // self.tuning.groups_per_piece))) if order.size else []:
            some = entries.take(rows)
            data = save_tables(KIND, [table.combine_chunks() for table in (some.groups, *some.parts)])
            low, high = (int(hashes[rows[k]]) for k in (0, -1))
            due = int(some.groups[DUE].to_numpy().min(initial=NO_EVENT))
            self.pieces.append(Piece(self.next, level, low, high, rows.size, len(data), due))
            self.shelf.put(-self.next, data)
            self.next += 1
        return level

    # The index as Arrow.

    def index(self) -> pa.Table:
        """Return the index of the pieces."""
        about = {b"next": str(self.next).encode(), b"live": str(self.live).encode()}
        columns = {name: [getattr(piece, name) for piece in self.pieces] for name in Piece._fields}
        table = pa.table({name: pa.array(values, pa.int64()) for name, values in columns.items()})
        return table.replace_schema_metadata(about)

    def restore(self, index: pa.Table) -> None:
        """Restore the index of the pieces."""
        self.pieces = [Piece(**row) for row in index.to_pylist()]
        self.next, self.live = (int(index.schema.metadata[name]) for name in (b"next", b"live"))
        check_that(all(0 < piece.number < self.next for piece in self.pieces), f"pieces below {self.next}")


def forgotten(entries: Entries) -> Entries:
    """Return entries that mark these groups as forgotten."""
    groups, n = entries.groups, len(entries.groups)
    for name, column in ((DUE, np.full(n, NO_EVENT)), (GONE, np.ones(n, np.bool_))):
        groups = groups.set_column(groups.schema.get_field_index(name), name, pa.array(column))
    return Entries(groups, tuple(part.slice(0, 0) for part in entries.parts))


def hashes_of(columns: Sequence[pa.Array | pa.ChunkedArray], rows: int) -> npt.NDArray[np.int64]:
    """Return a hash of each key that is the same in every process and on every machine.

    >>> hashes_of([pa.array(["a", "b"]), pa.array([1, 1])], 2).tolist()
    [-2806031776708992491, 7064461172611041782]
    """
    hashes = np.zeros(rows, np.uint64)
    for column in columns:
        hashes = _mixed(hashes * np.uint64(0x9E3779B97F4A7C15) + _hashed(column))
    return hashes.view(np.int64)


def _hashed(column: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.uint64]:
    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif pa.types.is_date32(kind):
        column = column.cast(pa.int32())
    elif pa.types.is_timestamp(kind):
        column = column.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())
    if pa.types.is_integer(column.type):
        return _mixed(column.to_numpy().astype(np.int64).view(np.uint64))
    if pa.types.is_floating(kind):
        return _mixed((column.to_numpy().astype(np.float64) + 0.0).view(np.uint64))
    values: Iterable[Any] = column.to_pylist()
    plain = (value if isinstance(value, bytes) else str(value).encode() for value in values)
    digests = b"".join(hashlib.blake2b(value, digest_size=8).digest() for value in plain)
    return np.frombuffer(digests, "<u8").astype(np.uint64)


def _mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Mix the bits of each number as splitmix does, so that every bit of the result depends on all bits."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))
