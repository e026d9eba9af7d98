"""Sections on frames of tables."""

from dataclasses import replace
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import windrow as wr
from benchmarks import data
from benchmarks.bench import Bench, check_equal
from benchmarks.frames import alone, peers

FRAME = ("g", "start", "end", "count")
THRESHOLD = wr.Threshold(f"x > {peers.LIMIT}", min_count=peers.MIN_COUNT)
DELTA = wr.Delta({"x": peers.DELTA}, reference="first")
PLANS = ("scan", "native", "shuffle")


def ours(spark: SparkSession, path: Path, scheme: wr.Scheme, plan: str) -> DataFrame:
    """Return Windrow's frames by one plan, with the columns that the peers compute."""
    source = wr.parquet(spark, str(path))
    return wr.frames(source if plan == "scan" else source.df, scheme, on="ts", by="g", plan=plan).select(*FRAME)


def threshold(bench: Bench) -> None:
    """Compare threshold frames by every plan, every peer, and the limit."""
    spark, path = bench.spark, data.table(replace(data.STANDARD, rows=bench.rows))
    competitors = {f"Windrow {plan}": partial(ours, spark, path, THRESHOLD, plan) for plan in PLANS}
    competitors |= {name: partial(peer, spark, path) for name, peer in peers.SPARK_THRESHOLD.items()}
    competitors |= {name: partial(peer, path) for name, peer in peers.LOCAL_THRESHOLD.items()}
    check_equal(competitors, peers.totals, "frames")
    competitors["shuffle, sort, hand to Python, drop"] = partial(peers.shuffle_sort_drop, spark, path)
    timings = bench.race(competitors)
    against = {
        "/best SQL": "Spark SQL, running misses",
        "/Polars chk": "Polars, order checked",
        "/limit x2": "limit, two threads",
        "/drop": "shuffle, sort, hand to Python, drop",
    }
    title = f"Threshold frames, x > 0.5, at least 20 rows: {bench.rows:,} rows, 1,000 groups"
    bench.report.timings(title, timings, against)

    def compare(what: str, a: str, b: str, target: str) -> None:
        bench.report.ratio(what, timings[a].median / timings[b].median, target)

    compare("scan: times faster than Spark's best own way", "Spark SQL, running misses", "Windrow scan", "at least 6")
    compare("scan over Polars, order checked in the same pass", "Windrow scan", "Polars, order checked", "at most 1")
    compare("scan over Polars, order checked first", "Windrow scan", "Polars, order checked first", "at most 1")
    compare("scan over the two-thread limit", "Windrow scan", "limit, two threads", "at most 2.5")
    compare("native over the best SQL", "Windrow native", "Spark SQL, running misses", "at most 1.1")
    drop = "shuffle, sort, hand to Python, drop"
    compare("shuffle over shuffle, sort, hand over, drop", "Windrow shuffle", drop, "at most 1.25")


def delta(bench: Bench) -> None:
    """Compare delta frames with `applyInPandas`, with a plain loop and with a compiled one."""
    spark, path = bench.spark, data.table(replace(data.STANDARD, rows=bench.rows))
    competitors = {f"Windrow {plan}": partial(ours, spark, path, DELTA, plan) for plan in ("scan", "shuffle")}
    competitors |= {name: partial(peer, spark, path) for name, peer in peers.SPARK_DELTA.items()}
    check_equal(competitors, peers.totals, "frames")
    timings = bench.race(competitors, bench.few_rounds)
    against = {"/compiled": "applyInPandas, compiled", "/loop": "applyInPandas, Python loop"}
    bench.report.timings(f"Delta frames, |x - first| > 1: {bench.rows:,} rows, 1,000 groups", timings, against)


def change(bench: Bench) -> None:
    """Compare runs of equal values with threshold frames: short runs, long runs, and many distinct texts."""
    shape = replace(data.STANDARD, rows=bench.rows)
    path = data.with_states(shape)
    schemes = {
        "Threshold, short runs": wr.Threshold("x > 0.5"),
        "Change of a number, short runs": wr.Change("code"),
        "Change of text, short runs": wr.Change("hot"),
        "Threshold on text, long runs": wr.Threshold("shift = 'late'"),
        "Change of text, long runs": wr.Change("shift"),
        "Change of text, 100,000 users": wr.Change("user"),
    }
    competitors = {
        f"{plan}: {name}": partial(ours, bench.spark, path, scheme, plan)
        for plan in ("scan", "native")
        for name, scheme in schemes.items()
    }
    check_equal(
        {name: partial(ours, bench.spark, path, schemes["Change of text, short runs"], name) for name in PLANS},
        peers.totals,
        "frames",
    )
    timings = bench.race(competitors, bench.few_rounds)
    bench.report.timings(f"Change frames: {bench.rows:,} rows, 1,000 groups", timings, {})

    def compare(name: str, basis: str, target: str) -> None:
        for plan in ("scan", "native"):
            ratio = timings[f"{plan}: {name}"].median / timings[f"{plan}: {basis}"].median
            bench.report.ratio(f"{plan}: {name} over {basis}", ratio, target)

    compare("Change of a number, short runs", "Threshold, short runs", "at most 1.2")
    compare("Change of text, short runs", "Threshold, short runs", "at most 1.5")
    compare("Change of text, long runs", "Threshold on text, long runs", "reported")
    compare("Change of text, 100,000 users", "Threshold, short runs", "reported")


