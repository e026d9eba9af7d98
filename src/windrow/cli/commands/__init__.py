"""The subcommands of `windrow`: their arguments and how they run."""

from __future__ import annotations

import argparse
from typing import TypeAlias

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""Where a subcommand registers itself; argparse has no public name for this type."""

COMMANDS = {
    "demo": "find traffic jams and dye in synthetic data, with pictures",
    "frames": "segment a table into frames",
    "fill": "fill frames with the rows of another table",
    "slide": "aggregate a table over moving windows",
    "advise": "recommend how to compute an aggregate over a sliding window",
    "calibrate": "measure the cost of synopses on this machine",
    "study": "measure accuracy and cost of synopses and compare them with the literature",
}
"""The commands and their purposes. The module of a command declares its arguments and is imported only when needed."""

EXTRAS = {
    "demo": ("cli", "plot"),
    "frames": ("cli",),
    "fill": ("cli",),
    "slide": ("cli",),
    "calibrate": ("studies",),
    "study": ("studies",),
}
"""The extras that a command requires."""

IMPORTING = ("frames", "fill", "slide", "advise", "calibrate")
"""The commands that name schemes, aggregates or synopses, and so take `--import`."""
