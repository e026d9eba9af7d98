"""The logical frame operator of "Frames" (2016), section 5.1, compiled with the user's functions.

For each row: `close` for every open frame in the order in which they opened, then `update` for those that are still
open, then `open` if there is room for another frame. A row that does not close a frame cuts it if the frame would
exceed a maximum with the row.

Frames are numbered in the order in which they open, and a frame that is discarded gets no number. So the number of a
closed frame is not determined while a frame that opened before it may still be discarded. Until then, its record has
the status WAITING. The records of a group are always in the order in which they opened.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba import from_dtype, njit, types
from numba.extending import is_jitted

from windrow.arrays import Array
from windrow.errors import SpecError, quoted
from windrow.framing.records import (
    DROPPED,
    FINAL,
    Batch,
    Groups,
    Records,
    assign,
    extend_record,
    is_break,
    must_cut,
    number_frames,
    open_record,
)
from windrow.framing.schemes.fields import rounded_fields
from windrow.framing.schemes.rules.limits import Limits, is_full, qualifies
from windrow.jit import INLINED

Rule = Callable[..., Any]
STAY, REPORT, DISCARD = 0, 1, 2
"""What `close` returns."""


class VerdictError(Exception):
    """`close` returned an integer that has no meaning."""


class Operator(NamedTuple):
    """A compiled operator, and whether it reports every frame, because `close` returns booleans."""

    run: Any
    reports_all: bool


def check_rule(rule: Any, option: str) -> None:
    """Reject what is not a function of (t, s) or (t, s, f)."""
    expected = f"Custom: {option}: expected a function of (t, s) or (t, s, f)"
    if not inspect.isfunction(rule) and not is_jitted(rule):
        raise SpecError(f"{expected}, got {quoted(rule)}")
    arguments = _required(rule)
    if arguments not in (2, 3):
        plural = "" if arguments == 1 else "s"
        raise SpecError(f"{expected}, got {rule.__name__}, which requires {arguments} argument{plural}")


def _required(rule: Rule) -> int:
    """Return the number of arguments without a default."""
    parameters = inspect.signature(getattr(rule, "py_func", rule)).parameters.values()
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return sum(each.default is each.empty and each.kind not in variable for each in parameters)


def _always(t: Any, s: Any) -> bool:
    return True


@lru_cache(maxsize=64)
def compile_operator(
    opens: Rule, updates: Rule | None, closes: Rule, row: np.dtype[Any], group: np.dtype[Any], frame: np.dtype[Any]
) -> Operator:
    """Compile the operator with three functions, for rows and records of these types and for this process."""
    kinds = tuple(from_dtype(each) for each in (row, group, frame))
    functions = {"open": opens, "update": updates or _always, "close": closes}
    rules = {option: _compiled(rule, option, kinds) for option, rule in functions.items()}
    returned = rules["close"].overloads[kinds].signature.return_type
    truth = isinstance(_without_none(returned), types.Boolean)
    if not truth and not isinstance(returned, types.Integer):
        raise SpecError(
            f"Custom: close: expected a function that returns a boolean, or 0 (stay open), 1 (report) or 2 (discard); "
            f"{closes.__name__} returns {returned}"
        )
    verdict = _as_verdict(rules["close"]) if truth else rules["close"]
    return Operator(_operator(rules["open"], rules["update"], verdict), truth)


def _compiled(rule: Rule, option: str, kinds: tuple[Any, ...]) -> Any:
    """Return a rule compiled for a row, the group's record and the frame's."""
    compiled: Any = rule if is_jitted(rule) else njit(rule)
    if _required(rule) == 3:

        @njit
        def of_three(t: Any, s: Any, f: Any) -> Any:
            return compiled(t, s, f)

    else:

        @njit
        def of_three(t: Any, s: Any, f: Any) -> Any:
            return compiled(t, s)

    of_three.compile(kinds)
    for name in rounded_fields(compiled, kinds):
        raise SpecError(
            f"Custom: {option}: {rule.__name__} assigns a float to field {name!r}, which starts with an integer or a "
            "boolean; start it with a float, or convert the value"
        )
    return of_three


def _without_none(kind: Any) -> Any:
    return kind.type if isinstance(kind, types.Optional) else kind


def _as_verdict(closes: Any) -> Any:
    @njit
    def verdict(t: Any, s: Any, f: Any) -> int:
        return REPORT if closes(t, s, f) else STAY

    return verdict


def _operator(opens: Any, updates: Any, verdict: Any) -> Any:
    """Return the loop over the rows; `number_open` numbers frames when they open."""

    @njit
    def run(
        batch: Batch,
        rows: Array,
        states: Array,
        frames: Array,
        fresh: Array,
        groups: Groups,
        records: Records,
        used: int,
        slots: Array,
        limits: Limits,
        number_open: bool,
    ) -> int:
        for i in range(batch.on.size):
            g, t = batch.group[i], batch.on[i]
            still = 0
            for w in range(groups.open.shape[1]):
                k = groups.open[g, w]
                if k < 0:
                    break
                groups.open[g, w] = -1
                if must_cut(batch, i, records.end[k], limits.max_gap):
                    records.complete[k] = False
                    outcome = REPORT
                else:
                    outcome = verdict(rows[i], states[g], frames[k])
                outcome = _limited(outcome, batch, records, k, t, limits)
                if outcome == STAY:
                    groups.open[g, still] = k
                    still += 1
                elif outcome == REPORT:
                    records.closed[k] = t
                    records.status[k] = FINAL
                elif outcome == DISCARD:
                    records.status[k] = DROPPED
                else:
                    raise VerdictError
            if is_break(batch, i):
                continue
            joined = 0
            for w in range(still):
                k = groups.open[g, w]
                if updates(rows[i], states[g], frames[k]):
                    extend_record(records, k, t)
                    assign(slots, i, joined, k)
                    joined += 1
            if still < groups.open.shape[1]:
                _reset(records, used, fresh)
                if opens(rows[i], states[g], frames[used]):
                    open_record(records, used, g, t)
                    groups.open[g, still] = used
                    assign(slots, i, joined, used)
                    used += 1
        number_frames(groups, records, used, number_open)
        return used

    return run


@njit(cache=True, **INLINED)
def _limited(outcome: int, batch: Batch, records: Records, k: int, t: Any, limits: Limits) -> int:
    """Return what becomes of frame `k`: a maximum cuts one that would stay open, a minimum discards a reported one."""
    if outcome == STAY and is_full(records, k, t, limits):
        records.complete[k] = False
        outcome = REPORT
    if outcome == REPORT and not qualifies(records, k, records.end[k] if batch.is_end else t, limits):
        return DISCARD
    return outcome


@njit(cache=True)
def _reset(records: Records, k: int, fresh: Array) -> None:
    """Set the frame's record to its starting values."""
    for j in range(fresh.size):
        records.memo[k, j] = fresh[j]
