"""Frames in plain SQL: the same frames, columns and types as `wr.frames`, and errors as clear."""

from __future__ import annotations

import datetime
from dataclasses import fields
from decimal import Decimal
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException, PySparkValueError, SparkRuntimeException
from pyspark.sql.types import StructType
from pyspark.sql.udtf import AnalyzeArgument

import windrow as wr
from cases import AGGREGATES, rows_of, table
from sweeps import long, sweep
from windrow.errors import SpecError, WindrowError
from windrow.framing.schemes import SCHEMES
from windrow.spark.sql import functions
from windrow.spark.sql.arguments import frames_function
from windrow.tuning import tuned

pytestmark = pytest.mark.spark

AGG = """agg => named_struct(
    'n', 'count()', 'known', 'count(v)', 'total', 'sum(v)', 'average', 'mean(x)', 'least', 'min(v)', 'most', 'max(x)',
    'opening', 'first(v)', 'closing', 'last(`x`)', 'spread', 'VARIANCE( x )'
)"""


@pytest.fixture(scope="module")
def readings(spark, tmp_path_factory):
    """Groups of very different size, ties, gaps, nulls and NaN, in many partitions and no order; a view `readings`."""
    path = str(tmp_path_factory.mktemp("sql") / "readings.parquet")
    pq.write_table(table(1_500, 8), path)
    wr.register_sql(spark)
    df = spark.read.parquet(path).repartition(5).cache()
    df.createOrReplaceTempView("readings")
    return df


def columns_of(df) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in df.schema.fields]


CALLS: dict[str, tuple[str, wr.Scheme]] = {
    "threshold": ("threshold_frames(T, predicate => 'x > 0.5')", wr.Threshold("x > 0.5")),
    "threshold with minimums": (
        "threshold_frames(T, predicate => 'x > 0.5', min_count => 3, min_duration => 4)",
        wr.Threshold("x > 0.5", min_count=3, min_duration=4),
    ),
    "threshold with a gap": (
        "threshold_frames(T, predicate => 'x > 0.5 or v < 3', max_gap => 2.5)",
        wr.Threshold("x > 0.5 or v < 3", max_gap=2.5),
    ),
    "threshold that skips nulls": (
        "threshold_frames(T, predicate => 'x > 0.5', nulls => 'skip')",
        wr.Threshold("x > 0.5", nulls="skip"),
    ),
    "a predicate that only Spark knows": (
        "threshold_frames(T, predicate => 'endswith(text, ''7'') or pmod(v, 3) = 1 -- or so')",
        wr.Threshold("endswith(text, '7') or pmod(v, 3) = 1"),
    ),
    "hysteresis": (
        "threshold_frames(T, predicate => 'x > 1', close => 'x < 0')",
        wr.Threshold("x > 1", close="x < 0"),
    ),
    "segments": (
        "threshold_frames(T, predicate => 'x > 0.5', min_count => 4, segments => true)",
        wr.Threshold("x > 0.5", min_count=4, segments=True),
    ),
    "options that are null": (
        "threshold_frames(T, predicate => 'x > 0.5', close => null, min_count => null)",
        wr.Threshold("x > 0.5"),
    ),
    "boundary by width": ("boundary_frames(T, grid => map('x', 0.5))", wr.Boundary({"x": 0.5})),
    "boundary by break points": (
        "boundary_frames(T, grid => map('x', array(-0.5, 0.5D)))",
        wr.Boundary({"x": [-0.5, 0.5]}),
    ),
    "grid that breaks at nulls": (
        "boundary_frames(T, grid => named_struct('x', array(-0.5, 0.5), 'v', 5), nulls => 'break', max_gap => 3)",
        wr.Boundary({"x": [-0.5, 0.5], "v": 5}, nulls="break", max_gap=3),
    ),
    "change": (
        "change_frames(T, columns => 'state, v', ignore => array('OFF'), nulls => 'break', min_count => 2)",
        wr.Change(["state", "v"], ignore="OFF", nulls="break", min_count=2),
    ),
    "delta": ("delta_frames(T, limits => map('x', 0.8))", wr.Delta({"x": 0.8})),
    "delta to the first": (
        "delta_frames(T, limits => map('x', 0.8, 'v', 9), op => '>', reference => 'first')",
        wr.Delta({"v": 9, "x": 0.8}, op=">", reference="first"),
    ),
    "aggregate": (
        "aggregate_frames(T, aggregate => 'sum(v)', op => '>', limit => 25)",
        wr.Aggregate(wr.sum("v"), ">", 25),
    ),
    "maximal aggregate": (
        "aggregate_frames(T, aggregate => 'count(*)', op => '<=', limit => 7, max_gap => 3)",
        wr.Aggregate(wr.count(), "<=", 7, max_gap=3),
    ),
    "gap": ("gap_frames(T, gap => 2)", wr.Gap(2)),
    "conjunction": (
        "conjunction_frames(T, threshold => 'x > 0', aggregate => 'sum(v) <= 20', gap => 4, min_count => 2)",
        wr.Threshold("x > 0") & wr.Aggregate(wr.sum("v"), "<=", 20) & wr.Gap(4, min_count=2),
    ),
}


