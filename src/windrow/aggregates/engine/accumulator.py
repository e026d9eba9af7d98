"""Accumulating the states of one aggregate for many frames at once, in flat arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.base import AggregateFunction
from windrow.aggregates.engine.codes import encode, is_coded, no_codes
from windrow.aggregates.engine.compiled import Algebra, algebra_for
from windrow.aggregates.engine.states import States
from windrow.aggregates.engine.value_runs import TooManyValuesError, append, append_parts, check_lengths, no_runs
from windrow.aggregates.over_time.base import OverTime
from windrow.aggregates.over_time.carrying import ROW, open_parts, open_states
from windrow.aggregates.over_time.clock import Extents, TimeClock
from windrow.arrays import (
    ALL_VALID,
    Array,
    Values,
    as_type,
    dtype_of,
    is_instant,
    is_number,
    read_numbers,
    side_by_side,
)
from windrow.errors import DataError, TypeMismatchError, quoted

UNLIMITED = 2**62
ValueSource: TypeAlias = str | Callable[[pa.Table], pa.Array] | None
"""Where an input of an aggregate comes from: a column, by name, a condition over the table, or nothing."""


class LimitError(DataError):
    """A state that would keep more values than its limit; `state` is its number."""

    def __init__(self, message: str, state: int) -> None:
        super().__init__(message)
        self.state = state


@contextmanager
def naming(which: Callable[[int], str]) -> Iterator[None]:
    """Name the state in the error for too many values, with the text that `which` returns; "" adds nothing."""
    try:
        yield
    except LimitError as problem:
        name = which(problem.state)
        raise DataError(f"{problem}. It is {name}" if name else str(problem)) from None


def described(what: str, key: Sequence[Any], start: Any = None) -> str:
    """Describe a frame or window by its group and start, as far as these are known.

    >>> described("the frame", ("m4",), 60)
    "the frame of group 'm4' that starts at 60"
    """
    whose = f" of group {quoted(key[0] if len(key) == 1 else tuple(key))}" if key else ""
    where = "" if start is None else f" that starts at {start}"
    return f"{what}{whose}{where}"


class Accumulator:
    """One aggregate bound to the types of its columns.

    >>> import numpy as np, pyarrow as pa, windrow as wr
    >>> accumulator = Accumulator(wr.sum("volume"), pa.int32())
    >>> states = accumulator.empty(2)
    >>> slots = np.array([[0], [0], [1]])
    >>> accumulator.accumulate(states, slots, accumulator.read(pa.array([1, 2, None], pa.int32())))
    >>> accumulator.finish(states).to_pylist()
    [3, None]
    """

    def __init__(self, aggregate: AggregateFunction, *values: pa.DataType, clock: TimeClock | None = None) -> None:
        check_aggregated_type(aggregate, *values)
        if isinstance(aggregate, OverTime) and clock is not None:
            aggregate = aggregate.on_clock(clock)
        self.aggregate = aggregate
        is_ordered = aggregate.only_compares and is_coded(values[0])
        self.coding = None
        """The coding of states without values, if values are codes."""
        at = aggregate.value_at
        if is_ordered and (self._keeps_values or at is not None):
            zero = 0 if at is None else aggregate.zero_state(integral=True)[at]
            self.coding = no_codes(values[0], at, zero)
        self._counts_only = is_ordered and self.coding is None
        self.integral = aggregate.keeps_integers and (
            is_ordered or not any(pa.types.is_floating(kind) or pa.types.is_decimal(kind) for kind in values)
        )
        self.dtype = np.dtype(object if self._keeps_objects else np.int64 if self.integral else np.float64)
        self.result = aggregate.result_type(values[0])
        self._width = len(aggregate.zero_state(self.integral))
        self._algebra = algebra_for(aggregate, self.integral)
        if not aggregate.builtin:
            loops = (self._algebra.accumulate, self._algebra.merge, self._algebra.finish)
            self._algebra = Algebra(*(_named(aggregate, loop) for loop in loops))

    @classmethod
    def of(
        cls, aggregate: AggregateFunction, types: Mapping[str, pa.DataType], clock: TimeClock | None = None
    ) -> Accumulator:
        """Return the accumulator of an aggregate over a table with columns of these types, and `on` on this clock."""
        other = pa.int64() if aggregate.condition is None else pa.bool_()
        return cls(aggregate, *([types[name] for name in aggregate.columns] or [other]), clock=clock)

    def empty(self, n: int) -> States:
        """Return the states of `n` frames without values."""
        numbers = np.empty((n, self._width), self.dtype)
        if self._keeps_objects:
            for k in range(n):
                numbers[k, 0] = self.aggregate.zero_state(False)[0]
        else:
            numbers[:] = self.aggregate.zero_state(self.integral)
        aggregate = self.aggregate
        runs = None
        if self._keeps_values:
            runs = no_runs(n, self.dtype, aggregate.rank_error, aggregate.most_values or UNLIMITED)
        return States(np.zeros(n, np.int64), numbers, runs, self.aggregate.state, self.coding)

    def no_values(self) -> Values:
        """Return the values of no rows, as `read` returns them."""
        reads = 2 * ROW + 1 if self.carries else self.aggregate.reads
        numbers = np.empty((0, reads) if reads > 1 else 0, self.dtype)
        return Values(numbers, ALL_VALID, None if self.coding is None else self.coding.dictionary)

    def extended(self, states: States, n: int) -> States:
        """Return these states followed by empty ones, `n` in total; the given states must not be used again."""
        return states.joined(self.empty(n - len(states)))

    @property
    def carries(self) -> bool:
        """Whether the last value before a frame or window is carried into it."""
        return isinstance(self.aggregate, OverTime) and self.aggregate.carry

    @property
    def _keeps_values(self) -> bool:
        return self.aggregate.form == "values"

    @property
    def _keeps_objects(self) -> bool:
        return self.aggregate.form == "objects"

    def read(self, *columns: pa.Array | pa.ChunkedArray) -> Values:
        """Read a column, or several side by side, into numbers of the type of the aggregate's state, or into codes."""
        if self.coding is not None:
            return encode(columns[0], self.coding.kind)
        if self._counts_only:
            present = np.asarray(columns[0].is_valid()) if columns[0].null_count else ALL_VALID
            return Values(np.zeros(len(columns[0]), self.dtype), present)
        read = [read_numbers(column, self.dtype) for column in columns]
        if self.aggregate.condition is not None:
            # A null condition is false.
            return read[0]._replace(valid=ALL_VALID)
        return read[0] if len(read) == 1 else side_by_side(read)

    def with_on(self, values: Values, on: Array) -> Values:
        """Return values with the `on` of their rows, if the aggregate needs it."""
        return self.aggregate.with_on(values, on) if isinstance(self.aggregate, OverTime) else values

    def accumulate(self, states: States, slots: npt.NDArray[np.int64], values: Values) -> None:
        """Add each row's value, in row order, to the frames that contain the row: `slots[i]`, where -1 means none."""
        numbers = values.numbers if states.coding is None else states.codes_of(values)
        if states.runs is not None:
            with self._limited():
                states.runs = append(states.runs, states.seen, slots, numbers, values.valid)
        else:
            self._algebra.accumulate(states.seen, states.numbers, slots, numbers, values.valid)
            if self.carries:
                open_states(states.numbers, slots, numbers)

    def merge(self, states: States, into: npt.NDArray[np.int64], parts: npt.NDArray[np.int64]) -> None:
        """Append the state of each of `parts`, in order, to the state `into[part]` of its frame."""
        if states.runs is not None:
            with self._limited():
                states.runs = append_parts(states.runs, states.seen, into, parts)
        else:
            if self.carries:
                open_parts(states.numbers, into, parts)
            self._algebra.merge(states.seen, states.numbers, into, parts)

    def finish(self, states: States, extents: Extents | None = None) -> pa.Array:
        """Return the results of all states; aggregates over time need the extents of their frames."""
        if isinstance(self.aggregate, OverTime) and len(states):
            assert extents is not None
            states = replace(states, numbers=self.aggregate.within(states.numbers, extents))
        if self.integral:
            self.aggregate.check(states.numbers)
        if states.runs is not None:
            with self._limited():
                check_lengths(states.runs)
        short = self.aggregate.undefined(states.seen, states.numbers)
        enough = np.flatnonzero(~short)
        mask = short if short.any() else None
        if self._keeps_objects:
            results = np.empty(len(states), object)
            self._algebra.finish(states.numbers, states.runs, enough, results)
            return pa.array(results.tolist(), self.result)
        if self.aggregate.gives == "number":
            out = np.zeros(len(states), dtype_of(self.result))
            self._algebra.finish(states.numbers, states.runs, enough, out)
            return self._values(states, out, mask, self.result)
        return self._lists(states, enough, mask)

    @contextmanager
    def _limited(self) -> Iterator[None]:
        """Replace the error for too many values by one that names a remedy."""
        try:
            yield
        except TooManyValuesError as problem:
            aggregate = self.aggregate
            remedy = "pass max_values= if there is memory for more"
            if aggregate.ranks_suffice:
                remedy = f"pass eps=, e.g. eps=0.001, to keep a summary of bounded size, or {remedy}"
            raise LimitError(
                f"{aggregate!r}: a frame or window has more than {aggregate.most_values:,} distinct values of column "
                f"{aggregate.column!r}, and the aggregate stores all of them; {remedy}",
                problem.state,
            ) from None

    def _lists(self, states: States, rows: npt.NDArray[np.int64], mask: npt.NDArray[np.bool_] | None) -> pa.Array:
        """Return the results of some states as lists; the others are null."""
        counted = self.aggregate.gives == "counted list"
        kind = self.result.value_type.field("value").type if counted else self.result.value_type
        room = int(self.aggregate.longest_list(states.seen[rows]).sum())
        items = np.empty(room, dtype_of(kind))
        counts = np.empty(room if counted else 0, np.int64)
        lengths = np.zeros(len(states), np.int64)
        used = self._algebra.finish(states.numbers, states.runs, rows, items, counts, lengths)
        values = self._values(states, items[:used], None, kind)
        if counted:
            values = pa.StructArray.from_arrays([values, pa.array(counts[:used])], fields=list(self.result.value_type))
        ends = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
        nulls = None if mask is None else pa.array(mask)
        return pa.ListArray.from_arrays(ends, values, type=self.result, mask=nulls)

    def _values(
        self, states: States, numbers: Array, mask: npt.NDArray[np.bool_] | None, kind: pa.DataType
    ) -> pa.Array:
        """Return results of a type; if they are values that the states hold as codes, translate them."""
        if states.coding is None or kind != states.coding.kind:
            return as_type(pa.array(numbers, mask=mask), kind)
        return states.coding.decode(numbers, mask).cast(kind)


