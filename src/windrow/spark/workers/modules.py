"""Modules of the user's own, imported here and sent to Spark's workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark import cloudpickle

from windrow.errors import SpecError, quoted
from windrow.registry import import_classes, imported_modules


def import_modules(modules: Any, option: str) -> None:
    """Import modules, register their classes, and let Spark send these to its workers."""
    is_list = isinstance(modules, Sequence) and not isinstance(modules, str | bytes)
    if not is_list or not all(isinstance(module, str) and module for module in modules):
        raise SpecError(f"{option}: expected a list of modules such as ['my_module'], got {quoted(modules)}")
    for module in modules:
        import_classes(module, option)
    ship_modules()


def ship_modules() -> None:
    """Let Spark send the code of imported modules to its workers, which may lack them."""
    for module in imported_modules():
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
