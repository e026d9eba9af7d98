"""Print what Windrow costs compared with its peers and the physical limit, all measured in one run.

    python benchmarks/run.py                     all sections
    python benchmarks/run.py threshold delta     some of them
    python benchmarks/run.py --rows 2000000      on smaller tables

Absolute seconds mean little on a shared machine; ratios are taken between competitors that ran in turn.
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import alone
import data
import fragments
import latency
import peers
import picks
import slides
import streams
import synopses
import timing
import windrow as wr

FRAME = ("g", "start", "end", "count")
THRESHOLD = wr.Threshold(f"x > {peers.LIMIT}", min_count=peers.MIN_COUNT)
DELTA = wr.Delta({"x": peers.DELTA}, reference="first")
Competitors = dict[str, Callable[[], object]]


def ours(spark: SparkSession, path: Path, scheme: wr.Scheme, plan: str) -> DataFrame:
    """Return Windrow's frames by one plan, with the columns that the peers compute."""
    source = wr.parquet(spark, str(path))
    return wr.frames(source if plan == "scan" else source.df, scheme, on="ts", by="g", plan=plan).select(*FRAME)


def threshold(spark: SparkSession, rows: int, rounds: int) -> None:
    """Compare threshold frames by every plan, every peer, and the limit."""
    path = data.table(replace(data.STANDARD, rows=rows))
    made: dict[str, Callable[[], object]] = {
        f"Windrow {p}": partial(ours, spark, path, THRESHOLD, p) for p in alone.PLANS
    }
    made |= {name: partial(peer, spark, path) for name, peer in peers.SPARK_THRESHOLD.items()}
    made |= {name: partial(peer, path) for name, peer in peers.LOCAL_THRESHOLD.items()}
    check_equal(made)
    made["shuffle, sort, hand to Python, drop"] = partial(peers.shuffle_sort_drop, spark, path)
    timings = race(made, rounds)
    against = {
        "/best SQL": "Spark SQL, running misses",
        "/Polars chk": "Polars, order checked",
        "/limit x2": "limit, two threads",
        "/drop": "shuffle, sort, hand to Python, drop",
    }
    print(timing.table(f"Threshold frames, x > 0.5, at least 20 rows: {rows:,} rows, 1,000 groups", timings, against))
    ratio = lambda a, b: timings[a].median / timings[b].median  # noqa: E731
    say(
        "scan: times faster than Spark's best own way",
        1 / ratio("Windrow scan", "Spark SQL, running misses"),
        "at least 6",
    )
    say("scan over Polars, order checked in the same pass", ratio("Windrow scan", "Polars, order checked"), "at most 1")
    say("scan over Polars, order checked first", ratio("Windrow scan", "Polars, order checked first"), "at most 1")
    say("scan over the two-thread limit", ratio("Windrow scan", "limit, two threads"), "at most 2.5")
    say("native over the best SQL", ratio("Windrow native", "Spark SQL, running misses"), "at most 1.1")
    say(
        "shuffle over shuffle, sort, hand over, drop",
        ratio("Windrow shuffle", "shuffle, sort, hand to Python, drop"),
        "at most 1.25",
    )


