"""Sections on synopses; they use no Spark."""

from benchmarks.bench import Bench
from benchmarks.synopses import picks, rolling


def synopses(bench: Bench) -> None:
    """Compare each synopsis, the exact ones with the rolling functions of other libraries."""
    rolling.exact(bench.report, max(1, bench.rows // 20), bench.few_rounds)
    rolling.approximate(bench.report)
    rolling.answers(bench.report, bench.few_rounds)


def planner(bench: Bench) -> None:
    """Compare the planner's picks with measurements."""
    picks.run(bench.report, max(26, min(208, bench.rows // 96_000)))


SECTIONS = {"synopses": synopses, "picks": planner}
