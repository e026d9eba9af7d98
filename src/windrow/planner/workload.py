"""Workloads: the aggregate, the size of the window, the slide, the accuracy and the kind of data."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from windrow.aggregates import (
    AggregateFunction,
    Count,
    First,
    HeavyHitters,
    Kurtosis,
    Last,
    Max,
    Mean,
    Median,
    Min,
    Mode,
    Quantile,
    Rank,
    Skewness,
    Stddev,
    Sum,
    Variance,
)
from windrow.aggregates.base import name_of
from windrow.errors import SpecError, quoted
from windrow.planner.cost_terms import Quantities, numbers
from windrow.planner.data import STREAMS, make_stream
from windrow.planner.panes_of_values import PanesOfValues
from windrow.synopses import (
    SYNOPSES,
    SYNOPSIS_REGISTRY,
    Accuracy,
    BernoulliSample,
    ExponentialHistogram,
    GreenwaldKhanna,
    Retention,
    Synopsis,
)
from windrow.synopses.base import Instants, Numbers, RetentionKind
from windrow.synopses.samples.base import sample_size

AGGREGATES: Mapping[str, AggregateFunction] = MappingProxyType(
    {
        name_of(type(aggregate)): aggregate
        for aggregate in (
            Count("x"),
            Sum("x"),
            Mean("x"),
            Variance("x"),
            Stddev("x"),
            Skewness("x"),
            Kurtosis("x"),
            Min("x"),
            Max("x"),
            First("x"),
            Last("x"),
            Rank("x", 0.5),
            Median("x"),
            Quantile("x", 0.9),
            Mode("x"),
            HeavyHitters("x", 0.1),
        )
    }
)
"""The aggregates that synopses support, by name; their options hardly affect the cost."""
APPROACHES: tuple[type[Synopsis], ...] = tuple(kind for kind in SYNOPSES if kind is not GreenwaldKhanna)
"""The built-in synopses that support a retention."""


def approaches() -> tuple[type[Synopsis], ...]:
    """Return the synopses that support a retention, those from outside the package too."""
    others = [kind for name, kind in SYNOPSIS_REGISTRY.classes().items() if name not in SYNOPSIS_REGISTRY.builtin]
    return (*APPROACHES, *(kind for kind in others if kind.retentions))


NAMES: Mapping[str, type[Any]] = {kind.__name__: kind for kind in (*APPROACHES, PanesOfValues)}
"""Everything that is measured, by name."""
WHOLE = "whole"
"""Data of non-negative integers, which an exponential histogram requires."""
LONGEST = 1 << 62
MADE = 10_000
"""Largest sample that is built to measure the size of an empty one."""
POOL = 1 << 23
"""Number of values to measure with; they repeat cyclically."""


@dataclass(frozen=True)
class Workload:
    """One aggregate over one sliding window, with its accuracy and data.

    Parameters
    ----------
    aggregate
        Aggregate to compute per window.
    retention, slide
        Number of values per window, and number of values between answers.
    eps, delta
        Allowed error of an answer, and the allowed probability of exceeding it.
    batch
        Number of values that arrive at a time. By default many slides arrive at once, as when reading a table.
    data
        Kind of data: one of the names in `STREAMS`, or `"whole"`.
    kind
        Whether values expire by count or by time.
    """

    aggregate: AggregateFunction
    retention: int
    slide: int
    eps: float = 0.0
    delta: float = 0.0
    batch: int | None = None
    data: str = "uniform"
    kind: RetentionKind = "count"

    def __post_init__(self) -> None:
        for option in ("retention", "slide", *(() if self.batch is None else ("batch",))):
            value = getattr(self, option)
            if not is_whole(value):
                raise SpecError(f"{option}: {short(value)} must be a whole number of elements from 1 to 2**62")
            object.__setattr__(self, option, int(value))
        for option in ("eps", "delta"):
            value = getattr(self, option)
            if is_real(value) and 0 <= value < 1:  # other values are rejected below, however large
                object.__setattr__(self, option, float(value))
        if self.slide > self.retention:
            raise SpecError(f"slide: {self.slide:,} is more than retention={self.retention:,}; elements would be lost")
        if self.batch is not None and self.slide % self.batch:
            raise SpecError(
                f"batch: {self.batch:,} must divide slide={self.slide:,}, so that an answer follows a batch"
            )
        if self.data not in (*STREAMS, WHOLE):
            raise SpecError(f"data: {self.data!r} is none of {', '.join((*STREAMS, WHOLE))}")
        _ = Accuracy(self.eps, self.delta)

    @property
    def name(self) -> str:
        """The name of the aggregate."""
        return name_of(type(self.aggregate))

    @property
    def accuracy(self) -> Accuracy:
        """The allowed error."""
        return Accuracy(self.eps, self.delta)

    @property
    def pane(self) -> int:
        """The length of a pane: the greatest common divisor of retention and slide."""
        return math.gcd(self.retention, self.slide)

    @property
    def quantities(self) -> Quantities:
        """The quantities that the costs depend on."""
        k = sample_size(self.accuracy) if self.eps and self.delta else 1
        return numbers(self.retention, self.slide, self.pane, k, 1 / self.eps if self.eps else 1, self.batch or 1)

    def why_not(self, kind: type[Any]) -> str | None:
        """Return why a synopsis does not apply, or None if it does."""
        if kind is PanesOfValues:
            return None if self.aggregate.form == "values" else "the states of panes are numbers"
        obstacle: str | None = kind.why_not(self.aggregate, Retention(self.retention, self.kind), self.accuracy)
        if obstacle is None and kind is ExponentialHistogram and self.data != WHOLE:
            return "it keeps whole numbers of at least 0; say whole=True if that is what they are"
        if obstacle is None and kind is BernoulliSample and self.kind == "time":
            return "its probability depends on the number of elements, which is not known of a window of time"
        return obstacle

    def make(self, kind: type[Any], **options: Any) -> Any:
        """Create an empty synopsis."""
        if "every" in inspect.signature(kind).parameters:
            options["every"] = self.slide
        return kind(self.aggregate, Retention(self.retention, self.kind), self.accuracy, **options)

    def empty_bytes(self, kind: Any) -> float:
        """Return the size of an empty synopsis, a lower bound for predictions.

        An actual synopsis is built, so the size includes everything it allocates.
        """
        if kind is PanesOfValues or self.why_not(kind) is not None:
            return 0.0
        return _empty_bytes(kind, self.aggregate, self.retention, self.eps, self.delta, self.data, self.kind)


@lru_cache(maxsize=4096)
def _empty_bytes(
    kind: Any, aggregate: AggregateFunction, retention: int, eps: float, delta: float, data: str,
    retained: RetentionKind,
) -> float:  # fmt: skip
    work = Workload(aggregate, retention, 1, eps, delta, None, data, retained)
    size = sample_size(work.accuracy) if not kind.deterministic and "size" in inspect.signature(kind).parameters else 0
    if size <= MADE:
        return float(work.make(kind).nbytes)
    return float(work.make(kind, size=MADE).nbytes) * size / MADE


def is_whole(value: Any) -> bool:
    """Return whether a value is an integer from 1 to `LONGEST`."""
    return not isinstance(value, bool) and isinstance(value, int | np.integer) and bool(1 <= value <= LONGEST)


def is_real(value: Any) -> bool:
    """Return whether a value is a number."""
    return not isinstance(value, bool) and isinstance(value, int | float | np.integer | np.floating)


def short(value: Any) -> str:
    """Format a value for an error message."""
    too_long = isinstance(value, int) and abs(value) >= 10**4000
    shown = "a number of thousands of digits" if too_long else quoted(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


class Elements:
    """An endless stream of values of one kind, one per unit of time."""

    def __init__(self, data: str) -> None:
        self.pool, self.at = _pool(data), 0

    def take(self, n: int) -> tuple[Instants, Numbers]:
        """Return the next `n` values with their times."""
        on = np.arange(self.at, self.at + n)
        begin = self.at % self.pool.size
        self.at += n
        if begin + n <= self.pool.size:
            return on, self.pool[begin : begin + n]
        return on, self.pool[on % self.pool.size]


@cache
def _pool(data: str) -> Numbers:
    if data == WHOLE:
        return np.random.default_rng(5).integers(0, 100, POOL).astype(np.float64)
    return make_stream(data, POOL)
