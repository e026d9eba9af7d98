"""The contract of an aggregate, for each built-in one and for a user's own."""

from __future__ import annotations

import copy
import datetime as dt
import itertools
import math
import pickle
from collections.abc import Iterator
from dataclasses import FrozenInstanceError
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from aggregate_references import (
    CHOOSING,
    EDGES,
    KINDS,
    LARGE,
    NUMBERS,
    REFERENCE,
    REMOVABLE,
    WHOLE,
    columns_of,
    each_algebra,
    each_kind,
    is_close,
    merged,
    of,
    result_of,
    rows_of,
    state_of,
    wanted,
)
from streams import FEWER, Span
from windrow import aggregates
from windrow.aggregates import BUILTIN, TIMED, AggregateFunction
from windrow.aggregates.base import name_of
from windrow.aggregates.engine.accumulator import Accumulator
from windrow.aggregates.over_time.base import OverTime
from windrow.errors import TypeMismatchError


def test_every_aggregate_has_a_reference_or_a_definition() -> None:
    assert set(REFERENCE) <= set(KINDS)
    defined = {kind for kind in KINDS if kind.definition is not AggregateFunction.definition}
    assert set(KINDS) - set(REFERENCE) <= defined


def test_every_aggregate_of_the_package_is_listed() -> None:
    def below(kind: type) -> Iterator[type]:
        for sub in kind.__subclasses__():
            yield sub
            yield from below(sub)

    found = {kind for kind in below(AggregateFunction) if kind.builtin and kind.__module__.startswith("windrow.")}
    assert found - {OverTime} == {*BUILTIN, *TIMED}
    assert all(getattr(aggregates, name_of(kind)) is kind for kind in (*BUILTIN, *TIMED))


# Values.


@each_kind
@pytest.mark.parametrize("type_", [pa.int64(), pa.float64()], ids=str)
@FEWER
@given(data=st.data())
def test_the_result_is_that_of_plain_python_over_the_rows_without_nulls(
    kind: type[AggregateFunction], type_: pa.DataType, data: st.DataObject
) -> None:
    rows = data.draw(rows_of(kind))
    with_nulls: list[Any] = list(rows)
    for at in data.draw(st.lists(st.integers(0, 12), max_size=3)):
        with_nulls.insert(at, data.draw(st.tuples(*[st.none() | WHOLE] * (kind.reads - 1), st.none())))
    columns = [pa.array(column, type_) for column in columns_of(kind, with_nulls)]
    assert is_close(of(kind).compute(*columns), wanted(kind, rows))


@each_algebra
@FEWER
@given(data=st.data())
def test_merge_is_associative_and_equal_to_adding_all(kind: type[AggregateFunction], data: st.DataObject) -> None:
    parts = [data.draw(rows_of(kind, NUMBERS | NUMBERS.map(float), max_size=5)) for _ in range(3)]
    a, b, c = (state_of(kind, part) for part in parts)
    whole = state_of(kind, [row for part in parts for row in part])
    left, right = merged(kind, merged(kind, a, b), c), merged(kind, a, merged(kind, b, c))
    # The sums of powers of distances are large where their differences are small.
    scale = max(map(abs, whole)) * 1e-12
    assert all(is_close(x, y) or abs(x - y) <= scale for x, y in zip(left, right, strict=True))
    assert all(is_close(x, y) or abs(x - y) <= scale for x, y in zip(left, whole, strict=True))


@each_kind
@FEWER
@given(data=st.data())
def test_compiled_merge_equals_adding_all(kind: type[AggregateFunction], data: st.DataObject) -> None:
    parts = data.draw(st.lists(rows_of(kind, st.none() | NUMBERS, max_size=5), min_size=1, max_size=4))
    accumulator = Accumulator(of(kind), *[pa.int64()] * kind.reads)
    states = accumulator.empty(len(parts))
    rows = [row for part in parts for row in part]
    owner = np.array([[k] for k, part in enumerate(parts) for _ in part], np.int64).reshape(-1, 1)
    columns = [pa.array(column, pa.int64()) for column in columns_of(kind, rows)]
    accumulator.accumulate(states, owner, accumulator.read(*columns))
    accumulator.merge(states, np.zeros(len(parts), np.int64), np.arange(1, len(parts)))
    present = [row for row in rows if None not in row]
    assert states.seen[0] == len(present)
    assert is_close(accumulator.finish(states)[0].as_py(), wanted(kind, present))


