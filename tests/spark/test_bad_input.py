"""Every mistake a user can make in a call gets one clear error, before any Spark job runs where it can be known."""

from __future__ import annotations

import importlib
import inspect
import math
import warnings

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import ArithmeticException

import windrow as wr
from windrow.errors import (
    ColumnError,
    DataError,
    SessionError,
    SourceError,
    SpecError,
    TypeMismatchError,
    UnsupportedError,
    WindrowError,
)  # fmt: skip

pytestmark = pytest.mark.spark
session_module = importlib.import_module("windrow.spark.sessions")

HIT = wr.Threshold("speed < 40")


@pytest.fixture(scope="module")
def loops(spark):
    rows = [(1, "a", 55.0, 3), (2, "a", 31.0, 4), (3, "b", 28.0, None)]
    return spark.createDataFrame(rows, "minute int, road string, speed double, volume int")


def refusal(kind, call) -> str:
    with pytest.raises(kind) as caught:
        call()
    said = str(caught.value)
    assert "Py4J" not in said
    assert "JVM stacktrace" not in said
    assert "\n" not in said
    return said


MISTAKES = {
    "unknown on": (ColumnError, dict(on="minutes"), ["'minutes'", "'minute'", "'speed'"]),
    "unknown by": (ColumnError, dict(by="street"), ["by", "'street'", "'road'"]),
    "unknown by among several": (ColumnError, dict(by=["road", "lane"]), ["'lane'"]),
    "by twice": (ColumnError, dict(by=["road", "road"]), ["by", "'road'"]),
    "unknown order_by": (ColumnError, dict(order_by="id"), ["order_by", "'id'"]),
    "unknown aggregated column": (ColumnError, dict(agg={"n": wr.sum("cars")}), ["'cars'", "'volume'"]),
    "on is text": (TypeMismatchError, dict(on="road"), ["'road'", "string"]),
    "aggregate of text": (TypeMismatchError, dict(agg={"n": wr.sum("road")}), ["'road'", "string", "number"]),
    "agg that is not a dict": (SpecError, dict(agg=[wr.sum("volume")]), ["agg", "dict"]),
    "agg has no aggregate": (SpecError, dict(agg={"n": "volume"}), ["'n'", "'volume'"]),
    "agg named like a result": (ColumnError, dict(agg={"start": wr.count()}), ["'start'"]),
    "agg named like a result in other letters": (ColumnError, dict(agg={"Frame": wr.count()}), ["'Frame'"]),
    "agg named like by": (ColumnError, dict(by="road", agg={"road": wr.count()}), ["'road'"]),
    "unknown plan": (SpecError, dict(plan="fast"), ["'fast'", "native"]),
    "unknown policy": (SpecError, dict(nulls_on="ignore"), ["'ignore'", "drop"]),
    "on that is not a name": (SpecError, dict(on=3), ["3"]),
    "scan of a DataFrame": (UnsupportedError, dict(plan="scan"), ["wr.parquet"]),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_the_call(loops, name):
    kind, options, words = MISTAKES[name]
    said = refusal(kind, lambda: wr.frames(loops, HIT, **{"on": "minute", **options}))
    for word in words:
        assert word in said


SCHEMES = {
    "no scheme": (SpecError, "speed < 40", ["'speed < 40'"]),
    "predicate with an unknown column": (ColumnError, wr.Threshold("pace < 40"), ["pace", "'speed'"]),
    "predicate that is not a condition": (TypeMismatchError, wr.Threshold("speed + 1"), ["speed + 1", "double"]),
    "close with an unknown column": (ColumnError, wr.Threshold("speed < 40", close="pace > 1"), ["pace"]),
    "predicate with an unknown function": (SpecError, wr.Threshold("slow(speed)"), ["slow"]),
    "regular expression that is none": (SpecError, wr.Threshold("road rlike '('"), ["predicate", "'('", "regular"]),
    "unknown attribute": (ColumnError, wr.Delta({"dye": 1}), ["'dye'", "'speed'"]),
    "attribute of text": (TypeMismatchError, wr.Boundary({"road": 1}), ["'road'", "string"]),
    "unknown column of change": (ColumnError, wr.Change("state"), ["Change", "'state'", "'speed'"]),
    "value to ignore of another type": (SpecError, wr.Change("road", ignore=5), ["ignore", "'road'", "string", "5"]),
    "column of change that is named twice": (ColumnError, wr.Change(["road", "Road"]), ["'Road'"]),
    "aggregate of text": (TypeMismatchError, wr.Aggregate(wr.sum("road"), ">", 1), ["'road'"]),
    "interval on a numeric clock": (SpecError, wr.Threshold("speed < 40", min_duration="3 minutes"), ["min_duration"]),
    "session with an interval on a numeric clock": (SpecError, wr.Gap("3 minutes"), ["gap", "'3 minutes'"]),
}


@pytest.mark.parametrize("name", SCHEMES)
def test_a_scheme_that_does_not_fit_the_table(loops, name):
    kind, scheme, words = SCHEMES[name]
    said = refusal(kind, lambda: wr.frames(loops, scheme, on="minute"))
    for word in words:
        assert word in said


def test_a_number_as_duration_on_a_timestamp(spark):
    df = spark.sql("select timestamp '2024-01-01 00:00:00' as ts, 1.0d as speed")
    said = refusal(SpecError, lambda: wr.frames(df, wr.Threshold("speed < 40", min_duration=3), on="ts"))
    assert "min_duration" in said
    assert "3" in said


def test_the_native_plan_says_what_it_cannot_do(loops):
    assert "Delta" in refusal(
        UnsupportedError, lambda: wr.frames(loops, wr.Delta({"speed": 1}), on="minute", plan="native")
    )


@pytest.mark.parametrize(
    ("column", "rows"), [("on", [(None, "a"), (1, "a"), (None, "b")]), ("by", [(1, None), (2, None), (3, "a")])]
)
def test_nulls_in_on_and_by_are_counted(spark, column, rows):
    df = spark.createDataFrame(rows, "t int, g string").selectExpr("*", "1.0d as speed")
    said = refusal(DataError, lambda: wr.frames(df, HIT, on="t", by="g"))
    assert f"{column}: column" in said
    assert "in 2 rows" in said
    with pytest.warns(UserWarning, match="is null or NaN in 2"):
        kept = wr.frames(df, HIT, on="t", by="g", nulls_on="drop")
    assert kept.selectExpr("sum(count)").first()[0] == 1


def test_nan_in_on_is_refused_by_every_plan(spark, tmp_path):
    pq.write_table(pa.table({"t": [1.0, math.nan, 3.0], "speed": [1.0, 2.0, 3.0]}), tmp_path / "nan.parquet")
    source = wr.parquet(spark, str(tmp_path / "nan.parquet"))
    for where in (source, source.df):
        assert "in 1 row:" in refusal(DataError, lambda where=where: wr.frames(where, HIT, on="t"))


def test_nulls_in_a_parquet_source_are_counted_from_its_footers(spark, tmp_path):
    pq.write_table(pa.table({"t": [1, None, 3], "speed": [1.0, 2.0, 3.0]}), tmp_path / "null.parquet")
    source = wr.parquet(spark, str(tmp_path / "null.parquet"))
    assert "in 1 row:" in refusal(DataError, lambda: wr.frames(source, HIT, on="t"))
    with pytest.warns(UserWarning, match="is null or NaN in 1"):
        kept = wr.frames(source, HIT, on="t", nulls_on="drop")
    assert kept.first()["count"] == 2


def test_nulls_that_the_scheme_forbids_are_counted(loops):
    scheme = wr.Boundary({"volume": 5}, nulls="error")
    said = refusal(DataError, lambda: wr.frames(loops, scheme, on="minute"))
    assert "'volume'" in said
    assert "in 1 row" in said


@pytest.mark.parametrize("plan", ["native", "shuffle"])
def test_an_empty_table_gives_no_frames(spark, plan):
    df = spark.createDataFrame([], "t int, g string, speed double")
    found = wr.frames(df, HIT, on="t", by="g", agg={"n": wr.count()}, plan=plan)
    assert found.columns == ["g", "frame", "start", "end", "closed_at", "count", "complete", "n"]
    assert found.collect() == []


def test_an_empty_parquet_file_gives_no_frames(spark, tmp_path):
    schema = pa.schema([("t", pa.int32()), ("speed", pa.float64())])
    pq.write_table(schema.empty_table(), tmp_path / "empty.parquet")
    assert wr.frames(wr.parquet(spark, str(tmp_path / "empty.parquet")), HIT, on="t").collect() == []


def test_a_missing_folder(spark, tmp_path):
    assert "no such file or folder" in refusal(SourceError, lambda: wr.parquet(spark, str(tmp_path / "nowhere")))


def test_a_folder_without_parquet(spark, tmp_path):
    assert str(tmp_path) in refusal(SourceError, lambda: wr.parquet(spark, str(tmp_path)))


def test_a_half_written_file(spark, tmp_path):
    whole = tmp_path / "whole.parquet"
    pq.write_table(pa.table({"t": list(range(1000)), "speed": [1.0] * 1000}), whole)
    (tmp_path / "half.parquet").write_bytes(whole.read_bytes()[:-200])
    said = refusal(SourceError, lambda: wr.parquet(spark, str(tmp_path / "half.parquet")))
    assert "incomplete" in said


def test_one_half_written_file_among_whole_ones(spark, tmp_path):
    table = pa.table({"t": list(range(1000)), "speed": [1.0] * 1000})
    pq.write_table(table, tmp_path / "a.parquet")
    pq.write_table(table, tmp_path / "b.parquet")
    (tmp_path / "b.parquet").write_bytes((tmp_path / "b.parquet").read_bytes()[:-200])

    def read():
        wr.frames(wr.parquet(spark, str(tmp_path)), HIT, on="t")

    assert "b.parquet" in refusal(SourceError, read)


def test_a_path_that_is_none(spark):
    assert "None" in refusal(SpecError, lambda: wr.parquet(spark, None))


def test_a_table_with_two_columns_of_one_name(spark):
    df = spark.sql("select 1 as t, 2.0d as speed, 3.0d as speed")
    assert "ambiguous" in refusal(ColumnError, lambda: wr.frames(df, wr.Delta({"speed": 1}), on="t"))


def test_a_by_column_without_plain_equality(spark):
    df = spark.sql("select 1 as t, array(1) as g, 2.0d as speed")
    assert "'g'" in refusal(TypeMismatchError, lambda: wr.frames(df, HIT, on="t", by="g"))


def test_a_stream_needs_a_watermark(spark):
    stream = spark.readStream.format("rate").load()
    assert "withWatermark" in refusal(SpecError, lambda: wr.frames(stream, wr.Gap("1 second"), on="timestamp"))
    frames = spark.createDataFrame([], "frame long, start timestamp, end timestamp")
    assert "withWatermark" in refusal(SpecError, lambda: wr.fill(frames, stream, on="timestamp"))


def test_what_is_no_table_is_refused():
    assert "DataFrame" in refusal(SpecError, lambda: wr.frames([1, 2], HIT, on="t"))


def test_a_spark_that_is_too_old(monkeypatch, loops):
    monkeypatch.setattr(session_module, "OLDEST_SPARK", (99, 0))
    assert "99.0 or newer" in refusal(SessionError, lambda: wr.frames(loops, HIT, on="minute"))


def test_a_machine_without_java(monkeypatch):
    monkeypatch.setattr(session_module.SparkSession, "getActiveSession", lambda: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    assert "openjdk" in refusal(SessionError, wr.session)


def test_cores_that_are_none(monkeypatch):
    monkeypatch.setattr(session_module.SparkSession, "getActiveSession", lambda: None)
    assert "0" in refusal(SpecError, lambda: wr.session(cores=0))


def test_good_input_warns_of_nothing(loops):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert wr.frames(loops, HIT, on="minute").count() == 1


def make_total(factor: float):
    class Total(wr.AggregateFunction):
        zero = staticmethod(lambda: (0.0,))
        add = staticmethod(lambda s, x: (s[0] + x,))
        merge = staticmethod(lambda a, b: (a[0] + b[0],))
        finish = staticmethod(lambda s: s[0] * factor)

    return Total


def test_an_aggregate_that_is_defined_again_under_its_name_is_a_new_one(loops):
    for factor in (1.0, 100.0):
        frames = wr.frames(loops, HIT, on="minute", agg={"u": make_total(factor)("speed")})
        assert frames.first()["u"] == 59.0 * factor


def test_an_aggregate_that_does_not_compile_is_refused_before_any_job(loops):
    class Odd(wr.AggregateFunction):
        zero = staticmethod(lambda: (0.0,))
        add = staticmethod(lambda s, x: (float(str(x)) + len({}),))
        merge = staticmethod(lambda a, b: a)
        finish = staticmethod(lambda s: s[0])

    said = refusal(SpecError, lambda: wr.frames(loops, HIT, on="minute", agg={"u": Odd("speed")}))
    assert "odd('speed') cannot be compiled" in said


@pytest.mark.parametrize("rule", [lambda t, s: t.pace > 1, lambda t, s, f: f.pace > 1, lambda t, s: eval("t.speed")])
def test_custom_functions_that_do_not_compile_are_refused_before_any_job(loops, rule):
    scheme = wr.Custom(["speed"], open=rule, close=lambda t, s: False)
    assert "a function" in refusal(SpecError, lambda: wr.frames(loops, scheme, on="minute"))


def test_a_column_predicate_that_is_no_condition_on_one_row(loops):
    from pyspark.sql import functions as F

    refusal(SpecError, lambda: wr.frames(loops, wr.Threshold(F.sum("speed") < 3), on="minute"))


CHANCE = {
    "a random number": lambda: "rand() > 0.5",
    "a new name": lambda: "uuid() > 'a'",
    "a column of random numbers": lambda: functions().rand() > 0.5,
}


def functions():
    from pyspark.sql import functions as F

    return F


@pytest.mark.parametrize("chance", CHANCE)
@pytest.mark.parametrize("option", ["predicate", "close"])
def test_a_predicate_that_draws_chance(spark, loops, tmp_path, chance, option):
    drawn = CHANCE[chance]()
    scheme = wr.Threshold(drawn) if option == "predicate" else wr.Threshold("speed < 40", close=drawn)
    pq.write_table(pa.table({"minute": [1, 2], "speed": [1.0, 2.0]}), tmp_path / "loops.parquet")
    for source in (loops, wr.parquet(spark, tmp_path / "loops.parquet")):
        said = refusal(SpecError, lambda source=source: wr.frames(source, scheme, on="minute"))
        assert said.startswith(f"{option}: ")
        assert "is not deterministic" in said


def test_by_that_is_no_name(loops):
    assert "by: expected a column name or a list of column names, got 3" in refusal(
        SpecError, lambda: wr.frames(loops, HIT, on="minute", by=3)
    )


def test_no_session_for_parquet():
    assert "None" in refusal(SpecError, lambda: wr.parquet(None, "somewhere"))


def test_files_in_inner_folders_are_no_data(spark, tmp_path):
    (tmp_path / "x").mkdir()
    pq.write_table(pa.table({"t": [1], "speed": [1.0]}), tmp_path / "x" / "inner.parquet")
    refusal(SourceError, lambda: wr.parquet(spark, str(tmp_path)))
    pq.write_table(pa.table({"t": [2, 3], "speed": [1.0, 2.0]}), tmp_path / "outer.parquet")
    source = wr.parquet(spark, str(tmp_path))
    counts = {
        plan: [r["count"] for r in wr.frames(source, HIT, on="t", plan=plan).collect()] for plan in ("auto", "native")
    }
    assert counts["auto"] == counts["native"]


def test_files_with_other_columns_fall_back_and_agree(spark, tmp_path):
    pq.write_table(pa.table({"t": [1, 2], "speed": [1.0, 50.0]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"t": [3, 4]}), tmp_path / "b.parquet")
    source = wr.parquet(spark, str(tmp_path))
    assert "same columns" in str(wr.explain(source, HIT, on="t"))
    assert [row["count"] for row in wr.frames(source, HIT, on="t").collect()] == [1]


@pytest.mark.parametrize("plan", ["native", "shuffle"])
def test_a_half_written_file_is_found_by_every_plan(spark, tmp_path, plan):
    table = pa.table({"t": list(range(1000)), "speed": [1.0] * 1000})
    pq.write_table(table, tmp_path / "a.parquet")
    pq.write_table(table, tmp_path / "b.parquet")
    (tmp_path / "b.parquet").write_bytes((tmp_path / "b.parquet").read_bytes()[:-200])
    assert "b.parquet" in refusal(
        SourceError, lambda: wr.frames(wr.parquet(spark, str(tmp_path)), HIT, on="t", plan=plan)
    )


def test_timestamps_in_nanoseconds_are_named_as_such(spark, tmp_path):
    when = pa.array([1, 2], pa.timestamp("ns"))
    pq.write_table(pa.table({"t": when, "speed": [1.0, 2.0]}), tmp_path / "ns.parquet")
    assert "nanoseconds" in refusal(SourceError, lambda: wr.parquet(spark, str(tmp_path / "ns.parquet")))


def test_a_table_of_another_library_is_refused_with_the_way_to_make_a_dataframe():
    for table, way in (
        (pd.DataFrame({"minute": [1]}), "got a pandas DataFrame; convert it with spark.createDataFrame(df)"),
        (pl.DataFrame({"minute": [1]}), "got a polars DataFrame; convert it with spark.createDataFrame(df.to_arrow())"),
        (pa.table({"minute": [1]}), "got a pyarrow Table; convert it with spark.createDataFrame(table)"),
        ([1, 2], "source: expected a Spark DataFrame, got [1, 2]; Parquet files can be opened with wr.parquet"),
    ):
        for call in (
            lambda table=table: wr.frames(table, HIT, on="minute"),
            lambda table=table: wr.slide(table, wr.Tumbling(2), on="minute", agg={"n": wr.count()}),
            lambda table=table: wr.explain(table, HIT, on="minute"),
        ):
            assert way in refusal(SpecError, call)


def test_a_checkpoint_that_spark_cannot_open_is_named(spark):
    for path in ("/data/my checkpoint", "/data/100%", "/data/a#b", " "):
        said = refusal(SourceError, lambda path=path: wr.open_frames(spark, path))
        assert "Spark cannot read a state at this path" in said
        assert refusal(SourceError, lambda path=path: wr.buffer_stats(spark, path)) == said
    assert refusal(SpecError, lambda: wr.open_frames(None, "/data/state")).startswith(
        "spark: expected a Spark session, got None"
    )
    assert "operator: expected" in refusal(SpecError, lambda: wr.open_frames(spark, "/data/state", operator=-1))


class Unshowable:
    def __repr__(self):
        raise RuntimeError("no repr")


def hostile(spark) -> dict:
    """What no argument of a verb can be, each a type of its own; most break `==`, `if`, `repr` or attribute access."""
    deep: list = []
    for _ in range(3_000):
        deep = [deep]
    return {
        "a number": 3.5, "an endless number": 10**5000, "a long text": "x" * 100_000, "a text of lines": "a\nb`'\"",
        "half a character": "\ud800", "bytes": b"x", "nulls": [None], "nothing by name": {"a": None}, "a set": {1},
        "no names": {1: wr.sum("speed")}, "many names": [f"n{i}" for i in range(10_000)], "names twice": ["road"] * 2,
        "a nested list": deep, "a function": refusal, "an object": Unshowable(), "pandas": pd.DataFrame({"x": [1]}),
        "polars": pl.DataFrame({"x": [1]}), "arrow": pa.table({"x": [1]}), "a column": functions().col("speed") > 1,
        "an aggregate": wr.sum("speed"), "a session": spark, "a class": wr.Threshold, "a month": "1 month",
        "an aggregate of nothing": {"n": wr.sum("nothing")}, "a scheme by name": {"n": HIT}, "a switch": "True",
    }  # fmt: skip


@pytest.fixture(scope="module")
def verbs(spark, loops, tmp_path_factory):
    """Calls that are right, and their arguments."""
    folder = tmp_path_factory.mktemp("verbs")
    pq.write_table(pa.table({"minute": [1], "speed": [1.0]}), folder / "loops.parquet")
    table = loops.selectExpr("minute", "road", "speed").where("minute is not null")
    stream = spark.readStream.format("rate").load().withWatermark("timestamp", "1 second")
    jams = spark.createDataFrame([], "frame long, start int, end int")
    columns = "closed_at int, count long, complete boolean, fragment long, final boolean"
    pieces = spark.createDataFrame([], f"frame long, start int, end int, {columns}")
    totals = {"total": wr.sum("value")}
    minutes = wr.Tumbling("1 minute")
    return {
        "frames": (wr.frames, dict(source=table, scheme=HIT, on="minute")),
        "frames of a stream": (wr.frames, dict(source=stream, scheme=wr.Gap("1 hour"), on="timestamp")),
        "slide": (wr.slide, dict(source=table, windows=wr.Tumbling(2), on="minute", agg={"n": wr.sum("speed")})),
        "slide of a stream": (wr.slide, dict(source=stream, windows=minutes, on="timestamp", agg=totals)),
        "explain": (wr.explain, dict(source=table, what=HIT, on="minute")),
        "fill": (wr.fill, dict(frames=jams, source=table, on="minute")),
        "widen": (wr.widen, dict(frames=jams, before=1)),
        "assemble": (wr.assemble, dict(fragments=pieces)),
        "parquet": (wr.parquet, dict(spark=spark, path=str(folder))),
        "open_frames": (wr.open_frames, dict(spark=spark, checkpoint=str(folder))),
        "migrate": (wr.migrate, dict(spark=spark, checkpoint=str(folder))),
        "register_sql": (wr.register_sql, dict(spark=spark)),
        "guard": (wr.guard, dict(stream=spark.readStream.format("rate").load(), on="timestamp")),
        "advise": (wr.advise, dict(aggregate=wr.median("speed"), retention=100, slide=10)),
    }


VERBS = (
    "frames", "frames of a stream", "slide", "slide of a stream", "explain", "fill", "widen", "assemble",
    "parquet", "open_frames", "migrate", "register_sql", "advise", "guard",
)  # fmt: skip


@pytest.mark.parametrize("name", VERBS)
def test_whatever_is_put_in_place_of_an_argument_of_a_verb_is_refused_in_our_words(spark, verbs, name):
    verb, right = verbs[name]
    for option in inspect.signature(verb).parameters:
        for kind, value in hostile(spark).items():
            if (option, kind) in (("spark", "a session"), ("aggregate", "an aggregate")):
                continue
            with pytest.raises(WindrowError) as caught:
                verb(**{**right, option: value})
            said = str(caught.value)
            assert len(said) <= 2_000
            assert not [word for word in ("\n", "Py4J", "error occurred while calling") if word in said], (option, kind)
            assert option in said or option in ("path", "what"), (option, kind, said)


def test_a_state_that_is_none_of_migrate_is_refused(spark, loops):
    stream = spark.readStream.format("rate").load().withWatermark("timestamp", "1 second")
    for initial, what in (
        (loops, "a table of the columns ['minute', 'road', 'speed', 'volume']"),
        (stream, "a stream"),
    ):
        for call in (
            lambda initial=initial: wr.frames(stream, wr.Gap("1 hour"), on="timestamp", initial=initial),
            lambda initial=initial: wr.slide(
                stream, wr.Tumbling("1 hour"), on="timestamp", agg={"n": wr.sum("value")}, initial=initial
            ),
        ):
            assert refusal(SpecError, call) == (
                f"initial: expected the result of wr.migrate, a table of 'bucket' and 'data', got {what}"
            )


def test_a_switch_for_windows_is_checked_where_frames_are_explained(loops):
    for option in ("empty", "only_changed"):
        assert refusal(SpecError, lambda option=option: wr.explain(loops, HIT, on="minute", **{option: 0})) == (
            f"{option}: expected True or False, got 0"
        )
    assert "applies only to windows" in refusal(UnsupportedError, lambda: wr.explain(loops, HIT, on="minute", using={}))


def test_a_division_by_zero_is_one_error_in_every_plan(spark, tmp_path):
    pq.write_table(pa.table({"t": [1, 2], "x": [0, 1]}), tmp_path / "zero.parquet")
    source = wr.parquet(spark, tmp_path / "zero.parquet")
    wr.register_sql(spark)
    source.df.createOrReplaceTempView("zero")
    said = "the expression '1 / x > 0' cannot be computed for some row: Division by zero."
    in_sql = "select * from threshold_frames(TABLE(zero), on => 't', predicate => '1 / x > 0')"
    for run in (
        lambda: wr.frames(source, wr.Threshold("1 / x > 0"), on="t").collect(),
        lambda: wr.frames(source.df, wr.Threshold("1 / x > 0"), on="t", plan="native").collect(),
        lambda: wr.frames(source.df, wr.Threshold("1 / x > 0"), on="t", plan="shuffle").collect(),
        lambda: spark.sql(in_sql).collect(),
    ):
        with pytest.raises(ArithmeticException) as caught:
            run()
        found = wr.failure(caught.value)
        assert isinstance(found, DataError)
        assert str(found).startswith(said)
    strict = wr.Threshold("1 / x > 0", nulls="error")
    assert refusal(DataError, lambda: wr.frames(source.df, strict, on="t")).startswith(said)
    for zero in ("x / 0 > 1", "1 / 0 > x"):
        assert "divides by zero" in refusal(SpecError, lambda zero=zero: wr.frames(source, wr.Threshold(zero), on="t"))
    tolerant = wr.frames(source, wr.Threshold("try_divide(1, x) > 0"), on="t")
    assert [(row.start, row.end) for row in tolerant.collect()] == [(2, 2)]
