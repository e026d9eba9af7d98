"""Classes by name: the built-in ones, those of imported modules, and those that installed packages offer.

Texts such as `--agg "high=span(speed)"` and `using="TwoStacks"` name a class. A `Registry` finds it, in this order:

1. the built-in classes, which nothing can replace;
2. the public classes of modules that `import_classes` has imported, for example by `--import my_module`;
3. the entry points of installed packages, in the group `windrow.schemes`, `windrow.aggregates` or `windrow.synopses`:

       [project.entry-points."windrow.aggregates"]
       span = "my_package.aggregates:Span"

An entry point has the name by which its class is looked up. It is loaded when that name is looked up, or when all
classes are listed. One that cannot be loaded is an error in the first case and a warning in the second, so a broken
package never stops a command that does not use it.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

from windrow.errors import SpecError, quoted

T = TypeVar("T")

_modules: list[ModuleType] = []
"""The modules imported by `import_classes`. Registries that are created later read them too."""
_registries: list[Registry[Any]] = []


class Registry(Generic[T]):
    """The classes of one kind, by name.

    Parameters
    ----------
    base
        The class that all others derive from.
    builtin
        The built-in classes.
    word
        What such a class is called in errors, such as `"scheme"`.
    group
        The group of entry points, such as `"windrow.schemes"`.
    name_of
        The function that returns the name of a class.
    """

    def __init__(
        self, base: type[T], builtin: Iterable[type[T]], word: str, group: str, name_of: Callable[[type[T]], str]
    ) -> None:
        self.base, self.word, self.group, self.name_of = base, word, group, name_of
        self.builtin = {name_of(kind): kind for kind in builtin}
        self._unusable: set[str] = set()
        """The entry points that were warned about."""
        self._adopted: dict[str, type[T]] = {}
        _registries.append(self)

    @property
    def imported(self) -> dict[str, type[T]]:
        """The classes of imported modules."""
        classes = dict(self._adopted)
        for module in _modules:
            for kind in _public_classes(module, self.base):
                name = self.name_of(kind)
                if not isinstance(name, str) or not name.isidentifier():
                    raise SpecError(f"{_place(kind)}: expected a name that is an identifier, got {quoted(name)}")
                self._check_free(name, kind, classes)
                classes[name] = kind
        return classes

    @cached_property
    def offered(self) -> dict[str, EntryPoint]:
        """The entry points of installed packages, not yet loaded; the first of a name counts."""
        return {point.name: point for point in reversed(tuple(entry_points(group=self.group)))}

    @property
    def names(self) -> list[str]:
        """All names, sorted. Nothing is loaded."""
        return sorted({*self.builtin, *self.imported, *self.offered})

    def find(self, name: str, option: str) -> type[T]:
        """Return the class of a name, or raise an error that starts with the option that named it."""
        classes = self.builtin | self.imported
        if name in classes:
            return classes[name]
        if name not in self.offered:
            raise SpecError(f"{option}: unknown {self.word} {quoted(name)}; available: {', '.join(self.names)}")
        return self._load(self.offered[name])

    def classes(self) -> dict[str, type[T]]:
        """Return all classes by name, the built-in ones first. Warn about entry points that cannot be loaded."""
        classes = self.builtin | self.imported
        for name, point in self.offered.items():
            try:
                if name not in self.imported and name not in self._unusable:
                    classes[name] = self._load(point)
            except SpecError as error:
                self._unusable.add(name)
                warnings.warn(str(error), stacklevel=1)
        return classes

    def adopt(self, classes: Iterable[type[T]]) -> None:
        """Register classes that another process has imported and sent here, instead of any earlier of their names."""
        self._adopted |= {self.name_of(kind): kind for kind in classes}

    def _load(self, point: EntryPoint) -> type[T]:
        where = f"entry point {point.name!r} of group {self.group!r}"
        try:
            kind = point.load()
        except (Exception, SystemExit) as error:  # a module may do anything while it is imported
            raise SpecError(f"{where}: cannot load {point.value!r}: {type(error).__name__}: {error}") from error
        if not isinstance(kind, type) or not issubclass(kind, self.base):
            raise SpecError(f"{where}: expected a subclass of {self.base.__name__}, got {point.value!r}")
        if self.name_of(kind) != point.name:
            raise SpecError(f"{where}: expected the name of {point.value!r}, which is {self.name_of(kind)!r}")
        try:
            self._check_free(point.name, kind, {})
        except SpecError as error:
            raise SpecError(f"{where}: {error}") from None
        return kind

    def _check_free(self, name: str, kind: type[T], classes: dict[str, type[T]]) -> None:
        other = (self.builtin | classes).get(name)
        if other is not None and other is not kind:
            raise SpecError(f"{_place(kind)} has the name {name!r} of {_place(other)}; rename the class")


def import_classes(module: str, option: str) -> ModuleType:
    """Import a module and register its public schemes, aggregates and synopses; raise if one has a name in use.

    Parameters
    ----------
    module
        A dotted name, or the path of a `.py` file. Public classes are those that the module defines, or lists in its
        `__all__`, under a name without a leading underscore.
    option
        The option that named the module, for errors.
    """
    try:
        imported = _load_file(Path(module)) if module.endswith(".py") else importlib.import_module(module)
    except SpecError as error:
        raise SpecError(f"{option}: {error}") from None
    except (Exception, SystemExit) as error:  # a module may do anything while it is imported
        raise SpecError(f"{option}: cannot import {quoted(module)}: {type(error).__name__}: {error}") from error
    if imported not in _modules:
        _modules.append(imported)
        try:
            for registry in _registries:
                _ = registry.imported
        except Exception as error:  # the classes and their names are the user's code
            _modules.remove(imported)
            if isinstance(error, SpecError):
                raise SpecError(f"{option}: {error}") from None
            reason = f"{type(error).__name__}: {error}"
            raise SpecError(f"{option}: cannot read the classes of {quoted(module)}: {reason}") from error
    return imported


def imported_modules() -> tuple[ModuleType, ...]:
    """Return the modules that `import_classes` has imported."""
    return tuple(_modules)


def _load_file(path: Path) -> ModuleType:
    name = path.stem
    loaded = sys.modules.get(name)
    if loaded is not None:
        if Path(getattr(loaded, "__file__", None) or "").resolve() == path.resolve():
            return loaded
        raise SpecError(f"cannot import '{path}': another module is named {name!r}; rename the file")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _public_classes(module: ModuleType, base: type[T]) -> Iterator[type[T]]:
    listed = getattr(module, "__all__", ())
    for name, value in vars(module).items():
        if isinstance(value, type) and issubclass(value, base) and not inspect.isabstract(value):
            is_own = value.__module__ == module.__name__ and not name.startswith("_")
            if name in listed or is_own:
                yield value


def _place(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
