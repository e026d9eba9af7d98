"""Shared by `frames` and `slide`: checks of the source, the names of the plans, the choice of one, and result types."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from windrow.aggregates import AggregateFunction
from windrow.errors import SpecError, UnsupportedError, is_one_of, quoted
from windrow.rows.query import Query
from windrow.spark.arguments import check_dataframe
from windrow.spark.resolve.columns import Columns
from windrow.spark.resolve.nulls import check_policy
from windrow.spark.sessions import check_session
from windrow.spark.sources.parquet import ParquetSource
from windrow.spark.versions import from_arrow_type

PLANS = ("auto", "native", "shuffle", "scan")


@dataclass(frozen=True)
class PlanChoice:
    """The plan that runs, and the reasons for it."""

    plan: str
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join([f"plan: {self.plan}", *(f"  - {reason}" for reason in self.reasons)])

    def _repr_html_(self) -> str:
        """Return the plan and its reasons for a notebook.

        >>> PlanChoice("native", ("x < 1",))._repr_html_()
        '<p>plan: <b>native</b></p><ul><li>x &lt; 1</li></ul>'
        """
        reasons = "".join(f"<li>{escape(reason)}</li>" for reason in self.reasons)
        return f"<p>plan: <b>{escape(self.plan)}</b></p><ul>{reasons}</ul>"


def check_call(source: DataFrame | ParquetSource, nulls_on: str, plan: str) -> DataFrame:
    """Check the arguments that all verbs share, and return the DataFrame of the source."""
    df = check_source(source, streams=True)
    check_session(df.sparkSession)
    check_policy(nulls_on)
    if not is_one_of(plan, PLANS):
        raise SpecError(f"plan: expected one of {', '.join(PLANS)}; got {quoted(plan)}")
    if df.isStreaming and plan != "auto":
        raise UnsupportedError(f"plan={plan!r}: a stream has only one plan; use plan='auto'")
    return df


def check_source(source: DataFrame | ParquetSource, *, streams: bool = False, argument: str = "source") -> DataFrame:
    """Return the DataFrame of a source; reject anything else, and streams unless `streams` allows them."""
    df = source.df if isinstance(source, ParquetSource) else source
    check_dataframe(df, argument, "; Parquet files can be opened with wr.parquet")
    if df.isStreaming and not streams:
        raise UnsupportedError(f"{argument}: expected a batch DataFrame, got a streaming one")
    return df


def spark_schema(
    df: DataFrame, query: Query[Any], schema: pa.Schema, instants: Sequence[str], never_null: Collection[str]
) -> StructType:
    """Return a schema as Spark types. Values taken from a column of the table keep the type of that column."""
    source_types = {field.name: field.dataType for field in df.schema.fields}
    types = {name: source_types[name] for name in query.by} | dict.fromkeys(instants, source_types[query.on])
    for name, aggregate in query.agg.items():
        if not aggregate.columns:
            continue
        kind = query.types[aggregate.column]
        if aggregate.result_type(kind) == kind:
            types[name] = Columns(df).field(aggregate.column, "agg").dataType
    return StructType(
        [StructField(f.name, types.get(f.name) or from_arrow_type(f.type), f.name not in never_null) for f in schema]
    )


def held_values(agg: Mapping[str, AggregateFunction], of: str) -> list[str]:
    """Return notes on the aggregates that store the values of each open frame or window, and how many."""
    notes = []
    for name, aggregate in agg.items():
        if aggregate.rank_error:
            notes.append(f"{name!r} stores a summary of each {of}, within eps={aggregate.rank_error}")
        elif aggregate.most_values is not None:
            hint = "; eps= makes it a summary" if aggregate.ranks_suffice else ""
            most = f"up to max_values={aggregate.most_values:,}"
            notes.append(f"{name!r} stores every distinct value of each {of}, {most}{hint}")
    return notes
