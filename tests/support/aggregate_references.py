"""Aggregates by independent references."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import strategies as st

import windrow as wr
from streams import Span
from windrow.aggregates import BUILTIN, AggregateFunction
from windrow.testing import example_aggregate


def central_moment(values: Sequence[float], power: int) -> Fraction:
    """The mean of the distances from the mean to a power, without rounding."""
    mean = sum(map(Fraction, values)) / len(values)
    return sum((Fraction(value) - mean) ** power for value in values) / len(values)


def co_moment(x: Sequence[float], y: Sequence[float]) -> Fraction:
    mean_x, mean_y = (sum(map(Fraction, values)) / len(values) for values in (x, y))
    return sum((Fraction(a) - mean_x) * (Fraction(b) - mean_y) for a, b in zip(x, y, strict=True)) / len(x)


def ratio(a: Fraction, b: Fraction) -> float:
    return float(a / b) if b else math.nan


def standardised(values: Sequence[float], power: int) -> float:
    spread = central_moment(values, 2)
    return float(central_moment(values, power)) / float(spread) ** (power / 2) if spread else math.nan


def ranked(values: Sequence[float], q: float) -> float:
    return sorted(values)[max(1, math.ceil(q * len(values))) - 1]


def frequent(values: Sequence[float]) -> list[dict[str, float]]:
    """All values with their counts, the most frequent and then the smallest first."""
    counts = sorted(Counter(values).items(), key=lambda item: (-item[1], item[0]))
    return [{"value": value, "count": count} for value, count in counts]


def cells(values: Sequence[float], edges: Sequence[float]) -> list[int]:
    below = [-math.inf, *edges]
    above = [*edges, math.inf]
    return [sum(a < value <= b for value in values) for a, b in zip(below, above, strict=True)]


REFERENCE: dict[type[AggregateFunction], Callable[..., Any]] = {
    wr.center_of_mass: lambda x, w: ratio(sum(Fraction(a) * Fraction(b) for a, b in zip(x, w, strict=True)), sum(w)),
    wr.correlation: lambda x, y: (
        float(co_moment(x, y)) / math.sqrt(central_moment(x, 2) * central_moment(y, 2))
        if central_moment(x, 2) * central_moment(y, 2)
        else math.nan
    ),
    wr.count: len,
    wr.count_distinct: lambda values: len(set(values)),
    wr.covariance: lambda x, y: float(co_moment(x, y) * len(x) / (len(x) - 1)),
    wr.first: lambda values: values[0],
    wr.heavy_hitters: lambda values: [item for item in frequent(values) if item["count"] >= 0.3 * len(values)],
    wr.histogram: lambda values: cells(values, [-1, 2]),
    wr.intercept: lambda y, x: float(
        statistics.fmean(y) - ratio(co_moment(x, y), central_moment(x, 2)) * statistics.fmean(x)
    ),
    wr.kurtosis: lambda values: standardised(values, 4) - 3,
    wr.last: lambda values: values[-1],
    wr.max: max,
    wr.max_n: lambda values: sorted(values, reverse=True)[:2],
    wr.mean: statistics.fmean,
    wr.median: statistics.median_low,
    wr.min: min,
    wr.min_n: lambda values: sorted(values)[:2],
    wr.mode: lambda values: frequent(values)[0]["value"],
    wr.quantile: lambda values: ranked(values, 0.3),
    wr.rank: lambda values: sum(value <= 1 for value in values),
    wr.skewness: lambda values: standardised(values, 3),
    wr.slope: lambda y, x: ratio(co_moment(x, y), central_moment(x, 2)),
    wr.stddev: statistics.stdev,
    wr.sum: sum,
    wr.top_k: lambda values: frequent(values)[:2],
    wr.variance: statistics.variance,
    Span: lambda values: max(values) - min(values),
}
"""What each is in plain Python, with the options of its example; variance, stddev, covariance of the sample.

An aggregate that is not listed here is compared with the `definition` of its class.
"""


KINDS = [*BUILTIN, Span]


ALGEBRAS = [kind for kind in KINDS if kind.form == "numbers"]
"""Those that are four functions over tuples of numbers."""


each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


each_algebra = pytest.mark.parametrize("kind", ALGEBRAS, ids=lambda kind: kind.__name__)


WHOLE = st.integers(-1000, 1000)


NUMBERS = WHOLE | st.integers(-2, 2)


Rows = list[tuple[float, ...]]


def of(kind: type[AggregateFunction], column: str = "v") -> AggregateFunction:
    """An aggregate of a kind over `v`, and over `w` if it reads two columns."""
    return example_aggregate(kind, column, "w")


def rows_of(kind: type[AggregateFunction], numbers: Any = NUMBERS, **size: int) -> st.SearchStrategy[Rows]:
    """Rows of as many numbers as a kind reads columns."""
    return st.lists(st.tuples(*[numbers] * kind.reads), **({"max_size": 12} | size))


def columns_of(kind: type[AggregateFunction], rows: Sequence[Sequence[float]]) -> list[list[float]]:
    return [[row[i] for row in rows] for i in range(kind.reads)]


def wanted(kind: type[AggregateFunction], rows: Sequence[tuple[float, ...]]) -> Any:
    reference = REFERENCE.get(kind, of(kind).definition)
    return reference(*columns_of(kind, rows)) if len(rows) >= kind.needs else None


def state_of(kind: type[AggregateFunction], rows: Rows, *, integral: bool = False) -> tuple[float, ...]:
    """The state of some rows by the aggregate's own functions, uncompiled."""
    aggregate = of(kind)
    state, options = aggregate.zero_state(integral), aggregate.last_arguments(integral)
    for row in rows:
        state = kind.add(state, *row, *options)
    return state


def merged(kind: type[AggregateFunction], a: Any, b: Any) -> tuple[float, ...]:
    return kind.merge(a, b, *of(kind).last_arguments(integral=False))


def result_of(kind: type[AggregateFunction], rows: Rows) -> Any:
    return of(kind).compute(*columns_of(kind, rows)) if rows else None


def is_close(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(is_close, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(is_close(a[name], b[name]) for name in a)
    if a is None or b is None:
        return a is b
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) or (math.isnan(a) and math.isnan(b))


LARGE = st.sampled_from([1e200, -1e200, 5e307, 2.0**60])


REMOVABLE = [kind for kind in KINDS if of(kind).invertible]


CHOOSING = [wr.first, wr.last, wr.max, wr.median, wr.min, wr.mode, wr.quantile]
"""Those that give one of the values."""


EDGES = [2**63 - 1, -(2**63), 2**62, -(2**62), 5, -10, 0]
