"""Streams: the time of a micro-batch, for Windrow, for state per group, and for Spark's own operators as the floor.

Every competitor reads the same files, one per batch, and writes nowhere. State per group has the easier task: it frames
rows as they arrive and buffers nothing for a watermark.
"""

import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

import windrow as wr
from benchmarks.frames.peers import LIMIT, MIN_COUNT

RUN = "start timestamp, end timestamp, count long"
RESULT = f"g int, {RUN}"
WARM_UP = 2
"""The first batches compile kernels and start with an empty state; they do not count."""


def windrow(stream: DataFrame) -> DataFrame:
    """Run Windrow with rows ordered by the watermark."""
    return wr.frames(stream, wr.Threshold(f"x > {LIMIT}", min_count=MIN_COUNT), on="ts", by="g")


def windrow_ordered(stream: DataFrame) -> DataFrame:
    """Run Windrow with ordered=True: rows are framed immediately."""
    return wr.frames(stream, wr.Threshold(f"x > {LIMIT}", min_count=MIN_COUNT), on="ts", by="g", ordered=True)


def episodes(run: tuple | None, frames: Iterator[pd.DataFrame]) -> tuple[list[tuple], tuple | None]:
    """Return the finished episodes and the open run, with a Python loop over a group's rows."""
    rows = pd.concat(list(frames)).sort_values("ts")
    finished = []
    for at, hit in zip(rows["ts"], rows["x"] > LIMIT, strict=True):
        if hit:
            run = (run[0], at, run[2] + 1) if run else (at, at, 1)
        elif run:
            finished += [run] if run[2] >= MIN_COUNT else []
            run = None
    return finished, run


def frame_group(key: tuple, frames: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
    finished, run = episodes(state.get if state.exists else None, frames)
    if run:
        state.update(run)
    elif state.exists:
        state.remove()
    yield pd.DataFrame([(*key, *run) for run in finished], columns=["g", "start", "end", "count"])


def apply_with_state(stream: DataFrame) -> DataFrame:
    """Run `applyInPandasWithState`, with state per group."""
    grouped = stream.groupBy("g")
    return grouped.applyInPandasWithState(frame_group, RESULT, RUN, "append", GroupStateTimeout.NoTimeout)


class GroupProcessor(StatefulProcessor):
    """The same logic with the newer operator."""

    def init(self, handle) -> None:
        self.run = handle.getValueState("run", RUN)

    def handleInputRows(self, key, rows, timerValues) -> Iterator[pd.DataFrame]:
        finished, run = episodes(self.run.get(), rows)
        if run:
            self.run.update(run)
        else:
            self.run.clear()
        yield pd.DataFrame([(*key, *run) for run in finished], columns=["g", "start", "end", "count"])


def transform_with_state(stream: DataFrame) -> DataFrame:
    """Run `transformWithStateInPandas`, with state per group."""
    return stream.groupBy("g").transformWithStateInPandas(GroupProcessor(), RESULT, "Append", "None")


def count(stream: DataFrame) -> DataFrame:
    """Run Spark's own count per group."""
    return stream.groupBy("g").count()


def sessions(stream: DataFrame) -> DataFrame:
    """Run Spark's own session windows."""
    return stream.groupBy("g", F.session_window("ts", "30 seconds")).count()


COMPETITORS: dict[str, tuple[Callable[[DataFrame], DataFrame], str]] = {
    "Windrow": (windrow, "append"),
    "Windrow, ordered=True": (windrow_ordered, "append"),
    "applyInPandasWithState": (apply_with_state, "append"),
    "transformWithStateInPandas": (transform_with_state, "append"),
    "Spark's count": (count, "update"),
    "Spark's session_window": (sessions, "append"),
}
PER_GROUP = ("applyInPandasWithState", "transformWithStateInPandas")


def seconds_per_batch(spark: SparkSession, folder: Path, name: str) -> float:
    """Return the median time of a batch, without the first ones."""
    make, mode = COMPETITORS[name]
    schema = spark.read.parquet(str(folder)).schema
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
    checkpoint = tempfile.mkdtemp()
    try:
        writer = make(stream.withWatermark("ts", "1 second")).writeStream.format("noop").outputMode(mode)
        query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        query.awaitTermination()
        took = [p["durationMs"]["triggerExecution"] / 1000 for p in query.recentProgress if p["numInputRows"]]
        return statistics.median(took[WARM_UP:])
    finally:
        shutil.rmtree(checkpoint, ignore_errors=True)
