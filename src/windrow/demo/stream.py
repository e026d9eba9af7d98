"""The demo as a stream: the day lands file by file, jams show while they grow, and the end compares with a plain loop.

Everything is in one folder: the files that have landed, the query's checkpoint, and what it has found, a file a batch.
So a run that was stopped goes on where it was; a day that is over begins anew.
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
from windrow.outputs.own import CHECKPOINT, named, strangers, table_file
from windrow.spark import assemble, frames
from windrow.spark.resolve.frames import FRAME_COLUMNS
from windrow.spark.sources.paths import settle_path
from windrow.terminal import Counts, LiveRows, SparkLog, interruption, quiet_session, watch, working

COLUMNS = "detectorid int, starttime timestamp, speed double, volume int, occupancy double"
DELAY = "2 minutes"
ASKED: dict[str, Any] = {"on": "starttime", "by": "detectorid", "agg": JAM_FACTS, "fragments": True}
PAUSE = "1 second"
ROWS_SHOWN = 20
LANDED = re.compile(r"\.?readings-\d{3,}\.parquet.*")
PIECE = re.compile(r"\.?batch-\d{8,}\.parquet.*")
JAM_COLUMNS = ("detectorid", *FRAME_COLUMNS, *JAM_FACTS)


@dataclass(frozen=True)
class Folder:
    """Where a day lands, is framed and is remembered."""

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
        """What the query has found."""
        return self.path / "pieces"

    @property
    def jams(self) -> Path:
        """All jams of the day, when it is over."""
        return self.path / "jams.csv"

    def prepare(self, settings: dict[str, int]) -> None:
        """Make the folder ready for a day, or for the rest of one; another day's rest is refused."""
        told = self.path / "day.json"
        try:
            if self.jams.exists():
                self._clear(told)
            for folder in (self.landing, self.pieces):
                folder.mkdir(parents=True, exist_ok=True)
            if not told.exists():
                beside = told.with_name(f".{told.name}.tmp")
                beside.write_text(json.dumps(settings))
                beside.replace(told)
        except WindrowError:
            raise
        except OSError as error:
            raise OutputError(f"{self.path}: no folder can be made there: {error.strerror}") from None
        before = _settings(told)
        if before != settings:
            options = " ".join(f"--{name} {value}" for name, value in before.items())
            raise SpecError(f"--out: {self.path} holds a day begun with {options}; give these, or another --out")

    def _clear(self, told: Path) -> None:
        """Remove a day that is over; `jams` goes last, so that a clearing that was killed is done again."""
        self._check_own(told)
        for folder in (self.landing, self.pieces, self.checkpoint):
            shutil.rmtree(folder, ignore_errors=True)
        for path in (told, self.jams):
            path.unlink(missing_ok=True)

    def _check_own(self, told: Path) -> None:
        """Refuse to remove what the demo cannot have written."""
        kinds = {self.landing: LANDED, self.pieces: PIECE, self.checkpoint: CHECKPOINT}
        strange = [
            folder / name for folder, kind in kinds.items() if folder.is_dir() for name in strangers(folder, kind)
        ]
        if table_file(JAM_COLUMNS)(self.jams):
            strange.append(self.jams)
        if told.exists() and set(_settings(told)) != {"detectors", "seed"}:
            strange.append(told)
        if strange:
            found = named(str(path.relative_to(self.path)) for path in strange)
            raise OutputError(
                f"--out: {self.path} contains {found}, which the demo has not written; choose another --out"
            )


def _settings(told: Path) -> dict[str, Any]:
    """Return what a day was begun with."""
    try:
        found = json.loads(told.read_text())
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise OutputError(f"--out: {told} was not written by the demo; choose another --out")
    return found


class Pieces:
    """Keeps what each batch finds in a file of its own, and hands it to the thread that shows it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._found: SimpleQueue[pa.Table] = SimpleQueue()

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Take a batch; one that comes again replaces itself."""
        rows = batch.toArrow()
        path = self.folder / f"batch-{number:08}.parquet"
        if rows.num_rows:
            write_table(rows, path)
            self._found.put(rows)
        else:
            path.unlink(missing_ok=True)

    def show(self, view: LiveRows) -> None:
        """Show what has come meanwhile."""
        while not self._found.empty():
            view.add(as_shown(self._found.get()))


