"""Circular buffers of values. A value's position only grows; its place is the low bits of the position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from windrow.state.checks import check_that
from windrow.synopses.jit import horizon

HEAD, TAIL = 0, 1
"""Cursors of every ring: the position of the oldest value, and the position of the next one."""
SMALLEST = 16


def oldest_leaves(window: Any, span: Any, now: Any) -> Any:
    """Return whether the oldest value leaves when one of `now` arrives: the count is reached, or it is too old."""
    head, tail = window.cursors[HEAD], window.cursors[TAIL]
    if span.timed:
        return head < tail and window.times[head & (window.times.size - 1)] <= horizon(now, span.length)
    return tail - head == span.length


def ring_size(window: Any) -> Any:
    """Return the number of values in the ring."""
    return window.cursors[TAIL] - window.cursors[HEAD]


@njit(cache=True)
def _copy(old: Any, new: Any, head: int, tail: int, begin: int) -> None:
    for position in range(head, tail):
        new[(position - head + begin) & (len(new) - 1)] = old[position & (len(old) - 1)]


def capacity_for(n: int) -> int:
    """Return the smallest capacity, a power of two, for `n` values."""
    return max(SMALLEST, 1 << (max(n, 1) - 1).bit_length())


def check_ring(window: Any, rings: Sequence[str], positions: int, most: int | None) -> None:
    """Raise unless the capacity is a power of two and the cursors are positions in a ring of at most `most` values."""
    sizes = {len(getattr(window, name)) for name in rings if len(getattr(window, name))}
    check_that(len(sizes) == 1, f"arrays of one length, got {sorted(sizes)}")
    (capacity,) = sizes
    check_that(capacity & (capacity - 1) == 0, f"a capacity that is a power of two, got {capacity}")
    head, tail, *others = (int(cursor) for cursor in window.cursors[:positions])
    room = capacity if most is None else min(most, capacity)
    check_that(0 <= head <= tail <= head + room <= 1 << 62, f"at most {room} values, got {head} to {tail}")
    check_that(all(head <= other <= tail for other in others), f"cursors from {head} to {tail}, got {others}")


def resized(ring: npt.NDArray[Any], head: int, tail: int, capacity: int, begin: int | None = None) -> npt.NDArray[Any]:
    """Return the ring with another capacity; values keep their positions or are renumbered from `begin`."""
    if not ring.size:
        return ring
    new = np.empty((capacity, *ring.shape[1:]), ring.dtype)
    _copy(ring, new, head, tail, head if begin is None else begin)
    return new
