"""From rows to panes: each row belongs to a numbered pane, and the rows of a pane are aggregated once."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from windrow.aggregates.engine.accumulator import described, naming
from windrow.aggregates.engine.states import States
from windrow.aggregates.over_time.carrying import LastValues
from windrow.arrays import ALL_VALID, Values
from windrow.errors import DataError
from windrow.rows.groups import Directory
from windrow.rows.query import RowBatch
from windrow.windows.query import WindowQuery
from windrow.windows.ranges import Indices, PaneKeys
from windrow.windows.synopsis_windows import SynopsisWindows

FARTHEST_PANE = 9.0e18
"""The quotient of `on` and pane length beyond which panes of floats cannot be numbered."""
WIDEST = 4
"""A dense table of groups and panes is used if it is at most this many times as long as the batch."""


def naming_window(directory: Directory | None, group: Indices) -> AbstractContextManager[None]:
    """Return a context that adds the group to the error about too many values; `group` has one entry per state."""

    def which(k: int) -> str:
        key = () if directory is None else directory.key(int(group[k]))
        return described("a window", key) if key else ""

    return naming(which)


class Gatherer:
    """The assignment of rows to panes; for counted windows, it counts the rows or distinct times of each group.

    Values of aggregates that synopses store go to `synopsis_windows`.
    """

    def __init__(
        self,
        query: WindowQuery,
        synopsis_windows: Mapping[tuple[int, int], SynopsisWindows] | None = None,
        directory: Directory | None = None,
    ) -> None:
        self.directory, self.synopsis_windows = directory, synopsis_windows or {}
        self.query, self.accumulators, self.pane = query, query.pane_accumulators, query.pane
        self.counted = np.empty(0, np.int64)
        """The number of rows, or distinct times, per group."""
        self.latest = np.empty(0, query.clock.dtype)
        """The `on` of the last row per group."""
        self.last_values = {i: LastValues() for i, accumulator in enumerate(self.accumulators) if accumulator.carries}
        """The last value per group, for each aggregate that carries it into windows."""

    def gather(self, rows: RowBatch) -> tuple[PaneKeys, list[States]]:
        """Return the panes of some rows, unordered; counted windows need the rows of each group in order."""
        place = self._places(rows)
        panes, slots = _distinct(rows.group, pane_numbers(place, self.pane))
        read = [rows.values[j] for j in self.query.paned]
        ends = [Values(rows.on, ALL_VALID)] * (len(self.accumulators) - len(read))
        for i, last in self.last_values.items():
            read[i] = last.carried(rows.group, read[i])
        states = []
        for accumulator, values in zip(self.accumulators, [*read, *ends], strict=True):
            states.append(accumulator.empty(panes.group.size))
            with naming_window(self.directory, panes.group):
                accumulator.accumulate(states[-1], slots.reshape(-1, 1), values)
        for (j, _), windows in self.synopsis_windows.items():
            windows.add(rows.group, place, rows.values[j])
        return panes, states

    def past(self, latest: Indices, *, settled: bool = True) -> Indices:
        """Return how many panes of each group are complete, given its last pane so far and rows in order.

        The last distinct time is complete only if `settled`: no further row can have it.
        """
        if self.query.unit == "time":
            return latest
        self.grow(latest.size)
        open_ = 0 if settled or self.query.unit == "rows" else 1
        return np.maximum(self.counted - open_, 0) // self.pane

    def grow(self, groups: int) -> None:
        """Make room for new groups."""
        more = groups - self.counted.size
        if more > 0:
            self.counted = np.concatenate([self.counted, np.zeros(more, np.int64)])
            self.latest = np.concatenate([self.latest, np.zeros(more, self.latest.dtype)])
        for last in self.last_values.values():
            last.grow(groups)

    def _places(self, rows: RowBatch) -> npt.NDArray[Any]:
        """Return the position of each row in the windows' unit: its `on`, or its number in the group."""
        if self.query.unit == "time":
            return rows.on
        self.grow(int(rows.group.max()) + 1 if rows.group.size else 0)
        numbers = np.empty(rows.on.size, np.int64)
        _count(rows.group, rows.on, self.counted, self.latest, self.query.unit == "times", numbers)
        return numbers


def pane_numbers(on: npt.NDArray[Any], pane: int) -> Indices:
    """Return the pane of each instant.

    >>> pane_numbers(np.array([-1, 0, 9, 10]), 10).tolist()
    [-1, 0, 0, 1]
    """
    if on.dtype == np.int64:
        return on // pane
    near = np.floor(on / pane)
    outside = ~(np.abs(on / pane) <= FARTHEST_PANE)
    if outside.any():
        raise DataError(
            f"on: {on[outside][0]} is too far from zero for windows, which are numbered with 64 bits; drop such rows"
        )
    # The quotient may round across a boundary, so the definition corrects it.
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
    """Return the distinct panes, and the index of each row's pane among them."""
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
    first = order[other]
    return PaneKeys(group[first], number[first]), slots


def differs(group: Indices, number: Indices) -> npt.NDArray[np.bool_]:
    """Return whether each of these sorted panes differs from the previous one."""
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
