"""The contract of an aggregate, for each built-in one and for a user's own."""

from __future__ import annotations

import copy
import datetime as dt
import math
import pickle
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import FrozenInstanceError
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from streams import FEWER, Span
from windrow import aggregates
from windrow.aggregates import BUILTIN, AggregateFunction
from windrow.aggregates.keeper import Keeper
from windrow.errors import TypeMismatchError

REFERENCE: dict[type[AggregateFunction], Callable[[Sequence[Any]], Any]] = {
    wr.count: len,
    wr.first: lambda values: values[0],
    wr.last: lambda values: values[-1],
    wr.max: max,
    wr.mean: statistics.fmean,
    wr.min: min,
    wr.stddev: statistics.stdev,
    wr.sum: sum,
    wr.variance: statistics.variance,
    Span: lambda values: max(values) - min(values),
}
"""What each is in plain Python; variance and stddev of the sample."""

KINDS = [*BUILTIN, Span]
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)

WHOLE = st.integers(-1000, 1000)
NUMBERS = WHOLE | WHOLE.map(float)
COLUMNS = st.lists(WHOLE, max_size=12) | st.lists(WHOLE.map(float), max_size=12)
"""Columns of integers, and columns of floats without rounding in their sums."""


def state_of(kind: type[AggregateFunction], values: Sequence[float], *, integral: bool = False) -> tuple[float, ...]:
    """The state of some values by the aggregate's own functions, uncompiled."""
    state = kind("v").zero_state(integral)
    for value in values:
        state = kind.add(state, value)
    return state


def result_of(kind: type[AggregateFunction], values: Sequence[float]) -> float | None:
    return kind.finish(state_of(kind, values)) if len(values) >= kind.needs else None


def is_close(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) or (math.isnan(a) and math.isnan(b))


def test_every_aggregate_has_a_reference() -> None:
    assert set(REFERENCE) == set(KINDS)


def test_every_aggregate_of_the_package_is_listed() -> None:
    def below(kind: type) -> Iterator[type]:
        for sub in kind.__subclasses__():
            yield sub
            yield from below(sub)

    found = {kind for kind in below(AggregateFunction) if kind.builtin and kind.__module__.startswith("windrow.")}
    assert found == set(BUILTIN)
    assert all(getattr(aggregates, kind.__name__.lower()) is kind for kind in BUILTIN)


# Values.


@each_kind
@FEWER
@given(column=COLUMNS, nulls=st.lists(st.integers(0, 12), max_size=3))
def test_the_result_is_that_of_plain_python_over_the_values_that_are_not_null(
    kind: type[AggregateFunction], column: list[float], nulls: list[int]
) -> None:
    wanted = REFERENCE[kind](column) if len(column) >= kind.needs else None
    with_nulls: list[float | None] = list(column)
    for at in nulls:
        with_nulls.insert(at, None)
    assert is_close(kind("v").compute(with_nulls), wanted)


@each_kind
@FEWER
@given(parts=st.lists(st.lists(NUMBERS, max_size=5), min_size=3, max_size=3))
def test_merge_is_associative_and_equal_to_adding_all(kind: type[AggregateFunction], parts: list[list[float]]) -> None:
    a, b, c = (state_of(kind, part) for part in parts)
    values = [value for part in parts for value in part]
    whole = state_of(kind, values)
    left, right = kind.merge(kind.merge(a, b), c), kind.merge(a, kind.merge(b, c))
    assert all(map(is_close, left, right))
    assert all(map(is_close, left, whole))


