"""One suite for all engines: the same query gives the same frames by every plan, in any partitioning and order."""

from __future__ import annotations

import zlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

import windrow as wr
from cases import (
    AGGREGATES,
    LargestProduct,
    NativeSpread,
    Spread,
    frame_locally,
    in_minutes,
    on_the_clock,
    rows_of,
    table,
    with_outages,
)
from fuzz import schemes
from sweeps import sweep
from windrow.errors import UnsupportedError

pytestmark = pytest.mark.spark


QUERIES = {name: in_minutes(scheme) for name, scheme in schemes.QUERIES.items()}
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe")


@pytest.fixture(autouse=True)
def session_zone(request, spark):
    """Each test runs in one of the zones, always the same; no plan may depend on it."""
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", ZONES[zlib.crc32(request.node.name.encode()) % len(ZONES)])
    yield
    spark.conf.set("spark.sql.session.timeZone", before)


@pytest.fixture(scope="module")
def small() -> pa.Table:
    return on_the_clock(with_outages(4_000, 12))


@pytest.fixture(scope="module")
def wanted(small):
    known: dict[str, list] = {}

    def rows(name: str) -> list:
        if name not in known:
            known[name] = rows_of(frame_locally(small, QUERIES[name], "t", ["g"], AGGREGATES), ["g"])
        return known[name]

    return rows


@pytest.fixture(scope="module")
def as_frame(spark, small, tmp_path_factory):
    """The table as a DataFrame in many partitions and no order."""
    path = str(tmp_path_factory.mktemp("frame") / "small.parquet")
    pq.write_table(small, path)
    return spark.read.parquet(path).repartition(7).cache()


