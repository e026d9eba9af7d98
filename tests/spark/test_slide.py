"""Windows on Spark: the same by every plan, and by Spark's own `window`, for tables and for streams."""

from __future__ import annotations

import datetime
import os
import shutil
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import windrow as wr
from streamed import run
from sweeps import long, sweep

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("few_buckets")]

SECOND = 1_000_000
DELAY = 40
KINDS = [
    wr.Sliding("5 minutes", every="1 minute"),
    wr.Tumbling("2 minutes", emit="30 seconds"),
    wr.Landmark("10 minutes"),
]
NATIVE = {
    "n": wr.count(), "xs": wr.count("x"), "cars": wr.sum("k"), "total": wr.sum("x"), "mean": wr.mean("x"),
    "low": wr.min("x"), "late": wr.max("t"), "var": wr.variance("x"), "sd": wr.stddev("k"),
    "cov": wr.covariance("x", "k"), "slope": wr.slope("x", "k"),
}  # fmt: skip
FREE = {
    **NATIVE, "median": wr.median("x"), "distinct": wr.count_distinct("k"), "top": wr.top_k("k", 2),
    "kurtosis": wr.kurtosis("x"), "bins": wr.histogram("x", (-1.0, 0.0, 1.0)),
}  # fmt: skip
ORDERED = {"first": wr.first("x"), "last": wr.last("k"), "n": wr.count(), "median": wr.median("x")}


