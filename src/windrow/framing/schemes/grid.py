"""Grids over attributes: the cells into which boundaries divide an attribute's values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numba import njit

from windrow.errors import SpecError, quoted
from windrow.rows.checks import check_attribute, check_limit

Grid: TypeAlias = float | tuple[float, ...]
"""A width, or break points in increasing order."""

LARGEST_CELL = int(np.iinfo(np.int64).max)
SMALLEST_CELL = -LARGEST_CELL
"""Cells beyond these saturate. One below the smallest still fits an int64: it can be the lower cell of a pair."""
FARTHEST_CELL = 9.0e18
"""The quotient of value and width beyond which cells saturate."""


def check_grid(grids: Any, scheme: str) -> dict[str, Grid]:
    """Return the validated width or break points per attribute."""
    if not isinstance(grids, Mapping) or not grids:
        raise SpecError(
            f"{scheme} wants a width or break points an attribute, as in {{'x': 10.0}}, not {quoted(grids)}"
        )
    return {check_attribute(name, scheme): _grid(name, grid, scheme) for name, grid in grids.items()}


def _grid(name: str, grid: Any, scheme: str) -> Grid:
    if isinstance(grid, Sequence) and not isinstance(grid, str | bytes):
        points = tuple(check_limit(point, f"{scheme}: a break point of {name!r}") for point in grid)
        if not points or any(a >= b for a, b in pairwise(points)):
            raise SpecError(
                f"{scheme}: the break points of {name!r} must be one or more in rising order, not {quoted(grid)}"
            )
        return points
    width = check_limit(grid, f"{scheme}: the width of {name!r}")
    if width <= 0:
        raise SpecError(f"{scheme}: the width of {name!r} must be above zero, not {quoted(grid)}")
    return width


def cells(values: npt.NDArray[np.float64], grid: Grid) -> npt.NDArray[np.int64]:
    """Return the cell of each value.

    With width w, cell n is `(n-1)w < a <= nw`. With break points, the cell is the number of break points below the
    value. Cells beyond 64 bits, such as those of infinities, saturate at 2**63 - 1 and its negative.

    >>> cells(np.array([-0.5, 0.0, 10.0, 10.5]), 10.0).tolist()
    [0, 0, 1, 2]
    >>> cells(np.array([-1.0, 0.0, 5.0, 99.0]), (0.0, 5.0, 20.0)).tolist()
    [0, 0, 1, 3]
    """
    if isinstance(grid, tuple):
        return np.searchsorted(np.array(grid), values, side="left").astype(np.int64)
    out: npt.NDArray[np.int64] = _width_cells(values, grid)
    return out


@njit(cache=True)
def _width_cells(values: Any, width: float) -> Any:
    """Return the cells by width: the quotient may round across a boundary, so the definition corrects it."""
    out = np.empty(values.size, np.int64)
    for i in range(values.size):
        a = values[i]
        near = a / width
        if near > FARTHEST_CELL:
            out[i] = LARGEST_CELL
        elif near < -FARTHEST_CELL:
            out[i] = SMALLEST_CELL
        else:
            cell = np.int64(math.ceil(near))
            if (cell - 1) * width >= a:
                cell -= 1
            elif cell * width < a:
                cell += 1
            out[i] = cell
    return out
