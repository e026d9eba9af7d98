"""Columns, aggregates and modules as command-line options."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from windrow.aggregates import AggregateFunction
from windrow.aggregates.text import as_aggregates
from windrow.errors import ColumnError, SpecError, quoted
from windrow.rows.text import as_columns


def add_import_argument(parser: argparse._ActionsContainer) -> None:
    """Declare `--import`. The command line is searched for it before anything else is declared or parsed."""
    parser.add_argument(
        "--import", action="append", dest="modules", metavar="MODULE",
        help="a module with schemes, aggregates or synopses of your own: a dotted name or a .py file (repeatable)",
    )  # fmt: skip


def column_names(texts: Sequence[str] | None, option: str) -> list[str] | None:
    """Return column names that are given repeatedly, with commas, or both.

    >>> column_names(["road,lane", "direction"], "--by")
    ['road', 'lane', 'direction']
    """
    return None if texts is None else as_columns(",".join(texts), option)


def aggregates_of(texts: Sequence[str] | None) -> dict[str, AggregateFunction]:
    """Return aggregates by result name.

    >>> aggregates_of(["cars=sum(volume)", "n=count()", "fast=quantile(speed, 0.9)"])
    {'cars': sum('volume'), 'n': count(), 'fast': quantile('speed', 0.9)}
    >>> aggregates_of(["usual=time_mean(speed, max_hold=5 minutes)", "slow=time_in(speed < 40)"])
    {'usual': time_mean('speed', max_hold='5 minutes'), 'slow': time_in('speed < 40')}
    """
    calls: dict[str, str] = {}
    for text in texts or ():
        name, _, call = (part.strip() for part in text.partition("="))
        if not (name and call):
            raise SpecError(f"--agg: expected NAME=FUNCTION(COLUMN), e.g. 'slowest=min(speed)'; got {quoted(text)}")
        if name in calls:
            raise ColumnError(f"--agg: two results are named {name!r}; rename one of them")
        calls[name] = call
    return as_aggregates(calls, "--agg")
