"""Checks that the functions of a user-defined aggregate fit together: their arguments and their results."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from numbers import Real
from string import Formatter
from typing import Any

from windrow.errors import SpecError

TAKES = {"add": "the state and a value", "merge": "two states", "finish": "the state"}

NAMED = ("x", "y", "z", "order")
"""What Spark SQL declared by an aggregate may refer to."""


def check_spark_sql(name: str, templates: tuple[str, ...]) -> None:
    """Reject Spark SQL that refers to anything but the columns and the order of rows."""
    for template in templates:
        try:
            names = {field for _, field, _, _ in Formatter().parse(template) if field is not None}
        except ValueError as error:
            raise SpecError(f"the aggregate {name}: {template!r} is not a template: {error}") from None
        unknown = sorted(names - set(NAMED))
        if unknown:
            available = ", ".join(f"{{{each}}}" for each in NAMED)
            raise SpecError(f"the aggregate {name}: {template!r} refers to {{{unknown[0]}}}; available: {available}")


def check_shape(owner: Any, options: tuple[Any, ...] = ()) -> None:
    """Try an aggregate's functions on one value, in Python, and reject functions that do not fit together.

    A function that fails on the value is accepted: whether it works for other values, and whether it compiles, shows
    later.
    """
    name = owner.__name__
    start = _call(name, "zero", owner.zero, (False,) if owner.keeps_integers else (), None)
    if start is None:
        return
    _check_state(name, "zero()", start[0], None)
    width = len(start[0])
    one = _call(name, "add", owner.add, (start[0], *[1.0] * owner.reads, *options), width)
    both = one and _call(name, "merge", owner.merge, (one[0], one[0], *options), width)
    result = both and _call(name, "finish", owner.finish, (*both, *options), None)
    if result and not isinstance(result[0], Real):
        raise SpecError(f"the aggregate {name}: finish(s) must return a number, got {result[0]!r}")


def _call(name: str, role: str, function: Callable[..., Any], arguments: tuple[Any, ...], width: int | None) -> Any:
    """Return the result of a function in a tuple, or None if the call fails."""
    _check_arguments(name, role, function, arguments)
    try:
        result = function(*arguments)
    except Exception:
        return None
    if width is not None:
        _check_state(name, f"{role}({'s, x' if role == 'add' else 'a, b'})", result, width)
    return (result,)


def _check_arguments(name: str, role: str, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    try:
        taken = inspect.signature(function)
    except (TypeError, ValueError):  # not every callable has a signature
        return
    try:
        taken.bind(*arguments)
    except TypeError:
        expected = TAKES.get(role) or ("whether the state consists of integers" if arguments else "no arguments")
        raise SpecError(f"the aggregate {name}: {role}{taken} must be a static method that takes {expected}") from None


def _check_state(name: str, call: str, state: Any, width: int | None) -> None:
    is_state = isinstance(state, tuple) and state and all(isinstance(number, Real) for number in state)
    if not is_state:
        raise SpecError(f"the aggregate {name}: {call} must return a tuple of numbers such as (0.0,), got {state!r}")
    if width is not None and len(state) != width:
        raise SpecError(
            f"the aggregate {name}: {call} must return {width} number(s), as zero() does; got {len(state)}: {state!r}"
        )
