"""`python -m fuzz.defects`: measure how long the fuzzer takes to find defects that the package once had.

Each defect is put back into a copy of the sources, one at a time, and the fuzzer runs on that copy until it fails.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Defect:
    """A former wrong version of a line of the sources, and the kinds of cases that reach it."""

    name: str
    file: str
    right: str
    wrong: str
    kinds: str


DEFECTS = (
    Defect(
        "cut points out of order",
        "framing/parallel/ranges.py",
        ".aggregate([]).sort_by(rising)",
        ".aggregate([])",
        "ranges",
    ),
    Defect(
        "a group without rows in a chunk counts as one with a row at 0",
        "framing/parallel/heads.py",
        "np.full(n, NOT_MET, np.int8)",
        "np.full(n, NO_HEAD, np.int8)",
        "ranges,scan",
    ),
    Defect(
        "a synopsis turns NaN into null",
        "windows/synopsis_windows.py",
        "return whole.cast(kind)",
        "return pa.array(whole.cast(kind).to_pylist(), kind, from_pandas=True)",
        "kept",
    ),
    Defect(
        "the native plan measures time by the clock on the wall",
        "spark/plans/clock.py",
        "return F.unix_micros(value) if kind.tz else _local_micros(value)",
        "return F.unix_micros(F.when(F.year(value).between(1900, 2100), F.from_utc_timestamp(value, "
        "F.current_timezone())).otherwise(value)) if kind.tz else _local_micros(value)",
        "spark-clocks",
    ),
)


def find(defect: Defect, minutes: float, seed: int) -> str:
    """Put a defect back and run the fuzzer; return when it failed, or that it did not."""
    with tempfile.TemporaryDirectory(prefix="fuzz-defect-") as folder:
        # Preserve modification times, so that compiled kernels are not compiled again.
        shutil.copytree(ROOT / "src", f"{folder}/src", copy_function=shutil.copy2)
        file = Path(folder, "src", "windrow", defect.file)
        text = file.read_text()
        if text.count(defect.right) != 1:
            return f"expected {defect.right!r} once in {defect.file}, got it {text.count(defect.right)} times"
        file.write_text(text.replace(defect.right, defect.wrong))
        command = [sys.executable, "-m", "fuzz", "--first", "--shrink", "1", "--kinds", defect.kinds]
        command += ["--minutes", str(minutes), "--seed", str(seed), "--out", f"{folder}/out"]
        paths = os.pathsep.join([f"{folder}/src", str(ROOT)])
        done = subprocess.run(
            command, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True, check=False, cwd=ROOT
        )
        line = re.search(r"^ *(\d+ s  .*)$", done.stdout, re.M)
        return line[1] if line else f"not found in {minutes:g} minutes {done.stderr[-300:]}"


def main() -> int:
    """Look for all defects; return 1 if one is not found."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.defects", description="Finds defects that are put back.")
    parser.add_argument("--minutes", type=float, default=5.0, help="at most, for each")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="a part of the names of those to find")
    options = parser.parse_args()
    missed = 0
    for defect in (defect for defect in DEFECTS if options.only in defect.name):
        result = find(defect, options.minutes, options.seed)
        missed += " s  " not in result
        print(f"{defect.name}: {result}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
