"""A griffe extension: public names are documented under the name that users write, wherever they are defined.

`wr.sum` is the class `Sum` of some module, and most public names are loaded on demand, so reading the source does not
show where a name comes from. This extension asks the running package.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import griffe

PACKAGES = ("windrow", "windrow.synopses", "windrow.testing")
SECTION = re.compile(r"^(\w+)\n-+\n", re.MULTILINE)
PARAMETER = re.compile(r"[\w*]+(, [\w*]+)*( : .*)?")


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
            if documented.docstring:
                documented.docstring.value = tidy(documented.docstring.value)


def names(package: str) -> list[str]:
    """Return the public names of a package."""
    listed: list[str] = import_module(package).__all__
    return listed


def home(package: str, name: str) -> str | None:
    """Where a class or function is defined; None for anything else, such as a version."""
    value = getattr(import_module(package), name)
    return f"{value.__module__}.{value.__qualname__}" if hasattr(value, "__qualname__") else None


def tidy(docstring: str) -> str:
    r"""Return a docstring whose prose is not taken for parameters or types.

    Docstrings describe results in sentences, where numpy's style expects types, and some explain more after the
    parameters.

    >>> tidy("Sum.\n\nReturns\n-------\nOne row per frame.")
    'Sum.\n\nResult\n------\nOne row per frame.'
    """
    head, *sections = SECTION.split(docstring)
    parts = [head]
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        if title == "Returns":
            title = "Result"
        if title == "Parameters":
            body = with_notes(body)
        parts.append(f"{title}\n{'-' * len(title)}\n{body}")
    return "".join(parts)


def with_notes(parameters: str) -> str:
    """Return a section of parameters, with the sentences after the parameters in a section of notes."""
    lines = parameters.splitlines(keepends=True)
    for i, line in enumerate(lines):
        if not line[0].isspace() and not PARAMETER.fullmatch(line.strip()):
            return "".join([*lines[:i], "Notes\n-----\n", *lines[i:]])
    return parameters
