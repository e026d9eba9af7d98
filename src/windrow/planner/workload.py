"""What is asked of a window: which aggregate, over how many elements, how often, how exact, and of what data."""

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
"""The aggregates that a synopsis can keep, by name; their options hardly matter to what they cost."""
APPROACHES: tuple[type[Synopsis], ...] = tuple(kind for kind in SYNOPSES if kind is not GreenwaldKhanna)
"""The synopses that keep to a window."""
NAMES: Mapping[str, type[Any]] = {kind.__name__: kind for kind in (*APPROACHES, PanesOfValues)}
"""All that is measured, by name."""
WHOLE = "whole"
"""Data that are whole numbers of at least 0, which an exponential histogram wants."""
LONGEST = 1 << 62
MADE = 10_000
"""Items of a sample that is made, at most, to see how large one is before it has any."""
POOL = 1 << 23
"""How many elements there are to measure with; after the last comes the first again."""


@dataclass(frozen=True)
class Workload:
    """What is asked of a window.

    Parameters
    ----------
    aggregate
        What is told of the window.
    retention, slide
        How many elements the window has, and after how many there is an answer.
    eps, delta
        How wrong an answer may be, and with which probability it may be more wrong.
    batch
        How many elements come at a time; by default as many as the reader of a table has at hand, many slides.
    data
        What the elements are like: one of the names of `STREAMS`, or `"whole"`.
    kind
        Whether elements leave by their number, or by their time.
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
            if is_real(value) and 0 <= value < 1:  # all else is refused below, however large
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
        """What the aggregate is called."""
        return name_of(type(self.aggregate))

    @property
    def accuracy(self) -> Accuracy:
        """How wrong an answer may be."""
        return Accuracy(self.eps, self.delta)

    @property
    def pane(self) -> int:
        """The longest step that windows and slides are made of."""
        return math.gcd(self.retention, self.slide)

    @property
    def quantities(self) -> Quantities:
        """What the costs depend on."""
        k = sample_size(self.accuracy) if self.eps and self.delta else 1
        return numbers(self.retention, self.slide, self.pane, k, 1 / self.eps if self.eps else 1, self.batch or 1)

    def why_not(self, kind: type[Any]) -> str | None:
        """Why a synopsis does not apply; None if it does."""
        if kind is PanesOfValues:
            return None if self.aggregate.form == "values" else "the states of panes are numbers"
        obstacle: str | None = kind.why_not(self.aggregate, Retention(self.retention, self.kind), self.accuracy)
        if obstacle is None and kind is ExponentialHistogram and self.data != WHOLE:
            return "it keeps whole numbers of at least 0; say whole=True if that is what they are"
        if obstacle is None and kind is BernoulliSample and self.kind == "time":
            return "its probability depends on the number of elements, which is not known of a window of time"
        return obstacle

    def make(self, kind: type[Any], **options: Any) -> Any:
        """A synopsis that has seen nothing."""
        if "every" in inspect.signature(kind).parameters:
            options["every"] = self.slide
        return kind(self.aggregate, Retention(self.retention, self.kind), self.accuracy, **options)

    def empty_bytes(self, kind: Any) -> float:
        """The size of a synopsis that has seen nothing, which no prediction may be below.

        Made and not computed, so that it is right whatever a synopsis sets aside.
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
    """Whether a value is a whole number of at least 1, and none that is out of all reason."""
    return not isinstance(value, bool) and isinstance(value, int | np.integer) and bool(1 <= value <= LONGEST)


def is_real(value: Any) -> bool:
    """Whether a value is a number."""
    return not isinstance(value, bool) and isinstance(value, int | float | np.integer | np.floating)


def short(value: Any) -> str:
    """A value as it is named in an error."""
    too_long = isinstance(value, int) and abs(value) >= 10**4000
    shown = "a number of thousands of digits" if too_long else quoted(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


class Elements:
    """An endless stream of elements of one kind, one a unit of time."""

    def __init__(self, data: str) -> None:
        self.pool, self.at = _pool(data), 0

    def take(self, n: int) -> tuple[Instants, Numbers]:
        """The next `n` elements."""
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
