"""Shrinking of a failing case of any kind: fewer items, fewer options, simpler values."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from typing import Any

from fuzz.case import Case, Failure, Kind

SIMPLE: tuple[Any, ...] = (0, 0.0, 1, 1.0, False, True, None)
Path = tuple[Any, ...]


def shrink(kind: Kind, case: Case, failure: Failure, seconds: float = 30.0) -> tuple[Case, Failure]:
    """Return the smallest case found in the given time that fails in the same way."""
    until = time.monotonic() + seconds
    best, why = case, failure

    def still_fails(parts: dict[str, Any]) -> bool:
        nonlocal best, why
        if time.monotonic() > until:
            raise TimeoutError
        try:
            smaller = kind.run(Case(case.kind, parts)).failure
        except Exception:
            return False
        if smaller is None or _family(smaller) != _family(failure):
            return False
        best, why = Case(case.kind, parts), smaller
        return True

    try:
        before = -1
        while best.size != before:
            before = best.size
            _fewer_items(best.parts, still_fails)
            _fewer_keys(best.parts, still_fails)
            _simpler_values(best.parts, still_fails)
    except TimeoutError:
        pass
    return best, why


def _family(failure: Failure) -> str:
    return failure.sort.partition(":")[0]


def _lists(parts: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the paths of lists of items; rows themselves are not taken apart."""
    if isinstance(parts, dict):
        for key, value in parts.items():
            yield from _lists(value, (*path, key))
    elif isinstance(parts, list):
        yield path
        if not (path and path[-1] == "rows"):
            for i, value in enumerate(parts):
                if isinstance(value, dict | list):
                    yield from _lists(value, (*path, i))


def _at(parts: Any, path: Path) -> Any:
    for key in path:
        parts = parts[key]
    return parts


def _with(parts: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(parts)
    _at(changed, path[:-1])[path[-1]] = value
    return changed


def _fewer_items(parts: dict[str, Any], still_fails: Callable[[dict[str, Any]], bool]) -> None:
    """Remove as many items of each list as possible, large stretches first."""
    for path in sorted(_lists(parts), key=lambda path: -len(str(_at(parts, path)))):
        try:
            items = _at(parts, path)
        except (KeyError, IndexError, TypeError):
            continue
        step = len(items)
        while step:
            at = 0
            while at < len(items):
                fewer = items[:at] + items[at + step :]
                changed = _with(parts, path, fewer)
                if still_fails(changed):
                    parts, items = changed, fewer
                else:
                    at += step
            step //= 2


def _fewer_keys(parts: dict[str, Any], still_fails: Callable[[dict[str, Any]], bool]) -> None:
    """Remove options."""
    for where in ("options",), ("scheme", "options"):
        try:
            options = _at(parts, where)
        except KeyError:
            continue
        for key in list(options):
            fewer = {name: value for name, value in options.items() if name != key}
            changed = _with(parts, where, fewer)
            if still_fails(changed):
                parts, options = changed, fewer


def _scalars(parts: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the paths of numbers."""
    if isinstance(parts, dict):
        for key, value in parts.items():
            yield from _scalars(value, (*path, key))
    elif isinstance(parts, list):
        for i, value in enumerate(parts):
            yield from _scalars(value, (*path, i))
    elif parts is None or isinstance(parts, int | float):
        yield path


def _simpler_values(parts: dict[str, Any], still_fails: Callable[[dict[str, Any]], bool]) -> None:
    """Replace numbers with simple ones of the same type."""
    for path in list(_scalars(parts)):
        value = _at(parts, path)
        for simple in (*SIMPLE, *_nearer(value)):
            alike = value is None or simple is None or type(simple) is type(value)
            if value == simple or value in SIMPLE[: SIMPLE.index(simple) if simple in SIMPLE else 0] or not alike:
                continue
            changed = _with(parts, path, simple)
            if still_fails(changed):
                parts = changed
                break


def _nearer(value: Any) -> tuple[Any, ...]:
    """Return numbers between this one and zero."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 3:
        return (value // 10, value // 2)
    return ()
