"""Rows that lack a value which the scheme reads: left out, marked as breaking, or rejected, by its policies."""

from __future__ import annotations

from functools import reduce

import numpy as np
import numpy.typing as npt

from windrow.arrays import ALL_VALID, Values
from windrow.errors import DataError
from windrow.framing.schemes.base import NullRule, Scheme, is_missing
from windrow.rows.query import RowBatch

Marks = npt.NDArray[np.bool_]
NOTHING_BREAKS = np.empty(0, np.bool_)


def settle_nulls(scheme: Scheme, rows: RowBatch) -> tuple[RowBatch, Marks]:
    """Apply the scheme's policies to rows with a null or NaN attribute, or a null predicate.

    Return the rows that take part, with the inputs that mark skipped rows, and which of them break frames.
    """
    rules = scheme.null_rules
    missing = {rule: marks for rule in rules if (marks := _missing(scheme, rows, rule)) is not None}
    breaking = [marks for rule, marks in missing.items() if rule.policy == "break"]
    breaks = reduce(np.logical_or, breaking) if breaking else NOTHING_BREAKS
    skipping = [marks for rule, marks in missing.items() if rule.policy == "skip"]
    if skipping:
        skipped = reduce(np.logical_or, skipping)
        ends = skipped & _fails(rows, rules, missing)
        if ends.any():
            breaks = breaks | ends if breaks.size else ends
        if not scheme.masks:
            keep = ~skipped | breaks if breaks.size else ~skipped
            return rows.where(keep), breaks[keep] if breaks.size else breaks
    nowhere = np.zeros(rows.on.size, np.bool_)
    masks = {rule.mask: Values(missing.get(rule, nowhere), ALL_VALID) for rule in rules if rule.mask is not None}
    return (rows._replace(inputs={**rows.inputs, **masks}) if masks else rows), breaks


def _missing(scheme: Scheme, rows: RowBatch, rule: NullRule) -> Marks | None:
    """Return which rows lack an input, or None if none does or the input counts as false instead."""
    missing = None
    for name in rule.inputs:
        values, is_predicate = rows.inputs[name], name in scheme.predicates
        lacks = is_missing(values)
        if lacks is None:
            continue
        if rule.policy == "error":
            n = int(lacks.sum())
            raise DataError(
                f"{_what(scheme, name)} is null or NaN in {n} row{'s' if n > 1 else ''}: nulls='error' forbids that"
            )
        if rule.policy == "false" or is_predicate:
            values.numbers[lacks] = False
        missing = lacks if missing is None else missing | lacks
    return None if rule.policy == "false" else missing


def _what(scheme: Scheme, name: str) -> str:
    """Describe one of the inputs in an error."""
    if name in scheme.predicates:
        return f"the predicate {scheme.predicates[name]!r}"
    return str(scheme.label_columns[name]) if name in scheme.label_columns else f"column {name!r}"


def _fails(rows: RowBatch, rules: tuple[NullRule, ...], missing: dict[NullRule, Marks]) -> Marks:
    """Return which rows fail a condition that they can be judged by, although they lack other values."""
    fails = np.zeros(rows.on.size, np.bool_)
    for rule in rules:
        if rule.hit is not None:
            misses = ~rows.inputs[rule.hit].numbers
            fails |= misses & ~missing[rule] if rule in missing else misses
    return fails
