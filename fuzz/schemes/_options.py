"""Options that several schemes share, for Hypothesis and for the fuzzer."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

OPERATORS = ("<", "<=", ">", ">=")
GAPS = st.sampled_from([None, None, None, None, 0, 1, 2, 2.5, 4])
COMMON: dict[str, st.SearchStrategy[Any]] = {
    "max_gap": GAPS,
    "nulls": st.sampled_from(["skip", "skip", "break", "break", "error"]),
}
LIMITED: dict[str, st.SearchStrategy[Any]] = {
    "min_count": st.sampled_from([1, 1, 1, 2, 3]),
    "min_duration": st.sampled_from([None, None, None, 0, 1, 2.5]),
    "max_count": st.sampled_from([None, None, None, 3, 4]),
    "max_duration": st.sampled_from([None, None, None, 2.5, 4]),
    "extent": st.sampled_from(["closed", "closed", "half-open"]),
}
"""Minimums and maximums, no minimum above its maximum."""
SMALL_GRIDS: tuple[Any, ...] = ({"x": 1.0}, {"x": 2.0}, {"x": 1.5}, {"x": [0, 2, 3]}, {"x": [1]})
"""Grids over small integers, so that conditions are often met exactly at their limit."""
GRIDS: tuple[Any, ...] = (1.0, 2.0, 1.5, 0.1, 10.0, [0.0, 2.0, 3.0], [1.0], [-1.0, 0.5])
