"""A window query and its rows in plain values, its windows by the definition, and the inputs of engines."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

import windrow as wr
from fuzz import draw, windows
from fuzz.case import Mismatch, NotACase
from fuzz.queries import BY, GROUP_TYPES, in_order
from fuzz.results import ANYTHING, Near, Overflow, aggregate, agrees, counted
from fuzz.tables import ARROW, WHOLE, dictionaries, extremes, is_nan, spark_key
from windrow.errors import DataError
from windrow.rows.query import Layout
from windrow.rows.roles import Roles
from windrow.windows.query import WindowOptions, WindowQuery

CLOCKS = ("bigint", "bigint", "timestamp", "timestamp", "date", "int", "double", "smallint", "tinyint")
AGGREGATES = (
    ["count", "sum v", "mean x", "min x", "max v"],
    ["first v", "last x"],
    ["variance x", "median x"],
    ["highest x", "quantile v", "most x"],
    ["distinct v", "mode v", "top v", "least x", "rank v"],
)
STORED: tuple[tuple[str, str, float, float], ...] = (
    ("Recomputation", "sum x", 0, 0),
    ("Recomputation", "max x", 0, 0),
    ("ExpirationList", "mean x", 0, 0),
    ("ExpirationList", "sum v", 0, 0),
    ("Panes", "sum x", 0, 0),
    ("Panes", "min x", 0, 0),
    ("TwoStacks", "max x", 0, 0),
    ("TwoStacks", "sum x", 0, 0),
    ("TwoStacks", "mean x", 0, 0),
    ("DABA", "min x", 0, 0),
    ("DABA", "variance x", 0, 0),
    ("FiBA", "mean x", 0, 0),
    ("FiBA", "first x", 0, 0),
    ("Ordered", "median x", 0, 0),
    ("Ordered", "highest x", 0, 0),
    ("Ordered", "mode x", 0, 0),
    ("VarianceHistogram", "variance x", 0.1, 0),
    ("ExponentialHistogram", "count x", 0.1, 0),
    ("ArasuMankuFixed", "median x", 0.1, 0),
    ("ArasuMankuVariable", "median x", 0.1, 0),
    ("ArasuMankuHeavyHitters", "heavy x", 0.1, 0),
    ("KLLPanes", "quantile x", 0.1, 0.1),
    ("BernoulliSample", "median x", 0.1, 0.1),
    ("ChainSample", "median x", 0.1, 0.1),
    ("PrioritySample", "median x", 0.1, 0.1),
    ("BoundedPrioritySample", "median x", 0.1, 0.1),
    ("PaneReservoirs", "median x", 0.1, 0.1),
    ("BiasedReservoir", "median x", 0.1, 0.1),
)
"""Synopses, their aggregates and allowed errors; few, because each pair takes seconds to compile."""
REFUSALS = ("stores a number of values", "do not accept NaN", "is unknown in advance")
"""Messages with which synopses refuse: nulls in count windows, NaN in KLL, a Bernoulli sample of unknown size."""
SAMPLES = ("BernoulliSample", "ChainSample", "PrioritySample", "BoundedPrioritySample", "PaneReservoirs")


def draw_slide(
    rng: random.Random, *, rows: int, groups: int, with_synopsis: bool, clocks: tuple[str, ...] = CLOCKS
) -> dict[str, Any]:
    """Return the parts of a random window query; with `with_synopsis`, a synopsis stores one of the aggregates."""
    clock = draw.Clock.draw(rng, tuple(kind for kind in clocks if not (with_synopsis and kind == "double")))
    if clock.kind == "double":
        clock.unit = 1.0
    by = rng.choice(BY)
    columns = draw.Columns(rng)
    columns.types["x"] = "double"
    windows_of: dict[str, Any] = {"w0": windows.draw(rng, clock, plain=with_synopsis)}
    if rng.random() < 0.3:
        second = windows.draw(rng, clock, plain=with_synopsis)
        counted = [w["name"] if w["name"] in ("Rows", "DistinctTimes") else "time" for w in (windows_of["w0"], second)]
        if counted[0] == counted[1]:
            windows_of["w1"] = second
    agg = list(rng.choice(AGGREGATES))
    using = {}
    if with_synopsis:
        synopsis, name, eps, delta = rng.choice(STORED)
        agg = [name, *agg[:1]] if rng.random() < 0.5 else [name]
        using = {"a0": [synopsis, eps, delta]}
        columns.types["v"] = "bigint" if name == "sum v" else columns.types["v"]
    types = {"g": rng.choice(GROUP_TYPES), "h": "int"} if len(by) == 2 else {"g": rng.choice(GROUP_TYPES)} if by else {}
    types |= {"t": clock.kind, **columns.types, "p": "bigint"}
    drawn: list[list[Any]] = []
    for k, size in enumerate(draw.group_sizes(rng, groups if by else 1, rows)):
        key = [f"g{k}" if types["g"] == "string" else k * 7 - 3] if by else []
        key += [k % 2] if len(by) == 2 else []
        on = _instants(rng, clock, size)
        drawn += [[*key, t, *row[:3]] for t, row in zip(on, columns.rows(rng, on), strict=True)]
    rng.shuffle(drawn)
    return {
        "windows": windows_of,
        "agg": agg,
        "using": using,
        "empty": rng.random() < 0.15,
        "only_changed": rng.random() < 0.15,
        "by": by,
        "order_by": rng.choice(([], ["p"])),
        "types": types,
        "rows": [[*row, p] for p, row in enumerate(drawn)],
    }


def _instants(rng: random.Random, clock: draw.Clock, n: int) -> list[Any]:
    """Return ordered instants away from the extremes of their type: the bounds of windows must fit it too."""
    at, instants = rng.choice((0, 0, -9, 40)), []
    outage = rng.choice((0.0, 0.0, 0.05))
    base = 19_000 if clock.kind == "timestamp" else 0
    if clock.kind in draw.UNITS and rng.random() < 0.5:
        base = rng.choice(draw.CHANGES) * 1_000_000 // int(clock.unit) - rng.choice((0, 2, 10))
    for _ in range(n):
        at += rng.choice((20, 60, 200)) if rng.random() < outage else rng.choice(draw.STEPS)
        t = (base + at) * clock.unit
        if clock.kind == "double":
            t += rng.choice((0.0, 0.0, 0.5, 0.25))
        elif clock.unit > 1:
            t += rng.choice((0, 0, 1, int(clock.unit) // 2))
        instants.append(t)
    if clock.kind == "double":
        return sorted(instants)
    low, high = extremes(clock.kind)
    if instants and rng.random() < 0.06:
        # At an extreme of the type, where the bounds of windows may exceed it.
        ahead = rng.choice((0, 1, 5, 40)) * int(clock.unit)
        shift = rng.choice((low - min(instants) + ahead, high - max(instants) - ahead))
        instants = [t + shift for t in instants]
    return sorted(min(max(t, low), high) for t in instants)


def slide_of(parts: dict[str, Any]) -> WindowQuery:
    """Return the query as the engines take it."""
    types = {name: ARROW[kind] for name, kind in parts["types"].items()}
    agg = {f"a{i}": aggregate(name) for i, name in enumerate(parts["agg"])}
    using = {name: wr.Keep(synopsis, eps, delta) for name, (synopsis, eps, delta) in parts["using"].items()}
    made = {name: windows.build(window) for name, window in parts["windows"].items()}
    kinds = WindowOptions(made, len(made) > 1, parts["empty"], parts["only_changed"], using)
    return WindowQuery(kinds, Roles("t", tuple(parts["by"]), tuple(parts["order_by"]), agg, types))


def layout_of(slide: WindowQuery) -> Layout:
    """Return how the query's rows are read from a table."""
    return Layout("t", slide.by, {}, {}, tuple(slide.values), slide.order_by)