def write_in_order(data: pa.Table, folder, files: int, rows_per_group: int) -> str:
    """Time-ordered Parquet in several files, as a log would be; ties stay in random order."""
    folder.mkdir(parents=True)
    ordered = data.sort_by("t")
    share = -(-ordered.num_rows // files)
    for i in range(files):
        pq.write_table(ordered.slice(i * share, share), folder / f"part-{i:03}.parquet", row_group_size=rows_per_group)
    return str(folder)


@pytest.fixture(scope="module")
def ordered_files(small, tmp_path_factory) -> str:
    return write_in_order(small, tmp_path_factory.mktemp("ordered") / "log", files=3, rows_per_group=211)


@pytest.fixture
def many_chunks(tune):
    tune(fewest_rows_per_chunk=100, cores=5)


def found(source, name: str, plan: str, **options) -> list:
    frames = wr.frames(source, QUERIES[name], on="t", by="g", agg=AGGREGATES, plan=plan, **options)
    return rows_of(frames.toArrow(), ["g"])


@pytest.mark.parametrize(
    "name", sweep(QUERIES, "segments", "delta", "aggregate", "custom", "change of several columns")
)
def test_the_shuffle_plan_finds_the_frames(as_frame, wanted, name):
    assert found(as_frame, name, "shuffle") == wanted(name)


RUNS = [name for name, scheme in QUERIES.items() if scheme.is_run]


@pytest.mark.parametrize(
    "name", sweep(RUNS, "threshold with minimums", "grid that breaks at nulls", "gap", "change of several columns")
)
def test_the_native_plan_finds_the_frames(as_frame, wanted, name):
    assert found(as_frame, name, "native") == wanted(name)


@pytest.mark.parametrize("name", sweep(QUERIES, "segments", "double boundary", "custom", "gap", "change that breaks"))
def test_the_scan_plan_finds_the_frames_across_chunks(spark, ordered_files, wanted, name, many_chunks):
    source = wr.parquet(spark, ordered_files)
    explained = wr.explain(source, QUERIES[name], on="t", by="g", agg=AGGREGATES, plan="scan")
    assert explained.plan == "scan"
    assert "5 chunk" in explained.reasons[0]
    assert found(source, name, "scan") == wanted(name)


ACROSS_SEAMS = [
    "threshold",
    "change",
    "segments",
    "double boundary",
    "delta",
    "aggregate",
    "custom",
    "custom that overlaps",
]


@pytest.mark.parametrize("name", sweep(ACROSS_SEAMS, "segments", "custom"))
def test_ranges_find_the_frames_across_seams(as_frame, wanted, name, tune):
    tune(by_ranges=True, sampled=1.0)
    assert "the tuning asks for ranges" in str(wr.explain(as_frame, QUERIES[name], on="t", by="g", plan="shuffle"))
    assert found(as_frame, name, "shuffle") == wanted(name)


def test_explain_says_which_aggregates_hold_the_values_of_open_frames(spark) -> None:
    df = spark.range(10).selectExpr("id as t", "double(id) as x")
    agg = {
        "m": wr.median("x"),
        "q": wr.quantile("x", 0.9, eps=0.01),
        "often": wr.mode("x", max_values=50),
        "n": wr.count(),
    }
    explained = str(wr.explain(df, wr.Delta({"x": 3.0}), on="t", agg=agg))
    assert "'m' stores every distinct value of each open frame, up to max_values=10,000,000; eps= makes it" in explained
    assert "'q' stores a summary of each open frame, within eps=0.01" in explained
    assert "'often' stores every distinct value of each open frame, up to max_values=50\n" in explained + "\n"
    assert "'n'" not in explained
    explained = str(wr.explain(df, wr.Tumbling(5), on="t", agg=agg, using=None))
    assert "'m' stores every distinct value of each window, up to max_values=10,000,000; eps= makes it" in explained
    assert "'q' stores a summary of each window, within eps=0.01" in explained
    assert "'n'" not in explained


@pytest.mark.parametrize("more", sweep(["", "segments", "close"], "close"))
def test_a_column_is_as_good_as_a_text(as_frame, more):
    options = {"segments": True} if more == "segments" else {}
    by_column = wr.Threshold(F.col("x") > 1, close=F.col("x") < 0 if more == "close" else None, **options)
    by_text = wr.Threshold("x > 1", close="x < 0" if more == "close" else None, **options)
    assert "x" in repr(by_column)
    asked = {"on": "t", "by": "g", "agg": AGGREGATES}
    for plan in ("shuffle", "auto"):
        one, other = (wr.frames(as_frame, scheme, **asked, plan=plan).toArrow() for scheme in (by_column, by_text))
        assert rows_of(one, ["g"]) == rows_of(other, ["g"])


@pytest.mark.parametrize("name", sweep(["threshold", "delta", "segments", "gap"], "delta"))
def test_one_group_is_shared_over_ranges(as_frame, small, name, tune):
    tune(sampled=1.0)
    assert "there is one group" in str(wr.explain(as_frame, QUERIES[name], on="t", plan="shuffle"))
    expected = rows_of(frame_locally(small, QUERIES[name], "t", [], AGGREGATES), [])
    frames = wr.frames(as_frame, QUERIES[name], on="t", agg=AGGREGATES, plan="shuffle")
    assert rows_of(frames.toArrow(), []) == expected


@pytest.mark.long
def test_sixteen_cores_cut_where_two_do_not(spark, tune):
    tune(sampled=1.0)
    rng = np.random.default_rng(3)
    n = 4_000
    data = pa.table({"g": rng.integers(0, 5, n), "t": rng.permutation(10 * n)[:n], "y": np.ones(n)})
    spark.conf.set("spark.sql.leafNodeDefaultParallelism", "16")
    try:
        frames = wr.frames(spark.createDataFrame(data), wr.Delta({"y": 1.0}), on="t", by="g", plan="shuffle")
        found = rows_of(frames.toArrow(), ["g"])
    finally:
        spark.conf.unset("spark.sql.leafNodeDefaultParallelism")
    assert found == rows_of(frame_locally(data, wr.Delta({"y": 1.0}), "t", ["g"], {}), ["g"])
    assert len(found) == 5


def test_ranges_without_rows_end_no_frame(spark, tune):
    tune(sampled=1.0)
    days = spark.range(600).selectExpr("if(id < 180, date'2026-01-01', date'2026-01-02') t", "id x")
    for scheme in (wr.Gap("1 day"), wr.Threshold("x >= 0")):
        (row,) = wr.frames(days, scheme, on="t", agg={"m": wr.median("x")}, plan="shuffle").collect()
        assert (row["count"], row["closed_at"], row["m"]) == (600, None, 299.0)


@pytest.mark.parametrize("name", sweep(["threshold with minimums", "delta", "double boundary"], "double boundary"))
def test_row_groups_that_overlap_are_mixed_in_the_right_order(spark, small, wanted, name, many_chunks, tmp_path):
    rng = np.random.default_rng(3)
    late = small.column("t").to_numpy() + 600_000_000 * rng.integers(0, 9, small.num_rows)
    jumbled = small.take(pa.array(np.argsort(late, kind="stable")))
    folder = tmp_path / "late"
    folder.mkdir()
    for i in range(4):
        pq.write_table(jumbled.slice(i * 1000, 1000), folder / f"part-{i}.parquet", row_group_size=250)
    source = wr.parquet(spark, str(folder))
    assert wr.explain(source, QUERIES[name], on="t", by="g", plan="scan").plan == "scan"
    assert found(source, name, "scan") == wanted(name)


def test_files_in_no_order_fall_back_and_say_so(spark, small, wanted, many_chunks, tmp_path):
    pq.write_table(small, tmp_path / "jumbled.parquet", row_group_size=200)
    source = wr.parquet(spark, str(tmp_path / "jumbled.parquet"))
    for plan in ("auto", "scan"):
        explained = wr.explain(source, QUERIES["delta"], on="t", by="g", plan=plan)
        assert explained.plan == "shuffle"
        assert "not in the order of `on`" in str(explained)
    assert found(source, "delta", "auto") == wanted("delta")
    assert found(source, "threshold", "auto") == wanted("threshold")


def test_a_predicate_that_only_spark_can_evaluate_falls_back_and_says_so(spark, ordered_files):
    source = wr.parquet(spark, ordered_files)
    scheme = wr.Threshold("substring(text, 9) % 2 = 0")
    explained = wr.explain(source, scheme, on="t", by="g")
    assert explained.plan == "native"
    assert "no scan" in str(explained)
    assert wr.frames(source, scheme, on="t", by="g").count() > 0
    with pytest.raises(UnsupportedError, match="plan='scan'"):
        wr.frames(source, scheme, on="t", by="g", plan="scan")


def test_a_column_as_predicate(as_frame, wanted):
    from pyspark.sql import functions as F

    frames = wr.frames(as_frame, wr.Threshold(F.col("x") > 0.5), on="t", by="g", agg=AGGREGATES)
    assert rows_of(frames.toArrow(), ["g"]) == wanted("threshold")


def test_a_hundred_thousand_tiny_groups(spark, tmp_path, many_chunks):
    data = table(200_000, 100_000, skew=1.0).select(["g", "t", "x", "v"])
    expected = rows_of(
        frame_locally(data, QUERIES["threshold"], "t", ["g"], {"n": wr.count(), "s": wr.sum("v")}), ["g"]
    )
    source = wr.parquet(spark, write_in_order(data, tmp_path / "tiny", files=2, rows_per_group=20_000))
    for plan, where in (("scan", source), ("native", source.df), ("shuffle", source.df)):
        frames = wr.frames(
            where, QUERIES["threshold"], on="t", by="g", agg={"n": wr.count(), "s": wr.sum("v")}, plan=plan
        )
        assert rows_of(frames.toArrow(), ["g"]) == expected, plan


def test_one_giant_group_among_small_ones(spark, tmp_path, many_chunks):
    data = table(20_000, 50, skew=12.0)
    scheme, agg = wr.Delta({"x": 1.0}), {"least": wr.min("x"), "last": wr.last("v")}
    expected = rows_of(frame_locally(data, scheme, "t", ["g"], agg), ["g"])
    source = wr.parquet(spark, write_in_order(data, tmp_path / "giant", files=3, rows_per_group=1_500))
    assert "one group has about" in str(wr.explain(source.df, scheme, on="t", by="g", agg=agg))
    for plan, where in (("scan", source), ("shuffle", source.df)):
        frames = wr.frames(where, scheme, on="t", by="g", agg=agg, plan=plan)
        assert rows_of(frames.toArrow(), ["g"]) == expected, plan


def test_user_defined_aggregates_go_through_every_kernel_plan(spark, as_frame, small, ordered_files, many_chunks):
    agg = {"range": Spread("x")}
    expected = rows_of(frame_locally(small, QUERIES["threshold"], "t", ["g"], agg), ["g"])
    explained = wr.explain(as_frame, QUERIES["threshold"], on="t", by="g", agg=agg)
    assert explained.plan == "shuffle"
    assert "user-defined" in str(explained)
    for source in (as_frame, wr.parquet(spark, ordered_files)):
        frames = wr.frames(source, QUERIES["threshold"], on="t", by="g", agg=agg)
        assert rows_of(frames.toArrow(), ["g"]) == expected
    by_spread = wr.Aggregate(Spread("x"), "<=", 1.0)
    expected = rows_of(frame_locally(small, by_spread, "t", ["g"], {}), ["g"])
    assert rows_of(wr.frames(as_frame, by_spread, on="t", by="g").toArrow(), ["g"]) == expected


def test_user_defined_aggregates_that_declare_spark_sql_take_the_native_plan(as_frame, small):
    agg = {"spread": NativeSpread("v"), "product": LargestProduct("v")}
    expected = rows_of(frame_locally(small, QUERIES["threshold"], "t", ["g"], agg), ["g"])
    assert wr.explain(as_frame, QUERIES["threshold"], on="t", by="g", agg=agg).plan == "native"
    assert rows_of(wr.frames(as_frame, QUERIES["threshold"], on="t", by="g", agg=agg).toArrow(), ["g"]) == expected
    query = {"windows": wr.Tumbling("7 seconds"), "on": "t", "by": "g", "agg": {"spread": NativeSpread("v")}}
    native, shuffled = (wr.slide(as_frame, **query, plan=plan).collect() for plan in ("native", "shuffle"))
    assert sorted(native) == sorted(shuffled)
    assert any(row["spread"] for row in native)


def test_columns_that_nobody_needs_are_not_shuffled(as_frame, capsys):
    wr.frames(as_frame, QUERIES["delta"], on="t", by="g", plan="shuffle").explain()
    plan = capsys.readouterr().out
    exchange = next(line for line in plan.splitlines() if "Exchange hashpartitioning" in line)
    below = plan[plan.index(exchange) :].splitlines()[1]
    assert "Project" in below
    assert "text" not in below
