"""The costs of approaches to a sliding window: the thesis' experiment of chapter 6, and where each approach pays off.

The stream has 320 values per second, windows are 1, 15 and 60 minutes long, and slides 1, 15 and 30. As in the thesis,
a batch is a whole slide: it is added at once, followed by one query. The instantaneous approach recomputes the answer
from all values of the window; the others maintain a synopsis. `refit` fits models to these measurements, as chapter 7
does.

Memory is computed, not observed: the bytes of the stored state and, for the incremental approach, of the batch being
added. The window of the instantaneous approach already contains the newest slide, so it needs no separate batch.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from windrow.planner.calibration.measure import undisturbed
from windrow.planner.panes_of_values import PanesOfValues
from windrow.planner.workload import AGGREGATES, Elements, Workload
from windrow.studies.thesis.accuracy import HISTOGRAM, RESERVOIR, SKETCH, SLIDE, What
from windrow.studies.thesis.measured import (
    EXPIRATION_LIST,
    INSTANTANEOUS,
    MEASUREMENTS_EACH,
    PANES,
    THESIS_MEASURED,
    WORKLOADS,
    ThesisMeasured,
)
from windrow.studies.thesis.models import THESIS_MODELS, ThesisModel
from windrow.synopses import (
    ArasuMankuFixed,
    BiasedReservoir,
    ExpirationList,
    Ordered,
    Panes,
    Recomputation,
    VarianceHistogram,
)

SHARES = ((1, 60), (1, 20), (1, 10), (1, 8), (1, 5), (1, 4), (1, 3), (2, 5), (1, 2), (1, 1))
"""Slides as fractions of the window (numerator, denominator), to find where an approach stops paying off."""
SECTION = "9.1"
"""The section in which the thesis says where each approach stops paying off, used like a table number."""
REPEATS, QUICK_REPEATS = 7, 3
"""How often each slide of section 9.1 is measured; the median counts."""
QUICK_MEASUREMENTS = 10
QUICK_WORKLOADS = ((1, 1), (15, 1), (15, 3), (15, 5))
"""The thesis' workloads up to 15 minutes, and two more, without which the cost of a slide cannot be estimated."""
BYTES_EACH = 8
"""Bytes per value of a batch."""

KINDS: Mapping[tuple[What, str], type[Any]] = {
    ("variance", INSTANTANEOUS): Recomputation,
    ("variance", RESERVOIR): BiasedReservoir,
    ("variance", EXPIRATION_LIST): ExpirationList,
    ("variance", PANES): Panes,
    ("variance", HISTOGRAM): VarianceHistogram,
    ("quantiles", INSTANTANEOUS): PanesOfValues,
    ("quantiles", RESERVOIR): BiasedReservoir,
    ("quantiles", EXPIRATION_LIST): Ordered,
    ("quantiles", SKETCH): ArasuMankuFixed,
}
"""Windrow's counterpart of each approach of the thesis."""
_IN_MODELS = {RESERVOIR: "sampling", HISTOGRAM: "histogram", SKETCH: "quantile summary"}


@dataclass(frozen=True)
class Approach:
    """An approach to an aggregate, with the thesis' table of measurements."""

    table: ThesisMeasured

    @property
    def kind(self) -> type[Any]:
        """Windrow's counterpart."""
        return KINDS[self.table.aggregate, self.table.approach]

    @property
    def is_instantaneous(self) -> bool:
        """Whether each answer is computed from the whole window."""
        return self.table.approach == INSTANTANEOUS

    @cached_property
    def models(self) -> tuple[ThesisModel, ...]:
        """The thesis' models of the approach: of time and space, some also weighted."""
        name, aggregate = _IN_MODELS.get(self.table.approach, self.table.approach), self.table.aggregate.rstrip("s")
        return tuple(
            model
            for model in THESIS_MODELS
            if (model.aggregate, model.approach, model.eps) == (aggregate, name, self.table.eps)
        )

    def workload(self, retention: int, slide: int) -> Workload:
        """Return the workload for a retention and a slide in values."""
        aggregate = AGGREGATES["variance" if self.table.aggregate == "variance" else "median"]
        return Workload(aggregate, retention, slide, self.table.eps, self.table.delta, batch=slide)

    def __str__(self) -> str:
        error = f", ε {self.table.eps:g}" if self.table.eps else ""
        return f"{self.table.aggregate}, {self.table.approach}{error}"


APPROACHES: Mapping[str, Approach] = {table.number: Approach(table) for table in THESIS_MEASURED}
"""All approaches, by the number of their table in chapter 6."""
NUMBERS = (*APPROACHES, *(model.number for model in THESIS_MODELS), SECTION)
"""Everything that can be requested."""


