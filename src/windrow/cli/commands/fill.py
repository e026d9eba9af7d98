"""`windrow fill`: fill frames with the rows of another table, or with aggregates of them."""

from __future__ import annotations

import argparse

from windrow.cli.options.files import FORMATS, check_input, format_of, read
from windrow.cli.options.texts import add_import_argument, aggregates_of, column_names
from windrow.cli.results import add_result_arguments, check_result_arguments, deliver
from windrow.rows.text import as_duration
from windrow.spark import ParquetSource, fill, widen
from windrow.spark.resolve.nulls import POLICIES
from windrow.spark.workers.modules import ship_modules
from windrow.terminal import SparkLog, quiet_session, working

EXAMPLES = """examples:
  windrow fill jams.csv incidents.json --on reported --by detectorid
  windrow fill jams.csv loops.parquet --on starttime --by detectorid --before "10 minutes" --agg "cars=sum(volume)"
"""


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.description = "Tag the rows of INPUT with their frames; with --agg, aggregate them to one row per frame."
    parser.epilog, parser.formatter_class = EXAMPLES, argparse.RawDescriptionHelpFormatter
    parser.add_argument("frames", metavar="FRAMES", help="frames written by `windrow frames --out`")
    parser.add_argument("input", metavar="INPUT", help="the table whose rows fill the frames")
    parser.add_argument("--frames-format", choices=FORMATS, help="format of FRAMES (default: by its name)")
    parser.add_argument("--input-format", choices=FORMATS, help="format of INPUT (default: by its name, else parquet)")
    parser.add_argument("--on", required=True, metavar="COLUMN", help="the column of INPUT that orders its rows")
    parser.add_argument("--by", action="append", metavar="COLUMN[,COLUMN]", help="columns that identify a group")
    parser.add_argument(
        "--order-by", action="append", metavar="COLUMN[,COLUMN]", help="columns that order rows of equal --on"
    )
    parser.add_argument("--before", metavar="DURATION", help="extend frames to start earlier")
    parser.add_argument("--after", metavar="DURATION", help="extend frames to end later")
    parser.add_argument(
        "--agg", action="extend", nargs="+", metavar="NAME=FUNCTION(COLUMN)", help="aggregates of the rows per frame"
    )
    parser.add_argument(
        "--nulls-on", choices=POLICIES, default="error", help="how to treat rows with a null in --on or --by"
    )
    add_import_argument(parser)
    add_result_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, log: SparkLog) -> None:
    """Validate everything that needs no Spark, then start Spark and fill the frames."""
    agg = aggregates_of(args.agg)
    by, order_by = column_names(args.by, "--by"), column_names(args.order_by, "--order-by")
    texts = {"before": args.before, "after": args.after}
    moves = {side: as_duration(text, f"--{side}") for side, text in texts.items() if text is not None}
    for path in (args.frames, args.input):
        check_input(path)
    forms = format_of(args.frames, args.frames_format), format_of(args.input, args.input_format)
    own = ("frame", "start", "end") if agg else ("frame", args.on)
    output = check_result_arguments(args, [args.frames, args.input], (*(by or ()), *own))
    ship_modules()
    with working("starting Spark"):
        spark = quiet_session(log)
    with working("reading", spark):
        table = read(spark, args.frames, forms[0])
        frames = table.df if isinstance(table, ParquetSource) else table
        frames = widen(frames, **moves) if moves else frames
        source = read(spark, args.input, forms[1])
        filled = fill(frames, source, on=args.on, by=by, agg=agg or None, order_by=order_by, nulls_on=args.nulls_on)
    groups = [name for name in filled.columns if name.lower() in {key.lower() for key in by or ()}]
    deliver(filled, output, args.limit, [*groups, "frame", *([] if agg else [args.on])], "frames" if agg else "rows")
