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
from windrow.framing.schemes.native import literal
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
            f"{scheme} expects a width or break points per attribute, e.g. {{'x': 10.0}}; got {quoted(grids)}"
        )
    return {check_attribute(name, scheme): _grid(name, grid, scheme) for name, grid in grids.items()}


def _grid(name: str, grid: Any, scheme: str) -> Grid:
    if isinstance(grid, Sequence) and not isinstance(grid, str | bytes):
        points = tuple(check_limit(point, f"{scheme}: break point of {name!r}") for point in grid)
        if not points or any(a >= b for a, b in pairwise(points)):
            raise SpecError(
                f"{scheme}: expected one or more break points of {name!r} in increasing order, got {quoted(grid)}"
            )
        return points
    width = check_limit(grid, f"{scheme}: width of {name!r}")
    if width <= 0:
        raise SpecError(f"{scheme}: width of {name!r}: {quoted(grid)} must be greater than zero")
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


def cell_sql(value: str, grid: Grid) -> str:
    """Return the cell of a value in Spark SQL, by the same definition as in the kernel.

    >>> cell_sql("x", (0.0, 5.0))
    'CAST(x > 0.0D AS BIGINT) + CAST(x > 5.0D AS BIGINT)'
    """
    if isinstance(grid, tuple):
        return " + ".join(f"CAST({value} > {literal(point)} AS BIGINT)" for point in grid)
    width = literal(float(grid))
    is_near = f"abs({value} / {width}) <= {literal(FARTHEST_CELL)}"
    near = f"ceil(CASE WHEN {is_near} THEN {value} / {width} ELSE 0.0D END)"
    return f"""CASE
        WHEN NOT ({is_near}) THEN CASE WHEN {value} > 0 THEN {literal(LARGEST_CELL)} ELSE {literal(SMALLEST_CELL)} END
        WHEN ({near} - 1) * {width} >= {value} THEN {near} - 1
        WHEN {near} * {width} < {value} THEN {near} + 1
        ELSE {near} END"""


def plain_cell(value: float, grid: Grid) -> int:
    """Return the one cell that the definition of boundary frames assigns to a value, in plain Python."""
    if not isinstance(grid, tuple) and abs(value / grid) > FARTHEST_CELL:
        return LARGEST_CELL if value > 0 else SMALLEST_CELL
    return next(n for n in _nearby_cells(value, grid) if _is_in_cell(value, grid, n))


def _nearby_cells(value: float, grid: Grid) -> range:
    return range(len(grid) + 1) if isinstance(grid, tuple) else range(int(value / grid) - 2, int(value / grid) + 3)


def _is_in_cell(value: float, grid: Grid, n: int) -> bool:
    if isinstance(grid, tuple):
        return (n == 0 or grid[n - 1] < value) and (n == len(grid) or value <= grid[n])
    return (n - 1) * grid < value <= n * grid
