"""Rolling quantiles of many elements at once: all of them get ranks first, and the window is a set of ranks.

Sorting is done once for a whole stretch of elements. Then each element sets one bit as it comes and clears it as it
leaves, and the quantile is a bit that moves a few places at a time. A second, smaller set tells which words of the
first have any bit, so that long gaps cost little.
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
"""Keys are sorted by six digits of eleven bits, the last one first."""
ALL = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
ONE = np.uint64(1)


@intrinsic
def count_ones(typing_context: Any, word: Any) -> Any:
    """How many bits of a word are set."""
    return types.int64(types.uint64), lambda context, builder, signature, given: builder.ctpop(given[0])


@intrinsic
def lowest_one(typing_context: Any, word: Any) -> Any:
    """The place of the lowest bit that is set."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.cttz(given[0], context.get_constant(types.boolean, False))

    return types.int64(types.uint64), generate


@intrinsic
def zeros_above(typing_context: Any, word: Any) -> Any:
    """How many bits above the highest one that is set."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.ctlz(given[0], context.get_constant(types.boolean, False))

    return types.int64(types.uint64), generate


@njit(cache=True)
def sort_order(keys: Any) -> Any:
    """Keys in the order of their size, and their places, those of equal ones in the order they have; by radix sort."""
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
    """Older and newer keys in one order, and the rank of each; the newer ones' places come behind the older ones'.

    Which of both comes next is not to be foreseen, so it is no branch, but a choice of what has been read already.
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
    """The order without the elements before `head`, the others counted from there."""
    keys, kept = np.empty(ranked.size - head, np.int64), np.empty(ranked.size - head, np.int32)
    n = 0
    for r in range(ranked.size):
        if places[r] >= head:
            keys[n], kept[n] = ranked[r], places[r] - head
            n += 1
    return keys, kept


@move
def include(words: Any, used: Any, r: int) -> None:
    """Put a rank into the set."""
    w = r >> 6
    words[w] |= ONE << np.uint64(r & 63)
    used[w >> 6] |= ONE << np.uint64(w & 63)


@move
def exclude(words: Any, used: Any, r: int) -> None:
    """Take a rank out of the set."""
    w = r >> 6
    words[w] &= ~(ONE << np.uint64(r & 63))
    if words[w] == 0:
        used[w >> 6] &= ~(ONE << np.uint64(w & 63))


@move
def next_used(used: Any, w: int) -> Any:
    """The first word from `w` on that has a bit; there must be one."""
    u = w >> 6
    word = used[u] & (ALL << np.uint64(w & 63))
    while word == 0:
        u += 1
        word = used[u]
    return (u << 6) + lowest_one(word)


@move
def last_used(used: Any, w: int) -> Any:
    """The last word up to `w` that has a bit; there must be one."""
    u = w >> 6
    word = used[u] & (ALL >> np.uint64(63 - (w & 63)))
    while word == 0:
        u -= 1
        word = used[u]
    return (u << 6) + 63 - zeros_above(word)


@move
def ahead(words: Any, used: Any, p: int, k: int) -> Any:
    """The rank in the set that has `k` others before it, counted from `p` on."""
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
    """The `k`-th rank in the set before `p`, counted from there."""
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
    """The place of a quantile among `n` values in order, counted from 0: that of rank ⌈phi·n⌉."""
    return max(1, min(n, math.ceil(phi * n))) - 1


@njit(cache=True)
def roll_ranks(ranked: Any, times: Any, held: int, rank: Any, length: int, phi: float, due: Due, taken: int) -> int:
    """Let the elements after the first `held` come one by one, `taken` having come before; give quantiles when due.

    They are given by their ranks, and their keys in order of size. `times` is empty where `length` is a count. Returns
    the first element that is still in the window.
    """
    words = np.zeros((ranked.size >> 6) + 2, np.uint64)
    used = np.zeros((words.size >> 6) + 2, np.uint64)
    for i in range(held):
        include(words, used, rank[i])
    head = p = below = 0
    for i in range(held, ranked.size + 1):
        while is_due(due, taken + i - held):
            if due.moments.size:
                now = due.moments[due.given[0]]
                while head < i and times[head] <= horizon(now, length):
                    below -= rank[head] < p
                    exclude(words, used, rank[head])
                    head += 1
            key = np.int64(0)
            if head < i:
                wanted = place_of(phi, i - head)
                more = wanted - below
                p = ahead(words, used, p, more) if more >= 0 else behind(words, used, p, -more)
                below, key = wanted, ranked[p]
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