class ExpectedWindows:
    """The windows of all groups by the definition, or the fact that the query must fail."""

    def __init__(self, parts: dict[str, Any], rows: Sequence[Any] | None = None, reached: Any = None) -> None:
        self.parts = parts
        self.fails = False
        self.may_fail = False
        """Whether rows are so close to the limits of 64 bits that their windows may be refused."""
        self.windows: dict[tuple[Any, ...], list[tuple[windows.Window, list[Any]]] | None] = {}
        groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
        for row in in_order(parts, rows):
            named = dict(zip(parts["types"], row, strict=True))
            groups[tuple(named[name] for name in parts["by"])].append(named)
        self.rows = {key: len(mine) for key, mine in groups.items()}
        for key, mine in groups.items():
            for name, window in parts["windows"].items():
                past = mine[-1]["t"] if reached is None else max(reached, mine[-1]["t"])
                self.windows[(*key, name)] = self._of_group(window, mine, past)

    def _of_group(self, window: dict[str, Any], rows: list[Any], past: Any) -> Any:
        try:
            made = windows.windows(window, rows, past, empty=self.parts["empty"])
            self._look_at_bounds(made)
            results = windows.results_of(made, self.parts["agg"])
        except Overflow:
            self.fails = True
            return None
        if not self.parts["only_changed"]:
            return results
        if any(eps or synopsis in SAMPLES for synopsis, eps, _ in self.parts["using"].values()):
            return None
        return windows.only_changed(results)

    def _look_at_bounds(self, made: list[windows.Window]) -> None:
        """Note whether a bound exceeds the type of `on`, which must be refused."""
        kind = self.parts["types"]["t"]
        if kind == "double" or not made:
            return
        low, high = extremes(kind)
        least, most = min(window.start for window in made), max(window.end for window in made)
        self.fails |= least < low or most > high
        self.may_fail |= WHOLE[kind] == 64 and max(-least, most) > 2**63 - 2**50

    def compare(self, tables: Sequence[pa.Table], what: str = "") -> int:
        """Return the number of compared windows; raise `Mismatch` if one differs from the definition's."""
        rows = [row for part in tables for row in dictionaries(part)]
        groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
        for row in rows:
            groups[*(row[name] for name in self.parts["by"]), row.get("window", "w0")].append(row)
        compared = 0
        for key, expected in self.windows.items():
            if expected is not None:
                compared += len(expected)
                self._compare_group(key, groups[key], expected, what)
        if stray := groups.keys() - self.windows.keys():
            raise Mismatch(f"{what}windows of a group that has no rows", f"groups {sorted(stray)}")
        return compared

    def _compare_group(self, key: Any, rows: list[dict[str, Any]], expected: list[Any], what: str) -> None:
        name = self.parts["windows"][key[-1]]["name"]
        if len(rows) != len(expected):
            raise Mismatch(f"{what}{name}: number of windows", _described(key, rows, expected))
        for mine, (window, results) in zip(rows, expected, strict=True):
            for column in ("start", "end", "complete"):
                if mine[column] != getattr(window, column):
                    raise Mismatch(f"{what}{name}: {column}", _described(key, rows, expected))
            for i, (aggregated, result) in enumerate(zip(self.parts["agg"], results, strict=True)):
                keep = self.parts["using"].get(f"a{i}")
                cut = name == "Rows" and window is expected[-1][0] and self._is_cut(key, expected)
                if not agrees_approximately(keep, aggregated, mine[f"a{i}"], result, window.rows, cut):
                    by = f" by {keep[0]}" if keep else ""
                    raise Mismatch(f"{what}{aggregated}{by}: differs", f"{window}\n{_described(key, rows, expected)}")

    def _is_cut(self, key: Any, expected: list[Any]) -> bool:
        """Return whether a group's rows ended before its last count window did."""
        _, every = self.parts["windows"][key[-1]]["args"]
        return bool(self.rows[key[:-1]] % every)


