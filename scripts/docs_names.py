"""A griffe extension: public names are documented under the name that users write, wherever they are defined.

`wr.sum` is the class `Sum` of some module, and most public names are loaded on demand, so reading the source does not
tell where a name comes from. This extension asks the running package.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import griffe

PACKAGES = ("windrow", "windrow.synopses", "windrow.testing")


class PublicNames(griffe.Extension):
    """Puts each public object where its public name says that it is."""

    def on_package(self, *, pkg: griffe.Module, loader: griffe.GriffeLoader, **_: Any) -> None:
        """Move the objects, once the whole package has been read."""
        if pkg.path != "windrow":
            return
        homes = {(package, name): home(package, name) for package in PACKAGES for name in names(package)}
        # First find all, then move: moving may hide a module of the same name.
        found = {public: pkg[path.removeprefix("windrow.")] for public, path in homes.items() if path}
        for (package, name), documented in found.items():
            place = pkg if package == "windrow" else pkg[package.removeprefix("windrow.")]
            documented.name = name
            place.members[name] = documented
            documented.parent = place


def names(package: str) -> list[str]:
    """The public names of a package."""
    listed: list[str] = import_module(package).__all__
    return listed


def home(package: str, name: str) -> str | None:
    """Where a class or function is defined; None for anything else, such as a version."""
    value = getattr(import_module(package), name)
    return f"{value.__module__}.{value.__qualname__}" if hasattr(value, "__qualname__") else None
