"""Measure what Windrow costs compared with its peers and the physical limit, all in one run.

    python -m benchmarks                     all sections
    python -m benchmarks threshold delta     some of them
    python -m benchmarks --rows 2000000      on smaller tables

Tables are printed, and written as JSON to bench-data/results/. See benchmarks/README.md for the rules.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.frames import sections as frames
from benchmarks.report import Report, git
from benchmarks.slides import sections as slides
from benchmarks.streams import sections as streams
from benchmarks.synopses import sections as synopses

SECTIONS: dict[str, Callable[[Bench], None]] = {
    **frames.SECTIONS,
    **streams.SECTIONS,
    **slides.SECTIONS,
    **synopses.SECTIONS,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sections", nargs="*", choices=[[], *SECTIONS], help=f"default: all of {', '.join(SECTIONS)}")
    parser.add_argument("--rows", type=int, default=20_000_000, help="rows per table (default: 20 million)")
    parser.add_argument("--rounds", type=int, default=4, help="runs per competitor (default: 4)")
    parser.add_argument("--out", type=Path, default=default_file(), help="where results go (default: %(default)s)")
    options = parser.parse_args()
    bench = Bench(options.rows, options.rounds, Report())
    for name in options.sections or SECTIONS:
        bench.report.begin(name)
        SECTIONS[name](bench)
        bench.report.write(options.out, {"rows": options.rows, "rounds": options.rounds})
        print(flush=True)
    bench.stop()
    print(f"results: {options.out}")


def default_file() -> Path:
    """Return a file in bench-data/results, named after the commit."""
    commit = git("rev-parse", "--short", "HEAD") or "results"
    return Path("bench-data", "results", f"{commit}.json")


if __name__ == "__main__":
    main()
