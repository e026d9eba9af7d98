"""Packages whose public names are loaded on first use.

Spark, numba and other dependencies take seconds to load, and a program rarely uses all of them. A package lists its
public names with their modules; the first access to a name loads its module (PEP 562).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def on_demand(
    package: str, homes: Mapping[str, Sequence[str]], renamed: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a package whose names are defined in these modules.

    `renamed` maps former names to current ones: the error for a former name suggests the current one.

    >>> load, names = on_demand("windrow.terminal", {"windrow.terminal.log": ["SparkLog"]})
    >>> load("SparkLog").__name__, "SparkLog" in names()
    ('SparkLog', True)
    """
    home_of = {name: module for module, names in homes.items() for name in names}
    here, renamed = sys.modules[package], renamed or {}

    def load(name: str) -> Any:
        if name not in home_of:
            hint = f"; it is now called {renamed[name]!r}" if name in renamed else ""
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        value = getattr(import_module(home_of[name]), name)
        setattr(here, name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(here), *home_of})

    return load, names
