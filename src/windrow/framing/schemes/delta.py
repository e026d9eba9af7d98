"""Delta frames: a new frame whenever an attribute has moved too far. Sections 3.2 and 5.2.3 of "Frames" (2016)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from numba import njit

from windrow.arrays import Array
from windrow.errors import SpecError, is_one_of, quoted
from windrow.framing.records import (
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
from windrow.framing.schemes.text import as_limits, text_option
from windrow.framing.theory.intervals import Label
from windrow.framing.theory.local import COMPARISONS, Stream
from windrow.framing.theory.local import distance as plain_distance
from windrow.rows.checks import check_attribute, check_limit
from windrow.rows.clock import Clock

OPERATORS = ("<", "<=", ">", ">=")


def check_operator(op: Any, scheme: str) -> None:
    """Reject anything but a comparison operator."""
    if not is_one_of(op, OPERATORS):
        raise SpecError(f"{scheme}: expected an operator ({', '.join(OPERATORS)}), got {quoted(op)}")


@dataclass(frozen=True, repr=False)
class Delta(Scheme):
    """Frames within which an attribute moves by at most, or by just over, a limit.

    Parameters
    ----------
    limits
        One limit per attribute. With several attributes, any of them ends the frame.
    op
        `"<="` (default) and `"<"`: frames are maximal. The row that would break the condition opens the next frame.
        `">"` and `">="`: frames are minimal. The row that makes the condition true is the last row of the frame.
    reference
        The quantity compared with the limit: `"range"` (default), the largest minus the smallest value of the frame, or
        `"first"`, the distance to the value of the frame's first row.
    max_gap, nulls
        As in `Boundary`.

    Examples
    --------
    >>> Delta({"dye": 0.05})
    Delta({'dye': 0.05})
    >>> Delta({"dye": 0.05}, op=">", reference="first")
    Delta({'dye': 0.05}, op='>', reference='first')
    """

    limits: Mapping[str, float] = field(
        metadata=text_option(
            "a new frame whenever a column moved by more", "LIMITS", "dye=0.05", parse=as_limits, sql="map('dye', 0.05)"
        )
    )
    op: str = field(
        default="<=", kw_only=True, metadata=text_option("how the movement is compared (default <=)", "{<,<=,>,>=}")
    )
    reference: str = field(
        default="range", kw_only=True, metadata=text_option("what moves (default range)", "{range,first}")
    )

    source: ClassVar[str] = "Frames (2016), 3.2 and 5.2.3"
    lemma: ClassVar[Literal[1, 2]] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.limits, Mapping) or not self.limits:
            raise SpecError(f"Delta expects one limit per column, e.g. {{'dye': 0.05}}; got {quoted(self.limits)}")
        check_operator(self.op, "Delta")
        if not is_one_of(self.reference, ("range", "first")):
            raise SpecError(f"reference: expected 'range' or 'first', got {quoted(self.reference)}")
        limits = {
            check_attribute(name, "Delta"): check_limit(limit, f"Delta: limit of {name!r}")
            for name, limit in self.limits.items()
        }
        for name, limit in limits.items():
            if limit < 0 or (limit == 0 and self.op == "<"):
                raise SpecError(f"Delta: limit of {name!r}: no frame can move by {self.op} {limit}")
        object.__setattr__(self, "limits", limits)

    def __hash__(self) -> int:
        return hash((type(self), frozenset(self.limits.items()), self.op, self.reference, self.max_gap, self.nulls))

    @classmethod
    def examples(cls) -> tuple[Scheme, ...]:
        """Return maximal and minimal frames, and distances to the first row."""
        return cls({"dye": 0.05}), cls({"dye": 0.05}, op=">"), cls({"dye": 0.05}, reference="first")

    def local_condition(self, extent: Stream) -> Iterable[Label]:
        """Compare the range, or the distance to the first row, with the limits: all must hold, or any if minimal."""
        outcomes = []
        for name, limit in self.limits.items():
            values = [row.values[name] for row in extent]
            references = values if self.reference == "range" else values[:1]
            distances = [plain_distance(max(a, b), min(a, b)) for a in references for b in values]
            outcomes.append(COMPARISONS[self.op](max(distances), limit))
        return [()] if (all(outcomes) if self.is_maximal else any(outcomes)) else []

    @property
    def is_maximal(self) -> bool:
        """Whether frames are maximal rather than minimal under the condition."""
        return self.op in ("<", "<=")

    @property
    def closure(self) -> frozenset[Any]:  # type: ignore[override]
        """Sub-intervals of a small range are small and super-intervals of a large one are large, unless cut.

        The distance to the first row has neither closure.
        """
        if self.reference == "first" or (self.is_cut and not self.is_maximal):
            return frozenset()
        return frozenset({"sub-interval" if self.is_maximal else "super-interval"})

    @property
    def properties(self) -> frozenset[Property]:
        """Lemma 2."""
        extreme: Property = "maximal" if self.is_maximal else "minimal"
        if self.reference == "first":
            return frozenset({"unique", "drained", "covering", "partitioning"})
        return frozenset({"unique", "drained", extreme, "covering", "partitioning"})

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes with a limit."""
        return tuple(self.limits)

    def bind(self, clock: Clock, types: Mapping[str, pa.DataType]) -> Automaton:
        """Return the kernel with its limits; a record stores the smallest and largest value, or the first one twice."""
        limits = np.array(list(self.limits.values()))
        max_gap = clock.at_most(self.max_gap, "max_gap")
        inclusive = self.op in ("<", ">=")

        def kernel(
            batch: Batch, inputs: Mapping[str, Array], groups: Groups, records: Records, used: int, slots: Array
        ) -> int:
            values = np.column_stack([inputs[name] for name in self.limits])
            return int(_delta(batch, values, groups, records, used, slots, limits, self.reference == "first",
                              self.is_maximal, inclusive, max_gap))  # fmt: skip

        return Automaton(kernel, memo=2 * len(limits))


@njit(cache=True)
def _moved_over(memo: Array, k: int, values: Array, i: int, limits: Array, inclusive: bool) -> bool:
    """Return whether frame `k`, with row `i` added, has moved past any of its limits."""
    for j in range(limits.size):
        low = min(memo[k, 2 * j], values[i, j])
        high = max(memo[k, 2 * j + 1], values[i, j])
        # The distance between equal infinities is 0, but their difference would be NaN.
        moved = 0.0 if high == low else high - low
        if moved > limits[j] or (inclusive and moved == limits[j]):
            return True
    return False


@njit(cache=True)
def _delta(
    batch: Batch, values: Array, groups: Groups, records: Records, used: int, slots: Array,
    limits: Array, from_first: bool, maximal: bool, inclusive: bool, max_gap: Any,
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
        if maximal and k >= 0 and _moved_over(records.memo, k, values, i, limits, inclusive):
            close_record(groups, records, k, t)
            k = -1
        if k < 0:
            k = used
            used += 1
            open_record(records, k, g, t)
            for j in range(limits.size):
                records.memo[k, 2 * j] = values[i, j]
                records.memo[k, 2 * j + 1] = values[i, j]
        else:
            extend_record(records, k, t)
        assign(slots, i, 0, k)
        if not maximal and _moved_over(records.memo, k, values, i, limits, inclusive):
            close_record(groups, records, k, t)
            k = -1
        elif not from_first:
            for j in range(limits.size):
                records.memo[k, 2 * j] = min(records.memo[k, 2 * j], values[i, j])
                records.memo[k, 2 * j + 1] = max(records.memo[k, 2 * j + 1], values[i, j])
        groups.open[g, 0] = k
    return used
