"""Migration: distributes the state of a stopped query over a different number of buckets.

The state of a bucket consists of group entries and buffered rows, each of which belongs to a group. It can be cut by
group into one *share* per new bucket. A new bucket starts with its shares of all old buckets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.errors import SourceError, SpecError
from windrow.framing.stream import StreamFramer
from windrow.rows import wire
from windrow.rows.buffers.waiting import Shelf, piece_of
from windrow.rows.group_store import Codes, Entries, GroupStore
from windrow.rows.groups import Directory
from windrow.state.arrow import about_of, check_plan, described, save_tables, saved_tables
from windrow.state.checks import check_that, reading

KIND = "share"
"""The kind of state that a saved share has in its header."""


@dataclass(frozen=True)
class OldBucket:
    """A bucket of a stopped query: its progress, the entries of its groups, and its buffered rows."""

    about: Mapping[str, Any]
    types: list[pa.DataType]
    entries: Entries | None
    waiting: pa.Table | None

    @classmethod
    def read(cls, data: bytes, shelf: Shelf, numbers: Iterable[int], kind: str, version: int) -> OldBucket:
        """Read a saved bucket of the current version; `numbers` lists the pieces on its shelf."""
        tables = saved_tables(data, kind)
        about = about_of(tables[0])
        if about["version"] != version:
            raise SourceError(
                f"the checkpoint holds a state of version {about['version']}, expected {version}; let the query run "
                "for a batch with this version of Windrow, stop it and migrate then"
            )
        with reading():
            head, _, index, *_ = tables
            types = [head.schema.field(wire.key(i)).type for i in range(len(about["plan"]["by"]))]
            store = GroupStore(shelf, types)
            store.restore(index)
            rows = [piece_of(shelf.read(number)) for number in numbers if number >= 0]
        return cls(about, types, store.all(), pa.concat_tables(rows) if rows else None)

    @property
    def _names(self) -> list[str]:
        return [*wire.keys(len(self.types))]

    def _codes(self) -> tuple[Directory, Codes, Codes]:
        """Assign numbers to the groups of the entries, then those of the buffered rows."""
        directory = Directory(self.types)
        tables = [None if self.entries is None else self.entries.groups, self.waiting]
        stored, waiting = (
            np.empty(0, np.int64) if t is None else directory.encode([t[name] for name in self._names], len(t))
            for t in tables
        )
        return directory, stored, waiting

    def keys(self) -> pa.Table:
        """Return the keys of all groups, numbered in the column `group`."""
        directory, *_ = self._codes()
        keys = dict(zip(self._names, directory.keys(), strict=True))
        return pa.table({"group": np.arange(len(directory)), **keys})

    def shares(self, to: Codes, buckets: int) -> Iterator[tuple[int, bytes]]:
        """Yield each new bucket with its share, given the new bucket of each group and the number of buckets."""
        _, stored, waiting = self._codes()
        for bucket in np.unique(to).tolist():
            tables = [_head(self.about, buckets)]
            if self.waiting is not None:
                tables.append(self.waiting.filter(pa.array(to[waiting] == bucket)))
            else:
                tables.append(pa.table({}))
            if self.entries is not None:
                some = self.entries.take(np.flatnonzero(to[stored] == bucket))
                tables += [some.groups, *some.parts]
            yield bucket, save_tables(KIND, [table.combine_chunks() for table in tables])


def first_share(about: Mapping[str, Any], buckets: int, shares: int) -> bytes:
    """Return the first share of a new bucket: it has no groups, but the query's progress and the number of shares."""
    return save_tables(KIND, [_head(about, buckets, shares), pa.table({})])


def read_label(share: bytes | pa.Buffer) -> dict[str, int | None]:
    """Return the number of new buckets and, of a first share, the number of other shares of its bucket."""
    about = about_of(saved_tables(share, KIND)[0])
    return {name: about.get(name) for name in ("buckets", "shares")}


def furthest(several: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the combined progress of the old buckets, for a new bucket."""
    progress: dict[str, Any] = {}
    for about in several:
        progress = {**about, **{name: _later(progress.get(name), about.get(name)) for name in ("watermark", "newest")}}
    return progress


def take_over(bucket: StreamFramer | Any, share: bytes, buckets: int) -> None:
    """Add a share to a bucket of the new query, which must match the old query."""
    head, waiting, *entries = saved_tables(share, KIND)
    about = about_of(head)
    if about["buckets"] != buckets:
        raise SpecError(
            f"initial: the state was migrated to {about['buckets']} buckets, but the query has {buckets}; pass "
            f"buckets={about['buckets']}, or call wr.migrate with buckets={buckets}"
        )
    check_plan(about["plan"], bucket.plan.fingerprint)
    arrivals, store = bucket.arrivals, bucket.memory.store
    with reading():
        arrivals.watermark = _later(arrivals.watermark, about["watermark"])
        arrivals.newest = _later(arrivals.newest, about.get("newest"))
        if waiting.num_rows:
            arrivals.waiting.keep([waiting])
        if entries:
            groups, *parts = entries
            check_that(all("group" in part.column_names for part in parts), "rows with their group")
            store.add([Entries(groups, tuple(parts))])
            store.live += len(groups)


def _head(about: Mapping[str, Any], buckets: int, shares: int | None = None) -> pa.Table:
    content = {name: about.get(name) for name in ("version", "plan", "watermark", "newest")}
    content |= {"buckets": buckets, "shares": shares}
    return described(pa.table({}), content)


def _later(a: Any, b: Any) -> Any:
    """Return the later of two instants, either of which may be None."""
    return b if a is None else a if b is None else max(a, b)
