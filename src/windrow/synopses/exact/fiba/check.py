"""Validation of a saved finger B-tree, so that compiled code never follows a link out of the tree."""

from __future__ import annotations

from typing import Any

import numpy as np

from windrow.state.checks import check_indices, check_that
from windrow.synopses.exact.fiba.tree import (
    BEGIN,
    END,
    FREE_INNER,
    FREE_LEAVES,
    HEIGHT,
    LEFT,
    LEVELS,
    ORDER,
    RIGHT,
    SIZE,
    STALE_LEFT,
    STALE_RIGHT,
    Ints,
    Tree,
)

HIGHEST = LEVELS - 4
"""The most levels accepted. No tree in memory is that high, and the levels above are left for growth."""


def check_tree(tree: Tree, like: Tree, most: int | None) -> None:
    """Raise unless every node is in place exactly once and the tree has at most `most` values."""
    _check_shapes(tree, like)
    height = int(tree.cursors[HEIGHT])
    check_that(1 <= height <= HIGHEST, f"from 1 to {HIGHEST} levels, got {height}")
    leaves, inner = _check_levels(tree, height)
    _check_free("leaves", tree.free_leaves, int(tree.cursors[FREE_LEAVES]), leaves, len(tree.leaf_on))
    _check_free("inner nodes", tree.free_inner, int(tree.cursors[FREE_INNER]), inner, len(tree.kids))
    _check_elements(tree, leaves, height, most)
    check_indices("stale levels", tree.cursors[[STALE_LEFT, STALE_RIGHT]], height)


def _check_shapes(tree: Tree, like: Tree) -> None:
    """Raise unless arrays have one row per leaf or one per inner node."""
    counts, least = {"leaf": len(tree.leaf_on), "inner": len(tree.kids)}, len(like.leaf_on)
    check_that(counts["leaf"] >= least, f"at least {least} leaves, got {counts['leaf']}")
    for name in ("leaf_on", "leaf_x", "leaf_up", "leaf_span", "free_leaves", "kids", "lows", "inner_up", "inner_span"):
        array, of = getattr(tree, name), "leaf" if "lea" in name else "inner"
        expected = (counts[of], *getattr(like, name).shape[1:])
        check_that(array.shape == expected, f"array {name!r} of {expected}, got {array.shape}")
    check_that(tree.free_inner.shape == (counts["inner"],), f"{counts['inner']} places for unused inner nodes")
    for name in ("levels", "numbers"):
        array, expected = getattr(tree, name), getattr(like, name).shape
        check_that(array.shape == expected, f"array {name!r} of {expected}, got {array.shape}")


def _check_levels(tree: Tree, height: int) -> tuple[Ints, Ints]:
    """Return the leaves, in order, and the inner nodes; raise if links and spines do not form a tree."""
    nodes, inner = tree.levels[LEFT, height - 1 : height], []
    for level in range(height - 1, -1, -1):
        spine = tree.levels[[LEFT, RIGHT], level].tolist()
        check_that([nodes[0], nodes[-1]] == spine, f"the outer nodes of level {level} to be {spine}")
        check_indices(f"nodes of level {level}", nodes, len(tree.kids if level else tree.leaf_on))
        if level:
            inner.append(nodes)
            nodes = _kids(tree, nodes)
    return nodes, np.concatenate(inner) if inner else np.empty(0, np.int64)


def _kids(tree: Tree, nodes: Ints) -> Ints:
    """Return the children of some inner nodes, in order."""
    used = _in_use(tree.inner_span[nodes])
    check_that(bool(used.any(axis=1).all()), "children below each inner node")
    kids: Ints = tree.kids[nodes][used]
    check_that(kids.size <= len(tree.kids) + len(tree.leaf_on), "each node once")
    return kids


def _in_use(spans: Ints) -> Any:
    """Return which places of some nodes are in use."""
    begin, end = spans[:, BEGIN, None], spans[:, END, None]
    check_that(bool(((begin >= 0) & (begin <= end) & (end <= ORDER)).all()), f"places up to {ORDER} in each node")
    places = np.arange(ORDER)
    return (places >= begin) & (places < end)


def _check_free(what: str, free: Ints, many: int, used: Ints, total: int) -> None:
    """Raise unless each node is exactly once either in the tree or unused."""
    check_that(0 <= many <= total and many + used.size == total, f"{total} {what}, got {many} unused ones")
    check_indices(f"unused {what}", free[:many], total)
    every = np.concatenate([used, free[:many]])
    check_that(np.unique(every).size == total, f"{what} that are each in the tree once or unused")


def _check_elements(tree: Tree, leaves: Ints, height: int, most: int | None) -> None:
    """Raise for an empty leaf unless it is the only one, a wrong number of values, or values out of order."""
    used = _in_use(tree.leaf_span[leaves])
    check_that(height == 1 or bool(used.any(axis=1).all()), "values in each leaf")
    on, size = tree.leaf_on[leaves][used], int(tree.cursors[SIZE])
    check_that(on.size == size, f"{on.size} values, got {size}")
    check_that(most is None or size <= most, f"at most {most} values, got {size}")
    check_that(bool((on[1:] >= on[:-1]).all()), "values in the order of their `on`")
