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
from windrow.aggregates.keeper import ALL_VALID, Keeper, Values
from windrow.aggregates.states import States
from windrow.frames.base import Scheme
from windrow.frames.clock import Clock
from windrow.frames.framer import Framer, Frames, Tuples

START, COUNT, FRAGMENT = -3, -2, -1
"""Where the piece's aggregates are, after the user's."""


@dataclass(frozen=True)
class Pieces:
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
    ...     return framer.ended(framer.process(Tuples(np.zeros(len(on), int), np.array(on), {"hit": hit}, [])))
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
        self.keepers += [
            Keeper(First("on"), clock.type),
            Keeper(Count("on"), pa.int64()),
            Keeper(First("on"), pa.int64()),
        ]
        self.clear()

    def process(self, tuples: Tuples) -> Frames:
        """Frame the next tuples; what each frame got anew is noted."""
        n = tuples.on.size
        on = Values(tuples.on, ALL_VALID)
        values = [*tuples.values, on, Values(np.zeros(n, np.int64), ALL_VALID), _nothing(n)]
        return super().process(Tuples(tuples.group, tuples.on, tuples.inputs, values))

    def ended(self, frames: Frames) -> Pieces:
        """The last pieces of frames that ended."""
        *results, start, count, fragment = frames.aggregates
        return Pieces(replace(frames, aggregates=tuple(results)), start, count, fragment.fill_null(0), final=True)

    def report(self) -> Pieces:
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
        results = tuple(keeper.finish(kept.take(found)) for keeper, kept in zip(self.keepers, self.states, strict=True))
        pieces = replace(self.ended(Frames(records, results, closed=False)), final=False)
        self._begin_anew(found, pieces.fragment.to_numpy(zero_copy_only=False) + 1)
        return pieces

    def _begin_anew(self, records: npt.NDArray[np.int64], fragments: npt.NDArray[np.int64]) -> None:
        for place in (START, COUNT, FRAGMENT):
            self.states[place].put(records, self.keepers[place].empty(records.size))
        numbers = np.column_stack([np.ones_like(fragments), fragments])
        self.states[FRAGMENT].put(records, States(np.ones_like(fragments), numbers))


def _nothing(n: int) -> Values:
    """Values that are all null."""
    return Values(np.zeros(n, np.int64), np.zeros(n, np.bool_))
