"""Classes by name: built-in ones first, then those of imported modules, then those of installed packages."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from windrow import registry
from windrow.aggregates import BUILTIN, AggregateFunction, Sum
from windrow.aggregates.base import name_of
from windrow.errors import SpecError
from windrow.registry import Registry, import_classes

SPAN = """
    from windrow import AggregateFunction

    class Span(AggregateFunction):
        zero = staticmethod(lambda: (0.0,))
        add = staticmethod(lambda s, x: (s[0] + x,))
        merge = staticmethod(lambda a, b: (a[0] + b[0],))
        finish = staticmethod(lambda s: s[0])
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path, whose modules and registrations are forgotten after the test."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(registry, "_modules", [])
    monkeypatch.setattr(registry, "_registries", [])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").is_relative_to(tmp_path):
            del sys.modules[name]


def aggregates() -> Registry[AggregateFunction]:
    return Registry(AggregateFunction, BUILTIN, "aggregate", "windrow.aggregates", name_of)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(textwrap.dedent(text))
    return path


def install(folder: Path, entries: str) -> None:
    """Install a package that has entry points and nothing else."""
    write(folder / "strange-1.0.dist-info" / "METADATA", "Metadata-Version: 2.1\nName: strange\nVersion: 1.0\n")
    write(folder / "strange-1.0.dist-info" / "entry_points.txt", f"[windrow.aggregates]\n{entries}\n")


def test_builtin_classes_are_found_without_looking_at_packages(monkeypatch):
    monkeypatch.setattr(registry, "entry_points", lambda group: pytest.fail("entry points were read"))
    assert aggregates().find("sum", "--agg") is Sum


def test_an_unknown_name_is_reported_with_all_names(folder):
    install(folder, "span = nowhere:Span")
    with pytest.raises(SpecError, match=r"^--agg: unknown aggregate 'middle'; available: center_of_mass, .*, span, "):
        aggregates().find("middle", "--agg")


def test_an_entry_point_is_loaded_when_it_is_looked_up(folder):
    write(folder / "strange.py", SPAN)
    install(folder, "span = strange:Span")
    assert aggregates().find("span", "--agg").__module__ == "strange"
    assert list(aggregates().classes()) == [*map(name_of, BUILTIN), "span"]


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ("span = nowhere:Span", "cannot load 'nowhere:Span': ModuleNotFoundError: No module named 'nowhere'"),
        ("span = strange:broken", "cannot load 'strange:broken': AttributeError"),
        ("span = leaves:Span", "cannot load 'leaves:Span': SystemExit: 0"),
        ("span = os:path", "expected a subclass of AggregateFunction, got 'os:path'"),
        ("range = strange:Span", "expected the name of 'strange:Span', which is 'span'"),
    ],
)
def test_an_entry_point_that_cannot_be_used_is_an_error_by_name_and_a_warning_in_a_list(folder, entries, message):
    write(folder / "strange.py", SPAN)
    write(folder / "leaves.py", "raise SystemExit(0)")
    install(folder, entries)
    offered, name = aggregates(), entries.split(" ")[0]
    with pytest.raises(SpecError, match=f"entry point '{name}' of group 'windrow.aggregates': {message}"):
        offered.find(name, "--agg")
    with pytest.warns(UserWarning, match=message):
        assert list(offered.classes()) == list(map(name_of, BUILTIN))
    assert list(offered.classes()) == list(map(name_of, BUILTIN)), "a second warning would be an error"
    assert offered.find("sum", "--agg") is Sum


def test_an_entry_point_cannot_replace_a_builtin_class(folder):
    write(folder / "strange.py", SPAN.replace("class Span", "class Sum"))
    install(folder, "sum = strange:Sum")
    assert aggregates().find("sum", "--agg") is Sum
    message = "strange.Sum has the name 'sum' of windrow.aggregates.summing.Sum; rename the class"
    with pytest.warns(UserWarning, match=message):
        assert aggregates().classes()["sum"] is Sum


def test_a_module_is_imported_by_name_and_by_path(folder):
    write(folder / "by_name.py", SPAN)
    path = write(folder / "elsewhere" / "by_path.py", SPAN.replace("Span", "Spread"))
    before = aggregates()
    import_classes("by_name", "--import")
    import_classes(str(path), "--import")
    import_classes(str(path), "--import")
    for offered in (before, aggregates()):
        assert offered.find("span", "--agg").__module__ == "by_name"
        assert offered.find("spread", "--agg").__module__ == "by_path"


def test_a_module_registers_what_it_defines_or_lists_and_nothing_private(folder):
    write(folder / "inner.py", SPAN + SPAN.replace("Span", "Other"))
    write(
        folder / "outer.py",
        "from inner import Other, Span\n__all__ = ['Span']\n" + textwrap.dedent(SPAN).replace("Span", "_Own"),
    )
    import_classes("outer", "--import")
    assert set(aggregates().imported) == {"span"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import nowhere", "cannot import 'strange': ModuleNotFoundError: No module named 'nowhere'"),
        ("def f(:", "cannot import 'strange': SyntaxError"),
        ("raise SystemExit(3)", "cannot import 'strange': SystemExit: 3"),
        (SPAN.replace("Span", "Sum"), "strange.Sum has the name 'sum' of windrow.aggregates.summing.Sum"),
        (textwrap.dedent(SPAN) + "\n__all__ = 5\n", "cannot read the classes of 'strange': TypeError"),
    ],
)  # fmt: skip
def test_a_module_that_cannot_be_used_is_rejected_and_leaves_nothing(folder, text, message):
    write(folder / "strange.py", text)
    offered = aggregates()
    with pytest.raises(SpecError, match=f"^--import: {message}"):
        import_classes("strange", "--import")
    assert offered.names == sorted(map(name_of, BUILTIN))


def test_two_modules_cannot_define_the_same_name(folder):
    write(folder / "one.py", SPAN)
    write(folder / "two.py", SPAN)
    offered = aggregates()
    import_classes("one", "--import")
    with pytest.raises(SpecError, match=r"^--import: two.Span has the name 'span' of one.Span; rename the class"):
        import_classes("two", "--import")
    assert offered.find("span", "--agg").__module__ == "one"


def test_a_file_cannot_hide_a_module(folder):
    path = write(folder / "inspect.py", SPAN)
    with pytest.raises(SpecError, match="another module is named 'inspect'; rename the file"):
        import_classes(str(path), "--import")


def test_a_missing_file_is_reported(folder):
    with pytest.raises(SpecError, match=r"--import: cannot import 'absent.py': FileNotFoundError"):
        import_classes("absent.py", "--import")
