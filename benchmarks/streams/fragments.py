"""The two tables of "Framing systems II" on a synthetic tow: what fragments save and cost when frames are filled.

The report's tables cover tow13 of a dye cruise, in NiagaraST, in 2012. Ours cover a similar tow: dye, then clear water
for 150,000 scans, then dye again. Frames are filled from the stream in which they were found. The kernel alone runs
with the punctuation that the report's numbers suggest, every 230 rows; on Spark, a batch has 8,000 rows.
"""

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import windrow as wr
from benchmarks.report import Cell
from windrow.demo.tow import dye_tow
from windrow.filling.filler import Filler
from windrow.filling.plan import FillPlan
from windrow.framing.query import FrameQuery
from windrow.framing.stream import StreamFramer, StreamPlan
from windrow.rows.buffers.waiting import MemoryShelf
from windrow.rows.query import Layout
from windrow.rows.roles import Roles

CLEAR = 150_000
REPORT = "report, 2012:"
PUNCTUATION = 230
BATCH = 8_000
SCANS_PER_SECOND = 24
SCHEMES = {
    "T+D frames (T > 0.2, D = 1)": {"min_count": 1, "segments": True},
    "T+D frames (T > 0.2, D = 20)": {"min_count": 20},
}
THEIRS = {
    ("T+D frames (T > 0.2, D = 1)", False): (151_026, 687, 151_026, 1_972, 4.765),
    ("T+D frames (T > 0.2, D = 1)", True): (459, 209, 459, 215, 4.128),
    ("T+D frames (T > 0.2, D = 20)", False): (960, 324, 1_029, 322, 7.798),
    ("T+D frames (T > 0.2, D = 20)", True): (459, 215, 460, 302, 8.169),
}
"""Rows held at frames (maximum and mean), at punctuations (maximum and mean), and the seconds of the query."""


def tow() -> pa.Table:
    """Return the time and the dye of each scan."""
    before, after = (dye_tow(30_000, seed).table["flsp"].to_numpy() for seed in (13, 14))
    rng = np.random.default_rng(13)
    dye = np.concatenate([before, 0.02 + np.abs(rng.normal(0, 0.0035, CLEAR)), after])
    micros = 1_250_000_000_000_000 + np.arange(dye.size) * 1_000_000 // SCANS_PER_SECOND
    return pa.table({"ts": pa.array(micros, pa.timestamp("us", "UTC")), "dye": dye})


def in_kernel(table: pa.Table, scheme: wr.Scheme, fragments: bool) -> tuple[Any, float, int]:
    """Return the filler's buffer statistics, the seconds, and the number of tagged rows."""
    request = FrameQuery(scheme, Roles("ts", (), (), {}, {"ts": table.schema.field("ts").type}))
    hits = {name: (lambda part: part["hit"].combine_chunks()) for name in scheme.predicates}
    framer = StreamFramer(StreamPlan(request, Layout("on", (), hits, {}, ()), fragments=fragments), MemoryShelf())
    filler = Filler(FillPlan(request.clock, (), (), (), (), ("on",), (), {}, {}), MemoryShelf())
    dye = table["dye"].to_numpy()
    rows = pa.table({"on": table["ts"], "hit": pa.array(dye > 0.2)})
    tagged, begin = 0, time.perf_counter()
    for at in range(0, len(rows), PUNCTUATION):
        part = rows.slice(at, PUNCTUATION).combine_chunks()
        watermark = part["on"][-1].value
        pieces, _ = framer.step([part], watermark)
        tagged += sum(map(len, filler.step([part], map(piece_of, pieces), watermark, framer.unreported())))
    tagged += sum(map(len, filler.finish(map(piece_of, framer.finish()))))
    return filler.held.stats, time.perf_counter() - begin, tagged


def piece_of(frames: pa.Table) -> pa.Table:
    """Convert frames to the filler's input."""
    names = ["start", "end", "fragment", "final"]
    return frames.select(["frame", *names]).rename_columns(["number", *names])


def on_spark(spark: SparkSession, folder: Path, scheme: wr.Scheme, fragments: bool) -> tuple[Any, float]:
    """Return the filling operator's buffer statistics, and the seconds of all batches."""

    def stream() -> DataFrame:
        read = spark.readStream.schema(spark.read.parquet(str(folder)).schema).option("maxFilesPerTrigger", 1)
        return read.parquet(str(folder)).withWatermark("ts", "0 seconds")

    filled = wr.fill(wr.frames(stream(), scheme, on="ts", fragments=fragments), stream(), on="ts")
    checkpoint = tempfile.mkdtemp()
    query = (
        filled.writeStream.format("noop").option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
    )
    query.awaitTermination()
    took = [p["durationMs"]["triggerExecution"] / 1000 for p in query.recentProgress if p["numInputRows"]]
    return wr.buffer_stats(spark, checkpoint).first(), sum(took[2:])


def land(table: pa.Table) -> Path:
    folder = Path(tempfile.mkdtemp())
    for i, at in enumerate(range(0, len(table), BATCH)):
        pq.write_table(table.slice(at, BATCH), folder / f"part-{i:03}.parquet")
    return folder


def measure(spark: SparkSession) -> tuple[list[list[Cell]], list[list[Cell]]]:
    """Return the rows of both tables: rows held (most and mean), and seconds; the report's, the kernel's, Spark's."""
    table = tow()
    folder = land(table)
    held_rows: list[list[Cell]] = []
    seconds: list[list[Cell]] = []
    for name, options in SCHEMES.items():
        for fragments in (False, True):
            kernel_scheme = wr.Threshold("hit", **options)
            in_kernel(table.slice(0, 20 * PUNCTUATION), kernel_scheme, fragments)  # compiles it
            held, took, _ = in_kernel(table, kernel_scheme, fragments)
            there, spark_took = on_spark(spark, folder, wr.Threshold("dye > 0.2", **options), fragments)
            theirs = THEIRS[name, fragments]
            how = f"{name}, {'fragments' if fragments else 'no fragments'}"
            ours = (held.most_at_frames, held.total_at_frames / max(held.frames, 1))
            remote = (there["at_frames_max"], there["at_frames_mean"] or 0)
            held_rows.append([f"{how}, over all frames", *theirs[:2], *ours, *remote])
            ours, remote = (held.most, held.total / held.steps), (there["held_max"], there["held_mean"])
            held_rows.append([f"{how}, over all punctuation", *theirs[2:4], *ours, *remote])
            seconds.append([how, theirs[4], took, spark_took])
    return held_rows, seconds
