"""Sections on streams."""

from benchmarks import data
from benchmarks.bench import Bench
from benchmarks.streams import competitors as streams
from benchmarks.streams import fragments, latency

GROUPS = (1_000, 10_000, 50_000)
BATCH = 200_000


def stream(bench: Bench) -> None:
    """Measure a micro-batch of 200,000 rows, with few groups and with many."""
    batches = 4 + bench.few_rounds
    seconds: dict[tuple[str, int], float] = {}
    for groups in GROUPS:
        path = data.table(data.Shape(BATCH * batches, groups, files=batches, row_group=BATCH))
        for name in streams.COMPETITORS:
            if groups > 10_000 and name in streams.PER_GROUP:
                continue
            seconds[name, groups] = streams.seconds_per_batch(bench.spark, path, name)
            bench.report.progress(f"{groups:,} groups, {name}: {seconds[name, groups]:.2f} s per batch")
    rows = [[name, *(seconds.get((name, groups)) for groups in GROUPS)] for name in streams.COMPETITORS]
    title = f"Streams: seconds per batch of {BATCH:,} rows, by the number of groups"
    bench.report.table(title, ["", *(f"{groups:,}" for groups in GROUPS)], rows)
    per_group = min(seconds[name, 10_000] for name in streams.PER_GROUP)
    ratio = per_group / seconds["Windrow", 10_000]
    bench.report.ratio("times faster than state per group, 10,000 groups", ratio, "at least 8")
    many, few = seconds["Windrow", 50_000], seconds["Windrow", 1_000]
    bench.report.ratio("50,000 groups over 1,000", many / few, "at most 1.3")
    for groups in GROUPS:
        ratio = seconds["Windrow", groups] / seconds["Spark's count", groups]
        bench.report.ratio(f"over Spark's own count, {groups:,} groups", ratio, "at most 4")


def latencies(bench: Bench) -> None:
    """Measure the time from the arrival of the row that ends a frame to the frame in the sink."""
    names = [*latency.COMPETITORS, *(f"{name}{latency.OLD}" for name in latency.COMPETITORS if "Windrow" in name)]
    rows = [[name, *latency.measure(bench.spark, name, 15.0 * bench.rounds)] for name in names]
    title = f"Latency at {latency.RATE:,} rows per second, {latency.GROUPS:,} groups, in seconds"
    bench.report.table(title, ["", "median", "99th", "measured", "rows/s"], rows)


def tow(bench: Bench) -> None:
    """Measure what fragments save and cost when frames are filled."""
    held, seconds = fragments.measure(bench.spark)
    columns = ["", f"{fragments.REPORT} ", f"every {fragments.PUNCTUATION} ", f"Spark, {fragments.BATCH:,} "]
    pairs = [f"{column}{part}".strip() for column in columns[1:] for part in ("most", "mean")]
    bench.report.table("Fragments: rows held by the filling operator", ["", *pairs], held)
    bench.report.table("Fragments: seconds of the query", [column.strip() for column in columns], seconds)


SECTIONS = {"stream": stream, "latency": latencies, "fragments": tow}
