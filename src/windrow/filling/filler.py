"""Filling on streams: frames and rows in as they arrive, tagged rows or filled frames out.

A `Filler` handles a *bucket*, a share of the stream's groups. Frames and rows arrive independently, so each is held
until nothing can match it any more. For a group with one open frame, along `on`:

    frame     [===================>                           not final: a later fragment may extend it
    rows        x   x    x     x  |   o     o      o   |  ?    ?     ?
                matched, released |   kept             |  coming
                                  reach                watermark

    held       contents                                           released when
    coming     rows that the watermark has not passed             the watermark passes them: they are kept or dropped
    kept       passed rows that a frame may still contain         they are before `_needed_from` of their group
    open       frames that may still receive rows                 they are final and the watermark has passed their end
    under_way  starts of frames of which nothing has arrived      the next punctuation of the frames replaces them

`_needed_from` is the earliest `on` that a frame not completely known may contain. Per group, it is the least of

- the watermark, moved back by `before`: frames that nothing is known about start after it;
- the start of the first frame under way, as reported by the frames' punctuation;
- the reach of each open frame that is not final.

A frame that starts earlier is late: its rows may be gone, so it is dropped and counted. Fragments follow from the same
rules. Each extends the reach of its frame, so the rows up to there are matched and released while the frame stays open.

Streaming rows are matched on arrival if they are tagged, and in order, as the watermark passes them, if they are
aggregated. If the frames are a table, no row is kept. If the rows are a table, a frame is released as soon as it is
final. Only groups with frames are stored; buffered rows carry their own keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.engine.accumulator import Accumulator, described, naming, read_values
from windrow.arrays import Array, Values, read_numbers
from windrow.filling.sweep import Pairs, Placed, pairs_of, taken
from windrow.rows.clock import LARGEST, Clock
from windrow.rows.groups import Directory
from windrow.rows.ordering import sorted_as_spark
from windrow.rows.waiting import ROWS_A_PIECE, Shelf, TimedShelf, Waiting
from windrow.state.arrow import about_of, check_state, columns_of, fields_of, save_tables, saved_tables
from windrow.state.checks import check_indices, check_that, reading

VERSION = 2
KIND = "fill"
"""The kind of state that a saved bucket has in its header."""


@dataclass(frozen=True)
class FillPlan:
    """A fill query: its columns, its aggregates, and which side is a table that is known from the start.

    Rows arrive with the columns `by0`, `by1`, … of their group, `on`, and the columns named here. Frames, or their
    fragments, arrive with the columns of their group, `number`, `start`, `end`, `fragment`, `final`, and the columns
    named here.
    """

    clock: Clock
    key_types: tuple[pa.DataType, ...]
    accumulators: tuple[Accumulator, ...]
    """The aggregates; without any, rows are tagged."""
    values: tuple[str | None, ...]
    """The input columns of the aggregates, in order; None for a count of rows."""
    ties: tuple[str, ...]
    """The columns that order rows with the same `on`."""
    tuple_columns: tuple[str, ...]
    """The columns of a tagged row."""
    frame_columns: tuple[str, ...]
    """The columns of a filled frame, before its aggregates."""
    frame_roles: dict[str, str]
    """Which of them are `start`, `end` and `count`; for a frame in fragments, these span all fragments."""
    asked: dict[str, str]
    """Everything that a saved state depends on."""
    frames_known: bool = False
    tuples_known: bool = False
    before: int | float = 0
    """How far before the watermark an unknown frame may start: the distance by which starts were moved back."""

    @property
    def keys(self) -> list[str]:
        """The column names of the group keys in arriving tables."""
        return [f"by{i}" for i in range(len(self.key_types))]

    @property
    def in_order(self) -> bool:
        """Whether rows are matched when the watermark passes them rather than on arrival, as aggregates require."""
        return bool(self.accumulators) and not self.tuples_known


@dataclass
class Held:
    """Statistics of the rows that a bucket holds, per step and per arriving frame: total and maximum."""

    steps: int = 0
    total: int = 0
    most: int = 0
    frames: int = 0
    total_at_frames: int = 0
    most_at_frames: int = 0

    def note(self, held: int, frames: int) -> None:
        """Record a step with `held` rows in which `frames` frames arrived."""
        self.steps, self.total, self.most = self.steps + 1, self.total + held, max(self.most, held)
        if frames:
            self.frames, self.total_at_frames = self.frames + frames, self.total_at_frames + frames * held
            self.most_at_frames = max(self.most_at_frames, held)


@dataclass
class FillCounts:
    """The rows and frames that arrived in one step, and how many of them were late."""

    tuples: int = 0
    frames: int = 0
    late: int = 0


class Open(NamedTuple):
    """The frames that may still receive rows: start, reach so far, and whether that reach is final."""

    group: npt.NDArray[np.int64]
    number: npt.NDArray[np.int64]
    start: Array
    reach: Array
    final: npt.NDArray[np.bool_]

    def take(self, rows: npt.NDArray[Any]) -> Open:
        """Return some of the frames."""
        return Open(*(column[rows] for column in self))


@dataclass
class Filler:
    """The filler of one bucket of a stream's groups."""

    plan: FillPlan
    shelf: Shelf
    watermark: int | None = None
    """Rows up to here are late; None before the first watermark."""
    held: Held = field(default_factory=Held)
    counts: FillCounts = field(default_factory=FillCounts)

    def __post_init__(self) -> None:
        clock = self.plan.clock
        self.directory = Directory(self.plan.key_types)
        self.coming = TimedShelf(self.shelf, clock, "on", 0, 2)
        """Rows that the watermark has not passed."""
        self.kept = TimedShelf(self.shelf, clock, "on", 1, 2)
        """Rows that it has passed and that a frame may still contain."""
        self.open = Open(
            np.empty(0, np.int64),
            np.empty(0, np.int64),
            np.empty(0, clock.dtype),
            np.empty(0, clock.dtype),
            np.empty(0, np.bool_),
        )
        self.rows: pa.Table | None = None
        """The result columns of the open frames; None before the first frame."""
        self.states = [accumulator.empty(0) for accumulator in self.plan.accumulators]
        self.under_way = Placed(np.empty(0, np.int64), np.empty(0, clock.dtype))
        """The groups with frames under way of which nothing has arrived, and the start of the first one per group."""
        self._looked_through = 0
        self._read: list[tuple[Waiting, pa.Table]] = []

    def step(
        self,
        tuples: Iterable[pa.Table],
        frames: Iterable[pa.Table],
        watermark: int | None,
        under_way: pa.Table | None = None,
    ) -> list[pa.Table]:
        """Take in new rows and frames, advance to the watermark, and return rows of the result.

        `under_way` lists the groups with frames of which nothing has been reported yet, and their starts; None if
        unchanged.
        """
        fresh = [*self._on_time(tuples)]
        pieces = self._not_late(frames)
        if under_way is not None:
            self.under_way = Placed(self._groups(under_way), self.plan.clock.read(under_way.column("start")).numbers)
        self.held.note(self.coming.rows + self.kept.rows + sum(map(len, fresh)), sum(map(len, pieces)))
        found = self._match_kept(self._meet(pieces))
        due = self.coming.passed(fresh, watermark) if self.plan.in_order else fresh
        found += self._match(due, self.open, self.open.start)
        self.watermark = self.watermark if watermark is None else watermark
        found += self._finished()
        self._forget(due)
        return [table for table in found if table.num_rows]

    def know(self, tuples: Iterable[pa.Table], frames: Iterable[pa.Table]) -> None:
        """Take in a table that is complete before the stream starts."""
        for table in tuples:
            self._groups(table)
            self.coming.keep([table], most=len(table))
        self._meet(self._not_late(frames))

    def finish(self, frames: Iterable[pa.Table] = ()) -> list[pa.Table]:
        """End the stream with these last frames: match the buffered rows and return the remaining frames."""
        found = self.step([], frames, None)
        found += self._match([*self.coming.take()] if self.plan.in_order else [], self.open, self.open.start)
        self.open = self.open._replace(final=np.ones(self.open.final.size, np.bool_))
        self.watermark = LARGEST
        found += self._finished()
        self.coming.drop(self.coming.pieces)
        self.kept.drop(self.kept.pieces)
        return [table for table in found if table.num_rows]

    def next_event(self) -> int | None:
        """Return the watermark at which work is due even if nothing arrives, or None."""
        events = [] if self.coming.first is None else [self.coming.first]
        if self.open.final.any():
            events.append(self.open.reach[self.open.final].min().item())
        return min(events, default=None)

    # Arriving.

    def _groups(self, table: pa.Table) -> npt.NDArray[np.int64]:
        return self.directory.encode([table.column(key) for key in self.plan.keys], table.num_rows)

    def _on_time(self, tuples: Iterable[pa.Table]) -> Iterator[pa.Table]:
        for table in tuples:
            self.counts.tuples += table.num_rows
            if self.watermark is not None:
                late = self.coming.instants(table) <= self.watermark
                self.counts.late += int(late.sum())
                table = table.filter(pa.array(~late)) if late.any() else table
            self._groups(table)
            yield table

    def _not_late(self, frames: Iterable[pa.Table]) -> list[pa.Table]:
        """Drop frames that start where rows may be gone; fragments of an open frame are never late."""
        pieces = [table for table in frames if table.num_rows]
        if not pieces:
            return []
        table = pa.concat_tables(pieces).combine_chunks()
        self.counts.frames += table.num_rows
        group, number = self._groups(table), table.column("number").to_numpy()
        start = self.plan.clock.read(table.column("start"))
        fine = start.numbers >= self._needed_from()[group]
        if start.valid.size:
            fine &= start.valid
        if not fine.all():
            goes_on = ~self.open.final
            known = {*zip(self.open.group[goes_on].tolist(), self.open.number[goes_on].tolist(), strict=True)}
            known |= {*zip(group[fine].tolist(), number[fine].tolist(), strict=True)}
            for i in np.flatnonzero(~fine & (table.column("fragment").to_numpy() > 0)):
                fine[i] = (int(group[i]), int(number[i])) in known
            self.counts.late += int((~fine).sum())
        return [table.filter(pa.array(fine))] if fine.any() else []

    # Frames.

    def _meet(self, pieces: list[pa.Table]) -> Array:
        """Take in frames and fragments; return, per open frame, the first `on` that is not matched yet."""
        clock, known = self.plan.clock, self.open
        if not pieces:
            return np.asarray(clock.after(known.reach))
        (table,) = pieces
        start, end = (clock.read(table.column(name)) for name in ("start", "end"))
        new = Open(
            self._groups(table),
            table.column("number").to_numpy(),
            _or(start, clock.greatest),
            _or(end, clock.lowest),
            table.column("final").to_numpy(),
        )
        every = Open(*(np.concatenate(columns) for columns in zip(known, new, strict=True)))
        fragment = np.concatenate([np.full(known.group.size, -1), table.column("fragment").to_numpy()])
        # A frame that arrives whole is not merged with others: the same number in its group is a different frame.
        alone = np.where(every.final & (fragment <= 0), np.arange(1, fragment.size + 1), 0)
        order = np.lexsort((fragment, alone, every.number, every.group))
        every = every.take(order)
        same = np.all([np.diff(column) == 0 for column in (every.group, every.number, alone[order])], axis=0)
        runs = FrameRuns(order, np.flatnonzero(np.concatenate([[True], ~same])))
        self.open = Open(
            every.group[runs.begins],
            every.number[runs.begins],
            np.minimum.reduceat(every.start, runs.begins),
            np.maximum.reduceat(every.reach, runs.begins),
            np.logical_or.reduceat(every.final, runs.begins),
        )
        first = runs.first
        is_known = first < known.group.size
        if self.plan.frame_columns:
            self.rows = self._travelling(table.select(self.plan.frame_columns), runs, end.valid)
        for j, accumulator in enumerate(self.plan.accumulators):
            states = accumulator.extended(self.states[j].keep(first[is_known]), first.size)
            self.states[j] = states.keep(np.argsort(np.argsort(~is_known, kind="stable")))
        begins = self.open.start.copy()
        begins[is_known] = clock.after(known.reach[first[is_known]])
        return begins

    def _travelling(self, rows: pa.Table, runs: FrameRuns, has_end: npt.NDArray[np.bool_]) -> pa.Table:
        """Return the result columns per open frame: `start`, `end`, `count` of all fragments, the rest of the last."""
        known = 0 if self.rows is None else len(self.rows)
        every = rows if self.rows is None else pa.concat_tables([self.rows, rows])
        travelling = every.take(pa.array(runs.last))
        ends = np.ones(len(every), np.bool_)
        if has_end.size:
            ends[known:] = has_end
        chosen_rows = {"start": runs.first, "end": runs.last_of(ends)}
        for role, name in self.plan.frame_roles.items():
            at = travelling.schema.get_field_index(name)
            if role == "count":
                counts = read_numbers(every.column(name), np.dtype(np.int64)).numbers[runs.order]
                column = pa.array(np.add.reduceat(counts, runs.begins)).cast(every.schema.field(name).type)
            else:
                column = every.column(name).take(pa.array(chosen_rows[role]))
            travelling = travelling.set_column(at, travelling.schema.field(at), column)
        return travelling.combine_chunks()

    def _finished(self) -> list[pa.Table]:
        """Remove the frames that can receive no further row, and return them."""
        if self.plan.tuples_known:
            done = self.open.final
        elif self.watermark is None:
            return []
        else:
            done = self.open.final & (self.open.reach <= self.watermark)
        if not done.any():
            return []
        gone, left = np.flatnonzero(done), np.flatnonzero(~done)
        found = []
        if self.rows is not None:
            filled = self.rows.take(pa.array(gone))
            for j, accumulator in enumerate(self.plan.accumulators):
                with self._naming(self.open.take(gone)):
                    filled = filled.append_column(f"aggregate{j}", accumulator.finish(self.states[j].take(gone)))
            found.append(filled)
            self.rows = self.rows.take(pa.array(left))
        self.open = self.open.take(left)
        self.states = [kept.keep(left) for kept in self.states]
        return found

    # Matching.

    def _match_kept(self, begins: Array) -> list[pa.Table]:
        """Match the new part of each frame with the rows that were held before."""
        self._read = []
        further = np.flatnonzero(self.open.reach >= begins)
        if not further.size:
            return []
        frames, begins = self.open.take(further), begins[further]
        tables = []
        for shelf in (self.kept,) if self.plan.in_order else (self.kept, self.coming):
            for piece in shelf.pieces:
                if ((begins <= piece.high) & (frames.reach >= piece.low)).any():
                    tables.append(shelf.read(piece))
                    if shelf is self.kept:
                        self._read.append((piece, tables[-1]))
        return self._match(tables, frames, begins, further)

    def _match(
        self, tables: Sequence[pa.Table], frames: Open, begins: Array, slots: npt.NDArray[np.int64] | None = None
    ) -> list[pa.Table]:
        """Tag rows with the frames that contain them, or add them to the frames' aggregates at `slots`."""
        tables = [table for table in tables if table.num_rows]
        if not tables or not frames.group.size:
            return []
        table = pa.concat_tables(tables).combine_chunks()
        if self.plan.accumulators:
            ties = dict.fromkeys(name for name in (*self.plan.ties, *self.plan.values) if name)
            table = table.take(pa.array(sorted_as_spark([table.column(name) for name in ("on", *ties)])))
        tuples = Placed(self._groups(table), self.coming.instants(table))
        pairs = pairs_of(tuples, Placed(frames.group, begins), frames.reach)
        if not self.plan.accumulators:
            tagged = table.select(self.plan.tuple_columns)
            return [
                tagged.take(pa.array(some.row)).append_column("frame", pa.array(frames.number[some.slot]))
                for some in pairs
            ]
        self._add(table, pairs, slots)
        return []

    def _add(self, table: pa.Table, pairs: Iterator[Pairs], slots: npt.NDArray[np.int64] | None) -> None:
        values = read_values(self.plan.accumulators, self.plan.values, table)
        for some in pairs:
            slot = some.slot if slots is None else slots[some.slot]
            for accumulator, kept, column in zip(self.plan.accumulators, self.states, values, strict=True):
                with self._naming(self.open):
                    accumulator.accumulate(kept, slot.reshape(-1, 1), taken(column, some.row))

    def _naming(self, frames: Open) -> AbstractContextManager[None]:
        """Return a context that adds the frame to the error about too many values."""

        def which(k: int) -> str:
            start = self.plan.clock.write(pa.array(frames.start[k : k + 1]))[0].as_py()
            return described("the frame", self.directory.key(int(frames.group[k])), start)

        return naming(which)

    # Forgetting.

    @property
    def _bound(self) -> Any:
        """The least start of an unknown frame, in a group with no frame open or under way."""
        clock = self.plan.clock
        return clock.lowest if self.watermark is None else clock.after(self.watermark - self.plan.before)

    def _needed_from(self) -> Array:
        """Return, per known group, the least `on` that a frame not completely known may contain."""
        clock = self.plan.clock
        needed = np.full(len(self.directory), self._bound, clock.dtype)
        np.minimum.at(needed, self.under_way.group, self.under_way.on)
        going_on = ~self.open.final
        np.minimum.at(needed, self.open.group[going_on], clock.after(self.open.reach[going_on]))
        return needed

    def _forget(self, due: list[pa.Table]) -> None:
        """Release the rows that no frame can contain any more."""
        if self.plan.frames_known:
            return
        passed = due if self.plan.in_order else self.coming.passed(due, self.watermark)
        needed_from = self._needed_from()
        least = needed_from.min(initial=self._bound)
        self.kept.drop([piece for piece in self.kept.pieces if piece.high < least])
        # All kept rows are checked once their number has doubled; otherwise only those already read.
        all_of_it = self.kept.rows > 2 * self._looked_through + ROWS_A_PIECE
        still = [self._needed(table, needed_from) for table in passed]
        read = dict(self._read)
        for piece in [piece for piece in self.kept.pieces if all_of_it or piece in read]:
            table = read[piece] if piece in read else self.kept.read(piece)
            needed = self._needed(table, needed_from)
            if all_of_it or len(needed) < len(table):
                self.kept.drop([piece])
                still.append(needed)
        self.kept.keep(still)
        if all_of_it:
            self._looked_through = self.kept.rows

    def _needed(self, table: pa.Table, needed_from: Array) -> pa.Table:
        group = self._groups(table)
        # Buffered rows may belong to groups that were forgotten because they have no frame.
        more = np.full(len(self.directory) - needed_from.size, self._bound, needed_from.dtype)
        return table.filter(pa.array(self.coming.instants(table) >= np.append(needed_from, more)[group]))

    # The state as bytes.

    def _remembered(self) -> tuple[pa.Table, Open, Placed]:
        """Return the groups with frames, and these frames; other groups need no state, since rows carry their keys."""
        of_frames = np.concatenate([self.open.group, self.under_way.group])
        codes, place = np.unique(of_frames, return_inverse=True)
        if not self.plan.key_types:
            codes, place = np.zeros(1, np.int64), of_frames
        keys = {f"by{i}": key.take(pa.array(codes)) for i, key in enumerate(self.directory.keys())}
        groups = pa.table({"group": np.arange(codes.size), **keys})
        many = self.open.group.size
        return groups, self.open._replace(group=place[:many]), self.under_way._replace(group=place[many:])

    def save(self) -> bytes:
        """Return the state without the shelf."""
        about = {
            "version": VERSION,
            "plan": self.plan.asked,
            "watermark": self.watermark,
            "held": asdict(self.held),
            "next": [self.coming.next, self.kept.next],
            "looked_through": self._looked_through,
        }
        groups, opened, under_way = self._remembered()
        open_frames = columns_of("", opened)
        for j, kept in enumerate(self.states):
            open_frames |= kept.columns(f"aggregate{j}.")
        tables = [
            groups.replace_schema_metadata({"windrow": json.dumps(about)}),
            self.coming.index(),
            self.kept.index(),
            pa.table(columns_of("", under_way)),
            pa.table(open_frames),
        ]
        return save_tables(KIND, tables if self.rows is None else [*tables, self.rows])

    @classmethod
    def load(cls, plan: FillPlan, shelf: Shelf, data: bytes | None) -> Filler:
        """Return the saved bucket, or a new one."""
        filler = cls(plan, shelf)
        if data is None:
            return filler
        tables = saved_tables(data, KIND)
        about = about_of(tables[0])
        check_state(about, VERSION, plan.asked)
        with reading():
            filler._restore(about, *tables)
        return filler

    def _restore(
        self,
        about: dict[str, Any],
        groups: pa.Table,
        coming: pa.Table,
        kept: pa.Table,
        under_way: pa.Table,
        open_frames: pa.Table,
        *rows: pa.Table,
    ) -> None:
        self.directory.restore([groups.column(key) for key in self.plan.keys], groups.num_rows)
        self.coming.restore(coming, about["next"][0])
        self.kept.restore(kept, about["next"][1])
        self.under_way = fields_of("", self.under_way, under_way)
        self.open = fields_of("", self.open, open_frames)
        for name, placed in (("frames under way", self.under_way), ("open frames", self.open)):
            check_indices(f"groups of {name}", placed.group, groups.num_rows)
        self.states = [k.empty(0).read(f"aggregate{j}.", open_frames) for j, k in enumerate(self.plan.accumulators)]
        self.rows = rows[0] if rows else None
        if self.plan.frame_columns:
            travels = 0 if self.rows is None else self.rows.num_rows
            check_that(travels == self.open.group.size, f"rows for {self.open.group.size} open frames, got {travels}")
        self.watermark, self._looked_through = about["watermark"], about["looked_through"]
        self.held = Held(**about["held"])


