"""What can be said of a predicate in `analyze`, where there is a schema but no Spark to ask."""

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
"""Functions that give one tuple now this and now that."""


@dataclass(frozen=True)
class Table:
    """A table argument: all there is of it in `analyze` is the schema. It stands in for a DataFrame."""

    schema: StructType

    @property
    def sparkSession(self) -> Any:  # noqa: N802
        """A session without settings: those of the real one do not reach `analyze`."""
        return SimpleNamespace(conf={})

    @property
    def arrow_schema(self) -> pa.Schema:
        """The types of the columns; null for those that have none in Arrow."""
        fields = []
        for field in self.schema.fields:
            try:
                fields.append(pa.field(field.name, arrow_type(field, field.name)))
            except TypeMismatchError:
                fields.append(pa.field(field.name, pa.null()))
        return pa.schema(fields)


def check_predicate(table: Any, predicate: str, option: str) -> None:
    """Refuse a predicate of chance, of columns that do not exist, or of no truth; Spark's analyser sees to the rest."""
    for function, bracket in pairwise(sqlglot.tokenize(predicate, read="spark")):
        if function.text.lower() in OF_CHANCE and bracket.token_type is TokenType.L_PAREN:
            raise SpecError(f"{option}: {predicate!r} is not deterministic; the same tuple must always give the same")
    try:
        parse_predicate(predicate).compile(table.arrow_schema)
    except UnsupportedError:
        return