@each_algebra
@pytest.mark.parametrize("integral", [True, False], ids=["integers", "floats"])
@FEWER
@given(data=st.data())
def test_zero_is_neutral_for_merge(kind: type[AggregateFunction], integral: bool, data: st.DataObject) -> None:
    numbers = st.integers(-(2**40), 2**40) if integral else WHOLE.map(float) | LARGE | st.just(math.nan)
    state = state_of(kind, data.draw(rows_of(kind, numbers, max_size=3)), integral=integral)
    zero = of(kind).zero_state(integral)
    for both in (merged(kind, zero, state), merged(kind, state, zero)):
        assert all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in zip(both, state, strict=True))


def test_what_can_be_removed_is_declared() -> None:
    assert set(REMOVABLE) == {wr.center_of_mass, wr.count, wr.mean, wr.rank, wr.sum}


@pytest.mark.parametrize("kind", REMOVABLE, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_remove_undoes_add(kind: type[AggregateFunction], data: st.DataObject) -> None:
    rows = data.draw(rows_of(kind, WHOLE, max_size=6))
    extra = data.draw(st.tuples(*[st.integers(-(2**20), 2**20)] * kind.reads))
    for integral in (True, False):
        options = of(kind).last_arguments(integral)
        state = state_of(kind, rows, integral=integral)
        assert kind.remove is not None
        assert kind.remove(kind.add(state, *extra, *options), *extra, *options) == state


# Types.


@pytest.mark.parametrize("kind", [*CHOOSING, wr.sum, wr.max_n, wr.min_n, wr.top_k], ids=lambda kind: kind.__name__)
def test_integers_past_the_precision_of_floats_stay_exact(kind: type[AggregateFunction]) -> None:
    values = [2**53 + 1, 2**60 + 1, 3, -(2**62) - 1, 2**53 + 3, 2**53 + 1]
    assert of(kind).compute(values) == REFERENCE[kind](values)


@pytest.mark.parametrize("value", [2**53 + 1, 2**53 + 1.5, -(2**70), 2**70, math.inf, -math.inf])
def test_a_rank_among_large_integers_is_exact(value: float) -> None:
    values = [2**53, 2**53 + 1, 2**53 + 2, -(2**63)]
    assert wr.rank("v", value).compute(values) == sum(v <= value for v in values)


@pytest.mark.parametrize("kind", CHOOSING, ids=lambda kind: kind.__name__)
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
    accumulator = Accumulator(of(kind), type_)
    states = accumulator.empty(2)
    accumulator.accumulate(
        states, np.zeros((len(values) + 1, 1), np.int64), accumulator.read(pa.array([None, *values], type_))
    )
    result = accumulator.finish(states)
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
        (wr.max, pa.decimal128(10, 2), pa.decimal128(10, 2)),
        (wr.first, pa.decimal128(10, 2), pa.decimal128(10, 2)),
        (wr.count, pa.string(), pa.int64()),
        (wr.count_distinct, pa.string(), pa.int64()),
        (wr.last, pa.large_string(), pa.large_string()),
        (wr.mode, pa.binary(), pa.binary()),
        (wr.min, pa.bool_(), pa.bool_()),
        (wr.top_k, pa.string(), pa.list_(pa.struct([("value", pa.string()), ("count", pa.int64())]))),
        (wr.mean, pa.int64(), pa.float64()),
        (wr.variance, pa.int64(), pa.float64()),
        (Span, pa.int64(), pa.float64()),
        (wr.count_distinct, pa.date32(), pa.int64()),
        (wr.quantile, pa.decimal128(10, 2), pa.float64()),
        (wr.max_n, pa.float32(), pa.list_(pa.float32())),
        (wr.min_n, pa.date32(), pa.list_(pa.date32())),
        (wr.histogram, pa.float32(), pa.list_(pa.int64())),
        (wr.top_k, pa.timestamp("us"), pa.list_(pa.struct([("value", pa.timestamp("us")), ("count", pa.int64())]))),
        (wr.heavy_hitters, pa.int8(), pa.list_(pa.struct([("value", pa.int8()), ("count", pa.int64())]))),
    ],
)
def test_the_type_of_the_result(kind: type[AggregateFunction], column: pa.DataType, result: pa.DataType) -> None:
    accumulator = Accumulator(of(kind), column)
    assert accumulator.finish(accumulator.empty(1)).type == result


def test_decimals_are_added_as_floats_and_compared_as_they_are() -> None:
    values = [Decimal("1.25"), Decimal("-0.50"), None]
    assert wr.sum("v").compute(values) == 0.75
    close = [Decimal("9007199254740993.01"), Decimal("9007199254740993.02")]
    assert (wr.min("v").compute(close), wr.max("v").compute(close)) == tuple(close)


ORDERED = [pa.string(), pa.bool_(), pa.binary()]