TRIED = (
    "segments",
    "a predicate that only Spark knows",
    "boundary by break points",
    "change",
    "delta",
    "maximal aggregate",
    "gap",
    "conjunction",
)


@pytest.mark.parametrize("name", sweep(CALLS, *TRIED))
def test_a_call_finds_the_frames_of_python(spark, readings, name):
    call, scheme = CALLS[name]
    result = spark.sql("SELECT * FROM " + call.replace("T,", f"TABLE(readings), on => 't', by => 'g', {AGG},"))
    expected = wr.frames(readings, scheme, on="t", by="g", agg=AGGREGATES)
    assert columns_of(result) == columns_of(expected)
    rows = rows_of(result.toArrow(), ["g"])
    assert rows == rows_of(expected.toArrow(), ["g"])
    assert rows


def test_every_option_of_a_scheme_is_an_argument_in_sql():
    assert {kind for kind in SCHEMES if kind.main_option() is None} == {wr.Custom, wr.Conjunction}
    for kind in set(SCHEMES) - {wr.Custom}:
        assert {field.name for field in fields(kind)} - {"parts"} <= set(frames_function(kind).arguments)


def test_without_groups_all_tuples_are_one(spark, readings):
    result = spark.sql(
        "SELECT * FROM delta_frames(TABLE(readings), on => 't', limits => map('x', 0.8), order_by => 'g')"
    )
    expected = wr.frames(readings, wr.Delta({"x": 0.8}), on="t", order_by="g")
    assert columns_of(result) == columns_of(expected)
    assert rows_of(result.toArrow(), []) == rows_of(expected.toArrow(), [])


@pytest.mark.parametrize("by", ["'half,  g'", "array('half', 'g')"])
def test_several_columns_make_a_group_and_order_ties(spark, readings, by):
    query = f"""
        SELECT * FROM aggregate_frames(
            TABLE(SELECT *, text < 'payload 5' AS half, t DIV 9 AS slow FROM readings WHERE x IS NOT NULL),
            on => 'slow', by => {by}, order_by => 'v, text', aggregate => 'last(x)', op => '>', limit => 0.4,
            agg => map('z', 'first(x)', 'a', 'last(v)')
        )"""
    df = readings.where("x is not null").selectExpr("*", "text < 'payload 5' as half", "t div 9 as slow")
    expected = wr.frames(
        df, wr.Aggregate(wr.last("x"), ">", 0.4), on="slow", by=["half", "g"], order_by=["v", "text"],
        agg={"a": wr.last("v"), "z": wr.first("x")},
    )  # fmt: skip
    result = spark.sql(query)
    assert columns_of(result) == columns_of(expected)
    assert rows_of(result.toArrow(), ["half", "g"]) == rows_of(expected.toArrow(), ["half", "g"])


INSTANTS = [datetime.datetime(2026, 10, 24, 22, minute, 30, 5) for minute in range(0, 60, 4)]


@pytest.mark.parametrize(
    "kind", sweep(["timestamp", "timestamp_ntz", "date", "smallint", "float"], "timestamp", "date")
)
def test_the_type_of_on(spark, readings, kind):
    number = "minute(at)" if kind in ("smallint", "float") else "date_add(at, minute(at))" if kind == "date" else "at"
    days = [(instant, float(i % 4)) for i, instant in enumerate(INSTANTS)]
    df = spark.createDataFrame(days, "at timestamp_ntz, x double").selectExpr(f"cast({number} as {kind}) as at", "x")
    df.createOrReplaceTempView("typed")
    length = {"date": "8 days", "smallint": 8, "float": 8.0}.get(kind, "8 minutes")
    shown = f"'{length}'" if isinstance(length, str) else length
    result = spark.sql(f"""
        SELECT * FROM threshold_frames(
            TABLE(typed), on => 'at', predicate => 'x > 0', min_duration => {shown}, agg => map('first', 'min(at)')
        )""")
    expected = wr.frames(df, wr.Threshold("x > 0", min_duration=length), on="at", agg={"first": wr.min("at")})
    assert columns_of(result) == columns_of(expected)
    rows = result.collect()
    assert rows == expected.sort("frame").collect()
    assert len(rows) == 3


