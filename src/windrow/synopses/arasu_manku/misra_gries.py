"""Misra-Gries counters over sorted values: the frequent values, each with a count that is slightly too low.

Counters are in two flat arrays, in order of value. A sorted run of new values is merged in at once. If there are then
more than `most` counters, each is lowered by the largest count that is not among the `most` largest, and those that
reach 0 are dropped. Lowering by c removes a total of at least (most + 1)·c, so with n values no count is too low by
more than n/(most + 1).

Source: Finding repeated elements (1982); Mergeable summaries (2012) for merging and for lowering many at once.
"""

from __future__ import annotations

from numba import njit

from windrow.jit import WITHOUT_COUNTING
from windrow.synopses.total_order import Keys


@njit(cache=True, **WITHOUT_COUNTING)
def count_run(values: Keys, counts: Keys, size: int, run: Keys) -> int:
    """Merge a sorted run into the counters, which must have room for it; return the new size."""
    i, k, to = size - 1, run.size - 1, size + run.size - 1
    while k >= 0:
        value, many = run[k], 1
        while k - many >= 0 and run[k - many] == value:
            many += 1
        while i >= 0 and values[i] > value:
            values[to], counts[to] = values[i], counts[i]
            i -= 1
            to -= 1
        if i >= 0 and values[i] == value:
            many_before = counts[i]
            i -= 1
        else:
            many_before = 0
        values[to], counts[to] = value, many_before + many
        to -= 1
        k -= many
    remaining = size + run.size - 1 - to
    for j in range(remaining):
        values[i + 1 + j], counts[i + 1 + j] = values[to + 1 + j], counts[to + 1 + j]
    return i + 1 + remaining


@njit(cache=True, **WITHOUT_COUNTING)
def keep_most(values: Keys, counts: Keys, size: int, most: int, room: Keys) -> int:
    """Lower all counters until at most `most` are left; return the new size. `room` is scratch space."""
    if size <= most:
        return size
    for i in range(size):
        room[i] = counts[i]
    lowered, to = select_smallest(room, size, size - most - 1), 0
    for i in range(size):
        if counts[i] > lowered:
            values[to], counts[to] = values[i], counts[i] - lowered
            to += 1
    return to


@njit(cache=True, **WITHOUT_COUNTING)
def select_smallest(numbers: Keys, size: int, k: int) -> int:
    """Return the number that sorting would place at `k`; reorders the numbers."""
    low, high = 0, size - 1
    while low < high:
        pivot, i, j = numbers[(low + high) // 2], low, high
        while i <= j:
            while numbers[i] < pivot:
                i += 1
            while numbers[j] > pivot:
                j -= 1
            if i <= j:
                numbers[i], numbers[j] = numbers[j], numbers[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return numbers[k]  # type: ignore[no-any-return]
