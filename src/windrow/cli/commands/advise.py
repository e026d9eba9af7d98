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
    parser.description = "Say what each way to compute an aggregate over a sliding window costs, and which one is best."
    parser.add_argument(
        "aggregate", metavar="AGGREGATE", help="as a call, such as 'variance(helium)' or 'quantile(temp, 0.99)'"
    )
    parser.add_argument("--retention", type=int, required=True, metavar="R", help="elements in a window")
    parser.add_argument("--slide", type=int, required=True, metavar="S", help="elements from one window to the next")
    parser.add_argument(
        "--eps", type=float, metavar="ε", help="how wrong an answer may be (default: as the call says, else 0)"
    )
    parser.add_argument(
        "--delta", type=float, default=0.0, metavar="δ", help="with which probability it may be more wrong (default 0)"
    )
    parser.add_argument(
        "--groups", type=int, default=1, metavar="N", help="how many such windows there are (default 1)"
    )
    parser.add_argument("--prefer", choices=("balanced", "time", "space"), default="balanced", help="what counts")
    parser.add_argument("--limit-bytes", type=float, metavar="N", help="how much memory all groups may take")
    parser.add_argument("--batch", type=int, metavar="B", help="elements that come at a time (default: many slides)")
    parser.add_argument("--kind", choices=("count", "time"), default="count", help="by what elements leave a window")
    parser.add_argument("--whole", action="store_true", help="values are whole numbers of at least 0")
    parser.add_argument("--model", metavar="FILE.json", help="a model by `windrow calibrate --out`")
    parser.add_argument("--plot", metavar="FILE.png", help="draw the ways by time and memory")
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
        print(f"drawn to {advice.plot(args.plot)}")