def test_a_duration_may_be_an_interval(spark, readings):
    spark.createDataFrame([(i,) for i in INSTANTS], "at timestamp").createOrReplaceTempView("typed")
    for gap, frames in (("INTERVAL 4 MINUTES", 1), ("INTERVAL '3:59' MINUTE TO SECOND", 15)):
        assert spark.sql(f"SELECT * FROM gap_frames(TABLE(typed), on => 'at', gap => {gap})").count() == frames


def test_a_session_variable_sets_an_option(spark, readings):
    spark.sql("DECLARE OR REPLACE VARIABLE low DOUBLE DEFAULT 0.5")
    result = spark.sql("""
        SELECT * FROM threshold_frames(TABLE(readings), on => 't', by => 'g', predicate => 'x > ' || low)""")
    assert result.count() == wr.frames(readings, wr.Threshold("x > 0.5"), on="t", by="g").count()


def test_groups_and_aggregates_of_every_type(spark, readings):
    kinds = {
        "s": "cast(g as string)", "`a.b``c`": "cast(g as tinyint)", "d": "date_add(date'1969-12-30', int(g))",
        "ts": "timestamp_micros(g * 1000001 - 3000000)", "ntz": "to_timestamp_ntz('2020-01-01') + make_dt_interval(g)",
        "flag": "g % 2 = 0", "dec": "cast(g as decimal(20, 3))", "bin": "cast(cast(g as string) as binary)",
        "f": "cast(-0.0 * g as float)", "iv": "make_dt_interval(g)",
    }  # fmt: skip
    names = [name.strip("`").replace("``", "`") for name in kinds]
    df = readings.selectExpr("t", "x", "cast(v as decimal(9, 2)) as money", *(f"{e} as {n}" for n, e in kinds.items()))
    df.createOrReplaceTempView("kinds")
    agg = {"a": wr.min("ts"), "b": wr.max("ntz"), "c": wr.last("d"), "d2": wr.sum("money"), "e": wr.first("f")}
    result = spark.sql(f"""
        SELECT * FROM gap_frames(
            TABLE(kinds), on => 't', by => '{", ".join(names)}', gap => 2,
            agg => map('a', 'min(ts)', 'b', 'max(ntz)', 'c', 'last(d)', 'd2', 'sum(money)', 'e', 'first(f)')
        )""")
    expected = wr.frames(df, wr.Gap(2), on="t", by=names, agg=agg, plan="shuffle")
    assert columns_of(result) == columns_of(expected)
    assert sorted(map(str, result.collect())) == sorted(map(str, expected.collect()))


def test_groups_that_share_a_bucket_are_told_apart(spark, readings):
    df = spark.range(3_000).selectExpr("id % 700 as g", "id div 700 * (id % 3) as t")
    df.createOrReplaceTempView("many")
    result = spark.sql("SELECT * FROM gap_frames(TABLE(many), on => 't', by => 'g', gap => 1)")
    expected = wr.frames(df, wr.Gap(1), on="t", by="g")
    assert rows_of(result.toArrow(), ["g"]) == rows_of(expected.toArrow(), ["g"])


def test_an_empty_table_has_no_frames(spark, readings):
    call = "gap_frames(TABLE(SELECT * FROM readings WHERE false), on => 't', by => 'g', gap => 1)"
    assert spark.sql(f"SELECT * FROM {call}").collect() == []


def test_frames_can_be_joined_filtered_and_framed_again(spark, readings):
    result = spark.sql("""
        WITH runs AS (SELECT * FROM threshold_frames(TABLE(readings), on => 't', by => 'g', predicate => 'x > 0.5'))
        SELECT again.g, again.count, (SELECT count(*) FROM runs WHERE runs.g = again.g) AS runs
        FROM gap_frames(TABLE(runs), on => 'start', by => 'g', gap => 1000000) AS again WHERE again.count > 1
    """).collect()
    assert len(result) > 3
    assert all(row["count"] == row["runs"] for row in result)


