"""Blocks of a stream at many levels, each with a small summary: what the synopses of Arasu and Manku are made of.

Elements are numbered from 0; the blocks of level l are the 2^l elements from each multiple of 2^l on. A window is
covered by few blocks, at most two of a level; the two ends that are left uncovered are short. How short they must be,
and how exact a block, depends on the smallest window that the block may yet be in: on the window of today if its
retention is of a fixed size, and on the block's age if windows may shrink. In the words of the paper, all fixed
sketches F(2^k, ε/2) of a variable one share their blocks; a block that only the larger of them need is thinned out.

With windows of N elements, blocks are as long as N/reach at least, and a block may be wrong by N/apart elements.

The blocks that are finished lie on *shelves*, one for each level and spacing, oldest first: a shelf is a ring of
places for blocks of the same number of entries. Elements are first sorted in *runs* of 2^i, by merging two runs of
half the length, and a summary under construction takes in whole runs.

Source: Approximate counts and quantiles over sliding windows (2004).
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from windrow.synopses.total_order import Keys

LEVELS = 48
"""Enough for 2^48 elements in a window."""

Rows: TypeAlias = npt.NDArray[np.void]

N, NEWEST, TOP, WANTED_RUNS, TOO_MUCH_ROOM, STARTED = range(6)
"""The cursors: elements so far, the newest `on` or moment that time went on to, the highest level in use, the room for
runs that is wanted, whether some room is not needed any more, and for how many elements the blocks that start at them
were begun."""

ALIVE, RETIRING = 1, 2
"""Whether blocks of a level are made, or only those that there are may still be needed; 0 if neither."""


def _rows(*names: str) -> np.dtype[np.void]:
    return np.dtype([(name, np.int64) for name in names])


class Terms(NamedTuple):
    """What is kept: nothing of this changes."""

    frequencies: bool
    """Whether blocks count values, by Misra and Gries; else they keep quantiles, by Greenwald and Khanna."""
    fixed: bool
    """Whether windows never shrink."""
    timed: bool
    """Whether the window is of time; else positions take the place of `on`."""
    length: int
    reach: int
    apart: int
    longest: int
    """The longest runs are of 2^longest elements."""
    classes: int
    """How many spacings there are at one level."""

    @classmethod
    def make(cls, frequencies: bool, fixed: bool, timed: bool, length: int, eps: float) -> Terms:
        """Share out the error: a quarter of it for the uncovered ends, the rest equally for the blocks of a cover."""
        reach = math.ceil(16 / eps)
        levels = math.ceil(math.log2(reach)) + 1
        apart = math.ceil(2 * levels / (0.75 * eps))
        longest = math.ceil(math.log2(apart))
        return cls(frequencies, fixed, timed, length, reach, apart, longest, levels + 2)


MAKING = _rows("since", "spacing", "alive", "waiting", "held", "room", "start", "wanted")
"""The block under construction at a level: the `on` of its first element; the logarithm of the distance, in ranks, of
the quantiles it will keep; whether it is being made at all, see `ALIVE`; whether a run of its length waits for its
right half; and its summary: tuples, room for tuples, where they start in `summary`, and what room is wanted."""

SHELF = _rows("first", "held", "room", "places", "entries", "wanted")
"""The ring of finished blocks of one level and spacing: its oldest place, blocks, room for blocks, where its places
and its entries start, and what room is wanted. It is shelf `level * classes + spacing - least spacing`."""

PLACE = _rows("number", "since", "used")
"""A place for a block: its number at its level, the `on` of its first element, and how many entries it has."""


class Blocks(NamedTuple):
    """The whole state."""

    cursors: Keys
    making: Rows
    summary: Keys
    """The values, g and Δ of the summaries under construction."""
    runs: Keys
    """The run of 2^i elements that waits for its right half starts at 2^i."""
    shelves: Rows
    places: Rows
    entries: Keys
    """What blocks consist of: values in order and, in the case of frequencies, their counts."""

    @classmethod
    def make(cls, terms: Terms) -> Blocks:
        """The state before the first element."""
        top = min(LEVELS - 1, terms.length.bit_length() - 1) if terms.fixed else terms.longest + 1
        return cls(
            np.array([0, np.iinfo(np.int64).min, top, 0, 0, 0]),
            np.zeros(LEVELS, MAKING),
            np.zeros((3, 0), np.int64),
            np.zeros(2, np.int64),
            np.zeros(LEVELS * terms.classes, SHELF),
            np.zeros(0, PLACE),
            np.zeros((1 + terms.frequencies, 0), np.int64),
        )

    def plain(self) -> dict[str, Keys]:
        """All arrays by name, as plain numbers."""
        return {name: array.view(np.int64) for name, array in self._asdict().items()}

    def of_plain(self, arrays: dict[str, Keys]) -> Blocks:
        """The state that had these plain arrays, in the types of this one."""
        return Blocks(*(arrays[name].view(array.dtype) for name, array in self._asdict().items()))
