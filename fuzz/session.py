"""The Spark session that all cases of a process share, and the settings that each case changes."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import windrow as wr
from windrow.tuning import tuned

ZONES = ("UTC", "Europe/Berlin", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu")
CORES = (*(1, 2, 2, 2, 4, 4, 8) * 4, 16, 64)


@cache
def spark() -> Any:
    """Return a session with two cores; each case sets its own parallelism."""
    made = wr.session(
        name="fuzz",
        cores=2,
        memory="2g",
        config={"spark.sql.shuffle.partitions": "3", "spark.sql.adaptive.enabled": "true"},
    )
    made.sparkContext.setLogLevel("OFF")
    return made


def draw_settings(rng: random.Random) -> dict[str, Any]:
    """Draw a session zone, ANSI mode on or off, and the number of cores to report."""
    return {"zone": rng.choice(ZONES), "ansi": rng.random() < 0.5, "cores": rng.choice(CORES)}


@contextmanager
def settings(parts: dict[str, Any]) -> Iterator[Any]:
    """Yield the session with a case's settings; small tables are cut like large ones."""
    session = spark()
    session.conf.set("spark.sql.session.timeZone", parts["zone"])
    session.conf.set("spark.sql.ansi.enabled", str(parts["ansi"]).lower())
    session.conf.set("spark.sql.leafNodeDefaultParallelism", str(parts["cores"]))
    with tuned(sampled=1.0, fewest_sampled=1, fewest_rows_per_chunk=1):
        yield session


@contextmanager
def folder() -> Iterator[str]:
    """Yield a temporary folder."""
    made = tempfile.mkdtemp(prefix="fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def write(table: pa.Table, path: str, files: int, rows_per_group: int) -> None:
    """Write a table to several files, in its order."""
    Path(path).mkdir(parents=True)
    share = max(1, -(-table.num_rows // files))
    for k in range(files):
        part = table.slice(k * share, share)
        if part.num_rows or not k:
            pq.write_table(part, f"{path}/part-{k:03}.parquet", row_group_size=max(1, rows_per_group))
