"""Numbering groups: from the values of the `by` columns to dense codes, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from windrow.state.checks import check_that

Codes = npt.NDArray[np.int64]

WIDEST_TABLE = 1 << 22
"""Integers that span at most this range are looked up in a table instead of being hashed."""


class Directory:
    """The groups encountered so far, numbered 0, 1, 2, … in order of first appearance.

    >>> groups = Directory([pa.string()])
    >>> groups.encode([pa.array(["b", "a", "b"])]).tolist()
    [0, 1, 0]
    >>> groups.encode([pa.array(["c", "a"])]).tolist()
    [2, 1]
    >>> groups.keys()[0].to_pylist()
    ['b', 'a', 'c']
    """

    def __init__(self, types: Sequence[pa.DataType]) -> None:
        self.types = list(types)
        self._codes: dict[Any, int] = {}
        self._keys: list[list[pa.Array]] = [[] for _ in self.types]
        self._table = np.empty(0, np.int64)
        self._base = 0
        self._size = 0 if self.types else 1

    def __len__(self) -> int:
        return self._size

    def encode(self, columns: Sequence[pa.Array | pa.ChunkedArray], rows: int | None = None) -> Codes:
        """Return the code of each row's group; new groups get the next codes. Without columns there is one group."""
        if not columns:
            return np.zeros(rows or 0, np.int64)
        arrays = [_whole(column).cast(kind) for column, kind in zip(columns, self.types, strict=True)]
        if len(arrays) == 1 and pa.types.is_integer(self.types[0]):
            looked_up = self._look_up(arrays[0])
            if looked_up is not None:
                return looked_up
        return self._hash(arrays)

    def restore(self, columns: Sequence[pa.Array | pa.ChunkedArray], rows: int) -> None:
        """Restore saved groups in their order, before any others are added."""
        codes = self.encode(columns, rows)
        check_that(rows == len(self) and (codes == np.arange(rows)).all(), f"{rows} different groups")

    def keys(self) -> list[pa.Array]:
        """Return the values of the `by` columns, one row per group, in the order of the codes."""
        for i, (parts, kind) in enumerate(zip(self._keys, self.types, strict=True)):
            self._keys[i] = [pa.concat_arrays(parts) if parts else pa.array([], kind)]
        return [whole for (whole,) in self._keys]

    def key(self, code: int) -> tuple[Any, ...]:
        """Return the values of the `by` columns of one group."""
        return tuple(column[code].as_py() for column in self.keys())

    def _look_up(self, column: pa.Array) -> Codes | None:
        if self._codes or not len(column):
            return None
        values = column.to_numpy(zero_copy_only=False)
        low, high = int(values.min()), int(values.max())
        if self._table.size:
            low, high = min(low, self._base), max(high, self._base + self._table.size - 1)
        if high - low >= WIDEST_TABLE:
            self._leave_table()
            return None
        if low != self._base or high - low >= self._table.size:
            wider = np.full(high - low + 1, -1, np.int64)
            at = self._base - low
            wider[at : at + self._table.size] = self._table
            self._table, self._base = wider, low
        codes = np.empty(values.size, np.int64)
        met = np.empty(min(values.size, self._table.size), np.int64)
        before = self._size
        self._size = int(_look_up(values, self._table, self._base, codes, met, before))
        if self._size > before:
            self._keys[0].append(pa.array(met[: self._size - before]).cast(self.types[0]))
        return codes

    def _leave_table(self) -> None:
        """Switch to hashing, once the integers span too wide a range for a table."""
        self._codes = {key: code for code, key in enumerate(self.keys()[0].to_pylist())}
        self._table = np.empty(0, np.int64)

    def _hash(self, arrays: Sequence[pa.Array]) -> Codes:
        encoded = [array.dictionary_encode() for array in arrays]
        index = encoded[0].indices.to_numpy(zero_copy_only=False).astype(np.int64)
        for part in encoded[1:]:
            index = index * len(part.dictionary) + part.indices.to_numpy(zero_copy_only=False)
            both = pa.array(index).dictionary_encode()
            index = both.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        distinct = int(index.max()) + 1 if index.size else 0
        first = np.empty(distinct, np.int64)
        first[index[::-1]] = np.arange(index.size - 1, -1, -1)
        keys = [array.take(pa.array(first)) for array in arrays]
        codes: Codes = self._number(keys)[index]
        return codes

    def _number(self, keys: Sequence[pa.Array]) -> Codes:
        plain = keys[0].to_pylist() if len(keys) == 1 else list(zip(*(key.to_pylist() for key in keys), strict=True))
        codes = np.empty(len(plain), np.int64)
        fresh = []
        for i, key in enumerate(plain):
            code = self._codes.get(key)
            if code is None:
                code = self._codes[key] = self._size
                self._size += 1
                fresh.append(i)
            codes[i] = code
        if fresh:
            for parts, key in zip(self._keys, keys, strict=True):
                parts.append(key.take(pa.array(fresh)))
        return codes


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


@njit(cache=True)
def _look_up(values: Any, table: Any, base: int, codes: Any, met: Any, size: int) -> int:
    start = size
    for i in range(values.size):
        at = values[i] - base
        code = table[at]
        if code < 0:
            code = size
            table[at] = code
            met[size - start] = values[i]
            size += 1
        codes[i] = code
    return size


@njit(cache=True)
def order_of(group: Any, on: Any, last: Any) -> int:
    """Return how a batch continues each group (0 in order, 1 with ties, 2 out of order), and update `last`."""
    order = 0
    for i in range(on.size):
        g = group[i]
        if on[i] <= last[g]:
            if on[i] < last[g]:
                return 2
            order = 1
        last[g] = on[i]
    return order


def spread(keys: Sequence[pa.Array], buckets: int) -> Codes:
    """Assign each group a bucket that depends only on its values."""
    if not keys:
        return np.zeros(1, np.int64)
    mixed = np.zeros(len(keys[0]), np.uint64)
    for key in keys:
        mixed = (mixed ^ _digest(key)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return (mixed % np.uint64(buckets)).astype(np.int64)


def _digest(key: pa.Array) -> npt.NDArray[np.uint64]:
    import pandas as pd

    if pa.types.is_integer(key.type):
        numbers: npt.NDArray[np.uint64] = key.cast(pa.int64()).to_numpy(zero_copy_only=False).astype(np.uint64)
        return numbers
    if pa.types.is_floating(key.type):
        key = pc.add(key, pa.scalar(0, key.type))  # 0.0 and -0.0 are the same group
    text = pc.cast(key, pa.string()) if not pa.types.is_binary(key.type) else key
    return np.asarray(pd.util.hash_array(np.array(text.to_pylist(), dtype=object), categorize=False), np.uint64)
