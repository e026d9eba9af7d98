"""Values of types that are not numbers, and plain Python definitions of the aggregates that only compare values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

import windrow as wr

WORDS = ["", "Z", "a", "ab", "b", "é", "\U0001f600", "\uffff", "a" * 40, "\x00"]
"""Text in no order; by UTF-16 units, the last plane would come before U+FFFF."""
POOLS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (pa.string(), WORDS),
    "large text": (pa.large_string(), WORDS),
    "binary": (pa.binary(), [b"", b"\x00", b"\xff", b"a", b"a\x00", b"ab"]),
    "decimal": (pa.decimal128(38, 2), [Decimal(n) / 100 for n in (0, -1, 1, -(10**20), 10**20, 10**20 + 1)]),
    "Boolean": (pa.bool_(), [False, True]),
}
"""A type and some of its values, by name."""


def _key(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def _ranking(values: Sequence[Any]) -> list[tuple[Any, int]]:
    return sorted(Counter(values).items(), key=lambda pair: (-pair[1], _key(pair[0])))


def _counted(pairs: Sequence[tuple[Any, int]]) -> list[dict[str, Any]]:
    return [{"value": value, "count": count} for value, count in pairs]


DEFINED: list[tuple[Callable[[str], wr.AggregateFunction], Callable[[list[Any]], Any]]] = [
    (wr.count, len),
    (wr.first, lambda values: values[0] if values else None),
    (wr.last, lambda values: values[-1] if values else None),
    (wr.min, lambda values: min(values, key=_key, default=None)),
    (wr.max, lambda values: max(values, key=_key, default=None)),
    (wr.mode, lambda values: _ranking(values)[0][0] if values else None),
    (wr.count_distinct, lambda values: len(set(values))),
    (lambda column: wr.top_k(column, 2), lambda values: _counted(_ranking(values)[:2]) if values else None),
    (
        lambda column: wr.heavy_hitters(column, 0.3),
        lambda values: (
            _counted([pair for pair in _ranking(values) if pair[1] >= 0.3 * len(values)]) if values else None
        ),
    ),
]
"""Aggregates of a column, each with its definition over the non-null values in order."""


def aggregates_of(column: str) -> dict[str, wr.AggregateFunction]:
    """Return all these aggregates of a column, by result name."""
    made = [make(column) for make, _ in DEFINED]
    return {f"{column}_{type(aggregate).__name__}": aggregate for aggregate in made}


def results_of(column: str, values: Sequence[Any]) -> dict[str, Any]:
    """Return what these aggregates must be, by result name."""
    present = [value for value in values if value is not None]
    return {name: defined(present) for name, (_, defined) in zip(aggregates_of(column), DEFINED, strict=True)}
