"""Optional dependencies: the core works without them, and what needs one names the extra that installs it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import windrow as wr
from windrow.cli.commands import COMMANDS
from windrow.cli.commands import EXTRAS as EXTRAS_OF_COMMANDS
from windrow.cli.main import main
from windrow.extras import EXTRAS, require
from windrow.planner.calibration.regression import fit
from windrow.synopses.costs import symbols

OPTIONAL = sorted({package for packages in EXTRAS.values() for package in packages})
BLOCK = f"import sys; sys.modules.update(dict.fromkeys({OPTIONAL!r}))\n"


@pytest.fixture
def core_only(monkeypatch):
    """Make the optional packages look as if they were not installed."""
    for package in OPTIONAL:
        monkeypatch.setitem(sys.modules, package, None)


def test_the_extras_are_those_of_the_package():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    declared = project["optional-dependencies"]
    for extra, packages in EXTRAS.items():
        assert tuple(requirement.partition(">=")[0] for requirement in declared[extra]) == packages
    assert declared["all"] == [f"windrow[{','.join(EXTRAS)}]"]
    assert not {requirement.partition(">=")[0] for requirement in project["dependencies"]} & set(OPTIONAL)


def test_the_error_names_all_that_is_missing(core_only):
    with pytest.raises(wr.SessionError) as error:
        require("plotting", "plot")
    assert str(error.value) == "plotting requires matplotlib; install it with: pip install 'windrow[plot]'"
    with pytest.raises(wr.SessionError) as error:
        require("windrow demo", "cli", "plot")
    assert str(error.value) == (
        "windrow demo requires rich, matplotlib; install them with: pip install 'windrow[cli,plot]'"
    )


def test_what_needs_an_extra_names_it(core_only, tmp_path):
    advice = wr.advise(wr.sum("x"), retention=100, slide=10)
    with pytest.raises(wr.SessionError, match=r"^plotting requires matplotlib; .*'windrow\[plot\]'$"):
        advice.plot(tmp_path / "advice.png")
    with pytest.raises(wr.SessionError, match=r"^fitting a cost model requires .*, scipy, .*'windrow\[studies\]'$"):
        fit({}, None, [])
    with pytest.raises(wr.SessionError, match=r"^comparing costs requires .*, sympy; .*'windrow\[studies\]'$"):
        symbols.__wrapped__()


@pytest.mark.parametrize("command", EXTRAS_OF_COMMANDS)
def test_a_command_reports_its_extra_in_one_line(command, core_only, capsys):
    assert main([command]) == 2
    out, err = capsys.readouterr()
    extras = ",".join(EXTRAS_OF_COMMANDS[command])
    assert out == ""
    assert err.startswith(f"windrow: error: windrow {command} requires ")
    assert err.endswith(f" with: pip install 'windrow[{extras}]'\n")
    assert err.count("\n") == 1


def test_other_commands_run_without_extras(core_only, capsys):
    assert set(COMMANDS) - set(EXTRAS_OF_COMMANDS) == {"advise"}
    assert main(["advise", "sum(x)", "--retention", "100", "--slide", "10"]) == 0
    assert "pick: " in capsys.readouterr().out
    assert main(["--help"]) == 0


def test_the_core_loads_without_extras():
    code = """
import importlib, pkgutil, windrow as wr
needs_rich = ("windrow.terminal.", "windrow.cli.", "windrow.demo", "windrow.studies.")
for module in pkgutil.walk_packages(wr.__path__, "windrow.", onerror=lambda _: None):
    if not module.name.startswith(needs_rich) and module.name != "windrow.__main__":
        importlib.import_module(module.name)
for name in wr.__all__:
    getattr(wr, name)
"""
    subprocess.run([sys.executable, "-c", BLOCK + code], check=True)
