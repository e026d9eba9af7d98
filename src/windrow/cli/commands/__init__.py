"""The subcommands of `windrow`: their arguments and how they run."""

from __future__ import annotations

import argparse
from typing import TypeAlias

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""Where a subcommand registers itself; argparse has no public name for this type."""

COMMANDS = {
    "demo": "find traffic jams and dye in made-up data, with pictures",
    "frames": "segment a table into frames",
    "fill": "give frames the rows of another table",
    "advise": "say how an aggregate over a sliding window is best computed",
    "calibrate": "measure what ways to keep a window cost on this machine",
    "study": "measure how accurate synopses are and what they cost, beside the literature",
}
"""The commands and their purposes. The module of a command declares its arguments and is imported only when needed."""

EXTRAS = {
    "demo": ("cli", "plot"),
    "frames": ("cli",),
    "fill": ("cli",),
    "calibrate": ("studies",),
    "study": ("studies",),
}
"""The extras that a command requires."""

IMPORTING = ("frames", "fill", "advise", "calibrate")
"""The commands that name schemes, aggregates or synopses, and so take `--import`."""
