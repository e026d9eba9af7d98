"""The limit that no engine beats: pyarrow reads the files and a compiled kernel frames them, in one process.

Order is trusted, and results stay in memory. With several threads, each takes a contiguous share of the row groups, and
runs that cross from one share into the next are joined at the end.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.frames.kernels import threshold_runs

COLUMNS = ["g", "ts", "x"]
Piece = tuple[Path, int]  # a file and the number of one of its row groups


@dataclass
class Share:
    """The result of one thread: its frames, and per group the runs that touch the edges of its share."""

    frames: list[pa.Table]
    run: np.ndarray  # start, last, count of the run that is open at the end
    head: np.ndarray  # the same for the run at the start of the share
    missed: np.ndarray  # whether that first run is over


def threshold_frames(path: Path, threads: int, limit: float = 0.5, min_count: int = 20) -> pa.Table:
    """Return the threshold frames of a table in time order, straight from the files."""
    pieces, groups = _pieces(path)
    bounds = [len(pieces) * i // threads for i in range(threads + 1)]
    shares = [pieces[a:b] for a, b in pairwise(bounds)]
    with ThreadPoolExecutor(threads) as pool:
        framed = list(pool.map(lambda share: _frame_share(share, groups, limit, min_count), shares))
    return pa.concat_tables([t for share in framed for t in share.frames] + list(_across(framed, groups, min_count)))


def _pieces(path: Path) -> tuple[list[Piece], int]:
    """Return the row groups in file order, and the number of groups (by the statistics of `g`)."""
    pieces: list[Piece] = []
    largest = -1
    for file in sorted(path.glob("*.parquet")):
        metadata = pq.read_metadata(file)
        for i in range(metadata.num_row_groups):
            pieces.append((file, i))
            largest = max(largest, metadata.row_group(i).column(0).statistics.max)
    return pieces, largest + 1


def _frame_share(pieces: list[Piece], groups: int, limit: float, min_count: int) -> Share:
    run = np.zeros((3, groups), np.int64)
    share = Share([], run, np.zeros((3, groups), np.int64), np.zeros(groups, np.bool_))
    for file, i in pieces:
        with pq.ParquetFile(file) as parquet:
            rows = parquet.read_row_group(i, columns=COLUMNS, use_threads=False).combine_chunks()
        g, ts, x = (_numpy(rows.column(c)) for c in COLUMNS)
        room = len(g) // min_count + groups + 1
        out = [np.empty(room, np.int32), *(np.empty(room, np.int64) for _ in range(3))]
        n = threshold_runs(g, ts, x, limit, min_count, *run, share.missed, share.head, *out)
        share.frames.append(_table(*(column[:n] for column in out)))
    return share


def _across(shares: list[Share], groups: int, min_count: int) -> Iterator[pa.Table]:
    """Yield the frames that touch an edge of a share: the run carried so far, joined with each share's first run."""
    carry = np.zeros((3, groups), np.int64)
    for share in shares:
        first = np.where(share.missed, share.head, share.run)
        joined = _join(carry, first)
        yield _long(joined, share.missed, min_count)
        carry = np.where(share.missed, share.run, joined)
    yield _long(carry, np.ones(groups, np.bool_), min_count)


def _join(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Join two adjacent runs of each group; a run with count 0 is empty."""
    return np.stack([np.where(a[2] > 0, a[0], b[0]), np.where(b[2] > 0, b[1], a[1]), a[2] + b[2]])


def _long(run: np.ndarray, over: np.ndarray, min_count: int) -> pa.Table:
    g = np.flatnonzero(over & (run[2] >= min_count))
    return _table(g.astype(np.int32), run[0, g], run[1, g], run[2, g])


def _numpy(column: pa.ChunkedArray) -> np.ndarray:
    array = column.chunk(0)
    return (array.view(pa.int64()) if pa.types.is_timestamp(array.type) else array).to_numpy()


def _table(g: np.ndarray, start: np.ndarray, end: np.ndarray, count: np.ndarray) -> pa.Table:
    stamp = pa.timestamp("us", tz="UTC")
    return pa.table({"g": g, "start": pa.array(start).cast(stamp), "end": pa.array(end).cast(stamp), "count": count})
