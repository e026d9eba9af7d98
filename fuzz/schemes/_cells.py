"""The cells of grids, by definition."""

from __future__ import annotations

from typing import Any

from fuzz.definition import Undecided


def cell(value: float, grid: Any) -> int:
    """Return the cell of a value: `(n-1)w < a <= nw`, or `b[i-1] < a <= b[i]`; it saturates beyond 64 bits."""
    if isinstance(grid, list):
        return sum(point < value for point in grid)
    if abs(value) > grid * 9.0e18:
        return 2**63 - 1 if value > 0 else -(2**63) + 1
    if abs(value) > grid * 2**50:
        raise Undecided
    near = round(value / grid)
    return next(n for n in range(near - 2, near + 3) if (n - 1) * grid < value <= n * grid)
