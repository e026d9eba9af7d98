"""A query that is killed at random moments gives every frame once: nothing is lost, nothing comes twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import replay
import windrow as wr
from cases import frame_locally, rows_of, table

pytestmark = pytest.mark.spark

KILLS = int(os.environ.get("WINDROW_KILLS", "2"))
"""How often the query is killed; `make kill` does it 25 times and more."""
FILES = 5 * KILLS + 5
SECOND = 1_000_000


def land(folder: Path) -> pa.Table:
    """Files in the order of arrival, whose tuples are out of order within the watermark."""
    (folder / "in").mkdir(parents=True)
    made = table(300 * FILES, 12)
    t = made["t"].to_numpy() * SECOND
    made = made.drop_columns("t").append_column("t", pa.array(t, pa.timestamp("us", "UTC")))
    rng = np.random.default_rng(5)
    made = made.take(pa.array(np.argsort(t + rng.integers(0, 20 * SECOND, t.size))))
    for i in range(FILES):
        path = folder / "in" / f"part-{i:03}.parquet"
        pq.write_table(made.slice(i * 300, 300), path)
        os.utime(path, (1_600_000_000 + i, 1_600_000_000 + i))
    return made


def start(folder: Path) -> subprocess.Popen[str]:
    """Start the query in a process of its own, and wait until it runs."""
    command = [sys.executable, replay.__file__, str(folder)]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert running.stdout is not None
    assert running.stdout.readline() == "started\n"
    return running


def kill(running: subprocess.Popen[str]) -> None:
    """SIGKILL the driver, Python and Java alike, and the workers with it."""
    family = [running, *psutil.Process(running.pid).children(recursive=True)]
    for process in family:
        try:
            process.send_signal(signal.SIGKILL)
        except psutil.NoSuchProcess:
            continue
    running.wait()


def committed(folder: Path) -> int:
    """How many batches are done."""
    return len(list((folder / "checkpoint" / "commits").glob("[0-9]*")))


def wait(running: subprocess.Popen[str], folder: Path, batches: int) -> None:
    """Wait until so many batches are done; on a busy machine that takes what it takes."""
    while committed(folder) < batches and running.poll() is None:
        time.sleep(0.02)


@pytest.mark.timeout(1800)
def test_a_killed_driver_loses_nothing_and_repeats_nothing(spark, tmp_path):
    tuples = land(tmp_path)
    chance = random.Random(11)
    kills, reached = 0, []
    while kills < KILLS:
        running = start(tmp_path)
        wait(running, tmp_path, committed(tmp_path) + chance.randint(0, 2))
        time.sleep(chance.uniform(0, 1.5))
        assert running.poll() is None, f"the query ended after {kills} kills: it needs more files"
        kill(running)
        kills += 1
        reached.append(committed(tmp_path))
    assert reached[-1] > 0, "the query got nowhere between two kills"
    running = start(tmp_path)
    assert running.communicate()[0] == "done\n"
    pieces = spark.read.parquet(str(tmp_path / "out"))
    source = replay.source(spark, tmp_path)
    rest = wr.frames(source, replay.SCHEME, **replay.ASKED, flush=str(tmp_path / "checkpoint"))
    keys = pieces.unionByName(rest).select("g", "frame", "fragment")
    assert keys.distinct().count() == keys.count()
    found = wr.assemble(pieces.unionByName(rest)).toArrow()
    wanted = frame_locally(tuples, replay.SCHEME, "t", ["g"], replay.ASKED["agg"])
    names = [name for name in wanted.column_names if name != "closed_at"]
    assert rows_of(found.select(names), ["g"]) == rows_of(wanted.select(names), ["g"])
