"""Fragments: the pieces of frames that are still open, reported as they grow.

A frame that is certain to qualify can be reported before it ends. Each report emits its new rows as a fragment. The
fragments of a frame are disjoint and in order, and their union is the frame. With `min_count=2`:

    rows of the frame    --o-----|--o----o--|--o-------|-------x   the row that ends the frame
    reports                      1          2          3
    emitted              nothing,    fragment 0, fragment 1,   fragment 2,
                         too short   3 rows      1 row         0 rows, final

A fragment has its own `start`, `end` and `count`; the user's aggregates cover the frame so far. Three hidden aggregates
per record, after the user's, describe the fragment in progress:

    START     `on` of its first row      cleared by each report
    COUNT     its number of rows         cleared by each report
    FRAGMENT  its number                 set by each report; null, meaning 0, before the first
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates import AggregateFunction
from windrow.aggregates.counting import Count
from windrow.aggregates.ends import First
from windrow.aggregates.engine.accumulator import Accumulator
from windrow.aggregates.engine.states import States
from windrow.aggregates.over_time.clock import Extents
from windrow.arrays import ALL_VALID, Values
from windrow.framing.framer import Framer, Frames
from windrow.framing.schemes.base import Scheme
from windrow.rows.clock import Clock
from windrow.rows.query import RowBatch

START, COUNT, FRAGMENT = -3, -2, -1
"""The positions of the hidden aggregates, after the user's."""


@dataclass(frozen=True)
class Fragments:
    """Fragments of frames, one per row; `start` is null and `count` 0 if a frame ended without a further row."""

    frames: Frames
    start: pa.Array
    count: pa.Array
    fragment: pa.Array
    final: bool


class FragmentFramer(Framer):
    """A framer that can report open frames in fragments.

    >>> import numpy as np, pyarrow as pa, windrow as wr
    >>> framer = FragmentFramer(wr.Threshold("hot", min_count=2), Clock.of(pa.int64(), "t"), {}, [])
    >>> def see(on, hot):
    ...     hit = Values(np.array(hot), np.empty(0, bool))
    ...     return framer.ended(
    ...         framer.process(RowBatch(np.zeros(len(on), int), np.array(on), {"hit": hit}, []))
    ...     )
    >>> len(see([1], [True]).frames), len(framer.report().frames)
    (0, 0)
    >>> len(see([2], [True]).frames), framer.report().count.to_pylist()
    (0, [2])
    >>> last = see([3, 4], [True, False])
    >>> last.start.to_pylist(), last.count.to_pylist(), last.fragment.to_pylist()
    ([3], [1], [1])
    """

    def __init__(
        self,
        scheme: Scheme,
        clock: Clock,
        types: Mapping[str, pa.DataType],
        aggregates: Sequence[AggregateFunction],
        labels: int = 0,
    ) -> None:
        super().__init__(scheme, clock, types, aggregates, labels)
        self.accumulators += [
            Accumulator(First("on"), clock.type),
            Accumulator(Count("on"), pa.int64()),
            Accumulator(First("on"), pa.int64()),
        ]
        self.clear()

    def process(self, rows: RowBatch) -> Frames:
        """Frame the next rows, and track what each frame gained since its last report."""
        n = rows.on.size
        on = Values(rows.on, ALL_VALID)
        values = [*rows.values, on, Values(np.zeros(n, np.int64), ALL_VALID), _nothing(n)]
        return super().process(RowBatch(rows.group, rows.on, rows.inputs, values))

    def ended(self, frames: Frames, *, final: bool = True) -> Fragments:
        """Return the last fragments of frames that ended or, unless `final`, others of open ones."""
        *results, start, count, fragment = frames.aggregates
        return Fragments(replace(frames, aggregates=tuple(results)), start, count, fragment.fill_null(0), final)

    def report(self) -> Fragments:
        """Return the new fragments of open frames that are certain to qualify, and number these frames."""
        sure = self.states[COUNT].seen > 0
        sure[sure] = self.scheme.is_sure(self.records.take(np.flatnonzero(sure)), self.clock)
        reported = np.flatnonzero(sure)
        fresh = reported[self.records.number[reported] < 0]
        groups = self.records.group[fresh]
        self.records.number[fresh] = self.groups.next[groups]
        self.groups.next[groups] += 1
        records = self.records.take(reported)
        records.complete[:] = False
        results = tuple(
            accumulator.finish(states.take(reported), Extents(records.start, records.end))
            for accumulator, states in zip(self.accumulators, self.states, strict=True)
        )
        pieces = self.ended(Frames(records, results, np.zeros(reported.size, np.bool_)), final=False)
        self._restart(reported, pieces.fragment.to_numpy(zero_copy_only=False) + 1)
        return pieces

    def _restart(self, records: npt.NDArray[np.int64], fragments: npt.NDArray[np.int64]) -> None:
        for place in (START, COUNT, FRAGMENT):
            self.states[place].put(records, self.accumulators[place].empty(records.size))
        self.states[FRAGMENT].put(records, fragment_numbers(fragments))


def fragment_numbers(numbers: npt.NDArray[np.int64]) -> States:
    """Return states of the hidden aggregate `FRAGMENT` with the given numbers."""
    return States(np.ones_like(numbers), np.column_stack([np.ones_like(numbers), numbers]))


def _nothing(n: int) -> Values:
    """Return `n` null values."""
    return Values(np.zeros(n, np.int64), np.zeros(n, np.bool_))
