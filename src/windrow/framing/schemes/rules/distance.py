"""Distances between points, for delta frames over several attributes at once: how far rows are from the first one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from windrow.arrays import Array
from windrow.errors import SpecError, quoted
from windrow.framing.schemes.rules.loop import adds, begins, is_met, joins, judges
from windrow.rows.checks import check_attribute

EARTH_RADIUS = 6_371_008.8
"""The mean radius of the earth in metres."""
DISTANCES = ("euclidean", "great_circle")


def check_points(columns: Any, distance: str) -> tuple[str, ...]:
    """Return the columns of a point, given as a sequence or as text with commas."""
    names = columns.split(",") if isinstance(columns, str) else columns
    if not isinstance(names, Sequence):
        raise SpecError(f"Delta: expected the columns of a point, e.g. ('x', 'y'), got {quoted(columns)}")
    checked = tuple(check_attribute(name.strip() if isinstance(name, str) else name, "Delta") for name in names)
    if distance == "great_circle" and len(checked) != 2:
        raise SpecError(f"Delta: distance='great_circle' expects (longitude, latitude), got {quoted(columns)}")
    if not checked or len(set(checked)) < len(checked):
        raise SpecError(f"Delta: expected different columns for a point, got {quoted(columns)}")
    return checked


def plain_points_apart(a: Sequence[float], b: Sequence[float], distance: str) -> float:
    """Return the distance between two points in plain Python."""
    if distance == "great_circle":
        (east_a, north_a), (east_b, north_b) = ((math.radians(x) for x in point) for point in (a, b))
        across = math.sin((east_b - east_a) / 2) ** 2 * math.cos(north_a) * math.cos(north_b)
        chord = math.sqrt(min(1.0, math.sin((north_b - north_a) / 2) ** 2 + across))
        return 2 * EARTH_RADIUS * math.asin(chord)
    return math.hypot(*(0.0 if x == y else x - y for x, y in zip(a, b, strict=True)))


class DistanceRule(NamedTuple):
    """The points of the rows, side by side, and a limit for each, which is too far itself if `inclusive`.

    Point p has the columns from `begin[p]` up to `begin[p + 1]`. A record stores the points of the frame's first row,
    and how far each has been from it at most.
    """

    values: Array
    begin: Array
    limits: Array
    on_sphere: bool
    inclusive: bool


@njit(cache=True)
def _great_circle(east_a: float, north_a: float, east_b: float, north_b: float) -> float:
    """Return the distance in metres between two places on a sphere, given in degrees, by the haversine formula."""
    north, other = math.radians(north_a), math.radians(north_b)
    across = math.sin(math.radians(east_b - east_a) / 2) ** 2 * math.cos(north) * math.cos(other)
    chord = math.sqrt(min(1.0, math.sin((other - north) / 2) ** 2 + across))
    return 2 * EARTH_RADIUS * math.asin(chord)


@njit(cache=True)
def _moved(rule: DistanceRule, memo: Array, k: int, i: int, p: int) -> float:
    """Return how far point `p` of row `i` is from that of the first row of frame `k`."""
    low, high = rule.begin[p], rule.begin[p + 1]
    if rule.on_sphere:
        return _great_circle(memo[k, low], memo[k, low + 1], rule.values[i, low], rule.values[i, low + 1])  # type: ignore[no-any-return]
    total = 0.0
    for j in range(low, high):
        # The distance between equal infinities is 0, but their difference would be NaN.
        if memo[k, j] != rule.values[i, j]:
            total = math.hypot(total, rule.values[i, j] - memo[k, j])
    return total


@njit(cache=True)
def _is_over(rule: DistanceRule, moved: float, p: int) -> bool:
    return moved > rule.limits[p] or (rule.inclusive and moved == rule.limits[p])


@judges(begins, DistanceRule)
def _begins(rule: Any, memo: Any, label: Any, k: int, i: int, continues: bool) -> bool:
    columns = rule.values.shape[1]
    for j in range(columns):
        memo[k, j] = rule.values[i, j]
    for p in range(rule.limits.size):
        memo[k, columns + p] = 0.0
    return True


@judges(joins, DistanceRule)
def _joins(rule: Any, memo: Any, label: Any, k: int, i: int, n: int) -> bool:
    fits = True
    for p in range(rule.limits.size):
        fits = fits and not _is_over(rule, _moved(rule, memo, k, i, p), p)
    return fits


@judges(adds, DistanceRule)
def _adds(rule: Any, memo: Any, label: Any, k: int, i: int) -> None:
    columns = rule.values.shape[1]
    for p in range(rule.limits.size):
        memo[k, columns + p] = max(memo[k, columns + p], _moved(rule, memo, k, i, p))


@judges(is_met, DistanceRule)
def _is_met(rule: Any, memo: Any, label: Any, k: int, i: int, n: int) -> bool:
    columns, met = rule.values.shape[1], False
    for p in range(rule.limits.size):
        met = met or _is_over(rule, memo[k, columns + p], p)
    return met


def starts_of(points: Sequence[Sequence[str]]) -> Array:
    """Return the first column of each point among the columns of all, and their number at the end."""
    return np.cumsum([0, *map(len, points)])
