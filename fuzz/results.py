"""The aggregates in plain Python, from their definitions, and how close a result must be."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import windrow as wr
from fuzz.tables import is_nan, spark_key

LARGEST = 2**63 - 1
ANYTHING = object()
"""A result that depends on rounding alone; it is not compared."""


@dataclass(frozen=True)
class Near:
    """A result, and how much a correct one may differ from it."""

    value: Any
    within: float = 0.0


class Overflow(Exception):
    """A sum of integers that exceeds 64 bits: the query must fail."""


def _whole(values: Sequence[Any]) -> bool:
    return all(isinstance(value, int) for value in values)


def _finite(values: Sequence[float]) -> bool:
    return all(math.isfinite(value) for value in values)


def _sum(values: Sequence[Any]) -> Any:
    if _whole(values):
        total = sum(values)
        if not -LARGEST - 1 <= total <= LARGEST:
            raise Overflow
        return Near(total)
    return _float_sum(values)


def _float_sum(values: Sequence[float]) -> Any:
    if not _finite(values):
        infinite = {value for value in values if math.isinf(value)}
        if any(map(math.isnan, values)) or len(infinite) > 1:
            return Near(math.nan)
        if sum(abs(v) for v in values if math.isfinite(v)) > 1.7e308:
            return ANYTHING
        return Near(infinite.pop())
    size = sum(Fraction(abs(value)) for value in values)
    if size > Fraction(1.7e308):
        return ANYTHING
    exact = size < 2**53 and all(value == int(value) for value in values)
    return Near(float(sum(map(Fraction, values))), 0.0 if exact else 1e-12 * float(size) * max(1, len(values) / 100))


def _mean(values: Sequence[Any]) -> Any:
    floats = [float(value) for value in values]
    total = _float_sum(floats)
    if total is ANYTHING:
        return ANYTHING
    rounding = 1e-15 * abs(total.value) + total.within / len(values) if total.within else 0.0
    return Near(total.value / len(values), rounding)


def _variance(values: Sequence[Any]) -> Any:
    floats = [float(value) for value in values]
    if len(floats) < 2:
        return Near(None)
    if not _finite(floats):
        return Near(math.nan)
    exact = [Fraction(value) for value in floats]
    mean = sum(exact) / len(exact)
    largest = max(abs(value) for value in floats)
    if largest > 1e150:
        return ANYTHING
    spread = sum((value - mean) ** 2 for value in exact) / (len(exact) - 1)
    return Near(float(spread), 1e-12 * len(floats) * float(largest**2) + 1e-9 * float(spread) + 1e-300)


def _stddev(values: Sequence[Any]) -> Any:
    variance = _variance(values)
    if variance is ANYTHING or variance.value is None or is_nan(variance.value):
        return variance
    return Near(math.sqrt(variance.value), math.sqrt(variance.within) + 1e-9 * math.sqrt(variance.value))


def ranked(values: Sequence[Any], q: float) -> Any:
    """Return the value of rank `q * n`, rounded up."""
    return sorted(values, key=spark_key)[max(1, min(len(values), math.ceil(q * len(values)))) - 1]


def counted(values: Sequence[Any]) -> list[dict[str, Any]]:
    """Return all values with their counts, the most frequent first, then the smallest."""
    counts = Counter("NaN" if is_nan(value) else value + 0 for value in values)
    items = [(math.nan if value == "NaN" else value, count) for value, count in counts.items()]
    return [{"value": v, "count": c} for v, c in sorted(items, key=lambda item: (-item[1], spark_key(item[0])))]


Reference = Callable[[Sequence[Any]], Any]
"""Takes the non-null values, at least one; a plain value as the result is exact."""

PALETTE: dict[str, tuple[Callable[[str], Any], Reference]] = {
    "sum": (wr.sum, _sum),
    "mean": (wr.mean, _mean),
    "min": (wr.min, lambda values: min(values, key=spark_key)),
    "max": (wr.max, lambda values: max(values, key=spark_key)),
    "first": (wr.first, lambda values: values[0]),
    "last": (wr.last, lambda values: values[-1]),
    "variance": (wr.variance, _variance),
    "stddev": (wr.stddev, _stddev),
    "median": (wr.median, lambda values: ranked(values, 0.5)),
    "quantile": (lambda c: wr.quantile(c, 0.9), lambda values: ranked(values, 0.9)),
    "highest": (lambda c: wr.quantile(c, 1.0), lambda values: ranked(values, 1.0)),
    "distinct": (wr.count_distinct, lambda values: len(counted(values))),
    "mode": (wr.mode, lambda values: counted(values)[0]["value"]),
    "top": (lambda c: wr.top_k(c, 2), lambda values: counted(values)[:2]),
    "heavy": (
        lambda c: wr.heavy_hitters(c, 0.3),
        lambda values: [item for item in counted(values) if item["count"] >= 0.3 * len(values)],
    ),
    "least": (lambda c: wr.min_n(c, 2), lambda values: sorted(values, key=spark_key)[:2]),
    "most": (lambda c: wr.max_n(c, 2), lambda values: sorted(values, key=spark_key, reverse=True)[:2]),
    "rank": (lambda c: wr.rank(c, 1), lambda values: sum(not is_nan(value) and value <= 1 for value in values)),
}
"""Aggregates of one column by name, with their definitions; few, because each takes seconds to compile."""


def aggregate(name: str) -> Any:
    """Return the aggregate for a text such as "sum v"; "count" alone counts rows."""
    what, _, column = name.partition(" ")
    if what == "count":
        return wr.count(column) if column else wr.count()
    return PALETTE[what][0](column)


def by_definition(name: str, rows: Sequence[dict[str, Any]]) -> Any:
    """Return the result over ordered rows: a plain value, `Known`, or `ANYTHING`."""
    what, _, column = name.partition(" ")
    if what == "count":
        return sum(row[column] is not None for row in rows) if column else len(rows)
    values = [row[column] for row in rows if row[column] is not None]
    if what in ("distinct", "rank") and not values:
        return 0
    return PALETTE[what][1](values) if values else None


def agrees(actual: Any, expected: Any) -> bool:
    """Return whether a result equals the definition's, within rounding."""
    if expected is ANYTHING:
        return True
    within = 0.0
    if isinstance(expected, Near):
        expected, within = expected.value, expected.within
    if isinstance(expected, list) and isinstance(actual, list):
        return len(actual) == len(expected) and all(map(agrees, actual, expected))
    if isinstance(expected, dict) and isinstance(actual, dict):
        return actual.keys() == expected.keys() and all(agrees(actual[key], expected[key]) for key in expected)
    if expected is None or actual is None:
        return actual is expected
    if is_nan(expected) or is_nan(actual):
        return is_nan(expected) and is_nan(actual)
    return bool(actual == expected) or (within > 0 and math.isfinite(actual) and abs(actual - expected) <= within)
