"""Minimums and maximums of frames: how many rows a frame has, and how long it lasts.

A maximum ends a frame: the row that would exceed it opens the next one. A minimum is part of the condition (section 3.1
of "Frames", 2016). Maximal frames that miss it are discarded, minimal frames grow until they meet it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from windrow.errors import SpecError, is_one_of, quoted
from windrow.framing.records import Records, distance
from windrow.framing.schemes.base import Closure, Property, Scheme
from windrow.framing.schemes.native import NativeRun
from windrow.framing.schemes.text import duration_option, text_option
from windrow.jit import INLINED
from windrow.rows.checks import check_count, check_duration
from windrow.rows.clock import LARGEST, Clock
from windrow.rows.duration import Duration, parse_duration, to_clock
from windrow.rows.text import as_integer

EXTENTS = ("closed", "half-open")


@dataclass(frozen=True, repr=False)
class LimitedScheme(Scheme):
    """A scheme whose frames may have minimums and maximums."""

    min_count: int = field(
        default=1, kw_only=True, metadata=text_option("drop frames of fewer rows", "N", parse=as_integer, typed=True)
    )
    min_duration: Duration | None = field(
        default=None, kw_only=True, metadata=duration_option("drop shorter frames", "3 minutes")
    )
    max_count: int | None = field(
        default=None, kw_only=True, metadata=text_option("end frames at N rows", "N", parse=as_integer, typed=True)
    )
    max_duration: Duration | None = field(
        default=None, kw_only=True, metadata=duration_option("end frames before they last longer", "1 hour")
    )
    extent: str = field(
        default="closed",
        kw_only=True,
        metadata=text_option("whether the row after a frame counts as its end", "{closed,half-open}"),
    )

    drops_runs: ClassVar[bool] = False
    """Whether a frame that misses a minimum contains no frame that does not, so that it is dropped as a whole."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count(self.min_count, "min_count")
        check_duration(self.min_duration, "min_duration")
        check_duration(self.max_duration, "max_duration")
        if self.max_count is not None:
            check_count(self.max_count, "max_count")
            if self.min_count > self.max_count:
                raise SpecError(f"min_count: expected at most max_count={self.max_count}, got {self.min_count}")
        if not is_one_of(self.extent, EXTENTS):
            raise SpecError(f"extent: expected 'closed' or 'half-open', got {quoted(self.extent)}")

    @property
    def has_maximum(self) -> bool:
        """Whether a maximum can end a frame."""
        return self.max_count is not None or self.max_duration is not None

    @property
    def has_minimum(self) -> bool:
        """Whether a frame can be too short."""
        return self.min_count > 1 or self.min_duration is not None

    @property
    def needs_closing_row(self) -> bool:
        """Whether a minimum duration is measured up to the row that ends the frame."""
        return self.extent == "half-open" and self.min_duration is not None

    @property
    def limits_hash(self) -> tuple[Any, ...]:
        """What the limits add to the hash of a scheme."""
        return (self.min_count, self.min_duration, self.max_count, self.max_duration, self.extent)

    def closure_within_limits(self, closure: frozenset[Closure]) -> frozenset[Closure]:
        """Return what remains of a closure: parts of a frame may miss a minimum, larger frames exceed a maximum."""
        if self.has_minimum:
            closure -= {"sub-interval"}
        if self.has_minimum and self.extent == "half-open":
            closure -= {"union", "super-interval"}
        return closure - {"union", "super-interval"} if self.has_maximum else closure

    def properties_within_limits(self, properties: frozenset[Property]) -> frozenset[Property]:
        """Return what remains of the properties of a framing.

        Maximums cut frames from the left, and frames with minimums are searched for from the left. The result depends
        on where the stream starts, so the lemmas do not apply.
        """
        if self.has_maximum or (self.has_minimum and (self.extent == "half-open" or not self.drops_runs)):
            return properties & {"disjoint"}
        return properties - {"partitioning"} if self.has_minimum else properties

    def limited(self, run: NativeRun) -> NativeRun:
        """Return runs in Spark SQL with the scheme's limits."""
        return replace(
            run,
            min_count=self.min_count,
            min_duration=self.min_duration,
            max_count=self.max_count,
            half_open=self.extent == "half-open",
        )

    def limits_on(self, clock: Clock) -> Limits:
        """Return the limits in the clock's unit."""
        low, high = self.min_duration, self.max_duration
        if low is not None and high is not None:
            kind = clock.kind
            if to_clock(low, kind, "min_duration") > to_clock(high, kind, "max_duration"):
                raise SpecError(f"min_duration: expected at most max_duration={high!r}, got {low!r}")
        return Limits(
            clock.dtype.type(self.longest_gap(clock)),
            self.min_count,
            clock.dtype.type(clock.at_least(low, "min_duration")),
            LARGEST if self.max_count is None else self.max_count,
            clock.dtype.type(clock.at_most(high, "max_duration")),
            self.extent == "half-open",
        )

    def is_sure(self, records: Records, clock: Clock) -> npt.NDArray[np.bool_]:
        """Return which open frames already meet the minimums; minimal frames are reported in any case."""
        if not self.is_maximal:
            return super().is_sure(records, clock)
        lasts = clock.reaches(records.end, records.start, clock.at_least(self.min_duration, "min_duration"))
        return np.asarray(lasts & (records.count >= self.min_count))


