"""The groups of a bucket that are loaded, and those that must be written; shared by operators with state per group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.rows import wire
from windrow.rows.arrivals import LAST, Arrivals
from windrow.rows.group_store import DUE, GONE, HASH, NO_EVENT, Codes, Entries, GroupStore, forgotten, hashes_of
from windrow.rows.groups import Directory
from windrow.rows.query import Reader

Flags = npt.NDArray[np.bool_]


class Returning:
    """The groups of new rows, and the `on` of the first new row of each."""

    def __init__(self, reader: Reader) -> None:
        self._reader, self._directory = reader, Directory(reader.request.by_types)
        self._first: npt.NDArray[Any] = np.empty(0, reader.request.clock.dtype)

    @property
    def groups(self) -> int:
        """The number of groups."""
        return self._first.size

    def add(self, table: pa.Table) -> None:
        """Add the groups of some rows."""
        if not table.num_rows:
            return
        layout, clock = self._reader.layout, self._reader.request.clock
        codes = self._directory.encode([table.column(name) for name in layout.by], table.num_rows)
        more = np.full(len(self._directory) - self._first.size, clock.greatest, clock.dtype)
        self._first = np.append(self._first, more)
        np.minimum.at(self._first, codes, clock.read(table.column(layout.on)).numbers)

    def keys(self) -> list[pa.Array]:
        """Return the keys of the groups."""
        return self._directory.keys()

    def hashes(self) -> Codes:
        """Return the hashes of the keys."""
        return hashes_of(self.keys(), self.groups) if self.groups else np.empty(0, np.int64)

    def first_rows(self, groups: pa.Table, otherwise: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the `on` of the first new row of each of these groups, or `otherwise` if a group has none."""
        if not self.groups:
            return otherwise
        codes = self._directory.encode(
            [groups.column(name) for name in wire.keys(len(self._directory.types))], len(groups)
        )
        has_rows = codes < self.groups
        return np.where(has_rows, self._first[np.where(has_rows, codes, 0)], otherwise)


class Memory:
    """The groups of a bucket. Loaded groups have a code in the directory, the others only an entry in the store.

    `adopt` takes over the entries of groups with the given codes; `idle` returns which entries have nothing open. If
    `keep` is given, an idle group is forgotten when `keep` has passed since its last row.
    """

    def __init__(
        self,
        arrivals: Arrivals,
        keep: Any,
        adopt: Callable[[Entries, Codes], None],
        idle: Callable[[Entries], Flags],
    ) -> None:
        self.arrivals, self.keep, self._adopt, self._idle = arrivals, keep, adopt, idle
        self.directory: Directory = arrivals.reader.directory
        self.store = GroupStore(arrivals.shelf, self.directory.types, tuning=arrivals.reader.request.tuning)
        self._touched = np.zeros(0, np.bool_)
        self._stored = np.zeros(0, np.bool_)

    def recall(self, tables: Iterable[pa.Table], until: int | None = None) -> None:
        """Load the groups of these rows and the groups that are due, and mark all of them for writing."""
        returning = Returning(self.arrivals.reader)
        for table in tables:
            returning.add(table)
        if self.store.pieces:
            self._take(self.store.find(returning.hashes(), until), returning, touch=True)
        if returning.groups:
            self.touch(self.directory.encode(returning.keys(), returning.groups))

    def recall_all(self) -> None:
        """Load all groups."""
        self._take(self.store.all(), None, touch=False)

    def empty(self) -> None:
        """Load all groups and clear the store, at the end of the stream."""
        self.recall_all()
        self.store.clear()

    def touch(self, codes: Codes) -> None:
        """Mark these groups for writing."""
        self._grow()
        self._touched[codes] = True

    def _take(self, entries: Entries | None, returning: Returning | None, *, touch: bool) -> None:
        if entries is None:
            return
        loaded = self._loaded()
        groups = entries.groups
        codes = self.directory.encode(
            [groups.column(name) for name in wire.keys(len(self.directory.types))], len(groups)
        )
        self._grow()
        if touch:
            self._touched[codes] = True
        fresh = np.flatnonzero(codes >= loaded)
        self._stored[codes[fresh]] = True
        fresh = fresh[~self.expired(entries.take(fresh), returning)]
        if fresh.size:
            returned = entries.take(fresh)
            self.arrivals.adopt(returned.groups, codes[fresh])
            self._adopt(returned, codes[fresh])

    def _loaded(self) -> int:
        """Return the number of loaded groups. Without keys, the one group counts once it has been touched or stored."""
        return len(self.directory) if self.directory.types else int(self._touched.any() or self._stored.any())

    def _grow(self) -> None:
        more = np.zeros(len(self.directory) - self._touched.size, np.bool_)
        self._touched, self._stored = np.append(self._touched, more), np.append(self._stored, more)

    def expired(self, entries: Entries, returning: Returning | None = None) -> Flags:
        """Return which entries belong to groups that can be forgotten: idle ones whose last row is `keep` ago.

        For a group that returns, the time of its first new row counts. The watermark may have passed that row already;
        without a watermark, the latest row of the bucket may be an earlier one. Groups with buffered rows stay.
        """
        clock, time = self.arrivals.reader.request.clock, self.arrivals.time
        last = entries.groups[LAST].to_numpy()
        if self.keep is None or time is None:
            return np.zeros(last.size, np.bool_)
        now = np.full(last.size, time, clock.dtype)
        if returning is not None:
            first = returning.first_rows(entries.groups, otherwise=now)
            now = np.maximum(now, first) if self.arrivals.per_group else np.minimum(now, first)
        return clock.reaches(now, last, self.keep) & self._idle(entries) & ~self.arrivals.has_waiting(entries.groups)

    def write(self, entries_of: Callable[[Codes], tuple[Mapping[str, Any], Sequence[pa.Table], Flags, Codes]]) -> None:
        """Write the groups that were touched.

        `entries_of` takes groups and returns their columns, the tables of their rows, which groups need an entry, and
        when each is due.
        """
        self._grow()
        codes = np.flatnonzero(self._touched)
        columns, parts, needed, due = entries_of(codes)
        keys = [key.take(pa.array(codes)) for key in self.directory.keys()]  # noqa: SIM118 - it is not a dictionary
        groups = {wire.key(i): key for i, key in enumerate(keys)}
        groups |= {HASH: hashes_of(keys, codes.size), DUE: np.where(needed, due, NO_EVENT), GONE: ~needed}
        groups |= {**self.arrivals.columns(codes), **columns}
        entries = Entries(pa.table(groups), tuple(parts))
        if self.keep is not None:
            needed = needed & ~self.expired(entries)
        before = self._stored[codes]
        several = [entries.take(np.flatnonzero(needed)), forgotten(entries.take(np.flatnonzero(~needed & before)))]
        self.store.live += int(needed.sum()) - int(before.sum())
        self.store.add(several, self.expired if self.keep is not None else None)
        self._stored[codes] = needed
        self._touched[:] = False