@pytest.mark.parametrize("type_", [*ORDERED, pa.list_(pa.int64()), pa.time64("us")], ids=str)
@each_kind
def test_a_column_of_another_type_is_refused(kind: type[AggregateFunction], type_: pa.DataType) -> None:
    if kind.only_compares and type_ in ORDERED:
        assert Accumulator(of(kind), type_).result == of(kind).result_type(type_)
        return
    for at, name in enumerate(of(kind).columns):
        types = [pa.float64()] * kind.reads
        types[at] = type_
        with pytest.raises(TypeMismatchError, match=rf"{name_of(kind)}\('v'.*\): column '{name}' is of type"):
            Accumulator(of(kind), *types)


@pytest.mark.parametrize("type_", [pa.timestamp("us"), pa.date32()], ids=str)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.accepts_instants], ids=lambda kind: kind.__name__)
def test_instants_cannot_be_added_up(kind: type[AggregateFunction], type_: pa.DataType) -> None:
    with pytest.raises(TypeMismatchError, match=r"must be a number$"):
        Accumulator(of(kind), *[type_] * kind.reads)


def test_counting_tuples_needs_no_column() -> None:
    assert wr.count().columns == ()
    assert wr.count("v").columns == ("v",)
    accumulator = Accumulator(wr.count(), pa.int64())
    states = accumulator.empty(1)
    accumulator.accumulate(states, np.zeros((3, 1), np.int64), accumulator.read(pa.array([0, 0, 0])))
    assert accumulator.finish(states).to_pylist() == [3]


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
        rows = [(value,) for value in values]
        both = kind.merge(state_of(kind, rows[:at]), state_of(kind, rows[at:]))
        assert all(map(is_close, both, state_of(kind, rows)))


# Declared properties.


@each_kind
@FEWER
@given(data=st.data())
def test_one_more_value_anywhere_never_lowers_a_monotonic_result_or_raises_a_falling_one(
    kind: type[AggregateFunction], data: st.DataObject
) -> None:
    if kind.monotonic == "never":
        return
    rows = data.draw(rows_of(kind, WHOLE.map(float), max_size=6))
    extra, at = data.draw(st.tuples(*[WHOLE.map(float)] * kind.reads)), data.draw(st.integers(0, 6))
    if kind.monotonic == "non-negative":
        rows, extra = [tuple(map(abs, row)) for row in rows], tuple(map(abs, extra))
    before, after = result_of(kind, rows), result_of(kind, [*rows[:at], extra, *rows[at:]])
    if before is not None:
        assert after <= before if kind.monotonic == "falling" else after >= before


@pytest.mark.parametrize(
    ("kind", "before", "lower", "higher"),
    [
        (wr.first, [2], [1, 2], [3, 2]),
        (wr.kurtosis, [0, 0, 0, 9], [0, 0, 0, 9, 9], [0, 0, 0, 0, 9]),
        (wr.last, [2, 1], [2, 1, 0], [2, 1, 3]),
        (wr.mean, [2], [2, 1], [2, 3]),
        (wr.median, [2], [2, 1], [2, 3, 3]),
        (wr.mode, [2], [2, 1, 1], [2, 3, 3]),
        (wr.quantile, [2], [2, 1], [2, 3, 3, 3]),
        (wr.skewness, [0, 0, 3], [0, 0, 3, 3], [0, 0, 0, 3]),
        (wr.stddev, [0, 4], [0, 4, 2], [0, 4, 9]),
        (wr.variance, [0, 4], [0, 4, 2], [0, 4, 9]),
    ],
)
def test_what_is_not_declared_monotonic_can_fall_and_rise(
    kind: type[AggregateFunction], before: list[float], lower: list[float], higher: list[float]
) -> None:
    assert kind.monotonic == "never"
    assert of(kind).compute(lower) < of(kind).compute(before) < of(kind).compute(higher)


def test_a_minimum_only_falls() -> None:
    assert wr.min.monotonic == "falling"
    assert wr.min("v").compute([2, 1]) < wr.min("v").compute([2]) == wr.min("v").compute([2, 3])


def test_a_sum_falls_only_with_a_negative_value() -> None:
    assert wr.sum.monotonic == "non-negative"
    assert wr.sum("v").compute([1, -1]) < wr.sum("v").compute([1])


@each_kind
@FEWER
@given(data=st.data())
def test_order_matters_only_where_declared(kind: type[AggregateFunction], data: st.DataObject) -> None:
    if kind.order_sensitive:
        assert result_of(kind, [(1.0,), (2.0,)]) != result_of(kind, [(2.0,), (1.0,)])
        return
    rows = data.draw(rows_of(kind, WHOLE.map(float), max_size=6))
    assert is_close(result_of(kind, data.draw(st.permutations(rows))), result_of(kind, rows))


