"""The demo as a stream: the day lands file by file, jams are shown as they grow, and a plain loop checks the result.

One folder holds everything: the landed files, the query's checkpoint and its output, one file per batch. So a run that
was stopped resumes where it was, and a finished day starts over.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

from windrow.demo.landing import Landing, arrivals
from windrow.demo.loops import jams_by_loop, runs_of
from windrow.demo.run import JAM, JAM_FACTS, print_jams, write_table
from windrow.demo.traffic import TrafficDay, traffic_day
from windrow.errors import OutputError, SpecError, WindrowError
from windrow.framing.schemes.base import FRAME_COLUMNS
from windrow.outputs.own import CHECKPOINT, named, strangers, table_file
from windrow.spark import assemble, frames
from windrow.spark.sources.paths import settle_path
from windrow.terminal import Counts, LiveRows, SparkLog, interruption, quiet_session, watch, working

COLUMNS = "detectorid int, starttime timestamp, speed double, volume int, occupancy double"
DELAY = "2 minutes"
QUERY: dict[str, Any] = {"on": "starttime", "by": "detectorid", "agg": JAM_FACTS, "fragments": True}
PAUSE = "1 second"
ROWS_SHOWN = 20
LANDED = re.compile(r"\.?readings-\d{3,}\.parquet.*")
PIECE = re.compile(r"\.?batch-\d{8,}\.parquet.*")
JAM_COLUMNS = ("detectorid", *FRAME_COLUMNS, *JAM_FACTS)


@dataclass(frozen=True)
class Folder:
    """The folder in which a day lands and is framed, with its checkpoint."""

    path: Path

    @property
    def landing(self) -> Path:
        """The files that have landed."""
        return self.path / "landing"

    @property
    def checkpoint(self) -> Path:
        """The query's state."""
        return self.path / "checkpoint"

    @property
    def pieces(self) -> Path:
        """The query's output."""
        return self.path / "pieces"

    @property
    def settings(self) -> Path:
        """The settings that the day was started with."""
        return self.path / "day.json"

    @property
    def jams(self) -> Path:
        """All jams of the day, written when it is over."""
        return self.path / "jams.csv"

    def prepare(self, settings: dict[str, int]) -> None:
        """Prepare the folder for a new day or the rest of one; reject the rest of a day with other settings."""
        try:
            if self.jams.exists():
                self._clear()
            for folder in (self.landing, self.pieces):
                folder.mkdir(parents=True, exist_ok=True)
            if not self.settings.exists():
                new = self.settings.with_name(f".{self.settings.name}.tmp")
                new.write_text(json.dumps(settings))
                new.replace(self.settings)
        except WindrowError:
            raise
        except OSError as error:
            raise OutputError(f"{self.path}: cannot create the folder: {error.strerror}") from None
        before = _read_settings(self.settings)
        if before != settings:
            options = " ".join(f"--{name} {value}" for name, value in before.items())
            raise SpecError(
                f"--out: {self.path} contains a day that was started with {options}; repeat these options or choose "
                "another --out"
            )

    def _clear(self) -> None:
        """Remove a finished day; `jams` goes last, so that a removal that was killed is repeated."""
        self._check_own()
        for folder in (self.landing, self.pieces, self.checkpoint):
            shutil.rmtree(folder, ignore_errors=True)
        for path in (self.settings, self.jams):
            path.unlink(missing_ok=True)

    def _check_own(self) -> None:
        """Refuse to remove files that the demo did not write."""
        kinds = {self.landing: LANDED, self.pieces: PIECE, self.checkpoint: CHECKPOINT}
        strange = [
            folder / name for folder, kind in kinds.items() if folder.is_dir() for name in strangers(folder, kind)
        ]
        if table_file(JAM_COLUMNS)(self.jams):
            strange.append(self.jams)
        if self.settings.exists() and set(_read_settings(self.settings)) != {"detectors", "seed"}:
            strange.append(self.settings)
        if strange:
            names = named(str(path.relative_to(self.path)) for path in strange)
            raise OutputError(
                f"--out: {self.path} contains {names}, which the demo did not write; choose another --out"
            )


def _read_settings(path: Path) -> dict[str, Any]:
    """Return the settings that a day was started with."""
    try:
        settings = json.loads(path.read_text())
    except ValueError:
        settings = None
    if not isinstance(settings, dict):
        raise OutputError(f"--out: {path} was not written by the demo; choose another --out")
    return settings


class PieceWriter:
    """A sink that writes each batch to its own file and passes it to the thread that shows it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._unshown: SimpleQueue[pa.Table] = SimpleQueue()

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Receive a batch; a repeated one replaces its own file."""
        rows = batch.toArrow()
        path = self.folder / f"batch-{number:08}.parquet"
        if rows.num_rows:
            write_table(rows, path)
            self._unshown.put(rows)
        else:
            path.unlink(missing_ok=True)

    def show(self, view: LiveRows) -> None:
        """Show the batches received since the last call."""
        while not self._unshown.empty():
            view.add(as_shown(self._unshown.get()))


