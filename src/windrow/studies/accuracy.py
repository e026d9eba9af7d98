"""How accurate synopses are: the thesis' experiment of sections 6.2.2 and 6.3.2, on its data and on harder ones.

A stream of 320 elements a second, a window of 1, 15 or 60 minutes that slides by a minute, and 419 measurements from
the first full window on. Each compares the answer of a synopsis with the truth; `truth` says how errors are defined.

The thesis' reservoir never forgets (`BiasedReservoir(forget=False)`): an element leaves only when another takes its
place. Beside it are synopses that do better. All samples have as many items as the thesis' had for that ε and δ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from windrow.aggregates import Median, Variance
from windrow.planner.data import STREAMS, make_stream
from windrow.studies.thesis.accuracy import (
    HISTOGRAM,
    MEASUREMENTS,
    PHI,
    RESERVOIR,
    RETENTIONS,
    SKETCH,
    SLIDE,
    THESIS_TABLES,
    Observed,
    ThesisTable,
    What,
)
from windrow.studies.truth import Truth
from windrow.synopses import (
    Accuracy,
    ArasuMankuFixed,
    BiasedReservoir,
    KLLPanes,
    PaneReservoirs,
    Retention,
    Synopsis,
    VarianceHistogram,
)
from windrow.synopses.base import Numbers
from windrow.synopses.quantiles.base import QuantileSynopsis
from windrow.synopses.samples.base import Sample

DELTA = 0.0001
"""What randomised synopses are asked for beside deterministic ones, as in the thesis."""
BEYOND = 105
"""How many measurements there are on data that the thesis has not: a quarter of its own, to be done in minutes."""
QUICK_MEASUREMENTS, QUICK_RETENTIONS = 40, (1, 15)


@dataclass(frozen=True)
class Candidate:
    """A synopsis that takes part, with what it is made with."""

    name: str
    kind: type[Synopsis]
    options: Mapping[str, Any] = field(default_factory=dict)


CANDIDATES: Mapping[str, tuple[Candidate, ...]] = {
    RESERVOIR: (
        Candidate("thesis' reservoir", BiasedReservoir, {"forget": False}),
        Candidate("BiasedReservoir", BiasedReservoir),
        Candidate("PaneReservoirs", PaneReservoirs),
    ),
    HISTOGRAM: (Candidate("VarianceHistogram", VarianceHistogram),),
    SKETCH: (Candidate("ArasuMankuFixed", ArasuMankuFixed), Candidate("KLLPanes", KLLPanes)),
}
"""What is measured for the tables of each synopsis of the thesis: its own first, then others."""


@dataclass(frozen=True)
class Finding:
    """What was observed in one setting, and what the thesis observed there."""

    table: str
    data: str
    synopsis: str
    deterministic: bool
    minutes: int
    phi: float | None
    eps: float
    delta: float
    measurements: int
    observed: Observed
    thesis: Observed | None

    @property
    def kept(self) -> bool:
        """Whether the answers were within ε as often as was asked for."""
        return self.observed.delta <= self.delta


@dataclass(frozen=True)
class Study:
    """Which tables are made, on which data, over which retentions, and by how many measurements."""

    tables: tuple[ThesisTable, ...] = THESIS_TABLES
    data: tuple[str, ...] = tuple(STREAMS)
    seed: int = 0
    measurements: int = MEASUREMENTS
    beyond: int = BEYOND
    """The measurements on data other than uniform."""
    retentions: tuple[int, ...] = RETENTIONS

    @classmethod
    def asked(cls, tables: Sequence[str] = (), data: str | None = None, *, seed: int = 0, quick: bool = False) -> Study:
        """The study of the tables of these numbers and of one kind of data; of all of them if none is named."""
        known = {table.number: table for table in THESIS_TABLES}
        chosen = tuple(known[number] for number in dict.fromkeys(tables)) or THESIS_TABLES
        kinds = (data,) if data else tuple(STREAMS)
        if quick:
            return cls(chosen, kinds, seed, QUICK_MEASUREMENTS, QUICK_MEASUREMENTS, QUICK_RETENTIONS)
        return cls(chosen, kinds, seed, beyond=MEASUREMENTS if data else BEYOND)

    @property
    def runs(self) -> Iterator[Run]:
        """What is to be run: once for all tables that the same answers serve."""
        for data in self.data:
            for synopsis, eps in dict.fromkeys((table.synopsis, table.eps) for table in self.tables):
                tables = [t for t in self.tables if (t.synopsis, t.eps) == (synopsis, eps)]
                for minutes in self.retentions:
                    for candidate in CANDIDATES[synopsis]:
                        yield Run(self, tables, data, minutes, candidate)


@dataclass(frozen=True)
class Run:
    """One synopsis over one stream and one retention."""

    study: Study
    tables: Sequence[ThesisTable]
    data: str
    minutes: int
    candidate: Candidate

    def __str__(self) -> str:
        numbers = " and ".join(table.number for table in self.tables)
        return f"{numbers}: {self.candidate.name}, {self.data}, {self.minutes} min"

    def findings(self) -> list[Finding]:
        """Run it and compare."""
        measurements = self.study.measurements if self.data == "uniform" else self.study.beyond
        truth = _truth(self.data, self.study.seed, max(self.study.retentions) + measurements - 1)
        x = truth.x[: (self.minutes + measurements - 1) * SLIDE]
        wanted = {table.what for table in self.tables}
        answers = answers_of(self._synopsis(), x, self.minutes, wanted)
        return [finding for table in self.tables for finding in self._compared(table, answers[table.what], truth)]

    def _synopsis(self) -> Synopsis:
        kind, eps = self.candidate.kind, self.tables[0].eps
        accuracy = Accuracy(eps) if kind.deterministic else Accuracy(eps, DELTA)
        if issubclass(kind, QuantileSynopsis):
            return kind(Median("x"), Retention(self.minutes * SLIDE), accuracy, seed=self.study.seed, phi=PHI)
        options = self.candidate.options
        return kind(Variance("x"), Retention(self.minutes * SLIDE), accuracy, seed=self.study.seed, **options)

    def _compared(self, table: ThesisTable, answers: Numbers, truth: Truth) -> Iterator[Finding]:
        asked: tuple[float | None, ...] = (None,) if table.what == "variance" else PHI
        if table.what == "variance":
            errors = truth.variance_errors(answers, self.minutes)[:, None]
        else:
            errors = truth.rank_errors(answers, np.array(PHI), self.minutes)
        # Of the ranks only whole numbers count, which are not to be missed by a rounding.
        missed = errors > table.eps * (1 + 1e-12)
        kind = self.candidate.kind
        for j, phi in enumerate(asked):
            observed = Observed(float(errors[:, j].mean()), float(errors[:, j].max()), float(missed[:, j].mean()))
            yield Finding(
                table=table.number,
                data=self.data,
                synopsis=self.candidate.name,
                deterministic=kind.deterministic,
                minutes=self.minutes,
                phi=phi,
                eps=table.eps,
                delta=0.0 if kind.deterministic else DELTA,
                measurements=len(errors),
                observed=observed,
                thesis=table.observed[self.minutes, phi] if self.data == "uniform" else None,
            )


def answers_of(synopsis: Synopsis, x: Numbers, minutes: int, wanted: set[What]) -> dict[What, Numbers]:
    """What a synopsis answers each minute, from the first full window on: an array a wanted aggregate."""
    if isinstance(synopsis, Sample):
        return _sampled(synopsis, x, minutes, wanted)
    what: What = "quantiles" if isinstance(synopsis, QuantileSynopsis) else "variance"
    return {what: np.asarray(synopsis.roll(np.arange(x.size), x, SLIDE)[minutes - 1 :], np.float64)}


def _sampled(sample: Sample, x: Numbers, minutes: int, wanted: set[What]) -> dict[What, Numbers]:
    """One sample tells all of it, as it would if asked: the variance of its items, and those of the ranks of each φ."""
    on, told = np.arange(x.size), {what: list[Any]() for what in wanted}
    for end in range(SLIDE, x.size + 1, SLIDE):
        sample.update(on[end - SLIDE : end], x[end - SLIDE : end])
        if end < minutes * SLIDE:
            continue
        items = sample.items()
        if "variance" in wanted:
            told["variance"].append(items.var(ddof=1))
        if "quantiles" in wanted:
            ranks = np.maximum(0, np.ceil(np.array(PHI) * items.size).astype(np.int64) - 1)
            told["quantiles"].append(np.partition(items, ranks)[ranks])
    return {what: np.array(answers, np.float64) for what, answers in told.items()}


@lru_cache(maxsize=1)
def _truth(data: str, seed: int, minutes: int) -> Truth:
    return Truth(make_stream(data, minutes * SLIDE, seed), SLIDE)
