"""Runs a query over files that arrive one by one."""

from __future__ import annotations

import datetime
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

import windrow as wr
from cases import frame_locally, rows_of

AGG = {"total": wr.sum("v"), "average": wr.mean("x"), "opening": wr.first("v")}


SECOND = 1_000_000


BATCHES = 4


STREAMED = [
    "threshold with a gap", "change of several columns", "grid that breaks at nulls", "double boundary", "custom",
    "custom that overlaps",
]  # fmt: skip


DELAY = 40


def in_seconds(scheme: wr.Scheme) -> wr.Scheme:
    """A scheme over integers as one over timestamps."""
    if isinstance(scheme, wr.Conjunction):
        return wr.Conjunction([in_seconds(part) for part in scheme.parts])
    changes: dict[str, Any] = {}
    for name in ("max_gap", "min_duration", "max_duration", "gap"):
        length = getattr(scheme, name, None)
        if length is not None:
            changes[name] = f"{length} seconds"
    return replace(scheme, **changes)


def stream(spark, folder: str, delay: str | None = f"{DELAY} seconds") -> DataFrame:
    schema = spark.read.parquet(folder).schema
    read = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(folder)
    return read.withWatermark("t", delay) if delay else read


def run(frames: DataFrame, folder) -> tuple[pa.Table, list[Any]]:
    """All that a bounded replay gives, and its progress. When a row was reported is left out: tables do not have it."""
    out = folder / "out"
    query = (
        frames.writeStream.format("parquet").option("path", str(out))
        .option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    )  # fmt: skip
    query.awaitTermination()
    found = frames.sparkSession.read.schema(frames.schema).parquet(str(out))
    return found.drop("known_at").toArrow(), query.recentProgress


def whole(tables: list[pa.Table], names: list[str]) -> list[tuple[Any, ...]]:
    return rows_of(pa.concat_tables([part.select(names) for part in tables], promote_options="permissive"), ["g"])


def expected(tuples: pa.Table, scheme: wr.Scheme) -> pa.Table:
    """The frames of the table; where a gap ended one, a stream has no `closed_at`."""
    found = frame_locally(tuples, scheme, "t", ["g"], AGG)
    gap = next((part.gap for part in scheme.conjuncts if isinstance(part, wr.Gap)), scheme.max_gap)
    if gap is None:
        return found
    seconds = datetime.timedelta(seconds=float(str(gap).split()[0]))
    closed = [
        None if end is None or at is None or at - end > seconds else at
        for at, end in zip(found["closed_at"].to_pylist(), found["end"].to_pylist(), strict=True)
    ]
    at = found.schema.get_field_index("closed_at")
    return found.set_column(at, "closed_at", pa.array(closed, found.schema.field("closed_at").type))
