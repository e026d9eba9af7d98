"""`windrow demo`: see it work on data made for the occasion."""

from __future__ import annotations

import argparse
from pathlib import Path

from windrow.commands import Commands
from windrow.demo import run_demo
from windrow.terminal import SparkLog


def add_demo(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "demo", help="find traffic jams and dye in made-up data, with pictures", allow_abbrev=False,
        description="Make a day of traffic and the tow of a dye probe, find the jams and the dye, draw both.",
    )  # fmt: skip
    parser.add_argument("--out", default="demo-out", metavar="DIR", help="where everything goes (default demo-out)")
    parser.add_argument("--detectors", type=int, default=200, metavar="N", help="how many detectors (default 200)")
    parser.add_argument("--seed", type=int, default=8, metavar="S", help="another seed makes another day (default 8)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, log: SparkLog) -> None:
    """Run the demo."""
    run_demo(Path(args.out), detectors=args.detectors, seed=args.seed, log=log)
