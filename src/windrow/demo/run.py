"""The demo: generate data, find the frames, print a summary and draw pictures."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from rich.console import Console
from rich.markup import escape

from windrow import aggregates as agg
from windrow.demo.loops import Run, dye_by_loop, jams_by_loop, runs_of, steps_by_loop
from windrow.demo.tow import Tow, dye_tow
from windrow.demo.traffic import TrafficDay, traffic_day
from windrow.errors import OutputError
from windrow.framing.schemes import Delta, Scheme, Threshold
from windrow.framing.schemes.base import FRAME_COLUMNS
from windrow.outputs import Target
from windrow.outputs.own import table_file
from windrow.outputs.pictures import picture_target
from windrow.spark import explain, frames, parquet
from windrow.spark.sessions import parallelism
from windrow.terminal import SparkLog, Table, print_table, quiet_session, working

JAM = Threshold("speed < 40", min_duration="3 minutes", max_gap="5 minutes", nulls="skip")
JAM_FACTS = {"slowest": agg.min("speed"), "average": agg.mean("speed"), "cars": agg.sum("volume")}
DYE = Threshold("flsp > 0.2", min_count=20)
DYE_FACTS = {"peak": agg.max("flsp"), "mean": agg.mean("flsp"), "top": agg.min("depth"), "bottom": agg.max("depth")}
STEPS = Delta({"flsp": 0.05})
STEP_FACTS = {"flsp": agg.mean("flsp"), "depth": agg.mean("depth")}
ROWS_PER_GROUP = 100_000


@dataclass(frozen=True)
class Query:
    """A framing query on a table, which prints as its Python call."""

    path: Path
    scheme: Scheme
    on: str
    by: str | None
    facts: dict[str, Any]

    def __str__(self) -> str:
        by = f", by={self.by!r}" if self.by else ""
        return f"wr.frames(wr.parquet(spark, {self.path.as_posix()!r}), wr.{self.scheme!r}, on={self.on!r}{by}, agg=…)"

    def run(self, spark: SparkSession) -> Result:
        """Find the frames, in order, and measure the time."""
        arguments: dict[str, Any] = {"on": self.on, "by": self.by, "agg": self.facts}
        source = parquet(spark, str(self.path))
        began = time.perf_counter()
        plan = explain(source, self.scheme, **arguments).plan
        table = frames(source, self.scheme, **arguments).toArrow()
        keys = [name for name in (self.by, "frame") if name]
        return Result(plan, table.sort_by([(key, "ascending") for key in keys]), time.perf_counter() - began)


@dataclass(frozen=True)
class Result:
    """Frames, the plan that found them and the seconds it took."""

    plan: str
    table: pa.Table
    seconds: float


def run_demo(out: Path, *, detectors: int = 200, seed: int = 8, log: SparkLog) -> None:
    """Generate the data, find congestion and dye, and print and draw both; write everything to one folder."""
    say = Console(highlight=False, soft_wrap=True).print
    began = time.perf_counter()
    day, tow = traffic_day(detectors, seed), dye_tow(seed=seed)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{out}: cannot create the folder: {error.strerror}") from None
    check_places(out, day, tow)
    say(f"made {out / 'traffic.parquet'}: {day.table.num_rows:,} readings of {detectors} detectors, one day")
    write_table(day.table, out / "traffic.parquet")
    say(f"made {out / 'tow.parquet'}: {tow.table.num_rows:,} scans of a probe towed through dye")
    write_table(tow.table, out / "tow.parquet")
    with working("starting Spark"):
        spark = quiet_session(log)
    say(f"started Spark {spark.version} on {parallelism(spark)} cores")

    jams = _run_query(
        spark, Query(out / "traffic.parquet", JAM, "starttime", "detectorid", JAM_FACTS), jams_by_loop(day.table), say
    )
    print_jams(jams, say)
    episodes = _run_query(spark, Query(out / "tow.parquet", DYE, "scan", None, DYE_FACTS), dye_by_loop(tow.table), say)
    _print_episodes(episodes)
    steps = _run_query(
        spark, Query(out / "tow.parquet", STEPS, "scan", None, STEP_FACTS), steps_by_loop(tow.table), say
    )
    say(f"{tow.table.num_rows:,} scans in {steps.num_rows:,} pieces, none of which moves by more than 0.05\n")

    write_table(jams, out / "jams.csv")
    write_table(episodes, out / "dye-episodes.csv")
    write_table(steps, out / "dye-steps.csv")
    with working("drawing"):
        _draw(out, day, tow, jams, episodes, steps)
    say(f"[bold]done in {time.perf_counter() - began:.0f} s. Look at:[/bold]")
    for name, what in FILES.items():
        say(f"  {out / name!s:32} {what}")


FILES = {
    "traffic.png": "the day as a map of speeds with the jams outlined, and one detector with its jams shaded",
    "dye.png": "the tow with its episodes shaded, and one of them in steps of 0.05",
    "jams.csv": "every jam",
    "dye-episodes.csv": "every stretch of dye",
    "dye-steps.csv": "the tow in steps",
    "traffic.parquet": "the readings",
    "tow.parquet": "the scans",
}


def _run_query(spark: SparkSession, query: Query, expected: list[Run], say: Any) -> pa.Table:
    """Run a query and compare its frames with those of a plain loop over the rows."""
    say(f"\n[bold]{escape(str(query))}[/bold]")
    with working("finding frames", spark):
        result = query.run(spark)
    say(f"{result.plan} plan: {result.table.num_rows:,} frames in {result.seconds:.1f} s")
    agrees = runs_of(result.table, query.by) == expected
    say(f"a plain loop over the rows finds {'the same' if agrees else f'{len(expected):,} DIFFERENT'} frames")
    return result.table


def print_jams(jams: pa.Table, say: Any) -> None:
    """Print the longest jams and the number of jams."""
    longest = _longest(jams)
    lasted = [end - start for start, end in zip(longest["start"], longest["end"], strict=True)]
    columns = {
        "detector": longest["detectorid"],
        "from": [f"{start:%H:%M:%S}" for start in longest["start"]],
        "to": [f"{end:%H:%M:%S}" for end in longest["end"]],
        "lasted": lasted,
        "readings": longest["count"],
        "slowest mph": longest["slowest"],
        "average mph": [round(mean, 1) for mean in longest["average"]],
        "cars": longest["cars"],
    }
    print_table(Table(columns, more=jams.num_rows - len(lasted), title="the longest jams"))
    hours = sum(map(timedelta.total_seconds, _lengths(jams))) / 3600
    say(f"{jams.num_rows} jams at {pc.count_distinct(jams['detectorid'])} detectors, {hours:.0f} detector hours in all")


def _print_episodes(episodes: pa.Table) -> None:
    longest = _longest(episodes)
    columns = {
        "first scan": longest["start"],
        "last scan": longest["end"],
        "scans": longest["count"],
        "peak": longest["peak"],
        "mean": [round(mean, 3) for mean in longest["mean"]],
        "depth m": [
            f"{top:.1f} to {bottom:.1f}" for top, bottom in zip(longest["top"], longest["bottom"], strict=True)
        ],
    }
    print_table(Table(columns, more=episodes.num_rows - len(longest["start"]), title="the longest stretches of dye"))


def _longest(table: pa.Table, rows: int = 10) -> dict[str, list[Any]]:
    lengths = pc.subtract(table["end"], table["start"]).cast(pa.int64())
    best = pc.sort_indices(pc.negate(lengths))[:rows]
    return {name: table[name].take(best).to_pylist() for name in table.column_names}


def _lengths(table: pa.Table) -> list[timedelta]:
    lengths: list[Any] = pc.subtract(table["end"], table["start"]).to_pylist()
    return lengths


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table; an existing table with the same columns is replaced."""
    with table_target(path, table.column_names).writing() as new:
        if path.suffix == ".csv":
            pyarrow.csv.write_csv(table, new)
        else:
            pq.write_table(table, new, row_group_size=ROWS_PER_GROUP)


def table_target(path: Path, columns: Sequence[str]) -> Target:
    """Return a checked target for a table of the demo."""
    return Target.of(path, table_file(columns), overwrite=True).check()


def check_places(out: Path, day: TrafficDay, tow: Tow) -> None:
    """Reject a folder in which other files have the demo's names, before anything is written."""
    tables = {
        "traffic.parquet": day.table.column_names,
        "tow.parquet": tow.table.column_names,
        "jams.csv": [*FRAME_COLUMNS, *JAM_FACTS],
        "dye-episodes.csv": [*FRAME_COLUMNS, *DYE_FACTS],
        "dye-steps.csv": [*FRAME_COLUMNS, *STEP_FACTS],
    }
    for name in FILES:
        if name in tables:
            table_target(out / name, tables[name])
        else:
            picture_target(out / name, "--out")


def _draw(out: Path, day: TrafficDay, tow: Tow, jams: pa.Table, episodes: pa.Table, steps: pa.Table) -> None:
    # Matplotlib takes seconds to import, and only the pictures need it.
    from windrow.demo.pictures import draw_tow, draw_traffic

    draw_traffic(day, jams, out / "traffic.png")
    draw_tow(tow, episodes, steps, out / "dye.png")
