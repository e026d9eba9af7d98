"""The commands in README and docs run as they are written, on small files with the names that they use."""

from __future__ import annotations

import doctest
import json
import re
import shlex
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from sweeps import long
from windrow import registry
from windrow.cli.main import main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "examples" / "README.md", *(ROOT / "docs").rglob("*.md")]
BLOCK = re.compile(r"^```(?:bash|text|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
DAY = datetime(2024, 3, 5, 8)


def blocks() -> list[str]:
    return [match[1].replace("\\\n", " ") for page in PAGES for match in BLOCK.finditer(page.read_text())]


def commands(program: str) -> list[str]:
    """All commands of a program, with or without a prompt, each once."""
    lines = [line.removeprefix("$ ") for block in blocks() for line in block.splitlines()]
    return sorted({" ".join(line.split()) for line in lines if line.startswith(f"{program} ")})


def readings() -> pa.Table:
    """Ten minutes of two detectors; the first is in a jam for most of it."""
    rows = [
        {"detectorid": d, "starttime": DAY + timedelta(minutes=m), "speed": 30.0 + 40 * (d == 2 or m < 2), "volume": m}
        for m in range(10)
        for d in (1, 2)
    ]
    schema = {"detectorid": pa.int32(), "starttime": pa.timestamp("us"), "speed": pa.float64(), "volume": pa.int32()}
    return pa.Table.from_pylist(rows, pa.schema(schema))


def tow() -> pa.Table:
    return pa.table({"scan": range(50), "flsp": [i % 7 / 20 for i in range(50)], "depth": [i / 10 for i in range(50)]})


def write_folder(path: Path, table: pa.Table) -> None:
    path.mkdir()
    pq.write_table(table, path / "part-0.parquet")


def write_lines(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def write_jams(path: Path) -> None:
    jam = {"detectorid": [1], "frame": [0], "start": [DAY + timedelta(minutes=2)], "end": [DAY + timedelta(minutes=9)]}
    pyarrow.csv.write_csv(pa.table(jam), path)


SPAN = """
from math import inf
from windrow import AggregateFunction

class Span(AggregateFunction):
    zero = staticmethod(lambda: (inf, -inf))
    add = staticmethod(lambda s, x: (min(s[0], x), max(s[1], x)))
    merge = staticmethod(lambda a, b: (min(a[0], b[0]), max(a[1], b[1])))
    finish = staticmethod(lambda s: s[1] - s[0])
"""


INPUTS: dict[str, Callable[[Path], None]] = {
    "loops.parquet": lambda path: pq.write_table(readings(), path),
    "traffic.parquet": lambda path: pq.write_table(readings(), path),
    "tow08/": lambda path: write_folder(path, tow()),
    "landing/": lambda path: write_folder(path, readings()),
    "clicks.json": lambda path: write_lines(path, [{"user": "ada", "time": f"2026-03-02 09:{m}:00"} for m in (10, 20)]),
    "incidents.json": lambda path: write_lines(path, [{"detectorid": 1, "reported": "2024-03-05 07:55:00"}]),
    "jams.csv": write_jams,
    "my_aggregates.py": lambda path: path.write_text(SPAN),
}
SHORTER = {"study": ["--quick"], "--stream": ["--once"]}
"""Options that make a command end soon, by a word of the command."""


def prepare(words: list[str]) -> None:
    """Write the inputs of a command into the current folder."""
    for before, word in zip(["", *words], words, strict=False):
        if word in INPUTS and before != "--out":
            INPUTS[word](Path(word))


@pytest.mark.spark
@pytest.mark.parametrize("command", [long(c) if c.startswith("windrow study") else c for c in commands("windrow")])
def test_a_documented_command_succeeds(spark, command: str, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "_modules", [])
    words = shlex.split(command)[1:]
    prepare(words)
    more = [option for word, options in SHORTER.items() if word in words for option in options]
    assert main([*words, *more]) == 0, capsys.readouterr().err
    if "--out" in words:
        assert Path(words[words.index("--out") + 1]).exists()


def test_the_documented_output_of_advise_is_what_it_prints(capsys):
    outputs = [block for block in blocks() if block.startswith("$ windrow advise")]
    assert outputs
    for output in outputs:
        command, _, expected = output.partition("\n")
        assert main(shlex.split(command)[2:]) == 0
        printed = capsys.readouterr().out
        assert doctest.OutputChecker().check_output(expected.replace("…", "..."), printed, doctest.ELLIPSIS), printed


@pytest.mark.spark
@pytest.mark.long
def test_the_demo_prints_what_the_readme_shows(spark, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shown = next(block for block in blocks() if block.startswith("made demo-out"))
    assert main(["demo"]) == 0
    printed = lines(capsys.readouterr().out)
    missing = [line for line in lines(shown) if line != "..." and not any(matches(line, text) for text in printed)]
    assert missing == []


def matches(pattern: str, text: str) -> bool:
    """Whether a line agrees with one in which … stands for anything."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("…"))), text) is not None


def lines(text: str) -> list[str]:
    """The lines of a text with single spaces, without blank ones and rules."""
    return [" ".join(line.split()) for line in text.splitlines() if line.strip(" ─")]


def test_documented_targets_of_make_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = "\n".join(page.read_text() for page in PAGES)
    mentioned = set(re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE))
    assert mentioned <= targets


def test_documented_scripts_exist():
    scripts = [command.split()[1] for command in commands("python") if not command.split()[1].startswith("-")]
    assert scripts
    assert [script for script in scripts if not (ROOT / script).exists()] == []
