"""A query that is killed at random moments reports every frame once: none is lost, none is repeated."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import replay
import windrow as wr
from cases import frame_locally, rows_of, table
from killing import KILLS, committed, kill, start, wait

pytestmark = pytest.mark.spark

FILES = 5 * KILLS + 5
SECOND = 1_000_000


def land(folder: Path, files: int = FILES) -> pa.Table:
    """Files in the order of arrival, whose rows are out of order within the watermark."""
    (folder / "in").mkdir(parents=True)
    made = table(300 * files, 12)
    t = made["t"].to_numpy() * SECOND
    made = made.drop_columns("t").append_column("t", pa.array(t, pa.timestamp("us", "UTC")))
    rng = np.random.default_rng(5)
    made = made.take(pa.array(np.argsort(t + rng.integers(0, 20 * SECOND, t.size))))
    for i in range(files):
        path = folder / "in" / f"part-{i:03}.parquet"
        pq.write_table(made.slice(i * 300, 300), path)
        os.utime(path, (1_600_000_000 + i, 1_600_000_000 + i))
    return made


@pytest.mark.timeout(1800)
def test_a_killed_driver_loses_nothing_and_repeats_nothing(spark, tmp_path):
    rows, checkpoint = land(tmp_path), tmp_path / "checkpoint"
    chance = random.Random(11)
    kills, reached = 0, []
    while kills < KILLS:
        running = start(replay.__file__, str(tmp_path))
        wait(running, checkpoint, max(1, committed(checkpoint) + chance.randint(0, 2)))
        time.sleep(chance.uniform(0, 1.5))
        assert running.poll() is None, f"the query ended after {kills} kills: it needs more files"
        kill(running)
        kills += 1
        reached.append(committed(checkpoint))
    assert reached[-1] > 0, "the query got nowhere between two kills"
    replay.started(spark, tmp_path).awaitTermination()
    every_frame_is_there_once(spark, rows, tmp_path)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_a_killed_worker_of_a_cluster_loses_nothing_and_repeats_nothing(spark, cluster, tmp_path):
    kills = max(1, KILLS // 2)
    rows, checkpoint = land(tmp_path, 4 * kills + 3), tmp_path / "checkpoint"
    chance = random.Random(17)
    running = start(replay.__file__, str(tmp_path), cluster.url, environment=cluster.environment)
    for _ in range(kills):
        wait(running, checkpoint, committed(checkpoint) + chance.randint(1, 2))
        time.sleep(chance.uniform(0, 1.0))
        assert running.poll() is None, "the query ended before a worker was killed: it needs more files"
        cluster.kill_worker()
        cluster.add_worker()
    assert running.communicate()[0] == "done\n"
    every_frame_is_there_once(spark, rows, tmp_path)


def every_frame_is_there_once(spark, rows: pa.Table, folder: Path) -> None:
    """The frames in the sink and those left at the end of the stream are the frames of the table."""
    pieces = spark.read.parquet(str(folder / "out"))
    source = replay.source(spark, folder)
    rest = wr.frames(source, replay.SCHEME, **replay.QUERY, flush=str(folder / "checkpoint"))
    keys = pieces.unionByName(rest).select("g", "frame", "fragment")
    assert keys.distinct().count() == keys.count()
    frames = wr.assemble(pieces.unionByName(rest)).toArrow()
    expected = frame_locally(rows, replay.SCHEME, "t", ["g"], replay.QUERY["agg"])
    names = [name for name in expected.column_names if name != "closed_at"]
    assert rows_of(frames.select(names), ["g"]) == rows_of(expected.select(names), ["g"])
