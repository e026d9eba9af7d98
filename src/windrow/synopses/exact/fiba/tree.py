"""The tree of the finger B-tree aggregator: where elements are, and how it grows and shrinks.

All elements are in the leaves, in order. Nodes lose elements only on the left, as the oldest leave, and are dropped
when empty; everywhere else a node is at least a quarter full. The *left spine* is the first node of each level below
the root, the *right spine* the last one. A node between the spines keeps the partial aggregate of all below it. What is
kept of the spines is in `fiba.py`; here it is only noted up to which level it has become stale.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from windrow.synopses.exact.algebra import added, merged, move, put_state, state_at

ORDER = 32
"""How many elements a leaf has room for, and children an inner node."""
LEVELS = 16
"""More levels than a tree in memory can have."""
BEGIN, END = 0, 1
"""What of a node is in use: the places from `BEGIN` up to `END`."""
LEFT, RIGHT, PATH, PLACE, SIBLING = range(5)
"""Nodes by level: of both spines, and of the last insertion: the path, places in the parents, new siblings."""
SIZE, HEIGHT, NEWEST, LATE, FREE_LEAVES, FREE_INNER = range(6)
STALE_LEFT, STALE_RIGHT, STALE_MIDDLE = 6, 7, 8
"""Cursors. Stale are the levels below `STALE_LEFT` of the left spine, those below `STALE_RIGHT` of the right one."""
ZERO = 0
NONE = -1

Ints = npt.NDArray[np.int64]


class Tree(NamedTuple):
    """Leaves, inner nodes, and the unused ones of both; the root is the last of either spine."""

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
    """A state followed by all elements of a leaf."""
    for i in range(tree.leaf_span[leaf, BEGIN], tree.leaf_span[leaf, END]):
        state = added(tag, tree.numbers, state, tree.leaf_x[leaf, i])
    return state


@move
def fold_kids(tag: Any, tree: Tree, level: int, node: int, first: int, last: int, state: Any) -> Any:
    """A state followed by what the children of a node keep, from place `first` up to `last`."""
    ups = tree.leaf_up if level == 1 else tree.inner_up
    for i in range(first, last):
        state = merged(tag, tree.numbers, state, state_at(tag, ups, tree.kids[node, i]))
    return state


@move
def insert_element(tag: Any, tree: Tree, on: int, x: Any) -> None:
    """Put an element behind all that are not later than it."""
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
    """The last leaf that begins no later than `on`: up the right spine as far as needed, and down from there."""
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
    """Let the path reach one level higher: above where the search turned, it is the right spine."""
    levels = tree.levels
    if levels[PATH, level] == levels[RIGHT, level]:
        levels[PATH, level + 1] = levels[RIGHT, level + 1]
        levels[PLACE, level] = tree.inner_span[levels[RIGHT, level + 1], END] - 1
        levels[SIBLING, level + 1] = NONE


@move
def compact(rows: Any, k: int, begin: int) -> None:
    """Move what is in use of a full row to its start."""
    for i in range(begin, ORDER):
        rows[k, i - begin] = rows[k, i]


@move
def cut_of(tree: Tree, level: int, node: int) -> int:
    """How much stays where a full node is split: half, but more at the end, since most elements come there."""
    return 3 * ORDER // 4 if tree.levels[RIGHT, level] == node else ORDER // 2


@move
def split_leaf(tree: Tree, leaf: int, place: int) -> Any:
    """Move the end of a full leaf to a new one; returns in which of both, and where, an element has its place."""
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
    """Put a new leaf beside an old one, and split the nodes above as far as they are full."""
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
    """Put a child into an inner node that has room."""
    end = tree.inner_span[node, END]
    for i in range(end, place, -1):
        tree.kids[node, i] = tree.kids[node, i - 1]
        tree.lows[node, i] = tree.lows[node, i - 1]
    tree.kids[node, place] = kid
    tree.lows[node, place] = low
    tree.inner_span[node, END] = end + 1


@move
def add_root(tree: Tree, old: int, fresh: int, low: int) -> None:
    """Put a new root above the two parts of the old one."""
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
    """From the leaf upwards, renew what nodes between the spines keep, and note what is stale of the spines."""
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
    """Do so for one node; returns whether it is between the spines."""
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
    """Take out the oldest element, and with it the nodes that it leaves empty."""
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
    """Take the first leaf, which is empty, out of the tree."""
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
    """Put an inner node among the unused ones."""
    tree.free_inner[tree.cursors[FREE_INNER]] = node
    tree.cursors[FREE_INNER] += 1


@move
def lower_root(tree: Tree) -> None:
    """While the root has but one child, let the child be the root."""
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
