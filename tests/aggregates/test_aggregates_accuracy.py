"""Moments keep their digits where values lie far from zero, however they are cut into parts and merged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from aggregate_references import REFERENCE, central_moment, co_moment
from streams import FEWER
from windrow.aggregates.engine.accumulator import Accumulator

MOMENTS = [wr.variance, wr.stddev, wr.skewness, wr.kurtosis]
EIGHTHS = st.integers(-80, 80).map(lambda n: n / 8)
"""Numbers that can be moved far away without rounding."""


def merged_in_a_tree(aggregate: wr.AggregateFunction, columns: Sequence[np.ndarray], parts: int) -> Any:
    """The result of parts of the rows, merged two by two, as many tasks would."""
    accumulator = Accumulator(aggregate, *[pa.float64()] * len(columns))
    n = columns[0].size
    states = accumulator.empty(parts)
    slots = (np.arange(n) * parts // max(1, n)).reshape(-1, 1)
    accumulator.accumulate(states, slots, accumulator.read(*map(pa.array, columns)))
    step = 1
    while step < parts:
        right = np.arange(step, parts, 2 * step)
        into = np.arange(parts)
        into[right] = right - step
        accumulator.merge(states, into, right)
        step *= 2
    return accumulator.finish(states)[0].as_py()


@pytest.mark.parametrize("kind", MOMENTS, ids=lambda kind: kind.__name__)
@FEWER
@given(
    values=st.lists(EIGHTHS, min_size=2, max_size=40).filter(lambda values: len(set(values)) > 1),
    offset=st.sampled_from([0.0, 1e3, -1e6, 1e9]),
    parts=st.integers(1, 9),
)
def test_moments_of_values_far_from_zero(kind: Any, values: list[float], offset: float, parts: int) -> None:
    wanted = REFERENCE[kind](values)
    moved = np.array(values) + offset
    found = merged_in_a_tree(kind("x"), [moved], parts)
    spread = math.sqrt(central_moment(values, 2))
    # Rounding a mean costs as many digits as the offset is larger than the spread; powers cost a few more.
    tolerance = 64 * len(values) * np.finfo(float).eps * (1 + (abs(offset) + 10) / spread)
    assert found == pytest.approx(wanted, rel=tolerance, abs=tolerance * len(values))


@pytest.mark.parametrize("kind", [wr.covariance, wr.correlation, wr.slope], ids=lambda kind: kind.__name__)
@FEWER
@given(
    rows=st.lists(st.tuples(EIGHTHS, EIGHTHS), min_size=2, max_size=40).filter(
        lambda rows: all(len({row[i] for row in rows}) > 1 for i in (0, 1))
    ),
    offset=st.sampled_from([0.0, 1e3, -1e6, 1e9]),
    parts=st.integers(1, 9),
)
def test_two_columns_far_from_zero(kind: Any, rows: list[tuple[float, float]], offset: float, parts: int) -> None:
    x, y = ([row[i] for row in rows] for i in (0, 1))
    found = merged_in_a_tree(kind("x", "y"), [np.array(x) + offset, np.array(y) - offset], parts)
    spread = math.sqrt(min(central_moment(x, 2), central_moment(y, 2)))
    scale = max(1.0, float(central_moment(x, 2)), float(central_moment(y, 2))) / min(1.0, spread**2)
    tolerance = 64 * len(rows) * np.finfo(float).eps * (1 + (abs(offset) + 10) / spread)
    assert found == pytest.approx(REFERENCE[kind](x, y), rel=tolerance, abs=tolerance * scale)


def test_sums_of_squares_would_lose_every_digit() -> None:
    """What the recurrences are for: the textbook formula gives no digit here, they give eight."""
    values = np.random.default_rng(3).normal(size=10_000) + 1e9
    wanted = float(central_moment(values.tolist(), 2) * 10_000 / 9_999)
    textbook = ((values**2).sum() - values.sum() ** 2 / values.size) / (values.size - 1)
    assert abs(textbook / wanted - 1) > 0.1
    for parts in (1, 7, 1_000, 10_000):
        assert merged_in_a_tree(wr.variance("x"), [values], parts) == pytest.approx(wanted, rel=1e-7)


def test_one_value_merged_with_many() -> None:
    rng = np.random.default_rng(4)
    values = np.append(rng.normal(size=5_000), 1e3)
    exact = {power: central_moment(values.tolist(), power) for power in (2, 3, 4)}
    wanted = {
        wr.skewness: float(exact[3]) / float(exact[2]) ** 1.5,
        wr.kurtosis: float(exact[4] / exact[2] ** 2) - 3,
    }
    accumulators = {kind: Accumulator(kind("x"), pa.float64()) for kind in wanted}
    for kind, accumulator in accumulators.items():
        states = accumulator.empty(2)
        slots = (np.arange(values.size) == values.size - 1).astype(np.int64).reshape(-1, 1)
        accumulator.accumulate(states, slots, accumulator.read(pa.array(values)))
        for into in (0, 1):
            both = states.take(np.array([0, 1]))
            accumulator.merge(both, np.full(2, into), np.array([1 - into]))
            assert accumulator.finish(both)[into].as_py() == pytest.approx(wanted[kind], rel=1e-12)


def test_the_line_through_points_on_a_line() -> None:
    x = np.arange(1_000) / 8 + 1e6
    y = 3.0 * x - 5.0
    assert merged_in_a_tree(wr.slope("y", "x"), [y, x], 10) == pytest.approx(3.0, rel=1e-12)
    assert merged_in_a_tree(wr.intercept("y", "x"), [y, x], 10) == pytest.approx(-5.0, abs=1e-5)
    assert merged_in_a_tree(wr.correlation("y", "x"), [y, x], 10) == pytest.approx(1.0, rel=1e-12)
    assert merged_in_a_tree(wr.correlation("y", "x"), [-y, x], 10) >= -1.0


def test_correlations_of_the_largest_and_smallest_numbers() -> None:
    for scale in (1e150, 1e-150):
        x, y = np.array([1.0, 2.0, 4.0]) * scale, np.array([2.0, 1.0, 3.0]) * scale
        plain = co_moment([1, 2, 4], [2, 1, 3]) / Fraction(1)
        wanted = float(plain) / math.sqrt(central_moment([1, 2, 4], 2) * central_moment([2, 1, 3], 2))
        assert merged_in_a_tree(wr.correlation("x", "y"), [x, y], 1) == pytest.approx(wanted, rel=1e-9)


# NaN and both zeros.


def test_nan_is_one_value_and_the_greatest() -> None:
    values = [math.nan, 1.0, math.nan, -1.0, 1.0, math.nan]
    assert wr.count_distinct("x").compute(values) == 3
    assert wr.median("x").compute(values) == 1.0
    assert math.isnan(wr.quantile("x", 1).compute(values))
    assert math.isnan(wr.mode("x").compute(values))
    assert [item["count"] for item in wr.top_k("x", 9).compute(values)] == [3, 2, 1]
    assert str(wr.max_n("x", 4).compute(values)) == "[nan, nan, nan, 1.0]"
    assert wr.min_n("x", 3).compute(values) == [-1.0, 1.0, 1.0]
    assert wr.histogram("x", [0, 9]).compute(values) == [1, 2, 3]
    assert wr.rank("x", 5).compute(values) == 3


@given(values=st.lists(st.sampled_from([0.0, -0.0, math.nan, 1.0, -1.0]), min_size=1, max_size=30))
def test_both_zeros_are_one_value_in_any_order(values: list[float]) -> None:
    assert wr.count_distinct("x").compute(values) == len({str(v + 0.0) for v in values})
    most = wr.mode("x").compute(values)
    assert not (most == 0 and math.copysign(1, most) < 0)


@pytest.mark.parametrize("q", [0, 0.001, 0.25, 0.5, 0.999, 1])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 1000])
def test_a_quantile_has_the_rank_of_its_definition(q: float, n: int) -> None:
    values = np.random.default_rng(n).permutation(n)
    assert wr.quantile("x", q).compute(values) == max(1, math.ceil(q * n)) - 1
