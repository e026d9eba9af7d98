"""The frames of one group's rows, straight from the definitions of the schemes: plain Python, row by row.

This module shares nothing with the kernels. `max_gap` and breaking rows cut the stream into blocks; within a block,
each scheme is just its definition. Integers are Python's, so no difference overflows. The difference of equal floats,
including infinities, is zero.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

from fuzz import rules
from fuzz.predicates import evaluate
from fuzz.results import ANYTHING, Near, Overflow, by_definition
from fuzz.tables import is_nan

COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
Row = dict[str, Any]


class Undecided(Exception):
    """A frame whose end depends on rounding alone: there is nothing to compare with."""


class Refused(Exception):
    """A row that `nulls="error"` forbids: the query must fail."""


@dataclass
class Frame:
    """The positions of a frame's rows in the settled stream, and of the row that ended it."""

    members: list[int]
    closed: int | None
    complete: bool = True
    label: tuple[int, ...] = field(default=())


@dataclass(frozen=True)
class Settled:
    """A row that takes part: the values that the scheme reads, and whether it only ends frames."""

    row: Row
    on: Any
    breaks: bool
    hit: bool = True
    stop: bool = False
    values: tuple[float, ...] = ()


def attributes(scheme: dict[str, Any]) -> list[str]:
    """Return the columns whose numbers a scheme reads."""
    name, args = scheme["name"], scheme["args"]
    if name in ("Boundary", "DoubleBoundary", "Delta"):
        return list(args[0])
    if name == "Aggregate":
        return [column for column in (args[0].partition(" ")[2],) if column]
    return ["x"] if name == "Custom" else []


def conditions(scheme: dict[str, Any]) -> dict[str, str]:
    """Return the predicates that a scheme reads."""
    if scheme["name"] != "Threshold":
        return {}
    close = scheme["options"].get("close")
    return {"hit": scheme["args"][0]} | ({"stop": close} if close else {})


def settle(scheme: dict[str, Any], rows: Sequence[Row], on: str) -> list[Settled]:
    """Return the rows that take part, according to the policy for nulls."""
    policy = scheme["options"].get("nulls", "false" if scheme["name"] == "Threshold" else "skip")
    settled = []
    for row in rows:
        truths = {name: evaluate(text, row) for name, text in conditions(scheme).items()}
        values = [row[name] for name in attributes(scheme)]
        missing = any(truth is None for truth in truths.values()) or any(v is None or is_nan(v) for v in values)
        if missing and policy == "error":
            raise Refused
        if missing and policy == "skip":
            continue
        floats = tuple(0.0 if v is None else float(v) for v in values)
        taken = {name: bool(truth) for name, truth in truths.items()}
        settled.append(Settled(row, row[on], missing and policy == "break", **taken, values=floats))
    return settled


def distance(a: Any, b: Any) -> Any:
    """Return the distance of two numbers; it is 0 for equal ones, including infinities."""
    return 0 if a == b else abs(b - a)


def blocks(rows: Sequence[Settled], gap: Any) -> list[range]:
    """Return the ranges of rows between breaks and gaps that are too long."""
    found, begin = [], 0
    for i, row in enumerate(rows):
        apart = i > begin and gap is not None and distance(rows[i - 1].on, row.on) > gap
        if row.breaks or apart:
            found.append(range(begin, i))
            begin = i + 1 if row.breaks else i
    return [block for block in [*found, range(begin, len(rows))] if len(block)]


def frames(scheme: dict[str, Any], rows: Sequence[Settled], length: Any) -> list[Frame]:
    """Return all frames in order of their numbers; `length` converts an option's duration to clock units."""
    options = scheme["options"]
    gap = length(options.get("max_gap"))
    if scheme["name"] == "Custom":
        return _custom(scheme, rows, gap)
    found: list[Frame] = []
    for block in blocks(rows, gap):
        found += _IN_BLOCK[scheme["name"]](scheme, rows, block, length)
    if scheme["name"] == "DoubleBoundary":
        found.sort(key=lambda frame: (frame.members[0], frame.label))
    for frame in found:
        if frame.closed is not None and frame.closed >= len(rows):
            frame.closed = None
    return found


def _whole(first: int, last: int, **more: Any) -> Frame:
    """Return the frame from the first to the last row, ended by the row after it."""
    return Frame(list(range(first, last + 1)), last + 1, **more)


def _episodes(scheme: dict[str, Any], rows: Sequence[Settled], block: range, length: Any) -> list[Frame]:
    options = scheme["options"]
    runs: list[list[int]] = []
    is_open = False
    for i in block:
        row = rows[i]
        closes = "close" in options and options["close"] is not None
        stays = is_open and (not row.stop if closes else row.hit)
        if stays:
            runs[-1].append(i)
        else:
            is_open = row.hit and not row.stop
            if is_open:
                runs.append([i])
    least = length(options.get("min_duration"))
    episodes = [
        run
        for run in runs
        if len(run) >= options.get("min_count", 1)
        and (least is None or distance(rows[run[0]].on, rows[run[-1]].on) >= least)
    ]
    if not options.get("segments"):
        return [_whole(run[0], run[-1]) for run in episodes]
    found = [_whole(run[0], run[-1], label=(1,)) for run in episodes]
    bounds = [block.start - 1, *(i for run in episodes for i in (run[0], run[-1])), block.stop]
    for a, b in zip(bounds[::2], bounds[1::2], strict=True):
        if b - a > 1:
            found.append(_whole(a + 1, b - 1, label=(0,)))
    return sorted(found, key=lambda frame: frame.members[0])


