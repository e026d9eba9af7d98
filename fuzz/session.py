"""The Spark session that all cases of a process share, and the settings that a case changes in it."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq

import windrow as wr
from windrow.spark.plans import ranges, scan

ZONES = ("UTC", "Europe/Berlin", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu")
CORES = (*(1, 2, 2, 2, 4, 4, 8) * 4, 16, 64)


@cache
def spark() -> Any:
    """A session of two cores; how many a case has is a setting."""
    made = wr.session(
        name="fuzz",
        cores=2,
        memory="2g",
        config={"spark.sql.shuffle.partitions": "3", "spark.sql.adaptive.enabled": "true"},
    )
    made.sparkContext.setLogLevel("OFF")
    return made


def draw_settings(rng: random.Random) -> dict[str, Any]:
    """A session zone, ANSI on or off, and how many cores the settings say there are."""
    return {"zone": rng.choice(ZONES), "ansi": rng.random() < 0.5, "cores": rng.choice(CORES)}


@contextmanager
def settings(parts: dict[str, Any]) -> Iterator[Any]:
    """The session with a case's settings; tables of any size are cut as large ones are."""
    session = spark()
    session.conf.set("spark.sql.session.timeZone", parts["zone"])
    session.conf.set("spark.sql.ansi.enabled", str(parts["ansi"]).lower())
    session.conf.set("spark.sql.leafNodeDefaultParallelism", str(parts["cores"]))
    with ExitStack() as stack:
        patches: list[tuple[Any, str, Any]] = [
            (ranges, "SAMPLED", 1.0), (ranges, "FEWEST_SAMPLED", 1), (scan, "FEWEST_ROWS_A_CHUNK", 1),
        ]  # fmt: skip
        for module, name, value in patches:
            stack.enter_context(mock.patch.object(module, name, value))
        yield session


@contextmanager
def folder() -> Iterator[str]:
    """A folder for as long as it is needed."""
    made = tempfile.mkdtemp(prefix="fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def write(table: pa.Table, path: str, files: int, rows_a_group: int) -> None:
    """A table in several files, in its order."""
    Path(path).mkdir(parents=True)
    share = max(1, -(-table.num_rows // files))
    for k in range(files):
        part = table.slice(k * share, share)
        if part.num_rows or not k:
            pq.write_table(part, f"{path}/part-{k:03}.parquet", row_group_size=max(1, rows_a_group))
