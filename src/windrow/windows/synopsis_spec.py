"""`Keep`: the synopsis that stores the windows of an aggregate, and its permitted error."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any

from windrow.aggregates.engine.accumulator import Accumulator
from windrow.errors import SpecError, UnsupportedError, quoted
from windrow.synopses import SYNOPSIS_REGISTRY, Accuracy, Retention, Synopsis
from windrow.synopses.base import check_whole
from windrow.synopses.samples.base import sample_size
from windrow.windows.specs import Shape


@dataclass(frozen=True)
class Keep:
    """The synopsis that stores the windows of an aggregate, and its permitted error.

    Parameters
    ----------
    synopsis
        A subclass of `windrow.synopses.Synopsis`, or its name.
    eps
        The largest relative error. By default the error that the aggregate declares, else 0.
    delta
        The probability of a larger error; 0 for synopses that guarantee `eps`.
    seed
        The seed of synopses that sample at random.

    Examples
    --------
    >>> Keep("BiasedReservoir", eps=0.05, delta=0.001)
    Keep(synopsis='BiasedReservoir', eps=0.05, delta=0.001, seed=0)
    """

    synopsis: str | type[Synopsis]
    eps: float = 0.0
    delta: float = 0.0
    seed: int = 0
    kind: type[Synopsis] = field(init=False, repr=False, compare=False)
    """The class of the synopsis. Tasks receive the class, since a name may be registered in this process only."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", _class_of(self.synopsis))
        _ = Accuracy(self.eps, self.delta)
        check_whole("seed", self.seed, 0)

    def counts(self, shape: Shape) -> bool:
        """Return whether windows count values; otherwise they go by place, so rows without a value count too."""
        return shape.unit == "rows" and "time" not in self.kind.retentions

    def make(self, accumulator: Accumulator, shape: Shape) -> Synopsis:
        """Return a new synopsis for windows of one kind, or fail with the reason why it does not apply."""
        if shape.length is None:
            raise UnsupportedError(
                "using: a landmark window has no fixed length for a synopsis; use panes (using=None)"
            )
        if shape.emit:
            raise UnsupportedError(
                "using: a synopsis stores windows of one length, but emit= reports shorter ones; use panes (using=None)"
            )
        if accumulator.coding is not None:
            raise UnsupportedError(
                f"using: a synopsis stores numbers, but column {accumulator.aggregate.column!r} is of type "
                f"{accumulator.coding.kind}; use panes (using=None)"
            )
        kind = self.kind
        accuracy = Accuracy(self.eps or float(getattr(accumulator.aggregate, "eps", 0.0)), self.delta)
        retention = Retention(shape.length, "count" if self.counts(shape) else "time")
        more = {"every": shape.every, "integral": accumulator.integral}
        parameters = inspect.signature(kind).parameters
        options: dict[str, Any] = {name: value for name, value in more.items() if name in parameters}
        if (
            "probability" in parameters
            and shape.unit == "rows"
            and kind.why_not(accumulator.aggregate, retention, accuracy) is None
        ):
            # Places are row numbers, so a window contains at most as many values as it is long.
            options["probability"] = min(1.0, sample_size(accuracy) / shape.length)
        return kind(accumulator.aggregate, retention, accuracy, seed=self.seed, **options)


def _class_of(synopsis: Any) -> type[Synopsis]:
    if isinstance(synopsis, str):
        return SYNOPSIS_REGISTRY.find(synopsis, "using")
    if isinstance(synopsis, type) and issubclass(synopsis, Synopsis) and not inspect.isabstract(synopsis):
        return synopsis
    raise SpecError(f"using: expected the name of a synopsis, such as 'TwoStacks', got {quoted(synopsis)}")
