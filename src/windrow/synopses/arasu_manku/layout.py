"""The layout of the state: blocks of a stream at many levels, each with a small summary.

Blocks, covers and the error budget are described in the package's docstring. With windows of N values, the blocks of a
cover have at least N/reach values, and each may be wrong by N/apart.

Finished blocks lie on *shelves*, one per level and spacing, oldest first. A shelf is a ring of places for blocks with
the same number of entries. Values are first sorted in *runs* of 2^i, and a summary under construction takes whole runs.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from windrow.synopses.total_order import Keys

LEVELS = 48
"""Enough for 2^48 values in a window."""

Rows: TypeAlias = npt.NDArray[np.void]

N, NEWEST, TOP, WANTED_RUNS, TOO_MUCH_ROOM, STARTED = range(6)
"""Cursors: the number of values so far; the newest `on`, or the time advanced to; the highest level in use; the room
needed for runs; whether some room can be released; and for how many values the blocks starting there were begun.
"""

ALIVE, RETIRING = 1, 2
"""Whether blocks of a level are being made, or only existing ones may still be needed; 0 if neither."""


def _rows(*names: str) -> np.dtype[np.void]:
    return np.dtype([(name, np.int64) for name in names])


class Terms(NamedTuple):
    """The constants of a synopsis."""

    frequencies: bool
    """Whether blocks count values, by Misra and Gries; otherwise they keep quantiles, by Greenwald and Khanna."""
    fixed: bool
    """Whether windows never shrink."""
    timed: bool
    """Whether the window is by time; otherwise positions replace `on`."""
    length: int
    reach: int
    apart: int
    longest: int
    """The longest runs have 2^longest values."""
    classes: int
    """The number of spacings per level."""

    @classmethod
    def make(cls, frequencies: bool, fixed: bool, timed: bool, length: int, eps: float) -> Terms:
        """Divide the error: a quarter for the uncovered ends, the rest equally among the blocks of a cover."""
        reach = math.ceil(16 / eps)
        levels = math.ceil(math.log2(reach)) + 1
        apart = math.ceil(2 * levels / (0.75 * eps))
        longest = math.ceil(math.log2(apart))
        return cls(frequencies, fixed, timed, length, reach, apart, longest, levels + 2)


MAKING = _rows("since", "spacing", "alive", "waiting", "held", "room", "start", "wanted")
"""The block under construction at a level: the `on` of its first value; the logarithm of the spacing, in ranks, of its
entries; whether it is made at all (see `ALIVE`); whether a run of its length waits for its right half; and its summary:
tuples, room for tuples, where they start in `summary`, and the room needed.
"""

SHELF = _rows("first", "held", "room", "places", "entries", "wanted")
"""The ring of finished blocks of one level and spacing: its oldest place, blocks, room for blocks, where its places and
its entries start, and the room needed. Its index is `level * classes + spacing - least spacing`.
"""

PLACE = _rows("number", "since", "used")
"""A place for a block: its number at its level, the `on` of its first value, and how many entries it has."""


class Blocks(NamedTuple):
    """The whole state."""

    cursors: Keys
    making: Rows
    summary: Keys
    """The values, g and Δ of the summaries under construction."""
    runs: Keys
    """The run of 2^i values that waits for its right half starts at 2^i."""
    shelves: Rows
    places: Rows
    entries: Keys
    """The contents of blocks: values in order and, for frequencies, their counts."""

    @classmethod
    def make(cls, terms: Terms) -> Blocks:
        """Return the state before the first value."""
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
        """Return all arrays by name, as plain integers."""
        return {name: array.view(np.int64) for name, array in self._asdict().items()}

    def of_plain(self, arrays: dict[str, Keys]) -> Blocks:
        """Return the state with these plain arrays, in the types of this one."""
        return Blocks(*(arrays[name].view(array.dtype) for name, array in self._asdict().items()))
