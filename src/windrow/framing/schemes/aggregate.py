"""Aggregate frames: a new frame whenever the frame's aggregate reaches a limit. "Frames" (2016), 3.2 and 5.2.4."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numba import njit

from windrow.aggregates import AggregateFunction
from windrow.aggregates.engine.accumulator import Accumulator
from windrow.aggregates.engine.compiled import add_value, finish_state, specialised, tag_for
from windrow.aggregates.text import as_aggregate
from windrow.arrays import Array
from windrow.errors import SpecError, quoted
from windrow.framing.records import Batch
from windrow.framing.schemes.base import Property, Scheme
from windrow.framing.schemes.delta import check_operator
from windrow.framing.schemes.rules.loop import BoundRule, RuleScheme, adds, begins, is_met, joins, judges
from windrow.framing.schemes.text import TextOption, as_comparison, text_option
from windrow.framing.theory.intervals import Label
from windrow.framing.theory.local import COMPARISONS, Stream
from windrow.rows.checks import check_limit
from windrow.rows.text import as_number


@dataclass(frozen=True, repr=False)
class Aggregate(RuleScheme):
    """Frames whose running aggregate stays within, or just reaches, a limit.

    Parameters
    ----------
    aggregate
        Any aggregate with a numeric result and a state of fixed size, such as `wr.sum("volume")`. User-defined
        aggregates are supported.
    op
        `"<"` and `"<="`: frames are maximal. The row that would break the condition opens the next frame; a row that
        breaks it by itself is in no frame. `">"` and `">="`: frames are minimal. The row that makes the condition true
        is the last row of the frame. For an aggregate that more rows can only lower, such as a minimum, `Threshold`
        finds the longest runs above a limit.
    limit
        The number that the aggregate is compared with. An undefined result neither breaks nor meets the condition.
    min_count, min_duration, max_count, max_duration, extent
        Limits on the rows and the length of a frame. A frame that misses a minimum is searched for further frames from
        its second row on; the row that would exceed a maximum opens the next frame. `extent="half-open"` measures
        `min_duration` up to the row that ends the frame.
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
        if self.aggregate.timed:
            raise SpecError(
                f"Aggregate: {self.aggregate!r} depends on where the frame ends; expected an aggregate of values, such "
                "as wr.sum('volume'), or max_duration= to limit the length of a frame"
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
        """The closure of delta frames if more rows can only raise the aggregate, as in a sum of non-negative values.

        If more rows can only lower it, `>` and `>=` hold for all parts of a frame. `<` and `<=` hold for all rows after
        a first row for which they hold, so a candidate is any interval from such a row: the union of two is another.
        """
        if self._falls:
            return self.closure_within_limits(frozenset({"union" if self.is_maximal else "sub-interval"}))
        if not self._rises or (self.is_cut and not self.is_maximal):
            return frozenset()
        return self.closure_within_limits(frozenset({"sub-interval" if self.is_maximal else "super-interval"}))

    @property
    def properties(self) -> frozenset[Property]:
        """Lemma 2, if more rows can only raise the aggregate; a cut starts a new stream.

        The operator decides between maximal and minimal frames, as in section 3.2, for all aggregates. If more rows can
        only lower the aggregate, `<` and `<=` have union closure, and lemma 1 applies: a frame from a row for which
        they hold ends only at a cut. `>` and `>=` have sub-interval closure, and the lemmas do not apply: lemma 2 would
        need maximal frames, which for a minimum are threshold frames. Minimal ones are single rows, up to the first row
        for which the condition fails.

        Minimal frames always partition the rows, because incomplete frames are reported as well.
        """
        always: set[Property] = {"maximal", "disjoint"}
        if not self.is_maximal:
            always = {"minimal", "disjoint", "covering", "drained", "partitioning"}
        by_lemma = self._rises or (self._falls and self.is_maximal)
        properties: set[Property] = always | {"unique", "drained", "covering"} if by_lemma else always
        return self.properties_within_limits(frozenset(properties))

    @property
    def _rises(self) -> bool:
        """Whether more rows can only raise the aggregate."""
        return self.aggregate.monotonic in ("always", "non-negative")

    @property
    def _falls(self) -> bool:
        """Whether more rows can only lower the aggregate, which is defined from the first row on."""
        return self.aggregate.monotonic == "falling" and self.aggregate.needs <= 1

    @property
    def attributes(self) -> tuple[str, ...]:
        """The columns of the aggregate."""
        return self.aggregate.columns

    def rule(self, types: Mapping[str, pa.DataType]) -> BoundRule:
        """Return the rule specialised for the aggregate, whose state is stored in the record."""
        names = self.aggregate.columns
        Accumulator.of(self.aggregate, types)
        # Schemes read their attributes as floats.
        accumulator = Accumulator.of(self.aggregate, dict.fromkeys(names, pa.float64()))
        zero = accumulator.empty(1).numbers[0]
        tag = tag_for(self.aggregate, accumulator.integral)

        def make(batch: Batch, inputs: Mapping[str, Array]) -> AggregateRule:
            values = batch.group
            if names:
                values = inputs[names[0]] if len(names) == 1 else np.column_stack([inputs[name] for name in names])
            return AggregateRule(tag, values, zero, self.aggregate.needs, self.limit, self.op in ("<", ">="))

        return BoundRule(
            make,
            memo=zero.size,
            memo_type=zero.dtype,
            specialise=partial(specialised, owner=type(self.aggregate)),
        )


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


class AggregateRule(NamedTuple):
    """The values of the rows, the empty state of the aggregate, and its limit, which is past itself if `inclusive`.

    The aggregate is undefined for fewer than `needs` rows.
    """

    tag: Any
    values: Array
    zero: Array
    needs: int
    limit: float
    inclusive: bool


@njit(cache=True)
def _reached(rule: Any, memo: Array, k: int, n: int) -> bool:
    """Return whether the aggregate of the `n` rows of frame `k` is past the limit."""
    if n < rule.needs:
        return False
    value = finish_state(rule.tag, memo, k)
    return value > rule.limit or (rule.inclusive and value == rule.limit)  # type: ignore[no-any-return]


@judges(begins, AggregateRule)
def _begins(rule: Any, memo: Any, label: Any, k: int, i: int, continues: bool) -> bool:
    for j in range(rule.zero.size):
        memo[k, j] = rule.zero[j]
    add_value(rule.tag, memo, k, rule.values[i])
    return not _reached(rule, memo, k, 1)


@judges(joins, AggregateRule)
def _joins(rule: Any, memo: Any, label: Any, k: int, i: int, n: int) -> bool:
    # If the row does not join, the frame ends, and its state is not needed any more.
    add_value(rule.tag, memo, k, rule.values[i])
    return not _reached(rule, memo, k, n)


@judges(adds, AggregateRule)
def _adds(rule: Any, memo: Any, label: Any, k: int, i: int) -> Any:
    return add_value(rule.tag, memo, k, rule.values[i])


@judges(is_met, AggregateRule)
def _is_met(rule: Any, memo: Any, label: Any, k: int, i: int, n: int) -> Any:
    return _reached(rule, memo, k, n)
