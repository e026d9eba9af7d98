"""Checks of sessions, DataFrames and switches that users pass. Errors name the argument."""

from __future__ import annotations

import re
from typing import Any

from pyspark.sql import DataFrame

from windrow.errors import SpecError, quoted

_WAYS = {
    "pandas": "spark.createDataFrame(df)",
    "polars": "spark.createDataFrame(df.to_arrow())",
    "pyarrow": "spark.createDataFrame(table)",
}

_IMPOSSIBLE = re.compile(r"[\0\ud800-\udfff]")


def check_spark(spark: Any) -> None:
    """Reject anything but a Spark session. A Spark Connect session, which is a separate class, is accepted."""
    # Look up attributes on the class: a Column instance has any attribute.
    if not hasattr(type(spark), "createDataFrame") or not hasattr(type(spark), "read"):
        raise SpecError(f"spark: expected a Spark session, got {quoted(spark)}; wr.session() returns one")


def check_dataframe(value: Any, argument: str, hint: str = "") -> None:
    """Reject anything but a Spark DataFrame, and say how to convert the value if a way is known."""
    if not isinstance(value, DataFrame):
        raise SpecError(f"{argument}: expected a Spark DataFrame, got {_described(value)}{hint}")


def is_text(value: Any) -> bool:
    r"""Return whether a value is a string that Java accepts: not blank, without null characters and lone surrogates.

    >>> is_text("a b"), is_text(" "), is_text(b"a"), is_text("a\0b"), is_text("\ud800")
    (True, False, False, False, False)
    """
    return isinstance(value, str) and bool(value.strip()) and _IMPOSSIBLE.search(value) is None


def check_switch(value: Any, argument: str) -> None:
    """Reject anything but True and False, whatever its truth value."""
    if not isinstance(value, bool):
        raise SpecError(f"{argument}: expected True or False, got {quoted(value)}")


def _described(value: object) -> str:
    module = type(value).__module__.partition(".")[0]
    if module in _WAYS:
        return f"a {module} {type(value).__name__}; convert it with {_WAYS[module]}"
    return quoted(value)
