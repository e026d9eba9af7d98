"""The open frames of a bucket: those that may still receive rows, with their aggregates so far.

A frame arrives whole or in fragments. The fragments of a frame are merged into one span as they arrive.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.engine.accumulator import described, naming
from windrow.aggregates.over_time.clock import Extents
from windrow.arrays import Array, Values, read_numbers
from windrow.filling.plan import FillPlan
from windrow.filling.sweep import Indices, Pairs
from windrow.rows.groups import Directory


class Spans(NamedTuple):
    """Frames: group, number, start, reach so far, and whether that reach is final. Saved states use these names."""

    group: Indices
    number: Indices
    start: Array
    reach: Array
    final: npt.NDArray[np.bool_]

    @classmethod
    def empty(cls, dtype: np.dtype[Any]) -> Spans:
        """Return no frames, on a clock of this type."""
        return cls(
            np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, dtype), np.empty(0, dtype), np.empty(0, np.bool_)
        )

    def take(self, indices: npt.NDArray[Any]) -> Spans:
        """Return some of the frames."""
        return Spans(*(column[indices] for column in self))

    def followed_by(self, others: Spans) -> Spans:
        """Return these frames and then the others."""
        return Spans(*(np.concatenate(columns) for columns in zip(self, others, strict=True)))


class FrameRuns(NamedTuple):
    """An order of pieces in which those of one frame are adjacent, and the position where each frame begins."""

    order: Indices
    begins: Indices

    @classmethod
    def of(cls, pieces: Spans, fragment: Indices) -> FrameRuns:
        """Return the order of pieces with these fragment numbers; a frame that is already open has number -1."""
        # A frame that arrives whole is not merged with others: the same number in its group is a different frame.
        alone = np.where(pieces.final & (fragment <= 0), np.arange(1, fragment.size + 1), 0)
        order = np.lexsort((fragment, alone, pieces.number, pieces.group))
        identity = (pieces.group[order], pieces.number[order], alone[order])
        same = np.all([np.diff(column) == 0 for column in identity], axis=0)
        return cls(order, np.flatnonzero(np.concatenate([[True], ~same])))

    @property
    def first(self) -> Indices:
        """The first piece of each frame."""
        pieces: Indices = self.order[self.begins]
        return pieces

    @property
    def last(self) -> Indices:
        """The last piece of each frame."""
        pieces: Indices = self.order[np.append(self.begins[1:], self.order.size) - 1]
        return pieces

    def last_of(self, these: npt.NDArray[np.bool_]) -> Indices:
        """Return, per frame, the last piece among `these`, or an arbitrary piece if none is among them."""
        place = np.where(these[self.order], np.arange(self.order.size), 0)
        pieces: Indices = self.order[np.maximum.reduceat(place, self.begins)]
        return pieces

    def merged(self, pieces: Spans) -> Spans:
        """Return one span per frame: from the least start to the farthest reach of its pieces."""
        pieces = pieces.take(self.order)
        return Spans(
            pieces.group[self.begins],
            pieces.number[self.begins],
            np.minimum.reduceat(pieces.start, self.begins),
            np.maximum.reduceat(pieces.reach, self.begins),
            np.logical_or.reduceat(pieces.final, self.begins),
        )


class OpenFrames:
    """The frames that may still receive rows, with their result columns and the states of their aggregates."""

    def __init__(self, plan: FillPlan, directory: Directory) -> None:
        self._plan, self._directory = plan, directory
        self.spans = Spans.empty(plan.clock.dtype)
        self.columns: pa.Table | None = None
        """The result columns of the frames; None before the first frame."""
        self.states = [accumulator.empty(0) for accumulator in plan.accumulators]

    def add(self, pieces: pa.Table, group: Indices) -> Array:
        """Add frames and fragments; return, per open frame, the first `on` that no row has been matched with."""
        clock, before = self._plan.clock, self.spans
        start, end = (clock.read(pieces.column(name)) for name in ("start", "end"))
        new = Spans(
            group,
            pieces.column("number").to_numpy(),
            _or(start, clock.greatest),
            _or(end, clock.lowest),
            pieces.column("final").to_numpy(),
        )
        every = before.followed_by(new)
        fragment = np.concatenate([np.full(before.group.size, -1), pieces.column("fragment").to_numpy()])
        runs = FrameRuns.of(every, fragment)
        self.spans = runs.merged(every)
        if self._plan.frame_columns:
            self.columns = self._merged_columns(pieces.select(self._plan.frame_columns), runs, end.valid)
        first = runs.first
        was_open = first < before.group.size
        self._reorder_states(first, was_open)
        begins = self.spans.start.copy()
        begins[was_open] = clock.after(before.reach[first[was_open]])
        return begins

    def _reorder_states(self, first: Indices, was_open: npt.NDArray[np.bool_]) -> None:
        """Give each frame the state it had before, or a new one."""
        for j, accumulator in enumerate(self._plan.accumulators):
            states = accumulator.extended(self.states[j].keep(first[was_open]), first.size)
            self.states[j] = states.keep(np.argsort(np.argsort(~was_open, kind="stable")))

    def _merged_columns(self, new: pa.Table, runs: FrameRuns, has_end: npt.NDArray[np.bool_]) -> pa.Table:
        """Return the result columns per frame: `start`, `end`, `count` of all pieces, the rest of the last piece."""
        before = 0 if self.columns is None else len(self.columns)
        every = new if self.columns is None else pa.concat_tables([self.columns, new])
        merged = every.take(pa.array(runs.last))
        ends = np.ones(len(every), np.bool_)
        if has_end.size:
            ends[before:] = has_end
        chosen = {"start": runs.first, "end": runs.last_of(ends)}
        for role, name in self._plan.frame_roles.items():
            at = merged.schema.get_field_index(name)
            if role == "count":
                counts = read_numbers(every.column(name), np.dtype(np.int64)).numbers[runs.order]
                column = pa.array(np.add.reduceat(counts, runs.begins)).cast(every.schema.field(name).type)
            else:
                column = every.column(name).take(pa.array(chosen[role]))
            merged = merged.set_column(at, merged.schema.field(at), column)
        return merged.combine_chunks()

    def accumulate(self, pairs: Iterable[Pairs], values: Sequence[Values]) -> None:
        """Add rows to the aggregates of the frames that contain them; slots are positions among the open frames."""
        for some in pairs:
            for accumulator, states, column in zip(self._plan.accumulators, self.states, values, strict=True):
                with self._naming(self.spans):
                    accumulator.accumulate(states, some.slot.reshape(-1, 1), column.at(some.row))

    def close_all(self) -> None:
        """Make the reach of every frame final, as at the end of a stream."""
        self.spans = self.spans._replace(final=np.ones(self.spans.final.size, np.bool_))

    def remove(self, done: npt.NDArray[np.bool_]) -> list[pa.Table]:
        """Remove the frames marked in `done` and return them filled; when rows are tagged, nothing is returned."""
        if not done.any():
            return []
        gone, left = np.flatnonzero(done), np.flatnonzero(~done)
        results = []
        if self.columns is not None:
            filled, spans = self.columns.take(pa.array(gone)), self.spans.take(gone)
            for j, accumulator in enumerate(self._plan.accumulators):
                with self._naming(spans):
                    results_of_frames = accumulator.finish(self.states[j].take(gone), Extents(spans.start, spans.reach))
                filled = filled.append_column(f"aggregate{j}", results_of_frames)
            results.append(filled)
            self.columns = self.columns.take(pa.array(left))
        self.spans = self.spans.take(left)
        self.states = [states.keep(left) for states in self.states]
        return results

    def _naming(self, frames: Spans) -> AbstractContextManager[None]:
        """Return a context that adds the frame to the error about too many values."""

        def which(k: int) -> str:
            start = self._plan.clock.write(pa.array(frames.start[k : k + 1]))[0].as_py()
            return described("the frame", self._directory.key(int(frames.group[k])), start)

        return naming(which)


def _or(values: Values, otherwise: Any) -> Array:
    """Return the numbers, with `otherwise` in place of nulls."""
    return np.where(values.valid, values.numbers, otherwise) if values.valid.size else values.numbers
