"""Where the incremental approach stops paying off: the share S/R at which recomputation becomes cheaper.

The thesis reports such shares in section 9.1, from slides of up to half the window. Here they are measured for slides
from a sixtieth of the window to the whole window.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

from windrow.studies.design_space import APPROACHES, SECTION, Approach, Sample, crossing, of_part
from windrow.studies.design_space_report import NONE, short
from windrow.studies.thesis.accuracy import SLIDE, What
from windrow.terminal import Table

STOPS = {
    "6.2": ("1/2", "≥ 1/2"), "6.3": ("1/2", "≥ 1/2"), "6.4": ("1/3", "at once"), "6.5": ("1/2", "≥ 1/2"),
    "6.6": ("", "2/5"), "6.7": ("1/8", "at once"), "6.13": ("", "≥ 1/2"), "6.14": ("2/5", "≥ 1/2"),
    "6.15": ("1/5", "at once"), "6.16": ("", "≥ 1/2"), "6.17": ("1/4", "≥ 1/2"),
}  # fmt: skip
"""The shares S/R at which the time and the memory of each approach stop paying off, by section 9.1.

Keys are the tables of chapter 6. The section gives no time where it discusses only high accuracy, and measured no slide
above half the retention.
"""


def where_it_stops(samples: Sequence[Sample], aggregate: What) -> Table:
    """Return the shares S/R from which a slide of each approach takes more time or memory than recomputation."""
    first, *others = (approach for approach in APPROACHES.values() if approach.table.aggregate == aggregate)
    names = [str(approach).removeprefix(f"{aggregate}, ") for approach in others]
    minutes = of_part(samples, first, SECTION)[0].retention // SLIDE
    columns: dict[str, Sequence[object]] = {
        "approach": names,
        "time theirs": [STOPS[approach.table.number][0] or NONE for approach in others],
        "time ours": [_share(*_stop(samples, approach, first, _time)) for approach in others],
        "memory theirs": [STOPS[approach.table.number][1] or NONE for approach in others],
        "memory ours": [_share(*_stop(samples, approach, first, _space)) for approach in others],
        "ns per value": [short(_nanoseconds(samples, approach)) for approach in others],
    }
    return Table(columns, title=f"Section 9.1: {aggregate} of {minutes} min, S/R at which an approach stops paying off")


def why_it_stops(samples: Sequence[Sample], aggregate: What) -> str:
    """Compare the shares at which times should meet, by the costs per value, with the observed ones."""
    first, *others = (approach for approach in APPROACHES.values() if approach.table.aggregate == aggregate)
    window = median(s.time for s in of_part(samples, first, SECTION)) / of_part(samples, first, SECTION)[0].retention
    shown = []
    for approach in others:
        share = 1e9 * window / _nanoseconds(samples, approach)
        name = str(approach).removeprefix(f"{aggregate}, ")
        seen, shares = _stop(samples, approach, first, _time)
        shown.append(f"{name} {_at_most(share)} (seen: {_share(seen, shares)})")
    return (
        f"{aggregate}: the instantaneous approach takes {short(1e9 * window)} ns per value of the window, an "
        "incremental one the time above for each of the slide. If that were all, times would meet at the ratio of "
        f"both: {'; '.join(shown)}."
    )


def _stop(
    samples: Sequence[Sample], approach: Approach, first: Approach, cost: Callable[[Sample], float]
) -> tuple[float | None, Sequence[float]]:
    mine, reference = _by_share(samples, approach, cost), _by_share(samples, first, cost)
    shares = sorted(mine)
    return crossing(shares, [mine[s] for s in shares], [reference[s] for s in shares]), shares


def _by_share(samples: Sequence[Sample], approach: Approach, cost: Callable[[Sample], float]) -> dict[float, float]:
    by_share: dict[float, list[float]] = {}
    for sample in of_part(samples, approach, SECTION):
        by_share.setdefault(sample.slide / sample.retention, []).append(cost(sample))
    return {share: median(costs) for share, costs in by_share.items()}


def _nanoseconds(samples: Sequence[Sample], approach: Approach) -> float:
    """Return the time per value of a slide: the median over all slides."""
    return 1e9 * median(sample.update / sample.slide for sample in of_part(samples, approach, SECTION))


def _time(sample: Sample) -> float:
    return sample.time


def _space(sample: Sample) -> float:
    return float(sample.space)


def _share(share: float | None, shares: Sequence[float]) -> str:
    if share is None:
        return "never up to R"
    return "at once" if share <= shares[0] else f"{share:.2f}"


def _at_most(share: float) -> str:
    return f"{share:.2f}" if share <= 1 else "past 1"
