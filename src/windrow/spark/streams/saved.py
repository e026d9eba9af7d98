"""The state in a checkpoint, read bucket by bucket, without running the query."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from os.path import exists
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from windrow.errors import SourceError, SpecError, quoted
from windrow.filling.codec import KIND as FILL
from windrow.framing.stream import StreamPlan
from windrow.rows.buffers.waiting import MemoryShelf
from windrow.spark.arguments import check_spark
from windrow.spark.sources.paths import has_scheme
from windrow.spark.versions import to_arrow_schema
from windrow.state.arrow import check_plan, plan_of
from windrow.windows.stream import SlidePlan

FROM_TABLE = Callable[[pa.Table], pa.Table]


FRAMING, SLIDING = StreamPlan.state, SlidePlan.state
"""The names under which the operators of frames and of windows store a bucket's state and its buffered rows."""


FILLING = ("filling", "tuples")
"""The same names for the operator of `wr.fill`."""


KINDS = {FRAMING[0]: StreamPlan.kind, SLIDING[0]: SlidePlan.kind, FILLING[0]: FILL}
"""The kind of a state, by the name it is stored under."""


ESCAPED = frozenset(' "#%<>?[\\]^`{|}')
"""The characters that must be escaped in an address."""


def flushed(
    spark: SparkSession, plan: StreamPlan | SlidePlan, schema: StructType, checkpoint: str | os.PathLike[str]
) -> DataFrame:
    """Return the remaining frames or windows of a finished stream: those of buffered rows, and those cut by the end."""
    out = to_arrow_schema(schema)
    buckets = buckets_of(spark, checkpoint, plan.state, fingerprint=plan.fingerprint)
    return buckets.groupBy("bucket").applyInArrow(_finish(plan, out), schema)


def buckets_of(
    spark: SparkSession,
    checkpoint: str | os.PathLike[str],
    names: tuple[str, str],
    operator: int | None = None,
    fingerprint: Mapping[str, Any] | None = None,
) -> DataFrame:
    """Return one row per bucket's state, with a null `piece`, and one per piece of its buffered rows.

    If a query has several operators of a kind, select one by `operator` or, as `flush=` does, by the arguments it was
    started with (`fingerprint`).
    """
    try:
        return _buckets_of(spark, checkpoint, names, operator, fingerprint)
    except SourceError as error:
        if fingerprint is None:
            raise
        raise SourceError(f"flush: {error}") from None


def _buckets_of(
    spark: SparkSession,
    checkpoint: str | os.PathLike[str],
    names: tuple[str, str],
    operator: int | None,
    fingerprint: Mapping[str, Any] | None,
) -> DataFrame:
    if not isinstance(checkpoint, str | os.PathLike):
        raise SpecError(f"checkpoint: expected the checkpointLocation of a query, got {quoted(checkpoint)}")
    check_spark(spark)
    checkpoint = _readable(os.fspath(checkpoint))
    if operator is not None and (
        isinstance(operator, bool) or not isinstance(operator, int) or not 0 <= operator < 2**31
    ):
        raise SpecError(f"operator: expected the number of an operator, 0 or more, got {quoted(operator)}")
    if operator is not None:
        return _state(spark, checkpoint, names, operator)
    operators = _operators(spark, checkpoint, names[0])
    states = [_state(spark, checkpoint, names, number) for number in operators]
    if fingerprint is None and len(states) == 1:
        return states[0]
    if fingerprint is None:
        listed = ", ".join(map(str, operators))
        raise SpecError(
            f"operator: the query of checkpoint {checkpoint!r} has several such operators, {listed}; select "
            f"one, e.g. operator={operators[0]}"
        )
    heads = [state.where("piece is null").select("data").first() for state in states]
    plans = [None if first is None else plan_of(bytes(first["data"]), KINDS[names[0]]) for first in heads]
    for state, plan in zip(states, plans, strict=True):
        if plan is None or plan == fingerprint:
            return state
    check_plan(plans[0], fingerprint)
    return states[0]


