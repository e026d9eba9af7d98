"""The base of exact synopses: a window of flat arrays, the compiled loops over it, saving and loading."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates import AggregateFunction
from windrow.aggregates.engine.compiled import tag_for
from windrow.arrays import Array
from windrow.state.checks import reading
from windrow.synopses.base import EXACT, Accuracy, Instants, Numbers, Retention, RetentionKind, Synopsis
from windrow.synopses.checks import NEVER, as_instants, check_elements, check_every, check_order
from windrow.synopses.due import NO_INSTANTS, NOW, nullable
from windrow.synopses.exact import loop
from windrow.synopses.exact.loop import Answers, Span, When, specialised
from windrow.synopses.saved import pack_arrays, unpack_arrays

NO_ANSWERS = When(NO_INSTANTS, NO_INSTANTS)


class ExactSynopsis(Synopsis):
    """A synopsis of any aggregate with a state of numbers, whose answers equal those of recomputation.

    With `integral=True`, values are integers, and aggregates that keep integers keep them as 64-bit ones, exactly. An
    answer over fewer values than the aggregate needs is None, or NaN in the result of `roll`.
    """

    retentions: ClassVar[frozenset[RetentionKind]] = frozenset({"count", "time"})
    exact: ClassVar[bool] = True
    deterministic: ClassVar[bool] = True
    error: ClassVar[str] = "none"
    version: ClassVar[int] = 2
    """The version of the saved state; raise it when the meaning of a window's arrays changes."""
    ordered: ClassVar[bool] = True
    """Whether values must arrive in the order of their `on`."""

    def __init__(
        self,
        aggregate: AggregateFunction,
        retention: Retention,
        accuracy: Accuracy = EXACT,
        *,
        seed: int = 0,
        integral: bool = False,
    ) -> None:
        super().__init__(aggregate, retention, accuracy, seed=seed)
        self.integral = integral and aggregate.keeps_integers
        self.dtype = np.dtype(np.int64 if self.integral else np.float64)
        kind = aggregate.result_type(pa.int64() if integral else pa.float64())
        self.result_dtype = np.dtype(np.float64 if pa.types.is_floating(kind) else np.int64)
        self.zero = np.array([aggregate.zero_state(self.integral)], self.dtype)
        self.span = Span(int(retention.length), retention.kind == "time")
        owner: Any = type(aggregate)
        self._tag = tag_for(aggregate, self.integral)
        self._loop = specialised(loop.roll, owner)
        self.window = self.empty()

    @classmethod
    def why_not(cls, aggregate: AggregateFunction, retention: Retention, accuracy: Accuracy = EXACT) -> str | None:
        """Return why this synopsis does not apply: the aggregate reads several columns, or its state is not numeric."""
        if aggregate.timed:
            return f"it stores values without the time for which they hold, which {aggregate!r} needs"
        if aggregate.reads > 1:
            return f"it stores single numbers, but {aggregate!r} reads {aggregate.reads} columns"
        if aggregate.form != "numbers":
            return f"it stores states of numbers, but the state of {aggregate!r} has the form {aggregate.form!r}"
        if retention.kind not in cls.retentions:
            return f"it supports a retention by {' or '.join(sorted(cls.retentions))} only, not by {retention.kind}"
        return None

    @abstractmethod
    def empty(self) -> Any:
        """Return an empty window: a named tuple of flat arrays, with moves in `loop.MOVES`."""

    @abstractmethod
    def grown(self, window: Any) -> Any:
        """Return the same window with room for more values."""

    @abstractmethod
    def live(self, window: Any) -> Any:
        """Return the same window without spare room, with positions starting at 0."""

    def check(self, window: Any) -> None:
        """Raise if the cursors of a saved window are out of range."""

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments that a saved state must match."""
        return {
            "aggregate": repr(self.aggregate),
            "length": int(self.retention.length),
            "kind": self.retention.kind,
            "integral": self.integral,
        }

    def update(self, on: Instants, x: Numbers) -> None:
        """Add the next values, in order."""
        self._take_in(*self._elements(on, x))

    def query(self) -> Any:
        """Return the aggregate of the values in the window, or None if it is undefined for so few."""
        answers = self._room(1)
        self._run(NO_INSTANTS, np.empty(0, self.dtype), 0, When(NOW, NO_INSTANTS), answers)
        return answers.results[0].item() if answers.sizes[0] >= self.aggregate.needs else None

    def roll(self, on: Instants, x: Numbers, every: int) -> Array:
        """Add values and return the answer after every `every`-th one."""
        check_every(every)
        return self._roll(*self._elements(on, x), int(every))

    def _answer_at(self, on: Instants, x: Any, ends: Instants, moments: Instants) -> pa.Array:
        on, x = self._elements(on, x)
        answers = self._room(ends.size)
        self._go_through(on, x, When(ends, moments), answers)
        return nullable(answers.results, answers.sizes >= self.aggregate.needs)

    @property
    def nbytes(self) -> int:
        """The memory used by the window's arrays, in bytes."""
        return sum(array.nbytes for array in self.window)

    def save(self) -> bytes:
        """Return the window as bytes, without its spare room."""
        arrays = {**self.live(self.window)._asdict(), "newest": np.array([self.newest])}
        return pack_arrays(type(self).__name__, self.version, self.arguments, arrays)

    def load(self, data: bytes) -> None:
        """Restore a window saved by a synopsis with the same arguments."""
        like = {**self.empty()._asdict(), "newest": np.zeros(1, np.int64)}
        arrays = unpack_arrays(data, type(self).__name__, self.version, self.arguments, like)
        newest = int(arrays.pop("newest")[0])
        window = type(self.window)(**arrays)
        with reading():
            self.check(window)
        self.newest, self.window = newest, window

    def _room(self, n: int, *, sized: bool = True) -> Answers:
        """Return room for `n` answers and, if `sized`, for the number of values behind each."""
        states = np.empty((n if self.integral else 0, self.zero.shape[1]), self.dtype)
        return Answers(np.empty(n, self.result_dtype), np.empty(n if sized else 0, np.int64), states)

    def _take_in(self, on: Array, x: Array) -> None:
        """Add values one by one."""
        self._run(on, x, 0, NO_ANSWERS, self._room(0))

    def _roll(self, on: Array, x: Array, every: int) -> Array:
        """Add values one by one and return the answer after every `every`-th one."""
        answers = self._room(x.size // every)
        self._run(on, x, every, NO_ANSWERS, answers)
        return defined(answers.results, answers.sizes, self.aggregate.needs)

    def _run(self, on: Array, x: Array, every: int, when: When, answers: Answers) -> None:
        """Run the loop to the end, growing the window whenever it is full."""
        at = self._loop(self._tag, self.window, self.span, on, x, 0, 0, every, when, answers)
        while at < x.size:
            self.window = self.grown(self.window)
            answered = at // every if every else int(np.searchsorted(when.ends, at, "right"))
            at = self._loop(self._tag, self.window, self.span, on, x, at, answered, every, when, answers)
        if self.integral:
            self.aggregate.check(answers.states)

    def _go_through(self, on: Array, x: Array, when: When, answers: Answers) -> None:
        """Add values, advancing the clock to each of the moments among them."""
        self.newest = max(self.newest, int(when.moments.max(initial=NEVER)))
        self._run(on, x, 0, when, answers)

    def _expire(self, now: int) -> None:
        self._go_through(NO_INSTANTS, np.empty(0, self.dtype), When(NOW, np.array([now])), self._room(0))

    def _elements(self, on: Instants, x: Numbers) -> tuple[Array, Array]:
        """Return values as the loops take them; raise if they are malformed or out of order."""
        on, x = as_instants(on), np.asarray(x)
        check_elements(on, x, self.dtype)
        if self.ordered and self.span.timed:
            self.newest = check_order(on, self.newest)
        return on, np.ascontiguousarray(x, self.dtype)


def defined(results: Array, sizes: npt.NDArray[np.int64], needs: int) -> Array:
    """Return the results with NaN for those over too few values."""
    short = sizes < needs
    if not short.any():
        return results
    results = results.astype(np.float64)
    results[short] = np.nan
    return results
