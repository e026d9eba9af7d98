"""Schemes that are given by a rule: one compiled loop for all of them, which knows groups, gaps, breaks and limits.

A rule is a NamedTuple of the columns and constants that a scheme needs to judge a row. Its type selects the compiled
functions that do so, which the scheme's own module registers with `judges`:

    begins(rule, memo, label, k, i, continues)    row i is the first of frame k: may it be a frame by itself?
    joins(rule, memo, label, k, i, n)             may row i join frame k, as its row number n? For maximal frames
    adds(rule, memo, label, k, i)                 row i joins frame k, which is not over yet. For minimal frames
    is_met(rule, memo, label, k, i, n)            with row i as the last of n, is frame k over? For minimal frames

    skips(rule, i)                                row i takes no part, unless it fails a part of a conjunction
    stays(rule, memo, label, k, i, n)             would row i, which is skipped, leave frame k open? Takes no note

The last two are needed only for conjunctions: elsewhere no row is skipped.

They may store numbers about frame k in `memo[k]`, and write the labels that become columns to `label[k]`. `begins`
gets `continues` if a maximum has just ended a frame that the row would otherwise have joined.

Maximal frames are searched for from the left (lemma 2 of "Frames", 2016). A frame that misses a minimum loses its first
row, and the search resumes with the next one, along the rows of the same group:

    rows of a group          a  b  c  d  e  f        min_count=4
    frame from a            [a  b  c] d              d does not join: too short, leave out a
    frame from b               [b  c] d              d does not join: too short, leave out b
    frame from c                  [c  d  e  f]       long enough: certain to be a frame

Everything that the loop calls per row is inlined (`INLINED`), and counts no references, as it allocates nothing.
Otherwise numba counts references to the arrays of every tuple that it passes on, for each row, and the loop takes two
to five times as long.

Where frames are runs of one label, a shorter run cannot reach further, so a run that misses a minimum is dropped as a
whole (`drops_runs`). Otherwise the rows of a frame that may still miss a minimum are held between batches: see
`Framer.held`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numba import njit
from numba import types as numba_types
from numba.extending import overload

from windrow.arrays import Array
from windrow.framing.records import (
    DROPPED,
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
from windrow.framing.schemes.base import Automaton
from windrow.framing.schemes.rules.limits import LimitedScheme, Limits, is_full, qualifies
from windrow.jit import INLINED, WITHOUT_COUNTING
from windrow.rows.clock import Clock


@dataclass(frozen=True)
class BoundRule:
    """A rule bound to column types: how it is made from the inputs of a batch, and the numbers it stores per frame."""

    make: Callable[[Batch, Mapping[str, Array]], NamedTuple]
    labels: int = 0
    memo: int = 0
    memo_type: Any = np.float64
    specialise: Callable[[Any], Any] = lambda loop: loop
    """Returns the loop compiled for the rule: in this process only, if the rule contains a user's own functions."""


@dataclass(frozen=True, repr=False)
class RuleScheme(LimitedScheme):
    """A scheme that is given by a rule."""

    @abstractmethod
    def rule(self, types: Mapping[str, pa.DataType]) -> BoundRule:
        """Return the rule over columns of the given types."""

    @property
    def searches(self) -> bool:
        """Whether the rows of a frame that misses a minimum are searched for another frame."""
        if not (self.is_maximal and self.has_minimum):
            return False
        by_count_only = self.max_duration is None and self.min_duration is None
        return not (self.drops_runs and (not self.has_maximum or by_count_only))

    @property
    def is_cut_in_sql(self) -> bool:
        """Whether Spark SQL can apply the limits to runs: a maximum by count needs no search and no loop."""
        return self.max_duration is None and not self.searches

    @property
    def has_heads(self) -> bool:
        """Whether the first run of a chunk can be joined to what came before; a maximum may cut it anywhere."""
        return self.is_run and not self.has_maximum

    def bind(self, clock: Clock, types: Mapping[str, pa.DataType]) -> Automaton:
        """Return the loop over the scheme's rule."""
        bound, limits = self.rule(types), self.limits_on(clock)
        loop = bound.specialise(_maximal if self.is_maximal else _minimal)

        def kernel(
            batch: Batch, inputs: Mapping[str, Array], groups: Groups, records: Records, used: int, slots: Array
        ) -> int:
            return int(loop(bound.make(batch, inputs), batch, limits, groups, records, used, slots))

        return Automaton(
            kernel, labels=bound.labels, memo=bound.memo, memo_type=bound.memo_type, searches=self.searches
        )


_SKIPPING: set[type] = set()
"""The kinds of rules that may skip rows."""


def judges(function: Any, kind: type) -> Callable[[Any], Any]:
    """Return a decorator that makes a function the implementation of another one for rules of one kind."""
    if function is skips:
        _SKIPPING.add(kind)

    def register(implementation: Any) -> Any:
        @overload(function, strict=False, jit_options=INLINED)
        def choose(rule: Any, *_: Any) -> Any:
            chosen = isinstance(rule, numba_types.BaseNamedTuple) and rule.instance_class is kind
            return implementation if chosen else None

        return implementation

    return register


def begins(rule: Any, memo: Any, label: Any, k: int, i: int, continues: bool) -> Any:
    """Start frame `k` with row `i`, and return whether the row may be a frame by itself."""
    raise NotImplementedError("only for compiled code")


def joins(rule: Any, memo: Any, label: Any, k: int, i: int, n: int) -> Any:
    """Return whether row `i` may join the maximal frame `k` as its row number `n`, and take note of it if so."""
    raise NotImplementedError("only for compiled code")


