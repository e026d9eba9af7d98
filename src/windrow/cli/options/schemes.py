"""Framing schemes and aggregates from command-line options, validated before Spark starts."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from typing import Any

from windrow.aggregates import AggregateFunction
from windrow.aggregates.text import as_call
from windrow.errors import ColumnError, SpecError, quoted
from windrow.framing.schemes import Aggregate, Boundary, Delta, DoubleBoundary, Gap, Scheme, Threshold

CALL = r"(?P<function>\w++)\s*+\((?P<arguments>[^()]*+)\)"
"""Possessive, so that a text that does not match fails in linear time. The arguments keep their outer spaces."""
COMPARISON = re.compile(rf"\s*+{CALL}\s*+(?P<op><=|>=|<|>)\s*+(?P<limit>\S++)\s*+")

OPTIONS: dict[str, tuple[str, ...]] = {
    "threshold": ("min_count", "min_duration", "close", "segments"),
    "boundary": (),
    "double_boundary": (),
    "delta": ("op", "reference"),
    "aggregate": (),
    "gap": (),
}
"""The schemes of the command line, with the options that belong to only one scheme."""


def add_scheme_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare one option per scheme, and the options that go with them."""
    group = parser.add_argument_group(
        "scheme", "How frames start and end; exactly one. Custom schemes, written in Python, are for wr.Custom only."
    )
    one = group.add_mutually_exclusive_group(required=True)
    one.add_argument("--threshold", metavar="PREDICATE", help='runs of rows that satisfy a condition: "speed < 40"')
    one.add_argument("--boundary", metavar="GRID", help='runs in one cell, by width or break points: "x=10,y=0:5:20"')
    one.add_argument("--double-boundary", metavar="GRID", help='overlapping frames over two neighbouring cells: "x=10"')
    one.add_argument("--delta", metavar="LIMITS", help='a new frame whenever a column moved by more: "dye=0.05"')
    one.add_argument("--aggregate", metavar="CONDITION", help='a new frame by a running aggregate: "sum(volume) > 100"')
    one.add_argument("--gap", metavar="DURATION", help='sessions: a new frame after a silence: "30 minutes"')
    more = parser.add_argument_group("options of one scheme")
    more.add_argument("--min-count", type=int, metavar="N", help="threshold: drop runs of fewer rows")
    more.add_argument("--min-duration", metavar="DURATION", help='threshold: drop shorter runs: "3 minutes"')
    more.add_argument("--close", metavar="PREDICATE", help="threshold: stay open until this holds (hysteresis)")
    more.add_argument("--segments", action="store_true", default=None, help="threshold: also the frames between")
    more.add_argument("--op", choices=("<", "<=", ">", ">="), help="delta: how the movement is compared (default <=)")
    more.add_argument("--reference", choices=("range", "first"), help="delta: what moves (default range)")
    every = parser.add_argument_group("options of every scheme")
    every.add_argument("--max-gap", metavar="DURATION", help="rows further apart are never in one frame")
    every.add_argument("--nulls", metavar="POLICY", help="null attributes: skip, break, error; threshold also false")


def make_scheme(args: argparse.Namespace) -> Scheme:
    """Create the scheme that the options describe."""
    scheme = next(name for name in OPTIONS if getattr(args, name) is not None)
    for owner, names in OPTIONS.items():
        for name in names:
            if owner != scheme and getattr(args, name) is not None:
                raise SpecError(f"{_flag(name)} belongs to {_flag(owner)} and means nothing with {_flag(scheme)}")
    options: dict[str, Any] = {name: getattr(args, name) for name in (*OPTIONS[scheme], "max_gap", "nulls")}
    options = {name: value for name, value in options.items() if value is not None}
    for name in ("min_duration", "max_gap"):
        if name in options:
            options[name] = as_duration(options[name])
    return _MAKERS[scheme](getattr(args, scheme), options)


