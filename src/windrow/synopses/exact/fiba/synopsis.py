"""The finger B-tree aggregator: its answers from the two spines, and the synopsis."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from windrow.aggregates import AggregateFunction
from windrow.synopses.base import Instants, Numbers
from windrow.synopses.checks import NEVER, check_elements
from windrow.synopses.costs import Complexity
from windrow.synopses.exact.algebra import added, merged, move, put_state, state_at
from windrow.synopses.exact.base import ExactSynopsis
from windrow.synopses.exact.fiba.check import check_tree
from windrow.synopses.exact.fiba.tree import (
    BEGIN,
    END,
    FREE_INNER,
    FREE_LEAVES,
    HEIGHT,
    LATE,
    LEFT,
    LEVELS,
    NEWEST,
    ORDER,
    RIGHT,
    SIZE,
    STALE_LEFT,
    STALE_MIDDLE,
    STALE_RIGHT,
    ZERO,
    Tree,
    evict_element,
    fold_kids,
    fold_leaf,
    insert_element,
)
from windrow.synopses.exact.loop import MOVES, Answers, Moves, When
from windrow.synopses.jit import horizon

MIDDLE, LEFT_SPINE, RIGHT_SPINE, FIRST_LEAF = 1, 2, 2 + LEVELS, 2 + 2 * LEVELS
"""Rows of states: the root without its outer children; per level of a spine, everything from there up to the root; and
per place of the first leaf, everything from there up to the root.
"""
LEAVES, INNER = 4, 4


@move
def _renew_left(tag: Any, tree: Tree) -> None:
    """Recompute the left spine, from the highest stale level down to each place of the first leaf."""
    numbers, root = tree.numbers, tree.cursors[HEIGHT] - 1
    for level in range(tree.cursors[STALE_LEFT] - 1, 0, -1):
        node = tree.levels[LEFT, level]
        begin, end = tree.inner_span[node]
        state = fold_kids(tag, tree, level, node, begin + 1, end, state_at(tag, numbers, ZERO))
        if level + 1 < root:
            state = merged(tag, numbers, state, state_at(tag, numbers, LEFT_SPINE + level + 1))
        put_state(tag, numbers, LEFT_SPINE + level, state)
    state = state_at(tag, numbers, LEFT_SPINE + 1 if root > 1 else ZERO)
    leaf = tree.levels[LEFT, 0]
    for i in range(tree.leaf_span[leaf, END] - 1, tree.leaf_span[leaf, BEGIN] - 1, -1):
        alone = added(tag, numbers, state_at(tag, numbers, ZERO), tree.leaf_x[leaf, i])
        state = merged(tag, numbers, alone, state)
        put_state(tag, numbers, FIRST_LEAF + i, state)
    tree.cursors[STALE_LEFT] = 0


@move
def _renew_right(tag: Any, tree: Tree) -> None:
    """Recompute the right spine, from the highest stale level down to the last leaf."""
    numbers, root = tree.numbers, tree.cursors[HEIGHT] - 1
    for level in range(tree.cursors[STALE_RIGHT] - 1, -1, -1):
        node = tree.levels[RIGHT, level]
        state = state_at(tag, numbers, RIGHT_SPINE + level + 1 if level + 1 < root else ZERO)
        if level:
            begin, end = tree.inner_span[node]
            state = fold_kids(tag, tree, level, node, begin, end - 1, state)
        else:
            state = fold_leaf(tag, tree, node, state)
        put_state(tag, numbers, RIGHT_SPINE + level, state)
    tree.cursors[STALE_RIGHT] = 0


@move
def _renew_middle(tag: Any, tree: Tree) -> None:
    """Recompute the state of the root without its outer children."""
    root = tree.cursors[HEIGHT] - 1
    node = tree.levels[LEFT, root]
    begin, end = tree.inner_span[node]
    state = fold_kids(tag, tree, root, node, begin + 1, end - 1, state_at(tag, tree.numbers, ZERO))
    put_state(tag, tree.numbers, MIDDLE, state)
    tree.cursors[STALE_MIDDLE] = 0


def _answer(tag: Any, window: Any) -> Any:
    cursors, numbers = window.cursors, window.numbers
    first = window.levels[LEFT, 0]
    if cursors[HEIGHT] == 1:
        return fold_leaf(tag, window, first, state_at(tag, numbers, ZERO))
    if cursors[STALE_LEFT]:
        _renew_left(tag, window)
    if cursors[STALE_RIGHT]:
        _renew_right(tag, window)
    if cursors[STALE_MIDDLE]:
        _renew_middle(tag, window)
    left = state_at(tag, numbers, FIRST_LEAF + window.leaf_span[first, BEGIN])
    until_right = merged(tag, numbers, left, state_at(tag, numbers, MIDDLE))
    return merged(tag, numbers, until_right, state_at(tag, numbers, RIGHT_SPINE))


def _leaves(window: Any, span: Any, now: Any) -> Any:
    cursors = window.cursors
    first = window.levels[LEFT, 0]
    if not cursors[SIZE]:
        return False
    oldest = window.leaf_on[first, window.leaf_span[first, BEGIN]]
    if span.timed:
        return oldest <= horizon(max(now, cursors[NEWEST]), span.length)
    return cursors[SIZE] == span.length and now >= oldest


def _evict(tag: Any, window: Any) -> None:
    evict_element(window)


def _is_full(window: Any) -> Any:
    cursors = window.cursors
    return cursors[FREE_LEAVES] < 1 or cursors[FREE_INNER] <= cursors[HEIGHT]


def _insert(tag: Any, window: Any, span: Any, now: Any, x: Any) -> None:
    cursors = window.cursors
    if (
        (cursors[SIZE] == span.length)
        if not span.timed
        else (cursors[SIZE] and now <= horizon(cursors[NEWEST], span.length))
    ):
        cursors[LATE] += 1
        return
    last = window.levels[RIGHT, 0]
    end = window.leaf_span[last, END]
    fresh = cursors[HEIGHT] > 1 and not cursors[STALE_RIGHT]
    if fresh and end < ORDER and now >= cursors[NEWEST]:
        window.leaf_on[last, end] = now
        window.leaf_x[last, end] = x
        window.leaf_span[last, END] = end + 1
        cursors[SIZE] += 1
        newest = added(tag, window.numbers, state_at(tag, window.numbers, RIGHT_SPINE), x)
        put_state(tag, window.numbers, RIGHT_SPINE, newest)
    else:
        insert_element(tag, window, now, x)
    cursors[NEWEST] = max(now, cursors[NEWEST])


def _size(window: Any) -> Any:
    return window.cursors[SIZE]


MOVES[Tree] = Moves(_leaves, _evict, _is_full, _insert, _answer, _size)


class FiBA(ExactSynopsis):
    """A synopsis that stores all values in a tree with a finger at either end, so they may arrive out of order.

    A value that belongs d places before the newest one costs O(log d) merges; one in order, an eviction and an answer
    cost O(1), all amortised. A value too old for the window is dropped and counted in `late`. One that is in the window
    but older than a moment already answered is included in later answers. Values with the same `on` stay in arrival
    order.

    >>> import numpy as np, windrow as wr
    >>> from windrow.synopses import FiBA, Retention
    >>> window = FiBA(wr.last("speed"), Retention(10, "time"))
    >>> window.update(np.array([5, 21, 18]), np.array([50.0, 40.0, 30.0]))
    >>> window.query()
    40.0
    >>> window.update(np.array([11]), np.array([60.0]))
    >>> window.late
    1
    """

    source: ClassVar[str] = "Optimal and general out-of-order sliding-window aggregation (2019)"
    time: ClassVar[str] = "O(log d) per value that is d places late, O(1) in order, amortised; O(1) per answer"
    space: ClassVar[str] = "O(R): values, and one partial per node"
    ordered: ClassVar[bool] = False

    @classmethod
    def costs(cls, aggregate: AggregateFunction) -> Complexity | None:
        """Return the terms of its update, its query and its space."""
        return Complexity(("one", "log_R", "far"), ("one", "log_R"), ("one", "R", "room_R"))

    @property
    def late(self) -> int:
        """The number of values dropped because they had left the window when they arrived."""
        return int(self.window.cursors[LATE])

    def load(self, data: bytes) -> None:
        """Restore a window saved by a synopsis with the same arguments."""
        super().load(data)
        self.newest = int(self.window.cursors[NEWEST])

    def check(self, window: Tree) -> None:
        """Raise unless a saved window is a valid tree."""
        check_tree(window, self.empty(), None if self.span.timed else self.span.length)

    def _in_order(self, on: Instants, x: Numbers, moments: Instants) -> tuple[Instants, Any, Instants]:
        """Return values sorted by `on`, and the moments to answer at."""
        on, x = np.asarray(on), np.asarray(x)
        check_elements(on, x, self.dtype)
        order = np.argsort(on, kind="stable")
        return super()._in_order(on[order], x[order], moments)

    def _elements(self, on: Instants, x: Numbers) -> tuple[Any, Any]:
        on, x = super()._elements(on, x)
        self.newest = max(self.newest, int(on.max(initial=NEVER)))
        return on, x

    def _go_through(self, on: Any, x: Any, when: When, answers: Answers) -> None:
        super()._go_through(on, x, when, answers)
        if self.timed:
            self.window.cursors[NEWEST] = self.newest

    def empty(self) -> Tree:
        """Return a tree without values: one empty leaf."""
        width = self.zero.shape[1]
        cursors = np.zeros(9, np.int64)
        cursors[HEIGHT], cursors[NEWEST] = 1, NEVER
        tree = Tree(
            leaf_on=np.empty((0, ORDER), np.int64),
            leaf_x=np.empty((0, ORDER), self.dtype),
            leaf_up=np.empty((0, width), self.dtype),
            leaf_span=np.empty((0, 2), np.int64),
            kids=np.empty((0, ORDER), np.int64),
            lows=np.empty((0, ORDER), np.int64),
            inner_up=np.empty((0, width), self.dtype),
            inner_span=np.empty((0, 2), np.int64),
            free_leaves=np.empty(0, np.int64),
            free_inner=np.empty(0, np.int64),
            levels=np.zeros((5, LEVELS), np.int64),
            numbers=np.repeat(self.zero, FIRST_LEAF + ORDER, axis=0),
            cursors=cursors,
        )
        tree = _with_room(tree, LEAVES, INNER)
        cursors[FREE_LEAVES] -= 1
        first = tree.free_leaves[cursors[FREE_LEAVES]]
        tree.levels[LEFT, 0] = tree.levels[RIGHT, 0] = first
        tree.leaf_span[first] = 0
        return tree

    def grown(self, window: Tree) -> Tree:
        """Return the same tree with half as many leaves again, or more inner nodes, whichever ran out."""
        leaves = len(window.leaf_on) // 2 if window.cursors[FREE_LEAVES] < 1 else 0
        inner = LEVELS + len(window.kids) // 2 if window.cursors[FREE_INNER] <= window.cursors[HEIGHT] else 0
        return _with_room(window, leaves, inner)

    def live(self, window: Tree) -> Tree:
        """Return the tree as it is: its nodes have no order in memory."""
        return window


def _with_room(tree: Tree, leaves: int, inner: int) -> Tree:
    """Return the same tree with more unused leaves and inner nodes."""
    longer: dict[str, Any] = {}
    for name in ("leaf_on", "leaf_x", "leaf_up", "leaf_span", "free_leaves"):
        longer[name] = _longer(getattr(tree, name), leaves)
    for name in ("kids", "lows", "inner_up", "inner_span", "free_inner"):
        longer[name] = _longer(getattr(tree, name), inner)
    for free, count, had, more in (
        ("free_leaves", FREE_LEAVES, len(tree.leaf_on), leaves),
        ("free_inner", FREE_INNER, len(tree.kids), inner),
    ):
        unused = tree.cursors[count]
        longer[free][unused : unused + more] = np.arange(had, had + more)
        tree.cursors[count] += more
    return tree._replace(**longer)


def _longer(array: Any, more: int) -> Any:
    return np.concatenate([array, np.empty((more, *array.shape[1:]), array.dtype)]) if more else array
