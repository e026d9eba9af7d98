"""`windrow demo`: run Windrow on synthetic data."""

from __future__ import annotations

import argparse
from pathlib import Path

from windrow.demo import run_demo, run_stream_demo
from windrow.errors import SpecError
from windrow.terminal import SparkLog


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.description = "Create a day of traffic and the tow of a dye probe, find the jams and the dye, and draw both."
    parser.add_argument("--out", default="demo-out", metavar="DIR", help="output folder (default demo-out)")
    parser.add_argument("--detectors", type=int, default=200, metavar="N", help="number of detectors (default 200)")
    parser.add_argument("--seed", type=int, default=8, metavar="S", help="another seed makes another day (default 8)")
    group = parser.add_argument_group("stream", "The day arrives file by file, and jams are shown while they grow.")
    group.add_argument("--stream", action="store_true", help="frame the day of traffic as it arrives")
    group.add_argument("--every", type=float, metavar="SECONDS", help="time between files (default 1)")
    group.add_argument(
        "--seconds", type=float, metavar="N", help="stop after N seconds (default: at the end of the day)"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, log: SparkLog) -> None:
    """Run the demo."""
    for option in ("every", "seconds"):
        value = getattr(args, option)
        if value is not None and not args.stream:
            raise SpecError(f"--{option} requires --stream")
        if value is not None and not 0 <= value < float("inf"):
            raise SpecError(f"--{option}: expected a number of seconds of at least 0, got {value:g}")
    if args.stream:
        every = 1.0 if args.every is None else args.every
        run_stream_demo(
            Path(args.out), detectors=args.detectors, seed=args.seed, every=every, seconds=args.seconds, log=log
        )
    else:
        run_demo(Path(args.out), detectors=args.detectors, seed=args.seed, log=log)
