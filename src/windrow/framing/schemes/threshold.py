"""Threshold frames: the episodes in which a predicate holds.

Defined in sections 3.2 and 5.2.1 of "Frames" (2016) and sections 3 to 5 of "Capturing episodes" (2012). The on/off
segmentation is that of "Framing systems II", extended to any minimum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import njit

from windrow.arrays import Array
from windrow.errors import SpecError, quoted
from windrow.framing.records import (
    PART,
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
from windrow.framing.schemes.base import NULLS, Automaton, Closure, Property, Scheme
from windrow.framing.schemes.native import NativeRun
from windrow.framing.schemes.rules.limits import Limits, qualifies
from windrow.framing.schemes.rules.loop import BoundRule, RuleScheme, begins, joins, judges
from windrow.framing.schemes.text import text_option
from windrow.framing.theory.intervals import Label
from windrow.framing.theory.local import Stream
from windrow.jit import INLINED
from windrow.predicates.parse import parse_predicate
from windrow.rows.clock import Clock

OFF, ON = 0, 1


@dataclass(frozen=True, repr=False)
class Threshold(RuleScheme):
    """Maximal runs of rows that satisfy a predicate.

    Parameters
    ----------
    predicate
        A Spark SQL condition such as `"speed < 40"`, or a Spark `Column`. It has Spark's semantics, in which NaN is
        greater than any number: `t > 80` holds for NaN, `t > 80 and not isnan(t)` does not. If it cannot be evaluated
        for a row (division by zero, overflow, text that is not a number), every plan fails with Spark's error, which
        `wr.failure` turns into a `DataError`. With `spark.sql.ansi.enabled` set to false, or with functions such as
        `try_divide` and `try_cast`, it is null for that row instead.
    min_count, min_duration, max_count, max_duration, extent
        Limits on the rows and the length of a frame. Runs that miss a minimum are dropped; the row that would exceed a
        maximum opens the next frame. `extent="half-open"` measures `min_duration` up to the row that ends the frame.
    close
        Add hysteresis: a frame opens when `predicate` holds and stays open until `close` holds. Rows for which `close`
        holds are in no frame.
    segments
        Partition the stream into on frames, the qualifying episodes, and off frames, everything between them. A run
        that is too short is part of the off frame around it. The result has an additional column `active`.
    max_gap
        Two rows further apart are never in the same frame.
    nulls
        How to treat a null predicate: `"false"` (default), `"skip"` (the row takes no part in framing), `"break"` or
        `"error"`. A comparison with NaN is not null.

    Examples
    --------
    >>> Threshold("speed < 40", min_duration="3 minutes")
    Threshold('speed < 40', min_duration='3 minutes')
    """

    predicate: Any = field(metadata=text_option("runs of rows that satisfy a condition", "PREDICATE", "speed < 40"))
    close: Any = field(
        default=None, kw_only=True, metadata=text_option("stay open until this holds (hysteresis)", "PREDICATE")
    )
    segments: bool = field(default=False, kw_only=True, metadata=text_option("also the frames between", ""))
    nulls: str = field(default="false", kw_only=True, metadata=NULLS)

    source: ClassVar[str] = "Frames (2016), 3.2 and 5.2.1; Capturing episodes (2012); Framing systems II"
    drops_runs: ClassVar[bool] = True
    policies: ClassVar[tuple[str, ...]] = ("false", "skip", "break", "error")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_predicate(self.predicate, "predicate")
        if self.close is not None:
            check_predicate(self.close, "close")
        if not isinstance(self.segments, bool):
            raise SpecError(f"segments: expected True or False, got {quoted(self.segments)}")
        if self.segments and self.has_maximum:
            name = "max_count" if self.max_duration is None else "max_duration"
            raise SpecError(f"{name}: expected None with segments=True, got {quoted(getattr(self, name))}")

    def __getstate__(self) -> dict[str, Any]:
        """Replace Columns by their text: they cannot be pickled, and Spark evaluates them before tasks start."""
        columns = {name: str(value) for name in ("predicate", "close") if _is_column(value := getattr(self, name))}
        return {**self.__dict__, **columns}

    @classmethod
    def examples(cls) -> tuple[Scheme, ...]:
        """Return plain episodes, hysteresis and segments."""
        slow = "speed < 40"
        return cls(slow), cls(slow, close="speed > 50"), cls(slow, segments=True)

    @property
    def closure(self) -> frozenset[Closure]:  # type: ignore[override]
        """The union of overlapping episodes is an episode; without hysteresis, so is any part of one."""
        is_plain = self.close is None and not self.segments
        return self.closure_within_limits(frozenset({"union", "sub-interval"} if is_plain else {"union"}))

    @property
    def properties(self) -> frozenset[Property]:
        """Lemma 1 and propositions 1 and 2; with segments, every row is in exactly one frame."""
        always: set[Property] = {"unique", "drained", "maximal", "covering", "disjoint"}
        if self.segments:
            return frozenset({"disjoint"} if self.needs_closing_row else always | {"partitioning"})
        apart: set[Property] = set() if self.max_gap is not None else {"separated"}
        return self.properties_within_limits(frozenset(always | apart))

    @property
    def is_run(self) -> bool:
        """Whether frames are plain episodes; hysteresis and segments look further back than one row."""
        return self.close is None and not self.segments and self.is_cut_in_sql

    def native_run(self, inputs: Mapping[str, str]) -> NativeRun:
        """Return the runs in which the predicate holds."""
        return NativeRun(hit=inputs["hit"])

    def local_condition(self, extent: Stream) -> Iterable[Label]:
        """Check that all rows satisfy the predicate or, with hysteresis, the first does and none satisfies `close`."""
        if self.close is None:
            holds = all(row.values["hit"] for row in extent)
        else:
            holds = extent[0].values["hit"] and not any(row.values["stop"] for row in extent)
        if holds:
            yield (ON,) if self.segments else ()

    @property
    def outside_label(self) -> Label | None:
        """The label of off segments."""
        return (OFF,) if self.segments else None

    @property
    def predicates(self) -> dict[str, Any]:
        """`hit`, and with hysteresis also `stop`."""
        return {"hit": self.predicate} if self.close is None else {"hit": self.predicate, "stop": self.close}

    @property
    def extras(self) -> dict[str, pa.DataType]:
        """`active`: true for on segments, false for off segments."""
        return {"active": pa.bool_()} if self.segments else {}

    def is_sure(self, records: Records, clock: Clock) -> npt.NDArray[np.bool_]:
        """Return which open frames already meet the minimums; off frames always do."""
        sure = super().is_sure(records, clock)
        return sure | (records.label[:, 0] == OFF) if self.segments else sure

    def rule(self, types: Mapping[str, pa.DataType]) -> BoundRule:
        """Return the rule over the predicates."""
        return BoundRule(lambda _, inputs: ThresholdRule(inputs["hit"], inputs.get("stop", _NO_STOP)))

    def bind(self, clock: Clock, types: Mapping[str, pa.DataType]) -> Automaton:
        """Return the loop over the rule or, with segments, a kernel of its own."""
        if not self.segments:
            return super().bind(clock, types)
        limits = self.limits_on(clock)

        def kernel(
            batch: Batch, inputs: Mapping[str, Array], groups: Groups, records: Records, used: int, slots: Array
        ) -> int:
            stop = inputs.get("stop", _NO_STOP)
            return int(_segments(batch, inputs["hit"], stop, groups, records, used, slots, limits))

        return Automaton(kernel, width=2, labels=1)


def _is_column(predicate: Any) -> bool:
    """Return whether the predicate is a Spark column expression."""
    return type(predicate).__module__.startswith("pyspark.")


def check_predicate(predicate: Any, option: str) -> None:
    """Reject a predicate that is neither a SQL condition nor a Spark column expression."""
    if isinstance(predicate, str):
        parse_predicate(predicate, option)
    elif not _is_column(predicate):
        raise SpecError(
            f"{option}: expected a SQL condition such as 'speed < 40' or a Spark Column, got {quoted(predicate)}"
        )


_NO_STOP = np.empty(0, np.bool_)


@njit(cache=True, **INLINED)
def _stays(hit: Array, stop: Array, i: int) -> bool:
    """Return whether row `i` keeps an open frame open."""
    return not stop[i] if stop.size else hit[i]


@njit(cache=True, **INLINED)
def _opens(hit: Array, stop: Array, i: int) -> bool:
    """Return whether row `i` opens a frame."""
    return hit[i] and not (stop.size and stop[i])


class ThresholdRule(NamedTuple):
    """Which rows satisfy the predicate and, with hysteresis, which ones end a frame (otherwise empty)."""

    hit: Array
    stop: Array


@judges(begins, ThresholdRule)
def _begins(rule: Any, memo: Any, label: Any, k: int, i: int, continues: bool) -> bool:
    if continues and _stays(rule.hit, rule.stop, i):
        # If the row is held and read again, it still opens the frame.
        rule.hit[i] = True
    return bool(_opens(rule.hit, rule.stop, i))


@judges(joins, ThresholdRule)
def _joins(rule: Any, memo: Any, label: Any, k: int, i: int, n: int) -> Any:
    return bool(_stays(rule.hit, rule.stop, i))


@njit(cache=True, **INLINED)
def _open_segment(records: Records, k: int, g: int, t: Any, label: int) -> None:
    """Start record `k` with a row of an on or an off segment."""
    open_record(records, k, g, t)
    records.label[k, 0] = label


@njit(cache=True)
def _segments(
    batch: Batch, hit: Array, stop: Array, groups: Groups, records: Records, used: int, slots: Array, limits: Limits
) -> int:
    """Frame on and off segments: per group, an off record (column 0) and a run that may still qualify (column 1).

    When a run qualifies, the off record before it is closed. A run that ends too short becomes a part of the off
    record. Rows after it go to a new part, so the parts of a frame, in the order of their records, are in time order.
    """
    tail = groups.open[:, 0].copy()
    for i in range(batch.on.size):
        g, t = batch.group[i], batch.on[i]
        off, run = groups.open[g, 0], groups.open[g, 1]
        last = run if run >= 0 else off
        cut = last >= 0 and must_cut(batch, i, records.end[last], limits.max_gap)
        if run >= 0 and (cut or not _stays(hit, stop, i)):
            if qualifies(records, run, t, limits):
                if off >= 0:
                    close_record(groups, records, off, records.start[run])
                    off = -1
                close_record(groups, records, run, t)
            elif off >= 0:
                records.status[run] = PART
                records.into[run] = off
                records.end[off] = records.end[run]
                records.count[off] += records.count[run]
                tail[g] = -1
            else:
                records.label[run, 0] = OFF
                off = run
                tail[g] = run
            run = -1
        if cut and off >= 0:
            close_record(groups, records, off, t)
            off = -1
        if not is_break(batch, i):
            if run >= 0 or _opens(hit, stop, i):
                if run >= 0:
                    extend_record(records, run, t)
                else:
                    _open_segment(records, used, g, t, ON)
                    run = used
                    used += 1
                assign(slots, i, 0, run)
                if off >= 0 and qualifies(records, run, t, limits):
                    close_record(groups, records, off, records.start[run])
                    off = -1
            elif off >= 0:
                extend_record(records, off, t)
                if tail[g] < 0:
                    _open_segment(records, used, g, t, OFF)
                    records.status[used] = PART
                    records.into[used] = off
                    tail[g] = used
                    used += 1
                assign(slots, i, 0, tail[g])
            else:
                _open_segment(records, used, g, t, OFF)
                off = used
                tail[g] = used
                used += 1
                assign(slots, i, 0, off)
        groups.open[g, 0], groups.open[g, 1] = off, run
    return used
