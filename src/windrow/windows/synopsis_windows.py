"""Windows stored by synopses: one synopsis per group, instead of states per pane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.aggregates.engine.accumulator import Accumulator
from windrow.arrays import Values
from windrow.errors import DataError
from windrow.state.checks import check_that
from windrow.synopses import Synopsis
from windrow.windows.ranges import Indices, Ranges
from windrow.windows.specs import Shape
from windrow.windows.synopsis_spec import Keep


class SynopsisWindows:
    """One aggregate over windows of one kind, for all groups. Values are buffered until a window past them is due."""

    def __init__(self, keep: Keep, accumulator: Accumulator, shape: Shape, pane: int) -> None:
        self.keep, self.accumulator, self.shape, self.pane = keep, accumulator, shape, pane
        self.synopses: dict[int, Synopsis] = {}
        self._waiting: list[tuple[Indices, Indices, npt.NDArray[Any]]] = []

    def add(self, group: Indices, place: Indices, values: Values) -> None:
        """Take in values, in order per group; `place` is their `on`, or their number in the group."""
        x = values.numbers
        if values.valid.size:
            if self.keep.counts(self.shape):
                column = self.accumulator.aggregate.column
                raise DataError(
                    f"using: {self.keep.synopsis} stores a number of values, but column {column!r} has nulls, whose "
                    "rows count too; drop them first, or choose a synopsis that supports time-based windows"
                )
            group, place, x = (column[values.valid] for column in (group, place, x))
        if place.dtype != np.int64:
            # Windows start and end at integers, so the fraction makes no difference.
            place = np.floor(place).astype(np.int64)
        # A window excludes its end, but a retention includes the moment of the query: shift by one.
        self._waiting.append((group, place + 1, x))

    def results(self, ranges: Ranges) -> pa.Array:
        """Return the answers for windows that are due, sorted by group and end."""
        group, place, x = self._buffered()
        answers: list[pa.Array] = []
        left = np.ones(group.size, np.bool_)
        groups, begins = np.unique(ranges.group, return_index=True)
        moments = ranges.end * self.pane
        first, last = (np.searchsorted(group, groups, side).tolist() for side in ("left", "right"))
        for g, mine, a, b in zip(groups.tolist(), np.split(moments, begins[1:]), first, last, strict=True):
            b = a + int(np.searchsorted(place[a:b], mine[-1], "right"))
            of_group = self._synopsis(g).answers(place[a:b], x[a:b], mine)
            if self.keep.counts(self.shape) and (a == b or place[b - 1] < mine[-1]):
                # The end of the data cut the last window: it has fewer rows than the synopsis stores, which cannot
                # answer for these rows alone.
                of_group = pa.concat_arrays([of_group[:-1], pa.nulls(1, of_group.type)])
            answers.append(of_group)
            left[a:b] = False
        self._waiting = [(group[left], place[left], x[left])]
        return self._typed(answers)

    def _buffered(self) -> tuple[Indices, Indices, npt.NDArray[Any]]:
        """Return all buffered values by group; values of a group keep their order."""
        if not self._waiting:
            return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, self.accumulator.dtype)
        group, place, x = (np.concatenate(parts) for parts in zip(*self._waiting, strict=True))
        order = np.argsort(group, kind="stable")
        return group[order], place[order], x[order]

    def _synopsis(self, group: int) -> Synopsis:
        if group not in self.synopses:
            self.synopses[group] = self.keep.make(self.accumulator, self.shape)
        return self.synopses[group]

    def _typed(self, answers: Sequence[pa.Array]) -> pa.Array:
        """Return the answers of all groups in the type of the result; NaN remains NaN, not null."""
        kind = self.accumulator.result
        if len({part.type for part in answers}) > 1:
            answers = [part.cast(kind) for part in answers]
        whole = pa.concat_arrays(answers) if answers else pa.nulls(0)
        if pa.types.is_integer(kind) and pa.types.is_floating(whole.type):
            whole = pc.round(whole)
        return whole.cast(kind)

    # The state as Arrow.

    def tables(self) -> list[pa.Table]:
        """Return the synopses and the buffered values as tables."""
        group, place, x = self._buffered()
        saved = {"group": list(self.synopses), "data": [s.save() for s in self.synopses.values()]}
        kinds = pa.schema([("group", pa.int64()), ("data", pa.binary())])
        return [pa.table(saved, schema=kinds), pa.table({"group": group, "place": place, "x": x})]

    def adopt(self, tables: Sequence[pa.Table]) -> None:
        """Take over the synopses and buffered values of groups that have none here."""
        saved, waiting = tables
        for group, data in zip(saved["group"].to_pylist(), saved["data"].to_pylist(), strict=True):
            check_that(group not in self.synopses, "the synopsis of each group once")
            self._synopsis(group).load(data)
        group, place, x = (np.array(waiting.column(name).to_numpy()) for name in ("group", "place", "x"))
        check_that(group.dtype == place.dtype == np.int64 and x.dtype == self.accumulator.dtype, "numbers of its types")
        self._waiting.append((group, place, x))
