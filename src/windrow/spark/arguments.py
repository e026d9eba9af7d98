"""What users pass as a session, a DataFrame or a switch: recognized, or refused by the name of the argument."""

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
    """Refuse what is not a Spark session; the session of Spark Connect is one, and a class of its own."""
    # Attributes are looked up on the class, since a Column has every attribute that it is asked for.
    if not hasattr(type(spark), "createDataFrame") or not hasattr(type(spark), "read"):
        raise SpecError(f"spark: {quoted(spark)} is no Spark session; wr.session() makes one")


def check_dataframe(value: Any, argument: str, hint: str = "") -> None:
    """Refuse what is not a Spark DataFrame, and say how to make one of it where that is known."""
    if not isinstance(value, DataFrame):
        raise SpecError(f"{argument}: expected a Spark DataFrame, got {_described(value)}{hint}")


def is_text(value: Any) -> bool:
    r"""Whether something is a text that Java can be given: not blank, without a null character or half of a character.

    >>> is_text("a b"), is_text(" "), is_text(b"a"), is_text("a\0b"), is_text("\ud800")
    (True, False, False, False, False)
    """
    return isinstance(value, str) and bool(value.strip()) and _IMPOSSIBLE.search(value) is None


def check_switch(value: Any, argument: str) -> None:
    """Refuse what is neither True nor False, whatever its truth value is."""
    if not isinstance(value, bool):
        raise SpecError(f"{argument}: expected True or False, got {quoted(value)}")


def _described(value: object) -> str:
    module = type(value).__module__.partition(".")[0]
    if module in _WAYS:
        return f"a {module} {type(value).__name__}; make one by {_WAYS[module]}"
    return quoted(value)
