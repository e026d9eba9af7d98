"""Frames under construction, in flat arrays, and the few moves that every scheme's kernel is made of.

A kernel runs over the ordered tuples of many groups at once. It keeps one *record* for each frame it opens; a group
knows which of its records are open. Between two batches only the open records are kept: they, and the little that a
group remembers, are the whole state of a scheme.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit, types
from numba.extending import overload

from windrow.arrays import Array
from windrow.rows.clock import LARGEST

OPEN, FINAL, DROPPED, PART = 0, 1, 2, 3
"""What became of a record: still open, a frame, no frame after all, or a part of the frame `into`."""


class Records(NamedTuple):
    """The frames opened so far, one a row; what is past the last one used is not initialised."""

    group: Array
    number: Array
    start: Array
    end: Array
    closed: Array
    count: Array  # type: ignore[assignment]  # a tuple has a method of that name, which nobody needs here
    status: Array
    complete: Array
    into: Array
    label: Array
    memo: Array

    @classmethod
    def make(cls, n: int, clock: Any, labels: int, memo: int, memo_type: Any) -> Records:
        """Room for `n` records; memory that is never written to costs nothing."""
        return cls(
            np.empty(n, np.int64),
            np.empty(n, np.int64),
            np.empty(n, clock),
            np.empty(n, clock),
            np.empty(n, clock),
            np.empty(n, np.int64),
            np.empty(n, np.int8),
            np.empty(n, np.bool_),
            np.empty(n, np.int64),
            np.empty((n, labels), np.int64),
            np.empty((n, memo), memo_type),
        )

    def take(self, rows: Array) -> Records:
        """The given records, copied."""
        return Records(*(column[rows] for column in self))


class Groups(NamedTuple):
    """What a group remembers: the number of its next frame, its open records (-1: none), and a scheme's own memory."""

    next: npt.NDArray[np.int64]
    open: npt.NDArray[np.int64]
    memo: npt.NDArray[np.float64]


class Batch(NamedTuple):
    """Ordered tuples: their group, their `on`, and whether a null attribute breaks the frame (empty: none does)."""

    group: npt.NDArray[np.int64]
    on: Array
    breaks: npt.NDArray[np.bool_]


@njit(cache=True)
def open_record(records: Records, k: int, g: int, t: Any) -> None:
    """Start record `k` with a tuple of group `g`."""
    records.group[k] = g
    records.number[k] = -1
    records.start[k] = t
    records.end[k] = t
    records.count[k] = 1
    records.status[k] = OPEN
    records.complete[k] = True
    records.into[k] = k


@njit(cache=True)
def extend_record(records: Records, k: int, t: Any) -> None:
    """Let record `k` have one more tuple."""
    records.end[k] = t
    records.count[k] += 1


@njit(cache=True)
def close_record(groups: Groups, records: Records, k: int, t: Any) -> None:
    """Make record `k` a frame, ended by the tuple at `t`; it takes the next number of its group if it has none."""
    g = records.group[k]
    if records.number[k] < 0:
        records.number[k] = groups.next[g]
        groups.next[g] += 1
    records.closed[k] = t
    records.status[k] = FINAL


def distance(later: Any, earlier: Any) -> Any:
    """How far two `on` in order are apart, by the rule of `Clock`."""
    raise NotImplementedError("only for compiled code")


@overload(distance)
def _distance(later: Any, earlier: Any) -> Any:
    if isinstance(later, types.Float):

        def apart(later: Any, earlier: Any) -> Any:
            return 0.0 if later == earlier else later - earlier

    else:

        def apart(later: Any, earlier: Any) -> Any:
            # Signed numbers must not overflow in compiled code, not even where the result is not used.
            wide = np.uint64(later) - np.uint64(earlier)
            return np.int64(wide) if wide <= np.uint64(LARGEST) else np.int64(LARGEST)

    return apart


@njit(cache=True)
def must_cut(batch: Batch, i: int, end: Any, max_gap: Any) -> bool:
    """Whether tuple `i` cannot be in a frame that ends at `end`: a null breaks it, or the gap is too long."""
    return (batch.breaks.size > 0 and batch.breaks[i]) or distance(batch.on[i], end) > max_gap  # type: ignore[no-any-return]


@njit(cache=True)
def is_break(batch: Batch, i: int) -> bool:
    """Whether tuple `i` only ends frames and is in none itself."""
    return batch.breaks.size > 0 and batch.breaks[i]


@njit(cache=True)
def assign(slots: npt.NDArray[np.int64], i: int, w: int, k: int) -> None:
    """Note that tuple `i` is in record `k`, if anybody asked."""
    if slots.shape[0]:
        slots[i, w] = k
