"""Chunks and ranges: framed separately and combined, as many as 64 cores would make of a few rows.

The functions that Spark's tasks run are called one after the other in this process. A few lines replace what Spark does
in between: sending rows to ranges, and pieces to buckets in order.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fuzz.case import Kind, NotACase
from fuzz.queries import ExpectedFrames, draw_query, in_order, layout_of, request_of, run, table_of
from fuzz.tables import plain
from windrow.framing.parallel.pieces import PIECES, receiver
from windrow.framing.parallel.ranges import quantiles, replay_sent, run_range
from windrow.spark.plans import chunks, scan
from windrow.spark.sources.parquet import footers_at, row_groups
from windrow.tuning import current_tuning

CORES = (*(1, 2, 3, 4) * 20, *(8, 8, 8, 16), 64)
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


def put_together(request: Any, replay: Any, sent: Iterable[pa.RecordBatch]) -> list[pa.Table]:
    """Run the tasks of the second stage on the pieces of the first, in the order in which Spark delivers them."""
    table = pa.Table.from_batches(sent, PIECES)
    ordered = table.sort_by([(name, "ascending") for name in ("bucket", "chunk", "piece")])
    return [pa.Table.from_batches([batch]) for batch in receiver(request, replay)(ordered.to_batches())]


class Ranges(Kind):
    """The range plan: cut points from a sample, as many as the cores need, and the rows between them."""

    name = "ranges"
    share = 2.0

    def draw(self, rng: random.Random) -> dict[str, Any]:
        parts = draw_query(
            rng, rows=rng.choice((3, 20, 100, 300)), groups=rng.choice((1, 5, 20, 60)), runs=rng.random() < 0.4
        )
        n = len(parts["rows"])
        share = rng.choice((0.1, 0.5, 1.0))
        sample = [i for i in range(n) if rng.random() < share]
        return parts | {"cores": max(2, rng.choice(CORES)), "sample": sample, "batch": rng.choice((1, 3, 1000))}

    def check(self, parts: dict[str, Any]) -> int:
        n = len(parts["rows"])
        chosen = [parts["rows"][i] for i in parts["sample"] if i < n]
        if not chosen:
            raise NotACase
        return run(ExpectedFrames(parts), lambda: self._frames(parts, chosen))

    def _frames(self, parts: dict[str, Any], sample: list[list[Any]]) -> list[pa.Table]:
        request = request_of(parts)
        names = [*request.by, "t"]
        keys = table_of(parts, sample).select(names).rename_columns([str(i) for i in range(len(names))])
        cuts = quantiles(keys, current_tuning().ranges_per_core * parts["cores"])
        columns = [list(parts["types"]).index(name) for name in names]
        bounds = list(zip(*(plain(column) for column in cuts.columns), strict=True))
        layout = layout_of(request)
        where: list[list[list[Any]]] = [[] for _ in range(len(bounds) + 1)]
        for row in parts["rows"]:
            where[self._range(tuple(row[i] for i in columns), bounds)].append(row)
        sent: list[pa.RecordBatch] = []
        for number, rows in enumerate(where):
            rows = sorted(rows, key=lambda row: row[columns[-1]])
            batches = table_of(parts, rows).to_batches(parts["batch"]) if rows else []
            sent += run_range(request, layout, cuts, number, batches)
        return put_together(request, replay_sent(request, layout), sent)

    @staticmethod
    def _range(key: tuple[Any, ...], bounds: list[tuple[Any, ...]]) -> int:
        """Return the number of a row's range, by the binary search that the plan writes into its query."""
        low, high = 0, len(bounds)
        while low < high:
            middle = (low + high) // 2
            if key > bounds[middle]:
                low = middle + 1
            else:
                high = middle
        return low


class Scan(Kind):
    """The scan plan: Parquet files in some layout, cut into chunks between row groups."""

    name = "scan"
    share = 1.5

    def draw(self, rng: random.Random) -> dict[str, Any]:
        parts = draw_query(
            rng, rows=rng.choice((3, 20, 100, 300)), groups=rng.choice((1, 5, 20, 60)), runs=rng.random() < 0.5
        )
        return parts | {
            "cores": rng.choice(CORES),
            "files": rng.choice((1, 1, 2, 5)),
            "group": 1 + len(parts["rows"]) // rng.choice((1, 3, 8, 25)),
            "late": rng.choice((0, 0, 0, 2, 6)),
            "replay": rng.choice((1, 3, 65_536)),
            "seed": rng.randint(0, 9999),
        }

    def check(self, parts: dict[str, Any]) -> int:
        if not parts["rows"]:
            raise NotACase
        return run(ExpectedFrames(parts), lambda: self._frames(parts))

    def _frames(self, parts: dict[str, Any]) -> list[pa.Table]:
        request = request_of(parts)
        with written(parts) as path:
            footers = footers_at("/", [str(file) for file in Path(path).iterdir()])
            groups, _ = row_groups(footers, "t", ["t", *request.by])
            source = scan.ScanSource(None, "/", tuple(footers.schema.names), footers.schema, tuple(groups))  # type: ignore[arg-type]
            groups = self._measured(scan._in_clock_units(source, request), request)
            cut = chunks.cut_chunks(groups, parts["cores"])
            if chunks.why_not_chunks(groups, cut):
                raise NotACase
            tuning = replace(request.tuning, rows_per_replay=parts["replay"])
            encoded = scan.encoded_columns(request, footers.schema)
            reader = chunks.ChunkReader("/", tuple(footers.schema.names), "t", request.clock, tuning, encoded)
            plan = scan.ScanPlan(request, reader, footers.schema, tuple(cut), buckets=len(cut))
            if len(cut) == 1:
                batches = scan._frame_whole(plan)([numbered(0)])
                return [pa.Table.from_batches([batch]) for batch in batches]
            sent = [b for k in range(len(cut)) for b in scan._speculate(plan)([numbered(k)])]
            return put_together(request, scan._replay(plan), sent)

    @staticmethod
    def _measured(groups: list[Any], request: Any) -> list[Any]:
        """Return the row groups with the extents that footers lack, as a job would measure them."""
        unknown = [group for group in groups if group.low is None]
        measured = [group for group in groups if group.low is not None]
        for batch in scan._measure(unknown, "/", request)([numbered(k) for k in range(len(unknown))]):
            for row in batch.to_pylist():
                measured.append(replace(unknown[row["i"]], low=row["low"], high=row["high"]))
        return measured


def numbered(k: int) -> pa.RecordBatch:
    """Return the input of a task: the number of its chunk."""
    return pa.record_batch({"id": [k]})


@contextmanager
def written(parts: dict[str, Any]) -> Iterator[str]:
    """Write the rows to Parquet files, roughly in order, in a temporary folder."""
    rng = random.Random(parts["seed"])
    t = list(parts["types"]).index("t")
    rows = in_order(parts)
    # Some rows are a few positions late, as in logs.
    places = [i + rng.randint(0, parts["late"]) for i in range(len(rows))]
    rows = [rows[i] for i in sorted(range(len(rows)), key=lambda i: (places[i], rows[i][t]))]
    share = -(-len(rows) // parts["files"])
    folder = tempfile.mkdtemp(dir=MEMORY, prefix="fuzz-")
    try:
        for k in range(parts["files"]):
            if mine := rows[k * share : (k + 1) * share]:
                pq.write_table(table_of(parts, mine), f"{folder}/part-{k:03}.parquet", row_group_size=parts["group"])
        yield folder
    finally:
        shutil.rmtree(folder)
