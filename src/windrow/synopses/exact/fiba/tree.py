"""The tree of the finger B-tree aggregator: nodes, insertion and eviction.

All values are in the leaves, in order. Nodes lose values only on the left, as the oldest leave, and are dropped when
empty; all other nodes are at least a quarter full. A node between the spines stores the partial aggregate of its
subtree. The aggregates of the spines are in `synopsis`; this module only marks up to which level they are stale.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from windrow.synopses.exact.algebra import added, merged, move, put_state, state_at

ORDER = 32
"""The capacity of a leaf in values, and of an inner node in children."""
LEVELS = 16
"""More levels than a tree in memory can have."""
BEGIN, END = 0, 1
"""The used part of a node: the places from `BEGIN` up to `END`."""
LEFT, RIGHT, PATH, PLACE, SIBLING = range(5)
"""Rows of `levels`: the nodes of both spines and, for the last insertion, the path, places in parents, new siblings."""
SIZE, HEIGHT, NEWEST, LATE, FREE_LEAVES, FREE_INNER = range(6)
STALE_LEFT, STALE_RIGHT, STALE_MIDDLE = 6, 7, 8
"""Cursors. The levels below `STALE_LEFT` of the left spine and below `STALE_RIGHT` of the right one are stale."""
ZERO = 0
NONE = -1

Ints = npt.NDArray[np.int64]


class Tree(NamedTuple):
    """Leaves, inner nodes and the unused ones of both; the root is the last node of either spine."""

    leaf_on: Ints
    leaf_x: npt.NDArray[Any]
    leaf_up: npt.NDArray[Any]
    leaf_span: Ints
    kids: Ints
    lows: Ints
    inner_up: npt.NDArray[Any]
    inner_span: Ints
    free_leaves: Ints
    free_inner: Ints
    levels: Ints
    numbers: npt.NDArray[Any]
    cursors: Ints


@move
def fold_leaf(tag: Any, tree: Tree, leaf: int, state: Any) -> Any:
    """Return a state followed by all values of a leaf."""
    for i in range(tree.leaf_span[leaf, BEGIN], tree.leaf_span[leaf, END]):
        state = added(tag, tree.numbers, state, tree.leaf_x[leaf, i])
    return state


@move
def fold_kids(tag: Any, tree: Tree, level: int, node: int, first: int, last: int, state: Any) -> Any:
    """Return a state followed by the states of a node's children, from place `first` up to `last`."""
    ups = tree.leaf_up if level == 1 else tree.inner_up
    for i in range(first, last):
        state = merged(tag, tree.numbers, state, state_at(tag, ups, tree.kids[node, i]))
    return state


@move
def insert_element(tag: Any, tree: Tree, on: int, x: Any) -> None:
    """Insert a value after all that are not later."""
    cursors = tree.cursors
    cursors[SIZE] += 1
    leaf = find_leaf(tree, on)
    begin, end = tree.leaf_span[leaf]
    place = end
    while place > begin and tree.leaf_on[leaf, place - 1] > on:
        place -= 1
    if end == ORDER and begin > 0:
        compact(tree.leaf_on, leaf, begin)
        compact(tree.leaf_x, leaf, begin)
        tree.leaf_span[leaf] = 0, end - begin
        place -= begin
    elif end == ORDER:
        leaf, place = split_leaf(tree, leaf, place)
    end = tree.leaf_span[leaf, END]
    for i in range(end, place, -1):
        tree.leaf_on[leaf, i] = tree.leaf_on[leaf, i - 1]
        tree.leaf_x[leaf, i] = tree.leaf_x[leaf, i - 1]
    tree.leaf_on[leaf, place] = on
    tree.leaf_x[leaf, place] = x
    tree.leaf_span[leaf, END] = end + 1
    note_changes(tag, tree)


@move
def find_leaf(tree: Tree, on: int) -> int:
    """Return the last leaf that begins no later than `on`: climb the right spine as far as needed, then descend."""
    levels, root = tree.levels, tree.cursors[HEIGHT] - 1
    level = 0
    while level < root:
        levels[SIBLING, level] = NONE
        levels[PATH, level] = levels[RIGHT, level]
        levels[PLACE, level] = tree.inner_span[levels[RIGHT, level + 1], END] - 1
        if tree.lows[levels[RIGHT, level + 1], levels[PLACE, level]] <= on:
            break
        level += 1
    levels[SIBLING, level] = NONE
    levels[PATH, level] = levels[RIGHT, level]
    while level > 0:
        node = levels[PATH, level]
        place = tree.inner_span[node, END] - 1
        while place > tree.inner_span[node, BEGIN] and tree.lows[node, place] > on:
            place -= 1
        level -= 1
        levels[PLACE, level] = place
        levels[PATH, level] = tree.kids[node, place]
    return int(levels[PATH, 0])


