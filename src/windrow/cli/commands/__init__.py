"""The subcommands of `windrow`: what each is asked, and how it answers."""

from __future__ import annotations

import argparse
from typing import TypeAlias

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""Where a subcommand declares itself; the standard library has no public name for it."""

COMMANDS = {
    "demo": "find traffic jams and dye in made-up data, with pictures",
    "frames": "segment a table into frames",
    "fill": "give frames the rows of another table",
    "advise": "say how an aggregate over a sliding window is best computed",
    "calibrate": "measure what ways to keep a window cost on this machine",
    "study": "measure how accurate synopses are and what they cost, beside the literature",
}
"""The commands and what they are for. The module of each has its arguments; it is loaded only where it is used."""
