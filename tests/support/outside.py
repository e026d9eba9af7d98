"""A scheme, an aggregate and a synopsis from outside the package, as a user would write them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

import windrow as wr
from windrow.framing.schemes.native import NativeRun, literal
from windrow.framing.schemes.rules.loop import BoundRule, RuleScheme
from windrow.framing.schemes.rules.runs import LabelRule
from windrow.framing.schemes.text import text_option
from windrow.rows.text import as_number
from windrow.synopses.base import EXACT, Synopsis
from windrow.synopses.saved import pack_arrays, unpack_arrays


@dataclass(frozen=True, repr=False)
class SameSide(RuleScheme):
    """Maximal runs of rows on the same side of a level."""

    attribute: str = field(metadata=text_option("runs of rows on the same side of a level", "COLUMN", "x"))
    level: float = field(
        default=0.0, kw_only=True, metadata=text_option("the level", "NUMBER", parse=as_number, typed=True)
    )

    source: ClassVar[str] = "tests"
    drops_runs: ClassVar[bool] = True

    @property
    def is_run(self) -> bool:
        return self.is_cut_in_sql

    @property
    def attributes(self) -> tuple[str, ...]:
        return (self.attribute,)

    @property
    def extras(self) -> dict[str, pa.DataType]:
        return {"above": pa.bool_()}

    def native_run(self, inputs: Mapping[str, str]) -> NativeRun:
        return NativeRun(labels=(f"{inputs[self.attribute]} > {literal(self.level)}",))

    def local_condition(self, extent: Any) -> Iterable[tuple[int, ...]]:
        sides = {int(row.values[self.attribute] > self.level) for row in extent}
        return [tuple(sides)] if len(sides) == 1 else []

    def rule(self, types: Mapping[str, pa.DataType]) -> BoundRule:
        def make(batch: Any, inputs: Any) -> LabelRule:
            return LabelRule((inputs[self.attribute] > self.level).astype(np.int64)[:, None])

        return BoundRule(make, labels=1)


class Reach(wr.AggregateFunction):
    """The largest minus the smallest value."""

    @staticmethod
    def zero():
        return (math.inf, -math.inf)

    @staticmethod
    def add(s, x):
        return (min(s[0], x), max(s[1], x))

    @staticmethod
    def merge(a, b):
        return (min(a[0], b[0]), max(a[1], b[1]))

    @staticmethod
    def finish(s):
        return s[1] - s[0]


class Notebook(Synopsis):
    """All values of the window in a list, aggregated on each query."""

    retentions: ClassVar[frozenset[Any]] = frozenset({"count", "time"})
    exact: ClassVar[bool] = True
    deterministic: ClassVar[bool] = True
    time: ClassVar[str] = "O(R) per answer"
    space: ClassVar[str] = "R values"
    error: ClassVar[str] = "none"
    source: ClassVar[str] = "tests"

    def __init__(self, aggregate: Any, retention: Any, accuracy: Any = EXACT, *, seed: int = 0) -> None:
        super().__init__(aggregate, retention, accuracy, seed=seed)
        self.values: list[tuple[int, float]] = []

    @classmethod
    def why_not(cls, aggregate: Any, retention: Any, accuracy: Any = EXACT) -> str | None:
        return None if aggregate.reads == 1 else "it stores the values of one column"

    def update(self, on: Any, x: Any) -> None:
        self.values += zip(on.tolist(), x.tolist(), strict=True)
        if self.timed and len(on):
            self._go_on(int(on[-1]))
        elif not self.timed:
            self.values = self.values[-self.retention.length :]

    def _expire(self, now: int) -> None:
        self.values = [(on, x) for on, x in self.values if on > now - self.retention.length]

    def query(self) -> Any:
        return self.aggregate.compute([x for _, x in self.values])

    def roll(self, on: Any, x: Any, every: int) -> Any:
        ends = np.arange(every, len(on) + 1, every)
        return np.array(self._step_by_step(on, x, ends), np.float64)

    @property
    def nbytes(self) -> int:
        return 16 * len(self.values)

    def _arguments(self) -> dict[str, Any]:
        return {"aggregate": repr(self.aggregate), "length": self.retention.length, "kind": self.retention.kind}

    def save(self) -> bytes:
        on, x = np.array([on for on, _ in self.values], np.int64), np.array([x for _, x in self.values], np.float64)
        return pack_arrays("Notebook", 1, self._arguments(), {"on": on, "x": x, "newest": np.array([self.newest])})

    def load(self, data: bytes) -> None:
        arrays = unpack_arrays(data, "Notebook", 1, self._arguments())
        self.values = list(zip(arrays["on"].tolist(), arrays["x"].tolist(), strict=True))
        self.newest = int(arrays["newest"][0])
