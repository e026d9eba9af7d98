"""Columns that are seldom seen: of nulls only, of one name in other letters, and of types that are not numbers."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow as wr
from windrow.errors import ColumnError, DataError, SourceError, SpecError, TypeMismatchError
from windrow.testing import example_aggregate

pytestmark = pytest.mark.spark

HIT = wr.Threshold("x > 0.5")
EVERY = {f"r{i}": example_aggregate(kind, "v", "x") for i, kind in enumerate(wr.aggregates.BUILTIN)}
NATIVE = {name: aggregate for name, aggregate in EVERY.items() if aggregate.spark_sql is not None}


@pytest.fixture(params=["double", "int", "of no type"])
def hollow(request, spark, tmp_path):
    """Parquet with a column `v` of nothing but nulls."""
    kind = {"double": pa.float64(), "int": pa.int32(), "of no type": pa.null()}[request.param]
    table = pa.table({"t": [1, 1, 2], "x": [1.0, 1.0, 0.0], "v": pa.nulls(3, kind)})
    pq.write_table(table, tmp_path / "hollow.parquet")
    return wr.parquet(spark, tmp_path / "hollow.parquet")


@pytest.mark.parametrize("plan", ["auto", "native", "shuffle"])
def test_aggregates_of_nothing_but_nulls_are_null(hollow, plan):
    agg = NATIVE if plan == "native" else EVERY
    row = wr.frames(hollow, HIT, on="t", agg=agg, order_by="v", plan=plan).first()
    nothing = {wr.histogram: [0, 0, 0], **dict.fromkeys((wr.count, wr.count_distinct, wr.rank), 0)}
    assert [row[name] for name in agg] == [nothing.get(type(aggregate)) for aggregate in agg.values()]
    assert row["count"] == 2


@pytest.mark.parametrize(
    "scheme",
    [
        wr.Boundary({"v": 1}),
        wr.DoubleBoundary({"v": 1}),
        wr.Change("v"),
        wr.Delta({"v": 1}),
        wr.Aggregate(wr.sum("v"), ">", 1),
        wr.Threshold("v > 1"),
    ],
)
def test_an_attribute_of_nothing_but_nulls_gives_no_frames(hollow, scheme):
    for source in (hollow, hollow.df):
        assert wr.frames(source, scheme, on="t").collect() == []


@pytest.mark.parametrize("role", ["on", "by"])
def test_nothing_but_nulls_orders_and_groups_nothing(hollow, role):
    options = {"on": "t"} | {role: "v"}
    for source in (hollow, hollow.df):
        with pytest.raises(DataError, match=f"{role}: column 'v' is null or NaN in 3 rows"):
            wr.frames(source, HIT, **options)


def test_a_column_without_a_type_is_refused_by_name(spark):
    df = spark.sql("select 1 as t, 1.0d as x, null as v")
    for options in ({"by": "v"}, {"order_by": "v"}, {"agg": {"r": wr.sum("v")}}):
        with pytest.raises(TypeMismatchError, match="column 'v' is of type null"):
            wr.frames(df, HIT, on="t", **options)
    with pytest.raises(TypeMismatchError, match="Delta: expected a numeric column, got 'v' of type null"):
        wr.frames(df, wr.Delta({"v": 1}), on="t")


@pytest.fixture
def twins(tmp_path) -> str:
    table = pa.table({"t": [1, 2, 3], "x": [1.0, 0.0, 1.0], "X": [0, 1, 1]})
    pq.write_table(table, tmp_path / "twins.parquet")
    return str(tmp_path / "twins.parquet")


def test_parquet_with_columns_that_differ_in_case_is_refused_by_name(spark, twins):
    with pytest.raises(
        SourceError, match=r"two of its columns are named 'x', apart from case.*spark\.sql\.caseSensitive"
    ):
        wr.parquet(spark, twins)


def test_a_table_with_columns_that_differ_in_case_is_ambiguous(spark):
    df = spark.sql("select 1 as t, 1.0d as x, 2.0d as X")
    for call in (
        lambda: wr.frames(df, wr.Delta({"x": 1}), on="t"),
        lambda: wr.frames(df, wr.Gap(1), on="t", agg={"low": wr.min("X")}),
        lambda: wr.frames(df, wr.Gap(1), on="t", by="x"),
    ):
        with pytest.raises(ColumnError, match="is ambiguous: the table has the columns 'x', 'X'; rename one"):
            call()
    with pytest.raises(SpecError, match=r"'x > 0\.5'.*ambiguous"):
        wr.frames(df, HIT, on="t")
    assert wr.frames(df, wr.Gap(1), on="t").count() == 1


def test_where_letter_case_matters_each_is_found_by_its_name(spark, twins):
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        source = wr.parquet(spark, twins)
        for plan in ("auto", "native", "shuffle"):
            for name, starts in (("x", [1, 3]), ("X", [2])):
                found = wr.frames(source, wr.Threshold(f"{name} > 0.5"), on="t", plan=plan).sort("frame").collect()
                assert [row["start"] for row in found] == starts
            (most,) = (
                wr.frames(source, wr.Gap(1), on="t", agg={"most": wr.max("X")}, plan=plan).select("most").collect()
            )
            assert repr(most["most"]) == "1"
        with pytest.raises(ColumnError, match="no column named 'T'"):
            wr.frames(source, HIT, on="T")
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


@pytest.fixture(scope="module")
def odd(spark):
    return spark.sql(
        "select 1 as t, 1.0d as x, true as boolean, array(1) as array, struct(1 as i) as struct, "
        "cast('a' as binary) as binary, map(1, 2) as map, parse_json('1') as variant, interval '1' year as years "
        "from range(3)"
    )


NESTED = ["array", "struct", "map", "variant", "years"]
NO_NUMBERS = ["boolean", "binary", *NESTED]


@pytest.mark.parametrize("name", NO_NUMBERS)
def test_what_is_no_number_is_neither_clock_nor_attribute_nor_added_up(odd, name):
    def refused(scheme=HIT, **options):
        either = f"column '{name}' is of type .*(must be|expected)|expected a numeric column, got '{name}' of type"
        with pytest.raises(TypeMismatchError, match=either):
            wr.frames(odd, scheme, **({"on": "t"} | options))

    refused(on=name)
    refused(wr.Boundary({name: 1}))
    refused(wr.Aggregate(wr.max(name), ">", 1))
    if name in NESTED:
        refused(wr.Change(name))
    for kind in wr.aggregates.BUILTIN:
        if name in NESTED or not kind.only_compares:
            refused(agg={"r": example_aggregate(kind, name, "x")})


@pytest.mark.parametrize("name", NESTED)
def test_what_has_no_plain_order_neither_groups_nor_orders(odd, name):
    for role in ("by", "order_by"):
        with pytest.raises(TypeMismatchError, match=f"column '{name}' is of type .*; expected"):
            wr.frames(odd, HIT, on="t", **{role: name})


@pytest.mark.parametrize("name", ["boolean", "binary"])
@pytest.mark.parametrize("plan", ["native", "shuffle"])
def test_truth_and_bytes_group_and_order(odd, name, plan):
    (row,) = wr.frames(odd, HIT, on="t", by=name, order_by=name, plan=plan).collect()
    assert row["count"] == 3


def test_an_aggregate_that_does_not_compile_frames_nothing_either(odd):
    class Odd(wr.AggregateFunction):
        zero = staticmethod(lambda: (0.0,))
        add = staticmethod(lambda s, x: (float(str(x)) + len({}),))
        merge = staticmethod(lambda a, b: a)
        finish = staticmethod(lambda s: s[0])

    with pytest.raises(SpecError, match=r"odd\('x'\) cannot be compiled"):
        wr.frames(odd, wr.Aggregate(Odd("x"), ">", 1), on="t")
