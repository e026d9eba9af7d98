"""Validation of saved blocks, so that compiled code finds every part in bounds and every block it needs.

Between two values, no room is requested; parts are contiguous; every block in the window that a current or later window
can need is on a shelf; and the runs and blocks under construction that lead to the next ones exist.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from windrow.state.checks import check_indices, check_that
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
    Rows,
    Terms,
)
from windrow.synopses.arasu_manku.room import entries_of_shelves, shelf_labels
from windrow.synopses.jit import LEAST
from windrow.synopses.total_order import Keys

MOST = 1 << 60
"""More values than there can have been; twice as many still fit in 64 bits."""
WIDEST = 1 << 44
"""More values than a window can have; the remaining levels leave room for growth."""


class Finished(NamedTuple):
    """The blocks on all shelves: level, number and first `on`, from the oldest to the newest of each level."""

    level: Keys
    number: Keys
    since: Keys


def check_blocks(terms: Terms, blocks: Blocks) -> None:
    """Raise for saved blocks with which kernels would run out of bounds, or that lack a required block."""
    _check_cursors(terms, blocks)
    _check_layout(terms, blocks)
    _check_making(terms, blocks)
    finished = _check_shelves(terms, blocks)
    _check_since(terms, blocks, finished)
    _check_presence(terms, blocks, finished)


def _check_cursors(terms: Terms, blocks: Blocks) -> None:
    like, cursors = Blocks.make(terms), blocks.cursors
    for name in ("making", "shelves"):
        many, size = len(getattr(like, name)), len(getattr(blocks, name))
        check_that(many == size, f"{many} rows of {name!r}, got {size}")
    for name in ("summary", "entries"):
        many, size = len(getattr(like, name)), len(getattr(blocks, name))
        check_that(many == size, f"{many} rows of {name!r}, got {size}")
    check_that(0 <= cursors[N] <= MOST, f"up to {MOST} values, got {cursors[N]}")
    check_that(cursors[STARTED] == cursors[N], f"blocks begun for {cursors[N]} values, got {cursors[STARTED]}")
    check_that(not cursors[[WANTED_RUNS, TOO_MUCH_ROOM]].any(), "no room that is still wanted")
    least, most = int(like.cursors[TOP]), int(like.cursors[TOP]) if terms.fixed else LEVELS - 2
    check_that(least <= cursors[TOP] <= most, f"a highest level from {least} to {most}, got {cursors[TOP]}")
    if not terms.timed:
        newest = cursors[N] - 1 if cursors[N] else LEAST
        check_that(cursors[NEWEST] == newest, f"position {newest} to be the newest, got {cursors[NEWEST]}")


def _check_layout(terms: Terms, blocks: Blocks) -> None:
    """Raise unless parts are contiguous in their arrays."""
    making, shelves, each = blocks.making, blocks.shelves, entries_of_shelves(terms)
    check_that(not making["wanted"].any() and not shelves["wanted"].any(), "no room that is still wanted")
    _check_parts("summaries", making, "start", np.ones(LEVELS, np.int64), blocks.summary.shape[1])
    _check_parts("places", shelves, "places", np.ones(each.size, np.int64), blocks.places.size)
    _check_parts("entries", shelves, "entries", each, blocks.entries.shape[1])
    check_indices("first places", shelves["first"], max(1, int(shelves["room"].max())))
    check_that((shelves["first"] < np.maximum(shelves["room"], 1)).all(), "the first place of each shelf on it")


def _check_parts(what: str, rows: Rows, start: str, each: Keys, total: int) -> None:
    room = rows["room"]
    check_indices(f"room for {what}", room, (1 << 40) + 1)
    check_that((room[each > 0] <= total).all() and (each[room > 0] <= total).all(), f"room for {total} {what}")
    ends = np.cumsum(room * each)
    check_that(ends[-1] == total, f"room for {total} {what}, got {ends[-1]}")
    check_that((rows[start] == ends - room * each).all(), f"{what} one after the other")
    check_that(((rows["held"] >= 0) & (rows["held"] <= room)).all(), f"{what} within their room")


def _check_making(terms: Terms, blocks: Blocks) -> None:
    """Raise for impossible blocks under construction, and for unsorted summaries and runs."""
    making, n, level = blocks.making, int(blocks.cursors[N]), np.arange(LEVELS)
    alive, spacing = making["alive"] == ALIVE, making["spacing"]
    check_that(np.isin(making["alive"], (0, ALIVE, RETIRING)).all(), "levels that are in use or not")
    check_indices("spacings", spacing, LEVELS + 16)
    kind = spacing - np.maximum(0, level - terms.longest)
    fits = (spacing <= level) & (kind >= 0) & (kind < terms.classes)
    check_that(fits[alive].all(), "a shelf for each block under construction")
    check_that(terms.fixed or (spacing[alive] == np.maximum(0, level - terms.longest)[alive]).all(), "spacings")
    for k in np.flatnonzero(alive & (spacing > 0) & (n & ((1 << level) - 1) > 0)).tolist():
        _check_summary(terms, blocks, k, n)
    waits = making["waiting"]
    check_that(np.isin(waits, (0, 1)).all(), "runs that wait or not")
    for i in np.flatnonzero(waits).tolist():
        check_that(i < terms.longest and 2 << i <= blocks.runs.size, f"no run of 2^{i} to wait")
        run = blocks.runs[1 << i : 2 << i]
        check_that((run[1:] >= run[:-1]).all(), "sorted runs")


def _check_summary(terms: Terms, blocks: Blocks, level: int, n: int) -> None:
    row = blocks.making[level]
    cadence = level - int(row["spacing"])
    value, g, delta = blocks.summary[:, row["start"] : row["start"] + row["held"]]
    taken = (n & ((1 << level) - 1)) >> cadence << cadence
    check_that((value[1:] >= value[:-1]).all() and (g > 0).all() and (g <= taken).all(), "sorted summaries")
    if not terms.frequencies:
        # A block that no window will contain may lack runs.
        whole = g.sum() == taken or row["since"] <= _horizon(terms, blocks)
        check_that(whole and g.sum() <= taken, f"a summary of {taken} values at level {level}, got {g.sum()}")
        most = int(0.5**cadence * taken)
        check_that(((delta >= 0) & (delta <= most)).all(), f"ranks within {most}")


def _check_shelves(terms: Terms, blocks: Blocks) -> Finished:
    """Return the finished blocks; raise if their entries are unsorted or do not fit."""
    each, (level, _), finished = entries_of_shelves(terms), shelf_labels(terms), []
    for shelf in _oldest_first(terms, blocks):
        row, size = blocks.shelves[shelf], int(each[shelf])
        check_that(size > 0 and 2 * size <= blocks.runs.size, f"blocks of at most {blocks.runs.size // 2} entries")
        ring = (row["first"] + np.arange(row["held"])) % row["room"]
        places = blocks.places[row["places"] + ring]
        low = 0 if terms.frequencies else size
        check_that(((places["used"] >= low) & (places["used"] <= size)).all(), f"{size} entries in a block")
        entries = blocks.entries[0, row["entries"] + ring[:, None] * size + np.arange(size)]
        if not terms.frequencies:
            check_that((entries[:, 1:] >= entries[:, :-1]).all(), "sorted entries")
        most = int(blocks.cursors[N]) >> int(level[shelf])
        check_indices(f"numbers of blocks of level {level[shelf]}", places["number"], most)
        finished.append((np.full(ring.size, level[shelf]), places["number"], places["since"]))
    if not finished:
        return Finished(*np.zeros((3, 0), np.int64))
    return Finished(*(np.concatenate(column) for column in zip(*finished, strict=True)))


def _oldest_first(terms: Terms, blocks: Blocks) -> list[int]:
    """Return the shelves that hold blocks, by level; the larger the spacing, the older the blocks."""
    held = np.flatnonzero(blocks.shelves["held"])
    return sorted(held.tolist(), key=lambda shelf: (shelf // terms.classes, -shelf))


def _check_since(terms: Terms, blocks: Blocks, finished: Finished) -> None:
    """Raise for blocks that start at the same value but not at the same time, or whose times are out of order."""
    n, level = int(blocks.cursors[N]), np.arange(LEVELS)
    begun = np.flatnonzero(n & ((1 << level) - 1) > 0)
    position = np.concatenate([finished.number << finished.level, n >> begun << begun])
    since = np.concatenate([finished.since, blocks.making["since"][begun]])
    order = np.argsort(position, kind="stable")
    position, since = position[order], since[order]
    if not terms.timed:
        check_that((since == position).all(), "blocks that start at their position")
        return
    rises, same = since[1:] >= since[:-1], position[1:] == position[:-1]
    check_that((rises & (~same | (since[1:] == since[:-1]))).all(), "blocks in the order of their `on`")
    check_that((since <= blocks.cursors[NEWEST]).all(), f"blocks up to {blocks.cursors[NEWEST]}")


def _check_presence(terms: Terms, blocks: Blocks, finished: Finished) -> None:
    """Raise if a block that the cover of a current or later window needs is missing."""
    n, start = int(blocks.cursors[N]), _window_start(terms, blocks, finished)
    check_that(n - start <= WIDEST or terms.fixed, f"a window of at most {WIDEST} values, got {n - start}")
    for level in range(LEVELS):
        size, reach = 1 << level, terms.reach << level
        if not terms.fixed or (n - start < reach and size <= terms.length):
            first = max(-(-start // size), 0 if terms.fixed else -(-(n - reach + 1) // size))
            numbers, last = finished.number[finished.level == level], n >> level
            present = first >= last or numbers[first - last :].tolist() == list(range(first, last))
            check_that(present, f"blocks {first} to {last - 1} of level {level}")
        if level < terms.longest and n >> level & 1 and (n >> level) - 1 << level >= start:
            check_that(blocks.making[level]["waiting"] == 1, f"a run of 2^{level} values that waits")
        _check_begun(terms, blocks, level, n, start)


def _window_start(terms: Terms, blocks: Blocks, finished: Finished) -> int:
    """Return the first position in the window, as kernels find it; a block begun in the window must not be earlier."""
    n, out = int(blocks.cursors[N]), _horizon(terms, blocks)
    if terms.fixed:
        return max(0, n - terms.length)
    within = finished.since > out
    start: int = min([n, *(finished.number[within] << finished.level[within]).tolist()])
    for level, since in enumerate(blocks.making["since"].tolist()):
        begun = n >> level << level
        check_that(since <= out or begun == n or begun >= start, f"blocks of level {level} from {start} on")
    return start


def _horizon(terms: Terms, blocks: Blocks) -> int:
    """Return the latest `on` that has left the window."""
    return max(LEAST, int(blocks.cursors[NEWEST]) - terms.length)


def _check_begun(terms: Terms, blocks: Blocks, level: int, n: int, start: int) -> None:
    """Raise for a block under construction that is missing or malformed."""
    row, begun = blocks.making[level], n >> level << level
    if begun == n:
        return
    if terms.fixed:
        needed = min(begun + (1 << level), terms.length)
        if 1 << level <= terms.length and needed < terms.reach << level:
            spacing = max(0, (needed // terms.apart).bit_length() - 1)
            check_that(row["alive"] == ALIVE and row["spacing"] == spacing, f"a block of level {level} that is made")
    elif begun >= start and (level <= terms.longest + 1 or n - begun >= 1 << (level - 1)):
        made = row["alive"] == ALIVE and level <= blocks.cursors[TOP]
        check_that(made, f"a block of level {level} that is made")
