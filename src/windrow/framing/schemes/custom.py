"""User-defined frames: the logical frame operator of "Frames" (2016), section 5.1, with the user's functions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numba import njit
from numba.core.errors import NumbaError

from windrow.arrays import Array
from windrow.errors import DataError, SpecError, quoted
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
from windrow.framing.schemes.base import Automaton, Scheme
from windrow.rows.checks import check_attribute
from windrow.rows.clock import Clock

Rule = Callable[[Any, Any], bool]


@dataclass(frozen=True, repr=False)
class Custom(Scheme):
    """Frames by user-defined, compiled rules.

    For each row, in order: if a frame is open and `close(t, s)` holds, the frame is emitted. If it is still open and
    `update(t, s)` holds, the row joins it. If none is open and `open(t, s)` holds, the row starts a frame. `t` has the
    columns as attributes, and the progressing attribute as `t.on`; `s` is the group's state record, which the functions
    may change. A frame that is still open when the stream ends is emitted with `complete` false.

    Parameters
    ----------
    columns
        The numeric columns that the functions read.
    state
        The fields of the state record, with their initial values.
    open, update, close
        Functions `(t, s) -> bool` that numba can compile. Without `update`, every row joins an open frame.
    max_gap, nulls
        As in `Boundary`. The state record survives a cut.

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
    """

    columns: Sequence[str]
    open: Rule = field(kw_only=True)
    close: Rule = field(kw_only=True)
    update: Rule | None = field(default=None, kw_only=True)
    state: Mapping[str, float] = field(default_factory=dict, kw_only=True)

    source: ClassVar[str] = "Frames (2016), 5.1"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.columns, Sequence) or isinstance(self.columns, str | bytes):
            raise SpecError(f"Custom: columns: expected a list of names, got {quoted(self.columns)}")
        names = [name for name in self.columns if isinstance(name, str)]
        if len(set(names)) < len(names):
            raise SpecError(f"Custom: columns: duplicate name in {quoted(self.columns)}")
        for option in ("open", "close", "update"):
            rule = getattr(self, option)
            if not callable(rule) and not (option == "update" and rule is None):
                raise SpecError(f"Custom: {option}: expected a function of a row and a state, got {quoted(rule)}")
        if not isinstance(self.state, Mapping):
            raise SpecError(
                f"Custom: state: expected initial values by field, e.g. {{'high': 0.0}}; got {quoted(self.state)}"
            )
        state = {}
        for name, value in self.state.items():
            if not isinstance(name, str) or not name.isidentifier():
                raise SpecError(f"Custom: state: expected an identifier as the name of a field, got {quoted(name)}")
            is_number = not isinstance(value, bool) and isinstance(value, int | float)
            if not is_number or value != value or (isinstance(value, int) and abs(value) > sys.float_info.max):
                raise SpecError(f"Custom: state: expected a number for field {name!r}, got {quoted(value)}")
            state[name] = float(value)
        for name in self.columns:
            if not check_attribute(name, "Custom").isidentifier() or name == "on":
                raise SpecError(f"Custom: functions cannot read column {name!r} as an attribute; rename the column")
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "state", state)

    @classmethod
    def examples(cls) -> tuple[Scheme, ...]:
        """Return a scheme of two functions."""

        def opens(t: Any, s: Any) -> bool:
            return bool(t.x > 9)

        def closes(t: Any, s: Any) -> bool:
            return bool(t.x < 5)

        return (cls(["x"], open=opens, close=closes),)

    def __hash__(self) -> int:
        return hash((type(self), self.columns, self.open, self.close, self.update, frozenset(self.state.items())))

    def __repr__(self) -> str:
        rules = {"open": self.open, "close": self.close, "update": self.update}
        shown = [repr(self.columns)] + [f"{k}={getattr(v, '__name__', v)}" for k, v in rules.items() if v is not None]
        shown += [f"state={self.state!r}"] if self.state else []
        shown += [f"max_gap={self.max_gap!r}"] if self.max_gap is not None else []
        return f"Custom({', '.join(shown + ([f'nulls={self.nulls!r}'] if self.nulls != 'skip' else []))})"

    @property
    def attributes(self) -> tuple[str, ...]:
        """The columns that the functions read."""
        return tuple(self.columns)

    def check(self, clock: Clock, types: Mapping[str, pa.DataType]) -> None:
        """Also compile the functions, over no rows, so that numba's errors surface before any job runs."""
        super().check(clock, types)
        automaton = self.bind(clock, types)
        none = np.empty(0, np.int64)
        groups = Groups(none, np.empty((0, 1), np.int64), np.empty((0, automaton.group_memo.size)))
        batch = Batch(none, np.empty(0, clock.dtype), np.empty(0, np.bool_))
        records = Records.make(0, clock.dtype, 0, 0, np.float64)
        automaton.kernel(
            batch, {name: np.empty(0) for name in self.columns}, groups, records, 0, np.empty((0, 1), np.int64)
        )

    def bind(self, clock: Clock, types: Mapping[str, pa.DataType]) -> Automaton:
        """Return the kernel with the user's functions compiled into it."""
        max_gap = clock.at_most(self.max_gap, "max_gap")
        row = np.dtype([("on", clock.dtype)] + [(name, np.float64) for name in self.columns])
        # numba does not support records without fields; the user never sees the spare field.
        names = list(self.state) or ["_"]
        record = np.dtype([(name, np.float64) for name in names])
        step = compile_rules(self.open, self.update, self.close)

        def kernel(
            batch: Batch, inputs: Mapping[str, Array], groups: Groups, records: Records, used: int, slots: Array
        ) -> int:
            rows = np.empty(batch.on.size, row)
            rows["on"] = batch.on
            for name in self.columns:
                rows[name] = inputs[name]
            state = groups.memo.view(record)[:, 0]
            try:
                return int(step(batch, rows, state, groups, records, used, slots, max_gap))
            except NumbaError as error:
                reason = " ".join(str(error).split())
                raise SpecError(f"{self!r}: a function cannot be compiled: {reason[:300]}") from None
            except (ArithmeticError, ValueError, IndexError) as error:
                raise DataError(
                    f"{self!r}: a function failed on a row: {type(error).__name__}: {error}; check divisors in the "
                    "function, or replace such values beforehand"
                ) from None
            except KeyError as name:
                raise SpecError(
                    f"{self!r}: a function reads {name}, which is neither a column nor in the state"
                ) from None

        return Automaton(kernel, group_memo=np.array([self.state.get(name, 0.0) for name in names]))


