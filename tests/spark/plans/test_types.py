"""`on`, `by` and aggregated columns of every type that Spark users have, by every plan."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow as wr
from cases import frame_locally, rows_of
from every_type import IGNORED, KINDS, VALUES
from sweeps import sweep

pytestmark = pytest.mark.spark

X = [0.1, 0.9, 0.8, 0.2, 0.7, 0.6, 0.9, 0.1]
DAY = datetime.date(2024, 3, 28)
CLOCKS = {
    "timestamp": ("timestamp", [f"timestamp '2024-03-31 00:{i:02}:00'" for i in range(8)], "90 seconds"),
    "timestamp_ntz": ("timestamp_ntz", [f"timestamp_ntz '2024-03-31 00:{i:02}:00'" for i in range(8)], "90 seconds"),
    "date": ("date", [f"date '{DAY + datetime.timedelta(days=i)}'" for i in range(8)], "2 days"),
    "int": ("int", [str(i) for i in range(8)], 2),
    "bigint": ("bigint", [f"{2**60 + i}L" for i in range(8)], 2),
    "double": ("double", [f"{i / 2}d" for i in range(8)], 0.75),
    "float": ("float", [f"cast({i} as float)" for i in range(8)], 1.5),
}
KEYS = {"string": "'road'", "bigint": "7L", "date": "date '2024-01-01'", "boolean": "true", "decimal(9,2)": "1.25"}


def sources(spark, sql: str, folder):
    df = spark.sql(sql)
    path = str(folder / "data.parquet")
    df.coalesce(1).sortWithinPartitions("t").write.parquet(path)
    source = wr.parquet(spark, path)
    return {"scan": source, "native": df, "shuffle": df}


@pytest.mark.parametrize("name", sweep(CLOCKS, "timestamp", "date", "bigint", "float"))
def test_a_clock_of_each_type(spark, name, tmp_path):
    kind, values, duration = CLOCKS[name]
    rows = " union all ".join(f"select {v} as t, 'g' as g, {x}d as x" for v, x in zip(values, X, strict=True))
    scheme = wr.Threshold("x > 0.5", min_duration=duration)
    agg = {"first": wr.first("t"), "latest": wr.max("t"), "n": wr.count("t")}
    found = {}
    for plan, source in sources(spark, rows, tmp_path).items():
        assert wr.explain(source, scheme, on="t", by="g", agg=agg, plan=plan).plan == plan
        frames = wr.frames(source, scheme, on="t", by="g", agg=agg, plan=plan)
        assert dict(frames.dtypes)["start"] == dict(frames.dtypes)["closed_at"] == dict(frames.dtypes)["latest"] == kind
        found[plan] = rows_of(frames.toArrow(), ["g"])
    assert found["scan"] == found["native"] == found["shuffle"]
    (only,) = found["scan"]
    start, end, closed = only[2:5]
    assert (only[5], only[-1]) == (3, 3)
    wanted = spark.sql(f"select {values[4]} as a, {values[6]} as b, {values[7]} as c").toArrow().to_pylist()[0]
    assert (
        rows_of(pa.table({"frame": [0], "a": [start], "b": [end], "c": [closed]}), [])[0][1:]
        == rows_of(pa.table({"frame": [0], **{k: [v] for k, v in wanted.items()}}), [])[0][1:]
    )
    assert (only[7], only[8]) == (start, end)


@pytest.mark.parametrize("kind", sweep(KEYS, "string", "decimal(9,2)"))
def test_a_key_of_each_type(spark, kind, tmp_path):
    rows = " union all ".join(f"select {i} as t, cast({KEYS[kind]} as {kind}) as g, {x}d as x" for i, x in enumerate(X))
    found = {}
    for plan, source in sources(spark, rows, tmp_path).items():
        frames = wr.frames(source, wr.Threshold("x > 0.5"), on="t", by="g", plan=plan)
        assert dict(frames.dtypes)["g"] == kind
        found[plan] = rows_of(frames.toArrow(), ["g"])
    assert found["scan"] == found["native"] == found["shuffle"]
    assert [row[2:4] for row in found["scan"]] == [(1, 2), (4, 6)]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("string", "timestamp"),
        ("date", "timestamp_ntz"),
        ("boolean", "date"),
        ("decimal(9,2)", "double"),
        ("bigint", "int"),
    ],
)
def test_ranges_are_cut_by_keys_and_clocks_of_each_type(spark, kind, name, tune):
    rows = " union all ".join(
        f"select {v} as t, cast({KEYS[kind]} as {kind}) as g, {x}d as x"
        for v, x in zip(CLOCKS[name][1], X, strict=True)
    )
    df, scheme = spark.sql(rows), wr.Delta({"x": 0.5}, reference="first")
    expected = rows_of(wr.frames(df, scheme, on="t", by="g", plan="shuffle").toArrow(), ["g"])
    tune(by_ranges=True, sampled=1.0, fewest_sampled=1)
    assert "the tuning asks for ranges" in str(wr.explain(df, scheme, on="t", by="g", plan="shuffle"))
    assert rows_of(wr.frames(df, scheme, on="t", by="g", plan="shuffle").toArrow(), ["g"]) == expected


def test_groups_of_a_type_that_has_no_literals_are_not_cut(spark, tune):
    tune(sampled=1.0)
    df = spark.sql("select id as t, x'ff00' as g, cast(id % 5 as double) as x from range(2000)")
    assert "one group has about" not in str(wr.explain(df, wr.Delta({"x": 1}), on="t", by="g"))
    assert wr.frames(df, wr.Delta({"x": 1}), on="t", by="g").count() > 100


def test_change_of_columns_of_every_type(spark, tmp_path, tune):
    tune(fewest_rows_per_chunk=50, cores=3)
    rng = np.random.default_rng(1)
    # In each group, the column of one type changes and all others stay the same.
    rows = [
        (name, dict.fromkeys(KINDS, 0) | {name: int(i)}) for name in KINDS for i in rng.integers(0, 9, 30).repeat(2)
    ]
    chosen = [
        {kind: [*VALUES[kind], None][i % (len(VALUES[kind]) + 1)] for kind, i in places.items()} for _, places in rows
    ]
    order = rng.permutation(len(rows))
    columns = {kind: pa.array([chosen[i][kind] for i in order], KINDS[kind], from_pandas=False) for kind in KINDS}
    table = pa.table({"g": [rows[i][0] for i in order], "t": range(len(rows)), **columns})
    pq.write_table(table, tmp_path / "types.parquet", row_group_size=100)
    source = wr.parquet(spark, str(tmp_path / "types.parquet"))
    for scheme in (
        wr.Change([*KINDS]),
        wr.Change([*KINDS], ignore=[*IGNORED.values()], nulls="break", min_count=2),
    ):
        expected = rows_of(frame_locally(table, scheme, "t", ["g"], {}), ["g"])
        for plan, rows_from in {"scan": source, "native": source.df, "shuffle": source.df}.items():
            frames = wr.frames(rows_from, scheme, on="t", by="g", plan=plan)
            assert rows_of(frames.toArrow(), ["g"]) == expected, plan
            assert frames.dtypes[7:] == source.df.select(*KINDS).dtypes


def test_several_keys_across_chunks(spark, tmp_path, tune):
    tune(fewest_rows_per_chunk=10, cores=3)
    rows = [(f"r{i % 3}", i % 2, i, float(i // 5 % 2)) for i in range(120)]
    table = pa.table(dict(zip(("road", "lane", "t", "x"), map(list, zip(*rows, strict=True)), strict=True)))
    pq.write_table(table, tmp_path / "keys.parquet", row_group_size=20)
    source = wr.parquet(spark, str(tmp_path / "keys.parquet"))
    found = {
        plan: rows_of(
            wr.frames(s, wr.Boundary({"x": 1}), on="t", by=["road", "lane"], plan=plan).toArrow(), ["road", "lane"]
        )
        for plan, s in {"scan": source, "native": source.df, "shuffle": source.df}.items()
    }
    assert found["scan"] == found["native"] == found["shuffle"]
    assert {row[:2] for row in found["scan"]} == {(f"r{i}", j) for i in range(3) for j in range(2)}


def test_names_in_other_letters_and_with_dots(spark, tmp_path):
    df = spark.createDataFrame([(1, 0.9, 5), (2, 0.1, 6)], "`The.Time` int, Speed double, `vol ume` int")
    frames = wr.frames(df, wr.Threshold("speed > 0.5"), on="the.time", agg={"v": wr.sum("VOL UME")}, plan="native")
    assert frames.first()["v"] == 5
    shuffled = wr.frames(df, wr.Delta({"SPEED": 0.5}), on="the.time", by="vol ume", plan="shuffle")
    assert shuffled.columns[0] == "vol ume"
    assert shuffled.count() == 2
    pq.write_table(pa.table({"T": [1, 2], "X": [0.9, 0.1]}), tmp_path / "letters.parquet")
    source = wr.parquet(spark, str(tmp_path / "letters.parquet"))
    assert wr.frames(source, wr.Delta({"x": 2}), on="t", agg={"m": wr.mean("x")}, plan="scan").first()["m"] == 0.5


def test_ties_are_ordered_by_order_by_first(spark):
    rows = [(1, 2, 0.1), (1, 1, 0.9), (2, 1, 0.9)]
    df = spark.createDataFrame(rows, "t int, seq int, x double")
    forward = wr.frames(df, wr.Threshold("x > 0.5"), on="t", order_by="seq").collect()
    assert [(row["start"], row["end"], row["count"]) for row in forward] == [(1, 1, 1), (2, 2, 1)]
    backward = wr.frames(
        df.selectExpr("t", "-seq as seq", "x"), wr.Threshold("x > 0.5"), on="t", order_by="seq"
    ).collect()
    assert [(row["start"], row["end"], row["count"]) for row in backward] == [(1, 2, 2)]


def test_integers_are_summed_exactly(spark, tmp_path):
    big = 2**53 + 1
    pq.write_table(pa.table({"t": [1, 2, 3], "v": [big, 1, 1]}), tmp_path / "big.parquet")
    source = wr.parquet(spark, str(tmp_path / "big.parquet"))
    for plan, where in {"scan": source, "native": source.df, "shuffle": source.df}.items():
        frames = wr.frames(where, wr.Gap(5), on="t", agg={"s": wr.sum("v"), "m": wr.max("v")}, plan=plan)
        assert frames.first()["s"] == big + 2, plan
        assert frames.first()["m"] == big, plan
