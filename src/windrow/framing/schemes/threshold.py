"""Threshold frames: the episodes in which a predicate holds.

Defined in sections 3.2 and 5.2.1 of "Frames" (2016) and sections 3 to 5 of "Capturing episodes" (2012). The on/off
segmentation is that of "Framing systems II", extended to any minimum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import njit

from windrow.arrays import Array
from windrow.errors import SpecError, quoted
from windrow.framing.records import (
    DROPPED,
    PART,
    Batch,
    Groups,
    Records,
    assign,
    close_record,
    distance,
    extend_record,
    is_break,
    must_cut,
    open_record,
)
from windrow.framing.schemes.base import NULLS, Automaton, Closure, Property, Scheme
from windrow.framing.schemes.native import NativeRun
from windrow.framing.schemes.text import duration_option, text_option
from windrow.framing.theory.intervals import Label
from windrow.framing.theory.local import Stream
from windrow.framing.theory.local import distance as plain_distance
from windrow.framing.theory.local import length as plain_length
from windrow.predicates.parse import parse_predicate
from windrow.rows.checks import check_count, check_duration
from windrow.rows.clock import Clock
from windrow.rows.duration import Duration
from windrow.rows.text import as_integer

OFF, ON = 0, 1


@dataclass(frozen=True, repr=False)
class Threshold(Scheme):
    """Maximal runs of rows that satisfy a predicate.

    Parameters
    ----------
    predicate
        A Spark SQL condition such as `"speed < 40"`, or a Spark `Column`. It has Spark's semantics, in which NaN is
        greater than any number: `t > 80` holds for NaN, `t > 80 and not isnan(t)` does not. If it cannot be evaluated
        for a row (division by zero, overflow, text that is not a number), every plan fails with Spark's error, which
        `wr.failure` turns into a `DataError`. With `spark.sql.ansi.enabled` set to false, or with functions such as
        `try_divide` and `try_cast`, it is null for that row instead.
    min_count
        Drop runs with fewer rows.
    min_duration
        Drop runs with `end - start` below this.
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
    min_count: int = field(
        default=1, kw_only=True, metadata=text_option("drop runs of fewer rows", "N", parse=as_integer, typed=True)
    )
    min_duration: Duration | None = field(
        default=None,
        kw_only=True,
        metadata=duration_option("drop shorter runs", "3 minutes"),
    )
    close: Any = field(
        default=None, kw_only=True, metadata=text_option("stay open until this holds (hysteresis)", "PREDICATE")
    )
    segments: bool = field(default=False, kw_only=True, metadata=text_option("also the frames between", ""))
    nulls: str = field(default="false", kw_only=True, metadata=NULLS)

    source: ClassVar[str] = "Frames (2016), 3.2 and 5.2.1; Capturing episodes (2012); Framing systems II"
    closure: ClassVar[frozenset[Closure]] = frozenset({"union"})
    policies: ClassVar[tuple[str, ...]] = ("false", "skip", "break", "error")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_predicate(self.predicate, "predicate")
        if self.close is not None:
            check_predicate(self.close, "close")
        check_count(self.min_count, "min_count")
        check_duration(self.min_duration, "min_duration")
        if not isinstance(self.segments, bool):
            raise SpecError(f"segments: expected True or False, got {quoted(self.segments)}")

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
    def properties(self) -> frozenset[Property]:
        """Lemma 1 and propositions 1 and 2; with segments, every row is in exactly one frame."""
        if self.segments:
            return frozenset({"unique", "drained", "maximal", "covering", "partitioning"})
        always: set[Property] = {"unique", "drained", "maximal", "covering"}
        return frozenset(always if self.max_gap is not None else always | {"separated"})

    @property
    def is_run(self) -> bool:
        """Whether frames are plain episodes; hysteresis and segments look further back than one row."""
        return self.close is None and not self.segments

    def native_run(self, inputs: Mapping[str, str]) -> NativeRun:
        """Return the runs in which the predicate holds."""
        return NativeRun(hit=inputs["hit"], min_count=self.min_count, min_duration=self.min_duration)

    def local_condition(self, extent: Stream) -> Iterable[Label]:
        """Check that all rows satisfy the predicate or, with hysteresis, the first does and none satisfies `close`."""
        if self.close is None:
            holds = all(row.values["hit"] for row in extent)
        else:
            holds = extent[0].values["hit"] and not any(row.values["stop"] for row in extent)
        first, last = extent[0].on, extent[-1].on
        lasts = self.min_duration is None or plain_distance(last, first) >= plain_length(self.min_duration, last)
        if holds and lasts and len(extent) >= self.min_count:
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
        minimum = clock.at_least(self.min_duration, "min_duration")
        lasts = clock.reaches(records.end, records.start, minimum)
        sure: npt.NDArray[np.bool_] = lasts & (records.count >= self.min_count)
        return sure | (records.label[:, 0] == OFF) if self.segments else sure

    def bind(self, clock: Clock, types: Mapping[str, pa.DataType]) -> Automaton:
        """Return the kernel, with minimums in the clock's unit."""
        minimum = clock.at_least(self.min_duration, "min_duration")
        max_gap = clock.at_most(self.max_gap, "max_gap")
        step = _segments if self.segments else _episodes

        def kernel(
            batch: Batch, inputs: Mapping[str, Array], groups: Groups, records: Records, used: int, slots: Array
        ) -> int:
            stop = inputs.get("stop", _NO_STOP)
            return int(step(batch, inputs["hit"], stop, groups, records, used, slots, self.min_count, minimum, max_gap))

        return Automaton(kernel, width=2 if self.segments else 1, labels=1 if self.segments else 0)


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


