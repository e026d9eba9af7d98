"""`windrow demo`: run Windrow on synthetic data."""

from __future__ import annotations

import argparse
from pathlib import Path

from windrow.demo import run_demo, run_stream_demo
from windrow.errors import SpecError
from windrow.terminal import SparkLog


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.description = "Make a day of traffic and the tow of a dye probe, find the jams and the dye, draw both."
    parser.add_argument("--out", default="demo-out", metavar="DIR", help="where everything goes (default demo-out)")
    parser.add_argument("--detectors", type=int, default=200, metavar="N", help="how many detectors (default 200)")
    parser.add_argument("--seed", type=int, default=8, metavar="S", help="another seed makes another day (default 8)")
    group = parser.add_argument_group("stream", "The day lands file by file, and jams show while they grow.")
    group.add_argument("--stream", action="store_true", help="frame the day of traffic as it comes in")
    group.add_argument("--every", type=float, metavar="SECONDS", help="how often a file lands (default 1)")
    group.add_argument("--seconds", type=float, metavar="N", help="stop after so long (default: when the day is over)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, log: SparkLog) -> None:
    """Run the demo."""
    for option in ("every", "seconds"):
        value = getattr(args, option)
        if value is not None and not args.stream:
            raise SpecError(f"--{option} means nothing without --stream")
        if value is not None and not 0 <= value < float("inf"):
            raise SpecError(f"--{option}: {value:g} is no number of seconds; it must be 0 or more")
    if args.stream:
        every = 1.0 if args.every is None else args.every
        run_stream_demo(
            Path(args.out), detectors=args.detectors, seed=args.seed, every=every, seconds=args.seconds, log=log
        )
    else:
        run_demo(Path(args.out), detectors=args.detectors, seed=args.seed, log=log)
