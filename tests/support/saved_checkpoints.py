"""Streaming queries whose checkpoints are stored in `tests/data/checkpoints`, and the script that writes them.

    python tests/support/saved_checkpoints.py FOLDER

Each query runs over the first half of its input and is stopped with open frames and buffered rows. Its checkpoint is
packed into FOLDER/<query>.tar.gz. A second run, over all input and without a stop, gives the expected output. The
script uses only public names, so it also runs on the Windrow of an older commit, with that commit's `src` on
PYTHONPATH.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import sys
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import windrow as wr

STORED = Path(__file__).parents[1] / "data" / "checkpoints"
EXPECTED = "expected.json"
HALVES = (range(2), range(2, 4))
"""The files of the input that are there before the stop, and those that arrive after it."""
GROUPS = ("north", "süd", "")
BEGAN = datetime(2024, 5, 1, tzinfo=UTC)
SECONDS_PER_FILE = 120
DELAY = "20 seconds"
PLACEHOLDER = b"/windrow-saved-checkpoints"
"""Stands for the folder of the input and the checkpoints, whose path Spark writes into its logs."""

TIMESTAMP = pa.timestamp("us", "UTC")
ROWS = pa.schema([("t", TIMESTAMP), ("g", pa.string()), ("x", pa.float64()), ("v", pa.int64())])
FRAGMENTS = pa.schema(
    [
        ("g", pa.string()), ("frame", pa.int64()), ("start", TIMESTAMP), ("end", TIMESTAMP), ("closed_at", TIMESTAMP),
        ("count", pa.int64()), ("complete", pa.bool_()), ("n", pa.int64()), ("fragment", pa.int64()),
        ("final", pa.bool_()),
    ]
)  # fmt: skip


class Query(NamedTuple):
    """A streaming query over the files of a folder."""

    build: Callable[[SparkSession, Path], DataFrame]
    flush: Callable[[SparkSession, Path, Path], DataFrame] | None
    """The rows that remain in a checkpoint when the input ends, given the folder and the checkpoint."""


def source(spark: SparkSession, folder: Path, kind: str) -> DataFrame:
    """Return the stream of rows in the files of one kind, one file per batch."""
    schema = "t timestamp, g string, x double, v long"
    read = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / kind))
    return read.withWatermark("t", DELAY)


def frames(spark: SparkSession, folder: Path, **options: Any) -> DataFrame:
    """Return threshold frames of at least 20 seconds, in fragments; the median stores the values of a frame."""
    agg = {"total": wr.sum("v"), "middle": wr.median("x"), "opening": wr.first("v")}
    scheme = wr.Threshold("x > 0.4", min_duration="20 seconds")
    return wr.frames(
        source(spark, folder, "rows"), scheme, on="t", by="g", agg=agg, order_by="v", fragments=True, buckets=2,
        **options,
    )  # fmt: skip


def delta(spark: SparkSession, folder: Path, **options: Any) -> DataFrame:
    """Return delta frames."""
    scheme = wr.Delta({"x": 0.5})
    agg = {"peak": wr.max("x")}
    return wr.frames(source(spark, folder, "rows"), scheme, on="t", by="g", agg=agg, order_by="v", buckets=2, **options)


def slide(spark: SparkSession, folder: Path, **options: Any) -> DataFrame:
    """Return windows; one aggregate is stored in panes, one by a synopsis, and one depends on the order of rows."""
    windows = {"long": wr.Sliding("90 seconds", every="30 seconds"), "short": wr.Tumbling("30 seconds")}
    agg = {"total": wr.sum("v"), "highest": wr.max("x"), "opening": wr.first("v")}
    return wr.slide(
        source(spark, folder, "rows"), windows, on="t", by="g", agg=agg, order_by="v",
        using={"highest": "TwoStacks"}, only_changed=True, buckets=2, **options,
    )  # fmt: skip


def counted(spark: SparkSession, folder: Path, **options: Any) -> DataFrame:
    """Return windows of a number of rows."""
    agg = {"total": wr.sum("v"), "middle": wr.median("x")}
    windows = wr.Rows(10, every=5)
    return wr.slide(
        source(spark, folder, "rows"), windows, on="t", by="g", agg=agg, order_by="v", buckets=2, **options
    )  # fmt: skip


def _framed(spark: SparkSession, folder: Path) -> DataFrame:
    framed = wr.frames(source(spark, folder, "rows"), wr.Threshold("x > 0.4"), on="t", by="g", order_by="v", buckets=2)
    return wr.widen(framed, before="5 seconds", after="5 seconds")


def fill(spark: SparkSession, folder: Path, **options: Any) -> DataFrame:
    """Return frames with the aggregates of another stream's rows."""
    agg = {"n": wr.count(), "total": wr.sum("v"), "closing": wr.last("v")}
    others = source(spark, folder, "others")
    return wr.fill(_framed(spark, folder), others, on="t", by="g", agg=agg, order_by="v", **options)


def tag(spark: SparkSession, folder: Path, **options: Any) -> DataFrame:
    """Return another stream's rows, tagged with the frames that contain them."""
    return wr.fill(_framed(spark, folder), source(spark, folder, "others"), on="t", by="g", **options)


def assemble(spark: SparkSession, folder: Path) -> DataFrame:
    """Return whole frames of the fragments that arrive."""
    schema = (
        "g string, frame long, start timestamp, end timestamp, closed_at timestamp, count long, complete boolean, "
        "n long, fragment long, final boolean"
    )
    read = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    return wr.assemble(read.parquet(str(folder / "fragments")))


