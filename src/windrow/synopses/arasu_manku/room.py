"""Growth of the state: its parts are laid out again with the room that kernels requested, and some more."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from windrow.synopses.arasu_manku.layout import ALIVE, LEVELS, PLACE, TOO_MUCH_ROOM, WANTED_RUNS, Blocks, Rows, Terms
from windrow.synopses.total_order import Keys


def with_room(terms: Terms, blocks: Blocks) -> Blocks:
    """Return the same state with the room that kernels requested."""
    shrink = blocks.cursors[TOO_MUCH_ROOM] > 0
    blocks.cursors[TOO_MUCH_ROOM] = 0
    if blocks.making["wanted"].any() or shrink:
        blocks = _with_summaries(terms, blocks)
    if blocks.shelves["wanted"].any() or shrink:
        blocks = _with_shelves(terms, blocks)
    lacking = int(blocks.cursors[WANTED_RUNS])
    if lacking:
        runs = np.zeros(lacking, np.int64)
        runs[: blocks.runs.size] = blocks.runs
        blocks.cursors[WANTED_RUNS] = 0
        blocks = blocks._replace(runs=runs)
    return blocks


def _grown(rows: Rows, used: npt.NDArray[np.bool_], larger: Keys) -> Rows:
    """Return the rows with the requested room, or `larger` if that is more, and without room where unused."""
    grown = rows.copy()
    room, lacking = np.where(used, rows["room"], 0), rows["wanted"]
    grown["room"] = np.where(lacking > 0, np.maximum(lacking, larger), room)
    grown["wanted"] = 0
    return grown


def _with_summaries(terms: Terms, blocks: Blocks) -> Blocks:
    """Lay out the summaries. With a fixed retention, they shrink as the first window grows, to room for four runs."""
    old = blocks.making
    new = _grown(old, (old["alive"] == ALIVE) | (not terms.fixed), 2 * old["room"])
    if terms.fixed:
        run = 1 << (np.arange(LEVELS) - old["spacing"]).clip(0)
        new["room"] = np.minimum(new["room"], np.maximum(old["wanted"], np.maximum(old["held"] + run, 4 * run)))
    new["held"] = np.minimum(new["held"], new["room"])
    new["start"] = np.cumsum(new["room"]) - new["room"]
    summary = np.zeros((3, int(new["room"].sum())), np.int64)
    for before, after in zip(old, new, strict=True):
        summary[:, after["start"] : after["start"] + after["held"]] = blocks.summary[
            :, before["start"] : before["start"] + before["held"]
        ]
    return blocks._replace(making=new, summary=summary)


def _with_shelves(terms: Terms, blocks: Blocks) -> Blocks:
    old, each = blocks.shelves, entries_of_shelves(terms)
    larger = np.minimum(4 * old["room"], most_blocks(terms))
    new = _grown(old, (old["held"] > 0) | _may_be_used(terms, blocks), larger)
    new["first"] = 0
    new["places"] = np.cumsum(new["room"]) - new["room"]
    new["entries"] = np.cumsum(new["room"] * each) - new["room"] * each
    places = np.zeros(int(new["room"].sum()), PLACE)
    entries = np.zeros((len(blocks.entries), int((new["room"] * each).sum())), np.int64)
    for shelf in np.flatnonzero(old["held"]):
        before, after = old[shelf], new[shelf]
        ring = (before["first"] + np.arange(before["held"])) % before["room"]
        places[after["places"] : after["places"] + ring.size] = blocks.places[before["places"] + ring]
        at = (before["entries"] + ring[:, None] * each[shelf] + np.arange(each[shelf])).ravel()
        entries[:, after["entries"] : after["entries"] + at.size] = blocks.entries[:, at]
    return blocks._replace(shelves=new, places=places, entries=entries)


def _may_be_used(terms: Terms, blocks: Blocks) -> npt.NDArray[np.bool_]:
    """Return whether blocks may reach a shelf: with a fixed retention, only levels in use and no smaller spacings."""
    level, spacing = shelf_labels(terms)
    making = blocks.making[level]
    used: npt.NDArray[np.bool_] = (making["alive"] == ALIVE) & (spacing >= making["spacing"]) | (not terms.fixed)
    return used


def shelf_labels(terms: Terms) -> tuple[Keys, Keys]:
    """Return the level and the spacing of each shelf."""
    level, spacing = np.divmod(np.arange(LEVELS * terms.classes), terms.classes)
    return level, spacing + np.maximum(0, level - terms.longest)


def entries_of_shelves(terms: Terms) -> Keys:
    """Return the number of entries per block on each shelf; 0 for shelves that do not exist."""
    level, spacing = shelf_labels(terms)
    return np.where(spacing <= level, 1 << np.maximum(level - spacing, 0), 0)


def most_blocks(terms: Terms) -> Keys:
    """Return an upper bound of the number of blocks on each shelf."""
    level, spacing = shelf_labels(terms)
    most = np.minimum(terms.apart * 2.0 ** (spacing + 1), terms.reach * 2.0**level)
    if terms.fixed:
        most = np.minimum(most, terms.length)
    many: Keys = (most / 2.0**level).astype(np.int64) + 3
    return many
