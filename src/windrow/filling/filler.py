"""Filling on streams: frames and rows in as they arrive, tagged rows or filled frames out.

A `Filler` handles a *bucket*, a share of the stream's groups. Streaming rows are matched on arrival if they are tagged,
and in order, as the watermark passes them, if they are aggregated. `held.py` shows what is held, and what releases it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.engine.accumulator import read_values
from windrow.arrays import Array
from windrow.filling.codec import load_held, save_held
from windrow.filling.held import Held, ReadPiece
from windrow.filling.open_frames import Spans
from windrow.filling.plan import FillPlan
from windrow.filling.sweep import Indices, Pairs, Placed, pairs_of
from windrow.rows.buffers.waiting import Shelf
from windrow.rows.clock import LARGEST
from windrow.rows.ordering import sorted_as_spark


@dataclass
class FillCounts:
    """The rows and frames that arrived in one step, and how many of them were late."""

    rows: int = 0
    frames: int = 0
    late: int = 0


class Filler:
    """The filler of one bucket of a stream's groups."""

    def __init__(self, plan: FillPlan, shelf: Shelf) -> None:
        self.plan = plan
        self.held = Held(plan, shelf)
        self.counts = FillCounts()

    @classmethod
    def load(cls, plan: FillPlan, shelf: Shelf, data: bytes | None) -> Filler:
        """Return the filler of a saved bucket, or of a new one."""
        filler = cls(plan, shelf)
        filler.held = load_held(plan, shelf, data)
        return filler

    def save(self) -> bytes:
        """Return the state of the bucket, without the pieces on its shelf."""
        return save_held(self.held)

    def step(
        self,
        rows: Iterable[pa.Table],
        frames: Iterable[pa.Table],
        watermark: int | None,
        under_way: pa.Table | None = None,
    ) -> list[pa.Table]:
        """Take in new rows and frames, advance to the watermark, and return rows of the result.

        `under_way` lists the groups with frames of which nothing has been reported yet, and their starts; None if
        unchanged.
        """
        held = self.held
        fresh = [*self._on_time(rows)]
        pieces = self._not_late(frames)
        if under_way is not None:
            starts = self.plan.clock.read(under_way.column("start")).numbers
            held.under_way = Placed(held.groups(under_way), starts)
        held.stats.note(held.rows + sum(map(len, fresh)), sum(map(len, pieces)))
        results, read = self._match_held(self._add_frames(pieces))
        due = held.ahead.passed(fresh, watermark) if self.plan.in_order else fresh
        results += self._match(due, held.open.spans, held.open.spans.start)
        held.watermark = held.watermark if watermark is None else watermark
        results += self._finished()
        self._hold(due, read)
        return [table for table in results if table.num_rows]

    def take_table(self, rows: Iterable[pa.Table], frames: Iterable[pa.Table]) -> None:
        """Take in a side that is a table, before the stream starts."""
        for table in rows:
            self.held.groups(table)
            self.held.ahead.keep([table], most=len(table))
        self._add_frames(self._not_late(frames))

    def finish(self, frames: Iterable[pa.Table] = ()) -> list[pa.Table]:
        """End the stream with these last frames: match the buffered rows and return the remaining frames."""
        held = self.held
        results = self.step([], frames, None)
        due = [*held.ahead.take()] if self.plan.in_order else []
        results += self._match(due, held.open.spans, held.open.spans.start)
        held.open.close_all()
        held.watermark = LARGEST
        results += self._finished()
        held.release_all()
        return [table for table in results if table.num_rows]

    # Arriving.

    def _on_time(self, rows: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """Yield the rows that are not late."""
        watermark = self.held.watermark
        for table in rows:
            self.counts.rows += table.num_rows
            if watermark is not None:
                late = self.held.instants(table) <= watermark
                self.counts.late += int(late.sum())
                table = table.filter(pa.array(~late)) if late.any() else table
            self.held.groups(table)
            yield table

    def _not_late(self, frames: Iterable[pa.Table]) -> list[pa.Table]:
        """Drop frames that start where rows may be gone; fragments of an open frame are never late."""
        pieces = [table for table in frames if table.num_rows]
        if not pieces:
            return []
        table = pa.concat_tables(pieces).combine_chunks()
        self.counts.frames += table.num_rows
        group = self.held.groups(table)
        start = self.plan.clock.read(table.column("start"))
        on_time = start.numbers >= self.held.needed_from()[group]
        if start.valid.size:
            on_time &= start.valid
        if not on_time.all():
            on_time |= self._continues(table, group, on_time)
            self.counts.late += int((~on_time).sum())
        return [table.filter(pa.array(on_time))] if on_time.any() else []

    def _continues(self, pieces: pa.Table, group: Indices, on_time: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return which pieces are later fragments of a frame that is open, or of one that arrives on time with them."""
        spans, number = self.held.open.spans, pieces.column("number").to_numpy()
        may_extend = ~spans.final
        frames = {*zip(spans.group[may_extend].tolist(), spans.number[may_extend].tolist(), strict=True)}
        frames |= {*zip(group[on_time].tolist(), number[on_time].tolist(), strict=True)}
        continues: npt.NDArray[np.bool_] = ~on_time & (pieces.column("fragment").to_numpy() > 0)
        for i in np.flatnonzero(continues):
            continues[i] = (int(group[i]), int(number[i])) in frames
        return continues

    def _add_frames(self, pieces: list[pa.Table]) -> Array:
        """Open frames and extend open ones; return, per open frame, the first `on` that is not matched yet."""
        if not pieces:
            return np.asarray(self.plan.clock.after(self.held.open.spans.reach))
        (table,) = pieces
        return self.held.open.add(table, self.held.groups(table))

    # Matching.

    def _match_held(self, begins: Array) -> tuple[list[pa.Table], list[ReadPiece]]:
        """Match the new part of each frame with the rows held; also return the pieces read from behind the watermark.

        `begins` has, per open frame, the first `on` that is not matched yet.
        """
        held, read = self.held, []
        extended = np.flatnonzero(held.open.spans.reach >= begins)
        if not extended.size:
            return [], []
        frames, begins = held.open.spans.take(extended), begins[extended]
        tables = []
        for shelf in (held.behind,) if self.plan.in_order else (held.behind, held.ahead):
            for piece in shelf.pieces:
                if ((begins <= piece.high) & (frames.reach >= piece.low)).any():
                    tables.append(shelf.read(piece))
                    if shelf is held.behind:
                        read.append(ReadPiece(piece, tables[-1]))
        return self._match(tables, frames, begins, extended), read

    def _match(
        self, tables: Sequence[pa.Table], frames: Spans, begins: Array, slots: Indices | None = None
    ) -> list[pa.Table]:
        """Tag rows with the frames that contain them, or add them to the frames' aggregates at `slots`."""
        tables = [table for table in tables if table.num_rows]
        if not tables or not frames.group.size:
            return []
        table = pa.concat_tables(tables).combine_chunks()
        if self.plan.accumulators:
            ties = dict.fromkeys(name for name in (*self.plan.ties, *self.plan.values) if name)
            table = table.take(pa.array(sorted_as_spark([table.column(name) for name in ("on", *ties)])))
        rows = Placed(self.held.groups(table), self.held.instants(table))
        pairs = pairs_of(rows, Placed(frames.group, begins), frames.reach, self.plan.tuning)
        if self.plan.accumulators:
            in_slots = pairs if slots is None else (Pairs(some.row, slots[some.slot]) for some in pairs)
            self.held.open.accumulate(in_slots, read_values(self.plan.accumulators, self.plan.values, table, rows.on))
            return []
        tagged = table.select(self.plan.row_columns)
        return [
            tagged.take(pa.array(some.row)).append_column("frame", pa.array(frames.number[some.slot])) for some in pairs
        ]

    # Releasing.

    def _finished(self) -> list[pa.Table]:
        """Remove the frames that can receive no further row, and return them filled."""
        spans, watermark = self.held.open.spans, self.held.watermark
        if self.plan.rows_are_table:
            return self.held.open.remove(spans.final)
        return [] if watermark is None else self.held.open.remove(spans.final & (spans.reach <= watermark))

    def _hold(self, due: list[pa.Table], read: list[ReadPiece]) -> None:
        """Hold the rows that a frame may still contain, and release those that none can."""
        if not self.plan.frames_are_table:
            passed = due if self.plan.in_order else self.held.ahead.passed(due, self.held.watermark)
            self.held.release(passed, read)
