"""Arasu-Manku quantiles of a sliding window, from blocks of the stream at many levels."""

from __future__ import annotations

from typing import ClassVar

from numba import njit

from windrow.aggregates import AggregateFunction
from windrow.synopses.arasu_manku.cover import FIRST, LAST, Cover, answer_quantiles, empty_cover, update_cover
from windrow.synopses.arasu_manku.layout import NEWEST, Blocks, Terms
from windrow.synopses.arasu_manku.store import BlockKeeper
from windrow.synopses.arasu_manku.update import Work, take
from windrow.synopses.base import EXACT, Accuracy, Instants, Numbers, Retention, RetentionKind
from windrow.synopses.costs import Complexity
from windrow.synopses.due import Due, count_answer, is_due
from windrow.synopses.quantiles.base import CompiledQuantiles, Phi
from windrow.synopses.total_order import Keys


@njit(cache=True)
def _roll(
    terms: Terms, blocks: Blocks, cover: Cover, on: Keys, keys: Keys, at: int, phi: Numbers, due: Due, work: Work
) -> int:
    """Add values and give the answers that are due, until there is too little room."""
    while True:
        while is_due(due, at):
            answered = due.answered[0]
            if due.moments.size:
                # Blocks whose first value has left no longer contribute to answers; they are dropped later.
                blocks.cursors[NEWEST] = due.moments[answered]
            changed = update_cover(terms, blocks, cover)
            covered = cover.span[LAST] - cover.span[FIRST]
            if covered and (changed or answered == 0):
                answer_quantiles(blocks, cover, phi, due.answers[answered])
            elif covered:
                due.answers[answered] = due.answers[answered - 1]
            count_answer(due, covered)
        if at == keys.size:
            return at
        answered = due.answered[0]
        until = min(keys.size, due.ends[answered]) if answered < due.ends.size else keys.size
        at = take(terms, blocks, on, keys, at, until, work)
        if at < until:
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
        self._blocks = BlockKeeper(Terms.make(False, self.fixed, timed, int(retention.length), accuracy.eps))

    @property
    def nbytes(self) -> int:
        """The memory used by the state, in bytes."""
        return self._blocks.nbytes

    def save(self) -> bytes:
        """Return the state as bytes."""
        return self._blocks.save(type(self).__name__)

    def load(self, data: bytes) -> None:
        """Restore a saved state."""
        self._blocks.load(type(self).__name__, data)
        self.newest = self._blocks.newest

    def _run(self, on: Instants, keys: Keys, phi: Numbers, due: Due) -> None:
        store, cover, at = self._blocks, empty_cover(), 0
        while (at := _roll(store.terms, store.blocks, cover, on, keys, at, phi, due, store.work)) < keys.size:
            store.grow()
            cover.span[:] = -1


class ArasuMankuFixed(_ArasuManku):
    """A synopsis of quantiles of the last N values, each within eps·N ranks, in memory that hardly grows with N.

    >>> import numpy as np, windrow as wr
    >>> from windrow.synopses.base import Accuracy, Retention
    >>> speeds = ArasuMankuFixed(wr.median("speed"), Retention(1000), Accuracy(eps=0.01))
    >>> speeds.update(np.arange(5000), np.arange(5000.0))
    >>> abs(speeds.query() - 4499) <= 10
    True
    """

    retentions: ClassVar[frozenset[RetentionKind]] = frozenset({"count"})
    time: ClassVar[str] = "each value goes into O(log 1/ε) summaries; each answer merges O(log 1/ε) blocks"
    space: ClassVar[str] = "O(1/ε·log 1/ε·log R) values"
    error: ClassVar[str] = "ε·R ranks, always"
    fixed: ClassVar[bool] = True

    @classmethod
    def costs(cls, aggregate: AggregateFunction) -> Complexity | None:
        """Return the terms of its update, its query and its space."""
        return Complexity(
            ("one", "log_e", "log_e_squared"),
            ("one", "e", "e_log_e", "e_log_e_squared"),
            ("one", "log_e", "spread", "spread_far"),
        )


class ArasuMankuVariable(_ArasuManku):
    """A synopsis of quantiles of the N values in a time window, for any N, each within eps·N ranks.

    >>> import numpy as np, windrow as wr
    >>> from windrow.synopses.base import Accuracy, Retention
    >>> speeds = ArasuMankuVariable(wr.median("speed"), Retention(2000, "time"), Accuracy(eps=0.01))
    >>> speeds.update(2 * np.arange(5000), np.arange(5000.0))
    >>> abs(speeds.query() - 4499) <= 10
    True
    """

    retentions: ClassVar[frozenset[RetentionKind]] = frozenset({"count", "time"})
    time: ClassVar[str] = "each value goes into O(log R) summaries; each answer merges O(log 1/ε) blocks"
    space: ClassVar[str] = "O(1/ε·log 1/ε·log R·log εR) values"
    error: ClassVar[str] = "ε·R ranks, always"
    fixed: ClassVar[bool] = False

    @classmethod
    def costs(cls, aggregate: AggregateFunction) -> Complexity | None:
        """Return the terms of its update, its query and its space."""
        return Complexity(
            ("one", "log_R", "log_e_log_R"),
            ("one", "e", "e_log_e", "e_log_e_squared"),
            ("one", "log_e", "spread", "spread_levels"),
        )
