"""Check the planner's picks: measure all synopses that apply on workloads that no model was fitted to.

Run by `python -m benchmarks picks`, which uses no Spark.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

import windrow as wr
from benchmarks.report import Report
from windrow.planner.advice import Way
from windrow.planner.calibration.measure import QUICK, Measured, measure
from windrow.planner.workload import AGGREGATES, WHOLE, Workload

SHORTEST, LONGEST = 100, 2_000_000
ACCURACIES = ((0.0, 0.0), (0.1, 0.0), (0.05, 0.001), (0.02, 0.0), (0.01, 0.01))
NEAR, FAR = 1.3, 3.0
CARE = replace(QUICK, fill=4.0)
"""The time budget to fill a window; a synopsis that takes longer is far from the fastest."""


@dataclass
class Findings:
    """Results over all workloads: the picks' costs relative to the best, and the errors of the predictions."""

    times: list[float] = field(default_factory=list)
    sizes: list[float] = field(default_factory=list)
    errors_time: list[float] = field(default_factory=list)
    errors_size: list[float] = field(default_factory=list)
    worst: list[tuple[float, str]] = field(default_factory=list)
    measured: int = 0
    not_full: int = 0


def workloads(n: int, seed: int = 2026) -> Iterator[Workload]:
    """Yield random workloads: retentions and slides of every size; every other slide divides its retention."""
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


def check(work: Workload, findings: Findings) -> None:
    """Measure everything that applies, and compare the picks with it."""
    query = {"retention": work.retention, "slide": work.slide, "eps": work.eps, "delta": work.delta}
    advice = {
        prefer: wr.advise(work.aggregate, **query, whole=work.data == WHOLE, prefer=prefer)
        for prefer in ("time", "space")
    }
    ways = [way for way in advice["time"].ways if way.predicted is not None and way.caution is None]
    measured = {way.name: measure(work, way.synopsis, CARE) for way in ways}
    for way in ways:
        # A pick is always measured in full, however long that takes.
        if not measured[way.name].full and way.name in {each.synopsis for each in advice.values()}:
            measured[way.name] = measure(work, way.synopsis, replace(CARE, fill=60.0))
    findings.measured += len(measured)
    full = {name: each for name, each in measured.items() if each.full}
    findings.not_full += len(measured) - len(full)
    for way in ways:
        if way.name in full:
            _compare(way, full[way.name], findings)
    _judge(advice["time"].synopsis, full, lambda each: each.time, findings.times, findings, work, "time")
    _judge(advice["space"].synopsis, full, lambda each: each.bytes, findings.sizes, findings, work, "space")


def _compare(way: Way, measured: Measured, findings: Findings) -> None:
    assert way.predicted is not None
    findings.errors_time.append(abs(way.predicted.time / measured.time - 1))
    findings.errors_size.append(abs(way.predicted.bytes / measured.bytes - 1))


def _judge(
    pick: str, full: dict[str, Measured], cost: Callable[[Measured], float], ratios: list[float], findings: Findings,
    work: Workload, what: str,
) -> None:  # fmt: skip
    if not full:
        return
    best = min(full, key=lambda name: cost(full[name]))
    ratio = cost(full[pick]) / cost(full[best]) if pick in full else math.inf
    ratios.append(ratio)
    place = f"{what}, {work.name}, R {work.retention:,}, S {work.slide:,}, ε {work.eps:g}: {pick}, best {best}"
    findings.worst = sorted([*findings.worst, (ratio, place)], reverse=True)[:8]


def run(report: Report, n: int) -> None:
    """Report the results of all workloads."""
    findings = Findings()
    for i, work in enumerate(workloads(n)):
        check(work, findings)
        if i % 20 == 19:
            report.progress(f"{i + 1} of {n} workloads")
    title = f"Picks of the planner, {n} workloads that no model was fitted to, {findings.measured:,} synopses measured"
    picked = {"the fastest": np.array(findings.times), "the smallest": np.array(findings.sizes)}
    columns = ["", "workloads", "% best", f"% <= {NEAR}", f"% <= {FAR:g}", "worst"]
    report.table(title, columns, [_picks(name, ratios) for name, ratios in picked.items()])
    for name, ratios in picked.items():
        report.ratio(f"{name}: share within {NEAR} times the best", float(np.mean(ratios <= NEAR)), "at least 0.95")
        report.ratio(f"{name}: worst pick", float(ratios.max()), "at most 3")
    errors = {"time": findings.errors_time, "bytes": findings.errors_size}
    rows = [[name, *(100 * float(q) for q in np.quantile(values, [0.5, 0.9]))] for name, values in errors.items()]
    report.table("Errors of predictions, per cent", ["", "median", "90 % below"], rows)
    if findings.not_full:
        print(f"  {findings.not_full} were too slow to fill their window in {CARE.fill:g} s, and are not compared")
    report.table("The worst picks", ["", "times the best"], [[place, ratio] for ratio, place in findings.worst])


def _picks(name: str, ratios: np.ndarray) -> list[str | int | float]:
    shares = (100 * float(np.mean(ratios <= most)) for most in (1.0, NEAR, FAR))
    return [name, ratios.size, *shares, float(ratios.max())]
