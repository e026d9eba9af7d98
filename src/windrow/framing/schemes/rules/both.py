"""The rule of a conjunction: the rules of its parts side by side, each with its own columns of the records.

A row joins a frame if it joins by every part. A row that lacks a value which one part needs, and which that part skips,
is not in the frame. It still ends the frame if another part, which can read it, would not let it join.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from windrow.arrays import Array
from windrow.framing.records import Batch
from windrow.framing.schemes.rules.loop import BoundRule, begins, joins, judges, skips, stays

NEVER = np.empty(0, np.bool_)
"""Marks no row as missing."""


class PartRule(NamedTuple):
    """The rule of a part, the rows that it skips (empty: none), and the columns of the records that are its own.

    `spare_memo` and `spare_label` have room for the numbers of one record, which are restored after a trial.
    """

    rule: Any
    missing: Array
    memo: int
    memo_end: int
    label: int
    label_end: int
    spare_memo: Array
    spare_label: Array


class BothRule(NamedTuple):
    """Two rules that must both hold; the first may consist of two itself."""

    first: Any
    second: Any


class Part(NamedTuple):
    """A part of a conjunction: its rule, the names of its inputs in the batch by their own names, and its mask."""

    bound: BoundRule
    names: Mapping[str, str]
    mask: str | None


def conjunction_of(parts: Sequence[Part]) -> BoundRule:
    """Return the rule that holds if the rules of all parts hold."""
    if len(parts) == 1 and parts[0].mask is None:
        (bound, names, _), = parts  # fmt: skip
        return BoundRule(
            lambda batch, inputs: bound.make(batch, _renamed(inputs, names)),
            bound.labels,
            bound.memo,
            bound.memo_type,
            bound.specialise,
        )
    memos = np.cumsum([0, *(part.bound.memo for part in parts)]).tolist()
    labels = np.cumsum([0, *(part.bound.labels for part in parts)]).tolist()

    def make(batch: Batch, inputs: Mapping[str, Array]) -> NamedTuple:
        rules: list[NamedTuple] = []
        for j, (bound, names, mask) in enumerate(parts):
            spares = np.empty(bound.memo, bound.memo_type), np.empty(bound.labels, np.int64)
            rule = bound.make(batch, _renamed(inputs, names))
            missing = NEVER if mask is None else inputs[mask]
            rules.append(PartRule(rule, missing, memos[j], memos[j + 1], labels[j], labels[j + 1], *spares))
        return reduce(lambda first, second: BothRule(first, second), rules)

    def specialise(loop: Any) -> Any:
        return reduce(lambda compiled, part: part.bound.specialise(compiled), parts, loop)

    kinds = {np.dtype(part.bound.memo_type) for part in parts if part.bound.memo}
    return BoundRule(make, labels[-1], memos[-1], kinds.pop() if len(kinds) == 1 else np.float64, specialise)


def _renamed(inputs: Mapping[str, Array], names: Mapping[str, str]) -> dict[str, Array]:
    return {own: inputs[name] for own, name in names.items()}


@njit(cache=True, inline="always")
def _own_memo(rule: Any, memo: Array) -> Any:
    """Return the columns of the part, read as numbers of its own type."""
    return memo[:, rule.memo : rule.memo_end].view(rule.spare_memo.dtype)


@njit(cache=True, inline="always")
def _own_label(rule: Any, label: Array) -> Any:
    return label[:, rule.label : rule.label_end]


@judges(begins, PartRule)
def _part_begins(rule: Any, memo: Any, label: Any, k: int, i: int, continues: bool) -> Any:
    return begins(rule.rule, _own_memo(rule, memo), _own_label(rule, label), k, i, continues)


@judges(joins, PartRule)
def _part_joins(rule: Any, memo: Any, label: Any, k: int, i: int, n: int) -> Any:
    return joins(rule.rule, _own_memo(rule, memo), _own_label(rule, label), k, i, n)


@judges(skips, PartRule)
def _part_skips(rule: Any, i: int) -> Any:
    return rule.missing.size > 0 and rule.missing[i]


@judges(stays, PartRule)
def _part_stays(rule: Any, memo: Any, label: Any, k: int, i: int, n: int) -> Any:
    if rule.missing.size > 0 and rule.missing[i]:
        return True
    own_memo, own_label = _own_memo(rule, memo), _own_label(rule, label)
    for j in range(rule.spare_memo.size):
        rule.spare_memo[j] = own_memo[k, j]
    for j in range(rule.spare_label.size):
        rule.spare_label[j] = own_label[k, j]
    joined = joins(rule.rule, own_memo, own_label, k, i, n)
    for j in range(rule.spare_memo.size):
        own_memo[k, j] = rule.spare_memo[j]
    for j in range(rule.spare_label.size):
        own_label[k, j] = rule.spare_label[j]
    return joined


@judges(begins, BothRule)
def _both_begin(rule: Any, memo: Any, label: Any, k: int, i: int, continues: bool) -> Any:
    return begins(rule.first, memo, label, k, i, continues) and begins(rule.second, memo, label, k, i, continues)


@judges(joins, BothRule)
def _both_join(rule: Any, memo: Any, label: Any, k: int, i: int, n: int) -> Any:
    return joins(rule.first, memo, label, k, i, n) and joins(rule.second, memo, label, k, i, n)


@judges(skips, BothRule)
def _both_skip(rule: Any, i: int) -> Any:
    return skips(rule.first, i) or skips(rule.second, i)


@judges(stays, BothRule)
def _both_stay(rule: Any, memo: Any, label: Any, k: int, i: int, n: int) -> Any:
    return stays(rule.first, memo, label, k, i, n) and stays(rule.second, memo, label, k, i, n)
