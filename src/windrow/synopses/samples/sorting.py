"""In-place sorting of numbers without allocation, so that kernels without reference counting can use it.

NaN sorts after all numbers.
"""

from __future__ import annotations

from numba import njit

from windrow.arrays import Array
from windrow.jit import INLINED, WITHOUT_COUNTING


@njit(cache=True, **INLINED)
def _before(a: float, b: float) -> bool:
    return a < b or (b != b and a == a)


@njit(cache=True, **INLINED)
def _sink(numbers: Array, at: int, end: int) -> None:
    """Move a number down to its place in a heap with the largest on top."""
    x = numbers[at]
    while 2 * at + 1 < end:
        child = 2 * at + 1
        if child + 1 < end and _before(numbers[child], numbers[child + 1]):
            child += 1
        if not _before(x, numbers[child]):
            break
        numbers[at] = numbers[child]
        at = child
    numbers[at] = x


@njit(cache=True, **WITHOUT_COUNTING)
def sort(numbers: Array, k: int) -> None:
    """Sort the first `k` numbers by heapsort.

    >>> import numpy as np
    >>> numbers = np.array([3.0, np.nan, 1.0, 2.0, 0.0])
    >>> sort(numbers, 4)
    >>> numbers
    array([ 1.,  2.,  3., nan,  0.])
    """
    for at in range(k // 2 - 1, -1, -1):
        _sink(numbers, at, k)
    for end in range(k - 1, 0, -1):
        numbers[0], numbers[end] = numbers[end], numbers[0]
        _sink(numbers, 0, end)


@njit(cache=True, **WITHOUT_COUNTING)
def select(numbers: Array, k: int, rank: int) -> float:
    """Return the number that sorting the first `k` would place at `rank`, counted from 0; reorders them.

    >>> import numpy as np
    >>> select(np.array([5.0, 2.0, 8.0, 2.0]), 4, 2)
    5.0
    """
    low, high = 0, k - 1
    while low < high:
        pivot = numbers[(low + high) // 2]
        left, right = low, high
        while left <= right:
            while numbers[left] < pivot:
                left += 1
            while numbers[right] > pivot:
                right -= 1
            if left <= right:
                numbers[left], numbers[right] = numbers[right], numbers[left]
                left += 1
                right -= 1
        if rank <= right:
            high = right
        elif rank >= left:
            low = left
        else:
            break
    return float(numbers[rank])


@njit(cache=True, **INLINED)
def _place(order: Array, k: int, x: float) -> int:
    """Return how many of `k` sorted numbers come before `x`."""
    low, high = 0, k
    while low < high:
        middle = (low + high) // 2
        if _before(order[middle], x):
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, **INLINED)
def take_out(order: Array, k: int, x: float) -> int:
    """Remove a number from `k` sorted ones; return how many are left."""
    for i in range(_place(order, k, x), k - 1):
        order[i] = order[i + 1]
    return k - 1


@njit(cache=True, **INLINED)
def put_in(order: Array, k: int, x: float) -> int:
    """Insert a number into `k` sorted ones; return how many there are."""
    at = _place(order, k, x)
    for i in range(k, at, -1):
        order[i] = order[i - 1]
    order[at] = x
    return k + 1