_MAKERS: dict[str, Callable[[str, dict[str, Any]], Scheme]] = {
    "threshold": lambda text, options: Threshold(text, **options),
    "boundary": lambda text, options: Boundary(as_grid(text, "--boundary"), **options),
    "double_boundary": lambda text, options: DoubleBoundary(as_grid(text, "--double-boundary"), **options),
    "delta": lambda text, options: Delta(as_limits(text, "--delta"), **options),
    "aggregate": lambda text, options: Aggregate(*as_comparison(text), **options),
    "gap": lambda text, options: Gap(as_duration(text), **options),
}


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def as_duration(text: str) -> str | float:
    """Parse a duration; a bare number is in the unit of a numeric `--on`.

    >>> as_duration("3 minutes"), as_duration("5"), as_duration("2.5")
    ('3 minutes', 5, 2.5)
    """
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def as_columns(given: Sequence[str] | None) -> list[str] | None:
    """Split column names that are given repeatedly, with commas, or both.

    >>> as_columns(["road,lane", "direction"])
    ['road', 'lane', 'direction']
    """
    if given is None:
        return None
    names = [name.strip() for text in given for name in text.split(",")]
    if not all(names):
        raise SpecError(
            f"{quoted(', '.join(given))} names an empty column; write names with commas between them: road,lane"
        )
    return names


def as_limits(text: str, option: str) -> dict[str, float]:
    """Parse one number per column.

    >>> as_limits("dye=0.05,depth=2", "--delta")
    {'dye': 0.05, 'depth': 2.0}
    """
    pairs = _pairs(text, option, "dye=0.05")
    return {name: _number(value, f"{option}: the limit of {name!r}") for name, value in pairs.items()}


def as_grid(text: str, option: str) -> dict[str, float | list[float]]:
    """Parse widths or break points per column. A colon marks break points, so `5:` is a single one.

    >>> as_grid("x=10,y=0:5:20,z=5:", "--boundary")
    {'x': 10.0, 'y': [0.0, 5.0, 20.0], 'z': [5.0]}
    """
    grid: dict[str, float | list[float]] = {}
    for name, value in _pairs(text, option, "x=10,y=0:5:20").items():
        if ":" in value:
            what = f"{option}: a break point of {name!r}"
            grid[name] = [_number(point, what) for point in value.removesuffix(":").split(":")]
        else:
            grid[name] = _number(value, f"{option}: the width of {name!r}")
    return grid


def _pairs(text: str, option: str, example: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for item in text.split(","):
        name, equals, value = (part.strip() for part in item.rpartition("="))
        if not (name and equals and value):
            raise SpecError(f"{option}: {quoted(item.strip())} is not NAME=VALUE; write it like {example!r}")
        if name in pairs:
            raise SpecError(f"{option}: column {name!r} is given twice")
        pairs[name] = value
    return pairs


def _number(text: str, what: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise SpecError(f"{what} must be a number such as 0.5, and {quoted(text.strip())} is no number") from None


def as_comparison(text: str) -> tuple[AggregateFunction, str, float]:
    """Parse an aggregate, an operator and a limit.

    >>> as_comparison("sum(volume) > 100")
    (sum('volume'), '>', 100.0)
    """
    found = COMPARISON.fullmatch(text)
    if found is None:
        raise SpecError(
            f"--aggregate: {quoted(text)} is no condition on an aggregate; write it like 'sum(volume) > 100'"
        )
    aggregate = as_call(found["function"], found["arguments"], "--aggregate")
    return aggregate, found["op"], _number(found["limit"], f"--aggregate: the limit of {quoted(text)}")


def as_aggregates(given: Sequence[str] | None) -> dict[str, AggregateFunction]:
    """Parse aggregates by result name.

    >>> as_aggregates(["cars=sum(volume)", "n=count()", "fast=quantile(speed, 0.9)"])
    {'cars': sum('volume'), 'n': count(), 'fast': quantile('speed', 0.9)}
    """
    named: dict[str, AggregateFunction] = {}
    for text in given or ():
        name, _, call = (part.strip() for part in text.partition("="))
        found = re.fullmatch(CALL, call)
        if not name or found is None:
            raise SpecError(f"--agg: {quoted(text)} is not NAME=FUNCTION(COLUMN); write it like 'slowest=min(speed)'")
        if name in named:
            raise ColumnError(f"--agg: two results are named {name!r}; rename one of them")
        named[name] = as_call(found["function"], found["arguments"], "--agg")
    return named