def as_shown(pieces: pa.Table) -> dict[str, list[Any]]:
    """Return pieces of jams as a table for display, the newest last; a jam may end without a further reading."""
    columns = pieces.sort_by([("end", "ascending"), ("detectorid", "ascending")]).to_pydict()
    return {
        "detector": columns["detectorid"],
        "jam": columns["frame"],
        "piece": columns["fragment"],
        "from": [_clock(start) for start in columns["start"]],
        "to": [_clock(end) for end in columns["end"]],
        "readings": columns["count"],
        "slowest mph": columns["slowest"],
        "average mph": [round(mean, 1) for mean in columns["average"]],
        "cars": columns["cars"],
        "jam is": ["over" if final else "growing" for final in columns["final"]],
    }


def run_stream_demo(
    out: Path, *, detectors: int, seed: int, every: float = 1.0, seconds: float | None = None, log: SparkLog
) -> None:
    """Let a day land, frame it as it arrives, and print a summary at its end."""
    say = Console(highlight=False, soft_wrap=True).print
    day = traffic_day(detectors, seed)
    folder = Folder(out / "stream")
    folder.prepare({"detectors": detectors, "seed": seed})
    landing = Landing(arrivals(day, seed), folder.landing, every, write_table)
    with working("starting Spark"):
        spark = quiet_session(log)
    say(f"{len(landing.files)} files land in {folder.landing}, one every {every:g} s; jams are shown while they grow")
    source = _source(spark, folder.landing)
    if not _run(frames(source, JAM, **QUERY), folder, landing, seconds):
        progress = f"{landing.landed} of {len(landing.files)} files"
        print(f"stopped after {progress}; run the same command again to resume from {folder.path}", file=sys.stderr)
        return
    with working("assembling jams", spark):
        jams = _whole(spark, source, folder)
    _report(day, jams, say)
    write_table(jams, folder.jams)
    say(f"the day is over; all jams are in {folder.jams}. Run the same command again to start a new day")


def _source(spark: SparkSession, landing: Path) -> DataFrame:
    _, pattern = settle_path(str(landing))
    return spark.readStream.schema(COLUMNS).parquet(pattern).withWatermark("starttime", DELAY)


def _run(jams: DataFrame, folder: Folder, landing: Landing, seconds: float | None) -> bool:
    """Run the query while files land; return whether the day reached its end."""
    pieces = PieceWriter(folder.pieces)
    writer = jams.writeStream.foreachBatch(pieces).option("checkpointLocation", str(folder.checkpoint.absolute()))
    deadline = None if seconds is None else time.monotonic() + seconds
    with interruption() as interrupted, LiveRows(ROWS_SHOWN) as view:

        def look(counts: Counts) -> None:
            pieces.show(view)
            view.set_status(
                f"{landing.landed} of {len(landing.files)} files have landed ({counts}); Ctrl-C stops the demo"
            )

        def ends() -> bool:
            if interrupted.is_set() or (deadline is not None and time.monotonic() > deadline):
                landing.stop()
            return landing.has_ended

        query = writer.trigger(processingTime=PAUSE).start()
        landing.start(query.processAllAvailable)
        try:
            watch(query, look, ends)
        finally:
            landing.stop()
    if landing.error is not None:
        raise landing.error
    return landing.is_over


def _whole(spark: SparkSession, source: DataFrame, folder: Folder) -> pa.Table:
    """Return all jams of the day, assembled from the query's pieces and those left at the end of the day."""
    rest = frames(source, JAM, **QUERY, flush=str(folder.checkpoint.absolute()))
    _, pattern = settle_path(str(folder.pieces))
    pieces = spark.read.schema(rest.schema).parquet(pattern).unionByName(rest)
    jams = assemble(pieces).toArrow().sort_by([("detectorid", "ascending"), ("frame", "ascending")])
    for i, field in enumerate(jams.schema):
        if pa.types.is_timestamp(field.type):
            jams = jams.set_column(i, field.name, jams.column(i).cast(pa.timestamp("us")))
    return jams


def _report(day: TrafficDay, jams: pa.Table, say: Any) -> None:
    print_jams(jams, say)
    expected = jams_by_loop(day.table)
    agrees = runs_of(jams, "detectorid") == expected
    say(f"a plain loop over the rows finds {'the same' if agrees else f'{len(expected):,} DIFFERENT'} frames")


def _clock(time: datetime | None) -> str:
    return "" if time is None else f"{time.astimezone(UTC):%H:%M:%S}"
