"""Exact quantiles, ranks and the mode of a window: its elements in the order of time and in the order of their size."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates import AggregateFunction, Mode
from windrow.errors import SpecError, UnsupportedError
from windrow.state.checks import check_that
from windrow.synopses.base import EXACT, Accuracy, Instants, Numbers, Retention, RetentionKind, Synopsis
from windrow.synopses.checks import NEVER, as_instants, check_elements, check_every, check_order
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
"""How many elements at least get their ranks together."""
LEAST_ROOM = 64
NONE = NO_INSTANTS


class Ordered(Synopsis):
    """Keeps all elements twice, in the order of time and in the order of their size; tells quantiles and the mode.

    The quantile of `phi` is the value of rank ⌈phi·N⌉ among the N in the window; `phi` is the aggregate's `q` unless it
    is given. NaN is greater than any other value. Elements that come one at a time are put on short shelves, and those
    that leave are taken from there. Where many come at once, they are sorted once, and the window is a set of ranks.

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
    time: ClassVar[str] = "O(log R) an element and up to 256 moves; O(R/256) an answer, O(R) the mode"
    space: ClassVar[str] = "2R elements"
    error: ClassVar[str] = "none"
    version: ClassVar[int] = 1
    _shelves: Shelves | None

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
            raise UnsupportedError(f"{type(self).__name__} cannot keep {aggregate!r} over {retention}: {obstacle}")
        self.aggregate, self.retention, self.accuracy, self.seed = aggregate, retention, accuracy, seed
        self.integral = integral
        self.what = MODE if phi is None and isinstance(aggregate, Mode) else QUANTILE
        self.phi = check_phi(getattr(aggregate, "q", 0.5) if phi is None else phi)
        self.span = Span(int(retention.length), retention.kind == "time")
        self._begin(NONE, NONE, NEVER)

    @classmethod
    def why_not(cls, aggregate: AggregateFunction, retention: Retention, accuracy: Accuracy = EXACT) -> str | None:
        """Why this synopsis does not apply: the aggregate is neither a quantile nor the mode."""
        if getattr(aggregate, "q", None) is None and not isinstance(aggregate, Mode):
            return f"it tells quantiles and the mode, and {aggregate!r} is neither"
        return None

    def update(self, on: Instants, x: Numbers) -> None:
        """Take in the next elements, in order."""
        keys, on = self._elements(on, x)
        if self._shelves is None or 8 * keys.size > self.size:
            self._replace(on, keys)
        else:
            self._roll_shelves(on, keys, self._due(NO_INSTANTS))

    def query(self) -> Any:
        """The quantile, or the mode, of the elements in the window now; None if there are none."""
        if not self.size:
            return None
        if self.what == QUANTILE:
            return self.quantile(self.phi)
        return self._number(most_frequent(self._on_shelves()))

    def quantile(self, phi: float) -> Any:
        """The value of rank ⌈phi·N⌉ among the N in the window; None if there are none."""
        phi = check_phi(phi)
        return self._number(select(self._on_shelves(), place_of(phi, self.size))) if self.size else None

    def rank(self, value: float) -> int:
        """How many elements in the window are at most as large as a value."""
        key = self._to_keys(np.array([value]))[0]
        return int(count_up_to(self._on_shelves(), key))

    def roll(self, on: Instants, x: Numbers, every: int) -> npt.NDArray[Any]:
        """Take in elements and answer after each `every` of them."""
        check_every(every)
        return self._numbers(self._run(on, x, self._due(after_each(int(every), len(x)))).answers)

    def _answer_at(self, on: Instants, x: Any, ends: Instants, moments: Instants) -> pa.Array:
        due = self._run(on, x, self._due(ends, moments))
        self.newest = max(self.newest, int(moments.max(initial=NEVER)))
        return nullable(self._numbers(due.answers), due.sizes > 0)

    def _due(self, ends: Instants, moments: Instants = NO_INSTANTS) -> Due:
        return Due.make(ends, moments, np.empty(ends.size, np.int64))

    def _run(self, on: Instants, x: Any, due: Due) -> Due:
        """Take in elements and give the answers that are due, by ranks if there are many elements."""
        keys, on = self._elements(on, x)
        if self.what == QUANTILE and 4 * keys.size >= max(self.size, 1024):
            self._roll_ranks(on, keys, due)
        else:
            self._roll_shelves(on, keys, due)
        return due

    @property
    def size(self) -> int:
        """How many elements are in the window."""
        return self._tail - self._head

    @property
    def nbytes(self) -> int:
        """The memory that the elements and the shelves take."""
        return sum(array.nbytes for array in (self._keys, self._times, *(self._shelves or ())))

    def save(self) -> bytes:
        """The elements as bytes; the shelves are filled again when they are needed."""
        live = slice(self._head, self._tail)
        times = self._times[live] if self.span.timed else NONE
        arrays = {"keys": self._keys[live], "times": times, "newest": np.array([self.newest])}
        return pack_arrays(type(self).__name__, self.version, self._arguments, arrays)

    def load(self, data: bytes) -> None:
        """Go on from a state that was saved by a synopsis made with the same arguments."""
        like = {"keys": NONE, "times": NONE, "newest": np.zeros(1, np.int64)}
        arrays = unpack_arrays(data, type(self).__name__, self.version, self._arguments, like)
        keys, times = arrays["keys"].size, arrays["times"].size
        check_that(times == (keys if self.span.timed else 0), f"an `on` for each of {keys} elements, got {times}")
        if self.span.timed:
            check_that((np.diff(arrays["times"]) >= 0).all(), "elements in the order of their `on`")
        else:
            check_that(keys <= self.span.length, f"at most {self.span.length} elements, got {keys}")
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
        """Take in many elements at once; of those that come, only the ones that stay are written."""
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
        """Write elements behind the newest one; the buffer is moved to a larger one when it is full."""
        if self._tail + keys.size > self._keys.size:
            self._move(max(2 * (self.size + keys.size), LEAST_ROOM))
        new = slice(self._tail, self._tail + keys.size)
        self._keys[new] = keys
        if self.span.timed:
            self._times[new] = on
        self._tail += keys.size

    def _shrink(self) -> None:
        """Give back room that a window once needed, if it is far more than this one does."""
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
        """How many elements are no longer in the window at a moment, once so many more have come."""
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
        """Let elements come one by one."""
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
        """Let elements come in stretches about as long as the window, each sorted once."""
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
    """A share of all values, or a refusal."""
    if isinstance(phi, bool) or not isinstance(phi, int | float | np.number) or not 0 <= phi <= 1:
        raise SpecError(f"phi: {phi!r} is no share of all values; it must be a number from 0 to 1")
    return float(phi)
