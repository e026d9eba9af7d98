"""Delivery of a result: a table on the terminal, or files."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from windrow.cli.options.files import FORMATS, Output
from windrow.cli.zoneless import in_zone, session_zone
from windrow.errors import SpecError
from windrow.spark.resolve.columns import column
from windrow.terminal import Table, print_table, working


def add_result_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments for the destination of the result."""
    group = parser.add_argument_group("result")
    group.add_argument(
        "--out",
        metavar="PATH",
        help="write the result: to one file for a name like jams.csv, else to a folder",
    )
    group.add_argument("--format", choices=FORMATS, help="format of --out (default: by its name, else parquet)")
    group.add_argument("--overwrite", action="store_true", help="replace an earlier result at --out")
    group.add_argument("--limit", type=int, default=20, metavar="N", help="rows shown without --out (default 20)")


def check_result_arguments(args: argparse.Namespace, inputs: Sequence[str], columns: Sequence[str]) -> Output | None:
    """Return the checked destination of the result, or None for the terminal."""
    if args.limit < 1:
        raise SpecError(f"--limit: expected at least 1 row, got {args.limit}")
    if args.out is None:
        for option in ("format", "overwrite"):
            if getattr(args, option):
                raise SpecError(f"--{option} requires --out")
        return None
    return Output.of(args.out, args.format, args.overwrite, inputs, columns)


def deliver(df: DataFrame, output: Output | None, limit: int, order: Sequence[str], what: str) -> None:
    """Show the first rows of a result, or write it and report its number of rows."""
    rows = Observation("rows")
    counted = df.observe(rows, F.count(F.lit(1)).alias("rows"))
    if output is None:
        _show(counted, rows, limit, order, what)
        return
    began = time.perf_counter()
    with working(f"writing {what}", df.sparkSession):
        output.write(counted, order)
    print(
        f"wrote {_observed(rows):,} {what} to {output.target.name} in {time.perf_counter() - began:.1f} s",
        file=sys.stderr,
    )


def _show(counted: DataFrame, rows: Observation, limit: int, order: Sequence[str], what: str) -> None:
    with working(f"finding {what}", counted.sparkSession):
        shown = counted.orderBy(*map(column, order)).limit(limit).toArrow()
    if not shown.num_rows:
        print(f"no {what}")
        return
    # The observation comes with the job for free; it is not needed if all rows are shown.
    total = shown.num_rows if shown.num_rows < limit else _observed(rows)
    zone = session_zone(counted.sparkSession)
    columns = {name: in_zone(shown.column(i), zone) for i, name in enumerate(shown.column_names)}
    print_table(Table(columns, more=total - shown.num_rows))


def _observed(rows: Observation) -> int:
    """Return the observed number of rows; if Spark finds the result empty, it drops the observation."""
    try:
        return int(rows.get["rows"])
    except Exception:
        return 0
