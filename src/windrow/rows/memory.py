"""The groups of a bucket that are loaded, and those that must be written; shared by operators with state per group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.rows import wire
from windrow.rows.arrivals import Arrivals
from windrow.rows.group_store import DUE, GONE, HASH, NO_EVENT, Codes, Entries, GroupStore, forgotten, hashes_of
from windrow.rows.groups import Directory

Flags = npt.NDArray[np.bool_]
LAST = "last"
"""The column with the `on` of a group's last row."""


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
        by = self.arrivals.reader.layout.by
        keys = [([table.column(name) for name in by], len(table)) for table in tables if len(table)]
        if self.store.pieces:
            wanted = [hashes_of(columns, rows) for columns, rows in self._distinct(keys)]
            self._take(self.store.find(np.concatenate([np.empty(0, np.int64), *wanted]), until), touch=True)
        for columns, rows in keys:
            self.touch(self.directory.encode(columns, rows))

    def _distinct(self, keys: Sequence[tuple[list[Any], int]]) -> Iterator[tuple[list[pa.Array], int]]:
        """Return the distinct keys of rows, since a group may have many rows."""
        groups = Directory(self.directory.types)
        for columns, rows in keys:
            groups.encode(columns, rows)
        if keys:
            yield groups.keys(), len(groups)

    def recall_all(self) -> None:
        """Load all groups."""
        self._take(self.store.all(), touch=False)

    def empty(self) -> None:
        """Load all groups and clear the store, at the end of the stream."""
        self.recall_all()
        self.store.clear()

    def touch(self, codes: Codes) -> None:
        """Mark these groups for writing."""
        self._grow()
        self._touched[codes] = True

    def _take(self, entries: Entries | None, *, touch: bool) -> None:
        if entries is None:
            return
        known = self._known()
        groups = entries.groups
        codes = self.directory.encode(
            [groups.column(name) for name in wire.keys(len(self.directory.types))], len(groups)
        )
        self._grow()
        if touch:
            self._touched[codes] = True
        fresh = np.flatnonzero(codes >= known)
        self._stored[codes[fresh]] = True
        fresh = fresh[~self.expired(entries.take(fresh))]
        if fresh.size:
            found = entries.take(fresh)
            self.arrivals.grow()
            self.arrivals.last[codes[fresh]] = found.groups[LAST].to_numpy()
            self._adopt(found, codes[fresh])

    def _known(self) -> int:
        """Return the number of loaded groups. Without keys, the one group counts once it has been touched or stored."""
        return len(self.directory) if self.directory.types else int(self._touched.any() or self._stored.any())

    def _grow(self) -> None:
        more = np.zeros(len(self.directory) - self._touched.size, np.bool_)
        self._touched, self._stored = np.append(self._touched, more), np.append(self._stored, more)

    def expired(self, entries: Entries) -> Flags:
        """Return which entries belong to groups that can be forgotten."""
        time, last = self.arrivals.time, entries.groups[LAST].to_numpy()
        if self.keep is None or time is None:
            return np.zeros(last.size, np.bool_)
        # Written so that nothing overflows: the time is never before the last row.
        over: Flags = last <= time - self.keep
        return over & self._idle(entries)

    def write(self, entries_of: Callable[[Codes], tuple[Mapping[str, Any], Sequence[pa.Table], Flags, Codes]]) -> None:
        """Write the groups that were touched.

        `entries_of` takes groups and returns their columns, the tables of their rows, which groups need an entry, and
        when each is due.
        """
        self._grow()
        self.arrivals.grow()
        codes = np.flatnonzero(self._touched)
        columns, parts, needed, due = entries_of(codes)
        keys = [key.take(pa.array(codes)) for key in self.directory.keys()]  # noqa: SIM118 - it is not a dictionary
        groups = {wire.key(i): key for i, key in enumerate(keys)}
        groups |= {HASH: hashes_of(keys, codes.size), DUE: np.where(needed, due, NO_EVENT), GONE: ~needed}
        groups |= {LAST: self.arrivals.last[codes], **columns}
        entries = Entries(pa.table(groups), tuple(parts))
        if self.keep is not None:
            needed = needed & ~self.expired(entries)
        before = self._stored[codes]
        several = [entries.take(np.flatnonzero(needed)), forgotten(entries.take(np.flatnonzero(~needed & before)))]
        self.store.live += int(needed.sum()) - int(before.sum())
        self.store.add(several, self.expired if self.keep is not None else None)
        self._stored[codes] = needed
        self._touched[:] = False
