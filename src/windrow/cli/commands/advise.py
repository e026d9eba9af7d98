"""`windrow advise`: recommend how to store a window."""

from __future__ import annotations

import argparse

from windrow.aggregates.text import as_aggregate
from windrow.cli.options.texts import add_import_argument
from windrow.outputs.pictures import picture_target
from windrow.planner import advise
from windrow.terminal import SparkLog


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.description = "Show the cost of each way to compute an aggregate over a sliding window, and recommend one."
    parser.add_argument(
        "aggregate", metavar="AGGREGATE", help="a call such as 'variance(helium)' or 'quantile(temp, 0.99)'"
    )
    parser.add_argument("--retention", type=int, required=True, metavar="R", help="number of values per window")
    parser.add_argument("--slide", type=int, required=True, metavar="S", help="number of values between windows")
    parser.add_argument(
        "--eps", type=float, metavar="ε", help="allowed error of an answer (default: that of the aggregate, else 0)"
    )
    parser.add_argument(
        "--delta", type=float, default=0.0, metavar="δ", help="allowed probability of a larger error (default 0)"
    )
    parser.add_argument(
        "--groups", type=int, default=1, metavar="N", help="number of groups, each with its own window (default 1)"
    )
    parser.add_argument("--prefer", choices=("balanced", "time", "space"), default="balanced", help="what to minimise")
    parser.add_argument("--limit-bytes", type=float, metavar="N", help="memory limit for all groups")
    parser.add_argument(
        "--batch", type=int, metavar="B", help="number of values that arrive at a time (default: many slides)"
    )
    parser.add_argument(
        "--kind", choices=("count", "time"), default="count", help="whether values expire by count or by time"
    )
    parser.add_argument("--whole", action="store_true", help="all values are non-negative integers")
    parser.add_argument("--model", metavar="FILE.json", help="a cost model written by `windrow calibrate --out`")
    parser.add_argument("--plot", metavar="FILE.png", help="plot time and memory of each way")
    add_import_argument(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, log: SparkLog) -> None:
    """Print the advice, and plot it if requested."""
    if args.plot is not None:
        picture_target(args.plot, "--plot")
    aggregate = as_aggregate(args.aggregate, "AGGREGATE")
    advice = advise(
        aggregate, retention=args.retention, slide=args.slide, eps=args.eps, delta=args.delta,
        groups=args.groups, prefer=args.prefer, limit_bytes=args.limit_bytes, batch=args.batch, whole=args.whole,
        kind=args.kind, model=args.model,
    )  # fmt: skip
    print(advice)
    if args.plot is not None:
        print(f"wrote the plot to {advice.plot(args.plot)}")
