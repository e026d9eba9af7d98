r"""The finger B-tree aggregator: values may arrive in any order within the window.

All values are in the leaves of a B-tree, in the order of their `on`. The first node of each level below the root forms
the *left spine*, the last node the *right spine*. A *finger* at either end gives direct access to the first and the
last leaf.

                          +------------- root --------------+
                         /          |        |               \
                       L1          m          m               R1
                      /  \        / \        / \             /  \
                    L0    m      m   m      m   m           m    R0
                    ^                                             ^
              left finger:                                 right finger:
           the oldest values leave                   values arrive in order

    m    a node between the spines: stores the aggregate of its subtree
    Li   a node of the left spine: its subtree without its first child, followed by the state of the Lj above it
    Ri   a node of the right spine: the state of the Rj above it, followed by its subtree without its last child

An answer merges three states: the left spine from the oldest value up to the root, the root without its outer children,
and the right spine from the root down to the newest value. It never descends the tree.

A value that belongs d places before the newest one is inserted by climbing the right spine until the subtree covers its
place, O(log d) levels, and descending from there. Only the nodes on that path are aggregated again. A change within a
spine only marks its levels as stale, up to the highest one affected; the next answer recomputes the stale levels. The
oldest value leaves the first leaf; empty nodes on the left spine are dropped.

`tree` holds the nodes, insertion and eviction; `synopsis` the spines and the answers; `check` validates a saved tree.
"""