@njit(cache=True)
def _stays(hit: Array, stop: Array, i: int) -> bool:
    """Return whether row `i` keeps an open frame open."""
    return not stop[i] if stop.size else hit[i]


@njit(cache=True)
def _opens(hit: Array, stop: Array, i: int) -> bool:
    """Return whether row `i` opens a frame."""
    return hit[i] and not (stop.size and stop[i])


@njit(cache=True)
def _qualifies(records: Records, k: int, min_count: int, min_duration: Any) -> bool:
    lasts = distance(records.end[k], records.start[k]) >= min_duration
    return records.count[k] >= min_count and lasts  # type: ignore[no-any-return]


@njit(cache=True)
def _episodes(
    batch: Batch, hit: Array, stop: Array, groups: Groups, records: Records, used: int, slots: Array,
    min_count: int, min_duration: Any, max_gap: Any,
) -> int:  # fmt: skip
    for i in range(batch.on.size):
        g, t = batch.group[i], batch.on[i]
        k = groups.open[g, 0]
        if k >= 0:
            if _stays(hit, stop, i) and not must_cut(batch, i, records.end[k], max_gap):
                extend_record(records, k, t)
                assign(slots, i, 0, k)
                continue
            if _qualifies(records, k, min_count, min_duration):
                close_record(groups, records, k, t)
            else:
                records.closed[k] = t
                records.status[k] = DROPPED
            groups.open[g, 0] = -1
        if _opens(hit, stop, i) and not is_break(batch, i):
            open_record(records, used, g, t)
            groups.open[g, 0] = used
            assign(slots, i, 0, used)
            used += 1
    return used


@njit(cache=True)
def _segments(
    batch: Batch, hit: Array, stop: Array, groups: Groups, records: Records, used: int, slots: Array,
    min_count: int, min_duration: Any, max_gap: Any,
) -> int:  # fmt: skip
    """Frame on and off segments: per group, an off record (column 0) and a run that may still qualify (column 1).

    When a run qualifies, the off record before it is closed. A run that ends too short becomes a part of the off
    record. Rows after it go to a new part, so the parts of a frame, in the order of their records, are in time order.
    """
    tail = groups.open[:, 0].copy()
    for i in range(batch.on.size):
        g, t = batch.group[i], batch.on[i]
        off, run = groups.open[g, 0], groups.open[g, 1]
        last = run if run >= 0 else off
        cut = last >= 0 and must_cut(batch, i, records.end[last], max_gap)
        if run >= 0 and (cut or not _stays(hit, stop, i)):
            if _qualifies(records, run, min_count, min_duration):
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
                    open_record(records, used, g, t)
                    records.label[used, 0] = ON
                    run = used
                    used += 1
                assign(slots, i, 0, run)
                if off >= 0 and _qualifies(records, run, min_count, min_duration):
                    close_record(groups, records, off, records.start[run])
                    off = -1
            elif off >= 0:
                extend_record(records, off, t)
                if tail[g] < 0:
                    open_record(records, used, g, t)
                    records.label[used, 0] = OFF
                    records.status[used] = PART
                    records.into[used] = off
                    tail[g] = used
                    used += 1
                assign(slots, i, 0, tail[g])
            else:
                open_record(records, used, g, t)
                records.label[used, 0] = OFF
                off = used
                tail[g] = used
                used += 1
                assign(slots, i, 0, off)
        groups.open[g, 0], groups.open[g, 1] = off, run
    return used
