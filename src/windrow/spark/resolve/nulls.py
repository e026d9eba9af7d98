"""Nulls where none are allowed: counted before anything else runs, then rejected or dropped, never ignored silently."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from windrow.errors import DataError, SpecError, is_one_of, quoted
from windrow.framing.schemes.rules.labels import LabelColumn
from windrow.rows.query import Query
from windrow.spark.failures import own_errors
from windrow.spark.resolve.columns import column
from windrow.spark.resolve.predicates import condition
from windrow.spark.versions import from_arrow_type

POLICIES = ("error", "drop")
FORBIDDEN = "nulls='error' forbids that"


def check_policy(nulls_on: str) -> None:
    """Reject an unknown policy."""
    if not is_one_of(nulls_on, POLICIES):
        raise SpecError(f"nulls_on: expected one of {', '.join(POLICIES)}; got {quoted(nulls_on)}")


def settle_nulls(df: DataFrame, request: Query[Any], nulls_on: str) -> DataFrame:
    """Count the nulls in `on`, in `by` and where `nulls="error"` forbids them; raise, or drop the rows with a warning.

    `on` and `by` are not checked if the schema declares them non-null. If there is nothing to check, no job runs.
    """
    lacking = may_lack(df, [request.on, *request.by], request.types)
    guarded = _guarded(df, request)
    if not lacking and not guarded:
        return df
    counts = count_rows(df, {**lacking, **guarded})
    refuse_nulls({what: counts[what] for what in guarded}, FORBIDDEN)
    return drop_lacking(df, lacking, counts, request.on, nulls_on)


def drop_lacking(
    df: DataFrame, lacking: dict[str, Column], counts: dict[str, int], on: str, nulls_on: str
) -> DataFrame:
    """Apply the policy to the rows whose `on` or `by` is null or NaN."""
    report_nulls(on, {name: counts[name] for name in lacking}, nulls_on)
    tests = [lacking[name] for name in lacking if counts[name]]
    return df.where(~reduce(or_, tests)) if tests else df


def report_nulls(on: str, counts: dict[str, int], nulls_on: str) -> None:
    """Raise or warn about rows whose `on` or `by` is null or NaN."""
    named = {f"{'on' if name == on else 'by'}: column {name!r}": n for name, n in counts.items() if n}
    if nulls_on == "error":
        refuse_nulls(named, "such rows cannot be put in order; fix the data or pass nulls_on='drop'")
    elif named:
        listed = "; ".join(f"{what} is null or NaN in {n}" for what, n in named.items())
        warnings.warn(f"dropped rows that cannot be put in order: {listed}", UserWarning, stacklevel=6)


def refuse_nulls(counts: dict[str, int], advice: str) -> None:
    """Raise if any count is positive."""
    for what, n in counts.items():
        if n:
            raise DataError(f"{what} is null or NaN in {n} row{'s' if n > 1 else ''}: {advice}")


def count_rows(df: DataFrame, tests: dict[str, Column]) -> dict[str, int]:
    """Return how many rows pass each test, in one job."""
    counts = df.agg(*(F.count_if(test).alias(f"n{i}") for i, test in enumerate(tests.values())))
    with own_errors():
        row = counts.collect()[0]
    return dict(zip(tests, row, strict=True))


def may_lack(df: DataFrame, names: Sequence[str], types: Mapping[str, pa.DataType]) -> dict[str, Column]:
    """Return tests for a null or NaN in each of the columns that may contain one."""
    nullable = {field.name: field.nullable for field in df.schema.fields}
    return {name: _lacks(name, types[name]) for name in names if nullable[name] or pa.types.is_floating(types[name])}


def _lacks(name: str, kind: pa.DataType) -> Column:
    value = column(name)
    return value.isNull() | F.isnan(value) if pa.types.is_floating(kind) else value.isNull()


def _guarded(df: DataFrame, request: Query[Any]) -> dict[str, Column]:
    """Return tests for the nulls that `nulls="error"` forbids."""
    guarded = request.never_null
    predicates = (text for name, text in request.predicates.items() if name in guarded)
    tests = {f"the predicate {text!r}": condition(text).isNull() for text in predicates}
    attributes = (name for name in request.attributes if name in guarded)
    tests |= {f"column {name!r}": _lacks(name, request.types[name]) for name in attributes}
    labels = (label for name, label in request.label_columns.items() if name in guarded)
    return tests | {str(label): lacks_label(label, request.types[label.column]) for label in labels}


def lacks_label(label: LabelColumn, kind: pa.DataType) -> Column:
    """Return a test for a null, a NaN or an ignored value in a column that labels rows."""
    lacks = _lacks(label.column, kind)
    for value in label.ignored(kind).to_pylist():
        # Python's instants would be read in the time zone of the session, or of this process.
        shown = value.isoformat() if isinstance(value, datetime.date) else value
        lacks = lacks | (column(label.column) == F.lit(shown).cast(from_arrow_type(kind)))
    return lacks


def settle_scanned(df: DataFrame, request: Query[Any], nulls_on: str) -> None:
    """Count what Parquet statistics do not: NaNs in `on` and `by`, and the nulls that `nulls="error"` forbids.

    If there is nothing to count, no job runs.
    """
    floats = [name for name in (request.on, *request.by) if pa.types.is_floating(request.types[name])]
    tests = {name: F.isnan(column(name)) for name in floats}
    guarded = _guarded(df, request)
    if not tests and not guarded:
        return
    counts = count_rows(df, {**tests, **guarded})
    refuse_nulls({what: counts[what] for what in guarded}, FORBIDDEN)
    report_nulls(request.on, {name: counts[name] for name in tests}, nulls_on)
