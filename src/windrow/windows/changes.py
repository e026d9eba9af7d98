"""Change detection: which windows differ from the previous one of their group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.state.checks import check_that

Indices = npt.NDArray[np.int64]


class Changes:
    """The last results per group, for one kind of window.

    >>> changes = Changes()
    >>> changes.update(np.array([0, 0, 0, 1]), [pa.array([5, 5, None, 5])]).to_pylist()
    [True, False, True, True]
    >>> changes.update(np.array([0, 1]), [pa.array([None, 6], pa.int64())]).to_pylist()
    [False, True]
    """

    def __init__(self) -> None:
        self.group: Indices = np.empty(0, np.int64)
        """The groups that have been reported, in order."""
        self.results: list[pa.Array] = []
        """Per aggregate, the last results of these groups."""

    def update(self, group: Indices, results: Sequence[pa.Array]) -> pa.Array:
        """Return whether each of these windows, sorted by group, differs from the previous one, and store them."""
        stored = self.group.size
        all_results = list(results)
        if stored:
            all_results = [pa.concat_arrays([a, b]) for a, b in zip(self.results, results, strict=True)]
        first = np.diff(group, prepend=-1) != 0
        place = np.searchsorted(self.group, group)
        is_stored = np.zeros(group.size, np.bool_)
        inside = place < stored
        is_stored[inside] = self.group[place[inside]] == group[inside]
        before = stored + np.arange(-1, group.size - 1)
        before[first] = place[first]
        has_before = ~first | is_stored
        rows, others = stored + np.flatnonzero(has_before), before[has_before]
        same = np.ones(rows.size, np.bool_)
        for column in all_results:
            same &= _equal(column.take(pa.array(rows)), column.take(pa.array(others)))
        changed = np.ones(group.size, np.bool_)
        changed[has_before] = ~same
        self._remember(group, all_results)
        return pa.array(changed)

    def table(self) -> pa.Table:
        """Return the stored results as a table."""
        return pa.table({"group": pa.array(self.group), **{f"r{j}": results for j, results in enumerate(self.results)}})

    def adopt(self, table: pa.Table) -> None:
        """Take over the results in a table, of groups that have none stored here."""
        if not len(table):
            return
        groups = np.concatenate([self.group, table.column("group").to_numpy()])
        results = [column.combine_chunks() for column in table.columns[1:]]
        if self.results:
            results = [pa.concat_arrays(pair) for pair in zip(self.results, results, strict=True)]
        order = np.argsort(groups, kind="stable")
        self.group = groups[order]
        check_that((np.diff(self.group) > 0).all(), "the last results of each group once")
        self.results = [column.take(pa.array(order)) for column in results]

    def _remember(self, group: Indices, results: Sequence[pa.Array]) -> None:
        groups = np.concatenate([self.group, group])
        order = np.argsort(groups, kind="stable")
        last = order[np.append(np.diff(groups[order]) != 0, True)] if order.size else order
        self.group = groups[last]
        self.results = [column.take(pa.array(last)) for column in results]


def _equal(a: pa.Array, b: pa.Array) -> npt.NDArray[np.bool_]:
    """Return where two columns are equal; nulls equal nulls, and NaN equals NaN."""
    if pa.types.is_nested(a.type):
        return np.array([_is_same(x, y) for x, y in zip(a.to_pylist(), b.to_pylist(), strict=True)], np.bool_)
    same = pc.or_(pc.fill_null(pc.equal(a, b), False), pc.and_(a.is_null(), b.is_null()))
    if pa.types.is_floating(a.type):
        same = pc.or_(same, pc.fill_null(pc.and_(pc.is_nan(a), pc.is_nan(b)), False))
    return np.asarray(same.to_numpy(zero_copy_only=False), np.bool_)


def _is_same(x: Any, y: Any) -> bool:
    """Return whether two values of one type are equal, including the items of lists; NaN equals NaN."""
    if isinstance(x, list) and isinstance(y, list):
        return len(x) == len(y) and all(map(_is_same, x, y))
    if isinstance(x, dict) and isinstance(y, dict):
        return all(_is_same(x[name], y[name]) for name in x)
    return bool(x == y) or (x != x and y != y)
