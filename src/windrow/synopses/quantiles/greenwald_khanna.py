"""Greenwald-Khanna: quantiles of all values since the start, in little memory and with a guaranteed bound."""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from windrow.aggregates import AggregateFunction
from windrow.aggregates.engine.gk_summary import Summary, answer_ranks, compress, insert_run, merge_summaries
from windrow.errors import SpecError
from windrow.state.checks import check_that
from windrow.synopses.base import EXACT, Accuracy, Instants, Numbers, Retention, RetentionKind
from windrow.synopses.due import NO_INSTANTS, Due, count_answer, is_due
from windrow.synopses.quantiles.base import CompiledQuantiles, Phi, why_not_eps
from windrow.synopses.saved import pack_arrays, unpack_arrays
from windrow.synopses.total_order import Keys

SIZE, N, PENDING = 0, 1, 2
"""Cursors: tuples in the summary, values behind it, and values waiting in the buffer."""

SMALLEST_RUN = 64
"""The least number of values merged at a time; with a large eps, 1/(2ε) of them would not be worth sorting."""


class _State(NamedTuple):
    summary: Summary
    bands: npt.NDArray[np.int8]
    buffer: Keys
    cursors: Keys

    @classmethod
    def make(cls, period: int) -> _State:
        room = 4 * period + 8
        return cls(Summary.make(room), np.empty(room, np.int8), np.zeros(period, np.int64), np.zeros(3, np.int64))

    def resized(self, room: int) -> _State:
        return self._replace(summary=self.summary.resized(room), bands=np.empty(room, np.int8))


@njit(cache=True)
def _flush(state: _State, twice_eps: float) -> None:
    """Merge the buffer into the summary and compress it."""
    cursors = state.cursors
    run = np.sort(state.buffer[: cursors[PENDING]])
    size = insert_run(state.summary, cursors[SIZE], cursors[N], run, twice_eps, 1)
    cursors[N] += run.size
    cursors[PENDING] = 0
    cursors[SIZE] = compress(state.summary, size, cursors[N], twice_eps, state.bands)


@njit(cache=True)
def _take(state: _State, keys: Keys, at: int, until: int, twice_eps: float) -> int:
    """Add values until there may be too little room for the next flush; return the next position."""
    cursors, period = state.cursors, state.buffer.size
    while at < until and cursors[SIZE] + period <= state.bands.size:
        batch = min(until - at, period - cursors[PENDING])
        state.buffer[cursors[PENDING] : cursors[PENDING] + batch] = keys[at : at + batch]
        cursors[PENDING] += batch
        at += batch
        if cursors[PENDING] == period:
            _flush(state, twice_eps)
    return at


@njit(cache=True)
def _answer(state: _State, phi: Numbers, out: Keys) -> None:
    """Answer from the summary and the buffer without changing them."""
    cursors = state.cursors
    run = np.sort(state.buffer[: cursors[PENDING]])
    exact = Summary(run, np.ones_like(run), np.zeros_like(run))
    room = cursors[SIZE] + run.size
    whole = Summary(np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64))
    size = merge_summaries(state.summary, cursors[SIZE], exact, run.size, whole)
    n = cursors[N] + run.size
    ranks = np.empty(phi.size, np.int64)
    for k in range(phi.size):
        ranks[k] = min(n, max(1, math.ceil(phi[k] * n)))
    answer_ranks(whole, size, ranks, out, np.empty(size, np.int64), np.empty(size, np.int64))


@njit(cache=True)
def _roll(state: _State, keys: Keys, at: int, phi: Numbers, due: Due, twice_eps: float) -> int:
    """Add values and give the answers that are due, until there may be too little room."""
    while True:
        while is_due(due, at):
            n = state.cursors[N] + state.cursors[PENDING]
            if n:
                _answer(state, phi, due.answers[due.answered[0]])
            count_answer(due, n)
        if at == keys.size:
            return at
        answered = due.answered[0]
        until = min(keys.size, due.ends[answered]) if answered < due.ends.size else keys.size
        at = _take(state, keys, at, until, twice_eps)
        if at < until:
            return at


