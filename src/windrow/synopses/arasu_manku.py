"""Arasu-Manku: quantiles of a sliding window, from blocks of the stream at many levels."""

from __future__ import annotations

from typing import ClassVar

from numba import njit

from windrow.aggregates import AggregateFunction
from windrow.synopses.base import EXACT, Accuracy, Instants, Numbers, Retention, RetentionKind
from windrow.synopses.block_keeper import BlockKeeper
from windrow.synopses.blocks import Blocks, Terms
from windrow.synopses.blocks_cover import Cover, answer_quantiles, empty_cover, update_cover
from windrow.synopses.blocks_update import Work, take
from windrow.synopses.quantiles import CompiledQuantiles, Phi
from windrow.synopses.total_order import Keys


@njit(cache=True)
def _roll(
    terms: Terms, blocks: Blocks, cover: Cover, on: Keys, keys: Keys, at: int, every: int, phi: Numbers, out: Keys,
    work: Work,
) -> int:  # fmt: skip
    """Take in elements and answer after each `every` of them, until there is too little room."""
    while at < keys.size:
        until = min(keys.size, (at // every + 1) * every)
        at = take(terms, blocks, on, keys, at, until, work)
        if at < until:
            return at
        if at % every == 0:
            row = at // every - 1
            if update_cover(terms, blocks, cover) or row == 0:
                answer_quantiles(blocks, cover, phi, out[row])
            else:
                out[row] = out[row - 1]
    return at


class _ArasuManku(CompiledQuantiles):
    exact: ClassVar[bool] = False
    deterministic: ClassVar[bool] = True
    source: ClassVar[str] = "Approximate counts and quantiles over sliding windows (2004)"
    fixed: ClassVar[bool]

    def __init__(
        self,
        aggregate: AggregateFunction,
        retention: Retention,
        accuracy: Accuracy = EXACT,
        *,
        seed: int = 0,
        phi: Phi | None = None,
    ) -> None:
        super().__init__(aggregate, retention, accuracy, seed=seed, phi=phi)
        timed = retention.kind == "time"
        self._kept = BlockKeeper(Terms.make(False, self.fixed, timed, int(retention.length), accuracy.eps))

    @property
    def nbytes(self) -> int:
        """The memory that the state takes."""
        return self._kept.nbytes

    def save(self) -> bytes:
        """The state as bytes."""
        return self._kept.save(type(self).__name__)

    def load(self, data: bytes) -> None:
        """Go on from a saved state."""
        self._kept.load(type(self).__name__, data)
        self.newest = self._kept.newest

    def _expire(self, now: int) -> None:
        self._kept.advance(now)

    def _take(self, on: Instants, keys: Keys) -> None:
        self._kept.take(on, keys)

    def _answer(self, phi: Numbers, out: Keys) -> bool:
        cover = self._kept.cover()
        if cover is None:
            return False
        answer_quantiles(self._kept.blocks, cover, phi, out)
        return True

    def _roll(self, on: Instants, keys: Keys, every: int, phi: Numbers, out: Keys) -> None:
        kept, cover, at = self._kept, empty_cover(), 0
        while True:
            at = _roll(kept.terms, kept.blocks, cover, on, keys, at, every, phi, out, kept.work)
            if at == keys.size:
                return
            kept.grow()
            cover.span[:] = -1


class ArasuMankuFixed(_ArasuManku):
    """Quantiles of the last elements, each within eps·N of its rank, in memory that hardly grows with their number.

    >>> import numpy as np, windrow as wr
    >>> from windrow.synopses.base import Accuracy, Retention
    >>> speeds = ArasuMankuFixed(wr.median("speed"), Retention(1000), Accuracy(eps=0.01))
    >>> speeds.update(np.arange(5000), np.arange(5000.0))
    >>> abs(speeds.query() - 4499) <= 10
    True
    """

    retentions: ClassVar[frozenset[RetentionKind]] = frozenset({"count"})
    time: ClassVar[str] = "an element goes into O(log 1/ε) summaries; an answer merges O(log 1/ε) blocks"
    space: ClassVar[str] = "O(1/ε·log 1/ε·log R) values"
    error: ClassVar[str] = "ε·R ranks, always"
    fixed: ClassVar[bool] = True


class ArasuMankuVariable(_ArasuManku):
    """Quantiles of the elements of the last time, however many, each within eps·N of its rank.

    >>> import numpy as np, windrow as wr
    >>> from windrow.synopses.base import Accuracy, Retention
    >>> speeds = ArasuMankuVariable(wr.median("speed"), Retention(2000, "time"), Accuracy(eps=0.01))
    >>> speeds.update(2 * np.arange(5000), np.arange(5000.0))
    >>> abs(speeds.query() - 4499) <= 10
    True
    """

    retentions: ClassVar[frozenset[RetentionKind]] = frozenset({"count", "time"})
    time: ClassVar[str] = "an element goes into O(log R) summaries; an answer merges O(log 1/ε) blocks"
    space: ClassVar[str] = "O(1/ε·log 1/ε·log R·log εR) values"
    error: ClassVar[str] = "ε·R ranks, always"
    fixed: ClassVar[bool] = False
