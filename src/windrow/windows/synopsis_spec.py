"""`Keep`: which synopsis keeps the windows of an aggregate, and how wrong it may be."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

from windrow.aggregates.engine.accumulator import Accumulator
from windrow.errors import SpecError, UnsupportedError, quoted
from windrow.synopses import SYNOPSES, Accuracy, Retention, Synopsis
from windrow.synopses.base import check_whole
from windrow.synopses.samples.base import sample_size
from windrow.windows.specs import Shape

NAMES = {kind.__name__: kind for kind in SYNOPSES}


@dataclass(frozen=True)
class Keep:
    """How an aggregate of windows is kept: by which synopsis, and how wrong it may be.

    Parameters
    ----------
    synopsis
        A class of `windrow.synopses`, or its name.
    eps
        How wrong an answer may be at most, relative; by default what the aggregate says, else nothing.
    delta
        With which probability it may be more wrong than that; 0 for synopses that never are.
    seed
        For those that draw at random.

    Examples
    --------
    >>> Keep("BiasedReservoir", eps=0.05, delta=0.001)
    Keep(synopsis='BiasedReservoir', eps=0.05, delta=0.001, seed=0)
    """

    synopsis: str | type[Synopsis]
    eps: float = 0.0
    delta: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.synopsis, str) and self.synopsis not in NAMES:
            raise SpecError(f"using: there is no synopsis {quoted(self.synopsis)}; there are {', '.join(NAMES)}")
        if not isinstance(self.synopsis, str) and not any(self.synopsis is kind for kind in SYNOPSES):
            raise SpecError(f"using: {quoted(self.synopsis)} is no synopsis; give the name of one, such as 'TwoStacks'")
        _ = Accuracy(self.eps, self.delta)
        check_whole("seed", self.seed, 0)

    @property
    def kind(self) -> type[Synopsis]:
        """The class of the synopsis."""
        return NAMES[self.synopsis] if isinstance(self.synopsis, str) else self.synopsis

    def counts(self, shape: Shape) -> bool:
        """Whether it counts values; else it goes by their places, which takes those without a value into account."""
        return shape.unit == "rows" and "time" not in self.kind.retentions

    def make(self, accumulator: Accumulator, shape: Shape) -> Synopsis:
        """A synopsis that has seen nothing, for windows of one kind; or a refusal that says why there is none."""
        if shape.length is None:
            raise UnsupportedError("using: a landmark window has no retention for a synopsis to keep to")
        if shape.emit:
            raise UnsupportedError("using: a synopsis keeps one length, and emit= asks for windows that are shorter")
        kind = self.kind
        accuracy = Accuracy(self.eps or float(getattr(accumulator.aggregate, "eps", 0.0)), self.delta)
        retention = Retention(shape.length, "count" if self.counts(shape) else "time")
        more = {"every": shape.every, "integral": accumulator.integral}
        taken = inspect.signature(kind).parameters
        options: dict[str, Any] = {name: value for name, value in more.items() if name in taken}
        if (
            "probability" in taken
            and shape.unit == "rows"
            and kind.why_not(accumulator.aggregate, retention, accuracy) is None
        ):
            # Places are numbers of rows, so there are no more elements in a window than it is long.
            options["probability"] = min(1.0, sample_size(accuracy) / shape.length)
        return kind(accumulator.aggregate, retention, accuracy, seed=self.seed, **options)
