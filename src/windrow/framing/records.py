"""Frames under construction, in flat arrays, and the moves from which every scheme's kernel is built.

A kernel runs over the ordered rows of many groups at once. It writes one *record* per frame that it opens, and each
group refers to its open records. Between batches, only the open records and the few numbers stored per group are kept:
they are the complete state of a scheme.

A row passes through these moves:

    row i of group g, at time t            k = groups.open[g, w], or -1
                   |
          k >= 0 --+-- k < 0 --------------------------+
                   |                                   |
    must_cut, or the condition ends the frame?         |
        |                      |                       |
        no                    yes                      |
        |                      |                       |
        |          close_record(k), or drop it         |
        |                      |                       |
        |                      +-----------------------+
        |                                  |
        |                  is_break, or the row opens nothing? -- yes --> groups.open[g, w] = -1; in no frame
        |                                  |
        |                                  no
        v                                  v
    extend_record(k)         open_record(used); k = used; used += 1
        |                                  |
        +----------------------------------+
                   |
    assign(slots, i, w, k)                 the row's values are aggregated into record k

Two schemes differ in one step. The row that meets the condition of a minimal frame joins the frame before it closes it.
A row that `update` of a `Custom` scheme rejects leaves the open frame as it is. After the batch, the `status` of a
record decides what happens to it:

    OPEN     carried over to the next batch
    FINAL    emitted as a frame
    DROPPED  discarded: it does not qualify
    PART     its aggregates are merged into those of record `into`
    WAITING  carried over like an open one: it is closed, but has no number while one that opened before it is undecided
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit, types
from numba.extending import overload

from windrow.arrays import Array
from windrow.jit import INLINED
from windrow.rows.clock import LARGEST

OPEN, FINAL, DROPPED, PART, WAITING = 0, 1, 2, 3, 4
"""The status of a record: still open, a frame, discarded, a part of the frame `into`, or a frame without a number."""


class Records(NamedTuple):
    """The frames opened so far, one per row; rows past the last one used are not initialised."""

    group: Array
    number: Array
    start: Array
    end: Array
    closed: Array
    count: Array  # type: ignore[assignment]  # hides tuple.count, which is not needed
    status: Array
    complete: Array
    into: Array
    label: Array
    memo: Array

    @classmethod
    def make(cls, n: int, clock: Any, labels: int, memo: int, memo_type: Any) -> Records:
        """Allocate `n` records; memory that is never written to costs nothing."""
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
        """Return a copy of the given records."""
        return Records(*(column[rows] for column in self))


class Groups(NamedTuple):
    """The state per group: the number of its next frame, its open records (-1: none), and the scheme's own numbers."""

    next: npt.NDArray[np.int64]
    open: npt.NDArray[np.int64]
    memo: npt.NDArray[np.float64]


_NONE = np.empty(0, np.int64)


class Batch(NamedTuple):
    """Ordered rows: their group, their `on`, and whether a null attribute breaks the frame (empty: never).

    For kernels that search for frames from the left, `following` is the position of each row's successor in its group.
    Unless `first` is empty, the kernel writes the position of the first row of each record that it opens to it.
    """

    group: npt.NDArray[np.int64]
    on: Array
    breaks: npt.NDArray[np.bool_]
    following: npt.NDArray[np.int64] = _NONE
    first: npt.NDArray[np.int64] = _NONE
    is_end: bool = False
    """Whether the batch ends the stream of its groups, and has no rows of its own."""


@njit(cache=True, **INLINED)
def open_record(records: Records, k: int, g: int, t: Any) -> None:
    """Start record `k` with a row of group `g`."""
    records.group[k] = g
    records.number[k] = -1
    records.start[k] = t
    records.end[k] = t
    records.count[k] = 1
    records.status[k] = OPEN
    records.complete[k] = True
    records.into[k] = k


@njit(cache=True, **INLINED)
def extend_record(records: Records, k: int, t: Any) -> None:
    """Add a row to record `k`."""
    records.end[k] = t
    records.count[k] += 1


@njit(cache=True, **INLINED)
def close_record(groups: Groups, records: Records, k: int, t: Any) -> None:
    """Make record `k` a frame, ended by the row at `t`, and number it if it has no number yet."""
    g = records.group[k]
    if records.number[k] < 0:
        records.number[k] = groups.next[g]
        groups.next[g] += 1
    records.closed[k] = t
    records.status[k] = FINAL


@njit(cache=True)
def number_frames(groups: Groups, records: Records, used: int, number_open: bool) -> None:
    """Assign numbers in the order in which the frames opened, as far as it is determined which are reported.

    The records of a group are in this order. With `number_open`, every open frame will be reported.
    """
    undecided = np.zeros(groups.next.size, np.bool_)
    for k in range(used):
        g, status = records.group[k], records.status[k]
        if status == DROPPED or records.number[k] >= 0:
            continue
        if status == OPEN and not number_open:
            undecided[g] = True
        elif undecided[g]:
            records.status[k] = WAITING
        else:
            records.number[k] = groups.next[g]
            groups.next[g] += 1
            if status == WAITING:
                records.status[k] = FINAL


@njit(cache=True)
def successors(group: npt.NDArray[np.int64], groups: int) -> npt.NDArray[np.int64]:
    """Return the position of each row's successor in its group, -1 for the last one."""
    following = np.full(group.size, -1, np.int64)
    later = np.full(groups, -1, np.int64)
    for i in range(group.size - 1, -1, -1):
        following[i] = later[group[i]]
        later[group[i]] = i
    return following


def distance(later: Any, earlier: Any) -> Any:
    """Return the distance between two ordered `on` values, by the rule of `Clock`."""
    raise NotImplementedError("only for compiled code")


@overload(distance)
def _distance(later: Any, earlier: Any) -> Any:
    if isinstance(later, types.Float):

        def apart(later: Any, earlier: Any) -> Any:
            return 0.0 if later == earlier else later - earlier

    else:

        def apart(later: Any, earlier: Any) -> Any:
            # Signed integers must not overflow in compiled code, even if the result is not used.
            wide = np.uint64(later) - np.uint64(earlier)
            return np.int64(wide) if wide <= np.uint64(LARGEST) else np.int64(LARGEST)

    return apart


@njit(cache=True, **INLINED)
def must_cut(batch: Batch, i: int, end: Any, max_gap: Any) -> bool:
    """Return whether row `i` cannot join a frame that ends at `end`: a null breaks it, or the gap is too long."""
    return (batch.breaks.size > 0 and batch.breaks[i]) or distance(batch.on[i], end) > max_gap  # type: ignore[no-any-return]


@njit(cache=True, **INLINED)
def is_break(batch: Batch, i: int) -> bool:
    """Return whether row `i` only ends frames and is in none itself."""
    return batch.breaks.size > 0 and batch.breaks[i]


@njit(cache=True, **INLINED)
def assign(slots: npt.NDArray[np.int64], i: int, w: int, k: int) -> None:
    """Record that row `i` is in record `k`, if slots are requested."""
    if slots.shape[0]:
        slots[i, w] = k
