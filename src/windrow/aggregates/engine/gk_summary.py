"""The summary of Greenwald and Khanna: tuples (value, g, Δ) that bound the rank of each value.

The smallest possible rank of tuple i is the sum of g up to it; the largest is that plus its Δ. As long as g + Δ is at
most 2εn for every tuple, each rank is answered within εn. The summary consists of three flat arrays, in order of
value. A sorted run of new values is merged in one pass, which equals the published insertion in the order of the run.

Source: Space-efficient online computation of quantile summaries (2001).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from windrow.aggregates.values import precedes
from windrow.jit import WITHOUT_COUNTING

Keys = npt.NDArray[Any]


class Summary(NamedTuple):
    """Room for tuples, in order of value; their number is stored elsewhere."""

    value: Keys
    g: Keys
    delta: Keys

    @classmethod
    def make(cls, room: int) -> Summary:
        """Return room for that many tuples."""
        return cls(np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros(room, np.int64))

    def resized(self, room: int) -> Summary:
        """Return the same tuples in more room."""
        made = Summary.make(room)
        for old, new in zip(self, made, strict=True):
            new[: old.size] = old
        return made


@njit(cache=True, **WITHOUT_COUNTING)
def insert_run(summary: Summary, size: int, n: int, run: Keys, twice_eps: float, margin: int) -> int:
    """Merge a sorted run into the summary of `n` values, which must have room for it, and return the new size.

    A value between two tuples gets Δ = ⌊2εn⌋ - margin, with the n at its insertion; the margin is 1 in the original
    paper and 0 in the thesis. The rank of a new smallest or largest value is certain: Δ = 0.
    """
    value, g, delta = summary
    i, k, to = size - 1, run.size - 1, size + run.size - 1
    while k >= 0:
        if i >= 0 and precedes(run[k], value[i]):
            value[to], g[to], delta[to] = value[i], g[i], delta[i]
            i -= 1
        else:
            extreme = i == size - 1 or (i < 0 and k == 0)
            value[to], g[to] = run[k], 1
            delta[to] = 0 if extreme else max(0, int(twice_eps * (n + k)) - margin)
            k -= 1
        to -= 1
    return size + run.size


@njit(cache=True, **WITHOUT_COUNTING)
def band_of(delta: int, p: int) -> int:
    """Return the band of a Δ when ⌊2εn⌋ is `p`: older tuples, which can absorb more, are in higher bands."""
    if delta == 0:
        return 64
    distance, bits = max(0, p - delta), 0
    while distance >> bits:
        bits += 1
    if bits and distance < (1 << (bits - 1)) + (p & ((1 << (bits - 1)) - 1)):
        return bits - 1
    return bits


@njit(cache=True, **WITHOUT_COUNTING)
def compress(summary: Summary, size: int, n: int, twice_eps: float, bands: Any) -> int:
    """Merge tuples, with their descendants, into the next one if the error allows it; return the new size.

    The descendants of a tuple are the tuples just before it that are in lower bands. The extremes stay. `bands` is room
    for one number per tuple.
    """
    if size < 4:
        return size
    value, g, delta = summary
    p, limit = int(twice_eps * n), twice_eps * n
    for i in range(size):
        bands[i] = band_of(delta[i], p)
    to, i = size - 2, size - 3
    while i >= 1:
        first, weight = i, g[i]
        if bands[i] <= bands[to]:
            full = g[to] + delta[to]
            while first > 1 and bands[first - 1] < bands[i] and weight + full < limit:
                first -= 1
                weight += g[first]
            if weight + full < limit:
                g[to] += weight
                i = first - 1
                continue
        to -= 1
        value[to], g[to], delta[to], bands[to] = value[i], g[i], delta[i], bands[i]
        i -= 1
    remaining = size - to
    for j in range(remaining):
        value[1 + j], g[1 + j], delta[1 + j] = value[to + j], g[to + j], delta[to + j]
    return remaining + 1


@njit(cache=True, **WITHOUT_COUNTING)
def bound_ranks(summary: Summary, size: int, lowest: Keys, highest: Keys) -> None:
    """Compute the smallest and the largest rank of each tuple; no rank exceeds that of the next tuple minus 1."""
    rank = 0
    for i in range(size):
        rank += summary.g[i]
        lowest[i], highest[i] = rank, rank + summary.delta[i]
    for i in range(size - 2, -1, -1):
        highest[i] = min(highest[i], highest[i + 1] - 1)


@njit(cache=True, **WITHOUT_COUNTING)
def nearest(lowest: Keys, highest: Keys, size: int, i: int, rank: int) -> int:
    """Return the tuple, at or after `i`, with the least worst-case distance from a rank.

    `i` is the result for a smaller rank. If the middle of a tuple's ranks is at or below the given rank, the worst case
    is its smallest rank, so the last such tuple is the best of them. Of the others, the first is the best.
    """
    while i + 1 < size and lowest[i + 1] + highest[i + 1] <= 2 * rank:
        i += 1
    if i + 1 < size and highest[i + 1] - rank < max(rank - lowest[i], highest[i] - rank):
        return i + 1
    return i


@njit(cache=True, **WITHOUT_COUNTING)
def answer_ranks(summary: Summary, size: int, ranks: Keys, out: Keys, lowest: Keys, highest: Keys) -> None:
    """Compute the value of each rank, within half of the largest g + Δ; the ranks must be in ascending order.

    `lowest` and `highest` are room for one number per tuple.
    """
    bound_ranks(summary, size, lowest, highest)
    i = 0
    for k in range(out.size):
        place = nearest(lowest, highest, size, i, ranks[k])
        out[k] = summary.value[place]
        i = max(i, place - 1)


@njit(cache=True)
def merge_summaries(a: Summary, size_a: int, b: Summary, size_b: int, out: Summary) -> int:
    """Merge two summaries into `out` and return its size.

    The error is at most the sum of both errors, and so, relative to n, the larger of the two. A tuple of one summary
    comes after all values that the other one knows to be smaller, and before all that it knows to be larger. Its
    smallest rank grows by that of the preceding tuple in the other summary, its largest by that of the following tuple
    minus 1.
    """
    ranks = np.empty((4, size_a + size_b), np.int64)
    bound_ranks(a, size_a, ranks[0], ranks[1])
    bound_ranks(b, size_b, ranks[2], ranks[3])
    i, j, before = 0, 0, 0
    for to in range(size_a + size_b):
        if j == size_b or (i < size_a and not precedes(b.value[j], a.value[i])):
            out.value[to] = a.value[i]
            low, high = _ranks_among(ranks[0, i], ranks[1, i], ranks[2], ranks[3], j, size_b)
            i += 1
        else:
            out.value[to] = b.value[j]
            low, high = _ranks_among(ranks[2, j], ranks[3, j], ranks[0], ranks[1], i, size_a)
            j += 1
        out.g[to], out.delta[to] = low - before, high - low
        before = low
    return size_a + size_b


@njit(cache=True, **WITHOUT_COUNTING)
def _ranks_among(low: int, high: int, lowest: Keys, highest: Keys, at: int, size: int) -> tuple[int, int]:
    """Return the ranks, in the union, of a tuple that comes before the tuple `at` of the other summary."""
    if at > 0:
        low += lowest[at - 1]
    if at < size:
        high += highest[at] - 1
    elif size:
        high += highest[size - 1]
    return low, high
