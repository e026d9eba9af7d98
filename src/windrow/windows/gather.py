"""From tuples to panes: each tuple has the number of a pane, and the tuples of a pane are aggregated once."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from windrow.aggregates.engine.accumulator import described, naming
from windrow.aggregates.engine.states import States
from windrow.arrays import ALL_VALID, Values
from windrow.errors import DataError
from windrow.rows.groups import Directory
from windrow.rows.query import RowBatch
from windrow.windows.query import WindowQuery
from windrow.windows.ranges import Indices, PaneKeys
from windrow.windows.synopsis_windows import SynopsisWindows

FARTHEST_PANE = 9.0e18
"""Where panes of floats can no longer be counted."""
WIDEST = 4
"""A table with a place for each group and each pane is used where it is at most so many times as long as the batch."""


def naming_window(directory: Directory | None, group: Indices) -> AbstractContextManager[None]:
    """Say of which group a window or pane has too many values; `group` has that of each state."""

    def which(k: int) -> str:
        key = () if directory is None else directory.key(int(group[k]))
        return described("a window", key) if key else ""

    return naming(which)


class Gatherer:
    """Puts tuples into panes. Where windows are counted, it counts the tuples, or the distinct times, of each group.

    Values of aggregates that synopses keep go to `kept`.
    """

    def __init__(
        self,
        slide: WindowQuery,
        kept: Mapping[tuple[int, int], SynopsisWindows] | None = None,
        directory: Directory | None = None,
    ) -> None:
        self.directory, self.kept = directory, kept or {}
        self.slide, self.accumulators, self.pane = slide, slide.pane_keepers, slide.pane
        self.counted = np.empty(0, np.int64)
        """How many tuples, or distinct times, each group had …"""
        self.latest = np.empty(0, slide.clock.dtype)
        """… and the `on` of its last tuple."""

    def gather(self, tuples: RowBatch) -> tuple[PaneKeys, list[States]]:
        """The panes of some tuples, in no order; windows that are counted need each group's tuples in order."""
        place = self._places(tuples)
        panes, slots = _distinct(tuples.group, pane_numbers(place, self.pane))
        read = [tuples.values[j] for j in self.slide.paned]
        ends = [Values(tuples.on, ALL_VALID)] * (len(self.accumulators) - len(read))
        states = []
        for accumulator, values in zip(self.accumulators, [*read, *ends], strict=True):
            states.append(accumulator.empty(panes.group.size))
            with naming_window(self.directory, panes.group):
                accumulator.accumulate(states[-1], slots.reshape(-1, 1), values)
        for (j, _), kept in self.kept.items():
            kept.add(tuples.group, place, tuples.values[j])
        return panes, states

    def past(self, latest: Indices, *, settled: bool = True) -> Indices:
        """How many panes of each group are whole, if `latest` is its last one so far and tuples come in order.

        The last of several distinct times is whole only if it is `settled`: no further tuple can have it.
        """
        if self.slide.unit == "time":
            return latest
        self.grow(latest.size)
        open_ = 0 if settled or self.slide.unit == "rows" else 1
        return np.maximum(self.counted - open_, 0) // self.pane

    def grow(self, groups: int) -> None:
        """Make room for groups that were not met before."""
        more = groups - self.counted.size
        if more > 0:
            self.counted = np.concatenate([self.counted, np.zeros(more, np.int64)])
            self.latest = np.concatenate([self.latest, np.zeros(more, self.latest.dtype)])

    def _places(self, tuples: RowBatch) -> npt.NDArray[Any]:
        """What the windows are measured in: the `on` of each tuple, or its number in the group."""
        if self.slide.unit == "time":
            return tuples.on
        self.grow(int(tuples.group.max()) + 1 if tuples.group.size else 0)
        numbers = np.empty(tuples.on.size, np.int64)
        _count(tuples.group, tuples.on, self.counted, self.latest, self.slide.unit == "times", numbers)
        return numbers


def pane_numbers(on: npt.NDArray[Any], pane: int) -> Indices:
    """The pane of each instant.

    >>> pane_numbers(np.array([-1, 0, 9, 10]), 10).tolist()
    [-1, 0, 0, 1]
    """
    if on.dtype == np.int64:
        return on // pane
    near = np.floor(on / pane)
    outside = ~(np.abs(on / pane) <= FARTHEST_PANE)
    if outside.any():
        raise DataError(f"on: {on[outside][0]} is in no window that 64 bits can count; drop such rows")
    # The quotient can round across a boundary, so the definition has the last word.
    near -= near * pane > on
    near += (near + 1) * pane <= on
    return near.astype(np.int64)


@njit(cache=True)
def _count(group: Any, on: Any, counted: Any, latest: Any, distinct: bool, numbers: Any) -> None:
    for i in range(group.size):
        g = group[i]
        if not distinct or counted[g] == 0 or on[i] != latest[g]:
            counted[g] += 1
            latest[g] = on[i]
        numbers[i] = counted[g] - 1


def _distinct(group: Indices, number: Indices) -> tuple[PaneKeys, Indices]:
    """The different panes among these, and for each of these its place there."""
    slots = np.empty(group.size, np.int64)
    if not group.size:
        return PaneKeys(slots, slots), slots
    low, width = int(number.min()), int(number.max()) - int(number.min()) + 1
    groups = int(group.max()) + 1
    if width <= WIDEST * max(group.size, 1 << 16) // groups:
        table = np.full(groups * width, -1, np.int64)
        made = np.empty((2, min(table.size, group.size)), np.int64)
        n = _look_up(group, number, low, width, table, slots, made[0], made[1])
        return PaneKeys(made[0, :n].copy(), made[1, :n].copy()), slots
    order = np.lexsort((number, group))
    other = differs(group[order], number[order])
    slots[order] = np.cumsum(other) - 1
    rows = order[other]
    return PaneKeys(group[rows], number[rows]), slots


def differs(group: Indices, number: Indices) -> npt.NDArray[np.bool_]:
    """Whether each of these sorted panes is another one than that before it."""
    other = np.ones(group.size, np.bool_)
    other[1:] = (np.diff(group) != 0) | (np.diff(number) != 0)
    return other


@njit(cache=True)
def _look_up(
    group: Any, number: Any, low: int, width: int, table: Any, slots: Any, groups: Any, numbers: Any
) -> int:  # fmt: skip
    n = 0
    for i in range(group.size):
        at = group[i] * width + number[i] - low
        if table[at] < 0:
            table[at] = n
            groups[n], numbers[n] = group[i], number[i]
            n += 1
        slots[i] = table[at]
    return n
