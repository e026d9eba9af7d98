"""Rolling quantiles of many values at once: rank all values first, then treat the window as a set of ranks.

A whole stretch of values is sorted once. Each value then sets one bit when it arrives and clears it when it leaves, and
the quantile is a bit that moves a few places at a time. A second, smaller bit set marks which words of the first are
non-zero, so that long gaps cost little.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from windrow.synopses.due import Due, give, is_due
from windrow.synopses.exact.algebra import move
from windrow.synopses.jit import horizon

DIGIT, PASSES = 11, 6
"""Keys are sorted by six digits of eleven bits, the least significant first."""
ALL = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
ONE = np.uint64(1)


@intrinsic
def count_ones(typing_context: Any, word: Any) -> Any:
    """Return how many bits of a word are set."""
    return types.int64(types.uint64), lambda context, builder, signature, arguments: builder.ctpop(arguments[0])


@intrinsic
def lowest_one(typing_context: Any, word: Any) -> Any:
    """Return the place of the lowest bit that is set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, False))

    return types.int64(types.uint64), generate


@intrinsic
def zeros_above(typing_context: Any, word: Any) -> Any:
    """Return how many bits are above the highest one that is set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], context.get_constant(types.boolean, False))

    return types.int64(types.uint64), generate


@njit(cache=True)
def sort_order(keys: Any) -> Any:
    """Return keys in ascending order and their original places, by a stable radix sort."""
    n = keys.size
    buckets = 1 << DIGIT
    counts = np.zeros((PASSES, buckets), np.int64)
    source, target = np.empty(n, np.uint64), np.empty(n, np.uint64)
    order, spare = np.empty(n, np.int32), np.empty(n, np.int32)
    for i in range(n):
        key = np.uint64(keys[i]) ^ (ONE << np.uint64(63))
        source[i], order[i] = key, i
        for turn in range(PASSES):
            counts[turn, (key >> np.uint64(turn * DIGIT)) & np.uint64(buckets - 1)] += 1
    for turn in range(PASSES):
        shift = np.uint64(turn * DIGIT)
        if n and counts[turn, (source[0] >> shift) & np.uint64(buckets - 1)] == n:
            continue
        begin = 0
        for digit in range(buckets):
            begin, counts[turn, digit] = begin + counts[turn, digit], begin
        for i in range(n):
            digit = (source[i] >> shift) & np.uint64(buckets - 1)
            place = counts[turn, digit]
            counts[turn, digit] = place + 1
            target[place], spare[place] = source[i], order[i]
        source, target = target, source
        order, spare = spare, order
    ranked = target.view(np.int64)
    for i in range(n):
        ranked[i] = np.int64(source[i] ^ (ONE << np.uint64(63)))
    return ranked, order


@njit(cache=True)
def merge_orders(
    older: Any, older_places: Any, newer: Any, newer_places: Any, ranked: Any, places: Any, rank: Any
) -> None:
    """Merge older and newer sorted keys, and write the rank of each; places of newer keys follow those of older ones.

    Which key comes next is unpredictable, so the loop selects between values already read instead of branching.
    """
    begin = np.int32(older.size)
    i = j = r = 0
    while i < older.size and j < newer.size:
        a, b = older[i], newer[j]
        place_a, place_b = older_places[i], newer_places[j] + begin
        first = a <= b
        ranked[r] = a if first else b
        place = place_a if first else place_b
        places[r] = place
        rank[place] = r
        i += first
        j += not first
        r += 1
    for k in range(i, older.size):
        ranked[r], places[r], rank[older_places[k]] = older[k], older_places[k], r
        r += 1
    for k in range(j, newer.size):
        place = newer_places[k] + begin
        ranked[r], places[r], rank[place] = newer[k], place, r
        r += 1


@njit(cache=True)
def still_there(ranked: Any, places: Any, head: int) -> Any:
    """Return the order without the values before `head`, with places counted from there."""
    keys, remaining = np.empty(ranked.size - head, np.int64), np.empty(ranked.size - head, np.int32)
    n = 0
    for r in range(ranked.size):
        if places[r] >= head:
            keys[n], remaining[n] = ranked[r], places[r] - head
            n += 1
    return keys, remaining


@move
def include(words: Any, used: Any, r: int) -> None:
    """Add a rank to the set."""
    w = r >> 6
    words[w] |= ONE << np.uint64(r & 63)
    used[w >> 6] |= ONE << np.uint64(w & 63)


@move
def exclude(words: Any, used: Any, r: int) -> None:
    """Remove a rank from the set."""
    w = r >> 6
    words[w] &= ~(ONE << np.uint64(r & 63))
    if words[w] == 0:
        used[w >> 6] &= ~(ONE << np.uint64(w & 63))


@move
def next_used(used: Any, w: int) -> Any:
    """Return the first non-zero word from `w` on; there must be one."""
    u = w >> 6
    word = used[u] & (ALL << np.uint64(w & 63))
    while word == 0:
        u += 1
        word = used[u]
    return (u << 6) + lowest_one(word)


@move
def last_used(used: Any, w: int) -> Any:
    """Return the last non-zero word up to `w`; there must be one."""
    u = w >> 6
    word = used[u] & (ALL >> np.uint64(63 - (w & 63)))
    while word == 0:
        u -= 1
        word = used[u]
    return (u << 6) + 63 - zeros_above(word)


@move
def ahead(words: Any, used: Any, p: int, k: int) -> Any:
    """Return the rank in the set with `k` others before it, counted from `p` on."""
    w = p >> 6
    word = words[w] & (ALL << np.uint64(p & 63))
    here = count_ones(word)
    while here <= k:
        k -= here
        w = next_used(used, w + 1)
        word = words[w]
        here = count_ones(word)
    for _ in range(k):
        word &= word - ONE
    return (w << 6) + lowest_one(word)


@move
def behind(words: Any, used: Any, p: int, k: int) -> Any:
    """Return the `k`-th rank in the set before `p`, counted downwards."""
    w = p >> 6
    word = words[w] & ~(ALL << np.uint64(p & 63))
    here = count_ones(word)
    while here < k:
        k -= here
        w = last_used(used, w - 1)
        word = words[w]
        here = count_ones(word)
    for _ in range(k - 1):
        word ^= ONE << np.uint64(63 - zeros_above(word))
    return (w << 6) + 63 - zeros_above(word)


@move
def place_of(phi: float, n: int) -> int:
    """Return the place of a quantile among `n` sorted values, counted from 0: that of rank ⌈phi·n⌉."""
    return max(1, min(n, math.ceil(phi * n))) - 1


@njit(cache=True)
def roll_ranks(ranked: Any, times: Any, held: int, rank: Any, length: int, phi: float, due: Due, taken: int) -> int:
    """Add the values after the first `held` one by one and give quantiles when due.

    Return the first value that is still in the window. `rank` holds the rank of each value, and `ranked` the keys in
    ascending order. `times` is empty if `length` is a count. `taken` values were added before the first new one.
    """
    words = np.zeros((ranked.size >> 6) + 2, np.uint64)
    used = np.zeros((words.size >> 6) + 2, np.uint64)
    for i in range(held):
        include(words, used, rank[i])
    head = p = below = 0
    for i in range(held, ranked.size + 1):
        while is_due(due, taken + i - held):
            if due.moments.size:
                now = due.moments[due.answered[0]]
                while head < i and times[head] <= horizon(now, length):
                    below -= rank[head] < p
                    exclude(words, used, rank[head])
                    head += 1
            key = np.int64(0)
            if head < i:
                target = place_of(phi, i - head)
                more = target - below
                p = ahead(words, used, p, more) if more >= 0 else behind(words, used, p, -more)
                below, key = target, ranked[p]
            give(due, key, i - head)
        if i == ranked.size:
            break
        while head < i and (times[head] <= horizon(times[i], length) if times.size else i - head == length):
            below -= rank[head] < p
            exclude(words, used, rank[head])
            head += 1
        below += rank[i] < p
        include(words, used, rank[i])
    return head
