"""KLL panes: quantiles of the last elements from sketches of short panes, merged when asked."""

from __future__ import annotations

import copy
import math
from collections import deque
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from datasketches import kll_doubles_sketch

from windrow.aggregates import AggregateFunction
from windrow.errors import DataError
from windrow.saved import check_that, reading
from windrow.synopses.base import EXACT, Accuracy, Instants, Numbers, Retention, RetentionKind
from windrow.synopses.due import after_each
from windrow.synopses.elements import check_elements, check_every
from windrow.synopses.packing import Arrays, pack_arrays, unpack_arrays
from windrow.synopses.quantiles import Phi, QuantileSynopsis, check_phi

SMALLEST_K, LARGEST_K = 8, 65_535
LIKELY = 0.01
"""The probability with which a sketch exceeds the error that the library states."""


def k_for(accuracy: Accuracy) -> int | None:
    """The smallest k whose sketches keep to half of eps with probability 1 - delta; None if no k is large enough.

    The errors of a sketch are those of a sum of independent signs, so they grow with the root of log 2/δ.

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
    """Quantiles of the last elements, each within eps·N of its rank with a probability of at least 1 - delta.

    A pane has eps/2 of the window's elements at most, so it does little harm that a pane counts as a whole. The
    library draws its random bits by itself: neither `seed` nor a saved state makes a run repeatable.

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
    time: ClassVar[str] = "O(log 1/ε) an element, amortised; an answer merges O(1/ε) sketches once a pane"
    space: ClassVar[str] = "O(1/ε) sketches of O(1/ε·√log 1/δ) values"
    error: ClassVar[str] = "ε·R ranks, with probability 1 - δ"

    VERSION: ClassVar[int] = 1

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
        self.k = k_for(accuracy)
        self.pane = max(1, int(accuracy.eps / 2 * retention.length))
        self._n = 0
        self._panes: deque[Any] = deque([self._sketch()])
        self._finished: Any = None

    @classmethod
    def why_not_keep(cls, retention: Retention, accuracy: Accuracy) -> str | None:
        """Why quantiles cannot be kept so; None if they can."""
        if (obstacle := super().why_not_keep(retention, accuracy)) is not None:
            return obstacle
        if not accuracy.delta:
            return "delta: 0.0 must be above 0; it is randomised, so take an Arasu-Manku synopsis to be certain"
        if k_for(accuracy) is None:
            return f"eps: {accuracy.eps!r} must be larger, no sketch of the library is so exact with that delta"
        return None

    def update(self, on: Instants, x: Numbers) -> None:
        """Take in the next elements, in order."""
        numbers = np.ascontiguousarray(x, np.float64)
        check_elements(np.asarray(on), numbers, numbers.dtype)
        if np.isnan(numbers).any():
            raise DataError("x: the library's sketches take no NaN; filter them, or take an Arasu-Manku synopsis")
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
        """The quantiles of the elements in the window now, of the aggregate or of another `phi`; None without any."""
        asked = self.phi if phi is None else check_phi("phi", phi)
        if not self._n:
            return None
        merged = copy.copy(self._merged())
        merged.merge(self._panes[-1])
        answers = np.array(merged.get_quantiles(np.ravel(asked).tolist(), True)).reshape(asked.shape)
        return answers if asked.ndim else float(answers)

    def roll(self, on: Instants, x: Numbers, every: int) -> npt.NDArray[Any]:
        """Take in elements and answer after each `every` of them: one row a query if there are several `phi`."""
        check_every(every)
        answers = self._step_by_step(on, x, after_each(int(every), len(x)))
        return np.array(answers, np.float64).reshape(-1, *self.phi.shape)

    @property
    def nbytes(self) -> int:
        """The memory that the sketches take, as bytes of theirs."""
        return sum(len(sketch.serialize()) for sketch in self._panes)

    def save(self) -> bytes:
        """The state as bytes."""
        parts = [sketch.serialize() for sketch in self._panes]
        arrays = {
            "n": np.array([self._n]),
            "sizes": np.array([len(part) for part in parts]),
            "sketches": np.frombuffer(b"".join(parts), np.uint8),
        }
        return pack_arrays(type(self).__name__, self.VERSION, self._arguments, arrays)

    def load(self, data: bytes) -> None:
        """Go on from a saved state."""
        like: Arrays = {"n": np.zeros(1, np.int64), "sizes": np.empty(0, np.int64), "sketches": np.empty(0, np.uint8)}
        arrays = unpack_arrays(data, type(self).__name__, self.VERSION, self._arguments, like)
        sizes, n = arrays["sizes"], int(arrays["n"][0])
        whole = sizes.size and (sizes > 0).all() and sizes.sum() == arrays["sketches"].size and n >= 0
        check_that(bool(whole), f"sketches of {arrays['sketches'].size} bytes, got {sizes.tolist()}")
        parts = np.split(arrays["sketches"], np.cumsum(sizes)[:-1])
        with reading():
            panes = deque(kll_doubles_sketch.deserialize(part.tobytes()) for part in parts)
        self._n, self._panes = n, panes
        self._finished = None

    @property
    def _arguments(self) -> dict[str, Any]:
        return {"length": int(self.retention.length), "eps": self.accuracy.eps, "delta": self.accuracy.delta}

    def _sketch(self) -> Any:
        return kll_doubles_sketch(self.k)

    def _begin_pane(self) -> None:
        """Start a pane, and drop the oldest ones as long as the finished ones have more elements than the window."""
        self._panes.append(self._sketch())
        self._finished = None
        while (len(self._panes) - 1) * self.pane > self.retention.length:
            self._panes.popleft()

    def _merged(self) -> Any:
        """All finished panes in one sketch; kept until the next pane is finished."""
        if self._finished is None:
            self._finished = self._sketch()
            for pane in list(self._panes)[:-1]:
                self._finished.merge(pane)
        return self._finished
