"""`migrate`: prepare the state of a stopped query for a different number of buckets."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from windrow.errors import SourceError
from windrow.framing.migration import OldBucket, first_share, furthest
from windrow.framing.stream import StreamPlan
from windrow.rows import wire
from windrow.spark.failures import own_errors
from windrow.spark.streams.buckets import bucket_of, check_buckets, default_buckets
from windrow.spark.streams.saved import buckets_of, parts_of
from windrow.spark.versions import from_arrow_schema
from windrow.state.arrow import about_of, saved_tables
from windrow.tuning import current_tuning
from windrow.windows.stream import SlidePlan

Plan: TypeAlias = type[StreamPlan] | type[SlidePlan]

SHARES = "bucket int, data binary"
_SHARES = pa.schema([("bucket", pa.int32()), ("data", pa.binary())])


def migrate(
    spark: SparkSession,
    checkpoint: str | os.PathLike[str],
    *,
    buckets: int | None = None,
    operator: int | None = None,
) -> DataFrame:
    """Return the state of a stopped query of `wr.frames` or `wr.slide`, ready for a different number of buckets.

    Spark cannot modify a query's state from outside. Instead, start a new query with a new checkpoint from the result
    of this function:

        state = wr.migrate(spark, "old/checkpoint", buckets=128)
        jams = wr.frames(loops, scheme, on="at", by="detector", buckets=128, initial=state)
        jams.writeStream.option("checkpointLocation", "new/checkpoint")...

    The source must resume where the old query stopped. The last file in `old/checkpoint/commits` is named after the
    last committed batch. The file of the same name in `old/checkpoint/offsets` holds the offset of each source after
    that batch, e.g. for `startingOffsets` of Kafka. For a file source, use `modifiedAfter`.

    The new query must have the same arguments as the old one, apart from `buckets`. A predicate may be spelled
    differently if its meaning is the same.

    Parameters
    ----------
    spark
        The Spark session.
    checkpoint
        The `checkpointLocation` of the query, which must have been stopped. It is only read.
    buckets
        The number of buckets of the new query; by default that of a query of this session without `buckets=`. The new
        query takes it from the result.
    operator
        The number of the stateful operator, if the query has several.

    Returns
    -------
    A DataFrame for `initial=`, with one or more rows per bucket, all of which are needed. It is read when the new query
    first starts, so keep the old checkpoint until then. It can also be written to a table and read back.
    """
    check_buckets(buckets)
    plan, rows = _state(spark, checkpoint, operator)
    kind = plan.kind
    heads = [bytes(row["data"]) for row in rows.where("piece is null").select("data").collect()]
    if not heads:
        raise SourceError(
            f"checkpoint {os.fspath(checkpoint)!r}: no batch has been committed yet, so there is no state"
        )
    first = saved_tables(heads[0], kind)[0]
    by = about_of(first)["plan"]["by"]
    number = buckets or current_tuning().buckets or default_buckets(partial(spark.conf.get, default=None)) if by else 1
    types = [(wire.key(i), first.schema.field(wire.key(i)).type) for i in range(len(by))]
    keyed = pa.schema([("bucket", pa.int32()), ("group", pa.int64()), *types])
    keys = rows.groupBy("bucket").applyInArrow(_keys(plan, keyed), from_arrow_schema(keyed))
    to = bucket_of([*map(F.col, wire.keys(len(by)))], number)
    placed = keys.select("bucket", "group", to.alias("to"))
    shares = rows.groupBy("bucket").cogroup(placed.groupBy("bucket")).applyInArrow(_shares(plan, number), SHARES)
    about = furthest(about_of(saved_tables(data, kind)[0]) for data in heads)
    with own_errors():
        counted = placed.groupBy("to").agg(F.count_distinct("bucket").alias("n")).collect()
    expected = {row["to"]: row["n"] for row in counted}
    first = [(bucket, first_share(about, number, expected.get(bucket, 0))) for bucket in range(number)]
    return spark.createDataFrame(first, SHARES).unionAll(shares)


def _state(spark: SparkSession, checkpoint: str | os.PathLike[str], operator: int | None) -> tuple[Plan, DataFrame]:
    """Return the plan that the state belongs to, and its buckets."""
    try:
        return StreamPlan, buckets_of(spark, checkpoint, StreamPlan.state, operator)
    except SourceError as error:
        try:
            return SlidePlan, buckets_of(spark, checkpoint, SlidePlan.state, operator)
        except SourceError:
            raise error from None


def _read(table: pa.Table, plan: Plan) -> tuple[int, OldBucket]:
    state, pieces = parts_of(table)
    return table["bucket"][0].as_py(), OldBucket.read(state, pieces, pieces, plan.kind, plan.version)


def _keys(plan: Plan, schema: pa.Schema) -> Callable[[pa.Table], pa.Table]:
    def keys(table: pa.Table) -> pa.Table:
        bucket, old = _read(table, plan)
        groups = old.keys()
        return groups.add_column(0, "bucket", pa.array([bucket] * len(groups), pa.int32())).cast(schema)

    return keys


def _shares(plan: Plan, buckets: int) -> Callable[[pa.Table, pa.Table], pa.Table]:
    def shares(table: pa.Table, placed: pa.Table) -> pa.Table:
        if not table.num_rows or not placed.num_rows:
            return _SHARES.empty_table()
        _, old = _read(table, plan)
        to = placed.sort_by("group")["to"].to_numpy()
        parts = list(old.shares(to, buckets))
        return pa.table([[bucket for bucket, _ in parts], [data for _, data in parts]], schema=_SHARES)

    return shares
