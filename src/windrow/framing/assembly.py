"""Assembly: fragments of frames joined back into whole frames.

A frame is whole when its fragments 0, 1, … up to the one marked `final` have all arrived. Fragments may arrive in any
order and more than once, as from an at-least-once sink. Repeats are dropped. Two fragments with the same frame and
number but different content mean that groups have been mixed, which is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.errors import DataError, SourceError
from windrow.rows import wire
from windrow.rows.buffers.waiting import Shelf
from windrow.rows.clock import Clock
from windrow.rows.group_store import DUE, GONE, HASH, NO_EVENT, Entries, GroupStore, follow, hashes_of
from windrow.rows.groups import Directory
from windrow.state.arrow import about_of, check_state, described, save_tables, saved_tables
from windrow.state.checks import reading
from windrow.tuning import Tuning, current_tuning

Codes = npt.NDArray[np.int64]

KIND = "assemble"
VERSION = 3
CONTENT = ("start", "end", "closed_at", "count", "final")
"""The columns in which two deliveries of a fragment must agree."""


def put_together(pieces: pa.Table, by: Sequence[str]) -> tuple[pa.Table, pa.Table]:
    """Return the whole frames, one row each, and the fragments of all other frames without repeats.

    Both have the columns of `pieces`. `start`, `end` and `count` of a whole frame span its fragments; all other columns
    are those of its last fragment.
    """
    pieces = pieces.combine_chunks()
    group = _directory(pieces.schema, by).encode([pieces[name] for name in by], pieces.num_rows)
    frame, fragment = _integers(pieces, "frame"), _integers(pieces, "fragment")
    order = np.lexsort((fragment, frame, group))
    same_frame = _equals_previous(order, group, frame)
    repeated = same_frame & _equals_previous(order, fragment)
    _check_repeats(pieces, order, np.flatnonzero(repeated), by)
    distinct = order[~repeated]
    begins = np.flatnonzero(~same_frame[~repeated])
    ends = np.append(begins, distinct.size)[1:] - 1
    _check_last(pieces, distinct, ends, by)
    final = _booleans(pieces, "final")[distinct[ends]]
    # Numbers are distinct and sorted, so 0 to n - 1 are complete if the first is 0 and the last is n - 1.
    whole = final & (fragment[distinct[begins]] == 0) & (fragment[distinct[ends]] == ends - begins)
    rest = np.repeat(~whole, ends - begins + 1)
    return _spanned(pieces, distinct, begins[whole], ends[whole]), pieces.take(pa.array(distinct[rest]))


def _spanned(pieces: pa.Table, distinct: Codes, begins: Codes, ends: Codes) -> pa.Table:
    """Return whole frames, given the positions of their first and last fragments among the distinct ones."""
    frames = pieces.take(pa.array(distinct[ends]))
    # If a frame ends without a further row, the bounds of its last fragment are null.
    ordered_end = pieces["end"].take(pa.array(distinct)).combine_chunks()
    has_rows = np.where(ordered_end.is_valid(), np.arange(distinct.size), -1)
    last_with_rows = np.maximum.accumulate(has_rows) if distinct.size else has_rows
    counts = np.concatenate([[0], np.cumsum(_integers(pieces, "count")[distinct])])
    spans = {
        "start": pieces["start"].take(pa.array(distinct[begins])),
        "end": ordered_end.take(pa.array(last_with_rows[ends])),
        "count": pa.array(counts[ends + 1] - counts[begins]),
    }
    for name, column in spans.items():
        field = frames.schema.field(name)
        frames = frames.set_column(frames.schema.get_field_index(name), field, column.cast(field.type))
    return frames


def _check_repeats(pieces: pa.Table, order: Codes, repeats: Codes, by: Sequence[str]) -> None:
    """Reject fragments with the same frame and number but different content."""
    if not repeats.size:
        return
    first, again = (pieces.take(pa.array(order[at])) for at in (repeats - 1, repeats))
    for name in CONTENT:
        differs = ~_same(first[name], again[name])
        if differs.any():
            at = int(np.flatnonzero(differs)[0])
            raise DataError(
                f"{_named(first, at, by)} occurs with {name}={first[name][at].as_py()} and with "
                f"{name}={again[name][at].as_py()}; frames of different groups may be mixed: pass every group column "
                f"in by= (now {list(by)})"
            )


def _check_last(pieces: pa.Table, distinct: Codes, ends: Codes, by: Sequence[str]) -> None:
    """Reject a frame with fragments after its final one."""
    early = _booleans(pieces, "final")[distinct]
    early[ends] = False
    if early.any():
        at = int(distinct[np.flatnonzero(early)[0]])
        raise DataError(
            f"{_named(pieces, at, by)} is marked as the last of its frame, but later fragments follow; frames of "
            f"different groups may be mixed: pass every group column in by= (now {list(by)})"
        )


def _named(pieces: pa.Table, at: int, by: Sequence[str]) -> str:
    group = ", ".join(f"{name}={pieces[name][at].as_py()!r}" for name in by)
    of = f" of group {group}" if group else ""
    return f"fragment {pieces['fragment'][at].as_py()} of frame {pieces['frame'][at].as_py()}{of}"


def _same(a: pa.ChunkedArray, b: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    both_null = pc.and_(a.is_null(), b.is_null())
    same: npt.NDArray[np.bool_] = pc.or_(pc.fill_null(pc.equal(a, b), False), both_null).to_numpy()
    return same


def _equals_previous(order: Codes, *columns: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    same = np.ones(order.size, np.bool_)
    same[:1] = False
    for column in columns:
        ordered = column[order]
        same[1:] &= ordered[1:] == ordered[:-1]
    return same


def _integers(table: pa.Table, name: str) -> Codes:
    return np.asarray(table[name].to_numpy(), np.int64)


def _booleans(table: pa.Table, name: str) -> npt.NDArray[np.bool_]:
    return np.asarray(table[name].to_numpy(), np.bool_)


def _directory(schema: pa.Schema, by: Sequence[str]) -> Directory:
    return Directory([schema.field(name).type for name in by])


class Assembly:
    """One bucket of a stream of fragments: incomplete frames, and which frames are done.

    Frames of a group are numbered consecutively, so a count per group and the few frames ahead of it identify the
    frames that are done. Groups are in a store: a batch reads and writes only the groups of its fragments.
    """

    def __init__(self, by: Sequence[str], schema: pa.Schema, shelf: Shelf, tuning: Tuning | None = None) -> None:
        self.by, self.waiting = list(by), schema.empty_table()
        self.clock = Clock.of(schema.field("start").type, "start")
        self.directory = _directory(schema, by)
        self.store = GroupStore(shelf, self.directory.types, tuning=tuning or current_tuning())
        self.below = np.zeros(0, np.int64)
        """Per group in memory, the number below which all frames are done."""
        self.latest = np.zeros(0, self.clock.dtype)
        """Per group in memory, the greatest `end` of its finished frames."""
        self.ahead: set[tuple[int, int]] = set()
        self._at_hand = np.zeros(0, np.bool_)
        """Per group, whether its stored state has been read."""
        self._touched = np.zeros(0, np.bool_)
        self._stored = np.zeros(0, np.bool_)

    def step(self, arrived: Iterable[pa.Table]) -> pa.Table:
        """Take in fragments and return the frames that they complete."""
        arrived = list(arrived)
        self._recall(arrived)
        fresh = [self._not_done(table) for table in arrived]
        whole, self.waiting = put_together(pa.concat_tables([self.waiting, *fresh]), self.by)
        self._finish(whole)
        return whole

    def _groups(self, table: pa.Table, names: Sequence[str] | None = None) -> Codes:
        columns = [table[name] for name in (self.by if names is None else names)]
        group = self.directory.encode(columns, table.num_rows)
        more = len(self.directory) - self.below.size
        self.below = np.append(self.below, np.zeros(more, np.int64))
        self.latest = np.append(self.latest, np.full(more, self.clock.lowest, self.clock.dtype))
        none = np.zeros(more, np.bool_)
        self._at_hand, self._touched, self._stored = (
            np.append(flags, none) for flags in (self._at_hand, self._touched, self._stored)
        )
        return group

    def _recall(self, arrived: Sequence[pa.Table]) -> None:
        """Load the groups of the fragments and mark them to be written."""
        codes = np.unique(np.concatenate([np.empty(0, np.int64), *(self._groups(table) for table in arrived)]))
        fresh = codes[~self._at_hand[codes]]
        self._at_hand[codes] = self._touched[codes] = True
        if fresh.size and self.store.pieces:
            keys = [key.take(pa.array(fresh)) for key in self.directory.keys()]  # noqa: SIM118 - not a dictionary
            entries = self.store.find(hashes_of(keys, fresh.size))
            if entries is not None:
                with reading():
                    self._adopt(entries, fresh)

    def _adopt(self, entries: Entries, groups_needed: Codes) -> None:
        """Take over the stored state of these groups; entries may include a few others."""
        codes = self._groups(entries.groups, self._keys)
        rows = np.flatnonzero(np.isin(codes, groups_needed))
        groups, (ahead, waiting) = entries.take(rows)
        codes = codes[rows]
        self._stored[codes] = True
        self.below[codes], self.latest[codes] = (groups[name].to_numpy() for name in ("below", "latest"))
        self.ahead.update(zip(codes[ahead["group"].to_numpy()].tolist(), ahead["frame"].to_pylist(), strict=True))
        fragments = waiting.drop_columns("group").rename_columns(self.waiting.column_names)
        self.waiting = pa.concat_tables([self.waiting, fragments.cast(self.waiting.schema)])

    def _not_done(self, table: pa.Table) -> pa.Table:
        group, frame = self._groups(table), _integers(table, "frame")
        done = frame < self.below[group]
        done |= np.fromiter((pair in self.ahead for pair in zip(group.tolist(), frame.tolist(), strict=True)), np.bool_)
        start = self.clock.read(table["start"].combine_chunks())
        later = done & (start.numbers > self.latest[group])
        if start.valid.size:
            later &= start.valid
        if later.any():
            raise DataError(
                f"{_named(table, int(np.flatnonzero(later)[0]), self.by)} starts after that frame was complete, so its "
                f"number has been used again; assemble a stream whose groups keep their numbers (keep_groups=None)"
            )
        return table.filter(pa.array(~done)) if done.any() else table

    def _finish(self, whole: pa.Table) -> None:
        group, frame = self._groups(whole), _integers(whole, "frame")
        np.maximum.at(self.latest, group, self.clock.read(whole["end"].combine_chunks()).numbers)
        self.ahead.update(zip(group.tolist(), frame.tolist(), strict=True))
        for code in np.unique(group).tolist():
            while (code, int(self.below[code])) in self.ahead:
                self.ahead.remove((code, int(self.below[code])))
                self.below[code] += 1

    # The state as bytes.

    @property
    def _keys(self) -> list[str]:
        """The column names of the group keys in the store."""
        return [*wire.keys(len(self.by))]

    @property
    def _plan(self) -> dict[str, Any]:
        """Everything that the saved state depends on."""
        return {"by": self.by, "columns": {field.name: str(field.type) for field in self.waiting.schema}}

    def save(self) -> bytes:
        """Write the changed groups to the shelf and return the rest of the state, an index of the shelf."""
        self._write(np.flatnonzero(self._touched))
        about = {"version": VERSION, "plan": self._plan}
        return save_tables(KIND, [described(pa.table({}), about), self.store.index()])

    def _write(self, codes: Codes) -> None:
        """Write, per group, the finished frames, the frames ahead of them, and the waiting fragments."""
        keys = [key.take(pa.array(codes)) for key in self.directory.keys()]  # noqa: SIM118 - not a dictionary
        groups = dict(zip(self._keys, keys, strict=True)) | {
            HASH: hashes_of(keys, codes.size),
            DUE: np.full(codes.size, NO_EVENT),
            GONE: np.zeros(codes.size, np.bool_),
            "below": self.below[codes],
            "latest": self.latest[codes],
        }
        place = np.full(len(self.directory), -1, np.int64)
        place[codes] = np.arange(codes.size)
        group, frame = np.array(sorted(self.ahead), np.int64).reshape(-1, 2).T
        # The fragments may have a column named "group", so their columns are stored by position.
        plain = self.waiting.rename_columns([*wire.columns(self.waiting.num_columns)])
        waiting = plain.add_column(0, "group", pa.array(self._groups(self.waiting)))
        parts = (pa.table({"group": group, "frame": frame}), waiting)
        self.store.live += int((~self._stored[codes]).sum())
        self.store.add([Entries(pa.table(groups), tuple(follow(part, place) for part in parts))])
        self._stored[codes], self._touched[codes] = True, False

    @classmethod
    def load(
        cls, data: bytes, by: Sequence[str], schema: pa.Schema, shelf: Shelf, tuning: Tuning | None = None
    ) -> Assembly:
        """Return the saved bucket."""
        tables = saved_tables(data, KIND)
        if len(tables) == 1:
            raise SourceError(
                "the checkpoint holds a state of wr.assemble of version 1, in which fragments have lost their numbers; "
                "start with a new checkpoint"
            )
        assembly = cls(by, schema, shelf, tuning)
        check_state(about_of(tables[0]), VERSION, assembly._plan)
        with reading():
            _, index = tables
            assembly.store.restore(index)
        return assembly