@move
def complete_path(tree: Tree, level: int) -> None:
    """Extend the path one level up: above the turning point of the search, it is the right spine."""
    levels = tree.levels
    if levels[PATH, level] == levels[RIGHT, level]:
        levels[PATH, level + 1] = levels[RIGHT, level + 1]
        levels[PLACE, level] = tree.inner_span[levels[RIGHT, level + 1], END] - 1
        levels[SIBLING, level + 1] = NONE


@move
def compact(rows: Any, k: int, begin: int) -> None:
    """Move the used part of a full row to its start."""
    for i in range(begin, ORDER):
        rows[k, i - begin] = rows[k, i]


@move
def cut_of(tree: Tree, level: int, node: int) -> int:
    """Return how much stays when a full node is split: half, but more at the right end, where most values arrive."""
    return 3 * ORDER // 4 if tree.levels[RIGHT, level] == node else ORDER // 2


@move
def split_leaf(tree: Tree, leaf: int, place: int) -> Any:
    """Move the end of a full leaf to a new one; return the leaf and the place of the value to insert."""
    cursors = tree.cursors
    cut = cut_of(tree, 0, leaf)
    cursors[FREE_LEAVES] -= 1
    fresh = tree.free_leaves[cursors[FREE_LEAVES]]
    for i in range(cut, ORDER):
        tree.leaf_on[fresh, i - cut] = tree.leaf_on[leaf, i]
        tree.leaf_x[fresh, i - cut] = tree.leaf_x[leaf, i]
    tree.leaf_span[fresh] = 0, ORDER - cut
    tree.leaf_span[leaf, END] = cut
    add_sibling(tree, leaf, fresh, tree.leaf_on[fresh, 0])
    return (fresh, place - cut) if place > cut else (leaf, place)


@move
def add_sibling(tree: Tree, old: int, fresh: int, low: int) -> None:
    """Insert a new leaf after an old one, splitting full nodes above."""
    levels, cursors = tree.levels, tree.cursors
    level = 0
    while True:
        levels[SIBLING, level] = fresh
        if level == cursors[HEIGHT] - 1:
            add_root(tree, old, fresh, low)
            return
        complete_path(tree, level)
        if levels[RIGHT, level] == old:
            levels[RIGHT, level] = fresh
        parent = levels[PATH, level + 1]
        place = levels[PLACE, level] + 1
        begin, end = tree.inner_span[parent]
        if end < ORDER or begin > 0:
            if end == ORDER:
                compact(tree.kids, parent, begin)
                compact(tree.lows, parent, begin)
                tree.inner_span[parent] = 0, end - begin
                place -= begin
            add_kid(tree, parent, place, fresh, low)
            return
        cut = cut_of(tree, level + 1, parent)
        twin = split_inner(tree, parent, cut)
        twin_low = tree.lows[twin, 0]
        if place > cut:
            add_kid(tree, twin, place - cut, fresh, low)
        else:
            add_kid(tree, parent, place, fresh, low)
        old, fresh, low = parent, twin, twin_low
        level += 1


@move
def split_inner(tree: Tree, node: int, cut: int) -> int:
    """Move the end of a full inner node to a new one."""
    tree.cursors[FREE_INNER] -= 1
    fresh = tree.free_inner[tree.cursors[FREE_INNER]]
    for i in range(cut, ORDER):
        tree.kids[fresh, i - cut] = tree.kids[node, i]
        tree.lows[fresh, i - cut] = tree.lows[node, i]
    tree.inner_span[fresh] = 0, ORDER - cut
    tree.inner_span[node, END] = cut
    return int(fresh)


@move
def add_kid(tree: Tree, node: int, place: int, kid: int, low: int) -> None:
    """Insert a child into an inner node with room."""
    end = tree.inner_span[node, END]
    for i in range(end, place, -1):
        tree.kids[node, i] = tree.kids[node, i - 1]
        tree.lows[node, i] = tree.lows[node, i - 1]
    tree.kids[node, place] = kid
    tree.lows[node, place] = low
    tree.inner_span[node, END] = end + 1


