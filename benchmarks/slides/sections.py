"""The section on sliding windows of tables."""

from dataclasses import replace
from functools import partial

from benchmarks import data
from benchmarks.bench import Bench, check_equal
from benchmarks.slides import competitors as slides
from benchmarks.slides.competitors import Window

PLANS = ("scan", "native", "shuffle")
OVERLAPS = (1, 10, 100, 1_000)


def slide(bench: Bench) -> None:
    """Compare sliding windows by every plan, every peer, and the limit."""
    spark, path = bench.spark, data.table(replace(data.STANDARD, rows=bench.rows))
    window = Window(3_000, 60)
    competitors = {f"Windrow {plan}": partial(slides.ours, spark, path, window, plan) for plan in PLANS}
    competitors |= {name: partial(peer, spark, path, window) for name, peer in slides.SPARK.items()}
    competitors |= {name: partial(peer, path, window) for name, peer in slides.LOCAL.items()}
    # A test verifies that Spark's own windows are equal; checking here would take minutes more.
    slow = {"Spark window()": competitors.pop("Spark window()")}
    comparable = {name: make for name, make in competitors.items() if name not in slides.FEWER_WINDOWS}
    check_equal(comparable, slides.totals, "windows")
    timings = bench.race(competitors) | bench.race(slow, 1, warm_up=False)
    against = {"/by hand": "Spark SQL, panes by hand", "/window()": "Spark window()", "/limit": "limit, one thread"}
    title = f"Windows of 50 minutes every minute; count, sum, variance: {bench.rows:,} rows, 1,000 groups"
    bench.report.timings(title, timings, against)

    def compare(what: str, a: str, b: str, target: str) -> None:
        bench.report.ratio(what, timings[a].median / timings[b].median, target)

    by_hand = "Spark SQL, panes by hand"
    compare("DataFrame over panes by hand in Spark SQL", "Windrow native", by_hand, "at most 1")
    compare("DataFrame: times faster than window()", "Spark window()", "Windrow native", "at least 25")
    compare("Parquet over the limit", "Windrow scan", "limit, one thread", "at most 2.5")
    compare("Parquet: times faster than window()", "Spark window()", "Windrow scan", "at least 60")


def overlap(bench: Bench) -> None:
    """Increase the overlap of windows from none to a thousandfold."""
    spark, path = bench.spark, data.table(replace(data.STANDARD, rows=bench.rows))
    competitors = {
        f"{plan}, length/slide {factor:,}": partial(slides.ours, spark, path, Window(20 * factor, 20), plan)
        for plan in ("scan", "native")
        for factor in OVERLAPS
    }
    timings = bench.race(competitors, bench.few_rounds)
    bench.report.timings(f"Windows that overlap more and more, every 20 seconds: {bench.rows:,} rows", timings, {})
    for plan in ("scan", "native"):
        medians = [timings[f"{plan}, length/slide {factor:,}"].median for factor in OVERLAPS]
        bench.report.ratio(f"{plan}: dearest over cheapest overlap", max(medians) / min(medians), "at most 1.5")


SECTIONS = {"slide": slide, "overlap": overlap}
