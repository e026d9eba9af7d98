"""Predicates: compiled evaluation against a simple evaluator, over values of every type."""

from __future__ import annotations

import math
import random
from typing import Any

import pyarrow as pa

from fuzz.case import Kind, Mismatch
from fuzz.draw import ODD
from fuzz.predicates import evaluate
from fuzz.tables import ARROW, as_stored, extremes, table
from windrow.errors import UnsupportedError
from windrow.predicates.parse import parse_predicate

TYPES = {"b": "boolean", "i": "int", "l": "bigint", "f": "float", "d": "double", "s": "string"}
NUMBERS = ("i", "l", "f", "d")
LITERALS = ("0", "1", "2", "-1", "0.5", "3", "1e10")
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "<=>", "!=")


def condition(rng: random.Random, depth: int = 3) -> str:
    """Return a random condition."""
    if depth and rng.random() < 0.5:
        a, b = condition(rng, depth - 1), condition(rng, depth - 1)
        return rng.choice((f"({a}) and ({b})", f"({a}) or ({b})", f"not ({a})", f"{a} or {b}"))
    kind = rng.randrange(10)
    number = rng.choice(NUMBERS)
    if kind < 4:
        other = rng.choice((rng.choice(LITERALS), rng.choice(LITERALS), rng.choice(NUMBERS)))
        return f"{number} {rng.choice(COMPARISONS)} {other}"
    if kind == 4:
        return f"{rng.choice(list(TYPES))} is {rng.choice(('', 'not '))}null"
    if kind == 5:
        a, b = rng.choice(LITERALS), rng.choice(LITERALS)
        return f"{number} {rng.choice(('', 'not '))}between {a} and {b}"
    if kind == 6:
        items = ", ".join(rng.choice(LITERALS) for _ in range(rng.randint(1, 3)))
        return f"{number} {rng.choice(('', 'not '))}in ({items})"
    if kind == 7:
        return f"s {rng.choice(COMPARISONS)} '{rng.choice(('', 'a', 'b', 'ab'))}'"
    if kind == 8:
        return f"isnan({rng.choice(('f', 'd'))})"
    return "b"


def value(rng: random.Random, kind: str) -> Any:
    """Return a value on which a condition may fail."""
    if rng.random() < 0.2:
        return None
    if kind == "boolean":
        return rng.random() < 0.5
    if kind == "string":
        return rng.choice(("", "a", "b", "ab", "é"))
    if kind in ("float", "double"):
        return as_stored(rng.choice((0.0, 1.0, 2.0, -1.0, 0.5, math.nan, *ODD)), kind)
    return rng.choice((0, 1, 2, -1, 3, *extremes(kind)))


class Predicates(Kind):
    """`parse_predicate(...).compile(schema)`."""

    name = "predicates"
    share = 0.5

    def draw(self, rng: random.Random) -> dict[str, Any]:
        rows = [[value(rng, kind) for kind in TYPES.values()] for _ in range(rng.choice((1, 5, 20)))]
        return {"condition": condition(rng), "rows": rows}

    def check(self, parts: dict[str, Any]) -> int:
        schema = pa.schema([(name, ARROW[kind]) for name, kind in TYPES.items()])
        try:
            compiled = parse_predicate(parts["condition"]).compile(schema)
        except UnsupportedError:
            return 0
        truths = compiled(table(TYPES, parts["rows"])).to_pylist()
        for row, truth in zip(parts["rows"], truths, strict=True):
            expected = evaluate(parts["condition"], dict(zip(TYPES, row, strict=True)))
            if expected is not truth:
                raise Mismatch(
                    "predicate: differs", f"{parts['condition']} over {row}: found {truth}, expected {expected}"
                )
        return len(truths)
