"""Support for your own tests: a check of the contract of aggregates, and the theory of frames by brute force."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from windrow.aggregates import AggregateFunction
from windrow.aggregates.engine.accumulator import Accumulator
from windrow.aggregates.engine.states import States
from windrow.errors import SpecError, quoted
from windrow.framing.theory.framings import framing, framing_properties

__all__ = ["check_aggregate", "example_aggregate", "framing", "framing_properties"]

Row: TypeAlias = tuple[float, ...]
VALUES = (3.0, -1.0, 0.0, 3.0, 7.5, -1.0, 2.0, 11.0, 3.0, -4.25)
"""The default values for checks: with repetitions, negative numbers and fractions.

The first and the last differ, so that a result such as `first` or `last` depends on the order."""


def check_aggregate(
    aggregate: AggregateFunction, values: Sequence[float] | Sequence[Row] = VALUES, *, tolerance: float = 1e-9
) -> None:
    """Check that an aggregate fulfils its contract, and raise an `AssertionError` that names the violation if not.

    The aggregate must compile, and agree with its `definition` if it has one. For every split of the values into parts,
    merging the states of the parts must give the same result as adding all values. `zero` must be neutral, `merge`
    associative, and `remove`, if defined, must undo `add`. The result may depend on order and repetitions, and may rise
    or fall with more values, only as the class declares.

    Parameters
    ----------
    aggregate
        An aggregate, such as `Range("speed")`.
    values
        Values to try, or rows of values for an aggregate of several columns.
    tolerance
        The relative difference allowed between results that were computed in different orders.

    Examples
    --------
    >>> import windrow as wr
    >>> from windrow.testing import check_aggregate
    >>> class Total(wr.AggregateFunction):
    ...     @staticmethod
    ...     def zero():
    ...         return (0.0,)
    ...
    ...     @staticmethod
    ...     def add(s, x):
    ...         return (s[0] + x,)
    ...
    ...     @staticmethod
    ...     def merge(a, b):
    ...         return (max(a[0], b[0]),)
    ...
    ...     @staticmethod
    ...     def finish(s):
    ...         return s[0]
    >>> check_aggregate(Total("speed"))
    Traceback (most recent call last):
    ...
    AssertionError: total('speed'): merge: values split at 1 give 20.25, but adding all of...
    """
    if not isinstance(aggregate, AggregateFunction):
        raise SpecError(f"aggregate: expected an aggregate such as Range('speed'), got {quoted(aggregate)}")
    rows = _rows(aggregate, values)
    contract = _Contract(aggregate, rows, tolerance)
    contract.compiles()
    contract.state_survives()
    contract.agrees_with_definition()
    contract.parts_give_the_whole()
    contract.merge_is_associative()
    contract.remove_undoes_add()
    contract.order_and_repetition_are_as_declared()
    contract.rises_as_declared()


def example_aggregate(
    kind: type[AggregateFunction], column: str = "x", other: str = "y", **options: Any
) -> AggregateFunction:
    """Return the example that an aggregate declares, over these columns and with some options changed.

    >>> import windrow as wr
    >>> example_aggregate(wr.quantile, "speed", eps=0.01)
    quantile('speed', 0.3, eps=0.01)
    """
    return replace(kind.example(column, other), **options)


def _rows(aggregate: AggregateFunction, values: Sequence[Any]) -> list[Row]:
    rows = [tuple(value) if isinstance(value, tuple | list) else (value,) for value in values]
    if aggregate.reads > 1 and rows and len(rows[0]) == 1:
        # The other columns consist of the same values in a different order.
        rows = [
            tuple(rows[(i * step) % len(rows)][0] for step in (1, 3, 7)[: aggregate.reads]) for i in range(len(rows))
        ]
    if any(len(row) != aggregate.reads for row in rows) or len(rows) < 2:
        raise SpecError(
            f"values: expected at least two values of {aggregate.reads} number(s) each, one per column that "
            f"{aggregate!r} reads; got {quoted(list(values))}"
        )
    return rows


class _Contract:
    """The contract, checked for one aggregate."""

    def __init__(self, aggregate: AggregateFunction, rows: list[Row], tolerance: float) -> None:
        self.aggregate, self.rows, self.tolerance = aggregate, rows, tolerance

    def compiles(self) -> None:
        """Check that its functions compile, and that they run on no value and on one."""
        try:
            self.accumulator = Accumulator(self.aggregate, *[pa.float64()] * self.aggregate.reads)
            self._merged([[], self.rows[:1]])
        except Exception as error:
            self._refuse(f"does not compile: {' '.join(str(error).split())[:300]}")

    def state_survives(self) -> None:
        """Check that a state gives the same result after a round trip through Arrow."""
        for n in range(len(self.rows) + 1):
            states = self._states([self.rows[:n]])
            before = self.accumulator.finish(states)[0].as_py()
            try:
                after = self.accumulator.finish(self.accumulator.empty(0).read("", pa.table(states.columns(""))))[
                    0
                ].as_py()
            except (pa.ArrowException, TypeError) as error:
                self._refuse(f"state: the state of {n} value(s) does not fit the type {self.aggregate.state}: {error}")
            self._demand(
                self._alike(before, after),
                f"state: {n} value(s) give {before!r}, but {after!r} after a round trip through Arrow",
            )

    def agrees_with_definition(self) -> None:
        """Check the results of the first values, however many, against the definition in plain Python."""
        if type(self.aggregate).definition is AggregateFunction.definition:
            return
        for n in range(max(self.aggregate.needs, 1), len(self.rows) + 1):
            result = self._result([self.rows[:n]])
            defined = self.aggregate.definition(*map(list, zip(*self.rows[:n], strict=True)))
            self._demand(
                self._alike(result, defined),
                f"definition: {n} value(s) give {result!r}, but {defined!r} by definition",
            )

    def parts_give_the_whole(self) -> None:
        """Check every split into two parts, including empty parts."""
        whole = self._result([self.rows])
        for at in range(len(self.rows) + 1):
            merged = self._result([self.rows[:at], self.rows[at:]])
            self._demand(
                self._alike(merged, whole),
                f"merge: values split at {at} give {merged!r}, but adding all of them gives {whole!r}; "
                "merge must return the state of both parts' values, and zero must be neutral",
            )

    def merge_is_associative(self) -> None:
        """Check three parts, merged from either end."""
        third = max(1, len(self.rows) // 3)
        parts = [self.rows[:third], self.rows[third : 2 * third], self.rows[2 * third :]]
        left = self._result(parts)
        accumulator = self.accumulator
        states = self._states(parts)
        accumulator.merge(states, np.array([0, 1, 1]), np.array([2]))
        accumulator.merge(states, np.array([0, 0, 1]), np.array([1]))
        right = accumulator.finish(states)[0].as_py()
        self._demand(
            self._alike(left, right),
            f"merge is not associative: merge(merge(a, b), c) gives {left!r}, merge(a, merge(b, c)) gives {right!r}",
        )

    def remove_undoes_add(self) -> None:
        """Check that adding a value and removing it restores the state."""
        kind = type(self.aggregate)
        if kind.remove is None:
            return
        options = self.aggregate.last_arguments(integral=False)
        state = self.aggregate.zero_state(False)
        state = state[0] if self.aggregate.form == "objects" else state
        for row in self.rows:
            after = kind.remove(kind.add(state, *row, *options), *row, *options)
            self._demand(
                self._alike(list(after), list(state)) if isinstance(state, tuple) else self._alike(after, state),
                f"remove does not undo add: the state {state!r}, with {row!r} added and removed, is {after!r}",
            )
            state = kind.add(state, *row, *options)

    def order_and_repetition_are_as_declared(self) -> None:
        """Check the values reversed, rotated by one in either direction, and each twice."""
        whole, aggregate = self._result([self.rows]), self.aggregate
        orders = {
            "backwards": self.rows[::-1],
            "with the first one moved to the end": [*self.rows[1:], self.rows[0]],
            "with the last one moved to the beginning": [self.rows[-1], *self.rows[:-1]],
        }
        for order, rows in orders.items():
            reordered = self._result([rows])
            self._demand(
                aggregate.order_sensitive or self._alike(whole, reordered),
                f"the same values {order} give {reordered!r}, not {whole!r}: declare order_sensitive = True",
            )
        twice = self._result([[row for row in self.rows for _ in range(2)]])
        self._demand(
            aggregate.duplicate_sensitive or self._alike(whole, twice),
            f"each value twice gives {twice!r}, not {whole!r}: declare duplicate_sensitive = True",
        )

    def rises_as_declared(self) -> None:
        """Check that one more value never lowers a result that is declared monotonic, or raises a falling one."""
        monotonic = self.aggregate.monotonic
        if monotonic == "never":
            return
        rows = [tuple(map(abs, row)) for row in self.rows] if monotonic == "non-negative" else self.rows
        results = [self._result([rows[: n + 1]]) for n in range(len(rows))]
        values = [result for result in results if result is not None]
        falling = monotonic == "falling"
        change = "rises" if falling else "falls"
        for n, (before, after) in enumerate(pairwise(values)):
            self._demand(
                (after <= before if falling else after >= before) or self._alike(before, after),
                f"it is declared monotonic={monotonic!r}, but {change} from {before!r} to {after!r} with value {n + 2}",
            )

    def _states(self, parts: Sequence[Sequence[Row]]) -> States:
        """Compute one state per part, with the compiled functions."""
        accumulator, states = self.accumulator, self.accumulator.empty(len(parts))
        rows = [row for part in parts for row in part]
        slots = np.array([k for k, part in enumerate(parts) for _ in part], np.int64).reshape(-1, 1)
        kind = None if self.aggregate.form == "objects" else pa.float64()
        columns = [pa.array([row[i] for row in rows], kind) for i in range(self.aggregate.reads)]
        accumulator.accumulate(states, slots, accumulator.read(*columns))
        return states

    def _merged(self, parts: Sequence[Sequence[Row]]) -> States:
        states = self._states(parts)
        self.accumulator.merge(states, np.zeros(len(parts), np.int64), np.arange(1, len(parts)))
        return states

    def _result(self, parts: Sequence[Sequence[Row]]) -> Any:
        return self.accumulator.finish(self._merged(parts))[0].as_py()

    def _alike(self, a: Any, b: Any) -> bool:
        if isinstance(a, list) and isinstance(b, list):
            return len(a) == len(b) and all(map(self._alike, a, b))
        if isinstance(a, dict) and isinstance(b, dict):
            return all(self._alike(a[name], b[name]) for name in a)
        if a is None or b is None:
            return a is b
        if not isinstance(a, int | float) or not isinstance(b, int | float):
            return bool(a == b)
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return math.isclose(a, b, rel_tol=self.tolerance, abs_tol=self.tolerance)

    def _demand(self, holds: bool, otherwise: str) -> None:
        if not holds:
            self._refuse(otherwise)

    def _refuse(self, why: str) -> None:
        raise AssertionError(f"{self.aggregate!r}: {why}")
