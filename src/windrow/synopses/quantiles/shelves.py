"""A sorted collection of numbers on shelves of bounded length: insertion, removal and selection one at a time.

A search looks among the lowest numbers of the shelves first, then on one shelf. An update moves a part of one short
shelf and, now and then, a part of the list of shelves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from windrow.jit import WITHOUT_COUNTING
from windrow.synopses.due import Due, give, is_due
from windrow.synopses.exact.algebra import move
from windrow.synopses.jit import horizon
from windrow.synopses.quantiles.ranks import place_of

WIDTH, SPARE = 256, 2
"""The capacity of a shelf, and the number of spare shelves beyond those needed."""
SHELVES, FREE = 0, 1
"""Cursors: the number of shelves in use, and of unused ones."""
QUANTILE, MODE = 0, 1

Ints = npt.NDArray[np.int64]


class Shelves(NamedTuple):
    """Shelves by number; `order`, `lows` and `counts` are indexed by place in the order, `free` lists unused ones."""

    cells: Ints
    order: Ints
    lows: Ints
    counts: Ints
    free: Ints
    cursors: Ints


def shelve(keys: Ints) -> Shelves:
    """Return sorted keys on shelves that are three quarters full.

    >>> import numpy as np
    >>> int(select(shelve(np.arange(0, 2000, 2)), 700))
    1400
    """
    full = 3 * WIDTH // 4
    used = -(-keys.size // full)
    rows = used + SPARE
    order, lows, counts, free = np.empty((4, rows), np.int64)
    shelves = Shelves(np.empty((rows, WIDTH), np.int64), order, lows, counts, free, np.array([used, SPARE]))
    shelves.order[:used] = np.arange(used)
    shelves.free[:SPARE] = np.arange(used, rows)
    for i in range(used):
        piece = keys[i * full : (i + 1) * full]
        shelves.cells[i, : piece.size] = piece
        shelves.lows[i], shelves.counts[i] = piece[0], piece.size
    return shelves


def with_room(shelves: Shelves, more: int) -> Shelves:
    """Return the same shelves with `more` unused ones."""
    had, cursors = len(shelves.cells), shelves.cursors.copy()
    cells, order, lows, counts, free = (
        np.concatenate([array, np.empty((more, *array.shape[1:]), np.int64)]) for array in shelves[:-1]
    )
    grown = Shelves(cells, order, lows, counts, free, cursors)
    grown.free[cursors[FREE] : cursors[FREE] + more] = np.arange(had, had + more)
    cursors[FREE] += more
    return grown


@move
def shelf_of(shelves: Any, key: int) -> int:
    """Return the last shelf whose lowest number is at most the key, or else the first."""
    low, high = 0, shelves.cursors[SHELVES]
    while low < high:
        middle = (low + high) >> 1
        if shelves.lows[middle] <= key:
            low = middle + 1
        else:
            high = middle
    return max(low - 1, 0)


@move
def place_on(shelves: Any, shelf: int, count: int, key: int) -> int:
    """Return how many numbers of a shelf are less than the key."""
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if shelves.cells[shelf, middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@move
def add_shelf(shelves: Any, at: int) -> int:
    """Insert an unused shelf at a place in the order; return its number."""
    cursors = shelves.cursors
    cursors[FREE] -= 1
    shelf = shelves.free[cursors[FREE]]
    for i in range(cursors[SHELVES], at, -1):
        shelves.order[i] = shelves.order[i - 1]
        shelves.lows[i] = shelves.lows[i - 1]
        shelves.counts[i] = shelves.counts[i - 1]
    cursors[SHELVES] += 1
    shelves.order[at], shelves.counts[at] = shelf, 0
    return int(shelf)


@move
def drop_shelf(shelves: Any, at: int) -> None:
    """Return a shelf to the unused ones."""
    cursors = shelves.cursors
    shelves.free[cursors[FREE]] = shelves.order[at]
    cursors[FREE] += 1
    cursors[SHELVES] -= 1
    for i in range(at, cursors[SHELVES]):
        shelves.order[i] = shelves.order[i + 1]
        shelves.lows[i] = shelves.lows[i + 1]
        shelves.counts[i] = shelves.counts[i + 1]


@move
def put(shelves: Any, key: int) -> None:
    """Insert a number; split the shelf if it is full then."""
    if shelves.cursors[SHELVES] == 0:
        add_shelf(shelves, 0)
    at = shelf_of(shelves, key)
    shelf, count = shelves.order[at], shelves.counts[at]
    place = place_on(shelves, shelf, count, key)
    for i in range(count, place, -1):
        shelves.cells[shelf, i] = shelves.cells[shelf, i - 1]
    shelves.cells[shelf, place] = key
    shelves.counts[at] = count + 1
    shelves.lows[at] = shelves.cells[shelf, 0]
    if count + 1 == WIDTH:
        fresh, half = add_shelf(shelves, at + 1), WIDTH // 2
        for i in range(half):
            shelves.cells[fresh, i] = shelves.cells[shelf, half + i]
        shelves.counts[at] = shelves.counts[at + 1] = half
        shelves.lows[at + 1] = shelves.cells[fresh, 0]


@move
def remove(shelves: Any, key: int) -> None:
    """Remove a number that is present; merge a nearly empty shelf with its successor if that leaves room."""
    at = shelf_of(shelves, key)
    shelf, count = shelves.order[at], shelves.counts[at] - 1
    for i in range(place_on(shelves, shelf, count + 1, key), count):
        shelves.cells[shelf, i] = shelves.cells[shelf, i + 1]
    shelves.counts[at] = count
    if count == 0:
        drop_shelf(shelves, at)
        return
    shelves.lows[at] = shelves.cells[shelf, 0]
    if count < WIDTH // 4 and at + 1 < shelves.cursors[SHELVES] and count + shelves.counts[at + 1] < WIDTH // 2:
        after, more = shelves.order[at + 1], shelves.counts[at + 1]
        for i in range(more):
            shelves.cells[shelf, count + i] = shelves.cells[after, i]
        shelves.counts[at] = count + more
        drop_shelf(shelves, at + 1)


@njit(cache=True, **WITHOUT_COUNTING)
def take_off(shelves: Any, keys: Any) -> None:
    """Remove numbers that are present."""
    for i in range(keys.size):
        remove(shelves, keys[i])


@njit(cache=True, **WITHOUT_COUNTING)
def select(shelves: Any, k: int) -> int:
    """Return the number with `k` others before it."""
    at = 0
    while k >= shelves.counts[at]:
        k -= shelves.counts[at]
        at += 1
    return int(shelves.cells[shelves.order[at], k])


@njit(cache=True, **WITHOUT_COUNTING)
def count_up_to(shelves: Any, key: int) -> int:
    """Return how many numbers are at most the key."""
    n = 0
    for at in range(shelves.cursors[SHELVES]):
        shelf, count = shelves.order[at], shelves.counts[at]
        n += place_on(shelves, shelf, count, key + 1) if shelves.cells[shelf, count - 1] > key else count
    return n


@njit(cache=True, **WITHOUT_COUNTING)
def most_frequent(shelves: Any) -> int:
    """Return the most frequent number, the smallest of several."""
    best = often = run = 0
    before = 0
    for at in range(shelves.cursors[SHELVES]):
        shelf = shelves.order[at]
        for i in range(shelves.counts[at]):
            key = shelves.cells[shelf, i]
            run = run + 1 if run and key == before else 1
            before = key
            if run > often:
                best, often = key, run
    return best


@njit(cache=True, **WITHOUT_COUNTING)
def roll_shelves(
    shelves: Any, keys: Any, times: Any, span: Any, ends: Any, what: int, phi: float, due: Due, begin: int
) -> None:
    """Add the keys from `ends[1]` on one by one, evict keys from `ends[0]` on, and give the answers that are due.

    `begin` is the position of the first new key. The loop returns when there may be too few unused shelves.
    """
    while True:
        head, at = ends
        while is_due(due, at - begin):
            if due.moments.size:
                now = due.moments[due.answered[0]]
                while head < at and times[head] <= horizon(now, span.length):
                    remove(shelves, keys[head])
                    head += 1
                ends[0] = head
            key = 0
            if head < at:
                key = most_frequent(shelves) if what == MODE else select(shelves, place_of(phi, at - head))
            give(due, key, at - head)
        if at == keys.size or shelves.cursors[FREE] < 2:
            return
        while head < at and (
            times[head] <= horizon(times[at], span.length) if span.timed else at - head == span.length
        ):
            remove(shelves, keys[head])
            head += 1
        put(shelves, keys[at])
        ends[0], ends[1] = head, at + 1