def arguments(**options) -> dict[str, AnalyzeArgument]:
    return {name: AnalyzeArgument(None, value, False, True) for name, value in options.items()}


def test_any_cut_of_the_rows_gives_the_same_frames():
    """In one process, since Spark analyzes a call in a process of its own."""
    schema = AnalyzeArgument(StructType.fromDDL("t bigint, x double"), None, True, False)
    delta_frames = functions.frames_handler(wr.Delta)
    rows = [(i // 4, float((7 * i) % 5)) for i in range(60)]

    def frames_by(cut: int) -> list:
        with tuned(rows_per_call=cut):
            framing = delta_frames.analyze(schema, **arguments(on="t", limits={"x": Decimal("1.5")}))
        made = delta_frames(framing)
        return [frame for row in rows for frame in made.eval(row, on="t") or ()] + list(made.terminate())

    whole = frames_by(1_000)
    assert len(whole) > 20
    for cut in (1, 3, 7, 59):
        assert frames_by(cut) == whole


WINDOWS: dict[str, tuple[str, wr.Window, Any]] = {
    "sliding": ("length => 20, every => 5", wr.Sliding(20, every=5), None),
    "tumbling": ("length => 10", wr.Tumbling(10), None),
    "rows": ("length => '8 rows', every => '2 rows'", wr.Rows(8, every=2), None),
    "a synopsis": ("length => 20, every => 5, using => 'TwoStacks'", wr.Sliding(20, every=5), "TwoStacks"),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_are_those_of_slide(spark, readings, name):
    arguments, window, using = WINDOWS[name]
    query = {"on": "t", "by": "g", "order_by": ["x", "v"], "agg": {"a": wr.sum("v"), "b": wr.mean("x")}}
    expected = wr.slide(readings, window, **query, using=using).toArrow()
    windows = spark.sql(
        "SELECT * FROM slide_windows(TABLE(readings), on => 't', by => 'g', order_by => array('x', 'v'), "
        f"agg => map('a', 'sum(v)', 'b', 'mean(x)'), {arguments})"
    ).toArrow()
    order = [("g", "ascending"), ("end", "ascending"), ("start", "ascending"), ("a", "ascending")]
    assert windows.schema.names == expected.schema.names
    assert windows.sort_by(order).to_pylist() == [
        pytest.approx(row, nan_ok=True) for row in expected.sort_by(order).to_pylist()
    ]


MISTAKES: dict[str, tuple[str, list[str]]] = {
    "unknown on": ("gap_frames(T, on => 'at', gap => 1)", ["on", "'at'", "'t'", "'text'"]),
    "no on": ("gap_frames(T, gap => 1)", ["gap_frames requires on", "on => 'ts'"]),
    "on is a number": ("gap_frames(T, on => 3, gap => 1)", ["on", "3", "expected a column name"]),
    "on is text": ("gap_frames(T, on => 'text', gap => 1)", ["'text'", "string", "timestamp"]),
    "unknown by": ("gap_frames(T, on => 't', by => 'g, lane', gap => 1)", ["by", "'lane'", "'g'"]),
    "by is empty": ("gap_frames(T, on => 't', by => 'g,', gap => 1)", ["by", "'g,'", "empty"]),
    "by is a number": ("gap_frames(T, on => 't', by => 1, gap => 1)", ["by", "1", "expected column names"]),
    "by twice": ("gap_frames(T, on => 't', by => 'g, G', gap => 1)", ["by", "'g'", "two"]),
    "unknown order_by": ("gap_frames(T, on => 't', order_by => 'id', gap => 1)", ["order_by", "'id'"]),
    "unknown option": ("gap_frames(T, on => 't', gap => 1, segments => true)", ["gap_frames", "'segments'", "max_gap"]),
    "required option": ("threshold_frames(T, on => 't')", ["requires predicate", "predicate => 'speed"]),
    "one of several": ("aggregate_frames(T, on => 't', aggregate => 'sum(v)', op => '>')", ["requires limit"]),
    "no table": ("gap_frames(on => 't', gap => 1)", ["gap_frames expects a table", "TABLE(readings)"]),
    "a table by name": ("gap_frames(source => T, on => 't', gap => 1)", ["gap_frames expects a table"]),
    "options by position": ("gap_frames(T, 't', gap => 1)", ["by name", "on => 'ts'"]),
    "no constant": ("gap_frames(T, on => 't', gap => rand())", ["gap", "constant"]),
    "text for a count": ("threshold_frames(T, on => 't', predicate => 'v > 1', MIN_COUNT => '3')", ["min_count"]),
    "text for a number": ("boundary_frames(T, on => 't', grid => map('x', 'wide'))", ["'x'", "'wide'", "number"]),
    "text for truth": ("threshold_frames(T, on => 't', predicate => 'v > 1', segments => 'yes')", ["segments"]),
    "text for a map": ("delta_frames(T, on => 't', limits => 'x')", ["limits", "'x'", "dye=0.05"]),
    "text for a duration": ("gap_frames(T, on => 't', gap => '1 minute')", ["gap", "'1 minute'", "number"]),
    "a duration that is none": ("gap_frames(T, on => 't', gap => 'long')", ["'long'", "3 minutes"]),
    "months": ("gap_frames(T, on => 't', gap => interval 1 month)", ["gap", "months", "no fixed length"]),
    "months and days": ("gap_frames(T, on => 't', gap => make_interval(0, 1, 0, 2))", ["gap", "no fixed length"]),
    "negative gap": ("gap_frames(T, on => 't', gap => 1, max_gap => -1)", ["max_gap", "-1"]),
    "unknown policy": ("gap_frames(T, on => 't', gap => 1, nulls => 'no')", ["nulls", "'no'", "skip"]),
    "unknown operator": ("delta_frames(T, on => 't', limits => map('x', 1), op => '=')", ["'='", "<="]),
    "unknown reference": (
        "delta_frames(T, on => 't', limits => map('x', 1), reference => 'mean')",
        ["reference", "'mean'"],
    ),
    "frames of text": ("delta_frames(T, on => 't', limits => map('text', 1))", ["'text'", "string", "number"]),
    "unknown attribute": ("delta_frames(T, on => 't', limits => map('dye', 1))", ["'dye'", "'x'"]),
    "no aggregate": ("aggregate_frames(T, on => 't', aggregate => 'v', op => '>', limit => 1)", ["'v'", "sum(volume)"]),
    "unknown aggregate": (
        "aggregate_frames(T, on => 't', aggregate => 'medium(v)', op => '>', limit => 1)",
        ["'medium'", "mean"],
    ),
    "aggregate of nothing": ("gap_frames(T, on => 't', gap => 1, agg => map('n', 'sum()'))", ["agg 'n'", "sum(speed)"]),
    "agg of an unknown column": ("gap_frames(T, on => 't', gap => 1, agg => map('n', 'sum(a)'))", ["'a'", "'v'"]),
    "agg is text": ("gap_frames(T, on => 't', gap => 1, agg => 'sum(v)')", ["agg", "'sum(v)'", "map("]),
    "agg of text": ("gap_frames(T, on => 't', gap => 1, agg => map('n', 'sum(text)'))", ["'text'", "string"]),
    "agg named like a result": ("gap_frames(T, on => 't', gap => 1, agg => map('start', 'sum(v)'))", ["'start'"]),
    "predicate of an unknown column": ("threshold_frames(T, on => 't', predicate => 'pace < 40')", ["'pace'", "'x'"]),
    "close of an unknown column": ("threshold_frames(T, on => 't', predicate => 'x > 1', close => 'y < 1')", ["'y'"]),
    "predicate of another type": ("threshold_frames(T, on => 't', predicate => 'x + 1')", ["'x + 1'", "double"]),
    "predicate that cannot be read": ("threshold_frames(T, on => 't', predicate => 'x <')", ["'x <'"]),
    "predicate of an aggregate": ("threshold_frames(T, on => 't', predicate => 'sum(x) > 1')", ["aggregate"]),
    "windows without aggregates": ("slide_windows(T, on => 't', length => 5)", ["slide_windows requires agg", "map("]),
    "a step in rows": (
        "slide_windows(T, on => 't', length => 5, every => '2 rows', agg => map('n', 'count()'))",
        ["length", "both in time or both in rows"],
    ),
    "an unknown synopsis": (
        "slide_windows(T, on => 't', length => 5, agg => map('n', 'count()'), using => 'Magic')",
        ["unknown synopsis 'Magic'", "TwoStacks"],
    ),
    "predicate of chance": ("threshold_frames(T, on => 't', predicate => 'x > rand()')", ["not deterministic"]),
}  # fmt: skip


SEEN = (
    "unknown on", "no on", "unknown by", "unknown option", "required option", "no table", "no constant",
    "text for a duration", "months", "unknown aggregate", "agg is text", "predicate of an unknown column",
    "predicate that cannot be read",
)  # fmt: skip
"""Each is analyzed in a Python process of its own."""


@pytest.mark.parametrize("name", sweep(MISTAKES, *SEEN))
def test_a_mistake_is_one_sentence(spark, readings, name):
    call, words = MISTAKES[name]
    with pytest.raises(AnalysisException) as caught:
        spark.sql(f"SELECT * FROM {call.replace('T,', 'TABLE(readings),', 1)}")
    message = str(caught.value)
    assert message.startswith("[TABLE_VALUED_FUNCTION_FAILED_TO_ANALYZE_IN_PYTHON]")
    assert "Traceback" not in message
    assert "\n" not in message
    for word in words:
        assert word in message


def test_the_sentence_is_that_of_python(spark, readings):
    with pytest.raises(WindrowError) as expected:
        wr.frames(readings, wr.Threshold("x > 0"), on="t", by="lane")
    with pytest.raises(AnalysisException) as caught:
        spark.sql("SELECT * FROM threshold_frames(TABLE(readings), on => 't', by => 'lane', predicate => 'x > 0')")
    assert f": {expected.value} SQLSTATE" in str(caught.value)
    with pytest.raises(PySparkValueError, match="gap_frames expects a table"):
        functions.frames_handler(wr.Gap).analyze()


ONLY_SPARK = ["upper(text)", "null", "slow(x)", "upper(pace) = 1", "x in (1,,2)"]


@pytest.mark.parametrize("predicate", sweep(ONLY_SPARK, "upper(text)", "slow(x)"))
def test_what_only_spark_can_refuse_is_refused_before_any_job(spark, readings, predicate):
    with pytest.raises(AnalysisException):
        spark.sql(f"SELECT * FROM threshold_frames(TABLE(readings), on => 't', predicate => '{predicate}')")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("nullif(t, 7) AS t", "on: column 't' is null or NaN in some row"),
        long("if(t = 7, double('nan'), t) AS t", "on: column 't' is null or NaN in some row"),
        long("nullif(g, 1) AS g", "by: column 'g' is null or NaN in some row"),
        ("if(g = 1, double('nan'), g) AS g", "by: column 'g' is null or NaN in some row"),
    ],
)
def test_a_null_in_on_or_by_is_an_error_that_names_the_column(spark, readings, change, message):
    other = "g" if change.endswith(" t") else "t"
    source = f"TABLE(SELECT {other}, {change} FROM readings)"
    with pytest.raises(SparkRuntimeException) as caught:
        spark.sql(f"SELECT * FROM gap_frames({source}, on => 't', by => 'g', gap => 1)").collect()
    assert message in str(caught.value).splitlines()[0]
    assert "Traceback" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            "delta_frames(TABLE(readings), on => 't', limits => map('x', 1), nulls => 'error')",
            "column 'x' is null or NaN",
        ),
        (
            "threshold_frames(TABLE(readings), on => 't', predicate => 'x > 1', nulls => 'error')",
            "the predicate 'x > 1'",
        ),
    ],
)
def test_nulls_that_are_forbidden(spark, readings, call, message):
    with pytest.raises(SparkRuntimeException, match=f"{message}.* in some row: nulls='error' forbids that"):
        spark.sql(f"SELECT * FROM {call}").collect()


@pytest.mark.parametrize("kind", sweep(["timestamp", "timestamp_ntz", "date"], "timestamp"))
def test_a_time_that_python_has_no_datetime_for(spark, readings, kind):
    source = f"TABLE(SELECT cast(timestamp_seconds(t + 400000000000) AS {kind}) AS at FROM readings)"
    with pytest.raises(SparkRuntimeException, match="column 'at' has a value outside the years 1 to 9999"):
        spark.sql(f"SELECT * FROM gap_frames({source}, on => 'at', gap => '1 hour')").collect()


def test_a_stream_is_refused(spark, readings):
    spark.readStream.format("rate").load().createOrReplaceTempView("ticks")
    ticks = spark.sql("SELECT * FROM gap_frames(TABLE(ticks), on => 'value', gap => 3)")
    # Spark's own message, at the start of the query: `analyze` does not know that its table is a stream.
    with pytest.raises(AnalysisException, match="Sorting is not supported on streaming"):
        ticks.writeStream.format("noop").start()


def test_only_a_session_can_be_registered_with():
    with pytest.raises(SpecError, match="spark: expected a Spark session, got 'spark'"):
        wr.register_sql("spark")