def _always(t: Any, s: Any) -> bool:
    return True


@lru_cache(maxsize=64)
def compile_rules(opens: Rule, updates: Rule | None, closes: Rule) -> Any:
    """Compile the logical frame operator with three functions, for this process."""
    open_rule, update_rule, close_rule = njit(opens), njit(updates or _always), njit(closes)

    @njit
    def operator(
        batch: Batch, rows: Array, state: Array, groups: Groups, records: Records, used: int, slots: Array, max_gap: Any
    ) -> int:
        for i in range(batch.on.size):
            g, t = batch.group[i], batch.on[i]
            k = groups.open[g, 0]
            if k >= 0 and must_cut(batch, i, records.end[k], max_gap):
                records.complete[k] = False
                close_record(groups, records, k, t)
                k = -1
            if is_break(batch, i):
                groups.open[g, 0] = -1
                continue
            if k >= 0 and close_rule(rows[i], state[g]):
                close_record(groups, records, k, t)
                k = -1
            if k >= 0:
                if update_rule(rows[i], state[g]):
                    extend_record(records, k, t)
                    assign(slots, i, 0, k)
            elif open_rule(rows[i], state[g]):
                k = used
                used += 1
                open_record(records, k, g, t)
                assign(slots, i, 0, k)
            groups.open[g, 0] = k
        return used

    return operator
