"""Create the benchmark tables: time-ordered Parquet, streamed to disk and cached in bench-data/.

Columns: `g` int32 group, `ts` timestamp (microseconds, UTC), `x` double, `note` int64 payload that no query needs.
At each tick (one second) every group reports once, in a new random order, like a log of many sensors, so the file is in
time order over all groups. `x` is a random walk reflected at -1.5 and 2.5. It is over 0.5 half of the time, and moves
by more than 1 often enough to give delta frames.
"""

import argparse
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = Path(__file__).resolve().parents[1] / "bench-data"
VERSION = 1  # part of the folder's name: increment it when the meaning of the data changes
SCHEMA = pa.schema([("g", pa.int32()), ("ts", pa.timestamp("us", tz="UTC")), ("x", pa.float64()), ("note", pa.int64())])
LOW, HIGH = -1.5, 2.5
STEP = 0.2
TICK = 1_000_000
EPOCH = np.datetime64("2024-01-01T00:00:00", "us").astype(np.int64)


@dataclass(frozen=True)
class Shape:
    """The size of a table: `rows` rows in `groups` groups, in `files` files of row groups of `row_group` rows."""

    rows: int
    groups: int
    files: int = 4
    row_group: int = 1_000_000
    seed: int = 1

    def __post_init__(self) -> None:
        if self.rows < self.groups or self.rows % self.groups:
            raise ValueError(f"rows ({self.rows}) must be a multiple of groups ({self.groups})")

    @property
    def name(self) -> str:
        return f"v{VERSION}-{self.rows}r-{self.groups}g-{self.files}f-{self.row_group}b-{self.seed}s"


STANDARD = Shape(20_000_000, 1_000)
ONE_GROUP = Shape(20_000_000, 1)
TINY_GROUPS = Shape(20_000_000, 100_000)
LARGE = Shape(80_000_000, 1_000, files=16)
SMALL = Shape(2_000_000, 1_000)
SHAPES = {"standard": STANDARD, "one-group": ONE_GROUP, "tiny-groups": TINY_GROUPS, "large": LARGE, "small": SMALL}


def table(shape: Shape, folder: Path = FOLDER) -> Path:
    """Return the folder of the table with this shape; create it if necessary."""
    path = folder / shape.name
    if not path.exists():
        partial = path.with_name(path.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        _write(shape, partial)
        partial.rename(path)
    return path


def with_states(shape: Shape, folder: Path = FOLDER) -> Path:
    """Return the folder of the table with this shape and states that change often and seldom; create it if necessary.

    `hot` and `code` say, as text and as a number, whether `x` is over 0.5. `shift` is a text that changes every
    2,000 ticks, and `user` one of a hundred thousand that changes every four ticks.
    """
    path = folder / f"{shape.name}-states"
    if not path.exists():
        partial = path.with_name(path.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        for file in sorted(table(shape, folder).glob("*.parquet")):
            with pq.ParquetFile(file) as parquet:
                states = (_add_states(parquet.read_row_group(i)) for i in range(parquet.num_row_groups))
                pq.write_table(pa.concat_tables(states), partial / file.name, row_group_size=shape.row_group)
        partial.rename(path)
    return path


def _add_states(rows: pa.Table) -> pa.Table:
    hot = rows["x"].to_numpy() > 0.5
    tick = (rows["ts"].cast(pa.int64()).to_numpy() - EPOCH) // TICK
    g = rows["g"].to_numpy()
    user = (tick // 4 * 7919 + g) % 100_000
    columns = {
        "hot": pa.array(np.where(hot, "hot", "cold")),
        "code": pa.array(hot.astype(np.int32)),
        "shift": pa.array(np.array(["early", "late", "night"])[tick // 2_000 % 3]),
        "user": pa.array(np.char.add("user-", user.astype(str))),
    }
    for name, column in columns.items():
        rows = rows.append_column(name, column)
    return rows


def _write(shape: Shape, folder: Path) -> None:
    """Write the files one row group at a time, so that memory holds one block instead of the table."""
    per_file = -(-shape.rows // shape.files)
    batches = _rechunk(_blocks(shape), shape.row_group, per_file)
    written, writer = per_file, None
    count = 0
    for batch in batches:
        if written >= per_file:
            if writer is not None:
                writer.close()
            writer = pq.ParquetWriter(folder / f"part-{count:03}.parquet", SCHEMA, compression="snappy")
            count, written = count + 1, 0
        writer.write_table(batch, row_group_size=shape.row_group)
        written += batch.num_rows
    if writer is not None:
        writer.close()


def _rechunk(blocks: Iterator[pa.Table], row_group: int, per_file: int) -> Iterator[pa.Table]:
    """Cut the stream of blocks into row groups that end at file boundaries."""
    held, written = SCHEMA.empty_table(), 0
    for block in blocks:
        held = pa.concat_tables([held, block])
        while held.num_rows >= (size := min(row_group, per_file - written)):
            yield held.slice(0, size).combine_chunks()
            held = held.slice(size)
            written = (written + size) % per_file
    if held.num_rows:
        yield held.combine_chunks()


def _blocks(shape: Shape) -> Iterator[pa.Table]:
    """Yield the table in blocks of whole ticks, about a row group each; each walk continues across blocks."""
    rng = np.random.default_rng(shape.seed)
    ticks = shape.rows // shape.groups
    per_block = max(1, shape.row_group // shape.groups)
    walk = rng.uniform(LOW, HIGH, shape.groups)
    for first in range(0, ticks, per_block):
        n = min(per_block, ticks - first)
        steps = rng.normal(0.0, STEP, (n, shape.groups))
        steps[0] += walk
        walks = np.cumsum(steps, axis=0)
        walk = walks[-1]
        yield _block(rng, first, _reflected(walks))


def _block(rng: np.random.Generator, first: int, x: np.ndarray) -> pa.Table:
    """Return one block as a table, with the groups of each tick in random order, spread over the tick's second."""
    ticks, groups = x.shape
    order = rng.permuted(np.tile(np.arange(groups, dtype=np.int32), (ticks, 1)), axis=1)
    tick = (first + np.arange(ticks, dtype=np.int64)) * TICK
    ts = EPOCH + tick[:, None] + (np.arange(groups, dtype=np.int64) * TICK // groups)[None, :]
    columns = [
        pa.array(order.ravel()),
        pa.array(ts.ravel()).cast(SCHEMA.field("ts").type),
        pa.array(np.take_along_axis(x, order, axis=1).ravel()),
        pa.array(rng.integers(0, 2**40, x.size)),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def _reflected(walk: np.ndarray) -> np.ndarray:
    """Fold a free walk into [LOW, HIGH], as if it bounced off both ends."""
    span = HIGH - LOW
    phase = np.mod(walk - LOW, 2 * span)
    return LOW + np.where(phase > span, 2 * span - phase, phase)


def main() -> None:
    """Create the tables named on the command line."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("shape", nargs="*", default=["standard"], choices=list(SHAPES))
    parser.add_argument("--folder", type=Path, default=FOLDER)
    args = parser.parse_args()
    for name in args.shape:
        print(table(SHAPES[name], args.folder))


if __name__ == "__main__":
    main()
