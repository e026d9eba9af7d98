"""The benchmarks load, their competitors return the same, and their results are written with commit and machine.

Times are not tested: a table here has a few thousand rows.
"""

from __future__ import annotations

import json
import pkgutil
import platform
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

import benchmarks
from benchmarks import data
from benchmarks.bench import check_equal
from benchmarks.frames import peers
from benchmarks.report import Report
from benchmarks.slides import competitors as slides
from benchmarks.synopses import picks, rolling
from benchmarks.timing import race

MODULES = sorted(module.name for module in pkgutil.walk_packages(benchmarks.__path__, "benchmarks."))


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> Path:
    return data.table(data.Shape(20_000, 20, files=2, row_group=3_000), tmp_path_factory.mktemp("data"))


@pytest.fixture
def report() -> Report:
    report = Report()
    report.begin("test")
    return report


@pytest.mark.parametrize("module", MODULES)
def test_each_module_loads(module: str):
    assert import_module(module).__doc__


def test_every_section_describes_what_it_compares():
    sections = import_module("benchmarks.__main__").SECTIONS
    assert all(section.__doc__ for section in sections.values())


def test_peers_without_spark_find_the_same_frames(table: Path, capsys):
    check_equal({name: partial(peer, table) for name, peer in peers.LOCAL_THRESHOLD.items()}, peers.totals, "frames")
    assert "all 6 return the same" in capsys.readouterr().out


def test_peers_without_spark_find_the_same_windows(table: Path):
    window = slides.Window(50, 5)
    local = {name: peer for name, peer in slides.LOCAL.items() if name not in slides.FEWER_WINDOWS}
    check_equal({name: partial(peer, table, window) for name, peer in local.items()}, slides.totals, "windows")


def test_competitors_that_differ_end_the_run():
    with pytest.raises(SystemExit, match="the competitors differ"):
        check_equal({"one": lambda: 1, "two": lambda: 2}, lambda result: (result,), "results")


def test_rounds_start_with_another_competitor_each_time():
    order: list[str] = []
    timings = race({name: partial(order.append, name) for name in "abc"}, rounds=2)
    assert "".join(order) == "abc" + "abc" + "bca"
    assert all(len(timing.seconds) == 2 for timing in timings.values())


@pytest.mark.slow
def test_synopses_are_measured_next_to_other_libraries(report: Report, monkeypatch):
    monkeypatch.setattr(rolling, "WINDOWS", (20,))
    monkeypatch.setattr(rolling, "AGGREGATES", {"sum": rolling.AGGREGATES["sum"]})
    rolling.exact(report, rows=500, rounds=1)
    names = {row[1] for row in report.sections["test"]["tables"][0]["rows"]}
    assert {"TwoStacks", "DABA", "Panes", "FiBA", "pandas", "Polars", "bottleneck", "DuckDB"} <= names


def test_workloads_of_the_planner_are_the_same_in_every_run():
    assert list(picks.workloads(30)) == list(picks.workloads(30))


def test_results_are_written_with_the_commit_and_without_the_name_of_the_machine(report: Report, tmp_path: Path):
    report.timings("Times", race({"a": int, "b": float}, rounds=3), {"/a": "a"})
    report.ratio("b over a", 1.5, "at most 2")
    report.write(tmp_path / "new" / "results.json", {"rows": 10})
    text = (tmp_path / "new" / "results.json").read_text()
    content = json.loads(text)
    assert {"commit", "changed", "finished", "rows"} == content["run"].keys()
    assert content["machine"]["cores"] >= 1
    assert "pyspark" in content["machine"]["versions"]
    assert platform.node() not in text
    section = content["sections"]["test"]
    assert section["tables"][0]["columns"] == ["", "median s", "min s", "/a"]
    assert section["ratios"] == [{"what": "b over a", "ratio": 1.5, "target": "at most 2"}]


def test_a_table_is_printed_with_numbers_aligned(report: Report, capsys):
    report.table("Times", ["", "s", "rows"], [["a", 1.5, 12_000], ["long", None, 7]])
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "Times",
        "         s    rows",
        "a     1.50  12,000",
        "long     -       7",
    ]