def _with_flush(build: Callable[..., DataFrame]) -> Query:
    return Query(build, lambda spark, folder, checkpoint: build(spark, folder, flush=str(checkpoint)))


QUERIES = {
    "frames": _with_flush(frames),
    "delta": _with_flush(delta),
    "slide": _with_flush(slide),
    "counted": _with_flush(counted),
    "fill": _with_flush(fill),
    "tag": _with_flush(tag),
    "assemble": Query(assemble, None),
}


# The input.


def land(folder: Path, files: Sequence[int]) -> None:
    """Write the files of these numbers, in the order in which a stream reads them."""
    for kind, rows in (("rows", _rows), ("others", _rows), ("fragments", _fragments)):
        (folder / kind).mkdir(parents=True, exist_ok=True)
        for number in files:
            path = folder / kind / f"part-{number}.parquet"
            pq.write_table(rows(number, kind), path)
            os.utime(path, (1_700_000_000 + number,) * 2)


def _rows(number: int, kind: str) -> pa.Table:
    """Return rows of all groups, in an order that is no more than 15 seconds off the order of time."""
    chance = random.Random(f"{kind} {number}")
    rows = []
    for group in GROUPS:
        level = 0.5
        for second in range(0, SECONDS_PER_FILE, 5):
            level = min(1.0, max(0.0, level + chance.choice((-0.375, -0.125, 0.125, 0.375))))
            at = number * SECONDS_PER_FILE + second + chance.randrange(5)
            rows.append((at + chance.randrange(15), BEGAN + timedelta(seconds=at), group, level, chance.randrange(100)))
    rows.sort()
    return _table([row[1:] for row in rows], ROWS)


def _fragments(number: int, kind: str) -> pa.Table:
    """Return one of three fragments of some frames per file: a frame begins in every file."""
    rows = []
    for group in GROUPS:
        for fragment in range(min(number + 1, 3)):
            frame = number - fragment
            start = BEGAN + timedelta(seconds=100 * frame + 30 * fragment)
            end, final = start + timedelta(seconds=20), fragment == 2
            closed = end + timedelta(seconds=1) if final else None
            rows.append((group, frame, start, end, closed, 5, final, 10 * frame + fragment, fragment, final))
    return _table(rows, FRAGMENTS)


def _table(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    columns = zip(*rows, strict=True)
    return pa.table([pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)], schema=schema)


# Runs.


def run(result: DataFrame, checkpoint: Path) -> list[str]:
    """Run a query on all its input and return its new rows as sorted lines of JSON."""
    batches: list[pa.Table] = []
    query = (
        result.writeStream.foreachBatch(lambda batch, _: batches.append(batch.toArrow()))
        .option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    )  # fmt: skip
    query.awaitTermination()
    return lines_of(*batches)


def remaining(spark: SparkSession, query: Query, folder: Path, checkpoint: Path) -> list[str]:
    """Return the rows that are still in the checkpoint when the input has ended."""
    return [] if query.flush is None else lines_of(query.flush(spark, folder, checkpoint).toArrow())


def lines_of(*tables: pa.Table) -> list[str]:
    """Return the rows of tables as sorted lines of JSON, without `known_at`, which older versions did not have."""
    named = [table.select([name for name in table.column_names if name != "known_at"]) for table in tables]
    rows = [row for table in named for row in table.to_pylist()]
    return sorted(json.dumps(row, default=_utc, ensure_ascii=False) for row in rows)


def _utc(instant: datetime) -> str:
    return instant.astimezone(UTC).isoformat()


# Packing.


def pack(folder: Path, name: str, archive: Path) -> None:
    """Pack a checkpoint in a folder, without the path of the folder, checksums, and the times of its files."""
    checkpoint = folder / name
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path in sorted(checkpoint.rglob("*")):
            if path.is_file() and path.suffix != ".crc":
                data = path.read_bytes().replace(str(folder).encode(), PLACEHOLDER)
                entry = tarfile.TarInfo(str(path.relative_to(checkpoint)))
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
    archive.write_bytes(gzip.compress(packed.getvalue(), mtime=0))


def unpack(archive: Path, folder: Path, name: str) -> Path:
    """Unpack a checkpoint into a folder that has its input, and return where it is."""
    checkpoint = folder / name
    checkpoint.mkdir(parents=True)
    with tarfile.open(archive) as tar:
        tar.extractall(checkpoint, filter="data")
    for path in checkpoint.rglob("*"):
        if path.is_file() and PLACEHOLDER in (data := path.read_bytes()):
            path.write_bytes(data.replace(PLACEHOLDER, str(folder).encode()))
    return checkpoint


def write(archives: Path) -> None:
    """Write the checkpoint of each query, and what it must return after it is continued."""
    spark = wr.session(cores=2, config={"spark.sql.shuffle.partitions": "2"})
    spark.sparkContext.setLogLevel("ERROR")
    expected = {}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        stopped, whole = folder / "stopped", folder / "whole"
        land(stopped, HALVES[0])
        for half in HALVES:
            land(whole, half)
        for name, query in QUERIES.items():
            before = run(query.build(spark, stopped), stopped / name)
            pack(stopped, name, archives / f"{name}.tar.gz")
            after = run(query.build(spark, whole), whole / name)
            every = sorted([*after, *remaining(spark, query, whole, whole / name)])
            assert set(before) < set(every), f"{name}: a stop changes what is returned"
            expected[name] = {"before the stop": before, "without a stop": every}
            print(name, len(before), len(after), len(every), (archives / f"{name}.tar.gz").stat().st_size, flush=True)
    (archives / EXPECTED).write_text(json.dumps(expected, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
