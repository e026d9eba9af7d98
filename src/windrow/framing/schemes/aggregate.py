"""Aggregate frames: a new frame whenever the frame's aggregate reaches a limit. "Frames" (2016), 3.2 and 5.2.4."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from numba import njit

from windrow.aggregates import AggregateFunction
from windrow.aggregates.engine.accumulator import Accumulator
from windrow.aggregates.engine.compiled import add_value, finish_state, specialised, tag_for
from windrow.aggregates.text import as_aggregate
from windrow.arrays import Array
from windrow.errors import SpecError, quoted
from windrow.framing.records import (
    DROPPED,
    Batch,
    Groups,
    Records,
    assign,
    close_record,
    extend_record,
    is_break,
    must_cut,
    open_record,
)
from windrow.framing.schemes.base import Automaton, Property, Scheme
from windrow.framing.schemes.delta import check_operator
from windrow.framing.schemes.text import TextOption, as_comparison, text_option
from windrow.framing.theory.intervals import Label
from windrow.framing.theory.local import COMPARISONS, Stream
from windrow.rows.checks import check_limit
from windrow.rows.clock import Clock
from windrow.rows.text import as_number


@dataclass(frozen=True, repr=False)
class Aggregate(Scheme):
    """Frames whose running aggregate stays within, or just reaches, a limit.

    Parameters
    ----------
    aggregate
        Any aggregate with a numeric result and a state of fixed size, such as `wr.sum("volume")`. User-defined
        aggregates are supported.
    op
        `"<"` and `"<="`: frames are maximal. The row that would break the condition opens the next frame; a row that
        breaks it by itself is in no frame. `">"` and `">="`: frames are minimal. The row that makes the condition true
        is the last row of the frame.
    limit
        The number that the aggregate is compared with. An undefined result neither breaks nor meets the condition.
    max_gap, nulls
        As in `Boundary`.

    Examples
    --------
    >>> import windrow as wr
    >>> wr.Aggregate(wr.sum("volume"), ">", 100)
    Aggregate(sum('volume'), '>', 100.0)
    """

    aggregate: AggregateFunction = field(
        metadata=text_option("an aggregate", example="sum(volume)", parse=as_aggregate)
    )
    op: str = field(metadata=text_option("how it is compared", example=">"))
    limit: float = field(
        metadata=text_option("what it is compared with", example="100", parse=as_number, sql="100", typed=True)
    )

    source: ClassVar[str] = "Frames (2016), 3.2 and 5.2.4"
    lemma: ClassVar[Literal[1, 2]] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.aggregate, AggregateFunction):
            raise SpecError(f"Aggregate expects an aggregate such as wr.sum('volume'), got {quoted(self.aggregate)}")
        if self.aggregate.form != "numbers" or self.aggregate.gives != "number":
            raise SpecError(
                f"Aggregate: {self.aggregate!r} cannot be compared with a limit row by row; expected an aggregate "
                "whose result is a number and whose state has a fixed size, such as wr.sum('volume')"
            )
        check_operator(self.op, "Aggregate")
        object.__setattr__(self, "limit", check_limit(self.limit, "Aggregate: limit"))

    @classmethod
    def main_option(cls) -> TextOption | None:
        """Return the comparison that the command line takes as one text."""
        return TextOption("a new frame by a running aggregate", "CONDITION", "sum(volume) > 100")

    @classmethod
    def parse_main(cls, text: str, option: str) -> dict[str, Any]:
        """Parse the comparison into aggregate, operator and limit."""
        return as_comparison(text, option)

    @classmethod
    def examples(cls) -> tuple[Scheme, ...]:
        """Return maximal and minimal frames."""
        volume = as_aggregate("sum(volume)", "aggregate")
        return cls(volume, "<=", 100), cls(volume, ">", 100)

    def local_condition(self, extent: Stream) -> Iterable[Label]:
        """Compare the aggregate with the limit; for maximal frames, the running aggregate must never be past it."""
        values = [tuple(row.values[name] for name in self.aggregate.columns) or (0.0,) for row in extent]
        running = [_plain_result(self.aggregate, values[: n + 1]) for n in range(len(values))]
        within = [result is None or COMPARISONS[self.op](result, self.limit) for result in running]
        return [()] if (all(within) if self.is_maximal else running[-1] is not None and within[-1]) else []

    @property
    def is_maximal(self) -> bool:
        """Whether frames are maximal rather than minimal under the condition."""
        return self.op in ("<", "<=")

    @property
    def closure(self) -> frozenset[Any]:  # type: ignore[override]
        """The closure of delta frames if more rows can only raise the aggregate, as in a sum of non-negative values."""
        if self.aggregate.monotonic == "never" or (self.is_cut and not self.is_maximal):
            return frozenset()
        return frozenset({"sub-interval" if self.is_maximal else "super-interval"})

    @property
    def properties(self) -> frozenset[Property]:
        """Lemma 2, if more rows can only raise the aggregate; a cut starts a new stream."""
        if self.aggregate.monotonic == "never":
            return frozenset()
        extreme: Property = "maximal" if self.is_maximal else "minimal"
        return frozenset({"unique", "drained", extreme, "covering"})

    @property
    def attributes(self) -> tuple[str, ...]:
        """The columns of the aggregate."""
        return self.aggregate.columns

    def bind(self, clock: Clock, types: Mapping[str, pa.DataType]) -> Automaton:
        """Return the kernel specialised for the aggregate, whose state is stored in the record."""
        names = self.aggregate.columns
        Accumulator.of(self.aggregate, types)
        # Schemes read their attributes as floats.
        accumulator = Accumulator.of(self.aggregate, dict.fromkeys(names, pa.float64()))
        zero = accumulator.empty(1).numbers[0]
        step, tag = specialised(_aggregate, type(self.aggregate)), tag_for(self.aggregate, accumulator.integral)
        max_gap = clock.at_most(self.max_gap, "max_gap")
        inclusive = self.op in ("<", ">=")

        def kernel(
            batch: Batch, inputs: Mapping[str, Array], groups: Groups, records: Records, used: int, slots: Array
        ) -> int:
            values = batch.group
            if names:
                values = inputs[names[0]] if len(names) == 1 else np.column_stack([inputs[name] for name in names])
            return int(step(tag, batch, values, groups, records, used, slots, zero, self.aggregate.needs, self.limit,
                            self.is_maximal, inclusive, max_gap))  # fmt: skip

        return Automaton(kernel, memo=zero.size, memo_type=zero.dtype)


def _plain_result(aggregate: AggregateFunction, values: Sequence[tuple[float, ...]]) -> float | None:
    """Return the aggregate of some rows by its own uncompiled functions, or None if it is undefined."""
    if len(values) < aggregate.needs:
        return None
    kind, options = type(aggregate), aggregate.last_arguments(integral=False)
    state = aggregate.zero_state(False)
    for value in values:
        state = kind.add(state, *value, *options)
    result: float = kind.finish(state, *options)
    return None if math.isnan(result) else result


@njit(cache=True)
def _reached(tag: Any, memo: Array, k: int, enough: bool, limit: float, inclusive: bool) -> bool:
    """Return whether the aggregate of frame `k` is past the limit."""
    if not enough:
        return False
    value = finish_state(tag, memo, k)
    return value > limit or (inclusive and value == limit)


@njit(cache=True)
def _aggregate(
    tag: Any, batch: Batch, values: Array, groups: Groups, records: Records, used: int, slots: Array,
    zero: Array, needs: int, limit: float, maximal: bool, inclusive: bool, max_gap: Any,
) -> int:  # fmt: skip
    for i in range(batch.on.size):
        g, t = batch.group[i], batch.on[i]
        k = groups.open[g, 0]
        if k >= 0 and must_cut(batch, i, records.end[k], max_gap):
            records.complete[k] = maximal
            close_record(groups, records, k, t)
            k = -1
        if is_break(batch, i):
            groups.open[g, 0] = -1
            continue
        if k >= 0:
            add_value(tag, records.memo, k, values[i])
            if maximal and _reached(tag, records.memo, k, records.count[k] + 1 >= needs, limit, inclusive):
                close_record(groups, records, k, t)
                k = -1
            else:
                extend_record(records, k, t)
        if k < 0:
            k = used
            used += 1
            open_record(records, k, g, t)
            records.memo[k] = zero
            add_value(tag, records.memo, k, values[i])
        assign(slots, i, 0, k)
        if _reached(tag, records.memo, k, records.count[k] >= needs, limit, inclusive):
            if maximal:
                records.status[k] = DROPPED
            else:
                close_record(groups, records, k, t)
            k = -1
        groups.open[g, 0] = k
    return used
