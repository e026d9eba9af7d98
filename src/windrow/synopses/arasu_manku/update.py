"""Updates of blocks: sort runs, feed them to summaries, put finished blocks on their shelves."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from windrow.aggregates.engine.gk_summary import Summary, answer_ranks, compress, insert_run
from windrow.jit import INLINED, WITHOUT_COUNTING
from windrow.synopses.arasu_manku.layout import (
    ALIVE,
    LEVELS,
    NEWEST,
    RETIRING,
    STARTED,
    TOO_MUCH_ROOM,
    TOP,
    WANTED_RUNS,
    Blocks,
    N,
    Terms,
)
from windrow.synopses.arasu_manku.misra_gries import count_run, keep_most
from windrow.synopses.jit import horizon
from windrow.synopses.total_order import Keys


class Work(NamedTuple):
    """Scratch space of the kernels; nothing in it outlives a value."""

    run: Keys
    other: Keys
    ranks: Keys
    lowest: Keys
    highest: Keys
    bands: npt.NDArray[np.int8]

    @classmethod
    def make(cls, blocks: Blocks) -> Work:
        """Return enough scratch space for a state."""
        size = max(int(blocks.making["room"].max()), blocks.runs.size)
        run, other, ranks, lowest, highest = (np.empty(size, np.int64) for _ in range(5))
        return cls(run, other, ranks, lowest, highest, np.empty(size, np.int8))


@njit(cache=True, **INLINED)
def copy(source: Keys, target: Keys, size: int) -> None:
    """Copy the first numbers. Assigning slices would allocate memory."""
    for k in range(size):
        target[k] = source[k]


@njit(cache=True, **INLINED)
def is_expired(terms: Terms, since: int, newest: int) -> bool:
    """Return whether a value with this `on` has left the window."""
    return bool(since <= horizon(newest, terms.length))


@njit(cache=True, **INLINED)
def spacing_for(terms: Terms, elements: int) -> int:
    """Return the logarithm of the largest spacing that windows of this many values allow."""
    spacing = 0
    while (terms.apart << (spacing + 1)) <= elements:
        spacing += 1
    return spacing


@njit(cache=True, **INLINED)
def needed_for(terms: Terms, age: int, n: int) -> int:
    """Return the size of the smallest window that a block of this age may still be part of, after `n` values."""
    return min(n, terms.length) if terms.fixed else age


@njit(cache=True, **INLINED)
def shelf_of(terms: Terms, level: int, spacing: int) -> int:
    """Return the shelf for blocks of a level and a spacing."""
    return level * terms.classes + spacing - max(0, level - terms.longest)


@njit(cache=True, **INLINED)
def start_block(terms: Terms, blocks: Blocks, level: int, on: int) -> None:
    """Start the block of a level at the current value.

    With a fixed retention, each block is built from its first value on. If windows may shrink, all long blocks have the
    same relative error, so a block continues from its left half once that is finished, if it is still in the window.
    """
    making, n, size = blocks.making, blocks.cursors[N], 1 << level
    making[level].since = on
    making[level].held = 0
    if terms.fixed:
        needed = needed_for(terms, size, n + size)
        making[level].spacing = spacing_for(terms, needed)
        if size <= terms.length and needed < terms.reach * size:
            making[level].alive = ALIVE
        else:
            _retire_level(terms, blocks, level)
    else:
        making[level].spacing = max(0, level - terms.longest)
        making[level].alive = ALIVE if level <= terms.longest + 1 else 0


@njit(cache=True, **INLINED)
def _start_blocks(terms: Terms, blocks: Blocks, on: int) -> None:
    """Start the blocks that begin at the current value."""
    level = 0
    while level < LEVELS and blocks.cursors[N] & ((1 << level) - 1) == 0:
        start_block(terms, blocks, level, on)
        level += 1


@njit(cache=True, **WITHOUT_COUNTING)
def _retire_level(terms: Terms, blocks: Blocks, level: int) -> None:
    """Stop making blocks of a level; one block later, when no window is that small any more, drop the existing ones."""
    making = blocks.making
    if making[level].alive == ALIVE:
        making[level].alive = RETIRING
    elif making[level].alive == RETIRING:
        making[level].alive = 0
        blocks.cursors[TOO_MUCH_ROOM] = 1
        for shelf in range(level * terms.classes, (level + 1) * terms.classes):
            blocks.shelves[shelf].held = 0


@njit(cache=True, **INLINED)
def climb(terms: Terms, blocks: Blocks, on: int) -> int:
    """Return the logarithm of the length of the longest run that ends with the next value."""
    n, i = blocks.cursors[N], 0
    while i < terms.longest and (n >> i) & 1 and blocks.making[i].waiting:
        if is_expired(terms, blocks.making[i + 1].since, on):
            break
        i += 1
    return i


@njit(cache=True, **INLINED)
def lacks_room(terms: Terms, blocks: Blocks, height: int) -> bool:
    """Return whether the next value needs another layout: more room, which is recorded, or less for retired levels."""
    lacks, after = blocks.cursors[TOO_MUCH_ROOM] > 0, blocks.cursors[N] + 1
    if 2 << height > blocks.runs.size:
        blocks.cursors[WANTED_RUNS] = 2 << height
        lacks = True
    making = blocks.making
    for level in range(blocks.cursors[TOP] + 1):
        cadence = level - making[level].spacing
        if making[level].alive != ALIVE or cadence > height:
            continue
        if making[level].spacing:
            needed = making[level].held + (1 << cadence)
            lacks |= _want(making, level, needed)
            if not terms.fixed:
                lacks |= _want(making, level + 1, needed + (1 << cadence))
        if after & ((1 << level) - 1) == 0:
            lacks |= _lacks_shelf_room(terms, blocks, level)
    return lacks  # type: ignore[no-any-return]


@njit(cache=True, **INLINED)
def _want(rows: Any, k: int, much: int) -> bool:
    if rows[k].room >= much:
        return False
    rows[k].wanted = max(rows[k].wanted, much)  # phrase: a field of saved states
    return True


@njit(cache=True, **WITHOUT_COUNTING)
def _lacks_shelf_room(terms: Terms, blocks: Blocks, level: int) -> bool:
    """Return whether a shelf of a level may lack room for a new block and for all those thinned onto it."""
    shelves, lacks = blocks.shelves, False
    low = level * terms.classes
    fresh = shelf_of(terms, level, blocks.making[level].spacing)
    for shelf in range(low, low + terms.classes):
        coming = 1 if shelf == fresh else 0
        if shelf > low:
            coming += shelves[shelf - 1].held
        if coming:
            lacks |= _want(shelves, shelf, shelves[shelf].held + coming)
    return lacks


@njit(cache=True, **INLINED)
def merge_runs(left: Keys, right: Keys, out: Keys) -> None:
    """Merge two sorted runs of the same length."""
    i, k, size = 0, 0, left.size
    for to in range(2 * size):
        if k == size or (i < size and left[i] <= right[k]):
            out[to] = left[i]
            i += 1
        else:
            out[to] = right[k]
            k += 1


@njit(cache=True, **WITHOUT_COUNTING)
def feed_levels(terms: Terms, blocks: Blocks, cadence: int, run: Keys, work: Work) -> None:
    """Feed a run to each level that takes runs of that length; long blocks first, see `start_block`."""
    making = blocks.making
    for level in range(blocks.cursors[TOP], cadence - 1, -1):
        if making[level].alive == ALIVE and level - making[level].spacing == cadence:
            if making[level].spacing:
                _feed(terms, blocks, level, run, work)
            if blocks.cursors[N] & ((1 << level) - 1) == 0:
                _finish(terms, blocks, level, run, work)


@njit(cache=True, **INLINED)
def summary_of(blocks: Blocks, level: int) -> Summary:
    """Return the summary under construction at a level."""
    making = blocks.making
    low, high = making[level].start, making[level].start + making[level].room
    whole = blocks.summary
    return Summary(whole[0, low:high], whole[1, low:high], whole[2, low:high])


@njit(cache=True, **WITHOUT_COUNTING)
def _feed(terms: Terms, blocks: Blocks, level: int, run: Keys, work: Work) -> None:
    making, summary = blocks.making, summary_of(blocks, level)
    size, spacing = making[level].held, making[level].spacing
    if terms.frequencies:
        size = count_run(summary.value, summary.g, size, run)
        making[level].held = keep_most(summary.value, summary.g, size, 1 << (level - spacing), work.ranks)
    else:
        twice_eps = 0.5 ** (level - spacing)
        seen = (blocks.cursors[N] - run.size) & ((1 << level) - 1)
        size = insert_run(summary, size, seen, run, twice_eps, 1)
        making[level].held = compress(summary, size, seen + run.size, twice_eps, work.bands)


@njit(cache=True, **WITHOUT_COUNTING)
def _finish(terms: Terms, blocks: Blocks, level: int, run: Keys, work: Work) -> None:
    """Put the block of a level on its shelf and, if it is a left half, continue the next level from it."""
    making, newest = blocks.making, blocks.cursors[NEWEST]
    number = (blocks.cursors[N] >> level) - 1
    if is_expired(terms, making[level].since, newest):
        return
    tidy_level(terms, blocks, level, work)
    _shelve(terms, blocks, level, number, run, work)
    if not terms.fixed and making[level].spacing and number % 2 == 0:
        size = making[level].held
        below, above = summary_of(blocks, level), summary_of(blocks, level + 1)
        copy(below.value, above.value, size)
        copy(below.g, above.g, size)
        copy(below.delta, above.delta, size)
        making[level + 1].held = size
        making[level + 1].alive = ALIVE
        blocks.cursors[TOP] = max(blocks.cursors[TOP], level + 1)


@njit(cache=True, **WITHOUT_COUNTING)
def _shelve(terms: Terms, blocks: Blocks, level: int, number: int, run: Keys, work: Work) -> None:
    making = blocks.making
    spacing = making[level].spacing
    shelf = shelf_of(terms, level, spacing)
    place, values, counts = _add_place(terms, blocks, shelf, 1 << (level - spacing))
    blocks.places[place].number = number
    blocks.places[place].since = making[level].since
    if terms.frequencies:
        if spacing:
            summary, size = summary_of(blocks, level), making[level].held
            copy(summary.value, values, size)
            copy(summary.g, counts, size)
        else:
            size = _count_distinct(run, values, counts)
        blocks.places[place].used = size
        return
    blocks.places[place].used = values.size
    if spacing:
        for k in range(values.size):
            work.ranks[k] = (k + 1) << spacing
        answer_ranks(summary_of(blocks, level), making[level].held, work.ranks, values, work.lowest, work.highest)
    else:
        copy(run, values, values.size)


@njit(cache=True, **WITHOUT_COUNTING)
def _count_distinct(run: Keys, values: Keys, counts: Keys) -> int:
    to = -1
    for k in range(run.size):
        if k == 0 or run[k] != values[to]:
            to += 1
            values[to], counts[to] = run[k], 0
        counts[to] += 1
    return to + 1


@njit(cache=True, **INLINED)
def entries_at(terms: Terms, blocks: Blocks, shelf: int, index: int, each: int) -> tuple[int, Keys, Keys]:
    """Return the place, values and counts of the block `index` after the oldest of a shelf."""
    shelves = blocks.shelves
    ring = (shelves[shelf].first + index) % shelves[shelf].room
    low = shelves[shelf].entries + ring * each
    values = blocks.entries[0, low : low + each]
    counts = blocks.entries[1, low : low + each] if terms.frequencies else values
    return shelves[shelf].places + ring, values, counts


@njit(cache=True, **INLINED)
def _add_place(terms: Terms, blocks: Blocks, shelf: int, each: int) -> tuple[int, Keys, Keys]:
    blocks.shelves[shelf].held += 1
    return entries_at(terms, blocks, shelf, blocks.shelves[shelf].held - 1, each)  # type: ignore[no-any-return]


@njit(cache=True, **INLINED)
def _drop_oldest(blocks: Blocks, shelf: int) -> None:
    shelves = blocks.shelves
    shelves[shelf].first = (shelves[shelf].first + 1) % shelves[shelf].room
    shelves[shelf].held -= 1


@njit(cache=True, **WITHOUT_COUNTING)
def tidy_level(terms: Terms, blocks: Blocks, level: int, work: Work) -> None:
    """Drop the blocks of a level that no window will need, and thin out those more exact than any window needs."""
    shelves, n, least = blocks.shelves, blocks.cursors[N], max(0, level - terms.longest)
    for k in range(terms.classes - 1, -1, -1):
        shelf = level * terms.classes + k
        while shelves[shelf].held:
            place = shelves[shelf].places + shelves[shelf].first
            needed = needed_for(terms, n - (blocks.places[place].number << level), n)
            gone = is_expired(terms, blocks.places[place].since, blocks.cursors[NEWEST])
            if gone or needed >= terms.reach << level:
                _drop_oldest(blocks, shelf)
            elif spacing_for(terms, needed) > least + k and shelves[shelf + 1].held < shelves[shelf + 1].room:
                _thin_oldest(terms, blocks, shelf, 1 << (level - least - k), work)
            else:
                break


@njit(cache=True, **WITHOUT_COUNTING)
def _thin_oldest(terms: Terms, blocks: Blocks, shelf: int, each: int, work: Work) -> None:
    """Move the oldest block of a shelf to the next one, with half of its entries."""
    places = blocks.places
    old, values, counts = entries_at(terms, blocks, shelf, 0, each)
    new, half_values, half_counts = _add_place(terms, blocks, shelf + 1, each // 2)
    places[new].number, places[new].since = places[old].number, places[old].since
    if terms.frequencies:
        size = keep_most(values, counts, places[old].used, each // 2, work.ranks)
        copy(values, half_values, size)
        copy(counts, half_counts, size)
        places[new].used = size
    else:
        for k in range(each // 2):
            half_values[k] = values[2 * k + 1]
        places[new].used = each // 2
    _drop_oldest(blocks, shelf)


@njit(cache=True, **WITHOUT_COUNTING)
def take_one(terms: Terms, blocks: Blocks, on: int, key: int, work: Work) -> bool:
    """Add a value; return False if there is too little room, and the value must be passed again."""
    cursors = blocks.cursors
    n = cursors[N]
    if cursors[STARTED] == n:
        cursors[STARTED] = n + 1
        _start_blocks(terms, blocks, on)
    height = climb(terms, blocks, on)
    if lacks_room(terms, blocks, height):
        return False
    cursors[N], cursors[NEWEST] = n + 1, on
    run, other = work.run, work.other
    run[0] = key
    feed_levels(terms, blocks, 0, run[:1], work)
    for i in range(height):
        size = 1 << i
        merge_runs(blocks.runs[size : 2 * size], run[:size], other[: 2 * size])
        run, other = other, run
        blocks.making[i].waiting = 0
        feed_levels(terms, blocks, i + 1, run[: 2 * size], work)
    size = 1 << height
    blocks.making[height].waiting = height < terms.longest and not (n >> height) & 1
    if blocks.making[height].waiting:
        copy(run, blocks.runs[size:], size)
    return True


@njit(cache=True, **WITHOUT_COUNTING)
def take(terms: Terms, blocks: Blocks, on: Keys, keys: Keys, at: int, until: int, work: Work) -> int:
    """Add values until there is too little room; return the next position."""
    while at < until:
        instant = on[at] if terms.timed else blocks.cursors[N]
        if not take_one(terms, blocks, instant, keys[at], work):
            return at
        at += 1
    return at
