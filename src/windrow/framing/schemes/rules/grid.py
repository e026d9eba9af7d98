"""Grids over attributes: the cells into which boundaries divide an attribute's values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numba import njit

from windrow.errors import SpecError, is_one_of, quoted
from windrow.framing.schemes.native import literal
from windrow.rows.checks import check_attribute, check_limit


@dataclass(frozen=True)
class ShiftedGrid:
    """Cells of one width that start at an origin other than zero."""

    width: float
    origin: float


Grid: TypeAlias = float | ShiftedGrid | tuple[float, ...]
"""A width, a width with an origin, or break points in increasing order."""

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


def check_origin(origin: Any, grids: Mapping[str, Any], scheme: str) -> dict[str, float] | None:
    """Return the validated origin per attribute."""
    if origin is None:
        return None
    if not isinstance(origin, Mapping) or not origin:
        raise SpecError(f"origin: expected a number per attribute, e.g. {{'x': 5.0}}; got {quoted(origin)}")
    for name in origin:
        if not is_one_of(name, tuple(grids)):
            raise SpecError(f"origin: expected an attribute of the grid ({', '.join(grids)}), got {quoted(name)}")
        if isinstance(grids[name], tuple):
            raise SpecError(f"origin: expected a width for {name!r}, which has break points")
    return {name: check_limit(number, f"{scheme}: origin of {name!r}") for name, number in origin.items()}


def shifted(grids: Mapping[str, Grid], origin: Mapping[str, float] | None) -> dict[str, Grid]:
    """Return the grids with their origins."""
    origins = origin or {}
    return {
        name: ShiftedGrid(grid, origins[name]) if isinstance(grid, float) and origins.get(name) else grid
        for name, grid in grids.items()
    }


def _width_and_origin(grid: float | ShiftedGrid) -> tuple[float, float]:
    return (grid.width, grid.origin) if isinstance(grid, ShiftedGrid) else (float(grid), 0.0)


def cells(values: npt.NDArray[np.float64], grid: Grid) -> npt.NDArray[np.int64]:
    """Return the cell of each value.

    With width w, cell n is `(n-1)w < a <= nw`; with an origin o, `o + (n-1)w < a <= o + nw`. With break points, the
    cell is the number of break points below the value. Cells beyond 64 bits, such as those of infinities, saturate at
    2**63 - 1 and its negative.

    >>> cells(np.array([-0.5, 0.0, 10.0, 10.5]), 10.0).tolist()
    [0, 0, 1, 2]
    >>> cells(np.array([-0.5, 0.0, 10.0, 10.5]), ShiftedGrid(10.0, origin=-0.2)).tolist()
    [0, 1, 2, 2]
    >>> cells(np.array([-1.0, 0.0, 5.0, 99.0]), (0.0, 5.0, 20.0)).tolist()
    [0, 0, 1, 3]
    """
    if isinstance(grid, tuple):
        return np.searchsorted(np.array(grid), values, side="left").astype(np.int64)
    out: npt.NDArray[np.int64] = _width_cells(values, *_width_and_origin(grid))
    return out


@njit(cache=True)
def _width_cells(values: Any, width: float, origin: float) -> Any:
    """Return the cells by width: the quotient may round across a boundary, so the definition corrects it."""
    out = np.empty(values.size, np.int64)
    for i in range(values.size):
        a = values[i]
        near = (a - origin) / width
        if near > FARTHEST_CELL:
            out[i] = LARGEST_CELL
        elif near < -FARTHEST_CELL:
            out[i] = SMALLEST_CELL
        else:
            cell = np.int64(math.ceil(near))
            if origin + (cell - 1) * width >= a:
                cell -= 1
            elif origin + cell * width < a:
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
    width, origin = map(literal, _width_and_origin(grid))
    quotient = f"({value} - {origin}) / {width}"
    is_near = f"abs({quotient}) <= {literal(FARTHEST_CELL)}"
    near = f"ceil(CASE WHEN {is_near} THEN {quotient} ELSE 0.0D END)"
    return f"""CASE
        WHEN NOT ({is_near}) THEN CASE WHEN {value} > 0 THEN {literal(LARGEST_CELL)} ELSE {literal(SMALLEST_CELL)} END
        WHEN {origin} + ({near} - 1) * {width} >= {value} THEN {near} - 1
        WHEN {origin} + {near} * {width} < {value} THEN {near} + 1
        ELSE {near} END"""


def plain_cell(value: float, grid: Grid) -> int:
    """Return the one cell that the definition of boundary frames assigns to a value, in plain Python."""
    if isinstance(grid, tuple):
        bounds = [-math.inf, *grid, math.inf]
        return next(n for n in range(len(grid) + 1) if value <= bounds[n + 1])
    width, origin = _width_and_origin(grid)
    near = (value - origin) / width
    if abs(near) > FARTHEST_CELL:
        return LARGEST_CELL if near > 0 else SMALLEST_CELL
    nearby = range(int(near) - 2, int(near) + 3)
    return next(n for n in nearby if origin + (n - 1) * width < value <= origin + n * width)
