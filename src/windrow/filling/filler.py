"""Filling frames in a stream: frames and tuples in as they arrive, tagged tuples or finished frames out.

A `Filler` has some of a stream's groups, a *bucket*. It keeps frames until no further tuple can be in them, and tuples
until no further frame can have them. Who knows that is punctuation: of the tuples, the watermark; of the frames, the
watermark too, but for the groups that are known to have a frame under way. Fragments need no rule of their own: a piece
tells how far its frame reaches already, so its tuples are matched and forgotten while the frame goes on. Of the groups,
only those with frames are remembered; a row that waits brings its key along.
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
"""The kind of a saved bucket."""


@dataclass(frozen=True)
class FillPlan:
    """What is filled with what, and which side is a table, known whole from the start.

    Tuples arrive with the columns `by0`, `by1`, … of their group, `on`, and those named here; pieces of frames with the
    columns of their group, `number`, `start`, `end`, `fragment`, `final`, and those named here.
    """

    clock: Clock
    key_types: tuple[pa.DataType, ...]
    accumulators: tuple[Accumulator, ...]
    """What aggregates; without any, tuples are tagged."""
    values: tuple[str | None, ...]
    """The columns of the aggregates, one after the other; None for a count of tuples."""
    ties: tuple[str, ...]
    """The columns that order tuples with the same `on`."""
    tuple_columns: tuple[str, ...]
    """What a tagged tuple consists of."""
    frame_columns: tuple[str, ...]
    """What a filled frame consists of, before its aggregates."""
    frame_roles: dict[str, str]
    """Which of them are `start`, `end` and `count`: of a frame in pieces, they are those of all its pieces."""
    asked: dict[str, str]
    """What the state depends on: with anything else it would mean something else."""
    frames_known: bool = False
    tuples_known: bool = False
    before: int | float = 0
    """How far before the watermark a frame may start that nothing is known of: as far as starts were moved back."""

    @property
    def keys(self) -> list[str]:
        """Under which names the values of a group arrive."""
        return [f"by{i}" for i in range(len(self.key_types))]

    @property
    def in_order(self) -> bool:
        """Whether tuples are matched as the watermark passes them, and not when they arrive: aggregates need that."""
        return bool(self.accumulators) and not self.tuples_known


@dataclass
class Held:
    """How many tuples a bucket held, over all progresses and over all frames that came: in all, and at most."""

    steps: int = 0
    total: int = 0
    most: int = 0
    frames: int = 0
    total_at_frames: int = 0
    most_at_frames: int = 0

    def note(self, held: int, frames: int) -> None:
        """A progress with so many tuples held, in which so many frames arrived."""
        self.steps, self.total, self.most = self.steps + 1, self.total + held, max(self.most, held)
        if frames:
            self.frames, self.total_at_frames = self.frames + frames, self.total_at_frames + frames * held
            self.most_at_frames = max(self.most_at_frames, held)


@dataclass
class FillCounts:
    """What happened in one progress."""

    tuples: int = 0
    frames: int = 0
    late: int = 0


class Open(NamedTuple):
    """The frames that may still get tuples: where they start, how far they are known to reach, if that is their end."""

    group: npt.NDArray[np.int64]
    number: npt.NDArray[np.int64]
    start: Array
    reach: Array
    final: npt.NDArray[np.bool_]

    def take(self, rows: npt.NDArray[Any]) -> Open:
        """Some of the frames."""
        return Open(*(column[rows] for column in self))


@dataclass
class Filler:
    """One bucket of a stream's groups."""

    plan: FillPlan
    shelf: Shelf
    watermark: int | None = None
    """Tuples up to here are late; None before the first."""
    held: Held = field(default_factory=Held)
    counts: FillCounts = field(default_factory=FillCounts)

    def __post_init__(self) -> None:
        clock = self.plan.clock
        self.directory = Directory(self.plan.key_types)
        self.coming = TimedShelf(self.shelf, clock, "on", 0, 2)
        """Tuples that the watermark has not passed."""
        self.kept = TimedShelf(self.shelf, clock, "on", 1, 2)
        """Tuples that it has passed, and that a frame may still have."""
        self.open = Open(
            np.empty(0, np.int64),
            np.empty(0, np.int64),
            np.empty(0, clock.dtype),
            np.empty(0, clock.dtype),
            np.empty(0, np.bool_),
        )
        self.rows: pa.Table | None = None
        """What travels with the open frames; None before the first."""
        self.states = [accumulator.empty(0) for accumulator in self.plan.accumulators]
        self.under_way = Placed(np.empty(0, np.int64), np.empty(0, clock.dtype))
        """The groups that have frames under way of which nothing arrived yet, and where the first of these starts."""
        self._looked_through = 0
        self._read: list[tuple[Waiting, pa.Table]] = []

    def step(
        self,
        tuples: Iterable[pa.Table],
        frames: Iterable[pa.Table],
        watermark: int | None,
        under_way: pa.Table | None = None,
    ) -> list[pa.Table]:
        """Take in what arrived and go on to the watermark: the rows of the result.

        `under_way` has the groups with frames that nothing was told of yet, and where these start; None if that is as
        it was.
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
        """Take in a table that is there before the stream begins."""
        for table in tuples:
            self._groups(table)
            self.coming.keep([table], most=len(table))
        self._meet(self._not_late(frames))

    def finish(self, frames: Iterable[pa.Table] = ()) -> list[pa.Table]:
        """The stream is over, with these frames as its last: match what waits, and give the frames that are left."""
        found = self.step([], frames, None)
        found += self._match([*self.coming.take()] if self.plan.in_order else [], self.open, self.open.start)
        self.open = self.open._replace(final=np.ones(self.open.final.size, np.bool_))
        self.watermark = LARGEST
        found += self._finished()
        self.coming.drop(self.coming.pieces)
        self.kept.drop(self.kept.pieces)
        return [table for table in found if table.num_rows]

    def next_event(self) -> int | None:
        """The watermark at which there is something to do even if nothing arrives; None if there is nothing."""
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
        """Without frames that start where tuples may be gone; of a frame that goes on no piece is late."""
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
        """Take in pieces of frames. For each open frame: from where on it reaches further than before."""
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
        # A frame that came whole stands alone: another of its number in its group is another frame.
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
        """What travels with each open frame: start, end and count of all its pieces, the rest of its last one."""
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
        """The frames that can get no further tuple; they are forgotten."""
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
        """Match what is new of each frame with the tuples that were there before."""
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
        """Tag tuples with the frames they are in, or add them to the frames' aggregates, which are at `slots`."""
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
        """Say which frame has too many values."""

        def which(k: int) -> str:
            start = self.plan.clock.write(pa.array(frames.start[k : k + 1]))[0].as_py()
            return described("the frame", self.directory.key(int(frames.group[k])), start)

        return naming(which)

    # Forgetting.

    @property
    def _bound(self) -> Any:
        """The least `on` of a frame of which nothing is known, in a group without any that is open or under way."""
        clock = self.plan.clock
        return clock.lowest if self.watermark is None else clock.after(self.watermark - self.plan.before)

    def _needed_from(self) -> Array:
        """For each group at hand, the least `on` that a frame can have of which not all is known."""
        clock = self.plan.clock
        needed = np.full(len(self.directory), self._bound, clock.dtype)
        np.minimum.at(needed, self.under_way.group, self.under_way.on)
        going_on = ~self.open.final
        np.minimum.at(needed, self.open.group[going_on], clock.after(self.open.reach[going_on]))
        return needed

    def _forget(self, due: list[pa.Table]) -> None:
        """Keep only tuples that a frame may still have."""
        if self.plan.frames_known:
            return
        passed = due if self.plan.in_order else self.coming.passed(due, self.watermark)
        needed_from = self._needed_from()
        least = needed_from.min(initial=self._bound)
        self.kept.drop([piece for piece in self.kept.pieces if piece.high < least])
        # Once what waits here has doubled, all of it is looked through; else only what was read anyhow.
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
        # The rows that wait may be of groups that were forgotten since they have nothing open.
        more = np.full(len(self.directory) - needed_from.size, self._bound, needed_from.dtype)
        return table.filter(pa.array(self.coming.instants(table) >= np.append(needed_from, more)[group]))

    # The state as bytes.

    def _remembered(self) -> tuple[pa.Table, Open, Placed]:
        """The groups that have a frame, with these frames; any other is as if never seen, as its rows have its key."""
        of_frames = np.concatenate([self.open.group, self.under_way.group])
        codes, place = np.unique(of_frames, return_inverse=True)
        if not self.plan.key_types:
            codes, place = np.zeros(1, np.int64), of_frames
        keys = {f"by{i}": key.take(pa.array(codes)) for i, key in enumerate(self.directory.keys())}
        groups = pa.table({"group": np.arange(codes.size), **keys})
        many = self.open.group.size
        return groups, self.open._replace(group=place[:many]), self.under_way._replace(group=place[many:])

    def save(self) -> bytes:
        """All but the shelf."""
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
        """The bucket as it was saved, or a new one."""
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
    """What a saved bucket tells of the tuples that it held."""
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
    """Rows in an order in which those of one frame follow each other, and where in it each frame begins."""

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
        """Of each frame the last row that is one of these, or any if none is."""
        place = np.where(these[self.order], np.arange(self.order.size), 0)
        rows: npt.NDArray[np.int64] = self.order[np.maximum.reduceat(place, self.begins)]
        return rows


def _or(values: Values, otherwise: Any) -> Array:
    """The numbers, with something else for nulls."""
    return np.where(values.valid, values.numbers, otherwise) if values.valid.size else values.numbers