def delta(spark: SparkSession, rows: int, rounds: int) -> None:
    """Compare delta frames with `applyInPandas`, with a plain loop and with a compiled one."""
    path = data.table(replace(data.STANDARD, rows=rows))
    made: Competitors = {f"Windrow {p}": partial(ours, spark, path, DELTA, p) for p in ("scan", "shuffle")}
    made |= {name: partial(peer, spark, path) for name, peer in peers.SPARK_DELTA.items()}
    check_equal(made)
    timings = race(made, max(1, rounds // 2))
    against = {"/compiled": "applyInPandas, compiled", "/loop": "applyInPandas, Python loop"}
    print(timing.table(f"Delta frames, |x - first| > 1: {rows:,} rows, 1,000 groups", timings, against))


def tiny(spark: SparkSession, rows: int, rounds: int) -> None:
    """Compare many tiny groups with fewer large ones."""
    shapes = {"1,000 groups": replace(data.STANDARD, rows=rows), "100,000 groups": replace(data.TINY_GROUPS, rows=rows)}
    plans = ("scan", "native", "shuffle")
    made = {
        f"{plan}, {name}": partial(ours, spark, data.table(shape), THRESHOLD, plan)
        for plan in plans
        for name, shape in shapes.items()
    }
    timings = race(made, max(1, rounds // 2))
    print(timing.table(f"Many tiny groups: {rows:,} rows", timings, {}))
    for plan in plans:
        ratio = timings[f"{plan}, 100,000 groups"].median / timings[f"{plan}, 1,000 groups"].median
        say(f"{plan}: 100,000 groups over 1,000", ratio, "at most 2")


def cores(spark: SparkSession, rows: int, rounds: int) -> None:
    """Compare one core with two on one group of all rows; each run has its own process."""
    path = data.table(replace(data.ONE_GROUP, rows=rows))
    for plan in ("scan", "shuffle"):
        seconds: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(max(1, rounds // 2)):
            for n in seconds:
                seconds[n].append(alone.measure(path, plan, cores=n).seconds)
        one, two = (min(seconds[n]) for n in (1, 2))
        print(f"One group of {rows:,} rows, {plan}: one core {one:.2f} s, two cores {two:.2f} s")
        say(f"{plan}: times faster with two cores", one / two, "at least 1.6")


def memory(spark: SparkSession, rows: int, rounds: int) -> None:
    """Measure the peak memory of the Python workers as the table grows fourfold."""
    for plan in ("scan", "shuffle"):
        peaks = []
        for shape in (replace(data.STANDARD, rows=rows), replace(data.LARGE, rows=4 * rows)):
            found = alone.measure(data.table(shape), plan, cores=2)
            peaks.append(found.workers_mb)
            sizes = f"workers {found.workers_mb:.0f} MB, JVM {found.jvm_mb:.0f} MB at their peaks"
            print(f"{shape.rows:,} rows, {plan}: {sizes}")
        say(f"{plan}: workers' peak at four times the rows", peaks[1] / peaks[0], "at most 1.2")


def stream(spark: SparkSession, rows: int, rounds: int) -> None:
    """Measure a micro-batch of 200,000 rows, with few groups and with many."""
    a_batch, batches = 200_000, 4 + max(1, rounds // 2)
    found: dict[tuple[str, int], float] = {}
    for groups in (1_000, 10_000, 50_000):
        shape = data.Shape(a_batch * batches, groups, files=batches, row_group=a_batch)
        for name in streams.COMPETITORS:
            if groups > 10_000 and name in streams.PER_GROUP:
                continue
            found[name, groups] = streams.seconds_a_batch(spark, data.table(shape), name)
            print(f"  {groups:,} groups, {name}: {found[name, groups]:.2f} s a batch", file=sys.stderr, flush=True)
    print(f"Streams: seconds for a batch of {a_batch:,} rows\n{'':28}{'1,000':>10}{'10,000':>10}{'50,000':>10} groups")
    for name in streams.COMPETITORS:
        times = [found.get((name, groups)) for groups in (1_000, 10_000, 50_000)]
        print(f"{name:28}" + "".join(f"{'-' if t is None else format(t, '.2f'):>10}" for t in times))
    per_group = min(found[name, 10_000] for name in streams.PER_GROUP)
    say("times faster than state for each group, 10,000 groups", per_group / found["Windrow", 10_000], "at least 8")
    say("50,000 groups over 1,000", found["Windrow", 50_000] / found["Windrow", 1_000], "at most 1.3")
    for groups in (1_000, 10_000, 50_000):
        ratio = found["Windrow", groups] / found["Spark's count", groups]
        say(f"over Spark's own count, {groups:,} groups", ratio, "at most 4")


def latencies(spark: SparkSession, rows: int, rounds: int) -> None:
    """Measure the time from the arrival of the row that ends a frame to the frame in the sink."""
    print(f"Latency at {latency.RATE:,} tuples a second, {latency.GROUPS:,} groups, in seconds")
    print(f"{'':28}{'median':>10}{'99th':>10}{'measured':>12}{'tuples/s':>12}")
    for name in latency.COMPETITORS:
        median, high, n, rate = latency.measure(spark, name, 15.0 * rounds)
        print(f"{name:28}{median:>10.2f}{high:>10.2f}{n:>12,}{rate:>12,.0f}", flush=True)


def tow(spark: SparkSession, rows: int, rounds: int) -> None:
    """Measure what fragments save and cost when frames are filled."""
    print(fragments.tables(spark))


def windows(spark: SparkSession, rows: int, rounds: int) -> None:
    """Compare each synopsis, the exact ones with the rolling functions of other libraries; uses no Spark."""
    report = lambda line: print(f"  {line}", file=sys.stderr, flush=True)  # noqa: E731
    print(synopses.table(max(1, rows // 20), max(1, rounds // 2), report))
    print(synopses.approximate(report))
    print(synopses.answers(max(1, rounds // 2), report))


def slide(spark: SparkSession, rows: int, rounds: int) -> None:
    """Compare sliding windows by every plan, every peer, and the limit; then increase their overlap."""
    path = data.table(replace(data.STANDARD, rows=rows))
    window = slides.Window(3_000, 60)
    made: Competitors = {f"Windrow {p}": partial(slides.ours, spark, path, window, p) for p in alone.PLANS}
    made |= {name: partial(peer, spark, path, window) for name, peer in slides.SPARK.items()}
    made |= {name: partial(peer, path, window) for name, peer in slides.LOCAL.items()}
    # A test verifies that Spark's own windows are equal; checking here would take minutes more.
    slow = {"Spark window()": made.pop("Spark window()")}
    check_equal(
        {name: make for name, make in made.items() if name not in slides.FEWER_WINDOWS}, slides.totals, "windows"
    )
    timings = race(made, rounds) | race(slow, 1, warm_up=False)
    against = {"/by hand": "Spark SQL, panes by hand", "/window()": "Spark window()", "/limit": "limit, one thread"}
    title = f"Windows of 50 minutes every minute; count, sum, variance: {rows:,} rows, 1,000 groups"
    print(timing.table(title, timings, against))
    ratio = lambda a, b: timings[a].median / timings[b].median  # noqa: E731
    say("DataFrame over panes by hand in Spark SQL", ratio("Windrow native", "Spark SQL, panes by hand"), "at most 1")
    say("DataFrame: times faster than window()", ratio("Spark window()", "Windrow native"), "at least 25")
    say("Parquet over the limit", ratio("Windrow scan", "limit, one thread"), "at most 2.5")
    say("Parquet: times faster than window()", ratio("Spark window()", "Windrow scan"), "at least 60")
    grown = {
        f"{plan}, length/slide {overlap:,}": partial(slides.ours, spark, path, slides.Window(20 * overlap, 20), plan)
        for plan in ("scan", "native")
        for overlap in (1, 10, 100, 1_000)
    }
    grown_timings = race(grown, max(1, rounds // 2))
    print(timing.table(f"Windows that overlap more and more, every 20 seconds: {rows:,} rows", grown_timings, {}))
    for plan in ("scan", "native"):
        found = [grown_timings[f"{plan}, length/slide {overlap:,}"].median for overlap in (1, 10, 100, 1_000)]
        say(f"{plan}: dearest over cheapest overlap", max(found) / min(found), "at most 1.5")


def planner(spark: SparkSession, rows: int, rounds: int) -> None:
    """Compare the planner's picks with measurements; uses no Spark."""
    report = lambda line: print(f"  {line}", file=sys.stderr, flush=True)  # noqa: E731
    print(picks.table(max(26, min(208, rows // 96_000)), report))


SECTIONS = {
    "threshold": threshold, "delta": delta, "tiny": tiny, "cores": cores, "memory": memory, "stream": stream,
    "latency": latencies, "fragments": tow, "slide": slide, "synopses": windows, "picks": planner,
}  # fmt: skip


def race(made: Competitors, rounds: int, *, warm_up: bool = True) -> dict[str, timing.Timing]:
    """Time the competitors, each built and run to completion."""
    runs = {name: partial(_run, make) for name, make in made.items()}
    return timing.race(runs, rounds, warm_up, report=lambda line: print(f"  {line}", file=sys.stderr, flush=True))


def _run(make: Callable[[], object]) -> None:
    peers.materialise(make())


def check_equal(made: Competitors, totals: Callable[..., object] = peers.totals, what: str = "frames") -> None:
    """Exit unless all competitors find the same; otherwise their times would mean nothing."""
    found = {name: totals(make()) for name, make in made.items()}
    if len(set(found.values())) != 1:
        sys.exit("the competitors differ:\n" + "\n".join(f"  {name}: {total}" for name, total in found.items()))
    print(f"\nall {len(found)} find the same {next(iter(found.values()))[0]:,} {what}")


def say(what: str, ratio: float, wanted: str) -> None:
    """Print one ratio and its target."""
    print(f"  {what:<52} {ratio:8.2f}   wanted: {wanted}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", choices=[[], *SECTIONS], help="which to run (default: all)")
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--rounds", type=int, default=4)
    options = parser.parse_args()
    peers.let_workers_import()
    spark = wr.session()
    spark.sparkContext.setLogLevel("ERROR")
    for name in options.sections or SECTIONS:
        SECTIONS[name](spark, options.rows, options.rounds)
        print(flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