def combined_limits(schemes: Sequence[LimitedScheme]) -> dict[str, Any]:
    """Return the limits that satisfy those of all schemes: the largest minimums, the smallest maximums and gap."""
    return {
        "max_gap": _chosen(schemes, "max_gap", min),
        "min_count": max(scheme.min_count for scheme in schemes),
        "min_duration": _chosen(schemes, "min_duration", max),
        "max_count": min((scheme.max_count for scheme in schemes if scheme.max_count is not None), default=None),
        "max_duration": _chosen(schemes, "max_duration", min),
        "extent": _extent(schemes),
    }


def _chosen(schemes: Sequence[LimitedScheme], option: str, choose: Callable[..., Any]) -> Duration | None:
    """Return the smallest or largest of the durations that the parts give for an option."""
    durations = [value for scheme in schemes if (value := getattr(scheme, option)) is not None]
    if len({isinstance(value, int | float) for value in durations}) > 1:
        listed = " and ".join(map(repr, durations))
        raise SpecError(f"{option}: expected durations of one kind in all parts, got {listed}")
    result: Duration | None = choose(durations, key=_length, default=None)
    return result


def _length(duration: Duration) -> int | float:
    return duration if isinstance(duration, int | float) else parse_duration(duration)


def _extent(schemes: Sequence[LimitedScheme]) -> str:
    """Return how the minimum duration is measured."""
    extents = sorted({scheme.extent for scheme in schemes if scheme.min_duration is not None})
    if len(extents) > 1:
        raise SpecError("extent: expected the same extent in all parts that have a min_duration, got both of them")
    return extents[0] if extents else "closed"


class Limits(NamedTuple):
    """The limits of a scheme as the kernels read them; without a limit, the largest or smallest number stands for it.

    If `half_open`, a frame lasts until the row that ends it, otherwise until its own last row.
    """

    max_gap: Any
    min_count: int
    min_duration: Any
    max_count: int
    max_duration: Any
    half_open: bool


@njit(cache=True, **INLINED)
def is_full(records: Records, k: int, t: Any, limits: Limits) -> bool:
    """Return whether frame `k` would exceed a maximum with a row at `t`."""
    too_long = distance(t, records.start[k]) > limits.max_duration
    return records.count[k] >= limits.max_count or too_long  # type: ignore[no-any-return]


@njit(cache=True, **INLINED)
def qualifies(records: Records, k: int, t: Any, limits: Limits) -> bool:
    """Return whether frame `k`, which ends because of what comes at `t`, meets the minimums."""
    last = t if limits.half_open else records.end[k]
    return records.count[k] >= limits.min_count and distance(last, records.start[k]) >= limits.min_duration  # type: ignore[no-any-return]
