"""Frames of a stream: one stateful operator whose state is kept by bucket of groups, not by group.

Tuples travel to their bucket as pieces of Arrow, so that Spark moves a few large rows and not many small ones, and so
do frames on their way out. In between, `frames/stream.py` does the work; here are only Spark's side of it: where the
state is kept, when a bucket is woken, and what the query's progress tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BooleanType, LongType, StructField, StructType, TimestampType

from windrow.errors import DataError, SessionError, SpecError, TypeMismatchError, UnsupportedError
from windrow.frames.packing import pack, unpack
from windrow.frames.request import Request
from windrow.frames.stream import WHOLE, StreamFramer, StreamPlan
from windrow.spark.checkpoint import flushed
from windrow.spark.pieces import MapInArrow
from windrow.spark.shuffle import in_larger_tables, select_tuples

BUCKET = "_windrow_bucket"
"""The column with a row's bucket: a name that no column of a user's has."""
BUCKETS = 32
"""How many buckets by default: the most cores that one query can use."""
LATE = ("drop", "emit")
COUNTED = ("arrived", "late", "framed", "dropped")
"""What is told of each batch of the query, under `observedMetrics` of its progress."""

_PACKED = pa.schema([("bucket", pa.int32()), ("dropped", pa.int64()), ("data", pa.binary())])
_PACKED_SPARK = "bucket int, dropped long, data binary"
_FOUND_SPARK = "arrived long, late long, framed long, dropped long, data binary"


@dataclass(frozen=True)
class StreamOptions:
    """How a stream is framed and reported; none of these has a meaning for a table."""

    fragments: bool = False
    ordered: bool = False
    late: str = "drop"
    buckets: int | None = None
    flush: str | None = None

    def __post_init__(self) -> None:
        for name in ("fragments", "ordered"):
            if not isinstance(getattr(self, name), bool):
                raise SpecError(f"{name}: {getattr(self, name)!r} is neither True nor False")
        if self.late not in LATE:
            raise SpecError(f"late: {self.late!r} is not a policy; it must be one of {', '.join(LATE)}")
        if self.flush is not None and not isinstance(self.flush, str):
            raise SpecError(
                f"flush: {self.flush!r} is no checkpoint; give the checkpointLocation of the query that has ended"
            )
        n = self.buckets
        if n is not None and (isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= 100_000):
            raise SpecError(f"buckets: {n!r} is no number of buckets; it must be a whole number from 1 to 100000")

    def refuse_for_tables(self) -> None:
        """Refuse options that only a stream can have."""
        default = StreamOptions()
        for name in ("fragments", "ordered", "late", "buckets", "flush"):
            if getattr(self, name) != getattr(default, name):
                raise UnsupportedError(
                    f"{name}={getattr(self, name)!r} is for streams, and the source is no streaming DataFrame"
                )


def check_stream(df: DataFrame, request: Request, options: StreamOptions) -> None:
    """Refuse a stream that cannot be put in order, and a session that cannot keep its state."""
    provider = df.sparkSession.conf.get("spark.sql.streaming.stateStore.providerClass", "") or ""
    if "RocksDB" not in provider:
        raise SessionError(
            "streams are framed with the RocksDB state store, and this session has another; set "
            "spark.sql.streaming.stateStore.providerClass to "
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider, or use wr.session()"
        )
    if options.ordered:
        return
    field = df.schema[request.on]
    if not isinstance(field.dataType, TimestampType):
        raise TypeMismatchError(
            f"on: column {request.on!r} is of type {field.dataType.simpleString()}; a stream is put in order by the "
            "watermark of a timestamp; where tuples arrive in order already, say ordered=True"
        )
    if not any("watermark" in key.lower() for key in field.metadata or {}):
        raise SpecError(
            f"on: column {request.on!r} has no watermark, so nothing tells when a tuple can be framed; call "
            f"withWatermark({request.on!r}, '10 seconds') on the stream, or say ordered=True if tuples arrive in order"
        )


def stream_schema(schema: StructType, df: DataFrame, request: Request, options: StreamOptions) -> StructType:
    """The schema of a batch result, with `fragment` and `final`, and `late` if late tuples are wanted."""
    may_lack = {"start", "end"} if options.fragments else set()
    fields = [StructField(f.name, f.dataType, f.nullable or f.name in may_lack) for f in schema.fields]
    fields += [StructField("fragment", LongType(), False), StructField("final", BooleanType(), False)]
    if options.late == "emit":
        fields = [StructField(f.name, f.dataType, f.nullable or f.name not in request.by) for f in fields]
        fields.append(StructField("late", StructType(df.schema.fields), True))
    return StructType(fields)


def stream_frames(
    df: DataFrame, request: Request, schema: StructType, options: StreamOptions, nulls_on: str
) -> DataFrame:
    """Frames of a streaming DataFrame."""
    buckets = (options.buckets or BUCKETS) if request.by else 1
    tuples, layout = select_tuples(df, request, whole_as=WHOLE if options.late == "emit" else None)
    plan = StreamPlan(request, layout, options.ordered, options.fragments)
    if options.flush is not None:
        return flushed(df.sparkSession, plan, schema, options.flush)
    places = {layout.on: request.on, **dict(zip(layout.by, request.by, strict=True))}
    packed = in_buckets(tuples, [F.col(name) for name in layout.by], buckets, places, nulls_on)
    out = to_arrow_schema(schema, timezone="UTC")
    found = packed.groupBy("bucket").transformWithStateInPandas(
        BucketProcessor(plan, buckets, out if options.late == "emit" else None),
        outputStructType=_FOUND_SPARK,
        outputMode="Append",
        timeMode="None" if options.ordered else "EventTime",
    )
    counted = found.observe(f"windrow {request.scheme!r}", *(F.sum(name).alias(name) for name in COUNTED))
    return out_of_buckets(counted, schema)


def bucket_of(by: Sequence[Column], buckets: int) -> Column:
    """The bucket of a row, by the values of its group."""
    return (F.pmod(F.xxhash64(*by), F.lit(buckets)) if by else F.lit(0)).cast("int")


def in_buckets(
    df: DataFrame, by: Sequence[Column], buckets: int, places: Mapping[str, str] | None = None, nulls_on: str = "error"
) -> DataFrame:
    """Rows in pieces of Arrow by bucket; `places` names the columns that may not be null, as the user knows them."""
    return df.withColumn(BUCKET, bucket_of(by, buckets)).mapInArrow(
        _packer(dict(places or {}), nulls_on), _PACKED_SPARK
    )


def out_of_buckets(found: DataFrame, schema: StructType) -> DataFrame:
    """The rows in the pieces of Arrow that stateful operators give; columns that a piece lacks are null."""
    return found.mapInArrow(_unpacker(to_arrow_schema(schema, timezone="UTC")), schema)


def _packer(places: dict[str, str], nulls_on: str) -> MapInArrow:
    """The function that sorts rows into buckets, a piece of Arrow each; rows without a place are dropped here."""

    def pack_buckets(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        dropped = 0
        for table in in_larger_tables(batches):
            whole = _without_nulls(table, places, nulls_on)
            dropped += table.num_rows - whole.num_rows
            yield from _by_bucket(_in_utc(whole))
        # The first bucket hears of every batch, so that a query that was changed is refused before anything is framed.
        yield pa.record_batch([pa.array([0], pa.int32()), pa.array([dropped]), pa.array([b""])], schema=_PACKED)

    return pack_buckets


def _without_nulls(table: pa.Table, places: dict[str, str], nulls_on: str) -> pa.Table:
    lacks = None
    for at, name in places.items():
        values = table.column(at)
        missing = pc.is_null(values, nan_is_null=pa.types.is_floating(values.type))
        n = pc.sum(missing).as_py() or 0
        if n and nulls_on == "error":
            raise DataError(
                f"column {name!r} is null or NaN in {n} tuples of the stream; a tuple needs its place: drop them "
                "before, or say nulls_on='drop'"
            )
        if n:
            lacks = missing if lacks is None else pc.or_(lacks, missing)
    return table if lacks is None else table.filter(pc.invert(lacks))


def _in_utc(table: pa.Table) -> pa.Table:
    """The same instants, named in UTC, so that a session's time zone leaves no trace in a checkpoint."""
    for i, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and field.type.tz not in (None, "UTC"):
            table = table.set_column(i, field.name, table.column(i).cast(pa.timestamp(field.type.unit, "UTC")))
    return table


