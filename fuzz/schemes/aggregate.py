"""Aggregate frames: a new frame whenever the frame's aggregate reaches a limit."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

import windrow as wr
from fuzz.definition import COMPARE, Definition, Frame, Length, Limits, Settled, Spec, Undecided, from_the_left
from fuzz.results import ANYTHING, Near, Overflow, aggregate, by_definition
from fuzz.schemes._options import COMMON, LIMITED, OPERATORS
from fuzz.tables import is_nan
from windrow.testing import example_aggregate

RUNNING = ("sum x", "sum x", "count", "min x", "max x", "mean x", "first x", "last x")
"""Aggregates whose frames are tested."""
COMPARABLE = [wr.covariance, wr.rank, wr.sum]
"""Two columns, options, and integers that stay integers; the tests compile two loops for each, the fuzzer all."""


class AggregateDefinition(Definition):
    """From each start, the longest frame whose running aggregate stays within the limit, or the shortest past it."""

    kind = wr.Aggregate

    def draw(self, rng: random.Random, length: Length, *, runs: bool) -> Spec:
        return Spec([rng.choice(RUNNING), rng.choice(OPERATORS), rng.choice((-1, 0, 1, 2, 3, 5, 9, 20))], {})

    def build(self, spec: Spec) -> wr.Scheme:
        return wr.Aggregate(aggregate(spec.args[0]), *spec.args[1:], **spec.options)

    def attributes(self, spec: Spec) -> list[str]:
        return [column for column in (spec.args[0].partition(" ")[2],) if column]

    def frames(self, spec: Spec, rows: Sequence[Settled], block: range, length: Any) -> list[Frame]:
        name, op, limit = spec.args
        column = name.partition(" ")[2]

        def holds(extent: range) -> bool | None:
            values = [{column: rows[i].values[0] if column else 0.0} for i in extent]
            try:
                result = by_definition(name, values)
            except Overflow:
                raise Undecided from None
            if result is ANYTHING:
                raise Undecided
            within = 0.0
            if isinstance(result, Near):
                result, within = result.value, result.within
            if result is None or is_nan(result):
                return None
            if within and abs(Fraction(result) - Fraction(limit)) <= 1000 * within:
                raise Undecided
            return bool(COMPARE[op](result, limit))

        return from_the_left(rows, block, holds, op in ("<", "<="), Limits(spec, rows, length))

    def strategy(self) -> st.SearchStrategy[wr.Scheme]:
        aggregates = st.sampled_from([wr.count(), *map(example_aggregate, COMPARABLE)])
        return st.builds(wr.Aggregate, aggregates, st.sampled_from(OPERATORS), st.integers(-2, 9), **COMMON, **LIMITED)

    def queries(self) -> dict[str, wr.Scheme]:
        return {
            "aggregate": wr.Aggregate(wr.sum("v"), ">", 25),
            "maximal aggregate": wr.Aggregate(wr.count(), "<=", 7, max_gap=3),
        }


DEFINITION = AggregateDefinition()
