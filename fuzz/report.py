"""The report of a run: the number of cases of each kind, and the smallest failing ones as scripts."""

from __future__ import annotations

import pprint
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from fuzz.case import Case, Failure


@dataclass
class Tally:
    """Counts for one kind of cases."""

    cases: int = 0
    compared: int = 0
    seconds: float = 0.0
    failures: int = 0

    def add(self, other: Tally) -> None:
        """Add the counts of another process."""
        self.cases += other.cases
        self.compared += other.compared
        self.seconds += other.seconds
        self.failures += other.failures


@dataclass
class FailedCase:
    """A failing case, shrunk as far as possible, and when it was found."""

    case: Case
    failure: Failure
    number: int
    after: float


@dataclass
class Report:
    """Counts and failures of a run."""

    seed: int
    folder: Path
    tallies: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    failures: list[FailedCase] = field(default_factory=list)

    def script(self, failed: FailedCase) -> str:
        """Return a failing case as a script."""
        parts = pprint.pformat(failed.case.parts, width=110, compact=True, sort_dicts=False)
        details = "\n".join(f"# {line}" for line in failed.failure.details.splitlines())
        return (
            f"# {failed.case.kind}: {failed.failure.sort}\n"
            f"# case {failed.number} of seed {self.seed}, made smaller; run it with src and . on PYTHONPATH\n"
            f"from math import inf, nan\n\nfrom fuzz.replay import replay\n\n"
            f"replay({failed.case.kind!r}, {parts})\n\n{details}\n"
        )

    def write(self) -> None:
        """Write the scripts of failing cases, and print the report."""
        width = max(map(len, self.tallies), default=4) + 2
        print(f"\n{'kind':{width}} {'cases':>9} {'compared':>10} {'seconds':>8} {'per second':>11} {'failures':>9}")
        total = Tally()
        for name, tally in sorted(self.tallies.items()):
            self._line(name, tally, width)
            total.add(tally)
        self._line("all", total, width)
        if not self.failures:
            print("no failure")
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        smallest: dict[str, FailedCase] = {}
        for failed in self.failures:
            key = f"{failed.case.kind}: {failed.failure.sort}"
            if key not in smallest or failed.case.size < smallest[key].case.size:
                smallest[key] = failed
        print()
        for key, failed in sorted(smallest.items(), key=lambda item: item[1].case.size):
            path = self.folder / f"{failed.case.kind}-{self.seed}-{failed.number}.py"
            path.write_text(self.script(failed))
            first = min(f.after for f in self.failures if f"{f.case.kind}: {f.failure.sort}" == key)
            print(f"  {key}: first after {first:.0f} s; {path}")
        print("\nThe smallest:\n")
        print(self.script(min(smallest.values(), key=lambda failed: failed.case.size)))

    @staticmethod
    def _line(name: str, tally: Tally, width: int) -> None:
        rate = tally.cases / tally.seconds if tally.seconds else 0.0
        print(
            f"{name:{width}} {tally.cases:9,} {tally.compared:10,} {tally.seconds:8.0f} {rate:11.1f} "
            f"{tally.failures:9,}"
        )