@each_kind
@FEWER
@given(parts=st.lists(st.lists(st.none() | WHOLE, max_size=5), min_size=1, max_size=4))
def test_compiled_merge_equals_adding_all(kind: type[AggregateFunction], parts: list[list[int | None]]) -> None:
    keeper = Keeper(kind("v"), pa.int64())
    states = keeper.empty(len(parts))
    values = [value for part in parts for value in part]
    owner = np.array([[k] for k, part in enumerate(parts) for _ in part], np.int64).reshape(-1, 1)
    keeper.accumulate(states, owner, keeper.read(pa.array(values, pa.int64())))
    keeper.merge(states, np.zeros(len(parts), np.int64), np.arange(1, len(parts)))
    present = [value for value in values if value is not None]
    assert states.seen[0] == len(present)
    assert is_close(keeper.finish(states)[0].as_py(), REFERENCE[kind](present) if len(present) >= kind.needs else None)


LARGE = st.sampled_from([1e200, -1e200, 5e307, 2.0**60])


@each_kind
@pytest.mark.parametrize("integral", [True, False], ids=["integers", "floats"])
@FEWER
@given(data=st.data())
def test_zero_is_neutral_for_merge(kind: type[AggregateFunction], integral: bool, data: st.DataObject) -> None:
    numbers = st.integers(-(2**40), 2**40) if integral else WHOLE.map(float) | LARGE | st.just(math.nan)
    state = state_of(kind, data.draw(st.lists(numbers, max_size=3)), integral=integral)
    zero = kind("v").zero_state(integral)
    for merged in (kind.merge(zero, state), kind.merge(state, zero)):
        assert all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in zip(merged, state, strict=True))


REMOVABLE = [kind for kind in KINDS if kind("v").invertible]


def test_what_can_be_removed_is_declared() -> None:
    assert set(REMOVABLE) == {wr.count, wr.mean, wr.sum}


@pytest.mark.parametrize("kind", REMOVABLE, ids=lambda kind: kind.__name__)
@given(values=st.lists(WHOLE, max_size=6), extra=st.integers(-(2**40), 2**40))
def test_remove_undoes_add(kind: type[AggregateFunction], values: list[int], extra: int) -> None:
    for integral in (True, False):
        state = state_of(kind, values, integral=integral)
        assert kind.remove is not None
        assert kind.remove(kind.add(state, extra), extra) == state


# Types.


@pytest.mark.parametrize("kind", [wr.first, wr.last, wr.max, wr.min, wr.sum], ids=lambda kind: kind.__name__)
def test_integers_past_the_precision_of_floats_stay_exact(kind: type[AggregateFunction]) -> None:
    values = [2**53 + 1, 2**60 + 1, 3, -(2**62) - 1, 2**53 + 3]
    assert kind("v").compute(values) == REFERENCE[kind](values)