@each_kind
@FEWER
@given(data=st.data())
def test_a_repeated_value_counts_twice_only_where_declared(kind: type[AggregateFunction], data: st.DataObject) -> None:
    if kind.duplicate_sensitive:
        rows = [(1.0, 1.0), (2.0, 3.0), (7.0, 4.0)]
        some = [[row[: kind.reads] for row in rows[:n]] for n in (3, 2, 1)]
        assert any(result_of(kind, [*part, part[at]]) != result_of(kind, part) for part in some for at in (0, -1))
    else:
        rows = data.draw(rows_of(kind, WHOLE.map(float), min_size=1, max_size=6))
        assert result_of(kind, [*rows, rows[-1]]) == result_of(kind, rows)


@each_kind
def test_what_sums_up_is_told_from_what_chooses(kind: type[AggregateFunction]) -> None:
    """A result that does not sum up all values consists of some of them."""
    if kind.robust:
        return
    rows = [(x,) for x in (101.5, 103.25, 101.5, 107.0)]
    result = result_of(kind, rows)
    chosen = [
        item["value"] if isinstance(item, dict) else item for item in (result if isinstance(result, list) else [result])
    ]
    assert set(chosen) <= {x for (x,) in rows}


@each_kind
def test_only_holistic_states_grow(kind: type[AggregateFunction]) -> None:
    assert of(kind).bounded == (kind.form != "values")


@each_kind
def test_too_few_values_give_null(kind: type[AggregateFunction]) -> None:
    columns = [[1.0, 2.0, 3.0]] * kind.reads
    enough = [column[: kind.needs] for column in columns]
    short = [column[: max(0, kind.needs - 1)] for column in columns]
    if not enough[0]:
        enough = [pa.array([], pa.float64())] * kind.reads
    assert of(kind).compute(*enough) is not None
    if kind.needs:
        assert of(kind).compute(*short) is None
        assert of(kind).compute(*([None, *column, None] for column in short)) is None


# A spec is a value.


@each_kind
def test_an_aggregate_is_a_value(kind: type[AggregateFunction]) -> None:
    aggregate = of(kind)
    assert eval(repr(aggregate), {**vars(wr), "span": Span}) == aggregate
    for twin in (copy.deepcopy(aggregate), pickle.loads(pickle.dumps(aggregate))):
        assert twin == aggregate
        assert hash(twin) == hash(aggregate)
    assert of(kind) != of(kind, "u")
    with pytest.raises(FrozenInstanceError):
        aggregate.column = "w"  # type: ignore[misc]


def test_aggregates_of_different_kinds_differ() -> None:
    assert len({of(kind) for kind in KINDS}) == len(KINDS)


@pytest.mark.parametrize("values", [[2**63 - 1, 1], [-(2**63), -1], [2**62, 2**62], [2**63 - 1] * 5])
def test_a_sum_past_64_bits_is_an_error_and_never_a_wrong_number(values):
    with pytest.raises(wr.DataError, match=r"sum\('v'\) exceeds 64 bits"):
        wr.sum("v").compute(values)


@given(st.lists(st.sampled_from(EDGES) | st.integers(-(2**63), 2**63 - 1), max_size=12), st.randoms())
def test_a_sum_of_integers_depends_neither_on_order_nor_on_parts(values, chance):
    accumulator = Accumulator(wr.sum("v"), pa.int64())
    states = accumulator.empty(4)
    slots = np.array([[chance.randrange(4)] for _ in values], np.int64).reshape(-1, 1)
    accumulator.accumulate(states, slots, accumulator.read(pa.array(values, pa.int64())))
    accumulator.merge(states, np.array([0, 1, 2, 1]), np.array([3]))
    accumulator.merge(states, np.array([0, 0, 0, 0]), np.array([2, 1]))
    states, total = states.keep(np.array([0])), sum(values)
    if -(2**63) <= total < 2**63:
        assert accumulator.finish(states)[0].as_py() == (total if values else None)
    else:
        with pytest.raises(wr.DataError, match="exceeds 64 bits"):
            accumulator.finish(states)


def test_a_sum_of_integers_bears_what_is_past_64_bits_on_the_way():
    for values in itertools.permutations([2**63 - 1, 5, -10]):
        assert wr.sum("v").compute(values) == 2**63 - 6


def test_sums_at_the_edge_of_64_bits_are_exact():
    assert wr.sum("v").compute([2**63 - 1, -1, 1]) == 2**63 - 1
    assert wr.sum("v").compute([-(2**63), 1, -1]) == -(2**63)
    assert wr.sum("v").compute([float("inf"), -1.0]) == float("inf")
