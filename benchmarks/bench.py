"""What a benchmark is given: sizes, a report, and a Spark session that starts when it is first needed."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from benchmarks import timing
from benchmarks.report import Report

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROOT = Path(__file__).resolve().parents[1]
Competitors = Mapping[str, Callable[[], "DataFrame | pa.Table"]]


@dataclass
class Bench:
    """The number of rows and of rounds, and the report that results go to."""

    rows: int
    rounds: int
    report: Report

    @cached_property
    def spark(self) -> "SparkSession":
        """The session of all benchmarks; Spark's workers can import this package."""
        import windrow as wr

        let_workers_import()
        session = wr.session()
        session.sparkContext.setLogLevel("ERROR")
        return session

    def stop(self) -> None:
        """Stop Spark, if it was started."""
        if "spark" in self.__dict__:
            self.spark.stop()

    def race(
        self, competitors: Competitors, rounds: int | None = None, *, warm_up: bool = True
    ) -> dict[str, timing.Timing]:
        """Time the competitors, each built and run to completion."""
        runs = {name: partial(_run, make) for name, make in competitors.items()}
        return timing.race(runs, rounds or self.rounds, warm_up, report=self.report.progress)

    @property
    def few_rounds(self) -> int:
        """Half the rounds, for what takes long."""
        return max(1, self.rounds // 2)


def let_workers_import() -> None:
    """Put this project on the path of the Python workers of sessions created afterwards."""
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if str(ROOT) not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *paths])


def materialise(result: "DataFrame | pa.Table") -> None:
    """Compute every column of every row and discard the result; an Arrow table is already computed."""
    if not isinstance(result, pa.Table):
        result.write.format("noop").mode("overwrite").save()


def check_equal(competitors: Competitors, totals: Callable[[Any], tuple[int, ...]], what: str) -> None:
    """Exit unless all competitors return the same; otherwise their times would mean nothing."""
    results = {name: totals(make()) for name, make in competitors.items()}
    if len(set(results.values())) != 1:
        sys.exit("the competitors differ:\n" + "\n".join(f"  {name}: {total}" for name, total in results.items()))
    print(f"\nall {len(results)} return the same {next(iter(results.values()))[0]:,} {what}")


def _run(make: Callable[[], "DataFrame | pa.Table"]) -> None:
    materialise(make())