def _by_bucket(table: pa.Table) -> Iterator[pa.RecordBatch]:
    bucket = table.column(BUCKET).to_numpy()
    order = np.argsort(bucket, kind="stable")
    buckets, begins = np.unique(bucket[order], return_index=True)
    tuples = table.drop_columns(BUCKET).take(pa.array(order))
    ends = [*begins[1:].tolist(), order.size]
    data = [pack([tuples.slice(a, b - a)]) for a, b in zip(begins.tolist(), ends, strict=True)]
    if data:
        none = pa.array(np.zeros(len(data), np.int64))
        yield pa.record_batch([pa.array(buckets, pa.int32()), none, pa.array(data, pa.binary())], schema=_PACKED)


class BucketProcessor(StatefulProcessor):
    """Keeps a bucket's state in Spark's state store and wakes it when the watermark has passed what waits there."""

    def __init__(self, plan: StreamPlan, buckets: int, late: pa.Schema | None) -> None:
        self.plan, self.buckets, self.late = plan, buckets, late

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name what is kept: the groups with all they need, and the tuples that wait."""
        self.handle = handle
        self.groups = handle.getValueState("groups", "buckets int, timer long, data binary")
        self.shelf = StateShelf(handle)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[pd.DataFrame]:
        """Tuples arrived."""
        arrived: list[pa.Table] = []
        dropped = 0
        for frame in rows:
            dropped += int(frame["dropped"].sum())
            for data in frame["data"]:
                arrived += unpack(data)
        yield self._step(arrived, dropped, timerValues, None)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:
        """The watermark has passed what the bucket waits for."""
        yield self._step([], 0, timerValues, expiredTimerInfo.getExpiryTimeInMs())

    def _step(self, arrived: list[pa.Table], dropped: int, timer_values: Any, expired: int | None) -> pd.DataFrame:
        kept = self.groups.get()
        buckets, timer, data = kept or (self.buckets, None, None)
        if buckets != self.buckets:
            raise SpecError(
                f"the checkpoint was written with {buckets} buckets and the query has {self.buckets}; say "
                f"buckets={buckets}, or start with a new checkpoint"
            )
        bucket = StreamFramer.load(self.plan, self.shelf, data)
        reached = 0 if self.plan.ordered else timer_values.getCurrentWatermarkInMs()
        found, late = bucket.step(arrived, 1000 * reached if reached > 0 else None)
        timer = self._wake(bucket, reached, None if timer == expired else timer)
        self.groups.update((self.buckets, timer, bucket.save()))
        found += [] if self.late is None else [late_rows(table, self.plan, self.late) for table in late if len(table)]
        told: dict[str, Any] = {
            "arrived": bucket.counts.arrived,
            "late": bucket.counts.late,
            "framed": bucket.counts.framed,
        }
        told |= {"dropped": dropped, "data": pack(found)}
        return pd.DataFrame({name: [value] for name, value in told.items()})

    def _wake(self, bucket: StreamFramer, reached: int, timer: int | None) -> int | None:
        """Have the bucket woken when it has something to do; a timer that comes too early does no harm."""
        event = None if self.plan.ordered else bucket.next_event()
        if event is None or (timer is not None and timer <= max(reached, -(-event // 1000))):
            return timer
        if timer is not None:
            self.handle.deleteTimer(timer)
        timer = max(reached + 1, -(-event // 1000))
        self.handle.registerTimer(timer)
        return timer


class StateShelf:
    """Waiting tuples in Spark's state store."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._pieces = handle.getMapState("waiting", "piece long", "data binary")

    def put(self, number: int, data: bytes) -> None:
        """Keep a piece."""
        self._pieces.updateValue((number,), (data,))

    def take(self, number: int) -> bytes:
        """Give a piece and forget it."""
        kept = self._pieces.getValue((number,))
        assert kept is not None
        self._pieces.removeKey((number,))
        data: bytes = kept[0]
        return data


def late_rows(table: pa.Table, plan: StreamPlan, schema: pa.Schema) -> pa.Table:
    """Late tuples as rows of the result: their group, and themselves."""
    known = dict(zip(plan.request.by, map(table.column, plan.layout.by), strict=True)) | {"late": table.column(WHOLE)}
    columns = [known[f.name].cast(f.type) if f.name in known else pa.nulls(len(table), f.type) for f in schema]
    return pa.table(columns, schema=schema)


def _unpacker(schema: pa.Schema) -> MapInArrow:
    """The function that turns what the buckets found into rows."""

    def unpack_found(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for data in batch.column("data"):
                for table in unpack(data.as_buffer()):
                    for name in schema.names[len(table.column_names) :]:
                        table = table.append_column(name, pa.nulls(len(table), schema.field(name).type))
                    yield from table.cast(schema).to_batches()

    return unpack_found
