"""KLL panes: quantiles of the last values from sketches of short panes, merged on query."""

from __future__ import annotations

import copy
import math
import struct
from collections import deque
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from datasketches import kll_doubles_sketch

from windrow.aggregates import AggregateFunction
from windrow.errors import DataError
from windrow.state.checks import check_that, reading
from windrow.synopses.base import EXACT, Accuracy, Instants, Numbers, Retention, RetentionKind
from windrow.synopses.checks import check_elements, check_every
from windrow.synopses.costs import Complexity
from windrow.synopses.due import after_each
from windrow.synopses.quantiles.base import Phi, QuantileSynopsis, check_phi
from windrow.synopses.saved import Arrays, pack_arrays, unpack_arrays

SMALLEST_K, LARGEST_K = 8, 65_535
LIKELY = 0.01
"""The probability with which a sketch exceeds the error that the library states."""


def k_for(accuracy: Accuracy) -> int | None:
    """Return the smallest k whose sketches stay within eps/2 with probability 1 - delta, or None if no k suffices.

    The error of a sketch is that of a sum of independent signs, so it grows with the square root of log 2/δ.

    >>> k_for(Accuracy(eps=0.05, delta=0.01)) < k_for(Accuracy(eps=0.05, delta=0.001))
    True
    """
    wider = math.sqrt(math.log(2 / accuracy.delta) / math.log(2 / LIKELY))
    low, high = SMALLEST_K, LARGEST_K + 1
    while low < high:
        middle = (low + high) // 2
        if kll_doubles_sketch.get_normalized_rank_error(middle, False) * wider <= accuracy.eps / 2:
            high = middle
        else:
            low = middle + 1
    return low if low <= LARGEST_K else None


