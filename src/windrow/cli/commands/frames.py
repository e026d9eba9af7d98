"""`windrow frames`: segment a table into frames."""

from __future__ import annotations

import argparse

from windrow.aggregates.text import AGGREGATE_REGISTRY
from windrow.cli.commands.stream import add_stream_arguments, refuse_stream_arguments, run_stream
from windrow.cli.options.files import add_table_arguments, check_input, format_of, read
from windrow.cli.options.schemes import add_other_schemes, add_scheme_arguments, make_scheme
from windrow.cli.options.texts import add_import_argument, aggregates_of, column_names
from windrow.cli.results import add_result_arguments, check_result_arguments, deliver
from windrow.framing.schemes.base import FRAME_COLUMNS
from windrow.spark import explain, frames
from windrow.spark.plans.choice import PLANS
from windrow.spark.resolve.nulls import POLICIES
from windrow.spark.workers.modules import ship_modules
from windrow.terminal import SparkLog, quiet_session, working

EXAMPLES = """examples:
  windrow frames loops.parquet --on starttime --by detectorid --threshold "speed < 40" --min-duration "3 minutes" \\
      --agg "slowest=min(speed)" "cars=sum(volume)" --out jams.csv
  windrow frames tow08/ --on scan --delta "flsp=0.05" --agg "depth=mean(depth)"
  windrow frames clicks.json --on time --by user --gap "30 minutes"
  windrow frames landing/ --stream --watermark "1 minute" --on starttime --by detectorid --threshold "speed < 40" \\
      --out jams
"""


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.description = "Segment a table into frames that are defined by the data."
    parser.epilog, parser.formatter_class = EXAMPLES, argparse.RawDescriptionHelpFormatter
    add_table_arguments(parser)
    schemes = add_scheme_arguments(parser)
    group = parser.add_argument_group("more")
    add_import_argument(group)
    group.add_argument(
        "--agg", action="extend", nargs="+", metavar="NAME=FUNCTION(COLUMN)",
        help=f"aggregates per frame, such as quantile(speed, 0.9): {', '.join(AGGREGATE_REGISTRY.names)}",
    )  # fmt: skip
    group.add_argument(
        "--nulls-on", choices=POLICIES, default="error", help="how to treat rows with a null in --on or --by"
    )
    group.add_argument(
        "--plan", choices=PLANS, default="auto", help="execution plan (default: the fastest that applies)"
    )
    group.add_argument("--explain", action="store_true", help="show which plan would run and why, and exit")
    add_result_arguments(parser)
    add_stream_arguments(parser)
    add_other_schemes(schemes)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, log: SparkLog) -> None:
    """Validate everything that needs no Spark, then start Spark and compute the frames."""
    if args.stream:
        run_stream(args, log)
        return
    refuse_stream_arguments(args)
    scheme, agg = make_scheme(args), aggregates_of(args.agg)
    by, order_by = column_names(args.by, "--by"), column_names(args.order_by, "--order-by")
    check_input(args.input)
    form = format_of(args.input, args.input_format)
    output = check_result_arguments(args, [args.input], FRAME_COLUMNS)
    ship_modules()
    with working("starting Spark"):
        spark = quiet_session(log)
    with working("reading", spark):
        source = read(spark, args.input, form)
        if args.explain:
            choice = explain(
                source, scheme, on=args.on, by=by, agg=agg, order_by=order_by, nulls_on=args.nulls_on, plan=args.plan
            )
        else:
            result = frames(
                source, scheme, on=args.on, by=by, agg=agg, order_by=order_by, nulls_on=args.nulls_on, plan=args.plan
            )
    if args.explain:
        print(choice)
    else:
        deliver(result, output, args.limit, [*result.columns[: len(by or ())], "frame"], "frames")
