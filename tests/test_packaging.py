"""What the package declares about itself agrees with what is tested and documented."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import windrow as wr
from windrow.spark.versions import OLDEST_SPARK

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def find(pattern: str, file: str) -> str:
    match = re.search(pattern, (ROOT / file).read_text(), re.MULTILINE)
    assert match is not None, f"{file} has no {pattern}"
    return match[1]


def supported(name: str) -> list[str]:
    """Return the oldest and the newest version in the table of the documentation."""
    return [cell.strip() for cell in find(rf"^\| {name} \| (.*) \|$", "docs/install.md").split("|")]


def test_the_documented_pythons_are_declared_and_tested():
    versions = [text.rpartition(" ")[2] for text in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", text)]
    assert supported("Python") == [versions[0], versions[-1]]
    assert PROJECT["requires-python"] == f">={versions[0]}"
    assert find(r"^NEWEST_PYTHON := (.*)$", "Makefile") == versions[-1]


def test_the_documented_sparks_are_declared_and_tested():
    oldest, newest = supported("Spark")
    assert find(r"^OLDEST_SPARK := (.*)$", "Makefile") == oldest
    assert find(r"^pyspark==(.*)$", "constraints.txt") == newest
    series = oldest.removesuffix(".0")
    assert f"pyspark[sql,connect]>={series},<5" in PROJECT["dependencies"]
    assert series == ".".join(map(str, OLDEST_SPARK))


def test_the_version_is_released_in_the_changelog():
    assert find(r"^## (\d\S*) \(\d{4}-\d\d-\d\d\)$", "CHANGELOG.md") == wr.__version__


def test_constraints_are_exact_versions_from_the_index():
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*", line)] == []


def test_the_package_runs_as_a_module():
    ran = subprocess.run([sys.executable, "-m", "windrow", "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout == f"windrow {wr.__version__}\n"


def test_type_checkers_find_the_annotations():
    assert Path(wr.__file__).with_name("py.typed").exists()
