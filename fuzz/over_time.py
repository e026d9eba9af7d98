"""Aggregates over time by their definition: a piecewise function, integrated piece by piece without rounding."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple


class Piece(NamedTuple):
    """A stretch of time, and the values at its two ends."""

    begin: Fraction
    end: Fraction
    x: Fraction
    y: Fraction


def over_time(
    name: str,
    rows: Sequence[tuple[Any, Any]],
    start: Any,
    end: Any,
    *,
    method: str = "previous",
    max_hold: Any = None,
    before: tuple[Any, Any] | None = None,
    unit: int = 1,
) -> float | None:
    """Return an aggregate of rows `(on, value)` in order, over the extent from `start` to `end`.

    `before` is the row whose value is carried in, and `unit` the number of steps of `on` in the unit of results.
    """
    last_of: dict[Any, Any] = {}
    for on, value in rows:
        if value is not None:
            last_of[on] = value
    points = sorted(last_of.items())
    if not points and before is None:
        return None
    pieces = _linear(points, max_hold) if method == "linear" else _held(points, before, start, end, max_hold)
    time = sum((piece.end - piece.begin for piece in pieces), Fraction(0)) / unit
    area = sum(((piece.x + piece.y) / 2 * (piece.end - piece.begin) for piece in pieces), Fraction(0)) / unit
    if name == "time_mean":
        return float(area / time) if time else None
    return float(time if name == "duration" else area)


def _linear(points: list[tuple[Any, Any]], max_hold: Any) -> list[Piece]:
    pieces = []
    for (a, x), (b, y) in pairwise(points):
        if max_hold is None or Fraction(b) - Fraction(a) <= Fraction(max_hold):
            pieces.append(Piece(Fraction(a), Fraction(b), Fraction(x), Fraction(y)))
    return pieces


def _held(points: list[tuple[Any, Any]], before: Any, start: Any, end: Any, max_hold: Any) -> list[Piece]:
    if before is not None and (not points or before[0] < points[0][0]):
        points = [before, *points]
    ends = [on for on, _ in points[1:]] + [end]
    pieces = []
    for (on, x), until in zip(points, ends, strict=True):
        stop = Fraction(until)
        if max_hold is not None:
            stop = min(stop, Fraction(on) + Fraction(max_hold))
        begin = max(Fraction(on), Fraction(start))
        if stop > begin:
            pieces.append(Piece(begin, stop, Fraction(x), Fraction(x)))
    return pieces
