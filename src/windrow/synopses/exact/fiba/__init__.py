"""The finger B-tree aggregator: rows may come in any order within the window."""
