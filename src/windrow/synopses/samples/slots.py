"""The items of a sample in numbered slots, and estimates from them.

Nothing is subtracted when an item leaves. The moments of a sample are in a tree: a leaf holds the moments of 16 slots,
a node those of its two children combined. A change only marks its leaf; a query recomputes what is marked. A change
thus costs one mark, and a query after each change costs O(log k) for k items. Items that have left leave no rounding
error behind.

For quantiles, the items are kept in sorted order instead. Changes are recorded and applied on query: one by one while
they are few, otherwise by sorting.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from windrow.arrays import Array
from windrow.jit import INLINED, WITHOUT_COUNTING
from windrow.synopses.histograms.variance_buckets import combine
from windrow.synopses.samples.sorting import put_in, sort, take_out

SIZE, MARKED, ORDERED, GONE, COME = range(5)
"""Cursors: items in slots; leaves marked; items in order (-1: unknown); removals and insertions since."""
BLOCK = 16
FEW = 32
"""Changes are applied one by one while there is at most one per this many items."""


class Slots(NamedTuple):
    """The items, and the tree or the sorted order of them."""

    values: Array
    filled: Array
    tree: Array
    marked: Array
    queue: Array
    """Marked leaves."""
    order: Array
    gone: Array
    come: Array
    cursors: Array

    @classmethod
    def make(cls, capacity: int, ordered: bool) -> Slots:
        """Return empty slots, for quantiles or for moments."""
        leaves = 0 if ordered else 1 << max(0, -(-capacity // BLOCK) - 1).bit_length()
        changes = capacity // FEW + 8 if ordered else 0
        listed = capacity + changes if ordered else 0
        return cls(
            np.zeros(capacity),
            np.zeros(capacity, np.bool_),
            np.zeros((2 * leaves, 3)),
            np.zeros(2 * leaves, np.bool_),
            np.zeros(leaves, np.int64),
            np.zeros(listed),
            np.zeros(changes),
            np.zeros(changes),
            np.zeros(5, np.int64),
        )

    @classmethod
    def filled_with(cls, values: Array, filled: Array, ordered: bool) -> Slots:
        """Return slots with items in some of them."""
        slots = cls.make(values.size, ordered)
        slots.values[:] = values
        slots.filled[:] = filled
        slots.cursors[SIZE] = np.count_nonzero(filled)
        slots.cursors[ORDERED] = -1
        leaves = slots.queue.size
        slots.marked[leaves:] = True
        slots.queue[:] = np.arange(leaves, 2 * leaves)
        slots.cursors[MARKED] = leaves
        return slots


@njit(cache=True, **INLINED)
def put_item(slots: Slots, i: int, x: float) -> None:
    """Put an item into a slot, replacing the one there."""
    if slots.filled[i]:
        _note(slots, slots.gone, GONE, slots.values[i])
    else:
        slots.filled[i] = True
        slots.cursors[SIZE] += 1
    slots.values[i] = x
    _note(slots, slots.come, COME, x)
    _mark(slots, i)


@njit(cache=True, **INLINED)
def drop_item(slots: Slots, i: int) -> None:
    """Empty a slot."""
    slots.filled[i] = False
    slots.cursors[SIZE] -= 1
    _note(slots, slots.gone, GONE, slots.values[i])
    _mark(slots, i)


@njit(cache=True, **INLINED)
def _mark(slots: Slots, i: int) -> None:
    if slots.queue.size:
        leaf = slots.queue.size + i // BLOCK
        if not slots.marked[leaf]:
            slots.marked[leaf] = True
            slots.queue[slots.cursors[MARKED]] = leaf
            slots.cursors[MARKED] += 1


@njit(cache=True, **INLINED)
def moments(slots: Slots) -> tuple[float, float, float]:
    """Return the count, the mean and the sum of squared distances from it, of all items."""
    cursors, tree, leaves = slots.cursors, slots.tree, slots.queue.size
    for j in range(cursors[MARKED]):
        _compute_leaf(slots, slots.queue[j])
    while cursors[MARKED] and slots.queue[0] > 1:
        above = 0
        for j in range(cursors[MARKED]):
            node = slots.queue[j]
            slots.marked[node] = False
            parent = node // 2
            if not slots.marked[parent]:
                slots.marked[parent] = True
                slots.queue[above] = parent
                above += 1
        cursors[MARKED] = above
        for j in range(above):
            node = slots.queue[j]
            left, right = 2 * node, 2 * node + 1
            joined = combine(
                (tree[left, 0], tree[left, 1], tree[left, 2]), (tree[right, 0], tree[right, 1], tree[right, 2])
            )
            tree[node, 0], tree[node, 1], tree[node, 2] = joined
    if leaves:
        slots.marked[1] = False
        cursors[MARKED] = 0
    return tree[1, 0], tree[1, 1], tree[1, 2]


@njit(cache=True, **INLINED)
def _compute_leaf(slots: Slots, leaf: int) -> None:
    begin = (leaf - slots.queue.size) * BLOCK
    end = min(begin + BLOCK, slots.values.size)
    n, total, spread = 0.0, 0.0, 0.0
    for i in range(begin, end):
        if slots.filled[i]:
            n += 1.0
            total += slots.values[i]
    mean = total / n if n else 0.0
    for i in range(begin, end):
        if slots.filled[i]:
            spread += (slots.values[i] - mean) ** 2
    slots.tree[leaf, 0], slots.tree[leaf, 1], slots.tree[leaf, 2] = n, mean, spread


@njit(cache=True, **INLINED)
def _note(slots: Slots, changes: Array, which: int, x: float) -> None:
    """Record a change of the sorted items; too many make the order unknown."""
    if changes.size and slots.cursors[ORDERED] >= 0:
        if slots.cursors[which] == changes.size:
            slots.cursors[ORDERED] = -1
        else:
            changes[slots.cursors[which]] = x
            slots.cursors[which] += 1


@njit(cache=True, **WITHOUT_COUNTING)
def quantile(slots: Slots, phi: float) -> float:
    """Return the item of rank ceil(phi · k) among all k; there must be at least one."""
    cursors, order = slots.cursors, slots.order
    if cursors[ORDERED] < 0:
        k = 0
        for i in range(slots.values.size):
            if slots.filled[i]:
                order[k] = slots.values[i]
                k += 1
        sort(order, k)
    else:
        k = cursors[ORDERED]
        for j in range(cursors[COME]):  # insertions first: some of the removed items arrived since
            k = put_in(order, k, slots.come[j])
        for j in range(cursors[GONE]):
            k = take_out(order, k, slots.gone[j])
    cursors[ORDERED], cursors[GONE], cursors[COME] = k, 0, 0
    return float(order[max(0, int(np.ceil(phi * k)) - 1)])
