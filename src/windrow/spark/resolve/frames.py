"""Turn a user's arguments into a query for frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame

from windrow.aggregates import AggregateFunction
from windrow.errors import SpecError, quoted
from windrow.framing.query import FrameQuery
from windrow.framing.schemes import Aggregate, Scheme
from windrow.framing.schemes.base import FRAME_COLUMNS
from windrow.spark.resolve.columns import (
    check_collations,
    check_compiles,
    check_distinct,
    resolve_roles,
)
from windrow.spark.resolve.predicates import check_condition


def resolve(
    df: DataFrame,
    scheme: Scheme,
    on: str,
    by: str | Sequence[str] | None,
    agg: Mapping[str, AggregateFunction] | None,
    order_by: str | Sequence[str] | None,
    analyse: Callable[[DataFrame, Any, str], None] | None = None,
) -> FrameQuery:
    """Return the query for a framing, or raise an error that says what is wrong with the arguments.

    `analyse` checks a predicate against the table. By default, Spark's analyzer does.
    """
    if not isinstance(scheme, Scheme):
        raise SpecError(f"scheme: expected a framing scheme such as wr.Threshold('speed < 40'), got {quoted(scheme)}")
    for part in scheme.conjuncts:
        if isinstance(part, Aggregate):
            check_compiles(part.aggregate)
    labels = {label.column: type(part).__name__ for part in scheme.conjuncts for label in part.label_columns.values()}
    numbers = {name: type(part).__name__ for part in scheme.conjuncts for name in part.attributes}
    roles = resolve_roles(df, on, by, agg, order_by, {**numbers, **labels}, analyse)
    check_collations(df, list(labels), "Change")
    request = FrameQuery(scheme, roles)
    scheme.check(request.clock, request.types)
    for option, predicate in scheme.predicates.items():
        (analyse or check_condition)(df, predicate, "close" if option.startswith("stop") else "predicate")
    check_distinct([*request.by, *FRAME_COLUMNS, *scheme.added_columns, *roles.agg], "the result")
    _ = request.schema
    return request