@pytest.mark.parametrize("kind", [wr.first, wr.last, wr.max, wr.min], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(
    ("type_", "values"),
    [
        (pa.timestamp("us"), [dt.datetime(2024, 2, 29, 1), dt.datetime(1969, 1, 1), dt.datetime(2030, 1, 1)]),
        (pa.timestamp("ms"), [dt.datetime(2024, 2, 29, 1), dt.datetime(1969, 1, 1), dt.datetime(2030, 1, 1)]),
        (pa.timestamp("us", "UTC"), [dt.datetime(2024, 2, 29, tzinfo=dt.UTC), dt.datetime(1969, 1, 1, tzinfo=dt.UTC)]),
        (pa.date32(), [dt.date(2024, 2, 29), dt.date(1960, 1, 1), dt.date(2030, 1, 1)]),
        (pa.int8(), [3, -128, 127]),
        (pa.int32(), [3, -5, 9]),
        (pa.float32(), [0.5, -0.25, 8.0]),
    ],
    ids=str,
)
def test_a_chosen_value_keeps_the_type_of_its_column(
    kind: type[AggregateFunction], type_: pa.DataType, values: list[Any]
) -> None:
    keeper = Keeper(kind("v"), type_)
    states = keeper.empty(2)
    keeper.accumulate(states, np.zeros((len(values) + 1, 1), np.int64), keeper.read(pa.array([None, *values], type_)))
    result = keeper.finish(states)
    assert result.type == type_
    assert result.to_pylist() == [REFERENCE[kind](values), None]


@pytest.mark.parametrize(
    ("kind", "column", "result"),
    [
        (wr.count, pa.timestamp("us"), pa.int64()),
        (wr.count, pa.float32(), pa.int64()),
        (wr.sum, pa.int8(), pa.int64()),
        (wr.sum, pa.float32(), pa.float64()),
        (wr.sum, pa.decimal128(10, 2), pa.float64()),
        (wr.max, pa.decimal128(10, 2), pa.float64()),
        (wr.first, pa.decimal128(10, 2), pa.float64()),
        (wr.mean, pa.int64(), pa.float64()),
        (wr.variance, pa.int64(), pa.float64()),
        (Span, pa.int64(), pa.float64()),
    ],
)
def test_the_type_of_the_result(kind: type[AggregateFunction], column: pa.DataType, result: pa.DataType) -> None:
    keeper = Keeper(kind("v"), column)
    assert keeper.finish(keeper.empty(1)).type == result


def test_decimals_are_aggregated_as_floats() -> None:
    values = [Decimal("1.25"), Decimal("-0.50"), None]
    assert wr.sum("v").compute(values) == 0.75
    assert wr.min("v").compute(values) == -0.5


@pytest.mark.parametrize(
    "type_", [pa.string(), pa.bool_(), pa.binary(), pa.list_(pa.int64()), pa.time64("us")], ids=str
)
@each_kind
def test_a_column_that_is_no_number_is_refused(kind: type[AggregateFunction], type_: pa.DataType) -> None:
    with pytest.raises(TypeMismatchError, match=rf"{kind.__name__.lower()}\('v'\): column 'v' is of type"):
        Keeper(kind("v"), type_)


@pytest.mark.parametrize("type_", [pa.timestamp("us"), pa.date32()], ids=str)
@pytest.mark.parametrize("kind", [wr.mean, wr.stddev, wr.sum, wr.variance, Span], ids=lambda kind: kind.__name__)
def test_instants_cannot_be_added_up(kind: type[AggregateFunction], type_: pa.DataType) -> None:
    with pytest.raises(TypeMismatchError, match=r"must be a number$"):
        Keeper(kind("v"), type_)


def test_counting_tuples_needs_no_column() -> None:
    assert wr.count().columns == ()
    assert wr.count("v").columns == ("v",)
    keeper = Keeper(wr.count(), pa.int64())
    states = keeper.empty(1)
    keeper.accumulate(states, np.zeros((3, 1), np.int64), keeper.read(pa.array([0, 0, 0])))
    assert keeper.finish(states).to_pylist() == [3]


# NaN is greater than any other value, as in Spark.


@given(values=st.lists(WHOLE.map(float) | st.sampled_from([math.nan, math.inf, -math.inf]), min_size=1, max_size=6))
def test_nan_is_the_greatest_value(values: list[float]) -> None:
    def rank(value: float) -> tuple[bool, float]:
        return (math.isnan(value), value)

    assert is_close(wr.max("v").compute(values), max(values, key=rank))
    assert is_close(wr.min("v").compute(values), min(values, key=rank))


@given(values=st.lists(WHOLE.map(float) | st.just(math.nan), max_size=6), at=st.integers(0, 6))
def test_extremes_of_nan_merge_as_they_add(values: list[float], at: int) -> None:
    for kind in (wr.max, wr.min):
        merged = kind.merge(state_of(kind, values[:at]), state_of(kind, values[at:]))
        assert all(map(is_close, merged, state_of(kind, values)))


# Declared properties.


@each_kind
@FEWER
@given(values=st.lists(WHOLE.map(float), max_size=6), extra=WHOLE.map(float), at=st.integers(0, 6))
def test_one_more_value_anywhere_never_lowers_a_monotonic_result(
    kind: type[AggregateFunction], values: list[float], extra: float, at: int
) -> None:
    if kind.monotonic == "non-negative":
        values, extra = [abs(value) for value in values], abs(extra)
    before, after = result_of(kind, values), result_of(kind, [*values[:at], extra, *values[at:]])
    if kind.monotonic != "never" and before is not None:
        assert after is not None
        assert after >= before


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        (wr.first, [2], [1, 2]),
        (wr.last, [2, 1], [2, 1, 0]),
        (wr.mean, [2], [2, 1]),
        (wr.min, [2], [2, 1]),
        (wr.stddev, [0, 4], [0, 4, 2]),
        (wr.variance, [0, 4], [0, 4, 2]),
    ],
)
def test_what_is_not_declared_monotonic_can_fall(
    kind: type[AggregateFunction], before: list[float], after: list[float]
) -> None:
    assert kind.monotonic == "never"
    assert result_of(kind, after) < result_of(kind, before)  # type: ignore[operator]


