"""Delta frames: a new frame whenever an attribute has moved too far. Sections 3.2 and 5.2.3 of "Frames" (2016)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numba import njit

from windrow.arrays import Array
from windrow.errors import SpecError, is_one_of, quoted
from windrow.framing.records import Batch
from windrow.framing.schemes.base import Property, Scheme
from windrow.framing.schemes.rules.distance import DISTANCES, DistanceRule, check_points, plain_points_apart, starts_of
from windrow.framing.schemes.rules.loop import BoundRule, RuleScheme, adds, begins, is_met, joins, judges
from windrow.framing.schemes.text import as_limits, text_option
from windrow.framing.theory.intervals import Label
from windrow.framing.theory.local import COMPARISONS, Stream
from windrow.framing.theory.local import distance as plain_distance
from windrow.jit import INLINED
from windrow.rows.checks import check_attribute, check_limit

OPERATORS = ("<", "<=", ">", ">=")


def check_operator(op: Any, scheme: str) -> None:
    """Reject anything but a comparison operator."""
    if not is_one_of(op, OPERATORS):
        raise SpecError(f"{scheme}: expected an operator ({', '.join(OPERATORS)}), got {quoted(op)}")


class _Default(str):
    """A text that was not given explicitly."""


_RANGE = _Default("range")


@dataclass(frozen=True, repr=False)
class Delta(RuleScheme):
    """Frames within which an attribute moves by at most, or by just over, a limit.

    Parameters
    ----------
    limits
        One limit per attribute. With several attributes, any of them ends the frame. With `distance`, one limit per
        point, given as a tuple of its columns.
    op
        `"<="` (default) and `"<"`: frames are maximal. The row that would break the condition opens the next frame.
        `">"` and `">="`: frames are minimal. The row that makes the condition true is the last row of the frame.
    reference
        The quantity compared with the limit: `"range"` (default), the largest minus the smallest value of the frame, or
        `"first"`, the distance to the value of the frame's first row. With `distance`, always `"first"`.
    distance
        Measure how far points are from the first one of the frame: `"euclidean"`, over any number of columns, or
        `"great_circle"`, between (longitude, latitude) in degrees, with the limit in metres, on a sphere with the mean
        radius of the earth. A null in any of the columns is a missing value.
    min_count, min_duration, max_count, max_duration, extent
        Limits on the rows and the length of a frame. A frame that misses a minimum is searched for further frames from
        its second row on; the row that would exceed a maximum opens the next frame. `extent="half-open"` measures
        `min_duration` up to the row that ends the frame.
    max_gap, nulls
        As in `Boundary`.

    Examples
    --------
    >>> Delta({"dye": 0.05})
    Delta({'dye': 0.05})
    >>> Delta({"dye": 0.05}, op=">", reference="first")
    Delta({'dye': 0.05}, op='>', reference='first')
    >>> Delta({("lon", "lat"): 200}, distance="great_circle", min_duration="10 minutes")
    Delta({('lon', 'lat'): 200.0}, min_duration='10 minutes', reference='first', distance='great_circle')
    """

    limits: Mapping[Any, float] = field(
        metadata=text_option(
            "a new frame whenever a column moved by more", "LIMITS", "dye=0.05", parse=as_limits, sql="map('dye', 0.05)"
        )
    )
    op: str = field(
        default="<=", kw_only=True, metadata=text_option("how the movement is compared (default <=)", "{<,<=,>,>=}")
    )
    reference: str = field(
        default=_RANGE, kw_only=True, metadata=text_option("what moves (default range)", "{range,first}")
    )
    distance: str | None = field(
        default=None,
        kw_only=True,
        metadata=text_option("how far points are from the first one", "{euclidean,great_circle}"),
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
        if self.distance is not None and not is_one_of(self.distance, DISTANCES):
            raise SpecError(f"distance: expected 'euclidean' or 'great_circle', got {quoted(self.distance)}")
        object.__setattr__(self, "reference", self._settled_reference())
        limits = {
            self._checked_name(name): check_limit(limit, f"Delta: limit of {quoted(name)}")
            for name, limit in self.limits.items()
        }
        for name, limit in limits.items():
            if limit < 0 or (limit == 0 and self.op == "<"):
                raise SpecError(f"Delta: limit of {name!r}: no frame can move by {self.op} {limit}")
        object.__setattr__(self, "limits", limits)

    def _settled_reference(self) -> str:
        """Return what is compared with the limits; distances are measured from the first row."""
        if self.distance is None:
            return _RANGE if self.reference == "range" else "first"
        if self.reference == "range" and not isinstance(self.reference, _Default):
            raise SpecError(f"reference: expected 'first' with distance={self.distance!r}, got 'range'")
        return "first"

    def _checked_name(self, name: Any) -> Any:
        """Return the column, or the columns of a point, that a limit is for."""
        if self.distance is not None:
            return check_points(name, self.distance)
        if isinstance(name, tuple):
            raise SpecError(f"Delta: limit of {quoted(name)}: a limit for several columns needs distance=")
        return check_attribute(name, "Delta")

    def __hash__(self) -> int:
        return hash(
            (
                type(self), frozenset(self.limits.items()), self.op, self.reference, self.distance, self.max_gap,
                self.nulls, *self.limits_hash,
            )
        )  # fmt: skip

    @classmethod
    def examples(cls) -> tuple[Scheme, ...]:
        """Return maximal and minimal frames, and distances to the first row."""
        return cls({"dye": 0.05}), cls({"dye": 0.05}, op=">"), cls({"dye": 0.05}, reference="first")

    def local_condition(self, extent: Stream) -> Iterable[Label]:
        """Compare the range, or the distance to the first row, with the limits: all must hold, or any if minimal."""
        outcomes = []
        for columns, limit in self.limits.items() if self.distance is not None else ():
            points = [[row.values[name] for name in columns] for row in extent]
            far = max(plain_points_apart(points[0], point, str(self.distance)) for point in points)
            outcomes.append(COMPARISONS[self.op](far, limit))
        for name, limit in self.limits.items() if self.distance is None else ():
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
        return self.closure_within_limits(frozenset({"sub-interval" if self.is_maximal else "super-interval"}))

    @property
    def properties(self) -> frozenset[Property]:
        """Lemma 2; its proof needs only the candidates from each start, so it includes distances to the first row."""
        extreme: Property = "maximal" if self.is_maximal else "minimal"
        always: set[Property] = {"unique", "drained", extreme, "covering", "disjoint", "partitioning"}
        return self.properties_within_limits(frozenset(always))

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes with a limit."""
        names = (name if isinstance(name, tuple) else (name,) for name in self.limits)
        return tuple(dict.fromkeys(column for columns in names for column in columns))

    def rule(self, types: Mapping[str, pa.DataType]) -> BoundRule:
        """Return the rule with its limits; a record stores two values per attribute: see `_note`."""
        limits = np.array(list(self.limits.values()))
        if self.distance is not None:
            return self._distance_rule(limits)

        def make(batch: Batch, inputs: Mapping[str, Array]) -> DeltaRule:
            values = np.column_stack([inputs[name] for name in self.limits])
            return DeltaRule(values, limits, self.reference == "first", self.op in ("<", ">="))

        return BoundRule(make, memo=2 * len(limits))

    def _distance_rule(self, limits: Array) -> BoundRule:
        """Return the rule over points; a record stores the first ones and how far the frame has been from them."""
        points = list(self.limits)
        begin = starts_of(points)

        def make(batch: Batch, inputs: Mapping[str, Array]) -> DistanceRule:
            values = np.column_stack([inputs[name] for columns in points for name in columns])
            return DistanceRule(values, begin, limits, self.distance == "great_circle", self.op in ("<", ">="))

        return BoundRule(make, memo=int(begin[-1]) + len(limits))


