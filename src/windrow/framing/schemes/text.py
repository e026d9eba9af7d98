"""Schemes as texts: how each option is written on the command line and in SQL, declared once for both.

A field of a scheme carries a `TextOption` in its metadata:

    predicate: Any = field(metadata=text_option("runs of rows that satisfy a condition", "PREDICATE", "speed < 40"))

The command line makes `--threshold PREDICATE` of it, SQL the argument `predicate =>` of `threshold_frames`. Texts are
parsed here. A value that is not a text is returned as it is: SQL also has numbers, arrays, maps and intervals.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from windrow.aggregates.text import CALL, as_aggregate
from windrow.errors import SpecError, quoted
from windrow.framing.schemes.rules.conversion import Written
from windrow.rows.text import as_duration, as_number

Parse: TypeAlias = Callable[[Any, str], Any]
"""A function from a value and the name of its option to what the scheme takes."""

COMPARISON = re.compile(rf"(?P<call>{CALL})(?P<op><=|>=|<|>)\s*+(?P<limit>\S++)\s*+")


def as_is(value: Any, option: str) -> Any:
    """Return the value; the scheme validates it."""
    return value


@dataclass(frozen=True)
class TextOption:
    """How an option of a scheme is written on the command line and in SQL."""

    help: str
    """What it means, in a few words."""
    metavar: str = "TEXT"
    """What its value is called in the help of the command line; empty for a switch, which has no value there."""
    example: str = ""
    """An example, as on the command line."""
    parse: Parse = as_is
    sql: str = ""
    """An example in SQL; by default the same as on the command line, in quotes."""
    typed: bool = False
    """Whether SQL has a type for it, such as numbers and intervals. Then only the command line parses texts."""

    @property
    def is_switch(self) -> bool:
        """Whether the option is given without a value on the command line."""
        return not self.metavar

    @property
    def line(self) -> str:
        """The help for the command line."""
        return f'{self.help}: "{self.example}"' if self.example else self.help

    @property
    def sql_example(self) -> str:
        """An example for SQL."""
        return self.sql or f"'{self.example}'"


def text_option(
    help: str, metavar: str = "TEXT", example: str = "", *, parse: Parse = as_is, sql: str = "", typed: bool = False
) -> dict[str, TextOption]:
    """Return the metadata of a field that can be written as text."""
    return {"text": TextOption(help, metavar, example, parse, sql, typed)}


def duration_option(help: str, example: str = "") -> dict[str, TextOption]:
    """Return the metadata of a field that is a duration."""
    return text_option(help, "DURATION", example, parse=as_duration, typed=True)


def as_limits(value: Any, option: str) -> Any:
    """Parse one number per column.

    >>> as_limits("dye=0.05,depth=2", "--delta")
    {'dye': 0.05, 'depth': 2.0}

    Columns of a point are joined by a plus sign.

    >>> as_limits("lon+lat=200", "--delta")
    {('lon', 'lat'): 200.0}
    """
    if not isinstance(value, str):
        return value
    pairs = _pairs(value, option, "dye=0.05")
    limits = {name: as_number(limit, f"{option}: limit of {name!r}") for name, limit in pairs.items()}
    return {tuple(name.split("+")) if "+" in name else name: limit for name, limit in limits.items()}


def as_grid(value: Any, option: str) -> Any:
    """Parse widths or break points per column. A colon marks break points, so `5:` is a single one.

    >>> as_grid("x=10,y=0:5:20,z=5:", "--boundary")
    {'x': 10.0, 'y': [0.0, 5.0, 20.0], 'z': [5.0]}
    """
    if not isinstance(value, str):
        return value
    grid: dict[str, float | list[float]] = {}
    for name, text in _pairs(value, option, "x=10,y=0:5:20").items():
        if ":" in text:
            what = f"{option}: break point of {name!r}"
            grid[name] = [as_number(point, what) for point in text.removesuffix(":").split(":")]
        else:
            grid[name] = as_number(text, f"{option}: width of {name!r}")
    return grid


def _pairs(text: str, option: str, example: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for item in text.split(","):
        name, equals, value = (part.strip() for part in item.rpartition("="))
        if not (name and equals and value):
            raise SpecError(f"{option}: expected NAME=VALUE, e.g. {example!r}; got {quoted(item.strip())}")
        if name in pairs:
            raise SpecError(f"{option}: column {name!r} is given twice")
        pairs[name] = value
    return pairs


def as_values(value: Any, option: str) -> Any:
    """Split a text into values, which are read by the types of the columns that they are compared with.

    >>> as_values("OFF, IDLE", "--ignore")
    ['OFF', 'IDLE']
    """
    return [Written(item.strip()) for item in value.split(",")] if isinstance(value, str) else value


def as_comparison(text: str, option: str) -> dict[str, Any]:
    """Parse a condition on an aggregate into its parts.

    >>> as_comparison("sum(volume) > 100", "--aggregate")
    {'aggregate': sum('volume'), 'op': '>', 'limit': 100.0}
    """
    match = COMPARISON.fullmatch(text)
    if match is None:
        raise SpecError(f"{option}: expected a condition on an aggregate, e.g. 'sum(volume) > 100'; got {quoted(text)}")
    limit = as_number(match["limit"], f"{option}: limit of {quoted(text)}")
    return {"aggregate": as_aggregate(match["call"], option), "op": match["op"], "limit": limit}
