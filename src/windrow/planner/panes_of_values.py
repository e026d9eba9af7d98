"""Panes of values: how `wr.slide` stores an aggregate whose state is its values, merged for each window.

They are measured like synopses, so that the planner knows when a synopsis is cheaper.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates import AggregateFunction
from windrow.aggregates.engine.accumulator import Accumulator
from windrow.arrays import ALL_VALID, Values
from windrow.synopses import EXACT, Accuracy, Retention
from windrow.synopses.base import Instants, Numbers
from windrow.synopses.costs import Complexity
from windrow.windows.ranges import combined
from windrow.windows.slider import VALUES_AT_ONCE


class PanesOfValues:
    """The panes of one group, which store all values sorted by size, as `windows.slider` does.

    >>> import windrow as wr
    >>> panes = PanesOfValues(wr.median("speed"), Retention(4), every=2)
    >>> panes.roll(np.arange(6), np.array([9.0, 2.0, 4.0, 3.0, 1.0, 5.0]), 2).tolist()
    [2.0, 3.0, 3.0]
    """

    exact = deterministic = True
    needs_whole = needs_size = False

    def __init__(
        self, aggregate: AggregateFunction, retention: Retention, accuracy: Accuracy = EXACT, *, every: int = 1
    ) -> None:
        self.accumulator = Accumulator(aggregate, pa.float64())
        self.pane = math.gcd(int(retention.length), int(every))
        self.panes = int(retention.length) // self.pane
        self.states = self.accumulator.empty(0)

    @classmethod
    def why_not(cls, aggregate: AggregateFunction, retention: Retention, accuracy: Accuracy = EXACT) -> str | None:
        """Return why panes do not store values, or None if they do."""
        return None if aggregate.form == "values" else f"the state of {aggregate!r} does not consist of values"

    @classmethod
    def costs(cls, aggregate: AggregateFunction) -> Complexity:
        """Return the terms of its update, its query and its space."""
        return Complexity(("one", "log_P"), ("one", "panes", "R", "R_log_panes"), ("one", "R", "panes"))

    @classmethod
    def calibrates(cls, retention: Retention, accuracy: Accuracy) -> bool:
        """Return True: a calibration measures all windows."""
        return True

    def update(self, on: Instants, x: Numbers) -> None:
        """Add values; the last pane may be shorter than the others."""
        self._take(x)
        self._forget()

    def roll(self, on: Instants, x: Numbers, every: int) -> Any:
        """Add values and answer after every `every` of them."""
        before = len(self.states)
        self._take(x)
        last = before + every // self.pane * np.arange(1, x.size // every + 1)
        pieces = np.array_split(last, max(1, last.size * self.panes * self.pane // VALUES_AT_ONCE))
        answers = [self._answers(ends) for ends in pieces]
        self._forget()
        return np.concatenate(answers)

    def query(self) -> Any:
        """Return the answer for the current window."""
        return self._answers(np.array([len(self.states)]))[0]

    def _answers(self, ends: Instants) -> Any:
        begins = np.maximum(ends - self.panes, 0)
        return self.accumulator.finish(combined(self.accumulator, self.states, begins, ends)).to_numpy(
            zero_copy_only=False
        )

    def _take(self, x: Numbers) -> None:
        more = self.accumulator.empty(-(-x.size // self.pane))
        self.accumulator.accumulate(more, (np.arange(x.size) // self.pane).reshape(-1, 1), Values(x, ALL_VALID))
        self.states = self.states.joined(more)

    @property
    def nbytes(self) -> int:
        """The memory of the values and their counts."""
        return 16 * int(self.states.seen.sum()) + 8 * len(self.states)

    def _forget(self) -> None:
        extra = len(self.states) - self.panes
        if extra > 0:
            self.states = self.states.take(np.arange(extra, len(self.states)))
