"""A framing query and its rows in plain values, its frames by the definition, and the inputs of engines.

The parts of a case are `types` (columns by name), `by`, `order_by`, `scheme`, `agg` and `rows`; `t` is `on`.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from fuzz import draw, schemes
from fuzz.case import Mismatch, NotACase
from fuzz.definition import Frame, Refused, Settled, Undecided
from fuzz.predicates import evaluate
from fuzz.results import Overflow, aggregate, agrees, by_definition
from fuzz.tables import ARROW, dictionaries, spark_key, table
from windrow.errors import DataError
from windrow.framing.query import FrameQuery
from windrow.predicates.parse import parse_predicate
from windrow.rows.query import Layout
from windrow.rows.roles import Roles

AGGREGATES = (
    [],
    ["count", "sum v"],
    ["first p", "last p", "sum p"],
    ["sum v", "mean x", "min v", "max x", "first v", "last x", "variance x"],
    ["median x", "count v"],
    ["stddev v", "max v", "min x", "quantile v"],
)
"""Combinations of aggregates that are tested together."""
BY = ([], ["g"], ["g"], ["g"], ["g", "h"])
GROUP_TYPES = ("bigint", "string", "int")


def draw_query(
    rng: random.Random, *, rows: int, groups: int, clocks: tuple[str, ...] = draw.CLOCKS, runs: bool = False, **odd: Any
) -> dict[str, Any]:
    """Return the parts of a random query over about this many rows."""
    clock = draw.Clock.draw(rng, clocks)
    by = rng.choice(BY)
    columns = draw.Columns(rng, **odd)
    scheme = schemes.draw(rng, clock.length, runs=runs)
    types = {"g": rng.choice(GROUP_TYPES), "h": "int"} if len(by) == 2 else {"g": rng.choice(GROUP_TYPES)} if by else {}
    drawn_too = schemes.more_columns(scheme)
    more_types = {name: kind for name, (kind, _) in drawn_too.items()}
    types |= {"t": clock.kind, **columns.types, "hit": "boolean", "stop": "boolean", **more_types, "p": "bigint"}
    drawn: list[list[Any]] = []
    for k, size in enumerate(draw.group_sizes(rng, groups if by else 1, rows)):
        key = [f"g{k}" if types["g"] == "string" else k * 7 - 3] if by else []
        key += [k % 2] if len(by) == 2 else []
        on = draw.instants(rng, clock, size)
        more = [draw.runs_of(rng, palette, size, columns.missing) for _, palette in drawn_too.values()]
        drawn += [[*key, t, *row, *rest] for t, row, *rest in zip(on, columns.rows(rng, on), *more, strict=True)]
    rng.shuffle(drawn)
    return {
        "scheme": scheme,
        "agg": list(rng.choice(AGGREGATES)),
        "by": by,
        "order_by": rng.choice(([], ["p"])),
        "types": types,
        "rows": [[*row, p] for p, row in enumerate(drawn)],
    }


def request_of(parts: dict[str, Any]) -> FrameQuery:
    """Return the query as the engines take it."""
    types = {name: ARROW[kind] for name, kind in parts["types"].items()}
    agg = {f"a{i}": aggregate(name) for i, name in enumerate(parts["agg"])}
    return FrameQuery(
        schemes.build(parts["scheme"]), Roles("t", tuple(parts["by"]), tuple(parts["order_by"]), agg, types)
    )


def layout_of(request: FrameQuery) -> Layout:
    """Return how the query's rows are read from a table."""
    schema = pa.schema(list(request.types.items()))
    truths = {name: parse_predicate(text).compile(schema) for name, text in request.predicates.items()}
    attributes = {name: name for name in request.attributes}
    return Layout("t", request.by, truths, attributes, tuple(request.values), request.order_by)


def table_of(parts: dict[str, Any], rows: Sequence[Sequence[Any]] | None = None) -> pa.Table:
    """Return the rows as a table."""
    return table(parts["types"], parts["rows"] if rows is None else rows)


def in_order(parts: dict[str, Any], rows: Sequence[Sequence[Any]] | None = None) -> list[list[Any]]:
    """Return the rows sorted by `on`, `order_by`, and then by everything that the query reads."""
    names = list(parts["types"])
    keyed = [names.index(name) for name in ("t", *parts["by"])]
    if any(row[i] is None for row in parts["rows"] for i in keyed):
        raise NotACase
    columns = ["t", *parts["order_by"]]
    scheme = parts.get("scheme")
    conditions = schemes.conditions(scheme) if scheme else {}
    attributes = schemes.attributes(scheme) if scheme else []
    values = schemes.labels(scheme) if scheme else []
    values += [name.partition(" ")[2] for name in parts["agg"]]

    def key(row: Sequence[Any]) -> list[Any]:
        named = dict(zip(names, row, strict=True))
        keys = [spark_key(named[name]) for name in columns]
        keys += [spark_key(evaluate(text, named)) for text in conditions.values()]
        keys += [spark_key(None if named[a] is None else float(named[a])) for a in attributes]
        return keys + [spark_key(named[v]) for v in values if v]

    return sorted(parts["rows"] if rows is None else rows, key=key)