def tiny(bench: Bench) -> None:
    """Compare many tiny groups with fewer large ones."""
    shapes = {
        "1,000 groups": replace(data.STANDARD, rows=bench.rows),
        "100,000 groups": replace(data.TINY_GROUPS, rows=bench.rows),
    }
    competitors = {
        f"{plan}, {name}": partial(ours, bench.spark, data.table(shape), THRESHOLD, plan)
        for plan in PLANS
        for name, shape in shapes.items()
    }
    timings = bench.race(competitors, bench.few_rounds)
    bench.report.timings(f"Many tiny groups: {bench.rows:,} rows", timings, {})
    for plan in PLANS:
        ratio = timings[f"{plan}, 100,000 groups"].median / timings[f"{plan}, 1,000 groups"].median
        bench.report.ratio(f"{plan}: 100,000 groups over 1,000", ratio, "at most 2")


def cores(bench: Bench) -> None:
    """Compare one core with two on one group of all rows; each run has its own process."""
    path = data.table(replace(data.ONE_GROUP, rows=bench.rows))
    rows, ratios = [], {}
    for plan in ("scan", "shuffle"):
        seconds: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(bench.few_rounds):
            for n in seconds:
                seconds[n].append(alone.measure(path, plan, cores=n).seconds)
        one, two = (min(seconds[n]) for n in (1, 2))
        rows.append([plan, one, two])
        ratios[plan] = one / two
    bench.report.table(f"One group of {bench.rows:,} rows: seconds", ["plan", "one core", "two cores"], rows)
    for plan, ratio in ratios.items():
        bench.report.ratio(f"{plan}: times faster with two cores", ratio, "at least 1.6")


def memory(bench: Bench) -> None:
    """Measure the peak memory of the Python workers as the table grows fourfold."""
    rows, ratios = [], {}
    for plan in ("scan", "shuffle"):
        peaks = []
        for shape in (replace(data.STANDARD, rows=bench.rows), replace(data.LARGE, rows=4 * bench.rows)):
            cost = alone.measure(data.table(shape), plan, cores=2)
            peaks.append(cost.workers_mb)
            rows.append([plan, shape.rows, cost.workers_mb, cost.jvm_mb])
        ratios[plan] = peaks[1] / peaks[0]
    bench.report.table("Peak memory", ["plan", "rows", "workers MB", "JVM MB"], rows)
    for plan, ratio in ratios.items():
        bench.report.ratio(f"{plan}: workers' peak at four times the rows", ratio, "at most 1.2")


def over_time(bench: Bench) -> None:
    """Compare a mean over time with a plain mean, in the frames of the scan plan."""
    spark, path = bench.spark, data.table(replace(data.STANDARD, rows=bench.rows))
    source = wr.parquet(spark, str(path))
    aggregates = {
        "mean": wr.mean("x"),
        "time_mean": wr.time_mean("x"),
        "time_mean, linear": wr.time_mean("x", method="linear"),
        "time_mean, carried in": wr.time_mean("x", carry=True),
    }
    competitors = {
        name: partial(wr.frames, source, THRESHOLD, on="ts", by="g", plan="scan", agg={"mean": aggregate})
        for name, aggregate in aggregates.items()
    }
    timings = bench.race(competitors)
    bench.report.timings(
        f"Threshold frames with a mean over time, scan: {bench.rows:,} rows", timings, {"/mean": "mean"}
    )
    ratio = timings["time_mean"].median / timings["mean"].median
    bench.report.ratio("time_mean over mean", ratio, "at most 2")


SECTIONS = {
    "threshold": threshold,
    "delta": delta,
    "change": change,
    "over-time": over_time,
    "tiny": tiny,
    "cores": cores,
    "memory": memory,
}