def filling_told(data: bytes) -> dict[str, Any]:
    """Return statistics of the rows that a saved bucket held."""
    groups, coming, kept, _, open_frames, *_ = saved_tables(data, KIND)
    held = Held(**about_of(groups)["held"])
    return {
        "held": sum(coming["rows"].to_pylist()) + sum(kept["rows"].to_pylist()),
        "open": open_frames.num_rows,
        "progresses": held.steps,
        "held_max": held.most,
        "held_mean": held.total / held.steps if held.steps else None,
        "frames": held.frames,
        "at_frames_max": held.most_at_frames,
        "at_frames_mean": held.total_at_frames / held.frames if held.frames else None,
    }


class FrameRuns(NamedTuple):
    """An order of rows in which those of one frame are adjacent, and the position where each frame begins."""

    order: npt.NDArray[np.int64]
    begins: npt.NDArray[np.int64]

    @property
    def first(self) -> npt.NDArray[np.int64]:
        """The first row of each frame."""
        rows: npt.NDArray[np.int64] = self.order[self.begins]
        return rows

    @property
    def last(self) -> npt.NDArray[np.int64]:
        """The last row of each frame."""
        rows: npt.NDArray[np.int64] = self.order[np.append(self.begins[1:], self.order.size) - 1]
        return rows

    def last_of(self, these: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """Return, per frame, the last row among `these`, or an arbitrary one if there is none."""
        place = np.where(these[self.order], np.arange(self.order.size), 0)
        rows: npt.NDArray[np.int64] = self.order[np.maximum.reduceat(place, self.begins)]
        return rows


def _or(values: Values, otherwise: Any) -> Array:
    """Return the numbers, with `otherwise` in place of nulls."""
    return np.where(values.valid, values.numbers, otherwise) if values.valid.size else values.numbers
