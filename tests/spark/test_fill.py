"""Rows are in the frames that a range join by the definition puts them in, tagged or aggregated."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from functools import reduce
from operator import and_
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import windrow as wr
from windrow.errors import ColumnError, DataError, SpecError, TypeMismatchError
from windrow.rows.clock import Clock
from windrow.spark.plans.sweep import MergedLayout, tag_sorted

pytestmark = pytest.mark.spark

FRAMES, ROWS = 120, 400
KINDS = {
    "timestamp": "timestamp_micros({} * 1000000)",
    "timestamp_ntz": "cast('2024-03-31' as timestamp_ntz) + make_dt_interval(0, 0, 0, {})",
    "date": "date_from_unix_date({})",
    "int": "cast({} as int)",
    "double": "{} / 4.0D",
    "float": "cast({} / 4.0D as float)",
}
"""How each type of `on` is made of a small integer."""
GROUPS = {
    "none": [],
    "string": ["concat('detector ', g) as id"],
    "integer": ["cast(g as smallint) as id"],
    "several": ["concat('road ', g % 2) as road", "g div 2 as `lane.no`", "cast(g as decimal(5, 1)) as `at`"],
}


def numbers(spark: SparkSession, seed: int = 1) -> tuple[DataFrame, DataFrame]:
    """Frames that overlap, touch and repeat, and rows on their very ends; groups that only one side has."""
    pick = random.Random(seed)
    frames = []
    for i in range(FRAMES):
        start = pick.randint(-20, 60)
        frames.append((pick.randint(0, 4), i % 9, start, start + pick.choice([0, 0, 1, 3, 10, 40])))
    source = [
        (pick.randint(1, 5), pick.randint(-25, 80), None if pick.random() < 0.1 else pick.randint(-9, 9), i)
        for i in range(ROWS)
    ]
    return (
        spark.createDataFrame(frames, "g int, frame long, start long, end long"),
        spark.createDataFrame(source, "g int, t long, v int, name int"),
    )


def typed(spark: SparkSession, kind: str, groups: str, seed: int = 1) -> tuple[DataFrame, DataFrame, list[str]]:
    """The same with `on` of a type and groups of a type; and the names of the group columns."""
    frames, source = numbers(spark, seed)
    if groups == "none":
        frames, source = frames.where("g < 3"), source.where("g < 3")
    keys, make = GROUPS[groups], KINDS[kind]
    frames = frames.selectExpr(*keys, "frame", f"{make.format('start')} as start", f"{make.format('end')} as end", "g")
    source = source.selectExpr("name", f"{make.format('t')} as t", *keys, "v", "v / 8.0D as x")
    return frames, source, [key.rpartition(" as ")[2].strip("`") for key in keys]


def joined(frames: DataFrame, source: DataFrame, by: list[str], how: str) -> DataFrame:
    """The definition, as a join."""
    inside = F.col("u.t").between(F.col("f.start"), F.col("f.end"))
    same: list[Column] = [F.col(f"u.`{key}`") == F.col(f"f.`{key}`") for key in by]
    return frames.alias("f").join(source.alias("u"), reduce(and_, same, inside), how)


def rows(df: DataFrame) -> Counter[Any]:
    return Counter(df.collect())


@pytest.mark.parametrize(
    ("kind", "groups"),
    [*((kind, "string") for kind in KINDS), ("int", "none"), ("timestamp", "integer"), ("timestamp_ntz", "several")],
)
def test_rows_are_tagged_as_the_range_join_does(spark: SparkSession, kind: str, groups: str) -> None:
    frames, source, by = typed(spark, kind, groups)
    tagged = wr.fill(frames, source, on="t", by=by)
    assert tagged.columns == [*source.columns, "frame"]
    assert [f.dataType for f in tagged.schema][:-1] == [f.dataType for f in source.schema]
    result = rows(tagged)
    assert result == rows(joined(frames, source, by, "inner").select("u.*", "f.frame"))
    assert max(result.values()) > 1, "some frames have the same number"


@pytest.mark.parametrize(("kind", "groups"), [("timestamp", "string"), ("double", "none"), ("date", "several")])
def test_aggregates_are_those_of_the_joined_rows(spark: SparkSession, kind: str, groups: str) -> None:
    frames, source, by = typed(spark, kind, groups)
    frames = frames.dropDuplicates([*by, "frame", "start", "end"])
    agg = {
        "n": wr.count(),
        "vs": wr.count("v"),
        "total": wr.sum("v"),
        "mean": wr.mean("x"),
        "low": wr.min("v"),
        "seen": wr.max("t"),
        "first": wr.first("v"),
        "last": wr.last("v"),
    }
    filled = wr.fill(frames, source, on="t", by=by, agg=agg, order_by="name")
    assert filled.columns == [*frames.columns, *agg]
    assert filled.schema["seen"].dataType == source.schema["t"].dataType
    order = F.when(F.col("u.v").isNotNull(), F.struct("u.t", "u.name"))
    expected = (
        joined(frames, source, by, "left")
        .groupBy(*(f"f.`{name}`" for name in frames.columns))
        .agg(
            F.count("u.t"),
            F.count("u.v"),
            F.sum("u.v"),
            F.avg("u.x"),
            F.min("u.v"),
            F.max("u.t"),
            F.min_by("u.v", order),
            F.max_by("u.v", order),
        )
    )
    result = rows(filled)
    assert result == rows(expected)
    assert any(row["n"] == 0 and row["total"] is None for row in result)


def test_a_users_own_aggregate_fills_frames(spark: SparkSession) -> None:
    class Span(wr.AggregateFunction):
        @staticmethod
        def zero():
            return (float("inf"), -float("inf"))

        @staticmethod
        def add(s, x):
            return (min(s[0], x), max(s[1], x))

        @staticmethod
        def merge(a, b):
            return (min(a[0], b[0]), max(a[1], b[1]))

        @staticmethod
        def finish(s):
            return s[1] - s[0]

    frames, source = numbers(spark)
    both = wr.fill(frames, source, on="t", by="g", agg={"span": Span("v"), "low": wr.min("v"), "high": wr.max("v")})
    result = both.collect()
    assert len(result) == FRAMES
    assert {row.span is None for row in result} == {True, False}
    assert all(row.span == (None if row.low is None else row.high - row.low) for row in result)


def test_results_do_not_depend_on_partitions_or_arrival(spark: SparkSession) -> None:
    frames, source = numbers(spark, seed=2)
    source = source.withColumn("x", F.col("v") / 7.0)
    agg = {"first": wr.first("v"), "last": wr.last("v"), "x": wr.sum("x")}
    ways = [
        (frames, source),
        (frames.repartition(5), source.repartition(3, "v")),
        (frames.orderBy(F.desc("end")), source.orderBy(F.desc("v"))),
    ]
    assert len({frozenset(rows(wr.fill(f, u, on="t", by="g", agg=agg)).items()) for f, u in ways}) == 1
    assert len({frozenset(rows(wr.fill(f, u, on="t", by="g")).items()) for f, u in ways}) == 1


def test_numbers_are_widened_and_columns_keep_their_types(spark: SparkSession) -> None:
    frames, source = numbers(spark, seed=3)
    narrow = frames.selectExpr("'x' as note", "cast(g as tinyint) as G", "frame", "cast(start as int) as start", "end")
    other = source.selectExpr("cast(g as bigint) as g", "cast(t as float) + 0.5F as t", "v")
    by = ["g"]
    tagged = wr.fill(narrow, other, on="T", by=by)
    assert tagged.dtypes == [("g", "bigint"), ("t", "float"), ("v", "int"), ("frame", "bigint")]
    assert rows(tagged) == rows(joined(narrow, other, by, "inner").select("u.*", "f.frame"))
    counted = wr.fill(narrow, other, on="t", by="g", agg={"n": wr.count()})
    assert counted.dtypes == [*narrow.dtypes, ("n", "bigint")]
    assert rows(counted.drop("n")) == rows(narrow)


def test_columns_of_any_type_travel_unchanged(spark: SparkSession) -> None:
    extra = "array(1, null) a, map('k', 1.5BD) m, named_struct('t', timestamp'2024-03-31 02:30:00', 'b', X'01') s"
    one = spark.sql(f"select 1L frame, 0 start, 5 end, {extra}, interval 3 days d, null n")
    source = one.drop("frame").withColumnRenamed("start", "odd `name`.x")
    expected = source.first()
    assert wr.fill(one, source, on="odd `name`.x").first() == (*expected, 1)
    assert wr.fill(one, source, on="odd `name`.x", agg={"c": wr.count()}).first() == (*one.first(), 1)


def test_frames_of_a_framing_are_filled_with_its_own_rows(spark: SparkSession, tmp_path: Any) -> None:
    path = str(tmp_path / "rows")
    numbers(spark)[1].dropna().write.parquet(path)
    source = wr.parquet(spark, path)
    framed = wr.frames(source, wr.Threshold("v > 0"), on="t", by="g", agg={"total": wr.sum("v")}, order_by="name")
    separate = wr.fill(framed, source, on="t", by="g", agg={"n": wr.count()})
    assert all(row.n >= row["count"] for row in separate.collect())
    wide = wr.fill(wr.widen(framed, before=1000, after=1000), source, on="t", by="g", agg={"n": wr.count()})
    sizes = {row.g: row["count"] for row in source.df.groupBy("g").count().collect()}
    assert all(row.n == sizes[row.g] for row in wide.collect())


def test_empty_tables(spark: SparkSession) -> None:
    frames, source = numbers(spark)
    nothing, no_frames = source.where("false"), frames.where("false")
    assert wr.fill(frames, nothing, on="t", by="g").count() == 0
    assert wr.fill(no_frames, source, on="t", by="g").count() == 0
    assert wr.fill(no_frames, source, on="t", agg={"n": wr.count()}).count() == 0
    assert {row.n for row in wr.fill(frames, nothing, on="t", agg={"n": wr.count()}).collect()} == {0}


@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_a_task_gives_the_same_for_any_size_of_tables(tune: Callable[..., object], size: int) -> None:
    tune(rows_per_table=size)
    layout = MergedLayout(("by",), (pa.string(),), Clock.of(pa.int64(), "on"), ["by", "c"], ["id", "name", "frame"])
    table = pa.table(
        {
            "by": list("aaaaaaabbb"),
            "on": [1, 1, 2, 3, 4, 8, 9, 0, 2, 3],
            "end": [4, 8, None, 3, None, None, None, None, 9, None],
            "number": [0, 1, None, 2, None, None, None, None, 7, None],
            "c": [None, None, "p", None, "q", "r", "s", "t", None, "u"],
        }
    )
    result = pa.Table.from_batches(tag_sorted(layout, "number")(table.to_batches(max_chunksize=size)))
    expected = [("a", "p", 0), ("a", "p", 1), ("a", "q", 0), ("a", "q", 1), ("a", "r", 1), ("b", "u", 7)]
    assert sorted(tuple(row.values()) for row in result.to_pylist()) == expected


# Nulls.


def test_nulls_of_the_source_follow_the_policy(spark: SparkSession) -> None:
    frames = spark.createDataFrame([("a", 0, 0.0, 9.0)], "id string, frame int, start double, end double")
    places = [("a", 1.0), ("a", None), ("a", float("nan")), (None, 2.0), (None, None)]
    source = spark.createDataFrame(places, "id string, t double")
    with pytest.raises(DataError, match=r"on: column 't' is null or NaN in 3 rows: .*nulls_on='drop'"):
        wr.fill(frames, source, on="t", by="id")
    with pytest.warns(UserWarning, match="'t' is null or NaN in 3; by: column 'id' is null or NaN in 2") as warned:
        tagged = wr.fill(frames, source, on="t", by="id", nulls_on="drop")
    assert warned[0].filename == __file__
    assert [tuple(row) for row in tagged.collect()] == [("a", 1.0, 0)]


@pytest.mark.parametrize(
    ("lacking", "message"),
    [
        ((None, 0, 0.0, 1.0), "frames: column 'id' is null or NaN in 1 row: a frame needs its group"),
        (("a", None, 0.0, 1.0), "frames: column 'frame' is null or NaN in 1 row"),
        (("a", 0, None, 1.0), "frames: column 'start' is null or NaN in 1 row"),
        (("a", 0, 0.0, float("nan")), "frames: column 'end' is null or NaN in 1 row"),
    ],
)
def test_frames_without_a_place_are_refused(spark: SparkSession, lacking: tuple[Any, ...], message: str) -> None:
    schema = "id string, frame int, start double, end double"
    frames = spark.createDataFrame([("a", 0, 0.0, 1.0), lacking], schema)
    with pytest.raises(DataError, match=message):
        wr.fill(frames, spark.sql("select 'a' as id, 1.0D as t"), on="t", by="id", nulls_on="drop")


# What is refused before any job starts.

FRAME = "select 'a' as id, 0L as frame, 1 as start, 2 as end, 'x' as note"
ROW = "select 'a' as id, 1 as t, 2.5 as v, array(1) as list, map(1, 2) as pairs, interval 1 month as m"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"on": "when"}, ColumnError, "on: no column named 'when'; available columns: 'id', 't', 'v'"),
        ({"on": 3}, SpecError, "on: expected a column name, got 3"),
        ({"on": "id"}, TypeMismatchError, "on: column 'id' is of type string; expected a timestamp"),
        ({"by": "v"}, ColumnError, r"by \(in frames\): no column named 'v'; available columns: 'id', 'frame'"),
        ({"by": "note"}, ColumnError, "by: no column named 'note'; available columns: 'id', 't'"),
        ({"by": ["id", "ID"]}, ColumnError, "by would have two columns named"),
        ({"agg": {}}, SpecError, "agg: {} has no aggregate"),
        ({"agg": [wr.count()]}, SpecError, "agg: expected a dict"),
        ({"agg": {"n": "count"}}, SpecError, "expected an aggregate such as"),
        ({"agg": {"n": wr.sum("speed")}}, ColumnError, "agg 'n': no column named 'speed'"),
        ({"agg": {"n": wr.sum("id")}}, TypeMismatchError, "column 'id' is of type string; it must be a number"),
        ({"agg": {"Note": wr.count()}}, ColumnError, "the result would have two columns named 'Note'"),
        ({"agg": {"n": wr.count()}, "order_by": "pairs"}, TypeMismatchError, "order_by: column 'pairs' is of type map"),
        ({"order_by": "speed"}, ColumnError, "order_by: no column named 'speed'"),
        ({"nulls_on": "keep"}, SpecError, "nulls_on: expected one of error, drop; got 'keep'"),
        ({}, TypeMismatchError, "column 'm' is of type interval month, which is not supported here"),
    ],
)
def test_bad_requests(spark: SparkSession, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        wr.fill(spark.sql(FRAME), spark.sql(ROW), **{"on": "t", "by": "id", **options})


@pytest.mark.parametrize(
    ("frames", "source", "error", "message"),
    [
        (
            "1L id, 0 frame, 1 start, 2 end",
            "'a' id, 1 t",
            TypeMismatchError,
            "'id' is of type bigint .* of type string",
        ),
        ("1 id, 0 frame, 1 start, 2 end", "1.5D id, 1 t", TypeMismatchError, "'id' is of type int .* of type double"),
        (
            "array(1) id, 0 frame, 1 start, 2 end",
            "array(1) id, 1 t",
            TypeMismatchError,
            "by: column 'id' is of type list",
        ),
        (
            "'a' collate UTF8_LCASE id, 0 frame, 1 start, 2 end",
            "'a' collate UTF8_LCASE id, 1 t",
            TypeMismatchError,
            "by: column 'id' is of type string collate UTF8_LCASE; cast it to a plain string",
        ),
        ("1 id, 0 frame, 1 start", "1 id, 1 t", ColumnError, "frames: no column named 'end'; available columns: 'id'"),
        ("1 id, 1 start, 2 end", "1 id, 1 t", ColumnError, "frames: no column named 'frame'"),
        ("1 id, 'x' frame, 1 start, 2 end", "1 id, 1 t", TypeMismatchError, "frames: column 'frame' is of type string"),
        (
            "1 id, 0 frame, now() start, now() end",
            "1 id, 1 t",
            TypeMismatchError,
            "'t' is of type int, .*'start' .*timestamp",
        ),
        (
            "1 id, 0 frame, localtimestamp() start, localtimestamp() end",
            "1 id, now() t",
            TypeMismatchError,
            "'t' is of type timestamp, but column 'start' of the frames is of type timestamp_ntz",
        ),
        (
            "1 id, 0 frame, now() start, current_date() end",
            "1 id, now() t",
            TypeMismatchError,
            "'t' is of type timestamp, but column 'end' of the frames is of type date",
        ),
        (
            "1 id, 0 frame, 1 start, 2 end",
            "1 id, 1 t, 5 Frame",
            ColumnError,
            "the result would have two columns named 'frame'",
        ),
        ("1 id, 0 frame, 1 start, 2 end, 3 end", "1 id, 1 t", ColumnError, "'end' is ambiguous"),
    ],
)
def test_tables_that_do_not_meet(
    spark: SparkSession, frames: str, source: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        wr.fill(spark.sql(f"select {frames}"), spark.sql(f"select {source}"), on="t", by="id")


def test_sources_that_are_none(spark: SparkSession) -> None:
    frame, row = spark.sql(FRAME), spark.sql(ROW)
    with pytest.raises(SpecError, match="frames: expected a Spark DataFrame, got"):
        wr.fill("frames", row, on="t")  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="source: expected a Spark DataFrame, got"):
        wr.fill(frame, None, on="t")  # type: ignore[arg-type]
