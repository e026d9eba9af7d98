"""Numbers in order, on shelves of a bounded length: insertion, removal and selection one at a time.

A number is looked for first among the lowest numbers of the shelves, then on its shelf. What moves in memory is a piece
of one shelf, which is short, and now and then a piece of the list of shelves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from windrow.synopses.due import Due, give, is_due
from windrow.synopses.exact.algebra import WITHOUT_COUNTING, move
from windrow.synopses.jit import horizon
from windrow.synopses.quantiles.ranks import place_of

WIDTH, SPARE = 256, 2
"""How many numbers a shelf has room for, and how many shelves there are beyond those that are needed."""
SHELVES, FREE = 0, 1
"""Cursors: how many shelves are in use, and how many are not."""
QUANTILE, MODE = 0, 1

Ints = npt.NDArray[np.int64]


class Shelves(NamedTuple):
    """Shelves by number; `order`, `lows` and `counts` go by their place in the order. `free` are the unused ones."""

    cells: Ints
    order: Ints
    lows: Ints
    counts: Ints
    free: Ints
    cursors: Ints


def shelve(keys: Ints) -> Shelves:
    """Sorted keys on shelves that are three quarters full.

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
    """The same shelves and more unused ones."""
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
    """The last shelf whose lowest number is at most the key, or else the first."""
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
    """How many numbers of a shelf are less than the key."""
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
    """An unused shelf at a place in the order."""
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
    """Put a shelf back among the unused ones."""
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
    """Put a number in its place; a shelf that is full then becomes two."""
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
    """Take out a number that is there; a shelf that is nearly empty goes to its neighbour, if that has room."""
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
    """Take out numbers that are there."""
    for i in range(keys.size):
        remove(shelves, keys[i])


@njit(cache=True, **WITHOUT_COUNTING)
def select(shelves: Any, k: int) -> int:
    """The number that has `k` others before it."""
    at = 0
    while k >= shelves.counts[at]:
        k -= shelves.counts[at]
        at += 1
    return int(shelves.cells[shelves.order[at], k])


@njit(cache=True, **WITHOUT_COUNTING)
def count_up_to(shelves: Any, key: int) -> int:
    """How many numbers are at most as large as the key."""
    n = 0
    for at in range(shelves.cursors[SHELVES]):
        shelf, count = shelves.order[at], shelves.counts[at]
        n += place_on(shelves, shelf, count, key + 1) if shelves.cells[shelf, count - 1] > key else count
    return n


@njit(cache=True, **WITHOUT_COUNTING)
def most_frequent(shelves: Any) -> int:
    """The number that is there most often; of several the smallest."""
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
    """Let the keys from `ends[1]` on come one by one, the first of them at `begin`, and those from `ends[0]` on leave.

    The answers that are due are given. It stops where there may be too few unused shelves.
    """
    while True:
        head, at = ends
        while is_due(due, at - begin):
            if due.moments.size:
                now = due.moments[due.given[0]]
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
