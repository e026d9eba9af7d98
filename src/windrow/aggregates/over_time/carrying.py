"""Values that are carried into a frame or window from before its start."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from windrow.arrays import Array, Values

LAST, LAST_X, CARRIED = 4, 6, 10
"""Where a state has its last row and the value that is carried in, as in `over_time/base.py`."""
NONE_CARRIED, IS_CARRIED = 1.0, 2.0
NOTHING = np.array([NONE_CARRIED, 0.0, 0.0, 0.0])
"""The entry of a group without a value."""
ROW = 3
"""The numbers of a row: the value, and its `on` as two numbers."""


class LastValues:
    """The last value of each group, which is carried into the next frame or window."""

    def __init__(self, numbers: Array | None = None) -> None:
        self.numbers = np.empty((0, 1 + ROW)) if numbers is None else numbers
        """Per group: whether there is a value, its `on` as two numbers, and the value, as in a state."""

    def grow(self, groups: int) -> None:
        """Make room for new groups."""
        more = groups - len(self.numbers)
        if more > 0:
            self.numbers = np.concatenate([self.numbers, np.tile(NOTHING, (more, 1))])

    def forget(self, groups: Array) -> None:
        """Forget the values of some groups."""
        self.numbers[groups] = NOTHING

    def carried(self, group: Array, values: Values) -> Values:
        """Return the values of rows in order, each followed by the last value of its group before the row."""
        self.grow(int(group.max(initial=-1)) + 1)
        both = np.empty((group.size, 2 * ROW + 1))
        both[:, :ROW] = values.numbers
        _carry(group, values.valid, self.numbers, both)
        return values._replace(numbers=both)


@njit(cache=True)
def _carry(group: Any, valid: Any, last: Any, both: Any) -> None:
    for i in range(group.size):
        g = group[i]
        for k in range(4):
            both[i, 3 + k] = last[g, k]
        if not valid.size or valid[i]:
            last[g, 0] = 2.0
            last[g, 1], last[g, 2], last[g, 3] = both[i, 1], both[i, 2], both[i, 0]


@njit(cache=True)
def open_states(numbers: Any, slots: Any, values: Any) -> None:
    """Give each undecided state the value that is carried into its first row."""
    for i in range(slots.shape[0]):
        for w in range(slots.shape[1]):
            k = slots[i, w]
            if k >= 0 and numbers[k, 10] == 0.0:
                for j in range(4):
                    numbers[k, 10 + j] = values[i, 3 + j]


def last_values(numbers: Array) -> Array:
    """Return what states would carry into the time after them: their last value, or what was carried into them."""
    last = numbers[:, [CARRIED, LAST, LAST + 1, LAST_X]]
    last[:, 0] = IS_CARRIED
    carried: Array = np.where(numbers[:, [0]] > 0, last, numbers[:, CARRIED:])
    return carried


def open_parts(numbers: Array, into: Array, parts: Array) -> None:
    """Give each undecided state the value that is carried into its first part, even if that has no values itself."""
    states, first = np.unique(into[parts], return_index=True)
    undecided = numbers[states, CARRIED] == 0
    numbers[states[undecided], CARRIED:] = numbers[parts[first[undecided]], CARRIED:]
