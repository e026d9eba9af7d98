"""Packages whose names are loaded when they are first used.

Spark, numba and the others take seconds to load, and most of what a program imports it does not use. A package lists
its public names with their modules; a name loads its module on first access (PEP 562).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def on_demand(package: str, homes: Mapping[str, Sequence[str]]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a package whose names are in these modules.

    >>> load, names = on_demand("windrow.terminal", {"windrow.terminal.log": ["SparkLog"]})
    >>> load("SparkLog").__name__, "SparkLog" in names()
    ('SparkLog', True)
    """
    home_of = {name: module for module, names in homes.items() for name in names}
    here = sys.modules[package]

    def load(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(home_of[name]), name)
        setattr(here, name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(here), *home_of})

    return load, names