class ExpectedFrames:
    """The frames of all groups by the definition, or the fact that the query must fail."""

    def __init__(self, parts: dict[str, Any], rows: Sequence[Sequence[Any]] | None = None) -> None:
        self.parts = parts
        self.fails = False
        self.frames: dict[tuple[Any, ...], list[dict[str, Any]] | None] = {}
        """The frames of each group, or None if they depend on rounding."""
        groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
        for row in in_order(parts, rows):
            named = dict(zip(parts["types"], row, strict=True))
            groups[tuple(named[name] for name in parts["by"])].append(named)
        for key, mine in groups.items():
            self.frames[key] = self._of_group(mine)

    def _of_group(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
        try:
            settled = schemes.settle(self.parts["scheme"], rows, "t")
            return [self._row(k, frame, settled) for k, frame in enumerate(self._frames(settled))]
        except Undecided:
            return None
        except (Refused, Overflow):
            self.fails = True
            return None

    def _frames(self, settled: list[Settled]) -> list[Frame]:
        return schemes.frames(self.parts["scheme"], settled, draw.seconds)

    def _row(self, number: int, frame: Frame, settled: list[Settled]) -> dict[str, Any]:
        rows = [settled[i].row for i in frame.members]
        row = {
            "frame": number,
            "start": rows[0]["t"],
            "end": rows[-1]["t"],
            "closed_at": None if frame.closed is None else settled[frame.closed].on,
            "count": len(rows),
            "complete": frame.complete,
            "label": frame.label,
        }
        return row | {f"a{i}": by_definition(name, rows) for i, name in enumerate(self.parts["agg"])}

    @property
    def undecided(self) -> bool:
        """Whether the frames of some group depend on rounding."""
        return any(frames is None for frames in self.frames.values())

    def compare(self, tables: Sequence[pa.Table], what: str = "") -> int:
        """Return the number of compared groups; raise `Mismatch` if frames differ from the definition's."""
        return self.compare_rows([row for part in tables for row in dictionaries(part)], what)

    def compare_rows(self, rows: Sequence[dict[str, Any]], what: str = "") -> int:
        """Compare frames given as plain rows."""
        by = self.parts["by"]
        groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
        for row in rows:
            groups[tuple(row[name] for name in by)].append(row)
        for key, expected in self.frames.items():
            if expected is not None:
                self._compare_group(key, groups[key], expected, what)
        if stray := groups.keys() - self.frames.keys():
            raise Mismatch(f"{what}frames of a group that has no rows", f"groups {sorted(stray)}")
        return max(1, len(self.frames))

    def _compare_group(self, key: Any, rows: list[dict[str, Any]], expected: list[dict[str, Any]], what: str) -> None:
        rows = sorted(rows, key=lambda row: row["frame"])
        name, scheme = self.parts["scheme"]["name"], schemes.build(self.parts["scheme"])
        extras = scheme.added_columns
        if len(rows) != len(expected):
            raise Mismatch(f"{what}{name}: number of frames", described(key, rows, expected))
        for mine, theirs in zip(rows, expected, strict=True):
            for column in ("frame", "start", "end", "closed_at", "count", "complete"):
                if not agrees(mine[column], theirs[column]):
                    raise Mismatch(f"{what}{name}: {column}", described(key, rows, expected))
            if [mine[column] for column in extras] != list(theirs["label"]):
                raise Mismatch(f"{what}{name}: label", described(key, rows, expected))
            for i, aggregated in enumerate(self.parts["agg"]):
                if not agrees(mine[f"a{i}"], theirs[f"a{i}"]):
                    raise Mismatch(f"{what}{name}: {aggregated}", described(key, rows, expected))


def described(key: Any, rows: list[dict[str, Any]], expected: list[dict[str, Any]]) -> str:
    """Format both sides for a person to read."""
    shown = "\n".join(f"    {row}" for row in rows[:20])
    right = "\n".join(f"    {row}" for row in expected[:20])
    return f"group {key}: found {len(rows)}\n{shown}\n  by the definition {len(expected)}\n{right}"


def run(expected: ExpectedFrames, engine: Any, what: str = "") -> int:
    """Run an engine, which returns tables, and compare; a query that must fail has to raise a `DataError`."""
    if expected.undecided and not expected.fails:
        # Other groups could be compared, but a sum in an undecided group may overflow, so such cases are skipped.
        raise NotACase
    try:
        tables = engine()
    except DataError:
        if expected.fails:
            return 1
        raise
    if expected.fails:
        raise Mismatch(f"{what}does not fail", "by the definition the query must fail with a DataError")
    return expected.compare(tables, what)