def _readable(checkpoint: str) -> str:
    """Reject paths that Spark's state reader cannot open: it escapes some characters and looks for the escaped path."""
    refused = sorted({character for character in checkpoint if character in ESCAPED or ord(character) < 32})
    refused += sorted({character for character in checkpoint if 0xD800 <= ord(character) < 0xE000})  # a lone surrogate
    if not checkpoint.strip() or refused:
        why = f"it has {', '.join(map(repr, refused))}" if refused else "it is empty"
        raise SourceError(
            f"checkpoint {quoted(checkpoint)}: Spark cannot read a state at this path, {why}; rename the folder, or "
            "pass a link without these characters"
        )
    return checkpoint


def _state(spark: SparkSession, checkpoint: str, names: tuple[str, str], operator: int) -> DataFrame:
    value, pieces = names
    state = spark.read.format("statestore").option("path", checkpoint).option("operatorId", operator)
    try:
        groups = state.option("stateVarName", value).load()
        waiting = state.option("stateVarName", pieces).load()
        groups = groups.select("key.bucket", F.lit(None).cast("long").alias("piece"), "value.data")
        return groups.unionAll(waiting.select("key.bucket", "user_map_key.piece", "user_map_value.data"))
    except (PySparkException, Py4JError) as error:
        raise _no_state(checkpoint, value, error, operator) from None


def _operators(spark: SparkSession, checkpoint: str, name: str) -> list[int]:
    """Return the numbers of the operators that have a state of that name."""
    try:
        metadata = spark.read.format("state-metadata").load(checkpoint)
        rows = metadata.select("operatorId", "operatorProperties").collect()
    except (PySparkException, Py4JError) as error:
        raise _no_state(checkpoint, name, error) from None
    operators = []
    for row in sorted(rows, key=lambda row: row["operatorId"]):
        variables = json.loads(row["operatorProperties"] or "{}").get("stateVariables", [])
        if name in {variable["stateName"] for variable in variables}:
            operators.append(int(row["operatorId"]))
    if not operators:
        raise _no_state(checkpoint, name)
    return operators


def _no_state(checkpoint: str, name: str, error: Exception | None = None, operator: int | None = None) -> SourceError:
    where = "" if operator is None else f"operator {operator} of "
    of = f"windrow.{KINDS[name]}"
    why = f": {_gist(error)}" if error else ""
    if not has_scheme(checkpoint) and not exists(f"{checkpoint}/metadata"):  # noqa: PTH110, Path raises for too long a name
        why += "; expected the checkpointLocation of a query, a folder with a file 'metadata'"
    return SourceError(f"checkpoint {quoted(checkpoint)}: {where}the query holds no state of {of}{why}")


def _gist(error: Exception) -> str:
    """Return the first line of an error that describes the failure, skipping Py4J's own message."""
    lines = [line for line in str(error).splitlines() if line.strip(": ") and "occurred while calling" not in line]
    return lines[0].strip(": ") if lines else type(error).__name__


def parts_of(table: pa.Table) -> tuple[bytes, MemoryShelf]:
    """Return a bucket's state and its pieces."""
    rows = list(zip(table["piece"].to_pylist(), table["data"].to_pylist(), strict=True))
    (state,) = (data for piece, data in rows if piece is None)
    return state, MemoryShelf({piece: data for piece, data in rows if piece is not None})


def in_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Match rows to a schema by column position. Missing columns are null."""
    for name in schema.names[table.num_columns :]:
        table = table.append_column(name, pa.nulls(len(table), schema.field(name).type))
    return table.rename_columns(schema.names).cast(schema)


def _finish(plan: StreamPlan | SlidePlan, schema: pa.Schema) -> FROM_TABLE:
    def finish(table: pa.Table) -> pa.Table:
        state, pieces = parts_of(table)
        tables = plan.load(pieces, state).finish()
        return in_schema(
            pa.concat_tables([plan.request.schema.empty_table(), *tables], promote_options="default"), schema
        )

    return finish
