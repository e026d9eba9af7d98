"""Predicates over the columns of a DataFrame, checked by Spark's analyzer before any job starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from windrow.errors import QUOTED, ColumnError, SpecError, TypeMismatchError, WindrowError, quoted
from windrow.predicates.parse import literal_patterns, zero_division


def condition(predicate: Any) -> Column:
    """Return a predicate as a column expression."""
    return F.expr(predicate) if isinstance(predicate, str) else predicate


def check_condition(df: DataFrame, predicate: Any, option: str) -> None:
    """Let Spark analyze a predicate, and report any error in one sentence."""
    shown = quoted(predicate) if isinstance(predicate, str) else str(predicate)[:QUOTED]
    try:
        kind: DataType = df.select(condition(predicate).alias("it")).schema.fields[0].dataType
        # Inside an aggregate, Spark analyzes it as an expression per row: aggregates, window functions and random
        # functions are rejected.
        _ = df.agg(F.count(condition(predicate))).schema
    except (AnalysisException, ParseException) as error:
        explain_analysis(error, option, shown, df.columns)
    except (PySparkException, Py4JError) as error:  # e.g. for a bare lambda, which the analyzer cannot type
        message = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise SpecError(f"{option}: {shown} is not a valid condition: {quoted(message)}") from None
    if isinstance(predicate, str):
        _check_patterns(df, predicate, option)
        _check_divisors(df, predicate, option)
    if kind.typeName() != "boolean":
        raise TypeMismatchError(f"{option}: {shown} is of type {kind.simpleString()}; expected a boolean")


def _check_patterns(df: DataFrame, predicate: str, option: str) -> None:
    """Let Spark compile the regular expressions of a predicate before it would do so at the first row.

    No job runs. The two parsers may read a backslash differently, so patterns with one are left to Spark.
    """
    for pattern in literal_patterns(predicate):
        try:
            nothing = df.sparkSession.sql("select s from values ('') as it(s)")
            nothing.select(F.col("s").rlike(pattern)).collect()
        except (PySparkException, Py4JError):
            raise SpecError(
                f"{option}: {quoted(predicate)}: {quoted(pattern)} is not a valid Java regular expression"
            ) from None


def _check_divisors(df: DataFrame, predicate: str, option: str) -> None:
    """Reject division by a literal zero if Spark would fail on it at the first row."""
    part = zero_division(predicate)
    if part and (df.sparkSession.conf.get("spark.sql.ansi.enabled") or "").lower() == "true":
        raise SpecError(f"{option}: {quoted(predicate)}: {quoted(part)} divides by zero")


def explain_analysis(error: PySparkException, option: str, shown: str, names: Sequence[str]) -> NoReturn:
    """Raise the Windrow error for an error of Spark's analyzer."""
    kind = error.getCondition() or ""
    message = str(error).strip().splitlines()[0]
    if kind.startswith(("UNRESOLVED_COLUMN", "UNRESOLVED_FIELD")):
        missing = (error.getMessageParameters() or {}).get("objectName", "?").strip("`")
        raise ColumnError.unknown(missing, f"{option} {shown}", names) from None
    if "NONDETERMINISTIC" in kind:
        raise SpecError(
            f"{option}: {shown} is not deterministic; it must have the same result for the same row"
        ) from None
    wrong: type[WindrowError] = TypeMismatchError if "DATATYPE_MISMATCH" in kind else SpecError
    raise wrong(f"{option}: {shown} is not a valid condition: {message}") from None