def _described(key: Any, rows: list[dict[str, Any]], expected: list[Any]) -> str:
    shown = "\n".join(f"    {row}" for row in rows[:25])
    right = "\n".join(f"    {w.start} {w.end} {w.complete} {r}" for w, r in expected[:25])
    return f"group {key}: found {len(rows)}\n{shown}\n  by the definition {len(expected)}\n{right}"


COUNTING = ("ArasuMankuFixed", "ChainSample", "KLLPanes")
"""Synopses that store a fixed number of values, and so have no answer for a count window cut by the end of the data."""


def agrees_approximately(
    keep: Any, name: str, actual: Any, expected: Any, rows: Sequence[dict[str, Any]], cut: bool
) -> bool:
    """Return whether a result is correct: exactly, or within the error of its synopsis."""
    if keep is not None and cut and keep[0] in COUNTING:
        return actual is None
    if keep is None or not keep[1]:
        return agrees(actual, expected)
    synopsis, eps, _ = keep
    column = name.partition(" ")[2]
    values = [row[column] for row in rows if not column or row[column] is not None]
    return within(synopsis, name.partition(" ")[0], eps, actual, expected, values)


def within(synopsis: str, what: str, eps: float, actual: Any, expected: Any, values: Sequence[Any]) -> bool:
    """Return whether an answer is within its synopsis' error; for samples, whether it is one of the values."""
    if what in ("median", "quantile", "highest"):
        if not values:
            return actual is None
        if actual is None:
            return synopsis in ("BoundedPrioritySample", "BernoulliSample", "ChainSample")
        if not any(spark_key(actual) == spark_key(value) for value in values):
            return False
        return synopsis in (*SAMPLES, "BiasedReservoir", "KLLPanes") or rank_error(what, actual, values) <= eps + 1e-12
    if synopsis in (*SAMPLES, "BiasedReservoir"):
        return True
    if what == "heavy":
        return _are_heavy(actual, values, eps)
    if expected is ANYTHING:
        return True
    exact = expected.value if isinstance(expected, Near) else expected
    if exact is None or actual is None:
        return actual is exact
    if is_nan(exact) or is_nan(actual) or math.isinf(exact):
        return agrees(actual, expected)
    spread = expected.within if isinstance(expected, Near) else 0.0
    return abs(actual - exact) <= eps * abs(exact) + spread + 1e-9 * abs(exact)


