"""Answers from blocks: a few of them cover the window, and their entries are searched together."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from windrow.synopses.arasu_manku.layout import LEVELS, NEWEST, TOP, Blocks, N, Terms
from windrow.synopses.arasu_manku.update import is_expired
from windrow.synopses.base import Numbers
from windrow.synopses.total_order import Keys

FIRST, LAST, SHORTEST, SIZE = 0, 1, 2, 3
"""Fields of a cover's span: its first position, the one after its last, its shortest level, and its number of blocks.
"""


class Cover(NamedTuple):
    """Blocks that cover a window without its short ends: where their entries start, how many, and their spacing."""

    span: Keys
    start: Keys
    size: Keys
    spacing: Keys


@njit(cache=True)
def empty_cover() -> Cover:
    """Return an empty cover with room for any."""
    most = 2 * LEVELS
    return Cover(np.full(4, -1, np.int64), np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64))


@njit(cache=True)
def _oldest_in_window(terms: Terms, blocks: Blocks, level: int) -> int:
    """Return the number of the oldest block of a level that starts in the window, or -1."""
    shelves, newest = blocks.shelves, blocks.cursors[NEWEST]
    for shelf in range((level + 1) * terms.classes - 1, level * terms.classes - 1, -1):
        low, high = 0, shelves[shelf].held
        if not high:
            continue
        while low < high:
            middle = (low + high) // 2
            place = shelves[shelf].places + (shelves[shelf].first + middle) % shelves[shelf].room
            if is_expired(terms, blocks.places[place].since, newest):
                low = middle + 1
            else:
                high = middle
        if low < shelves[shelf].held:
            return blocks.places[  # type: ignore[no-any-return]
                shelves[shelf].places + (shelves[shelf].first + low) % shelves[shelf].room
            ].number
    return -1


@njit(cache=True)
def window_start(terms: Terms, blocks: Blocks) -> int:
    """Return the first position in the window or, if windows may shrink, the first at which a block in it starts."""
    n = blocks.cursors[N]
    if terms.fixed:
        return max(0, n - terms.length)  # type: ignore[no-any-return]
    start = n
    for level in range(blocks.cursors[TOP] + 1):
        number = _oldest_in_window(terms, blocks, level)
        if number >= 0:
            start = min(start, number << level)
    return start  # type: ignore[no-any-return]


@njit(cache=True)
def _find(terms: Terms, blocks: Blocks, cover: Cover, level: int, number: int) -> bool:
    """Add a block to a cover. All blocks in the window exist, so its number gives its distance from the newest."""
    shelves, newest = blocks.shelves, -1
    back = 0
    for k in range(terms.classes):
        shelf = level * terms.classes + k
        size = shelves[shelf].held
        if not size:
            continue
        if newest < 0:
            place = shelves[shelf].places + (shelves[shelf].first + size - 1) % shelves[shelf].room
            newest = blocks.places[place].number
            back = newest - number
        if back < size:
            ring = (shelves[shelf].first + size - 1 - back) % shelves[shelf].room
            spacing = max(0, level - terms.longest) + k
            at = cover.span[SIZE]
            cover.start[at] = shelves[shelf].entries + (ring << (level - spacing))
            cover.size[at] = blocks.places[shelves[shelf].places + ring].used
            cover.spacing[at] = spacing
            cover.span[SIZE] += 1
            return blocks.places[shelves[shelf].places + ring].number == number  # type: ignore[no-any-return]
        back -= size
    return False


@njit(cache=True)
def update_cover(terms: Terms, blocks: Blocks, cover: Cover) -> bool:
    """Cover the current window; return False if the cover has not changed."""
    n, start = blocks.cursors[N], window_start(terms, blocks)
    shortest = 0
    while n - start >= terms.reach << shortest:
        shortest += 1
    first = ((start + (1 << shortest) - 1) >> shortest) << shortest
    last = max(first, (n >> shortest) << shortest)
    span = cover.span
    if span[FIRST] == first and span[LAST] == last and span[SHORTEST] == shortest:
        return False
    span[FIRST], span[LAST], span[SHORTEST], span[SIZE] = first, last, shortest, 0
    while first < last:
        level = shortest
        while first & ((2 << level) - 1) == 0 and first + (2 << level) <= last:
            level += 1
        if not _find(terms, blocks, cover, level, first >> level):
            raise AssertionError("a block in the window is missing")
        first += 1 << level
    return True


@njit(cache=True)
def _above(values: Keys, low: int, high: int, pivot: int, equal: bool) -> int:
    """Return the first of the sorted values from `low` to `high` above a pivot or, with `equal`, equal to it."""
    while low < high:
        middle = (low + high) // 2
        if values[middle] < pivot or (not equal and values[middle] == pivot):
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True)
def select(values: Keys, cover: Cover, rank: int, low: Keys, high: Keys, cut: Keys) -> int:
    """Return the smallest entry of a cover up to which its blocks have an estimated `rank` values or more.

    If i entries of a block of spacing w are at most v, then iw to (i + 1)w - 1 values of the block are, so iw + (w -
    1)/2 is the best estimate. The search halves the candidates around a pivot from the block with the most candidates.
    """
    many, doubt = cover.span[SIZE], 0
    for b in range(many):
        low[b], high[b] = cover.start[b], cover.start[b] + cover.size[b]
        doubt += (1 << cover.spacing[b]) - 1
    answer = 0
    while True:
        widest = 0
        for b in range(1, many):
            if high[b] - low[b] > high[widest] - low[widest]:
                widest = b
        if high[widest] <= low[widest]:
            return answer
        pivot, below = values[(low[widest] + high[widest]) // 2], 0
        for b in range(many):
            cut[b] = _above(values, low[b], high[b], pivot, False)
            below += (cut[b] - cover.start[b]) << cover.spacing[b]
        if 2 * below + doubt >= 2 * rank:
            answer = pivot
            for b in range(many):
                high[b] = _above(values, low[b], cut[b], pivot, True)
        else:
            low[:many] = cut[:many]


@njit(cache=True)
def answer_quantiles(blocks: Blocks, cover: Cover, phi: Numbers, out: Keys) -> None:
    """Write the quantiles of the covered values."""
    covered = cover.span[LAST] - cover.span[FIRST]
    room = np.empty((3, cover.span[SIZE]), np.int64)
    for k in range(phi.size):
        rank = min(covered, max(1, math.ceil(phi[k] * covered)))
        out[k] = select(blocks.entries[0], cover, rank, room[0], room[1], room[2])