@move
def add_root(tree: Tree, old: int, fresh: int, low: int) -> None:
    """Add a new root above the two parts of the old one."""
    levels, cursors = tree.levels, tree.cursors
    top = cursors[HEIGHT]
    cursors[FREE_INNER] -= 1
    root = tree.free_inner[cursors[FREE_INNER]]
    tree.inner_span[root] = 0, 2
    tree.kids[root, 0], tree.kids[root, 1] = old, fresh
    tree.lows[root, 0], tree.lows[root, 1] = low, low
    levels[LEFT, top - 1], levels[RIGHT, top - 1] = old, fresh
    levels[LEFT, top] = levels[RIGHT, top] = levels[PATH, top] = root
    levels[SIBLING, top] = NONE
    cursors[HEIGHT] = top + 1
    cursors[STALE_LEFT] = cursors[STALE_RIGHT] = top
    cursors[STALE_MIDDLE] = 1


@move
def note_changes(tag: Any, tree: Tree) -> None:
    """Recompute the states of nodes between the spines, from the leaf up, and mark stale levels of the spines."""
    levels, root = tree.levels, tree.cursors[HEIGHT] - 1
    level = 0
    while True:
        between = note_change(tag, tree, level, levels[PATH, level])
        if levels[SIBLING, level] != NONE:
            note_change(tag, tree, level, levels[SIBLING, level])
            between = True
        if level == root or not between:
            return
        complete_path(tree, level)
        level += 1


@move
def note_change(tag: Any, tree: Tree, level: int, node: int) -> bool:
    """Do so for one node; return whether it is between the spines."""
    levels, cursors = tree.levels, tree.cursors
    if level == cursors[HEIGHT] - 1:
        cursors[STALE_MIDDLE] = 1
    elif node == levels[LEFT, level]:
        cursors[STALE_LEFT] = max(cursors[STALE_LEFT], level + 1)
    elif node == levels[RIGHT, level]:
        cursors[STALE_RIGHT] = max(cursors[STALE_RIGHT], level + 1)
    else:
        zero = state_at(tag, tree.numbers, ZERO)
        if level == 0:
            put_state(tag, tree.leaf_up, node, fold_leaf(tag, tree, node, zero))
        else:
            begin, end = tree.inner_span[node]
            put_state(tag, tree.inner_up, node, fold_kids(tag, tree, level, node, begin, end, zero))
        return True
    return False


@move
def evict_element(tree: Tree) -> None:
    """Remove the oldest value and the nodes it leaves empty."""
    levels, cursors = tree.levels, tree.cursors
    leaf = levels[LEFT, 0]
    cursors[SIZE] -= 1
    tree.leaf_span[leaf, BEGIN] += 1
    if tree.leaf_span[leaf, BEGIN] < tree.leaf_span[leaf, END]:
        return
    tree.leaf_span[leaf] = 0
    if cursors[HEIGHT] > 1:
        drop_leaf(tree, leaf)


@move
def drop_leaf(tree: Tree, leaf: int) -> None:
    """Remove the first leaf, which is empty, from the tree."""
    levels, cursors = tree.levels, tree.cursors
    tree.free_leaves[cursors[FREE_LEAVES]] = leaf
    cursors[FREE_LEAVES] += 1
    level = 1
    while True:
        node = levels[LEFT, level]
        tree.inner_span[node, BEGIN] += 1
        if tree.inner_span[node, BEGIN] < tree.inner_span[node, END]:
            break
        drop_inner(tree, node)
        level += 1
    if level == cursors[HEIGHT] - 1:
        lower_root(tree)
        level = cursors[HEIGHT] - 1
        cursors[STALE_LEFT], cursors[STALE_MIDDLE] = level, 1
    else:
        cursors[STALE_LEFT] = max(cursors[STALE_LEFT], level + 1)
    while level > 0:
        node = levels[LEFT, level]
        level -= 1
        levels[LEFT, level] = tree.kids[node, tree.inner_span[node, BEGIN]]


@move
def drop_inner(tree: Tree, node: int) -> None:
    """Return an inner node to the unused ones."""
    tree.free_inner[tree.cursors[FREE_INNER]] = node
    tree.cursors[FREE_INNER] += 1


@move
def lower_root(tree: Tree) -> None:
    """Replace the root by its child while it has only one."""
    levels, cursors = tree.levels, tree.cursors
    while cursors[HEIGHT] > 1:
        top = cursors[HEIGHT] - 1
        root = levels[LEFT, top]
        begin, end = tree.inner_span[root]
        if end - begin > 1:
            return
        levels[LEFT, top - 1] = tree.kids[root, begin]
        drop_inner(tree, root)
        cursors[HEIGHT] = top
        cursors[STALE_RIGHT] = top - 1