def _named(aggregate: AggregateFunction, function: Any) -> Any:
    """Wrap a function of a user-defined aggregate so that its failures name the aggregate."""

    def call(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except ArithmeticError as error:
            raise DataError(
                f"{aggregate!r}: a function failed on a value: {type(error).__name__}: {error}; check divisors in the "
                "function, or replace such values beforehand"
            ) from None

    return call


def read_values(
    accumulators: Sequence[Accumulator], sources: Sequence[ValueSource], table: pa.Table, on: Array
) -> list[Values]:
    """Read what each accumulator needs from a table; `sources` lists their inputs in order, None for no column."""
    left = iter(sources)
    read = []
    for accumulator in accumulators:
        chosen = [value_column(next(left), table) for _ in accumulator.aggregate.inputs]
        if chosen[0] is None:
            values = Values(np.zeros(len(table), accumulator.dtype), ALL_VALID)
        else:
            values = accumulator.read(*chosen)
        read.append(accumulator.with_on(values, on))
    return read


def value_column(source: ValueSource, table: pa.Table) -> pa.Array | pa.ChunkedArray | None:
    """Return an input of an aggregate: a column of the table, a condition evaluated over it, or None."""
    if source is None or isinstance(source, str):
        return None if source is None else table.column(source)
    return source(table)


def check_aggregated_type(aggregate: AggregateFunction, *values: pa.DataType) -> None:
    """Reject columns of types that the aggregate does not support."""
    if aggregate.form == "objects":
        return
    expected, tests = "a number", [is_number]
    if aggregate.accepts_instants:
        expected, tests = "a number, a timestamp or a date", [*tests, is_instant]
    if aggregate.only_compares:
        expected = "a number, a timestamp, a date, text, a binary value or a Boolean"
        tests += [is_coded, pa.types.is_boolean]
    for name, kind in zip(aggregate.columns, values, strict=bool(aggregate.columns)):
        if not any(accepts(kind) for accepts in tests):
            raise TypeMismatchError(f"{aggregate!r}: column {name!r} is of type {kind}; it must be {expected}")