@pytest.fixture(scope="module")
def readings() -> pa.Table:
    """Rows of an hour, in the order of arrival, which is not quite that of time; one group falls silent."""
    rng = np.random.default_rng(8)
    n = 3_000
    t = np.sort(rng.integers(0, 3_600, n)) * SECOND + 7 * 3_600 * SECOND
    g = rng.integers(0, 12, n)
    g[(t > 8 * 3_600 * SECOND - 1_800 * SECOND) & (g == 3)] = 4
    x = np.round(rng.normal(size=n), 3)
    table = pa.table({
        "t": pa.array(t, pa.timestamp("us", "UTC")), "g": g, "lane": pa.array([f"l{v % 2}" for v in g]),
        "x": pa.array(x, mask=rng.random(n) < 0.1), "k": pa.array(rng.integers(-5, 50, n), pa.int32()),
    })  # fmt: skip
    return table.take(pa.array(np.argsort(t + rng.integers(0, DELAY * SECOND // 2, n))))


@pytest.fixture(scope="module")
def landed(readings, tmp_path_factory) -> str:
    """The rows as files in the order of arrival."""
    folder = tmp_path_factory.mktemp("slide") / "in"
    folder.mkdir()
    for i in range(4):
        path = folder / f"part-{i}.parquet"
        pq.write_table(readings.slice(i * 750, 750), path, row_group_size=300)
        os.utime(path, (1_600_000_000 + i, 1_600_000_000 + i))
    return str(folder)


def sorted_rows(found: DataFrame, keys: list[str]) -> pd.DataFrame:
    frame = found.toPandas().sort_values(keys).reset_index(drop=True)
    for name in frame.columns:
        if frame[name].map(type).isin([list, np.ndarray]).any():
            frame[name] = frame[name].map(lambda cell: repr([*cell]) if cell is not None else None)
    return frame


def check_same(found: DataFrame, wanted: DataFrame, keys: list[str]) -> None:
    a, b = sorted_rows(found, keys), sorted_rows(wanted, keys)
    assert len(a) > 10
    pd.testing.assert_frame_equal(a, b, check_dtype=True, rtol=1e-9, atol=1e-9)


KEYS = ["g", "window", "end"]


def test_every_plan_finds_the_same_windows(spark, landed, tune):
    tune(cores=3)
    source = wr.parquet(spark, landed)
    arguments: dict[str, Any] = {"on": "t", "by": "g", "agg": NATIVE}
    wanted = wr.slide(source.df.repartition(5), KINDS, **arguments, plan="shuffle")
    check_same(wr.slide(source.df, KINDS, **arguments, plan="native"), wanted, KEYS)
    check_same(wr.slide(source, KINDS, **arguments, plan="scan"), wanted, KEYS)


@pytest.mark.long
def test_a_parquet_source_takes_the_native_plan_as_well(spark, landed):
    source = wr.parquet(spark, landed)
    arguments: dict[str, Any] = {"on": "t", "by": "g", "agg": NATIVE}
    by_scan = wr.slide(source, KINDS, **arguments, plan="scan")
    check_same(wr.slide(source, KINDS, **arguments, plan="native"), by_scan, KEYS)


@pytest.mark.parametrize(
    ("by", "per_bucket"), [("g", 400), long(["lane", "k"], 400), long(None, 400), long(None, 4_000)]
)
def test_panes_travel_in_pieces(spark, landed, tune, by, per_bucket):
    """More buckets than tasks, of which some stay empty; most panes come from several tasks. One group is sorted."""
    tune(cores=3, rows_per_bucket=per_bucket)
    source = wr.parquet(spark, landed)
    agg = {"n": wr.count(), "total": wr.sum("x"), "median": wr.median("x")}
    arguments: dict[str, Any] = {"on": "t", "by": by, "agg": agg}
    keys = [*([by] if isinstance(by, str) else by or []), "window", "end"]
    found = wr.slide(source, KINDS, **arguments, plan="scan")
    check_same(found, wr.slide(source.df, KINDS, **arguments, plan="shuffle"), keys)
    assert found.rdd.getNumPartitions() == (8 if by else 1)


def test_both_zeros_are_one_group(spark, tmp_path, tune):
    tune(cores=2, rows_per_bucket=1)
    for i, zero in enumerate([0.0, -0.0]):
        pq.write_table(pa.table({"t": [i, i + 1], "g": [zero, zero], "x": [1.0, 2.0]}), tmp_path / f"{i}.parquet")
    found = wr.slide(wr.parquet(spark, tmp_path), wr.Tumbling(10), on="t", by="g", agg={"n": wr.count()}, plan="scan")
    assert [(row.g, row.n) for row in found.collect()] == [(0.0, 4)]


def test_windows_are_those_of_spark(spark, landed):
    df = spark.read.parquet(landed)
    cut = F.window("t", "5 minutes", "1 minute").alias("w")
    theirs = df.groupBy("g", "lane", cut).agg(
        F.count("*").alias("n"), F.sum("k").alias("cars"), F.var_samp("x").alias("var"), F.kurtosis("x").alias("kurt")
    )
    theirs = theirs.select("g", "lane", "w.start", "w.end", "n", "cars", "var", "kurt")
    agg = {"n": wr.count(), "cars": wr.sum("k"), "var": wr.variance("x"), "kurt": wr.kurtosis("x")}
    ours = wr.slide(df, KINDS[0], on="t", by=["g", "lane"], agg=agg)
    check_same(ours.drop("complete"), theirs, ["g", "lane", "end"])


def test_aggregates_without_a_native_form(spark, landed):
    source = wr.parquet(spark, landed)
    kinds = {"long": KINDS[0], "short": KINDS[1]}
    ours = wr.slide(source, kinds, on="t", by="g", agg=FREE)
    check_same(ours, wr.slide(source.df.repartition(3), kinds, on="t", by="g", agg=FREE), KEYS)
    median = F.expr("percentile_disc(0.5) within group (order by x)").alias("median")
    cut = F.window("t", "5 minutes", "1 minute").alias("w")
    theirs = source.df.groupBy("g", cut).agg(F.count_distinct("k").alias("distinct"), median)
    long = ours.where("window = 'long'").select("g", "start", "end", "distinct", "median")
    check_same(long, theirs.select("g", "w.start", "w.end", "distinct", "median"), ["g", "end"])


def test_windows_that_are_counted(spark, landed):
    df = spark.read.parquet(landed)
    agg = {"n": wr.count(), "first": wr.first("k"), "last": wr.last("k"), "total": wr.sum("k")}
    found = wr.slide(df.repartition(4), wr.Rows(20, every=5), on="t", by="g", agg=agg, order_by=["k", "x"])
    rows = df.toPandas().sort_values(["g", "t", "k", "x"], na_position="first")
    wanted = []
    for g, mine in rows.groupby("g"):
        for end in range(5, len(mine) + 5, 5):
            part = mine.iloc[max(0, end - 20) : end]
            ks = part["k"].tolist()
            whole = 20 <= end <= len(mine)
            wanted.append((g, part["t"].iloc[0], part["t"].iloc[-1], whole, len(ks), ks[0], ks[-1], sum(ks)))
    found_rows = sorted(map(tuple, found.toPandas().itertuples(index=False)), key=repr)
    assert found_rows == sorted(wanted, key=repr)
    times = wr.slide(df, wr.DistinctTimes(3), on="t", agg={"n": wr.count()}).where("complete").toPandas()
    counts = df.groupBy("t").count().orderBy("t").toPandas()["count"]
    assert sorted(times["n"]) == sorted(counts.rolling(3).sum().dropna().astype(int))


@pytest.mark.parametrize("kind", sweep(["date", "int", "timestamp_ntz", "double"], "date", "double"))
def test_on_of_any_type(spark, kind):
    days = np.arange(-40, 40, 3)
    df = spark.createDataFrame(pd.DataFrame({"d": days, "v": np.arange(days.size)}))
    on = {
        "date": F.date_add(F.lit(datetime.date(1970, 1, 1)), F.col("d").cast("int")),
        "int": F.col("d").cast("int"),
        "timestamp_ntz": F.expr("timestampadd(DAY, d, TIMESTAMP_NTZ'1970-01-01 00:00:00')"),
        "double": F.col("d").cast("double"),
    }[kind]
    number = {"date": "unix_date(end)", "timestamp_ntz": "timestampdiff(DAY, TIMESTAMP_NTZ'1970-01-01 00:00:00', end)"}
    window = wr.Sliding(14, every=7) if kind in ("int", "double") else wr.Sliding("14 days", every="7 days")
    arguments: dict[str, Any] = {"on": "on", "agg": {"n": wr.count(), "total": wr.sum("v"), "last": wr.max("on")}}
    for plan in ("native", "shuffle"):
        found = wr.slide(df.withColumn("on", on), window, **arguments, plan=plan)
        assert {dict(found.dtypes)[name] for name in ("start", "last")} == {kind}
        assert found.where("last < start or last >= end").isEmpty()
        ends = found.select(F.expr(number.get(kind, "cast(end as int)")).alias("end"), "n", "total").toPandas()
        wanted = []
        for end in range(-49, 70, 7):
            inside = [i for i, d in enumerate(days) if end - 14 <= d < end]
            if inside:
                wanted.append((end, len(inside), sum(inside)))
        assert sorted(map(tuple, ends.to_numpy().tolist())) == wanted


def stream(spark, folder: str, delay: str | None = f"{DELAY} seconds") -> DataFrame:
    read = spark.readStream.schema(spark.read.parquet(folder).schema).option("maxFilesPerTrigger", 1).parquet(folder)
    return read.withWatermark("t", delay) if delay else read


@pytest.mark.parametrize(
    ("kinds", "agg", "options"),
    [
        (KINDS, FREE, {"empty": True}),
        long(KINDS[0], ORDERED, {"only_changed": True}),
        long(wr.Rows(10, every=3), ORDERED, {"using": {"median": "Ordered"}}),
    ],
    ids=["time", "order", "rows"],
)
def test_a_stream_gives_the_windows_of_a_table(spark, landed, kinds, agg, options, tmp_path):
    arguments: dict[str, Any] = {"on": "t", "by": "g", "agg": agg, "order_by": ["k", "x"], **options}
    folder, counts = tmp_path / "in", []
    folder.mkdir()
    for parts in ((0, 1), (2, 3)):
        # The query is stopped between the second file and the third, and resumes from its checkpoint.
        for part in parts:
            shutil.copy2(f"{landed}/part-{part}.parquet", folder)
        found, progress = run(wr.slide(stream(spark, str(folder)), kinds, **arguments, buckets=3), tmp_path)
        counts += [metrics for p in progress for metrics in p["observedMetrics"].values()]
    assert (sum(m["arrived"] for m in counts), sum(m["late"] for m in counts)) == (3_000, 0)
    rest = wr.slide(stream(spark, str(folder)), kinds, **arguments, flush=str(tmp_path / "checkpoint")).drop("known_at")
    assert found.num_rows > 100
    assert rest.count() > 0
    got = spark.createDataFrame(found.to_pandas(), rest.schema).unionAll(rest)
    keys = ["g", "window", "end", "start"] if isinstance(kinds, list) else ["g", "end", "start", "n"]
    wanted = wr.slide(spark.read.parquet(landed), kinds, **arguments)
    # The watermark is past windows of a group that has fallen silent; a table knows only what its group says.
    check_same(got.drop("complete"), wanted.drop("complete"), keys)


def test_late_rows_come_back(spark, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for i, seconds in enumerate(([10, 100], [200], [300], [50, 290])):
        t = pa.array([at * SECOND for at in seconds], pa.timestamp("us", "UTC"))
        pq.write_table(pa.table({"t": t, "g": [1] * len(seconds)}), folder / f"{i}.parquet")
        os.utime(folder / f"{i}.parquet", (1_600_000_000 + i, 1_600_000_000 + i))
    windows = wr.slide(stream(spark, str(folder), "0 seconds"), wr.Tumbling("1 minute"), on="t", by="g",
                       agg={"n": wr.count()}, late="emit", buckets=2)  # fmt: skip
    found, progress = run(windows, tmp_path)
    counts = [metrics for p in progress for metrics in p["observedMetrics"].values()]
    assert (sum(m["arrived"] for m in counts), sum(m["late"] for m in counts)) == (6, 1)
    late = [row for row in found.to_pylist() if row["late"] is not None]
    assert [(row["g"], row["late"]["t"].timestamp(), row["n"]) for row in late] == [(1, 50.0, None)]
    counts = {row["end"].timestamp(): row["n"] for row in found.to_pylist() if row["late"] is None}
    assert counts == {60.0: 1, 120.0: 1, 240.0: 1, 300.0: 1}


def test_an_ordered_stream_needs_no_watermark(spark, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for i in range(3):
        pq.write_table(pa.table({"t": np.arange(i * 10, i * 10 + 10), "v": np.ones(10)}), folder / f"{i}.parquet")
        os.utime(folder / f"{i}.parquet", (1_600_000_000 + i, 1_600_000_000 + i))
    windows = wr.slide(stream(spark, str(folder), None), wr.Sliding(10, every=5), on="t", ordered=True,
                       agg={"n": wr.count()})  # fmt: skip
    found, _ = run(windows, tmp_path)
    assert sorted(zip(found["end"].to_pylist(), found["n"].to_pylist(), strict=True)) == [
        (5, 5), (10, 10), (15, 10), (20, 10), (25, 10)
    ]  # fmt: skip
    assert all(found["complete"].to_pylist())


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"windows": "5 minutes"}, wr.SpecError, r"windows: expected a window spec, e\.g\. .*got '5 minutes'"),
        ({"windows": []}, wr.SpecError, r"windows: expected a window spec.*got \[\]"),
        ({"windows": [KINDS[0], KINDS[0]]}, wr.SpecError, "windows: expected each window spec once"),
        ({"windows": {1: KINDS[0]}}, wr.SpecError, "windows: expected a name for each window spec, got 1"),
        ({"windows": [KINDS[0], wr.Rows(5)]}, wr.SpecError, "cannot share panes; call wr.slide once for each"),
        ({"windows": wr.Sliding(10, every=5)}, wr.SpecError, "10"),
        ({"windows": wr.Sliding("1 minute", every="5 minutes")}, wr.SpecError, "every='5 minutes' is longer"),
        ({"agg": {}}, wr.SpecError, r"agg: wr\.slide requires at least one aggregate, e\.g\. \{'cars'"),
        ({"agg": {"end": wr.count()}}, wr.ColumnError, "two columns named 'end'"),
        ({"agg": {"m": wr.mean("lane")}}, wr.TypeMismatchError, "'lane' is of type string"),
        ({"by": "sensor"}, wr.ColumnError, "no column named 'sensor'"),
        ({"plan": "fast"}, wr.SpecError, "plan: expected one of auto, native, shuffle, scan; got 'fast'"),
        ({"plan": "scan"}, wr.UnsupportedError, "open them with wr.parquet"),
        (
            {"plan": "native", "agg": {"m": wr.median("x")}},
            wr.UnsupportedError,
            "Spark SQL cannot compute the partial state of the aggregate median",
        ),
        ({"empty": 1}, wr.SpecError, "empty: expected True or False, got 1"),
        ({"late": "emit"}, wr.UnsupportedError, "is only for streams"),
        ({"on": "lane"}, wr.TypeMismatchError, "on: column 'lane'"),
    ],
)
def test_what_is_wrong_is_said_before_any_job(spark, landed, change, error, said):
    arguments: dict[str, Any] = {"windows": KINDS[0], "on": "t", "by": "g", "agg": {"n": wr.count()}, **change}
    with pytest.raises(error, match=said):
        wr.slide(spark.read.parquet(landed), **arguments)


def test_nulls_have_no_place_in_a_window(spark):
    df = spark.createDataFrame([(1, 1), (None, 2)], "t int, g int")
    arguments: dict[str, Any] = {"on": "t", "by": "g", "agg": {"n": wr.count()}}
    with pytest.raises(wr.DataError, match="on: column 't' is null or NaN in 1 row"):
        wr.slide(df, wr.Tumbling(5), **arguments)
    with pytest.warns(UserWarning, match="dropped rows"):
        assert wr.slide(df, wr.Tumbling(5), **arguments, nulls_on="drop").count() == 1


def test_sums_past_64_bits_are_an_error_and_not_a_number(spark):
    df = spark.createDataFrame([(i, 2**62) for i in range(4)], "t int, v long")
    for plan in ("native", "shuffle"):
        with pytest.raises(Exception, match="exceeds 64 bits"):
            wr.slide(df, wr.Tumbling(10), on="t", agg={"s": wr.sum("v")}, plan=plan).collect()


def test_explain_says_which_plan_and_why(spark, landed):
    source = wr.parquet(spark, landed)
    arguments: dict[str, Any] = {"on": "t", "by": "g"}
    assert "plan: scan" in str(wr.explain(source, KINDS, **arguments, agg=NATIVE))
    assert "plan: native" in str(wr.explain(source.df, KINDS, **arguments, agg=NATIVE))
    text = str(wr.explain(source, KINDS, **arguments, agg=ORDERED))
    assert "plan: shuffle" in text
    assert "depend on the order of rows" in text
    with pytest.raises(wr.UnsupportedError, match="applies only to windows"):
        wr.explain(source, wr.Gap("1 minute"), on="t", empty=True)
    with pytest.raises(wr.UnsupportedError, match="applies only to frames"):
        wr.explain(source, KINDS, **arguments, agg=NATIVE, fragments=True)


@pytest.mark.parametrize(
    "window",
    [wr.Rows(400, every=2), long(wr.DistinctTimes(150)), long(wr.Sliding("20 minutes", every="10 seconds"))],
    ids=["rows", "times", "time"],
)
def test_what_the_planner_chooses_gives_the_same(spark, landed, window):
    agg = {"median": wr.median("x"), "low": wr.quantile("k", 0.05), "often": wr.mode("k"), "n": wr.count()}
    arguments: dict[str, Any] = {"on": "t", "by": "g", "agg": agg, "order_by": ["k", "x"]}
    df = spark.read.parquet(landed)
    text = str(wr.explain(df, window, **arguments))
    assert "the model predicts" in text
    keys = ["g", "end", "start", "n"]
    check_same(wr.slide(df, window, **arguments), wr.slide(df, window, **arguments, using=None), keys)


def test_only_what_is_not_requested_is_chosen(spark, landed):
    df = spark.read.parquet(landed)
    arguments: dict[str, Any] = {"on": "t", "by": "g", "agg": {"m": wr.median("x"), "q": wr.quantile("x", 0.9)}}
    text = str(wr.explain(df, wr.Rows(2_000), **arguments, using={"m": None, "q": wr.Keep("ArasuMankuFixed", eps=0.1)}))
    assert "'q' is stored in ArasuMankuFixed, as requested" in text
    assert "'m' is stored" not in text
    assert "'m' is stored in Ordered" in str(wr.explain(df, wr.Rows(2_000), **arguments, using={"q": None}))


def test_a_plan_that_does_not_sort_leaves_nothing_to_choose(spark, landed):
    arguments: dict[str, Any] = {"on": "t", "by": "g", "agg": {"m": wr.median("x"), "n": wr.count()}}
    window = wr.Sliding("20 minutes", every="10 seconds")
    source = wr.parquet(spark, landed)
    assert wr.explain(source, window, **arguments, plan="scan").plan == "scan"
    keys = ["g", "end", "start", "n"]
    check_same(wr.slide(source, window, **arguments, plan="scan"), wr.slide(source, window, **arguments), keys)
