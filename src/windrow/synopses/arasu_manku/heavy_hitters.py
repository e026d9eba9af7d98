"""Heavy hitters of a sliding window by Arasu and Manku: blocks at many levels that count values."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from numba import njit

from windrow.aggregates import AggregateFunction, HeavyHitters
from windrow.synopses.arasu_manku.cover import FIRST, LAST, SHORTEST, SIZE, Cover
from windrow.synopses.arasu_manku.layout import Blocks, N, Terms
from windrow.synopses.arasu_manku.store import BlockKeeper
from windrow.synopses.base import EXACT, Accuracy, Instants, Numbers, Retention, RetentionKind, Synopsis
from windrow.synopses.checks import as_instants, check_elements, check_every, check_order
from windrow.synopses.costs import Complexity
from windrow.synopses.due import after_each
from windrow.synopses.quantiles.base import why_not_eps
from windrow.synopses.total_order import Keys, to_keys, to_numbers


@njit(cache=True)
def _doubt(terms: Terms, blocks: Blocks, cover: Cover, phi: float) -> float:
    """Return by how much the count of a value with share `phi` may be too low, in blocks and in the uncovered ends."""
    doubt = 0.0
    for b in range(cover.span[SIZE]):
        if cover.spacing[b]:
            doubt += 1 << cover.spacing[b]
    uncovered = 2 * ((1 << cover.span[SHORTEST]) - 1)
    if terms.fixed:
        uncovered = min(blocks.cursors[N], terms.length) - (cover.span[LAST] - cover.span[FIRST])
    return doubt + (1 - phi) * uncovered  # type: ignore[no-any-return]


@njit(cache=True)
def _frequent(terms: Terms, blocks: Blocks, cover: Cover, phi: float) -> tuple[Keys, Keys]:
    """Return the values that may have the share `phi` and their least counts, in order of value."""
    total = cover.size[: cover.span[SIZE]].sum()
    values, counts, to = np.empty(total, np.int64), np.empty(total, np.int64), 0
    for b in range(cover.span[SIZE]):
        low, size = cover.start[b], cover.size[b]
        values[to : to + size] = blocks.entries[0, low : low + size]
        counts[to : to + size] = blocks.entries[1, low : low + size]
        to += size
    order = np.argsort(values)
    least = phi * (cover.span[LAST] - cover.span[FIRST]) - _doubt(terms, blocks, cover, phi)
    n, k = 0, 0
    frequent = np.empty((2, total), np.int64)
    while k < total:
        value, count = values[order[k]], 0
        while k < total and values[order[k]] == value:
            count += counts[order[k]]
            k += 1
        if count >= least:
            frequent[0, n], frequent[1, n] = value, count
            n += 1
    return frequent[0, :n], frequent[1, :n]


class ArasuMankuHeavyHitters(Synopsis):
    """A synopsis of all values with a share of at least `phi` of the window, and none with less than `phi - eps`.

    The answer is that of the aggregate: a list of values with their counts, most frequent first. Counts are never too
    high, and too low by at most eps·N.

    >>> import numpy as np, windrow as wr
    >>> from windrow.synopses.base import Accuracy, Retention
    >>> lanes = ArasuMankuHeavyHitters(wr.heavy_hitters("lane", 0.5), Retention(6), Accuracy(eps=0.1))
    >>> lanes.update(np.arange(8), np.array([9.0, 9.0, 3.0, 2.0, 3.0, 1.0, 2.0, 3.0]))
    >>> lanes.query()
    [{'value': 3.0, 'count': 3}]
    """

    retentions: ClassVar[frozenset[RetentionKind]] = frozenset({"count", "time"})
    exact: ClassVar[bool] = False
    deterministic: ClassVar[bool] = True
    source: ClassVar[str] = "Approximate counts and quantiles over sliding windows (2004)"
    time: ClassVar[str] = (
        "each value goes into O(log 1/ε) summaries, O(log R) by time; each answer merges O(log 1/ε) blocks"
    )
    space: ClassVar[str] = "O(1/ε·log² 1/ε) counts, O(1/ε·log² 1/ε·log εR) by time"
    error: ClassVar[str] = "ε·R too low a count, never too high, always"
    example_aggregate: ClassVar[AggregateFunction] = HeavyHitters("x", 0.2)

    @classmethod
    def costs(cls, aggregate: AggregateFunction) -> Complexity | None:
        """Return the terms of its update, its query and its space."""
        return Complexity(
            ("one", "log_e", "log_e_squared"),
            ("one", "e", "e_log_e", "e_log_e_squared"),
            ("one", "log_e", "spread", "spread_far", "spread_levels"),
        )

    def __init__(
        self, aggregate: AggregateFunction, retention: Retention, accuracy: Accuracy = EXACT, *, seed: int = 0
    ) -> None:
        super().__init__(aggregate, retention, accuracy, seed=seed)
        timed = retention.kind == "time"
        self.phi: float = aggregate.phi  # type: ignore[attr-defined]
        self._blocks = BlockKeeper(Terms.make(True, not timed, timed, int(retention.length), accuracy.eps))

    @classmethod
    def why_not(cls, aggregate: AggregateFunction, retention: Retention, accuracy: Accuracy = EXACT) -> str | None:
        """Return why this synopsis does not apply, or None if it applies."""
        phi = getattr(aggregate, "phi", None)
        if phi is None:
            return f"it answers heavy hitters only, not {aggregate!r}"
        if accuracy.eps >= phi:
            return f"eps: expected a number below phi={phi!r}, got {accuracy.eps!r}"
        return why_not_eps(accuracy)

    def update(self, on: Instants, x: Numbers) -> None:
        """Add the next values, in order."""
        on, x = as_instants(on), np.asarray(x)
        check_elements(on, x, np.dtype(np.float64))
        if self.timed:
            self.newest = check_order(on, self.newest)
        self._blocks.take(on, to_keys(x))

    def query(self) -> Any:
        """Return the heavy hitters of the window, most frequent first, or None if it is empty."""
        cover = self._blocks.cover()
        if cover is None:
            return None
        keys, counts = _frequent(self._blocks.terms, self._blocks.blocks, cover, self.phi)
        values, falling = to_numbers(keys), np.argsort(-counts, kind="stable")
        return [{"value": float(values[k]), "count": int(counts[k])} for k in falling]

    def roll(self, on: Instants, x: Numbers, every: int) -> npt.NDArray[Any]:
        """Add values and return the answer after every `every`-th one, as an array of lists."""
        check_every(every)
        answers = np.empty(len(x) // every, object)
        answers[:] = self._step_by_step(on, x, after_each(int(every), len(x)))
        return answers

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

    def _expire(self, now: int) -> None:
        self._blocks.advance(now)
