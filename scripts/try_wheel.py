#!/usr/bin/env python3
"""Tries an installed wheel as a new user would: the first example of the README, and the commands.

Run it with the Python of an environment that holds the wheel and its dependencies, and nothing else. It needs only the
standard library.
"""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def main() -> None:
    import windrow
    from windrow.extras import EXTRAS

    check("the package is installed, not a checkout", Path(windrow.__file__).is_relative_to(sys.prefix))
    present = {package for packages in EXTRAS.values() for package in packages if find_spec(package)}
    check(f"no extra is installed (got {sorted(present)})", not present)
    check("the version is that of the metadata", windrow.__version__ == version("windrow"))

    example = re.search(r"```pycon\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    test = doctest.DocTestParser().get_doctest(example[1], {}, "README.md", str(README), 0)
    check(f"the first example of the README ({len(test.examples)} steps)", not doctest_failures(test))

    shown = run(sys.executable, "-m", "windrow", "--version")
    check("python -m windrow --version", (shown.returncode, shown.stdout) == (0, f"windrow {windrow.__version__}\n"))
    command = str(Path(sys.executable).with_name("windrow"))
    shown = run(command, "--help")
    check("windrow --help", shown.returncode == 0 and "COMMAND" in shown.stdout)
    shown = run(command, "advise", "sum(x)", "--retention", "1000", "--slide", "10")
    check("windrow advise", shown.returncode == 0 and "pick: " in shown.stdout)
    shown = run(command, "frames", "readings.csv", "--on", "t")
    message = "windrow: error: windrow frames requires rich; install it with: pip install 'windrow[cli]'\n"
    check("windrow frames names the extra that it requires", (shown.returncode, shown.stderr) == (2, message))


def doctest_failures(test: doctest.DocTest) -> int:
    return doctest.DocTestRunner(optionflags=FLAGS).run(test).failed


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True)


def check(what: str, holds: bool) -> None:
    """Print what was checked; exit if it does not hold."""
    print(f"{'passed' if holds else 'FAILED'}: {what}", flush=True)
    if not holds:
        sys.exit(1)


if __name__ == "__main__":
    main()
