"""Fragments: the pieces of frames that are still open, reported as they grow.

A frame that is sure to qualify need not be held back until it ends. At each progress its new tuples are reported as a
fragment; the pieces of a frame are disjoint, in order, and their union is the frame. What a piece is made of is kept by
three aggregates that no user sees: its first tuple, how many it has, and how many pieces came before it.
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
from windrow.arrays import ALL_VALID, Values
from windrow.framing.framer import Framer, Frames
from windrow.framing.schemes.base import Scheme
from windrow.rows.clock import Clock
from windrow.rows.query import RowBatch

START, COUNT, FRAGMENT = -3, -2, -1
"""Where the piece's aggregates are, after the user's."""


@dataclass(frozen=True)
class Fragments:
    """Pieces of frames, one a row: `start` is null and `count` 0 where a frame ended without a further tuple."""

    frames: Frames
    start: pa.Array
    count: pa.Array
    fragment: pa.Array
    final: bool


class FragmentFramer(Framer):
    """A framer that can report frames piece by piece.

    >>> import numpy as np, pyarrow as pa, windrow as wr
    >>> framer = FragmentFramer(wr.Threshold("hot", min_count=2), Clock.of(pa.int64(), "t"), {}, [])
    >>> def see(on, hot):
    ...     hit = Values(np.array(hot), np.empty(0, bool))
    ...     return framer.ended(framer.process(RowBatch(np.zeros(len(on), int), np.array(on), {"hit": hit}, [])))
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
    ) -> None:
        super().__init__(scheme, clock, types, aggregates)
        self.accumulators += [
            Accumulator(First("on"), clock.type),
            Accumulator(Count("on"), pa.int64()),
            Accumulator(First("on"), pa.int64()),
        ]
        self.clear()

    def process(self, tuples: RowBatch) -> Frames:
        """Frame the next tuples; what each frame got anew is noted."""
        n = tuples.on.size
        on = Values(tuples.on, ALL_VALID)
        values = [*tuples.values, on, Values(np.zeros(n, np.int64), ALL_VALID), _nothing(n)]
        return super().process(RowBatch(tuples.group, tuples.on, tuples.inputs, values))

    def ended(self, frames: Frames) -> Fragments:
        """The last pieces of frames that ended."""
        *results, start, count, fragment = frames.aggregates
        return Fragments(replace(frames, aggregates=tuple(results)), start, count, fragment.fill_null(0), final=True)

    def report(self) -> Fragments:
        """The new pieces of open frames that are sure to qualify; they take their numbers now."""
        sure = self.states[COUNT].seen > 0
        sure[sure] = self.scheme.is_sure(self.records.take(np.flatnonzero(sure)), self.clock)
        found = np.flatnonzero(sure)
        fresh = found[self.records.number[found] < 0]
        groups = self.records.group[fresh]
        self.records.number[fresh] = self.groups.next[groups]
        self.groups.next[groups] += 1
        records = self.records.take(found)
        records.complete[:] = False
        results = tuple(
            accumulator.finish(kept.take(found))
            for accumulator, kept in zip(self.accumulators, self.states, strict=True)
        )
        pieces = replace(self.ended(Frames(records, results, closed=False)), final=False)
        self._begin_anew(found, pieces.fragment.to_numpy(zero_copy_only=False) + 1)
        return pieces

    def _begin_anew(self, records: npt.NDArray[np.int64], fragments: npt.NDArray[np.int64]) -> None:
        for place in (START, COUNT, FRAGMENT):
            self.states[place].put(records, self.accumulators[place].empty(records.size))
        numbers = np.column_stack([np.ones_like(fragments), fragments])
        self.states[FRAGMENT].put(records, States(np.ones_like(fragments), numbers))


def _nothing(n: int) -> Values:
    """Values that are all null."""
    return Values(np.zeros(n, np.int64), np.zeros(n, np.bool_))
