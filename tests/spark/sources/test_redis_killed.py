"""A query from Redis to Redis that is killed at random moments reports every frame once."""

from __future__ import annotations

import random
import time

import numpy as np
import pyarrow as pa
import pytest

import redis_replay
import windrow as wr
from cases import frame_locally, rows_of, table
from killing import KILLS, committed, kill, start, wait
from redis_replay import PER_BATCH
from replay import QUERY, SCHEME

pytestmark = pytest.mark.spark

BATCHES = 3 * KILLS + 2
SECOND = 1_000_000


def made() -> pa.Table:
    """Rows in the order of arrival; times are out of order within the watermark."""
    rows = table(PER_BATCH * BATCHES, 12).select(["g", "t", "x", "v"])
    t = rows["t"].to_numpy() * SECOND
    rows = rows.set_column(1, "t", pa.array(t, pa.timestamp("us", "UTC")))
    late = np.random.default_rng(5).integers(0, 20 * SECOND, t.size)
    return rows.take(pa.array(np.argsort(t + late)))


def add(store, rows: pa.Table) -> None:
    """Entries for rows, as any program would write them."""
    with store.pipeline(transaction=False) as pipe:
        for row in rows.to_pylist():
            row["t"] = row["t"].isoformat()
            pipe.xadd("readings", {name: value for name, value in row.items() if value is not None})
        pipe.execute()


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_a_killed_driver_loses_nothing_and_repeats_nothing(spark, store, redis_url, tmp_path):
    rows, checkpoint = made(), tmp_path / "checkpoint"
    chance, batches = random.Random(13), iter(range(BATCHES))
    for _ in range(KILLS):
        running = start(redis_replay.__file__, str(checkpoint), redis_url)
        goal = max(1, committed(checkpoint) + chance.randint(0, 2))
        for _, i in zip(range(3), batches, strict=False):
            add(store, rows.slice(i * PER_BATCH, PER_BATCH))
            time.sleep(chance.uniform(0, 0.5))
        wait(running, checkpoint, goal)
        time.sleep(chance.uniform(0, 1))
        assert running.poll() is None, "the query ended by itself"
        kill(running)
    assert committed(checkpoint) > 0, "the query got nowhere between two kills"
    for i in batches:
        add(store, rows.slice(i * PER_BATCH, PER_BATCH))
    last = redis_replay.frames(spark, str(checkpoint), redis_url).trigger(availableNow=True).start()
    last.awaitTermination()

    source = redis_replay.source(spark, redis_url)
    rest = wr.frames(source, SCHEME, **QUERY, flush=str(checkpoint))
    read = spark.read.format("redis_streams").schema(rest.schema).option("url", redis_url).option("stream", "frames")
    pieces = read.load().unionByName(rest).cache()
    keys = pieces.select("g", "frame", "fragment").collect()
    assert len(keys) > store.xlen("frames") > 0
    assert len(set(keys)) == len(keys)
    frames = wr.assemble(pieces).toArrow()
    expected = frame_locally(rows, SCHEME, "t", ["g"], QUERY["agg"])
    names = [name for name in expected.column_names if name != "closed_at"]
    assert rows_of(frames.select(names), ["g"]) == rows_of(expected.select(names), ["g"])
