"""`windrow slide`: aggregate a table over moving windows."""

from __future__ import annotations

import argparse

from windrow.aggregates.text import AGGREGATE_REGISTRY
from windrow.cli.options.files import add_table_arguments, check_input, format_of, read
from windrow.cli.options.texts import add_import_argument, aggregates_of, column_names
from windrow.cli.results import add_result_arguments, check_result_arguments, deliver
from windrow.errors import SpecError
from windrow.spark import slide
from windrow.spark.resolve.nulls import POLICIES
from windrow.spark.resolve.windows import AUTO
from windrow.spark.workers.modules import ship_modules
from windrow.synopses import SYNOPSIS_REGISTRY
from windrow.terminal import SparkLog, quiet_session, working
from windrow.windows import Keep
from windrow.windows.text import as_window

EXAMPLES = """examples:
  windrow slide loops.parquet --on starttime --by detectorid --window "1 hour every 1 minute" --agg "cars=sum(volume)"
  windrow slide loops.parquet --on starttime --window "100 rows" --agg "p99=quantile(speed, 0.99)" --using KLLPanes \\
      --eps 0.01 --delta 0.01 --out rolling.csv
"""


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.description = "Aggregate the rows of a table over moving windows, of time or of a number of rows."
    parser.epilog, parser.formatter_class = EXAMPLES, argparse.RawDescriptionHelpFormatter
    add_table_arguments(parser)
    parser.add_argument(
        "--window", required=True, metavar="LENGTH [every STEP]",
        help='length of a window and step to the next: "1 hour every 1 minute", "5 minutes", "100 rows every 10 rows"',
    )  # fmt: skip
    parser.add_argument(
        "--agg", action="extend", nargs="+", required=True, metavar="NAME=FUNCTION(COLUMN)",
        help=f"aggregates per window, such as quantile(speed, 0.9): {', '.join(AGGREGATE_REGISTRY.names)}",
    )  # fmt: skip
    parser.add_argument(
        "--using", default=AUTO, metavar="SYNOPSIS",
        help=f"how windows are stored (default: the planner chooses): {', '.join(SYNOPSIS_REGISTRY.names)}",
    )  # fmt: skip
    parser.add_argument("--eps", type=float, metavar="ε", help="with --using: allowed error of an answer (default 0)")
    parser.add_argument(
        "--delta", type=float, metavar="δ", help="with --using: allowed probability of a larger error (default 0)"
    )
    parser.add_argument(
        "--nulls-on", choices=POLICIES, default="error", help="how to treat rows with a null in --on or --by"
    )
    add_import_argument(parser)
    add_result_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, log: SparkLog) -> None:
    """Validate everything that needs no Spark, then start Spark and compute the windows."""
    window, agg, using = as_window(args.window, "--window"), aggregates_of(args.agg), _using(args)
    by, order_by = column_names(args.by, "--by"), column_names(args.order_by, "--order-by")
    check_input(args.input)
    form = format_of(args.input, args.input_format)
    output = check_result_arguments(args, [args.input], ("start", "end", "complete"))
    ship_modules()
    with working("starting Spark"):
        spark = quiet_session(log)
    with working("reading", spark):
        source = read(spark, args.input, form)
        windows = slide(
            source, window, on=args.on, by=by, agg=agg, order_by=order_by, nulls_on=args.nulls_on, using=using
        )
    deliver(windows, output, args.limit, [*windows.columns[: len(by or ())], "end", "start"], "windows")


def _using(args: argparse.Namespace) -> str | Keep:
    if args.using == AUTO:
        for option in ("eps", "delta"):
            if getattr(args, option) is not None:
                raise SpecError(f"--{option} requires --using")
        return AUTO
    return Keep(args.using, eps=args.eps or 0.0, delta=args.delta or 0.0)