class GreenwaldKhanna(CompiledQuantiles):
    """A synopsis of quantiles over all values since the start: a landmark window, or one pane.

    It has no retention. Two of them can be merged, so a window can be composed of panes.

    >>> import numpy as np, windrow as wr
    >>> from windrow.synopses.base import Accuracy
    >>> speeds = GreenwaldKhanna(wr.median("speed"), accuracy=Accuracy(eps=0.01), phi=[0.5, 0.99])
    >>> speeds.update(np.arange(1000), np.arange(1000.0))
    >>> bool((abs(speeds.query() - [499, 989]) <= 10).all())
    True
    """

    retentions: ClassVar[frozenset[RetentionKind]] = frozenset()
    exact: ClassVar[bool] = False
    deterministic: ClassVar[bool] = True
    source: ClassVar[str] = "Space-efficient online computation of quantile summaries (2001)"
    time: ClassVar[str] = "O(log 1/ε + log εn) per value of n, amortised; O(1/ε·log εn) per answer"
    space: ClassVar[str] = "O(1/ε·log εn) tuples"
    error: ClassVar[str] = "ε·n ranks, always"

    VERSION: ClassVar[int] = 1

    def __init__(
        self,
        aggregate: AggregateFunction,
        retention: Retention | None = None,
        accuracy: Accuracy = EXACT,
        *,
        seed: int = 0,
        phi: Phi | None = None,
    ) -> None:
        super().__init__(aggregate, retention, accuracy, seed=seed, phi=phi)  # type: ignore[arg-type]
        self._twice_eps = 2 * accuracy.eps
        self._state = _State.make(max(SMALLEST_RUN, int(1 / self._twice_eps)))

    @classmethod
    def why_not_keep(cls, retention: Retention | None, accuracy: Accuracy) -> str | None:
        """Return why this retention or accuracy is not supported, or None if both are."""
        if retention is not None:
            return "it never drops values; pass no retention, or use an Arasu-Manku synopsis"
        return why_not_eps(accuracy)

    @property
    def n(self) -> int:
        """The number of values seen."""
        return int(self._state.cursors[N] + self._state.cursors[PENDING])

    @property
    def nbytes(self) -> int:
        """The memory used by the state, in bytes."""
        state = self._state
        return sum(part.nbytes for part in (*state.summary, state.bands, state.buffer, state.cursors))

    def merge(self, other: GreenwaldKhanna) -> None:
        """Add all values of another synopsis; its eps must not exceed this one's, whose bound still holds."""
        if other._twice_eps > self._twice_eps:
            raise SpecError(
                f"merge: expected a synopsis with eps of at most {self.accuracy.eps}, which this one guarantees, got "
                f"{other.accuracy.eps}"
            )
        size, n, pending = (int(k) for k in other._state.cursors)
        mine = self._state.cursors
        room = int(mine[SIZE]) + size + self._state.buffer.size
        merged = self._state.resized(max(room, self._state.bands.size))
        mine[SIZE] = merge_summaries(self._state.summary, mine[SIZE], other._state.summary, size, merged.summary)
        mine[N] += n
        mine[SIZE] = compress(merged.summary, mine[SIZE], mine[N], self._twice_eps, merged.bands)
        self._state = merged._replace(buffer=self._state.buffer, cursors=mine)
        waiting = other._state.buffer[:pending].copy()
        self._find(waiting, waiting, self.phi, NO_INSTANTS)

    def save(self) -> bytes:
        """Return the state as bytes."""
        size, _, pending = self._state.cursors
        arrays = {name: part[:size] for name, part in self._state.summary._asdict().items()}
        arrays |= {"buffer": self._state.buffer[:pending], "cursors": self._state.cursors}
        return pack_arrays(type(self).__name__, self.VERSION, {"eps": self.accuracy.eps}, arrays)

    def load(self, data: bytes) -> None:
        """Restore a saved state."""
        none = np.empty(0, np.int64)
        like = dict.fromkeys((*Summary._fields, "buffer"), none) | {"cursors": np.zeros(3, np.int64)}
        arrays = unpack_arrays(data, type(self).__name__, self.VERSION, {"eps": self.accuracy.eps}, like)
        period = self._state.buffer.size
        size, n, pending = (int(cursor) for cursor in arrays["cursors"])
        check_that({arrays[name].size for name in Summary._fields} == {size}, f"a summary of {size} values")
        check_that(pending == arrays["buffer"].size < max(period, 1), f"at most {period} waiting values, got {pending}")
        check_that((arrays["g"] > 0).all() and arrays["g"].sum() == n and (arrays["delta"] >= 0).all(), "ranks up to n")
        fresh = _State.make(period)
        fresh = fresh.resized(max(fresh.bands.size, int(size) + period))
        for name, part in fresh.summary._asdict().items():
            part[:size] = arrays[name]
        fresh.buffer[:pending] = arrays["buffer"]
        self._state = fresh._replace(cursors=arrays["cursors"])

    def _run(self, on: Instants, keys: Keys, phi: Numbers, due: Due) -> None:
        at = 0
        while (at := _roll(self._state, keys, at, phi, due, self._twice_eps)) < keys.size:
            self._state = self._state.resized(2 * self._state.bands.size)
