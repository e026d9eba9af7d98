"""Aggregates written as calls, such as `quantile(speed, 0.99)`, on the command line or in SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any

from windrow.aggregates import BUILTIN, TIMED
from windrow.aggregates.base import AggregateFunction, name_of
from windrow.errors import SpecError, quoted
from windrow.registry import Registry

AGGREGATE_REGISTRY: Registry[AggregateFunction] = Registry(
    AggregateFunction, (*BUILTIN, *TIMED), "aggregate", "windrow.aggregates", name_of
)
"""All aggregates by name, those from outside the package too."""


CALL = (
    r"\s*+(?P<function>\w++)\s*+\(\s*+"
    r"(?:`(?P<quoted>(?:[^`]|``)++)`\s*+(?:,(?P<rest>[^()`]*+))?|(?!`)(?P<plain>[^()]*+))\)\s*+"
)
"""A call. A column that contains a comma or a parenthesis is quoted by backticks. The pattern is possessive, so that a
text that does not match fails in linear time."""


def as_aggregates(calls: Any, option: str) -> dict[str, AggregateFunction]:
    """Parse aggregates by result name.

    >>> as_aggregates({"cars": "sum(volume)", "n": "count()"}, "agg")
    {'cars': sum('volume'), 'n': count()}
    """
    if calls is None:
        return {}
    if not isinstance(calls, Mapping):
        raise SpecError(
            f"{option}: expected aggregates by result name, e.g. map('cars', 'sum(volume)'); got {quoted(calls)}"
        )
    return {name: as_aggregate(call, f"{option} {name!r}") for name, call in calls.items()}


def as_aggregate(text: Any, option: str) -> AggregateFunction:
    """Parse an aggregate that is written as a call.

    >>> as_aggregate("quantile(speed, 0.99)", "--agg")
    quantile('speed', 0.99)
    >>> as_aggregate("quantile(`water temperature, deep`, 0.9)", "agg")
    quantile('water temperature, deep', 0.9)
    >>> as_aggregate("histogram(speed, 0, 30, 60)", "--agg")
    histogram('speed', (0.0, 30.0, 60.0))
    >>> as_aggregate("time_in(speed > 80 AND lane IN (1, 2), max_hold=5 minutes)", "--agg")
    time_in('speed > 80 AND lane IN (1, 2)', max_hold='5 minutes')
    """
    call = re.fullmatch(r"\s*+(\w++)\s*+\((.*)\)", text.rstrip(), re.DOTALL) if isinstance(text, str) else None
    if call is None:
        raise SpecError(f"{option}: expected an aggregate of a column, e.g. 'sum(volume)'; got {quoted(text)}")
    kind = AGGREGATE_REGISTRY.find(call[1].lower(), option)
    arguments, named = _named_options(kind, call[2], option)
    if kind.of_condition:
        return kind(arguments.strip(), **named)
    match = re.fullmatch(CALL, f"{call[1]}({arguments})")
    if match is None:
        raise SpecError(f"{option}: expected an aggregate of a column, e.g. 'sum(volume)'; got {quoted(text)}")
    if match["quoted"]:
        column, arguments = match["quoted"].replace("``", "`"), match["rest"] or ""
    else:
        # A comma is part of the column's name if nothing can follow the column.
        column, _, arguments = match["plain"].partition("," if _options(kind) else "\0")
    column, arguments = column.strip(), arguments.strip()
    if not column and fields(kind)[0].default is MISSING:
        raise SpecError(f"{option}: {name_of(kind)}() requires a column, e.g. '{_example(kind)}'")
    texts = [text.strip() for text in arguments.split(",")] if arguments else []
    return kind(*([column] if column else []), **(_parsed(kind, texts, option) | named))


def _named_options(kind: type[AggregateFunction], arguments: str, option: str) -> tuple[str, dict[str, Any]]:
    """Split the options that are given by name, as in `time_mean(speed, method=linear)`, from the other arguments."""
    offered = {field.name: field for field in fields(kind)[1:] if field.default is not MISSING}
    named: dict[str, Any] = {}
    while True:
        before, comma, last = arguments.rpartition(",")
        name, equals, text = (part.strip() for part in last.partition("="))
        # Without a comma before it, it is the first argument, unless that can be left out.
        if not equals or name not in offered or not (comma or fields(kind)[0].default is not MISSING):
            return arguments, named
        if name in named:
            raise SpecError(f"{option}: {name_of(kind)}: {name} is given twice")
        named[name] = _named_value(kind, offered[name], text, option)
        arguments = before
        if not comma:
            return arguments, named


def _named_value(kind: type[AggregateFunction], field: Field[Any], text: str, option: str) -> Any:
    """Return the value of an option that is given by name: a truth value, a number or text, which may be quoted."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    if field.type in (bool, "bool"):
        if text.lower() not in ("true", "false"):
            raise SpecError(f"{option}: {field.name}: expected true or false, got {quoted(text)}")
        return text.lower() == "true"
    try:
        return _value(kind, field, text, option)
    except SpecError:
        if "str" not in str(field.type):
            raise
        return text


def _options(kind: type[AggregateFunction]) -> list[Field[Any]]:
    """Return the options that a call can give after the column."""
    return [field for field in fields(kind) if field.name != "column" and not field.kw_only]


def _parsed(kind: type[AggregateFunction], texts: list[str], option: str) -> dict[str, Any]:
    """Return the options of a call by name: numbers, columns, and a list if the last option is one."""
    options = _options(kind)
    required = sum(field.default is MISSING for field in options)
    if len(texts) < required or (len(texts) > len(options) and not kind.takes_list):
        raise SpecError(f"{option}: {name_of(kind)} takes {_described(options)}, e.g. '{_example(kind)}'")
    single = options[:-1] if kind.takes_list else options
    parsed: dict[str, Any] = {
        field.name: _value(kind, field, text, option) for field, text in zip(single, texts, strict=False)
    }
    if kind.takes_list:
        parsed[options[-1].name] = [_value(kind, options[-1], text, option) for text in texts[len(single) :]]
    return parsed


def _described(options: list[Field[Any]]) -> str:
    names = [field.name if field.default is MISSING else f"optionally {field.name}" for field in options]
    return " and ".join(["a column", *names])


def _value(kind: type[AggregateFunction], field: Field[Any], text: str, option: str) -> str | float:
    """Return the value of an option: the text itself if it is declared as a `str`, otherwise a number."""
    if field.type in (str, "str"):
        return text
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    raise SpecError(f"{option}: expected a number, e.g. '{_example(kind)}'; got {quoted(text)}")


def _example(kind: type[AggregateFunction]) -> str:
    """Return the call of the example that an aggregate declares.

    >>> _example(AGGREGATE_REGISTRY.find("histogram", "--agg"))
    'histogram(x, -1, 2)'
    """
    try:
        example = kind.example()
    except TypeError:  # it requires options and declares no example
        return f"{name_of(kind)}(x, {', '.join(field.name for field in _options(kind))})"
    shown = [example.column]
    for field in _options(kind):
        if field.default is MISSING:
            value = getattr(example, field.name)
            shown += [f"{each:g}" for each in value] if isinstance(value, tuple | list) else [f"{value}"]
    return f"{name_of(kind)}({', '.join(shown)})"
