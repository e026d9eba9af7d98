"""Aggregates written as calls, such as `quantile(speed, 0.99)`, on the command line or in SQL."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

from windrow.aggregates import BUILTIN
from windrow.aggregates.base import AggregateFunction, name_of
from windrow.aggregates.binning import Histogram
from windrow.errors import SpecError, quoted
from windrow.registry import Registry

AGGREGATE_REGISTRY: Registry[AggregateFunction] = Registry(
    AggregateFunction, BUILTIN, "aggregate", "windrow.aggregates", name_of
)
"""All aggregates by name, those from outside the package too."""


def as_call(function: str, arguments: str, option: str, column: str = "") -> AggregateFunction:
    """Return the aggregate of a call, given the text between its parentheses, or the text after a quoted column.

    >>> as_call("quantile", "speed, 0.99", "--agg")
    quantile('speed', 0.99)
    >>> as_call("covariance", "speed, volume", "--agg")
    covariance('speed', 'volume')
    >>> as_call("histogram", "speed, 0, 30, 60", "--agg")
    histogram('speed', (0.0, 30.0, 60.0))
    """
    function, arguments = function.lower(), arguments.strip()
    kind = AGGREGATE_REGISTRY.find(function, option)
    if not column:
        # A comma is part of the column's name if nothing can follow the column.
        column, _, arguments = (part.strip() for part in arguments.partition("," if _options(kind) else "\0"))
    if not column and function != "count":
        raise SpecError(f"{option}: {function}() wants a column, as in '{_example(kind)}'")
    texts = [text.strip() for text in arguments.split(",")] if arguments else []
    return kind(column or "*", *_read(kind, texts, option))


def _options(kind: type[AggregateFunction]) -> list[Any]:
    """Return the options that a call can give after the column."""
    return [field for field in fields(kind) if field.name != "column" and not field.kw_only]


def _read(kind: type[AggregateFunction], texts: list[str], option: str) -> list[Any]:
    wanted = _options(kind)
    needed = sum(field.default is MISSING for field in wanted)
    if len(texts) < needed or (len(texts) > len(wanted) and kind is not Histogram):
        raise SpecError(f"{option}: {name_of(kind)} wants {_wishes(wanted)}; write it like '{_example(kind)}'")
    if kind.reads > 1:
        return texts
    numbers = [_number(kind, text, option) for text in texts]
    return [numbers] if kind is Histogram else numbers


def _wishes(wanted: list[Any]) -> str:
    named = [field.name if field.default is MISSING else f"{field.name} (or not)" for field in wanted]
    return " and ".join(["a column", *named])


def _number(kind: type[AggregateFunction], text: str, option: str) -> float:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    raise SpecError(f"{option}: {quoted(text)} is no number; write it like '{_example(kind)}'")


def _example(kind: type[AggregateFunction]) -> str:
    after = {"q": ", 0.99", "n": ", 3", "k": ", 3", "phi": ", 0.1", "value": ", 40", "edges": ", 0, 30, 60"}
    shown = [after.get(field.name, ", volume") for field in _options(kind) if field.default is MISSING]
    return f"{name_of(kind)}(speed{''.join(shown)})"
