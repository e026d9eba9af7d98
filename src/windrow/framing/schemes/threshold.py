"""Threshold frames: the episodes in which a predicate holds.

Section 3.2 and 5.2.1 of "Frames" (2016), sections 3 to 5 of "Capturing episodes" (2012), and the on/off segmentation of
"Framing systems II", here for any minimum.
"""

from __future__ import annotations

from collections.abc import Mapping
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
from windrow.framing.schemes.base import Automaton, Closure, Property, Scheme
from windrow.predicates.parse import parse_predicate
from windrow.rows.checks import check_count, check_duration
from windrow.rows.clock import Clock
from windrow.rows.duration import Duration

OFF, ON = 0, 1


@dataclass(frozen=True, repr=False)
class Threshold(Scheme):
    """Maximal runs of tuples that satisfy a predicate.

    Parameters
    ----------
    predicate
        A condition in Spark SQL, such as `"speed < 40"`, or a Spark `Column`. It means what it means in Spark, to which
        NaN is greater than any number: `t > 80` holds for NaN, and `t > 80 and not isnan(t)` does not. Whatever the
        plan, a row that it cannot be computed for (a division by zero, an overflow, a text that is no number) ends the
        query with Spark's error, of which `wr.failure` makes a `DataError`. With `spark.sql.ansi.enabled` set to false,
        or by functions such as `try_divide` and `try_cast`, it is null there.
    min_count
        Runs of fewer tuples are no frames.
    min_duration
        Runs with `end - start` below this are no frames.
    close
        With it, a frame opens when `predicate` holds and stays open until `close` holds (hysteresis). A tuple for which
        `close` holds is in no frame.
    segments
        Partition the stream into on frames, the qualifying episodes, and off frames, everything between. A run that is
        too short is part of the off frame around it. The result then has a column `on`.
    max_gap
        Two tuples further apart are never in one frame.
    nulls
        What a predicate that is null (and not one of NaN) means: `"false"` (default), `"skip"` (the tuple takes no
        part), `"break"` or `"error"`.

    Examples
    --------
    >>> Threshold("speed < 40", min_duration="3 minutes")
    Threshold('speed < 40', min_duration='3 minutes')
    """

    predicate: Any
    min_count: int = field(default=1, kw_only=True)
    min_duration: Duration | None = field(default=None, kw_only=True)
    close: Any = field(default=None, kw_only=True)
    segments: bool = field(default=False, kw_only=True)
    nulls: str = field(default="false", kw_only=True)

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
        """What is sent to a task: Spark has evaluated a Column by then, and could not send it; its text is enough."""
        columns = {name: str(value) for name in ("predicate", "close") if _is_column(value := getattr(self, name))}
        return {**self.__dict__, **columns}

    @property
    def properties(self) -> frozenset[Property]:
        """Lemma 1 and propositions 1 and 2; segments cover every tuple once."""
        if self.segments:
            return frozenset({"unique", "drained", "maximal", "covering", "partitioning"})
        known: set[Property] = {"unique", "drained", "maximal", "covering"}
        return frozenset(known if self.max_gap is not None else known | {"separated"})

    @property
    def is_run(self) -> bool:
        """Plain episodes are runs; hysteresis and segments look back further."""
        return self.close is None and not self.segments

    @property
    def predicates(self) -> dict[str, Any]:
        """`hit`, and with hysteresis `stop`."""
        return {"hit": self.predicate} if self.close is None else {"hit": self.predicate, "stop": self.close}

    @property
    def extras(self) -> dict[str, pa.DataType]:
        """`on` tells the on segments from the off segments."""
        return {"on": pa.bool_()} if self.segments else {}

    def is_sure(self, records: Records, clock: Clock) -> npt.NDArray[np.bool_]:
        """Those that have reached the minimums already, and everything between episodes."""
        minimum = clock.at_least(self.min_duration, "min_duration")
        lasts = clock.reaches(records.end, records.start, minimum)
        sure: npt.NDArray[np.bool_] = lasts & (records.count >= self.min_count)
        return sure | (records.label[:, 0] == OFF) if self.segments else sure

    def bind(self, clock: Clock, types: Mapping[str, pa.DataType]) -> Automaton:
        """The kernel with its minimums in the clock's unit."""
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
    """Whether it is a column expression of Spark."""
    return type(predicate).__module__.startswith("pyspark.")


def check_predicate(predicate: Any, option: str) -> None:
    """Refuse what is neither a condition in SQL nor a column expression."""
    if isinstance(predicate, str):
        parse_predicate(predicate, option)
    elif not _is_column(predicate):
        raise SpecError(
            f"{option}: {quoted(predicate)} is neither a condition in SQL, such as 'speed < 40', nor a Spark Column"
        )


_NO_STOP = np.empty(0, np.bool_)


@njit(cache=True)
def _stays(hit: Array, stop: Array, i: int) -> bool:
    """Whether tuple `i` keeps an open frame open."""
    return not stop[i] if stop.size else hit[i]


@njit(cache=True)
def _opens(hit: Array, stop: Array, i: int) -> bool:
    """Whether tuple `i` opens a frame."""
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
    """Each group has an off record (column 0) and a run (column 1) of which it is not yet known whether it qualifies.

    Once a run qualifies, the off record before it is closed. A run that ends too short becomes part of the off
    record; the tuples after it go to a further part, so that the parts of a frame, in the order of their records, are
    in time order.
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