@dataclass(frozen=True)
class Sample:
    """One measurement: a slide added and one query. In values, seconds and bytes."""

    approach: Approach
    part: str
    """The number of the table in chapter 6 that it belongs to, or of the section."""
    retention: int
    slide: int
    update: float
    query: float
    stored: int

    @property
    def time(self) -> float:
        """The time of the slide, which the thesis calls the operator's."""
        return self.update + self.query

    @property
    def batch(self) -> int:
        """The bytes of the batch."""
        return 0 if self.approach.is_instantaneous else BYTES_EACH * self.slide

    @property
    def space(self) -> int:
        """The bytes of the state and the batch."""
        return self.stored + self.batch


@dataclass(frozen=True)
class DesignSpace:
    """The tables to reproduce, the workloads and the numbers of measurements."""

    numbers: tuple[str, ...] = NUMBERS
    measurements: int = MEASUREMENTS_EACH
    workloads: tuple[tuple[int, int], ...] = WORKLOADS
    """Minutes of retention and of slide."""
    longest: int = 60
    """The retention of section 9.1, in minutes."""
    repeats: int = REPEATS

    @classmethod
    def choose(cls, numbers: Sequence[str] = (), *, quick: bool = False) -> DesignSpace:
        """Create a study of the given tables; all of them by default."""
        chosen = tuple(number for number in NUMBERS if number in numbers) or NUMBERS
        if quick:
            return cls(chosen, QUICK_MEASUREMENTS, QUICK_WORKLOADS, 15, QUICK_REPEATS)
        return cls(chosen)

    @property
    def runs(self) -> Iterator[Run]:
        """The runs of the study; tables that need the same measurements share one."""
        for number, approach in APPROACHES.items():
            if number in self.numbers or any(model.number in self.numbers for model in approach.models):
                for retention, slide in self.workloads:
                    yield Run(approach, number, retention * SLIDE, slide * SLIDE, self.measurements)
        if SECTION in self.numbers:
            retention = self.longest * SLIDE
            for approach in APPROACHES.values():
                for part, whole in SHARES:
                    yield Run(approach, SECTION, retention, retention * part // whole, self.repeats)


@dataclass(frozen=True)
class Run:
    """One approach and one workload."""

    approach: Approach
    part: str
    retention: int
    slide: int
    measurements: int

    def __str__(self) -> str:
        minutes = f"{self.retention / SLIDE:g} min every {self.slide / SLIDE:.3g}"
        return f"{self.part}: {self.approach}, {minutes}"

    def samples(self) -> list[Sample]:
        """Fill the window, run one slide so that everything is compiled, and measure."""
        work = self.approach.workload(self.retention, self.slide)
        synopsis, elements = work.make(self.approach.kind), Elements(work.data)
        for _ in range(math.ceil(self.retention / self.slide)):
            synopsis.update(*elements.take(self.slide))
        with undisturbed():
            _slide(synopsis, elements, self.slide)
            return [self._sample(synopsis, elements) for _ in range(self.measurements)]

    def _sample(self, synopsis: Any, elements: Elements) -> Sample:
        update, query = _slide(synopsis, elements, self.slide)
        return Sample(self.approach, self.part, self.retention, self.slide, update, query, int(synopsis.nbytes))


def _slide(synopsis: Any, elements: Elements, slide: int) -> tuple[float, float]:
    """Return the seconds taken by adding a slide, and by one query."""
    on, x = elements.take(slide)
    begin = time.perf_counter()
    synopsis.update(on, x)
    between = time.perf_counter()
    synopsis.query()
    return between - begin, time.perf_counter() - between


def crossing(shares: Sequence[float], costs: Sequence[float], others: Sequence[float]) -> float | None:
    """Return the share from which one cost exceeds another, interpolated between the measured shares.

    Returns the first share if the cost is higher from the start, and None if it never is.

    >>> crossing([0.1, 0.5, 1.0], [1.0, 5.0, 10.0], [6.0, 6.0, 6.0])
    0.6
    """
    over = [cost - other for cost, other in zip(costs, others, strict=True)]
    for i, now in enumerate(over):
        if now > 0:
            if i == 0:
                return shares[0]
            before = over[i - 1]
            return shares[i - 1] + (shares[i] - shares[i - 1]) * before / (before - now)
    return None


def of_part(samples: Iterable[Sample], approach: Approach, part: str) -> list[Sample]:
    """Return the measurements of an approach for a table or the section."""
    return [sample for sample in samples if sample.part == part and sample.approach == approach]
