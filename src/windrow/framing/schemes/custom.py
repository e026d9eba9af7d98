"""User-defined frames: the logical frame operator of "Frames" (2016), section 5.1, with the user's functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba.core.errors import NumbaError

from windrow.arrays import Array
from windrow.errors import DataError, SpecError, WindrowError, quoted
from windrow.framing.records import Batch, Groups, Records
from windrow.framing.schemes.base import FRAME_COLUMNS, MARKS, Automaton, Property, Scheme
from windrow.framing.schemes.fields import (
    ARROW,
    FieldValue,
    as_records,
    check_distinct_fields,
    check_fields,
    is_attribute,
    layout_of,
    numbers_of,
)
from windrow.framing.schemes.operator import Operator, Rule, VerdictError, check_rule, compile_operator
from windrow.framing.schemes.rules.limits import LimitedScheme
from windrow.rows.checks import check_attribute
from windrow.rows.clock import Clock

MOST_OPEN_FRAMES = 100


@dataclass(frozen=True, repr=False)
class Custom(LimitedScheme):
    """Frames by user-defined, compiled rules.

    For each row, in order: `close` decides for every open frame whether it stays open, is reported or is discarded.
    `update` decides for every frame that is still open whether the row joins it. Then, if fewer than `open_frames` are
    open, `open` decides whether the row starts a frame. Frames are handled in the order in which they opened, and
    numbered in that order. A frame that is still open when the stream ends is emitted with `complete` false.

    The functions take `(t, s)` or `(t, s, f)`. `t` has the columns as attributes, and the progressing attribute as
    `t.on`. `s` is the group's record and `f` the frame's own; the functions may change both. For `open`, `f` is the
    record of the frame that the row would start.

    Parameters
    ----------
    columns
        The numeric columns that the functions read.
    open, update
        Functions that numba can compile; they return a boolean. Without `update`, every row joins every open frame.
    close
        A function that returns a boolean, or 0 (stay open), 1 (report) or 2 (discard).
    state
        The fields of the group's record, with their initial values. A field is an integer, a boolean or a float, like
        its initial value.
    record
        The same for the record of each frame.
    labels
        Further fields of the frame's record, which become columns of the result, with the values that they have when
        the frame ends.
    open_frames
        How many frames of a group may be open at the same time, from 1 to 100.
    min_count, min_duration, max_count, max_duration, extent
        Limits on the rows and the length of a frame. A frame that misses a minimum is discarded. A row that would
        exceed a maximum cuts the frame, unless `close` closes it there; `update` is not called for it. Such a frame has
        `complete` false. `extent="half-open"` measures `min_duration` up to the row that ends the frame.
    max_gap, nulls
        As in `Boundary`. The group's record survives a cut.

    Examples
    --------
    A frame from each new record high until the value has fallen to half of that high:

    >>> def opens(t, s):
    ...     if t.x > s.high:
    ...         s.high = t.x
    ...         return True
    ...     return False
    >>> def closes(t, s):
    ...     return t.x <= s.high / 2
    >>> Custom(["x"], open=opens, close=closes, state={"high": 0.0})
    Custom(('x',), open=opens, close=closes, state={'high': 0.0})

    The paper's threshold frames with a minimum duration: a frame of fewer than three rows is discarded. A label holds
    the number of rows above 20:

    >>> def opens(t, s):
    ...     return t.x > 10
    >>> def updates(t, s, f):
    ...     f.rows += 1
    ...     f.extreme += t.x > 20
    ...     return True
    >>> def closes(t, s, f):
    ...     return 0 if t.x > 10 else 1 if f.rows >= 3 else 2
    >>> rules = {"open": opens, "update": updates, "close": closes}
    >>> Custom(["x"], **rules, record={"rows": 1}, labels={"extreme": 0})
    Custom(('x',), open=opens, close=closes, update=updates, record={'rows': 1}, labels={'extreme': 0})
    """

    columns: Sequence[str]
    open: Rule = field(kw_only=True)
    close: Rule = field(kw_only=True)
    update: Rule | None = field(default=None, kw_only=True)
    state: Mapping[str, FieldValue] = field(default_factory=dict, kw_only=True)
    record: Mapping[str, FieldValue] = field(default_factory=dict, kw_only=True)
    labels: Mapping[str, FieldValue] = field(default_factory=dict, kw_only=True)
    open_frames: int = field(default=1, kw_only=True)

    source: ClassVar[str] = "Frames (2016), 5.1"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_columns()
        for option in ("open", "close", "update"):
            rule = getattr(self, option)
            if rule is not None or option != "update":
                check_rule(rule, option)
        records = {name: check_fields(getattr(self, name), f"Custom: {name}") for name in ("state", "record", "labels")}
        check_distinct_fields("Custom", **records)
        for name in records["labels"]:
            if name in (*FRAME_COLUMNS, *MARKS):
                raise SpecError(f"Custom: labels: {name!r} is already a column of the result; choose another name")
        n = self.open_frames
        if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= MOST_OPEN_FRAMES:
            raise SpecError(f"open_frames: expected an integer from 1 to {MOST_OPEN_FRAMES}, got {quoted(n)}")
        object.__setattr__(self, "columns", tuple(self.columns))
        for name, checked in records.items():
            object.__setattr__(self, name, checked)

    def _check_columns(self) -> None:
        if not isinstance(self.columns, Sequence) or isinstance(self.columns, str | bytes):
            raise SpecError(f"Custom: columns: expected a list of names, got {quoted(self.columns)}")
        names = [name for name in self.columns if isinstance(name, str)]
        if len(set(names)) < len(names):
            raise SpecError(f"Custom: columns: duplicate name in {quoted(self.columns)}")
        for name in self.columns:
            if not is_attribute(check_attribute(name, "Custom")) or name == "on":
                raise SpecError(f"Custom: functions cannot read column {name!r} as an attribute; rename the column")

    @classmethod
    def examples(cls) -> tuple[Scheme, ...]:
        """Return a scheme of two functions, and one whose frames overlap."""

        def opens(t: Any, s: Any) -> bool:
            return bool(t.x > 9)

        def closes(t: Any, s: Any) -> bool:
            return bool(t.x < 5)

        def closes_below_start(t: Any, s: Any, f: Any) -> bool:
            return bool(t.x < f.lowest)

        overlapping = cls(["x"], open=opens, close=closes_below_start, labels={"lowest": 5.0}, open_frames=3)
        return (cls(["x"], open=opens, close=closes), overlapping)

    @property
    def properties(self) -> frozenset[Property]:
        """Only that no row is in two frames, if one frame is open at a time."""
        return frozenset({"disjoint"} if self.open_frames == 1 else ())

    def __hash__(self) -> int:
        records = (frozenset(each.items()) for each in (self.state, self.record, self.labels))
        rules = (self.open, self.close, self.update)
        return hash((type(self), self.columns, *rules, *records, self.open_frames, *self.limits_hash))

    def __repr__(self) -> str:
        rules = {"open": self.open, "close": self.close, "update": self.update}
        shown = [repr(self.columns)] + [f"{k}={getattr(v, '__name__', v)}" for k, v in rules.items() if v is not None]
        shown += [f"{name}={value!r}" for name in ("state", "record", "labels") if (value := getattr(self, name))]
        shown += [f"open_frames={self.open_frames}"] if self.open_frames > 1 else []
        for item in fields(LimitedScheme):
            value = getattr(self, item.name)
            if type(value) is not type(item.default) or value != item.default:
                shown.append(f"{item.name}={value!r}")
        return f"Custom({', '.join(shown)})"

    @property
    def attributes(self) -> tuple[str, ...]:
        """The columns that the functions read."""
        return tuple(self.columns)

    @property
    def extras(self) -> dict[str, pa.DataType]:
        """The labels, with the types of their starting values."""
        return {name: ARROW[type(value)] for name, value in self.labels.items()}

    @property
    def labels_change(self) -> bool:
        """Whether there are labels, which `update` may change."""
        return bool(self.labels)

    def is_sure(self, records: Records, clock: Clock) -> npt.NDArray[np.bool_]:
        """Return which open frames will be reported whatever follows.

        If `close` may discard a frame, none. With a minimum, those that meet it; if there are several open frames,
        none, because the number of a frame depends on whether those before it are reported.
        """
        if not self._operator(clock).reports_all or (self.has_minimum and self.open_frames > 1):
            return np.zeros(records.group.size, np.bool_)
        return super().is_sure(records, clock)

    def check(self, clock: Clock, types: Mapping[str, pa.DataType]) -> None:
        """Also compile the functions, over no rows, so that numba's errors surface before any job runs."""
        super().check(clock, types)
        automaton = self.bind(clock, types)
        none = np.empty(0, np.int64)
        memo = np.empty((0, automaton.group_memo.size), automaton.group_memo.dtype)
        groups = Groups(none, np.empty((0, automaton.width), np.int64), memo)
        batch = Batch(none, np.empty(0, clock.dtype), np.empty(0, np.bool_))
        records = Records.make(0, clock.dtype, automaton.labels, automaton.memo, automaton.memo_type)
        inputs = {name: np.empty(0) for name in self.columns}
        automaton.kernel(batch, inputs, groups, records, 0, np.empty((0, automaton.width), np.int64))

    def bind(self, clock: Clock, types: Mapping[str, pa.DataType]) -> Automaton:
        """Return the kernel with the user's functions compiled into it."""
        limits = self.limits_on(clock)
        row, operator = self._row(clock), self._operator(clock)
        own = {**self.record, **self.labels}
        fresh = numbers_of(own).view(np.int64)[: len(own)]
        number_open = operator.reports_all and self.open_frames > 1 and not self.has_minimum

        def kernel(
            batch: Batch, inputs: Mapping[str, Array], groups: Groups, records: Records, used: int, slots: Array
        ) -> int:
            rows = np.empty(batch.on.size, row)
            rows["on"] = batch.on
            for name in self.columns:
                rows[name] = inputs[name]
            states, frames = as_records(groups.memo, self.state), as_records(records.memo, own)
            with self._explained():
                used = operator.run(
                    batch, rows, states, frames, fresh, groups, records, used, slots, limits, number_open
                )
            records.label[:used] = records.memo[:used, len(self.record) :]
            return used

        return Automaton(
            kernel,
            width=self.open_frames,
            labels=len(self.labels),
            memo=len(own),
            memo_type=np.int64,
            group_memo=numbers_of(self.state),
        )

    def _row(self, clock: Clock) -> np.dtype[Any]:
        return np.dtype([("on", clock.dtype)] + [(name, np.float64) for name in self.columns])

    def _operator(self, clock: Clock) -> Operator:
        group, frame = layout_of(self.state), layout_of({**self.record, **self.labels})
        with self._explained():
            return compile_operator(self.open, self.update, self.close, self._row(clock), group, frame)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Raise errors of the functions as errors of the scheme."""
        try:
            yield
        except WindrowError:
            raise
        except NumbaError as error:
            reason = " ".join(str(error).split())
            raise SpecError(f"{self!r}: a function cannot be compiled: {reason[:300]}") from None
        except VerdictError:
            raise DataError(
                f"{self!r}: close: expected 0 (stay open), 1 (report) or 2 (discard), got another integer on some row"
            ) from None
        except (ArithmeticError, ValueError, IndexError) as error:
            raise DataError(
                f"{self!r}: a function failed on a row: {type(error).__name__}: {error}; check divisors in the "
                "function, or replace such values beforehand"
            ) from None
        except KeyError as name:
            raise SpecError(
                f"{self!r}: a function reads {name}, which is neither a column nor in the state or the record"
            ) from None