class KLLPanes(QuantileSynopsis):
    """A synopsis of quantiles of the last values, each within eps·N ranks with a probability of at least 1 - delta.

    A pane has at most eps/2 of the window's values, so counting the oldest pane as a whole stays within the error. The
    library draws its own random bits: neither `seed` nor a saved state makes a run repeatable.

    >>> import numpy as np, windrow as wr
    >>> from windrow.synopses.base import Accuracy, Retention
    >>> speeds = KLLPanes(wr.median("speed"), Retention(1000), Accuracy(eps=0.1, delta=1e-6))
    >>> speeds.update(np.arange(5000), np.arange(5000.0))
    >>> abs(speeds.query() - 4499) <= 100
    True
    """

    retentions: ClassVar[frozenset[RetentionKind]] = frozenset({"count"})
    exact: ClassVar[bool] = False
    deterministic: ClassVar[bool] = False
    source: ClassVar[str] = "Optimal quantile approximation in streams (2016); the datasketches library"
    time: ClassVar[str] = "O(log 1/ε) per value, amortised; each answer merges O(1/ε) sketches once per pane"
    space: ClassVar[str] = "O(1/ε) sketches of O(1/ε·√log 1/δ) values"
    error: ClassVar[str] = "ε·R ranks, with probability 1 - δ"

    VERSION: ClassVar[int] = 1

    @classmethod
    def costs(cls, aggregate: AggregateFunction) -> Complexity | None:
        """Return the terms of its update, its query and its space."""
        return Complexity(("one", "log_e", "per_sketch"), ("one", "e", "merged", "merges"), ("one", "e", "sketched"))

    def __init__(
        self,
        aggregate: AggregateFunction,
        retention: Retention,
        accuracy: Accuracy = EXACT,
        *,
        seed: int = 0,
        phi: Phi | None = None,
    ) -> None:
        super().__init__(aggregate, retention, accuracy, seed=seed, phi=phi)
        self.k: Any = k_for(accuracy)
        self.pane = max(1, int(accuracy.eps / 2 * retention.length))
        self._n = 0
        self._panes: deque[Any] = deque([self._sketch()])
        self._finished: Any = None

    @classmethod
    def why_not_keep(cls, retention: Retention, accuracy: Accuracy) -> str | None:
        """Return why this retention or accuracy is not supported, or None if both are."""
        if (obstacle := super().why_not_keep(retention, accuracy)) is not None:
            return obstacle
        if not accuracy.delta:
            return "delta: 0.0 must be above 0; it is randomised, so take an Arasu-Manku synopsis to be certain"
        if k_for(accuracy) is None:
            return f"eps: {accuracy.eps!r} must be larger, no sketch of the library is so exact with that delta"
        return None

    def update(self, on: Instants, x: Numbers) -> None:
        """Add the next values, in order."""
        numbers = np.ascontiguousarray(x, np.float64)
        check_elements(np.asarray(on), numbers, numbers.dtype)
        if np.isnan(numbers).any():
            raise DataError("x: KLL sketches do not accept NaN; filter such values, or use an Arasu-Manku synopsis")
        at = 0
        while at < numbers.size:
            room = self.pane - self._n % self.pane
            part = numbers[at : at + room]
            self._panes[-1].update(part)
            self._n += part.size
            at += part.size
            if part.size == room:
                self._begin_pane()

    def query(self, phi: Phi | None = None) -> Any:
        """Return the quantiles of the window for `phi`, by default that of the aggregate, or None if it is empty."""
        shares = self.phi if phi is None else check_phi("phi", phi)
        if not self._n:
            return None
        merged = _with_pane(self._merged(), self._panes[-1])
        answers = np.array(merged.get_quantiles(np.ravel(shares).tolist(), True)).reshape(shares.shape)
        return answers if shares.ndim else float(answers)

    def roll(self, on: Instants, x: Numbers, every: int) -> npt.NDArray[Any]:
        """Add values and return the answer after every `every`-th one: a row per answer if there are several `phi`."""
        check_every(every)
        answers = self._step_by_step(on, x, after_each(int(every), len(x)))
        return np.array(answers, np.float64).reshape(-1, *self.phi.shape)

    @property
    def nbytes(self) -> int:
        """The memory used by the sketches, as their size in bytes when serialised."""
        return sum(len(sketch.serialize()) for sketch in self._panes)

    def save(self) -> bytes:
        """Return the state as bytes."""
        parts = [sketch.serialize() for sketch in self._panes]
        arrays = {
            "n": np.array([self._n]),
            "sizes": np.array([len(part) for part in parts]),
            "sketches": np.frombuffer(b"".join(parts), np.uint8),
        }
        return pack_arrays(type(self).__name__, self.VERSION, self._arguments, arrays)

    def load(self, data: bytes) -> None:
        """Restore a saved state."""
        like: Arrays = {"n": np.zeros(1, np.int64), "sizes": np.empty(0, np.int64), "sketches": np.empty(0, np.uint8)}
        arrays = unpack_arrays(data, type(self).__name__, self.VERSION, self._arguments, like)
        sizes, n = arrays["sizes"], int(arrays["n"][0])
        whole = sizes.size and (sizes > 0).all() and sizes.sum() == arrays["sketches"].size and n >= 0
        check_that(bool(whole), f"sketches of {arrays['sketches'].size} bytes, got {sizes.tolist()}")
        parts = np.split(arrays["sketches"], np.cumsum(sizes)[:-1])
        with reading():
            for part in parts:
                _check_sketch(part.tobytes(), self.k)
            panes = deque(kll_doubles_sketch.deserialize(part.tobytes()) for part in parts)
            self._check_panes(panes, n)
            finished = self._merge(panes)
            if n:
                _with_pane(finished, panes[-1]).get_quantile(0.5)
        self._n, self._panes, self._finished = n, panes, finished

    def _check_panes(self, panes: deque[Any], n: int) -> None:
        """Raise unless the number, k and sizes of panes are those of `n` values."""
        *finished, last = panes
        most = -(-(self.retention.length + 1) // self.pane) - 1
        expected = min(n // self.pane, most)
        check_that(len(finished) == expected, f"{expected} panes, got {len(finished)}")
        check_that(all(sketch.k == self.k for sketch in panes), f"sketches of k={self.k}")
        check_that(all(sketch.n == self.pane for sketch in finished), f"panes of {self.pane} values")
        check_that(last.n == n % self.pane, f"{n % self.pane} values in the last pane, got {last.n}")

    @property
    def _arguments(self) -> dict[str, Any]:
        return {"length": int(self.retention.length), "eps": self.accuracy.eps, "delta": self.accuracy.delta}

    def _sketch(self) -> Any:
        return kll_doubles_sketch(self.k)

    def _begin_pane(self) -> None:
        """Start a pane, and drop the oldest ones while the finished ones have more values than the window."""
        self._panes.append(self._sketch())
        self._finished = None
        while (len(self._panes) - 1) * self.pane > self.retention.length:
            self._panes.popleft()

    def _merged(self) -> Any:
        """Return all finished panes in one sketch, cached until the next pane is finished."""
        if self._finished is None:
            self._finished = self._merge(self._panes)
        return self._finished

    def _merge(self, panes: deque[Any]) -> Any:
        merged = self._sketch()
        for pane in list(panes)[:-1]:
            merged.merge(pane)
        return merged


_HEADER = struct.Struct("<BBBBHBxQHBx")
"""The header of a serialised sketch: length in words, version, family, flags, k, m, values, least k merged, levels."""
_SINGLE = 8
_LEAST_CAPACITY = 8


def _check_sketch(data: bytes, k: int) -> None:
    """Raise unless the levels of a sketch match its values: the library follows them unchecked."""
    words = data[0]
    if words == 2:
        check_that(len(data) in (_SINGLE, _SINGLE + 8), f"a sketch of one value or none, got {len(data)} bytes")
        check_that(data[1:3] + data[4:7] == _single(data, k), "the header of a sketch of one value or none")
        check_that((data[3] & 1 == 1) == (len(data) == _SINGLE), "a value, or a flag that it is missing")
        return
    _, version, family, flags, of, least, n, smallest, levels = _HEADER.unpack_from(data)
    fits = (words, version, family, flags & ~2, of, least, smallest) == (5, 1, 15, 0, k, _LEAST_CAPACITY, k)
    check_that(fits and 0 < levels <= 60, f"the header of a sketch of k={k}")
    capacity = sum(_capacity(k, depth) for depth in range(levels))
    starts = [*struct.unpack_from(f"<{levels}I", data, _HEADER.size), capacity]
    sizes = [after - before for before, after in pairwise(starts)]
    whole = min(sizes) >= 0 and sum(size << level for level, size in enumerate(sizes)) == n
    check_that(whole, f"levels with {n} values, got {starts}")
    expected = _HEADER.size + 4 * levels + 8 * (2 + capacity - starts[0])
    check_that(len(data) == expected, f"a sketch of {expected} bytes, got {len(data)}")


def _single(data: bytes, k: int) -> bytes:
    """Return the version, family, k and m of a sketch of at most one value."""
    return struct.pack("<BBHB", 1 if len(data) == _SINGLE else 2, 15, k, _LEAST_CAPACITY)


def _capacity(k: int, depth: int) -> int:
    """Return the capacity of the level `depth` below the highest: k · (2/3)^depth, rounded."""
    rounded: int = ((k << depth + 1) // 3**depth + 1) >> 1
    return max(_LEAST_CAPACITY, rounded)


def _with_pane(finished: Any, pane: Any) -> Any:
    """Return the sketch of finished panes merged with the open pane."""
    merged = copy.copy(finished)
    merged.merge(pane)
    return merged
