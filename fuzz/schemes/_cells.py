"""The cells of grids, by definition."""

from __future__ import annotations

import random
from typing import Any

from fuzz.definition import Undecided


def cell(value: float, grid: Any, origin: float = 0.0) -> int:
    """Return the cell of a value: `o + (n-1)w < a <= o + nw`, or `b[i-1] < a <= b[i]`; it saturates beyond 64 bits."""
    if isinstance(grid, list):
        return sum(point < value for point in grid)
    if abs(value - origin) > grid * 9.0e18:
        return 2**63 - 1 if value > 0 else -(2**63) + 1
    if abs(value - origin) > grid * 2**50:
        raise Undecided
    near = round((value - origin) / grid)
    return next(n for n in range(near - 2, near + 3) if origin + (n - 1) * grid < value <= origin + n * grid)


def draw_origin(rng: random.Random, grids: dict[str, Any]) -> dict[str, Any]:
    """Return the option `origin`, sometimes, for some attributes with a width."""
    widths = [name for name, grid in grids.items() if not isinstance(grid, list)]
    if not widths or rng.random() < 0.7:
        return {}
    return {"origin": {rng.choice(widths): rng.choice((-1.0, 0.0, 0.5, 0.1, 3.0))}}
