"""The accuracy of synopses: the experiment of the thesis' sections 6.2.2 and 6.3.2, on its data and on harder data.

The stream has 320 values per second. A window of 1, 15 or 60 minutes slides by one minute. There are 419 measurements,
starting with the first full window. Each compares the answer of a synopsis with the truth; see `truth` for the
definition of errors.

The thesis' reservoir never forgets (`BiasedReservoir(forget=False)`): a value leaves only when another replaces it. It
is compared with synopses that do better. All samples have the size that the thesis used for the same ε and δ.
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
"""The δ of randomised synopses that are compared with deterministic ones, as in the thesis."""
BEYOND = 105
"""Number of measurements on data that the thesis does not use: a quarter of its own, so that they take minutes."""
QUICK_MEASUREMENTS, QUICK_RETENTIONS = 40, (1, 15)


@dataclass(frozen=True)
class Candidate:
    """A synopsis under test, with its options."""

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
"""The synopses measured for each synopsis of the thesis: the thesis' own first, then others."""


@dataclass(frozen=True)
class Finding:
    """The errors observed in one setting, and those of the thesis."""

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
    def holds(self) -> bool:
        """Whether answers were within ε often enough for δ."""
        return self.observed.delta <= self.delta


@dataclass(frozen=True)
class Study:
    """The tables to reproduce, the data, the retentions and the numbers of measurements."""

    tables: tuple[ThesisTable, ...] = THESIS_TABLES
    data: tuple[str, ...] = tuple(STREAMS)
    seed: int = 0
    measurements: int = MEASUREMENTS
    beyond: int = BEYOND
    """The number of measurements on data other than uniform."""
    retentions: tuple[int, ...] = RETENTIONS

    @classmethod
    def choose(
        cls, tables: Sequence[str] = (), data: str | None = None, *, seed: int = 0, quick: bool = False
    ) -> Study:
        """Create a study of the given tables and kind of data; all of them by default."""
        numbered = {table.number: table for table in THESIS_TABLES}
        chosen = tuple(numbered[number] for number in dict.fromkeys(tables)) or THESIS_TABLES
        kinds = (data,) if data else tuple(STREAMS)
        if quick:
            return cls(chosen, kinds, seed, QUICK_MEASUREMENTS, QUICK_MEASUREMENTS, QUICK_RETENTIONS)
        return cls(chosen, kinds, seed, beyond=MEASUREMENTS if data else BEYOND)

    @property
    def runs(self) -> Iterator[Run]:
        """The runs of the study; tables that need the same answers share one."""
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
        """Run the synopsis and compare its answers with the truth."""
        measurements = self.study.measurements if self.data == "uniform" else self.study.beyond
        truth = _truth(self.data, self.study.seed, max(self.study.retentions) + measurements - 1)
        x = truth.x[: (self.minutes + measurements - 1) * SLIDE]
        kinds = {table.what for table in self.tables}
        answers = answers_of(self._synopsis(), x, self.minutes, kinds)
        return [finding for table in self.tables for finding in self._compared(table, answers[table.what], truth)]

    def _synopsis(self) -> Synopsis:
        kind, eps = self.candidate.kind, self.tables[0].eps
        accuracy = Accuracy(eps) if kind.deterministic else Accuracy(eps, DELTA)
        if issubclass(kind, QuantileSynopsis):
            return kind(Median("x"), Retention(self.minutes * SLIDE), accuracy, seed=self.study.seed, phi=PHI)
        options = self.candidate.options
        return kind(Variance("x"), Retention(self.minutes * SLIDE), accuracy, seed=self.study.seed, **options)

    def _compared(self, table: ThesisTable, answers: Numbers, truth: Truth) -> Iterator[Finding]:
        shares: tuple[float | None, ...] = (None,) if table.what == "variance" else PHI
        if table.what == "variance":
            errors = truth.variance_errors(answers, self.minutes)[:, None]
        else:
            errors = truth.rank_errors(answers, np.array(PHI), self.minutes)
        # Rank errors are multiples of 1/R; a rounding error must not count as a miss.
        missed = errors > table.eps * (1 + 1e-12)
        kind = self.candidate.kind
        for j, phi in enumerate(shares):
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


def answers_of(synopsis: Synopsis, x: Numbers, minutes: int, kinds: set[What]) -> dict[What, Numbers]:
    """Return the answers of a synopsis each minute, from the first full window on: one array per wanted aggregate."""
    if isinstance(synopsis, Sample):
        return _sampled(synopsis, x, minutes, kinds)
    what: What = "quantiles" if isinstance(synopsis, QuantileSynopsis) else "variance"
    return {what: np.asarray(synopsis.roll(np.arange(x.size), x, SLIDE)[minutes - 1 :], np.float64)}


def _sampled(sample: Sample, x: Numbers, minutes: int, kinds: set[What]) -> dict[What, Numbers]:
    """Answer all aggregates from one sample: the variance of its items, and its quantile for each φ."""
    on, answers_by_kind = np.arange(x.size), {what: list[Any]() for what in kinds}
    for end in range(SLIDE, x.size + 1, SLIDE):
        sample.update(on[end - SLIDE : end], x[end - SLIDE : end])
        if end < minutes * SLIDE:
            continue
        items = sample.items()
        if "variance" in kinds:
            answers_by_kind["variance"].append(items.var(ddof=1))
        if "quantiles" in kinds:
            ranks = np.maximum(0, np.ceil(np.array(PHI) * items.size).astype(np.int64) - 1)
            answers_by_kind["quantiles"].append(np.partition(items, ranks)[ranks])
    return {what: np.array(answers, np.float64) for what, answers in answers_by_kind.items()}


@lru_cache(maxsize=1)
def _truth(data: str, seed: int, minutes: int) -> Truth:
    return Truth(make_stream(data, minutes * SLIDE, seed), SLIDE)