def adds(rule: Any, memo: Any, label: Any, k: int, i: int) -> Any:
    """Take note that row `i` joins the minimal frame `k`."""
    raise NotImplementedError("only for compiled code")


def is_met(rule: Any, memo: Any, label: Any, k: int, i: int, n: int) -> Any:
    """Return whether the condition of the minimal frame `k` holds with row `i`, the last of its `n` rows."""
    raise NotImplementedError("only for compiled code")


def skips(rule: Any, i: int) -> Any:
    """Return whether row `i` lacks a value that a part of a conjunction needs, and that part skips such rows."""
    raise NotImplementedError("only for compiled code")


def stays(rule: Any, memo: Any, label: Any, k: int, i: int, n: int) -> Any:
    """Return whether frame `k` stays open at row `i`, which is skipped: no part that reads the row fails."""
    raise NotImplementedError("only for compiled code")


@overload(skips, strict=False, jit_options=INLINED)
def _skips_none(rule: Any, i: int) -> Any:
    return None if _is_skipping(rule) else lambda rule, i: False


@overload(stays, strict=False, jit_options=INLINED)
def _stays_always(rule: Any, memo: Any, label: Any, k: int, i: int, n: int) -> Any:
    return None if _is_skipping(rule) else lambda rule, memo, label, k, i, n: True


def _is_skipping(rule: Any) -> bool:
    """Return whether a type is that of a rule which registers `skips` and `stays`."""
    return isinstance(rule, numba_types.BaseNamedTuple) and rule.instance_class in _SKIPPING


@njit(cache=True, **WITHOUT_COUNTING)
def _maximal(rule: Any, batch: Batch, limits: Limits, groups: Groups, records: Records, used: int, slots: Array) -> int:
    searches = batch.following.size > 0
    memo, label = records.memo, records.label
    for i in range(batch.on.size):
        g, t = batch.group[i], batch.on[i]
        k = groups.open[g, 0]
        continues = False
        skipped = skips(rule, i) and not is_break(batch, i)
        if skipped and (k < 0 or stays(rule, memo, label, k, i, records.count[k] + 1)):
            continue
        if k >= 0:
            cut = not skipped and must_cut(batch, i, records.end[k], limits.max_gap)
            full = is_full(records, k, t, limits)
            # If the row does not join, the frame ends or starts again, so what `joins` has noted does not matter.
            fits = not skipped and not cut and joins(rule, memo, label, k, i, records.count[k] + 1)
            if fits and not full:
                extend_record(records, k, t)
                assign(slots, i, 0, k)
                continue
            if qualifies(records, k, t, limits):
                close_record(groups, records, k, t)
                continues = full and fits
            elif searches and not cut and _restarts(rule, batch, limits, records, k, i, slots):
                continue
            else:
                records.closed[k] = t
                records.status[k] = DROPPED
            groups.open[g, 0] = -1
        if not skipped and not is_break(batch, i) and begins(rule, memo, label, used, i, continues):
            open_record(records, used, g, t)
            if batch.first.size:
                batch.first[used] = i
            groups.open[g, 0] = used
            assign(slots, i, 0, used)
            used += 1
    return used


@njit(cache=True, **WITHOUT_COUNTING)
def _restarts(rule: Any, batch: Batch, limits: Limits, records: Records, k: int, i: int, slots: Array) -> bool:
    """Restart frame `k` at the first of its later rows from which a frame reaches row `i`; return whether there is one.

    Frames that end before row `i` need not be considered: they are shorter than one that is too short already.
    """
    j = batch.first[k]
    assign(slots, j, 0, -1)
    j = batch.following[j]
    while j != i:
        if not skips(rule, j) and begins(rule, records.memo, records.label, k, j, False):
            open_record(records, k, batch.group[i], batch.on[j])
            last = j
            while last != i:
                after = batch.following[last]
                if skips(rule, after):
                    if not stays(rule, records.memo, records.label, k, after, records.count[k] + 1):
                        break
                    last = after
                    continue
                if is_full(records, k, batch.on[after], limits):
                    break
                if not joins(rule, records.memo, records.label, k, after, records.count[k] + 1):
                    break
                last = after
                extend_record(records, k, batch.on[last])
            if last == i:
                batch.first[k] = j
                if not skips(rule, i):
                    assign(slots, i, 0, k)
                return True
        assign(slots, j, 0, -1)
        j = batch.following[j]
    return False


@njit(cache=True, **WITHOUT_COUNTING)
def _minimal(rule: Any, batch: Batch, limits: Limits, groups: Groups, records: Records, used: int, slots: Array) -> int:
    memo, label = records.memo, records.label
    for i in range(batch.on.size):
        g, t = batch.group[i], batch.on[i]
        k = groups.open[g, 0]
        if k >= 0 and (must_cut(batch, i, records.end[k], limits.max_gap) or is_full(records, k, t, limits)):
            records.complete[k] = False
            close_record(groups, records, k, t)
            k = -1
        if is_break(batch, i):
            groups.open[g, 0] = -1
            continue
        if k < 0:
            k = used
            used += 1
            begins(rule, memo, label, k, i, False)
            open_record(records, k, g, t)
        else:
            adds(rule, memo, label, k, i)
            extend_record(records, k, t)
        assign(slots, i, 0, k)
        if is_met(rule, memo, label, k, i, records.count[k]) and qualifies(records, k, t, limits):
            close_record(groups, records, k, t)
            k = -1
        groups.open[g, 0] = k
    return used
