"""Exact quantiles, ranks and the mode of a window, from its values in time order and in sorted order."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates import AggregateFunction, Median, Mode
from windrow.errors import SpecError, UnsupportedError
from windrow.state.checks import check_that
from windrow.synopses.base import EXACT, Accuracy, Instants, Numbers, Retention, RetentionKind, Synopsis
from windrow.synopses.checks import NEVER, as_instants, check_elements, check_every, check_order
from windrow.synopses.costs import Complexity
from windrow.synopses.due import NO_INSTANTS, Due, after_each, nullable
from windrow.synopses.exact.loop import Span
from windrow.synopses.jit import horizon
from windrow.synopses.quantiles.ranks import merge_orders, place_of, roll_ranks, sort_order, still_there
from windrow.synopses.quantiles.shelves import (
    MODE,
    QUANTILE,
    SPARE,
    WIDTH,
    Shelves,
    count_up_to,
    most_frequent,
    roll_shelves,
    select,
    shelve,
    take_off,
    with_room,
)
from windrow.synopses.saved import pack_arrays, unpack_arrays
from windrow.synopses.total_order import to_keys, to_numbers

Ints = npt.NDArray[np.int64]
STRETCH = 16_384
"""The least number of values that are ranked together."""
LEAST_ROOM = 64
NONE = NO_INSTANTS


class Ordered(Synopsis):
    """A synopsis that stores all values twice, in time order and in sorted order; answers quantiles and the mode.

    The `phi`-quantile is the value of rank ⌈phi·N⌉ among the N in the window; `phi` defaults to the aggregate's `q`.
    NaN is greater than any other value. Values that arrive one at a time are inserted into short sorted shelves and
    removed from there when they leave. Many values at once are sorted once, and the window becomes a set of ranks.

    >>> import numpy as np, windrow as wr
    >>> from windrow.synopses import Ordered, Retention
    >>> window = Ordered(wr.median("speed"), Retention(3))
    >>> window.roll(np.arange(5), np.array([9.0, 2.0, 4.0, 3.0, 1.0]), every=1)
    array([9., 2., 4., 3., 3.])
    >>> window.rank(3.5), window.quantile(1.0)
    (2, 4.0)
    """

    retentions: ClassVar[frozenset[RetentionKind]] = frozenset({"count", "time"})
    exact: ClassVar[bool] = True
    deterministic: ClassVar[bool] = True
    source: ClassVar[str] = "On a design space for sliding windows (2011), section 4.3, quantiles"
    time: ClassVar[str] = "O(log R) per value and up to 256 moves; O(R/256) per answer, O(R) for the mode"
    space: ClassVar[str] = "2R values"
    error: ClassVar[str] = "none"
    version: ClassVar[int] = 1
    _shelves: Shelves | None
    example_aggregate: ClassVar[AggregateFunction] = Median("x")

    @classmethod
    def costs(cls, aggregate: AggregateFunction) -> Complexity | None:
        """Return the terms of its update, its query and its space."""
        query = ("one", "R") if isinstance(aggregate, Mode) else ("one", "log_R")
        return Complexity(("one", "log_R", "far"), query, ("one", "R"))

    def __init__(
        self,
        aggregate: AggregateFunction,
        retention: Retention,
        accuracy: Accuracy = EXACT,
        *,
        seed: int = 0,
        integral: bool = False,
        phi: float | None = None,
    ) -> None:
        obstacle = None if phi is not None else self.why_not(aggregate, retention, accuracy)
        if obstacle:
            raise UnsupportedError(f"{type(self).__name__} does not support {aggregate!r} over {retention}: {obstacle}")
        self.aggregate, self.retention, self.accuracy, self.seed = aggregate, retention, accuracy, seed
        self.integral = integral
        self.what = MODE if phi is None and isinstance(aggregate, Mode) else QUANTILE
        self.phi = check_phi(getattr(aggregate, "q", 0.5) if phi is None else phi)
        self.span = Span(int(retention.length), retention.kind == "time")
        self._begin(NONE, NONE, NEVER)

    @classmethod
    def why_not(cls, aggregate: AggregateFunction, retention: Retention, accuracy: Accuracy = EXACT) -> str | None:
        """Return why this synopsis does not apply: the aggregate is neither a quantile nor the mode."""
        if getattr(aggregate, "q", None) is None and not isinstance(aggregate, Mode):
            return f"it answers quantiles and the mode only, not {aggregate!r}"
        return None

    def update(self, on: Instants, x: Numbers) -> None:
        """Add the next values, in order."""
        keys, on = self._elements(on, x)
        if self._shelves is None or 8 * keys.size > self.size:
            self._replace(on, keys)
        else:
            self._roll_shelves(on, keys, self._due(NO_INSTANTS))

    def query(self) -> Any:
        """Return the quantile or the mode of the window, or None if it is empty."""
        if not self.size:
            return None
        if self.what == QUANTILE:
            return self.quantile(self.phi)
        return self._number(most_frequent(self._on_shelves()))

    def quantile(self, phi: float) -> Any:
        """Return the value of rank ⌈phi·N⌉ among the N in the window, or None if it is empty."""
        phi = check_phi(phi)
        return self._number(select(self._on_shelves(), place_of(phi, self.size))) if self.size else None

    def rank(self, value: float) -> int:
        """Return how many values in the window are at most `value`."""
        key = self._to_keys(np.array([value]))[0]
        return int(count_up_to(self._on_shelves(), key))

    def roll(self, on: Instants, x: Numbers, every: int) -> npt.NDArray[Any]:
        """Add values and return the answer after every `every`-th one."""
        check_every(every)
        return self._numbers(self._run(on, x, self._due(after_each(int(every), len(x)))).answers)

    def _answer_at(self, on: Instants, x: Any, ends: Instants, moments: Instants) -> pa.Array:
        due = self._run(on, x, self._due(ends, moments))
        self.newest = max(self.newest, int(moments.max(initial=NEVER)))
        return nullable(self._numbers(due.answers), due.sizes > 0)

    def _due(self, ends: Instants, moments: Instants = NO_INSTANTS) -> Due:
        return Due.make(ends, moments, np.empty(ends.size, np.int64))

    def _run(self, on: Instants, x: Any, due: Due) -> Due:
        """Add values and give the answers that are due, by ranks if there are many values."""
        keys, on = self._elements(on, x)
        if self.what == QUANTILE and 4 * keys.size >= max(self.size, 1024):
            self._roll_ranks(on, keys, due)
        else:
            self._roll_shelves(on, keys, due)
        return due

    @property
    def size(self) -> int:
        """The number of values in the window."""
        return self._tail - self._head

    @property
    def nbytes(self) -> int:
        """The memory used by the values and the shelves, in bytes."""
        return sum(array.nbytes for array in (self._keys, self._times, *(self._shelves or ())))

    def save(self) -> bytes:
        """Return the values as bytes; the shelves are refilled when needed."""
        live = slice(self._head, self._tail)
        times = self._times[live] if self.span.timed else NONE
        arrays = {"keys": self._keys[live], "times": times, "newest": np.array([self.newest])}
        return pack_arrays(type(self).__name__, self.version, self._arguments, arrays)

    def load(self, data: bytes) -> None:
        """Restore a state saved by a synopsis with the same arguments."""
        like = {"keys": NONE, "times": NONE, "newest": np.zeros(1, np.int64)}
        arrays = unpack_arrays(data, type(self).__name__, self.version, self._arguments, like)
        keys, times = arrays["keys"].size, arrays["times"].size
        check_that(times == (keys if self.span.timed else 0), f"an `on` for each of {keys} values, got {times}")
        if self.span.timed:
            check_that((np.diff(arrays["times"]) >= 0).all(), "values in the order of their `on`")
        else:
            check_that(keys <= self.span.length, f"at most {self.span.length} values, got {keys}")
        self._begin(arrays["keys"], arrays["times"], int(arrays["newest"][0]))

    @property
    def _arguments(self) -> dict[str, Any]:
        length, kind = int(self.retention.length), self.retention.kind
        return {"aggregate": repr(self.aggregate), "length": length, "kind": kind, "integral": self.integral}

    def _begin(self, keys: Ints, times: Ints, newest: int) -> None:
        self._keys, self._times, self.newest = keys, times, newest
        self._head, self._tail = 0, keys.size
        self._shelves = None

    def _elements(self, on: Instants, x: Numbers) -> tuple[Ints, Ints]:
        on, x = as_instants(on), np.asarray(x)
        check_elements(on, x, np.dtype(np.int64 if self.integral else np.float64))
        if self.span.timed:
            self.newest = check_order(on, self.newest)
        return self._to_keys(x), on

    def _to_keys(self, x: npt.NDArray[Any]) -> Ints:
        return np.ascontiguousarray(x, np.int64) if self.integral else to_keys(x.astype(np.float64))

    def _numbers(self, keys: Ints) -> npt.NDArray[Any]:
        return keys if self.integral else to_numbers(keys)

    def _number(self, key: int) -> Any:
        return self._numbers(np.array([key]))[0].item()

    def _replace(self, on: Ints, keys: Ints) -> None:
        """Add many values at once, writing only those that stay in the window."""
        if not keys.size:
            return
        gone = self._leaving(int(on[-1]), keys.size)
        self._head += gone
        if self.span.timed:
            stay = int(np.searchsorted(on, horizon(int(on[-1]), self.span.length), "right"))
        else:
            stay = max(0, keys.size - self.span.length)
        self._append(on[stay:], keys[stay:])
        self._shelves = None
        self._shrink()

    def _append(self, on: Ints, keys: Ints) -> None:
        """Write values after the newest one, moving to a larger buffer when full."""
        if self._tail + keys.size > self._keys.size:
            self._move(max(2 * (self.size + keys.size), LEAST_ROOM))
        new = slice(self._tail, self._tail + keys.size)
        self._keys[new] = keys
        if self.span.timed:
            self._times[new] = on
        self._tail += keys.size

    def _shrink(self) -> None:
        """Release room that is far more than this window needs."""
        if self._keys.size > 4 * self.size + LEAST_ROOM:
            self._move(2 * self.size)
        if self._shelves is not None and len(self._shelves.cells) > 8 * self.size // WIDTH + 16:
            self._shelves = None

    def _move(self, room: int) -> None:
        self._keys = _moved(self._keys, self._head, self._tail, room)
        if self.span.timed:
            self._times = _moved(self._times, self._head, self._tail, room)
        self._head, self._tail = 0, self.size

    def _leaving(self, now: int, more: int = 0) -> int:
        """Return how many values have left the window at `now`, after `more` have arrived."""
        if not self.span.timed:
            return min(self.size, max(0, self.size + more - self.span.length))
        return int(np.searchsorted(self._times[self._head : self._tail], horizon(now, self.span.length), "right"))

    def _expire(self, now: int) -> None:
        gone = self._leaving(now)
        if self._shelves is not None and 8 * gone > self.size:
            self._shelves = None
        if self._shelves is not None:
            take_off(self._shelves, self._keys[self._head : self._head + gone])
        self._head += gone
        self._shrink()

    def _on_shelves(self) -> Shelves:
        if self._shelves is None:
            self._shelves = shelve(np.sort(self._keys[self._head : self._tail]))
        return self._shelves

    def _roll_shelves(self, on: Ints, keys: Ints, due: Due) -> None:
        """Add values one by one."""
        shelves = self._on_shelves()
        self._append(on, keys)
        begin = self._tail - keys.size
        ends = np.array([self._head, begin])
        all_keys, times = self._keys[: self._tail], self._times[: self._tail]
        while True:
            roll_shelves(shelves, all_keys, times, self.span, ends, self.what, self.phi, due, begin)
            if ends[1] == self._tail:
                break
            shelves = with_room(shelves, SPARE + len(shelves.cells) // 2)
        self._shelves, self._head = shelves, int(ends[0])
        self._shrink()

    def _roll_ranks(self, on: Ints, keys: Ints, due: Due) -> None:
        """Add values in stretches about as long as the window, sorting each once."""
        held, times = self._keys[self._head : self._tail], self._times[self._head : self._tail]
        (older, places), at = sort_order(held), 0
        while at < keys.size:
            end = min(keys.size, at + max(held.size, STRETCH))
            begin, held = held.size, np.concatenate([held, keys[at:end]])
            times = np.concatenate([times, on[at:end]]) if self.span.timed else NONE
            ranked, (merged, rank) = np.empty(held.size, np.int64), np.empty((2, held.size), np.int32)
            merge_orders(older, places, *sort_order(keys[at:end]), ranked, merged, rank)
            head = roll_ranks(ranked, times, begin, rank, self.span.length, self.phi, due, at)
            older, places = still_there(ranked, merged, head)
            held, times, at = held[head:], times[head:], end
        self._begin(held.copy(), times.copy(), self.newest)


def _moved(buffer: Ints, head: int, tail: int, room: int) -> Ints:
    moved = np.empty(room, np.int64)
    moved[: tail - head] = buffer[head:tail]
    return moved


def check_phi(phi: float) -> float:
    """Return `phi` as a float; raise unless it is a number from 0 to 1."""
    if isinstance(phi, bool) or not isinstance(phi, int | float | np.number) or not 0 <= phi <= 1:
        raise SpecError(f"phi: expected a number from 0 to 1, got {phi!r}")
    return float(phi)