def test_a_sum_falls_only_with_a_negative_value() -> None:
    assert wr.sum.monotonic == "non-negative"
    assert result_of(wr.sum, [1, -1]) < result_of(wr.sum, [1])  # type: ignore[operator]


@each_kind
@FEWER
@given(data=st.data(), values=st.lists(WHOLE.map(float), max_size=6))
def test_order_matters_only_where_declared(
    kind: type[AggregateFunction], data: st.DataObject, values: list[float]
) -> None:
    shuffled = data.draw(st.permutations(values))
    if kind.order_sensitive:
        assert result_of(kind, [1.0, 2.0]) != result_of(kind, [2.0, 1.0])
    else:
        assert is_close(result_of(kind, shuffled), result_of(kind, values))


@each_kind
@FEWER
@given(values=st.lists(WHOLE.map(float), min_size=1, max_size=6))
def test_a_repeated_value_counts_twice_only_where_declared(kind: type[AggregateFunction], values: list[float]) -> None:
    if kind.duplicate_sensitive:
        assert any(result_of(kind, [*some, some[-1]]) != result_of(kind, some) for some in ([1.0, 2.0], [1.0]))
    else:
        assert result_of(kind, [*values, values[-1]]) == result_of(kind, values)


@each_kind
def test_too_few_values_give_null(kind: type[AggregateFunction]) -> None:
    values = [1.0, 2.0, 3.0]
    assert kind("v").compute(values[: kind.needs]) is not None
    if kind.needs:
        assert kind("v").compute(values[: kind.needs - 1]) is None
        assert kind("v").compute([None, *values[: kind.needs - 1], None]) is None


# A spec is a value.


@each_kind
def test_an_aggregate_is_a_value(kind: type[AggregateFunction]) -> None:
    aggregate = kind("v")
    assert eval(repr(aggregate), {**vars(wr), "span": Span}) == aggregate
    for twin in (copy.deepcopy(aggregate), pickle.loads(pickle.dumps(aggregate))):
        assert twin == aggregate
        assert hash(twin) == hash(aggregate)
    assert kind("v") != kind("w")
    with pytest.raises(FrozenInstanceError):
        aggregate.column = "w"  # type: ignore[misc]


def test_aggregates_of_different_kinds_differ() -> None:
    assert len({kind("v") for kind in KINDS}) == len(KINDS)


@pytest.mark.parametrize("values", [[2**63 - 1, 1], [-(2**63), -1], [2**62, 2**62, -5]])
def test_a_sum_past_64_bits_is_an_error_and_never_a_wrong_number(values):
    with pytest.raises(wr.DataError, match=r"sum\('v'\) is past 64 bits"):
        wr.sum("v").compute(values)


def test_sums_at_the_edge_of_64_bits_are_exact():
    assert wr.sum("v").compute([2**63 - 1, -1, 1]) == 2**63 - 1
    assert wr.sum("v").compute([-(2**63), 1, -1]) == -(2**63)
    assert wr.sum("v").compute([float("inf"), -1.0]) == float("inf")
