"""The subcommands of `windrow`: what each is asked, and how it answers."""

from __future__ import annotations

import argparse
from typing import TypeAlias

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""Where a subcommand declares itself; the standard library has no public name for it."""
