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

from windrow.aggregates import BUILTIN, AggregateFunction
from windrow.aggregates.base import name_of
from windrow.errors import SpecError, quoted
from windrow.planner.data import STREAMS, make_stream
from windrow.planner.panes_of_values import PanesOfValues
from windrow.synopses import SYNOPSES, SYNOPSIS_REGISTRY, Accuracy, Retention, Synopsis
from windrow.synopses.base import Instants, Numbers, RetentionKind
from windrow.synopses.costs import Quantities, numbers
from windrow.synopses.samples.base import sample_size

WHOLE = "whole"
"""Data of non-negative integers, of which some repeat."""
LONGEST = 1 << 62
MADE = 10_000
"""Largest sample that is built to measure the size of an empty one."""
POOL = 1 << 23
"""Number of values to measure with; they repeat cyclically."""


def approaches() -> list[type[Synopsis]]:
    """Return the synopses that support a retention, those from outside the package last."""
    return [kind for kind in SYNOPSIS_REGISTRY.classes().values() if kind.retentions]


def candidates() -> dict[str, type[Any]]:
    """Return everything whose costs a calibration can measure, by name."""
    return {kind.__name__: kind for kind in (*approaches(), PanesOfValues)}


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
                raise SpecError(f"{option}: expected an integer from 1 to 2**62, got {short(value)}")
            object.__setattr__(self, option, int(value))
        for option in ("eps", "delta"):
            value = getattr(self, option)
            if is_real(value) and 0 <= value < 1:  # other values are rejected below, however large
                object.__setattr__(self, option, float(value))
        if self.slide > self.retention:
            raise SpecError(
                f"slide: {self.slide:,} exceeds retention={self.retention:,}, so some values would be in no window"
            )
        if self.batch is not None and self.slide % self.batch:
            raise SpecError(
                f"batch: {self.batch:,} must divide slide={self.slide:,}, so that each slide ends with a batch"
            )
        if self.data not in (*STREAMS, WHOLE):
            raise SpecError(f"data: expected one of {', '.join((*STREAMS, WHOLE))}, got {short(self.data)}")
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
        obstacle: str | None = kind.why_not(self.aggregate, Retention(self.retention, self.kind), self.accuracy)
        if obstacle is None and kind.needs_whole and self.data != WHOLE:
            return "it stores non-negative integers only; pass whole=True if all values are such"
        if obstacle is None and kind.needs_size and self.kind == "time":
            return "its probability depends on the number of values, which is unknown for a time window"
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
        if self.why_not(kind) is not None:
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


def _is_answered(aggregate: AggregateFunction) -> bool:
    """Return whether some synopsis answers an aggregate."""
    retention, accuracy = Retention(100), Accuracy(0.1, 0.1)
    return any(kind.retentions and kind.why_not(aggregate, retention, accuracy) is None for kind in SYNOPSES)


AGGREGATES: Mapping[str, AggregateFunction] = MappingProxyType(
    {name_of(kind): example for kind in BUILTIN if _is_answered(example := kind.example())}
)
"""The aggregates that synopses answer, by name; their options hardly affect the cost."""
