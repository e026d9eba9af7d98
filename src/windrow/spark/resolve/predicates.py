"""Predicates over the columns of a DataFrame: checked by Spark's analyser before any job starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from windrow.errors import QUOTED, ColumnError, SpecError, TypeMismatchError, WindrowError, quoted
from windrow.predicates.parse import literal_patterns
from windrow.spark.resolve.columns import (
    _check_divisors,
)


def condition(predicate: Any) -> Column:
    """A predicate as a column expression."""
    return F.expr(predicate) if isinstance(predicate, str) else predicate


def check_condition(df: DataFrame, predicate: Any, option: str) -> None:
    """Let Spark analyse a predicate, and say in one sentence what it does not like."""
    shown = quoted(predicate) if isinstance(predicate, str) else str(predicate)[:QUOTED]
    try:
        kind: DataType = df.select(condition(predicate).alias("it")).schema.fields[0].dataType
        # Within an aggregate it is analysed row by row: aggregates, window functions and chance are refused.
        _ = df.agg(F.count(condition(predicate))).schema
    except (AnalysisException, ParseException) as error:
        explain_analysis(error, option, shown, df.columns)
    except (PySparkException, Py4JError) as error:  # such as of a lambda by itself, which the analyser cannot type
        said = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise SpecError(f"{option}: {shown} is no condition that Spark understands: {quoted(said)}") from None
    if isinstance(predicate, str):
        _check_patterns(df, predicate, option)
        _check_divisors(df, predicate, option)
    if kind.typeName() != "boolean":
        raise TypeMismatchError(f"{option}: {shown} is of type {kind.simpleString()}; it must be true or false")


def _check_patterns(df: DataFrame, predicate: str, option: str) -> None:
    """Let Spark compile the regular expressions of a predicate, which it would do for the first row; no job runs.

    What has a backslash may be read differently by the two parsers, and is left to Spark.
    """
    for pattern in literal_patterns(predicate):
        try:
            nothing = df.sparkSession.sql("select s from values ('') as it(s)")
            nothing.select(F.col("s").rlike(pattern)).collect()
        except (PySparkException, Py4JError):
            raise SpecError(
                f"{option}: {quoted(predicate)}: {quoted(pattern)} is no regular expression that Java understands"
            ) from None


def explain_analysis(error: PySparkException, option: str, shown: str, names: Sequence[str]) -> NoReturn:
    """Turn what Spark's analyser says into one of our errors."""
    kind = error.getCondition() or ""
    said = str(error).strip().splitlines()[0]
    if kind.startswith(("UNRESOLVED_COLUMN", "UNRESOLVED_FIELD")):
        missing = (error.getMessageParameters() or {}).get("objectName", "?").strip("`")
        raise ColumnError.unknown(missing, f"{option} {shown}", names) from None
    if "NONDETERMINISTIC" in kind:
        raise SpecError(f"{option}: {shown} is not deterministic; the same tuple must always give the same") from None
    wrong: type[WindrowError] = TypeMismatchError if "DATATYPE_MISMATCH" in kind else SpecError
    raise wrong(f"{option}: {shown} is no condition that Spark understands: {said}") from None