def cell(value: float, grid: Any) -> int:
    """Return the cell of a value: `(n-1)w < a <= nw`, or `b[i-1] < a <= b[i]`; it saturates beyond 64 bits."""
    if isinstance(grid, list):
        return sum(point < value for point in grid)
    if abs(value) > grid * 9.0e18:
        return 2**63 - 1 if value > 0 else -(2**63) + 1
    if abs(value) > grid * 2**50:
        raise Undecided
    near = round(value / grid)
    return next(n for n in range(near - 2, near + 3) if (n - 1) * grid < value <= n * grid)


def _boundary(scheme: dict[str, Any], rows: Sequence[Settled], block: range, length: Any) -> list[Frame]:
    grids = list(scheme["args"][0].values())
    labels = {i: tuple(map(cell, rows[i].values, grids)) for i in block}
    starts = [i for i in block if i == block.start or labels[i] != labels[i - 1]]
    return [_whole(a, b - 1, label=labels[a]) for a, b in pairwise([*starts, block.stop])]


def _double(scheme: dict[str, Any], rows: Sequence[Settled], block: range, length: Any) -> list[Frame]:
    ((_, grid),) = scheme["args"][0].items()
    cells = {i: max(cell(rows[i].values[0], grid), -(2**63) + 1) for i in block}
    found = []
    for lower in sorted({n for c in cells.values() for n in (c - 1, c)}):
        inside = [i for i in block if cells[i] in (lower, lower + 1)]
        starts = [i for i in inside if i - 1 not in inside]
        ends = [i for i in inside if i + 1 not in inside]
        found += [_whole(a, b, label=(lower,)) for a, b in zip(starts, ends, strict=True)]
    return found


def _gap(scheme: dict[str, Any], rows: Sequence[Settled], block: range, length: Any) -> list[Frame]:
    longest = length(scheme["args"][0])
    starts = [i for i in block if i == block.start or distance(rows[i - 1].on, rows[i].on) > longest]
    return [_whole(a, b - 1) for a, b in pairwise([*starts, block.stop])]


def _from_the_left(rows: Sequence[Settled], block: range, holds: Any, maximal: bool) -> list[Frame]:
    """Return consecutive frames; `holds` returns whether the condition holds for a range of rows, or None."""
    found: list[Frame] = []
    begin = block.start
    while begin < block.stop:
        end = begin
        if maximal:
            while end < block.stop and holds(range(begin, end + 1)) is not False:
                end += 1
            if end > begin:
                found.append(_whole(begin, end - 1))
            begin = max(end, begin + 1)
        else:
            while end < block.stop and holds(range(begin, end + 1)) is not True:
                end += 1
            if end < block.stop:
                found.append(Frame(list(range(begin, end + 1)), end))
            else:
                found.append(_whole(begin, end - 1, complete=False))
            begin = end + 1
    return found


def _delta(scheme: dict[str, Any], rows: Sequence[Settled], block: range, length: Any) -> list[Frame]:
    op = scheme["options"].get("op", "<=")
    maximal, compare = op in ("<", "<="), COMPARE[op]
    limits = [float(limit) for limit in scheme["args"][0].values()]
    to_first = scheme["options"].get("reference") == "first"

    def holds(extent: range) -> bool:
        outcomes = []
        for j, limit in enumerate(limits):
            values = [rows[i].values[j] for i in extent]
            # Relative to the first row: rows before the last were close enough, or the frame would have ended.
            moved = distance(values[0], values[-1]) if to_first else distance(min(values), max(values))
            outcomes.append(compare(moved, limit))
        return all(outcomes) if maximal else any(outcomes)

    return _from_the_left(rows, block, holds, maximal)


def _aggregate(scheme: dict[str, Any], rows: Sequence[Settled], block: range, length: Any) -> list[Frame]:
    name, op, limit = scheme["args"]
    column = name.partition(" ")[2]
    maximal = op in ("<", "<=")

    def holds(extent: range) -> bool | None:
        values = [{column: rows[i].values[0] if column else 0.0} for i in extent]
        try:
            result = by_definition(name, values)
        except Overflow:
            raise Undecided from None
        if result is ANYTHING:
            raise Undecided
        within = 0.0
        if isinstance(result, Near):
            result, within = result.value, result.within
        if result is None or is_nan(result):
            return None
        if within and abs(Fraction(result) - Fraction(limit)) <= 1000 * within:
            raise Undecided
        return bool(COMPARE[op](result, limit))

    return _from_the_left(rows, block, holds, maximal)


def _custom(scheme: dict[str, Any], rows: Sequence[Settled], gap: Any) -> list[Frame]:
    rule = rules.RULES[scheme["args"][0]]
    state = SimpleNamespace(**rule["state"])
    found: list[Frame] = []
    members: list[int] = []
    for i, row in enumerate(rows):
        if members and (row.breaks or (gap is not None and distance(rows[members[-1]].on, row.on) > gap)):
            found.append(Frame(members, i, complete=False))
            members = []
        if row.breaks:
            continue
        seen = SimpleNamespace(on=row.on, x=row.values[0])
        if members and rule["close"](seen, state):
            found.append(Frame(members, i))
            members = []
        if members:
            if "update" not in rule or rule["update"](seen, state):
                members.append(i)
        elif rule["open"](seen, state):
            members = [i]
    return [*found, *([Frame(members, None, complete=False)] if members else [])]


_IN_BLOCK = {
    "Threshold": _episodes,
    "Boundary": _boundary,
    "DoubleBoundary": _double,
    "Gap": _gap,
    "Delta": _delta,
    "Aggregate": _aggregate,
}