def _are_heavy(actual: Any, values: Sequence[Any], eps: float) -> bool:
    """Return whether all frequent values are present, with counts too low by at most `eps` of the window."""
    if not values:
        return actual in (None, [])
    often = {str(item["value"]): item["count"] for item in counted(values)}
    reported = {str(item["value"] + 0.0): item["count"] for item in actual}
    n = len(values)
    slack = eps * n + 1e-9
    complete = all(name in reported for name, count in often.items() if count >= 0.3 * n)
    return complete and all(
        often.get(name, 0) - slack <= count <= often.get(name, 0) for name, count in reported.items()
    )


def rank_error(what: str, actual: Any, values: Sequence[Any]) -> float:
    """Return the rank error of a quantile, as a share of the window."""
    q = {"median": 0.5, "quantile": 0.9, "highest": 1.0}[what]
    rank = max(1, math.ceil(q * len(values)))
    first = sum(spark_key(value) < spark_key(actual) for value in values) + 1
    last = sum(spark_key(value) <= spark_key(actual) for value in values)
    return max(0, first - rank, rank - last) / len(values)


def _is_too_large(parts: dict[str, Any]) -> bool:
    """Return whether the values in an expiration list's sum differ too much in magnitude.

    As documented, its sum over floats has twice the precision of a float, and no more.
    """
    if parts["using"].get("a0", [""])[0] != "ExpirationList" or parts["agg"][0] != "mean x":
        return False
    x = [row[list(parts["types"]).index("x")] for row in parts["rows"]]
    return any(value is not None and 1e15 < abs(value) < math.inf for value in x)


def is_refusal(error: Exception) -> bool:
    """Return whether an error is a synopsis' refusal of its input."""
    return any(text in str(error) for text in REFUSALS)


def run(expected: ExpectedWindows, engine: Any, what: str = "") -> int:
    """Run an engine, which returns tables, and compare; a query that must fail has to raise a `DataError`."""
    if _is_too_large(expected.parts):
        raise NotACase
    try:
        tables = engine()
    except DataError as error:
        if is_refusal(error):
            raise NotACase from None
        if expected.fails or expected.may_fail:
            return 1
        raise
    if expected.fails and not expected.parts["using"]:
        raise Mismatch(f"{what}does not fail", "by the definition the query must fail with a DataError")
    if expected.fails:
        raise NotACase
    return expected.compare(tables, what)
