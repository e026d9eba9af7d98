"""Checks of a predicate in `analyze`, which has a schema but no Spark session."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import sqlglot
from pyspark.sql.types import StructType
from sqlglot import TokenType

from windrow.errors import SpecError, TypeMismatchError, UnsupportedError
from windrow.predicates.parse import parse_predicate
from windrow.spark.resolve.columns import arrow_type

OF_CHANCE = {
    "monotonically_increasing_id", "rand", "randn", "random", "randstr", "shuffle",
    "spark_partition_id", "uniform", "uuid",
}  # fmt: skip
"""Functions whose result for a row may differ from call to call."""


@dataclass(frozen=True)
class Table:
    """A table argument that stands in for a DataFrame. In `analyze`, only its schema is known."""

    schema: StructType

    @property
    def sparkSession(self) -> Any:  # noqa: N802
        """A session without settings: those of the real session do not reach `analyze`."""
        return SimpleNamespace(conf={})

    @property
    def isStreaming(self) -> bool:  # noqa: N802
        """Always false: Spark passes tables only."""
        return False

    @property
    def arrow_schema(self) -> pa.Schema:
        """The types of the columns; null for those without an Arrow type."""
        fields = []
        for field in self.schema.fields:
            try:
                fields.append(pa.field(field.name, arrow_type(field, field.name)))
            except TypeMismatchError:
                fields.append(pa.field(field.name, pa.null()))
        return pa.schema(fields)


def check_predicate(table: Any, predicate: str, option: str) -> None:
    """Reject a predicate that is random, not boolean, or over unknown columns. Spark's analyzer checks the rest."""
    for function, bracket in pairwise(sqlglot.tokenize(predicate, read="spark")):
        if function.text.lower() in OF_CHANCE and bracket.token_type is TokenType.L_PAREN:
            raise SpecError(
                f"{option}: {predicate!r} is not deterministic; it must always give the same result for the same row"
            )
    try:
        parse_predicate(predicate).compile(table.arrow_schema)
    except UnsupportedError:
        return
