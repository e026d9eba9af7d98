"""What a query's checkpoint holds: open frames, waiting tuples, and the frames that are still to come of them."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from windrow.errors import SourceError
from windrow.frames.stream import Snapshot, StreamFramer, StreamPlan

FROM_TABLE = Callable[[pa.Table], pa.Table]


def open_frames(spark: SparkSession, checkpoint: str, *, operator: int = 0) -> DataFrame:
    """The state of a query over a stream, from its checkpoint: what is open and what waits, group by group.

    Parameters
    ----------
    spark
        A session.
    checkpoint
        The `checkpointLocation` of the query, which may be running.
    operator
        The number of the query's stateful operator, where it has several.

    Returns
    -------
    A row for each open frame: the `by` columns, `frame` (null while it is not sure to be one), `start`, `end` and
    `count` so far, and `waiting`, the tuples of its group that the watermark has not passed. A group that has only
    waiting tuples has a row without a frame.
    """
    rows = _buckets(spark, checkpoint, operator)
    first = rows.where("piece is null").select("data").first()
    if first is None:
        raise SourceError(f"checkpoint {checkpoint!r}: no batch has been committed yet, so there is no state")
    schema = Snapshot(bytes(first["data"])).schema
    return rows.groupBy("bucket").applyInArrow(_describe(schema), from_arrow_schema(schema))


def flushed(spark: SparkSession, plan: StreamPlan, schema: StructType, checkpoint: str, operator: int = 0) -> DataFrame:
    """The frames that an ended stream still owes: of the tuples that wait, and those that are open, cut by the end."""
    out = to_arrow_schema(schema, timezone="UTC")
    return _buckets(spark, checkpoint, operator).groupBy("bucket").applyInArrow(_finish(plan, out), schema)


def _buckets(spark: SparkSession, checkpoint: str, operator: int) -> DataFrame:
    """A row for each bucket's state, with a null piece, and one for each piece of tuples that wait in it."""
    state = spark.read.format("statestore").option("path", checkpoint).option("operatorId", operator)
    try:
        groups = state.option("stateVarName", "groups").load()
        waiting = state.option("stateVarName", "waiting").load()
        groups = groups.select("key.bucket", F.lit(None).cast("long").alias("piece"), "value.data")
        return groups.unionAll(waiting.select("key.bucket", "user_map_key.piece", "user_map_value.data"))
    except PySparkException as error:
        said = str(error).strip().splitlines()[0]
        raise SourceError(
            f"checkpoint {checkpoint!r}: operator {operator} holds no state of windrow.frames: {said}"
        ) from None


class _Pieces(dict[int, bytes]):
    """A shelf that is read and then thrown away."""

    def put(self, number: int, data: bytes) -> None:
        self[number] = data

    def read(self, number: int) -> bytes:
        return self[number]

    def drop(self, number: int) -> None:
        del self[number]


def _parts(table: pa.Table) -> tuple[bytes, _Pieces]:
    """A bucket's state and its pieces."""
    rows = list(zip(table["piece"].to_pylist(), table["data"].to_pylist(), strict=True))
    (state,) = (data for piece, data in rows if piece is None)
    return state, _Pieces({piece: data for piece, data in rows if piece is not None})


def _describe(schema: pa.Schema) -> FROM_TABLE:
    def describe(table: pa.Table) -> pa.Table:
        state, pieces = _parts(table)
        return Snapshot(state).rows(pieces.values()).cast(schema)

    return describe


def _finish(plan: StreamPlan, schema: pa.Schema) -> FROM_TABLE:
    def finish(table: pa.Table) -> pa.Table:
        state, pieces = _parts(table)
        found = StreamFramer.load(plan, pieces, state).finish()
        named = pa.concat_tables(found)
        for name in schema.names[len(named.column_names) :]:
            named = named.append_column(name, pa.nulls(len(named), schema.field(name).type))
        return named.cast(schema)

    return finish
