"""Aggregates of text, binary values, decimals and Booleans, by every plan, in streams, fills and windows."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow as wr
from ordered_values import POOLS, aggregates_of, results_of
from streamed import run, stream
from windrow.errors import TypeMismatchError, UnsupportedError

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("few_buckets")]

COLUMNS = {"word": POOLS["text"], "raw": POOLS["binary"], "money": POOLS["decimal"], "flag": POOLS["Boolean"]}
AGG = {name: aggregate for column in COLUMNS for name, aggregate in aggregates_of(column).items()}
NATIVE = {name: aggregate for name, aggregate in AGG.items() if aggregate.spark_sql is not None}
SCHEME = wr.Threshold("x > 0.3")
START = datetime.datetime(2024, 3, 1, tzinfo=datetime.UTC)


def some_rows(n: int = 400, seed: int = 7) -> list[dict[str, Any]]:
    """Return rows of three groups, ordered by time, with nulls in every aggregated column."""
    chance = random.Random(seed)
    rows = []
    for i in range(n):
        row = {"t": START + datetime.timedelta(seconds=i), "i": i, "g": f"g{i % 3}", "x": chance.random()}
        for name, (_, choices) in COLUMNS.items():
            row[name] = chance.choice([None, *choices])
        rows.append(row)
    return rows


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    kinds = {"t": pa.timestamp("us", "UTC"), "i": pa.int64(), "g": pa.string(), "x": pa.float64()}
    kinds |= {name: kind for name, (kind, _) in COLUMNS.items()}
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in kinds.items()})


def expected_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        name: result for column in COLUMNS for name, result in results_of(column, [row[column] for row in rows]).items()
    }


def frames_of(rows: list[dict[str, Any]]) -> dict[tuple[str, int], dict[str, Any]]:
    """Return the aggregates of each frame of `SCHEME`, by group and first row."""
    frames: dict[tuple[str, int], dict[str, Any]] = {}
    for g in sorted({row["g"] for row in rows}):
        current: list[dict[str, Any]] = []
        for row in [*(row for row in rows if row["g"] == g), {"x": 0.0}]:
            if row["x"] > 0.3:
                current.append(row)
            elif current:
                frames[g, current[0]["i"]] = expected_of(current)
                current = []
    return frames


def results(table: pa.Table, agg: dict[str, Any], start: Callable[[Any], int]) -> dict[tuple[str, int], dict[str, Any]]:
    return {(row["g"], start(row["start"])): {name: row[name] for name in agg} for row in table.to_pylist()}


def seconds(start: datetime.datetime) -> int:
    """Return the time since the first row."""
    return round((start.astimezone(datetime.UTC) - START).total_seconds())


def only(frames: dict[Any, dict[str, Any]], agg: dict[str, Any]) -> dict[Any, dict[str, Any]]:
    return {key: {name: row[name] for name in agg} for key, row in frames.items()}


@pytest.mark.parametrize("plan", ["native", "shuffle", "scan"])
def test_frames_by_every_plan(spark, tmp_path, tune, plan):
    tune(fewest_rows_per_chunk=50, cores=3)
    rows, agg = some_rows(), NATIVE if plan == "native" else AGG
    pq.write_table(table_of(rows), tmp_path / "rows.parquet", row_group_size=40)
    source: Any = wr.parquet(spark, str(tmp_path / "rows.parquet"))
    source = source if plan == "scan" else source.df
    assert wr.explain(source, SCHEME, on="i", by="g", agg=agg, plan=plan).plan == plan
    frames = wr.frames(source, SCHEME, on="i", by="g", agg=agg, plan=plan)
    types = dict(frames.dtypes)
    assert [types[f"{name}_Max"] for name in COLUMNS] == ["string", "binary", "decimal(38,2)", "boolean"]
    assert results(frames.toArrow(), agg, int) == only(frames_of(rows), agg)


def test_frames_of_one_group_that_is_cut_into_ranges(spark, tune):
    rows = [row | {"g": "g"} for row in some_rows()]
    df = spark.createDataFrame(table_of(rows))
    tune(by_ranges=True, sampled=1.0, fewest_sampled=1)
    frames = wr.frames(df, SCHEME, on="i", by="g", agg=AGG, plan="shuffle")
    assert results(frames.toArrow(), AGG, int) == frames_of(rows)


def test_ties_in_time_are_ordered_by_text_in_every_plan(spark, tmp_path):
    words = ["b", None, "Z", "é", "a", "Z"]
    table = pa.table({"i": [1] * 6, "g": ["g"] * 6, "word": words, "x": [1.0] * 6})
    pq.write_table(table, tmp_path / "ties.parquet")
    source = wr.parquet(spark, str(tmp_path / "ties.parquet"))
    agg = {"first": wr.first("word"), "last": wr.last("word")}
    for plan in ("native", "shuffle", "scan"):
        frames = wr.frames(source if plan == "scan" else source.df, SCHEME, on="i", by="g", agg=agg, plan=plan)
        assert [(row["first"], row["last"]) for row in frames.collect()] == [("Z", "é")]


def test_a_stream(spark, tmp_path):
    rows = some_rows(120)
    (tmp_path / "in").mkdir()
    for i in range(3):
        pq.write_table(table_of(rows[i * 40 : i * 40 + 40]), tmp_path / "in" / f"{i}.parquet")
    frames = wr.frames(stream(spark, str(tmp_path / "in"), "0 seconds"), SCHEME, on="t", by="g", agg=AGG)
    table, _ = run(frames, tmp_path)
    reported = results(table, AGG, seconds)
    expected = frames_of(rows)
    assert len(reported) > 10
    assert reported == {key: expected[key] for key in reported}
    assert {(g, start) for g, start in expected if start < 100} <= set(reported)


def test_windows_of_a_stream(spark, tmp_path):
    rows = some_rows(120)
    (tmp_path / "in").mkdir()
    for i in range(2):
        pq.write_table(table_of(rows[i * 60 : i * 60 + 60]), tmp_path / "in" / f"{i}.parquet")
    windows = wr.slide(stream(spark, str(tmp_path / "in"), "0 seconds"), wr.Sliding("30 seconds", every="10 seconds"),
                       on="t", by="g", agg=AGG, buckets=2)  # fmt: skip
    table, _ = run(windows, tmp_path)
    reported = results(table, AGG, seconds)
    assert len(reported) > 20
    for (g, start), row in reported.items():
        assert row == expected_of([row for row in rows if row["g"] == g and start <= row["i"] < start + 30])


def test_a_fill_of_a_stream(spark, tmp_path):
    rows = some_rows(120)
    (tmp_path / "in").mkdir()
    for i in range(2):
        pq.write_table(table_of(rows[i * 60 : i * 60 + 60]), tmp_path / "in" / f"{i}.parquet")
    spans = [("g0", 3, 40), ("g1", 50, 90)]
    frames = spark.createDataFrame(
        [(g, i, START + datetime.timedelta(seconds=a), START + datetime.timedelta(seconds=b))
         for i, (g, a, b) in enumerate(spans)], "g string, frame long, start timestamp, end timestamp")  # fmt: skip
    filled = wr.fill(frames, stream(spark, str(tmp_path / "in"), "0 seconds"), on="t", by="g", agg=AGG)
    table, _ = run(filled, tmp_path)
    inside = {
        (g, start): expected_of([row for row in rows if row["g"] == g and start <= row["i"] <= end])
        for g, start, end in spans
    }
    assert results(table, AGG, seconds) == inside


def test_frames_in_sql(spark):
    rows = some_rows(60)
    wr.register_sql(spark)
    spark.createDataFrame(table_of(rows)).createOrReplaceTempView("ordered_values")
    calls = {f"{name}_{kind}": f"{kind}({name})" for name in COLUMNS for kind in ("first", "min", "mode")}
    calls |= {f"{name}_top": f"top_k({name}, 2)" for name in COLUMNS}
    texts = ", ".join(f"'{name}', '{call}'" for name, call in calls.items())
    frames = spark.sql(f"""SELECT * FROM threshold_frames(
        TABLE(ordered_values), on => 'i', by => 'g', predicate => 'x > 0.3', agg => map({texts}))""")
    reported = results(frames.toArrow(), calls, int)
    names = {"first": "First", "min": "Min", "mode": "Mode", "top": "TopK"}
    own = {name: f"{name.split('_')[0]}_{names[name.split('_')[1]]}" for name in calls}
    expected = frames_of(rows)
    assert reported == {key: {name: row[own[name]] for name in calls} for key, row in expected.items()}


def test_a_fill(spark):
    rows = some_rows(150)
    spans = [("g0", 3, 40), ("g1", 0, 149), ("g2", 90, 90)]
    frames = spark.createDataFrame([(g, i, start, end) for i, (g, start, end) in enumerate(spans)],
                                   "g string, frame long, start long, end long")  # fmt: skip
    filled = wr.fill(frames, spark.createDataFrame(table_of(rows)), on="i", by="g", agg=AGG)
    inside = {
        (g, start): expected_of([row for row in rows if row["g"] == g and start <= row["i"] <= end])
        for g, start, end in spans
    }
    assert results(filled.toArrow(), AGG, int) == inside


@pytest.mark.parametrize("agg", [AGG, {name: AGG[name] for name in AGG if name.endswith(("Min", "Max", "_Count"))}],
                         ids=["all", "aggregated by Spark SQL"])  # fmt: skip
def test_windows(spark, agg):
    rows = some_rows(120)
    windows = wr.slide(spark.createDataFrame(table_of(rows)), wr.Sliding(30, every=10), on="i", by="g", agg=agg)
    tables = windows.where("complete").toArrow()
    expected = {
        (g, start): expected_of([row for row in rows if row["g"] == g and start <= row["i"] < start + 30])
        for g in ("g0", "g1", "g2")
        for start in range(-20, 120, 10)
    }
    reported = results(tables, agg, int)
    assert len(reported) > 20
    assert reported == only({key: expected[key] for key in reported}, agg)


def test_text_with_a_collation_is_refused(spark):
    df = spark.sql("select id as t, 'a' collate UTF8_LCASE as word, 1.0d as x from range(3)")
    message = "agg 'least': column 'word' is of type string collate UTF8_LCASE; cast it to a plain string"
    with pytest.raises(TypeMismatchError, match=message):
        wr.frames(df, SCHEME, on="t", agg={"least": wr.min("word")})


def test_a_synopsis_of_decimals_is_refused(spark):
    df = spark.createDataFrame([(1, Decimal("1.5"))], "t long, money decimal(9, 2)")
    with pytest.raises(UnsupportedError, match="a synopsis stores numbers, but column 'money' is of type decimal"):
        wr.slide(df, wr.Sliding(30, every=10), on="t", agg={"most": wr.max("money")}, using={"most": "TwoStacks"})
