"""Chain sampling: a sample with replacement of the last R values, each item with its successors in store.

Babcock, Datar, Motwani, "Sampling from a moving window over streaming data"; the thesis' section 4.5.2. Each slot is an
independent sample of one item. Value i becomes the item with probability 1 / min(i, R). The item chooses in advance
which later value replaces it when it leaves; that value chooses its own successor when it arrives, and so on.

An item leaves when value i + R arrives, which has its own chance of 1 / R. So the successor is one of the R - 1 values
from i + 1 to i + R - 1: all are then in the sample with probability (1 - 1/R) · (1/R + 1/R · 1/(R - 1)) = 1/R. (The
thesis also allows value i + R as the successor, which favours it, as the same sum shows.)

The next time a slot takes a new item is drawn at once, so a slot is touched only when something happens to it. The
slots are in a heap, ordered by the number of the value at which something happens next.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np
from numba import njit

from windrow.aggregates import AggregateFunction
from windrow.arrays import Array
from windrow.jit import INLINED, WITHOUT_COUNTING
from windrow.state.checks import check_that
from windrow.synopses.base import RetentionKind
from windrow.synopses.costs import Complexity
from windrow.synopses.due import Due, is_due
from windrow.synopses.estimator import Elements
from windrow.synopses.samples.base import Sample, is_quantile
from windrow.synopses.samples.check import check_filled, check_rings
from windrow.synopses.samples.random import Random, below, failures, uniform
from windrow.synopses.samples.slots import put_item
from windrow.synopses.samples.window import SEEN, Common, give_answer, tick

ROOM = 4


class Chains(NamedTuple):
    """One chain per slot, each in a ring: the item and the successors that have arrived, with their numbers."""

    arrival: Array
    value: Array
    head: Array
    held: Array
    successor: Array
    """The number of the value that extends the chain."""
    pick: Array
    """The number of the value that becomes the item next, regardless of the chain."""
    due: Array
    """The number of the value at which something happens next."""
    heap: Array
    """Slots by `due`, the least first."""
    full: Array
    """Whether some chain has no more room."""


@njit(cache=True, **INLINED)
def _next_pick(random: Random, n: int, length: int) -> int:
    """Return the next value after the `n`-th to be picked, where value i has a probability of 1 / min(i, length)."""
    if n < length:
        reached = n / uniform(random)
        if reached < length:
            return int(reached) + 1
        n = length
    return int(n + 1 + failures(random, 1.0 / length))


@njit(cache=True, **INLINED)
def _link(chains: Chains, common: Common, slot: int, n: int, x: float) -> None:
    """Append value `n` to a chain and choose its successor."""
    room = chains.arrival.shape[1]
    at = (chains.head[slot] + chains.held[slot]) % room
    chains.arrival[slot, at], chains.value[slot, at] = n, x
    chains.held[slot] += 1
    chains.successor[slot] = n + 1 + below(common.random, max(1, common.length - 1))
    if chains.held[slot] == room:
        chains.full[0] = 1


@njit(cache=True, **INLINED)
def _happen(chains: Chains, common: Common, slot: int, n: int, x: float) -> None:
    """Process what is due for a slot at value `n`."""
    if chains.pick[slot] == n:
        chains.held[slot] = 0
        _link(chains, common, slot, n, x)
        chains.pick[slot] = _next_pick(common.random, n, common.length)
        put_item(common.slots, slot, x)
    else:
        if chains.successor[slot] == n:
            _link(chains, common, slot, n, x)
        if chains.arrival[slot, chains.head[slot]] + common.length == n:
            chains.head[slot] = (chains.head[slot] + 1) % chains.arrival.shape[1]
            chains.held[slot] -= 1
            put_item(common.slots, slot, chains.value[slot, chains.head[slot]])
    leaves = chains.arrival[slot, chains.head[slot]] + common.length
    chains.due[slot] = min(leaves, min(chains.successor[slot], chains.pick[slot]))


@njit(cache=True, **INLINED)
def _sink(heap: Array, due: Array) -> None:
    """Move the slot at the top of the heap down to its place."""
    slot, at = heap[0], 0
    while True:
        child = 2 * at + 1
        if child >= heap.size:
            break
        if child + 1 < heap.size and due[heap[child + 1]] < due[heap[child]]:
            child += 1
        if due[heap[child]] >= due[slot]:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = slot


@njit(cache=True, **WITHOUT_COUNTING)
def _roll(chains: Chains, common: Common, on: Array, x: Array, due: Due, at: int) -> int:
    heap, arrivals = chains.heap, chains.due
    for i in range(at, on.size + 1):
        while is_due(due, i):
            give_answer(common, due)
        if i == on.size or chains.full[0]:
            return i
        tick(common, on[i])
        n = common.clock[SEEN]
        while arrivals[heap[0]] == n:
            _happen(chains, common, heap[0], n, x[i])
            _sink(heap, arrivals)
    return int(on.size)


class ChainSample(Sample):
    """A sample with replacement of the last values, always of `size` items.

    Parameters
    ----------
    aggregate, retention, accuracy, seed, size
        As for every sample.

    Examples
    --------
    >>> import numpy as np
    >>> from windrow.aggregates import Mean
    >>> from windrow.synopses import Accuracy, Retention
    >>> sample = ChainSample(Mean("speed"), Retention(10_000), Accuracy(0.1, 0.01), seed=1)
    >>> sample.update(np.arange(20_000), np.arange(20_000.0))
    >>> len(sample.items()), bool(sample.items().min() >= 10_000)
    (997, True)
    """

    retentions: ClassVar[frozenset[RetentionKind]] = frozenset({"count"})
    source: ClassVar[str] = "On a design space for sliding windows (2011), section 4.5.2"
    time: ClassVar[str] = (
        "O(1 + k/R·log k) per value, as expected; O(log k) per answer and change since the last one, O(k) per quantile"
    )
    space: ClassVar[str] = "O(k) items, as expected"
    rings: ClassVar[tuple[str, ...]] = ("arrival", "value")

    @classmethod
    def costs(cls, aggregate: AggregateFunction) -> Complexity | None:
        """Return the terms of its update, its query and its space; a quantile sorts its items."""
        query = ("one", "k_shifted") if is_quantile(aggregate) else ("one",)
        return Complexity(("one", "k_per_R", "k_per_R_log"), query, ("one", "k"))

    def _empty(self) -> Chains:
        k = self.size
        first = np.ones(k, np.int64)
        return Chains(
            np.zeros((k, ROOM), np.int64),
            np.zeros((k, ROOM)),
            np.zeros(k, np.int64),
            np.zeros(k, np.int64),
            first.copy(),
            first.copy(),
            first,
            np.arange(k),
            np.zeros(1, np.int64),
        )

    def _check_sample(self, sample: Chains, filled: Array, clock: Array) -> None:
        seen, room = int(clock[SEEN]), sample.arrival.shape[1]
        check_rings(sample.head, sample.held, room, full=bool(sample.full[0]))
        check_that((np.sort(sample.heap) == np.arange(self.size)).all(), "each slot once in the heap")
        above = sample.heap[(np.arange(1, self.size) - 1) // 2]
        check_that((sample.due[above] <= sample.due[sample.heap[1:]]).all(), "the slots in a heap")
        check_filled(filled, np.full(self.size, seen > 0))
        check_that(((sample.successor > seen) & (sample.pick > seen)).all(), f"values to come after {seen}")
        if seen:
            _check_chains(sample, seen, self.length)
        else:
            check_that(
                all((array == 1).all() for array in (sample.due, sample.pick, sample.successor)), "no values yet"
            )

    def _step(self, elements: Elements, due: Due, at: int) -> int:
        return int(_roll(self.sample, self.common, *elements, due, at))

    def _grow(self, elements: Elements, at: int) -> None:
        self.sample = self.sample._replace(
            arrival=unrolled(self.sample.arrival, self.sample.head), value=unrolled(self.sample.value, self.sample.head)
        )
        self.sample.head[:] = 0
        self.sample.full[0] = 0


def _check_chains(sample: Chains, seen: int, length: int) -> None:
    """Raise for saved chains whose values are out of order, or whose successors come too late."""
    room = sample.arrival.shape[1]
    places = np.arange(room)
    arrival = np.take_along_axis(sample.arrival, (sample.head[:, None] + places) % room, axis=1)
    linked = (places > 0) & (places < sample.held[:, None])
    last = np.take_along_axis(arrival, sample.held[:, None] - 1, axis=1)[:, 0]
    check_that((sample.held > 0).all(), "an item in each chain")
    check_that((arrival[:, 1:] > arrival[:, :-1])[linked[:, 1:]].all(), "the values of a chain in order")
    check_that(((arrival[:, 0] > seen - length) & (arrival[:, 0] > 0) & (last <= seen)).all(), "items in the window")
    check_that((sample.successor - last <= max(1, length - 1)).all(), "successors before their values leave")
    due = np.minimum(arrival[:, 0] + length, np.minimum(sample.successor, sample.pick))
    check_that((sample.due == due).all(), "what is due next of each chain")


def unrolled(rings: Array, heads: Array) -> Array:
    """Return rings, one per row, rotated to start at their heads, with twice the room."""
    k, room = rings.shape
    grown = np.zeros((k, 2 * room), rings.dtype)
    grown[:, :room] = np.take_along_axis(rings, (heads[:, None] + np.arange(room)) % room, axis=1)
    return grown