def as_shown(pieces: pa.Table) -> dict[str, list[Any]]:
    """Pieces of jams as a table to look at, the newest last; a jam may end without a further reading."""
    found = pieces.sort_by([("end", "ascending"), ("detectorid", "ascending")]).to_pydict()
    return {
        "detector": found["detectorid"],
        "jam": found["frame"],
        "piece": found["fragment"],
        "from": [_clock(start) for start in found["start"]],
        "to": [_clock(end) for end in found["end"]],
        "readings": found["count"],
        "slowest mph": found["slowest"],
        "average mph": [round(mean, 1) for mean in found["average"]],
        "cars": found["cars"],
        "jam is": ["over" if final else "growing" for final in found["final"]],
    }


def run_stream_demo(
    out: Path, *, detectors: int, seed: int, every: float = 1.0, seconds: float | None = None, log: SparkLog
) -> None:
    """Let a day land, frame it meanwhile, and say at its end what was found."""
    say = Console(highlight=False, soft_wrap=True).print
    day = traffic_day(detectors, seed)
    folder = Folder(out / "stream")
    folder.prepare({"detectors": detectors, "seed": seed})
    landing = Landing(arrivals(day, seed), folder.landing, every, write_table)
    with working("starting Spark"):
        spark = quiet_session(log)
    say(f"{len(landing.files)} files land in {folder.landing}, one every {every:g} s; jams show while they grow")
    source = _source(spark, folder.landing)
    if not _run(frames(source, JAM, **ASKED), folder, landing, seconds):
        told = f"stopped: {landing.landed} of {len(landing.files)} files have landed"
        print(f"{told}; the same command goes on from {folder.path}", file=sys.stderr)
        return
    with working("putting pieces together", spark):
        jams = _whole(spark, source, folder)
    _tell(day, jams, say)
    write_table(jams, folder.jams)
    say(f"the day is over; all jams are in {folder.jams}, and the same command begins anew")


def _source(spark: SparkSession, landing: Path) -> DataFrame:
    _, pattern = settle_path(str(landing))
    return spark.readStream.schema(COLUMNS).parquet(pattern).withWatermark("starttime", DELAY)


def _run(jams: DataFrame, folder: Folder, landing: Landing, seconds: float | None) -> bool:
    """Run the query while files land; whether the day came to its end."""
    pieces = Pieces(folder.pieces)
    writer = jams.writeStream.foreachBatch(pieces).option("checkpointLocation", str(folder.checkpoint.absolute()))
    deadline = None if seconds is None else time.monotonic() + seconds
    with interruption() as asked, LiveRows(ROWS_SHOWN) as view:

        def look(counts: Counts) -> None:
            pieces.show(view)
            view.tell(f"{landing.landed} of {len(landing.files)} files have landed ({counts}); Ctrl-C stops it")

        def ends() -> bool:
            if asked.is_set() or (deadline is not None and time.monotonic() > deadline):
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
    """All jams of the day: the pieces that the query gave and those that the end of the day leaves, put together."""
    rest = frames(source, JAM, **ASKED, flush=str(folder.checkpoint.absolute()))
    _, pattern = settle_path(str(folder.pieces))
    found = spark.read.schema(rest.schema).parquet(pattern).unionByName(rest)
    jams = assemble(found).toArrow().sort_by([("detectorid", "ascending"), ("frame", "ascending")])
    for i, field in enumerate(jams.schema):
        if pa.types.is_timestamp(field.type):
            jams = jams.set_column(i, field.name, jams.column(i).cast(pa.timestamp("us")))
    return jams


def _tell(day: TrafficDay, jams: pa.Table, say: Any) -> None:
    print_jams(jams, say)
    expected = jams_by_loop(day.table)
    agrees = runs_of(jams, "detectorid") == expected
    say(f"a plain loop over the rows finds {'the same' if agrees else f'{len(expected):,} OTHER'} frames")


def _clock(time: datetime | None) -> str:
    return "" if time is None else f"{time.astimezone(UTC):%H:%M:%S}"