class DeltaRule(NamedTuple):
    """The attributes of the rows, and a limit for each, which is too far itself if `inclusive`."""

    values: Array
    limits: Array
    from_first: bool
    inclusive: bool


@njit(cache=True, **INLINED)
def _apart(a: float, b: float) -> float:
    """Return the distance between two values; it is 0 for equal infinities, whose difference would be NaN."""
    return 0.0 if a == b else abs(a - b)


@njit(cache=True, **INLINED)
def _moved_over(rule: DeltaRule, memo: Array, k: int, i: int) -> bool:
    """Return whether frame `k`, with row `i` added, has moved past any of its limits."""
    for j in range(rule.limits.size):
        value = rule.values[i, j]
        if rule.from_first:
            moved = max(_apart(memo[k, 2 * j], memo[k, 2 * j + 1]), _apart(memo[k, 2 * j], value))
        else:
            moved = _apart(min(memo[k, 2 * j], value), max(memo[k, 2 * j + 1], value))
        if moved > rule.limits[j] or (rule.inclusive and moved == rule.limits[j]):
            return True
    return False


@njit(cache=True, **INLINED)
def _note(rule: DeltaRule, memo: Array, k: int, i: int) -> None:
    """Take the values of row `i` into account: the range of frame `k`, or its first value and the one furthest off."""
    for j in range(rule.limits.size):
        value = rule.values[i, j]
        if not rule.from_first:
            memo[k, 2 * j] = min(memo[k, 2 * j], value)
            memo[k, 2 * j + 1] = max(memo[k, 2 * j + 1], value)
        elif _apart(memo[k, 2 * j], value) > _apart(memo[k, 2 * j], memo[k, 2 * j + 1]):
            memo[k, 2 * j + 1] = value


@judges(begins, DeltaRule)
def _begins(rule: Any, memo: Any, label: Any, k: int, i: int, continues: bool) -> bool:
    for j in range(rule.limits.size):
        memo[k, 2 * j] = rule.values[i, j]
        memo[k, 2 * j + 1] = rule.values[i, j]
    return True


@judges(joins, DeltaRule)
def _joins(rule: Any, memo: Any, label: Any, k: int, i: int, n: int) -> bool:
    if _moved_over(rule, memo, k, i):
        return False
    _note(rule, memo, k, i)
    return True


@judges(adds, DeltaRule)
def _adds(rule: Any, memo: Any, label: Any, k: int, i: int) -> Any:
    return _note(rule, memo, k, i)


@judges(is_met, DeltaRule)
def _is_met(rule: Any, memo: Any, label: Any, k: int, i: int, n: int) -> Any:
    return _moved_over(rule, memo, k, i)
