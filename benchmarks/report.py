"""Results: printed as tables while they are measured, and written as JSON with the commit and the machine."""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

from benchmarks.timing import Timing

ROOT = Path(__file__).resolve().parents[1]
ENGINES = ("windrow", "pyspark", "pyarrow", "numpy", "numba", "polars", "duckdb", "pandas", "bottleneck")
Cell = str | int | float | None


@dataclass
class Report:
    """The results of a run, one entry per section."""

    sections: dict[str, dict[str, Any]] = field(default_factory=dict)
    section: str = ""

    def begin(self, section: str) -> None:
        """Start a section; what follows belongs to it."""
        self.section = section
        self.sections[section] = {"tables": [], "ratios": []}

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
        """Print and record a table."""
        self.sections[self.section]["tables"].append(
            {"title": title, "columns": [*columns], "rows": [*map(list, rows)]}
        )
        print(text_table(title, columns, rows), flush=True)

    def timings(self, title: str, timings: Mapping[str, Timing], against: Mapping[str, str]) -> None:
        """Print and record timings, fastest first, with a column of ratios for each heading in `against`.

        A ratio is the row's median over that of the competitor: 2.00 means twice as slow.
        """
        ordered = sorted(timings.values(), key=lambda timing: timing.median)
        rows = [
            [each.name, each.median, each.best, *(each.median / timings[name].median for name in against.values())]
            for each in ordered
        ]
        self.table(title, ["", "median s", "min s", *against], rows)

    def ratio(self, what: str, ratio: float, target: str) -> None:
        """Print and record one ratio and its target."""
        self.sections[self.section]["ratios"].append({"what": what, "ratio": ratio, "target": target})
        print(f"  {what:<52} {ratio:8.2f}   target: {target}", flush=True)

    def progress(self, line: str) -> None:
        """Print what is being measured, which is not a result."""
        print(f"  {line}", file=sys.stderr, flush=True)

    def write(self, file: Path, options: Mapping[str, Any]) -> None:
        """Write everything as JSON."""
        file.parent.mkdir(parents=True, exist_ok=True)
        content = {"run": {**described_run(), **options}, "machine": described_machine(), "sections": self.sections}
        file.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def text_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    r"""Return a table as text; numbers are aligned at the right.

    >>> print(text_table("Times", ["", "s"], [["a", 1.5], ["long", None]]))
    Times
             s
    a     1.50
    long     -
    """
    cells = [[*columns], *([shown(cell) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    is_text = [any(isinstance(row[i], str) for row in rows) for i in range(len(columns))]
    lines = [
        "  ".join(
            cell.ljust(width) if left else cell.rjust(width)
            for cell, width, left in zip(row, widths, is_text, strict=True)
        ).rstrip()
        for row in cells
    ]
    return "\n".join([title, *lines])


def shown(cell: Cell) -> str:
    """Return a cell as text: numbers below 100 with two digits after the point, a dash where nothing was measured."""
    match cell:
        case None:
            return "-"
        case float() if abs(cell) < 100:
            return f"{cell:.2f}"
        case int() | float():
            return f"{cell:,.0f}"
        case _:
            return cell


def described_run() -> dict[str, Any]:
    """Return the commit, whether files were changed since, and the time."""
    return {
        "commit": git("rev-parse", "HEAD"),
        "changed": bool(git("status", "--porcelain", "--untracked-files=no")),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def described_machine() -> dict[str, Any]:
    """Return the processor, memory, system and versions; nothing that identifies the machine."""
    return {
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
        "system": platform.system(),
        "python": platform.python_version(),
        "versions": {name: installed for name in ENGINES if (installed := installed_version(name))},
    }


def processor() -> str:
    """Return the model of the processor, where the system reports it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def installed_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def git(*arguments: str) -> str | None:
    """Return the output of git, or None outside of a repository."""
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None
