"""Is the planner's pick right? Workloads that no model was fitted to, all synopses that apply, measured and compared.

Run by `python benchmarks/run.py picks`, or alone, which needs no Spark: `python benchmarks/picks.py --workloads 50`.
"""

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

import windrow as wr
from windrow.planner.advice import Way
from windrow.planner.calibration.measure import QUICK, Measured, measure
from windrow.planner.workload import AGGREGATES, WHOLE, Workload

SHORTEST, LONGEST = 100, 2_000_000
ACCURACIES = ((0.0, 0.0), (0.1, 0.0), (0.05, 0.001), (0.02, 0.0), (0.01, 0.01))
NEAR, FAR = 1.3, 3.0
CARE = replace(QUICK, fill=4.0)
"""A window may take so long to fill; what takes longer is far from being the fastest."""


@dataclass
class Findings:
    """Over all workloads: how many times of the best the picks took, and how wrong the predictions were."""

    times: list[float] = field(default_factory=list)
    sizes: list[float] = field(default_factory=list)
    errors_time: list[float] = field(default_factory=list)
    errors_size: list[float] = field(default_factory=list)
    worst: list[tuple[float, str]] = field(default_factory=list)
    measured: int = 0
    not_full: int = 0


def workloads(n: int, seed: int = 2026) -> Iterator[Workload]:
    """Random ones: retentions and slides of every size, every other slide one that divides its retention."""
    rng = np.random.default_rng(seed)
    names = list(AGGREGATES)
    for i in range(n):
        name = names[i % len(names)]
        retention = round(math.exp(rng.uniform(math.log(SHORTEST), math.log(LONGEST))))
        slide = round(math.exp(rng.uniform(0, math.log(retention))))
        if rng.random() < 0.5:
            retention = max(1, retention // slide) * slide
        eps, delta = (0.01, 0.0) if name == "heavy_hitters" else ACCURACIES[rng.integers(len(ACCURACIES))]
        data = WHOLE if name in ("mode", "heavy_hitters") or rng.random() < 0.3 else "uniform"
        yield Workload(AGGREGATES[name], retention, slide, eps, delta, data=data)


def check(work: Workload, found: Findings) -> None:
    """Measure all that applies, and hold the picks to it."""
    asked = {"retention": work.retention, "slide": work.slide, "eps": work.eps, "delta": work.delta}
    advice = {
        prefer: wr.advise(work.aggregate, **asked, whole=work.data == WHOLE, prefer=prefer)
        for prefer in ("time", "space")
    }
    ways = [way for way in advice["time"].ways if way.predicted is not None and way.caution is None]
    measured = {way.name: measure(work, way.synopsis, CARE) for way in ways}
    for way in ways:
        # A pick is held to what it takes, however long that takes.
        if not measured[way.name].full and way.name in {each.synopsis for each in advice.values()}:
            measured[way.name] = measure(work, way.synopsis, replace(CARE, fill=60.0))
    found.measured += len(measured)
    full = {name: each for name, each in measured.items() if each.full}
    found.not_full += len(measured) - len(full)
    for way in ways:
        if way.name in full:
            _compare(way, full[way.name], found)
    _judge(advice["time"].synopsis, full, lambda each: each.time, found.times, found, work, "time")
    _judge(advice["space"].synopsis, full, lambda each: each.bytes, found.sizes, found, work, "space")


def _compare(way: Way, measured: Measured, found: Findings) -> None:
    assert way.predicted is not None
    found.errors_time.append(abs(way.predicted.time / measured.time - 1))
    found.errors_size.append(abs(way.predicted.bytes / measured.bytes - 1))


def _judge(
    pick: str, full: dict[str, Measured], cost: Callable[[Measured], float], ratios: list[float], found: Findings,
    work: Workload, what: str,
) -> None:  # fmt: skip
    if not full:
        return
    best = min(full, key=lambda name: cost(full[name]))
    ratio = cost(full[pick]) / cost(full[best]) if pick in full else math.inf
    ratios.append(ratio)
    told = f"{what}, {work.name}, R {work.retention:,}, S {work.slide:,}, ε {work.eps:g}: {pick}, best {best}"
    found.worst = sorted([*found.worst, (ratio, told)], reverse=True)[:8]


def table(n: int, report: Callable[[str], object] = lambda line: None) -> str:
    """All workloads in one table."""
    found = Findings()
    for i, work in enumerate(workloads(n)):
        check(work, found)
        if i % 20 == 19:
            report(f"{i + 1} of {n} workloads")
    lines = [
        f"The planner's picks over {n} workloads that no model was fitted to, {found.measured:,} synopses measured",
        f"{'':34}{'workloads':>10}{'right':>8}{'<= 1.3':>8}{'<= 3':>8}{'worst':>8}",
    ]
    for name, ratios in (("the fastest", found.times), ("the smallest", found.sizes)):
        r = np.array(ratios)
        shares = [np.mean(r <= 1.0), np.mean(r <= NEAR), np.mean(r <= FAR)]
        lines.append(f"{name:34}{r.size:>10}" + "".join(f"{share:>8.1%}" for share in shares) + f"{r.max():>8.2f}")
    lines.append("  wanted: within 1.3 times in at least 95 %, never worse than 3 times")
    for name, errors in (("time", found.errors_time), ("bytes", found.errors_size)):
        middle, most = np.quantile(errors, [0.5, 0.9])
        lines.append(f"error of the predicted {name:11}  median {middle:6.1%}   90 % below {most:6.1%}")
    lines.append("  wanted: within 30 %, median")
    if found.not_full:
        lines.append(f"  {found.not_full} were too slow to fill their window in 4 s, and are not compared")
    lines += ["the worst picks:", *(f"  {ratio:6.2f}  {told}" for ratio, told in found.worst)]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workloads", type=int, default=208)
    options = parser.parse_args()
    print(table(options.workloads, lambda line: print(f"  {line}", file=sys.stderr, flush=True)))


if __name__ == "__main__":
    main()
