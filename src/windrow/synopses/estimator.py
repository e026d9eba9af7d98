"""The base of samples and histograms: taking values, giving estimates, saving and loading."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pyarrow as pa

from windrow.aggregates import AggregateFunction, Count
from windrow.arrays import Array
from windrow.state.checks import reading
from windrow.synopses.base import EXACT, Accuracy, Instants, Numbers, Retention, RetentionKind, Synopsis
from windrow.synopses.checks import as_instants, check_elements, check_every, check_order
from windrow.synopses.due import NO_INSTANTS, NOW, Due, after_each, nullable
from windrow.synopses.saved import pack_arrays, unpack_arrays

Elements: TypeAlias = tuple[Array, ...]
"""Values as a kernel takes them: their times, and one or more arrays of numbers."""
NOTHING = np.empty(0)


class Estimator(Synopsis):
    """A synopsis that estimates one number from flat arrays, with a kernel that returns when it runs out of room."""

    retentions: ClassVar[frozenset[RetentionKind]] = frozenset({"count", "time"})
    exact: ClassVar[bool] = False
    version: ClassVar[int] = 1
    """The version of the saved state; raise it when the meaning of its arrays changes."""

    def __init__(
        self, aggregate: AggregateFunction, retention: Retention, accuracy: Accuracy = EXACT, *, seed: int = 0
    ) -> None:
        super().__init__(aggregate, retention, accuracy, seed=seed)
        self.by_time, self.length = self.timed, int(retention.length)

    @abstractmethod
    def _step(self, elements: Elements, due: Due, at: int) -> int:
        """Add values from `at` on while there is room, and give the answers that are due; return the next position."""

    @abstractmethod
    def _grow(self, elements: Elements, at: int) -> None:
        """Make room for value `at`."""

    @property
    @abstractmethod
    def _state(self) -> dict[str, Array]:
        """All arrays of the saved state, by name."""

    @abstractmethod
    def _check(self, arrays: dict[str, Array]) -> None:
        """Raise for saved arrays with which a kernel would run out of bounds or never finish."""

    @abstractmethod
    def _restore(self, arrays: dict[str, Array]) -> None:
        """Adopt the arrays of a saved state."""

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments that a saved state must match."""
        return {
            "aggregate": repr(self.aggregate),
            "length": self.length,
            "kind": self.retention.kind,
            "eps": self.accuracy.eps,
        }

    def update(self, on: Instants, x: Numbers) -> None:
        """Add the next values, in order."""
        self._run(self._elements(on, x), NO_INSTANTS)

    def roll(self, on: Instants, x: Numbers, every: int) -> Array:
        """Add values and return the answer after every `every`-th one."""
        check_every(every)
        elements = self._elements(on, x)
        return self._run(elements, after_each(int(every), elements[0].size)).answers

    def query(self) -> Any:
        """Return the estimate for the window, or None if it is undefined for so few values."""
        return self._nullable(self._run(self._elements(NO_INSTANTS, NOTHING), NOW))[0].as_py()

    def _answer_at(self, on: Instants, x: Any, ends: Instants, moments: Instants) -> pa.Array:
        return self._nullable(self._run(self._elements(on, x), ends, moments))

    def _nullable(self, due: Due) -> pa.Array:
        """Return answers as Arrow: null if there are too few values, integers for counts."""
        defined = ~np.isnan(due.answers) | (due.sizes >= max(1, self.aggregate.needs))
        return nullable(due.answers.astype(np.int64) if isinstance(self.aggregate, Count) else due.answers, defined)

    def _expire(self, now: int) -> None:
        self._run(self._elements(NO_INSTANTS, NOTHING), NOW, np.array([now]))

    @property
    def nbytes(self) -> int:
        """The memory used by the state, in bytes."""
        return sum(array.nbytes for array in self._state.values())

    def save(self) -> bytes:
        """Return the state as bytes."""
        arrays = self._state | {"newest": np.array([self.newest])}
        return pack_arrays(type(self).__name__, self.version, self.arguments, arrays)

    def load(self, data: bytes) -> None:
        """Restore a state saved by a synopsis with the same arguments."""
        like = self._state | {"newest": np.zeros(1, np.int64)}
        arrays = unpack_arrays(data, type(self).__name__, self.version, self.arguments, like)
        newest = int(arrays.pop("newest")[0])
        with reading():
            self._check(arrays)
            self._restore(arrays)
        self.newest = newest

    def _run(self, elements: Elements, ends: Instants, moments: Instants = NO_INSTANTS) -> Due:
        """Run the loop to the end, growing the state whenever it runs out of room."""
        due, at = Due.make(ends, moments, np.empty(ends.size)), 0
        while (at := self._step(elements, due, at)) < elements[0].size:
            self._grow(elements, at)
        if moments.size:
            self.newest = max(self.newest, int(moments[-1]))
        return due

    def _elements(self, on: Instants, x: Numbers) -> Elements:
        """Return values as the kernel takes them; raise if they are malformed or out of order."""
        on, x = as_instants(on), np.ascontiguousarray(x, np.float64)
        check_elements(on, x, x.dtype)
        if self.by_time:
            self.newest = check_order(on, self.newest)
        return on, x


def named(part: str, arrays: Any) -> dict[str, Array]:
    """Return the arrays of a named tuple, keyed by `part` and field name."""
    return {f"{part}.{name}": array for name, array in arrays._asdict().items()}


def unnamed(part: str, kind: Any, arrays: Mapping[str, Array]) -> Any:
    """Return the named tuple whose arrays `named` returned."""
    return kind(**{name: arrays[f"{part}.{name}"] for name in kind._fields})
