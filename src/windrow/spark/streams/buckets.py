"""State per bucket of groups: how rows travel to their bucket, and how Spark's state store holds the state.

Rows travel in pieces of Arrow, so Spark moves a few large rows instead of many small ones. Every call to the state
store is a round trip, so a bucket has only one value, its pieces of buffered rows, and one timer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle
from pyspark.sql.types import StructType

from windrow.errors import DataError, SessionError, SourceError, SpecError, quoted
from windrow.framing.parallel.pieces import MapInArrow
from windrow.rows.ordering import in_larger_tables
from windrow.spark.failures import plainly
from windrow.spark.streams.saved import in_schema
from windrow.spark.versions import to_arrow_schema
from windrow.state.arrow import pack, unpack
from windrow.state.checks import damaged
from windrow.state.header import BARE
from windrow.tuning import Tuning, current_tuning

BUCKET = "_windrow_bucket"
"""The column that holds a row's bucket. No column of a user has this name."""

_PACKED = pa.schema([("bucket", pa.int32()), ("dropped", pa.int64()), ("data", pa.binary())])
_PACKED_SPARK = "bucket int, dropped long, data binary"


def check_state_store(df: DataFrame) -> None:
    """Reject a session whose state store cannot hold the state."""
    provider = df.sparkSession.conf.get("spark.sql.streaming.stateStore.providerClass", "") or ""
    if "RocksDB" not in provider:
        raise SessionError(
            "streams need the RocksDB state store, but this session uses another; set "
            "spark.sql.streaming.stateStore.providerClass to "
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider, or use wr.session()"
        )


def check_buckets(buckets: Any) -> None:
    """Reject anything but a valid number of buckets; None means the default."""
    wrong = isinstance(buckets, bool) or not isinstance(buckets, int) or not 1 <= buckets <= 100_000
    if buckets is not None and wrong:
        raise SpecError(f"buckets: expected an integer from 1 to 100000, got {quoted(buckets)}")


def bucket_of(by: Sequence[Column], buckets: int) -> Column:
    """Return the bucket of a row, from the values of its group."""
    return (F.pmod(F.xxhash64(*by), F.lit(buckets)) if by else F.lit(0)).cast("int")


ROW_NEEDS = "such rows cannot be put in order; drop them first, or pass nulls_on='drop'"


def in_buckets(
    df: DataFrame,
    by: Sequence[Column],
    buckets: int,
    places: Mapping[str, str] | None = None,
    nulls_on: str = "error",
    needs: str = ROW_NEEDS,
) -> DataFrame:
    """Pack rows into pieces of Arrow per bucket. `places` names the columns that must not be null, `needs` says why."""
    packer = _packer(dict(places or {}), nulls_on, needs, current_tuning())
    return df.withColumn(BUCKET, bucket_of(by, buckets)).mapInArrow(plainly(packer), _PACKED_SPARK)


def out_of_buckets(packed: DataFrame, schema: StructType) -> DataFrame:
    """Unpack the rows from the pieces of Arrow that stateful operators return. Columns that a piece lacks are null."""
    return packed.mapInArrow(_unpacker(to_arrow_schema(schema)), schema)


def _packer(places: dict[str, str], nulls_on: str, needs: str, tuning: Tuning) -> MapInArrow:
    """Return the function that packs rows into one piece of Arrow per bucket, without the rows dropped for nulls."""

    def pack_buckets(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        dropped = 0
        for table in in_larger_tables(batches, tuning):
            whole = _without_nulls(table, places, nulls_on, needs)
            dropped += table.num_rows - whole.num_rows
            yield from _by_bucket(_in_utc(whole))
        # Bucket 0 receives something in every batch, so that a changed query is rejected before anything is framed.
        yield pa.record_batch([pa.array([0], pa.int32()), pa.array([dropped]), pa.array([b""])], schema=_PACKED)

    return pack_buckets


def _without_nulls(table: pa.Table, places: dict[str, str], nulls_on: str, needs: str) -> pa.Table:
    lacks = None
    for at, name in places.items():
        values = table.column(at)
        missing = pc.is_null(values, nan_is_null=pa.types.is_floating(values.type))
        n = pc.sum(missing).as_py() or 0
        if n and nulls_on == "error":
            raise DataError(f"column {name!r} is null or NaN in {n} row{'s'[: n - 1]}; {needs}")
        if n:
            lacks = missing if lacks is None else pc.or_(lacks, missing)
    return table if lacks is None else table.filter(pc.invert(lacks))


def _in_utc(table: pa.Table) -> pa.Table:
    """Convert timestamps to UTC, so that checkpoints do not depend on the session's time zone."""
    for i, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and field.type.tz not in (None, "UTC"):
            table = table.set_column(i, field.name, table.column(i).cast(pa.timestamp(field.type.unit, "UTC")))
    return table


def _by_bucket(table: pa.Table) -> Iterator[pa.RecordBatch]:
    bucket = table.column(BUCKET).to_numpy()
    order = np.argsort(bucket, kind="stable")
    buckets, begins = np.unique(bucket[order], return_index=True)
    rows = table.drop_columns(BUCKET).take(pa.array(order))
    ends = [*begins[1:].tolist(), order.size]
    data = [pack([rows.slice(a, b - a)]) for a, b in zip(begins.tolist(), ends, strict=True)]
    if data:
        none = pa.array(np.zeros(len(data), np.int64))
        yield pa.record_batch([pa.array(buckets, pa.int32()), none, pa.array(data, pa.binary())], schema=_PACKED)


class StateKind:
    """The operation that a bucket's state belongs to, stored under the same name for all operations.

    Each operation stores its state under its own names. On the checkpoint of another operation, it would find nothing
    and start from an empty state. When a query restarts, Spark only compares states of the same name.
    """

    def __init__(self, handle: StatefulProcessorHandle, kind: str) -> None:
        self._kind = kind
        self._value = handle.getValueState("kind", "kind string")

    def settle(self) -> None:
        """Reject a bucket of another operation; mark a new bucket as one of this operation."""
        stored = self._value.get()
        if stored is None:
            self._value.update((self._kind,))
        elif stored[0] != self._kind:
            raise SourceError(
                f"the checkpoint holds the state of wr.{stored[0]}, but this is a query of wr.{self._kind}; use a new "
                f"checkpoint, or restart the query of wr.{stored[0]}"
            )


class BucketState:
    """The state of a bucket in Spark's state store, and the timer that wakes the bucket at its next event."""

    def __init__(self, handle: StatefulProcessorHandle, kind: str, name: str, pieces: str, buckets: int) -> None:
        self._handle, self._buckets = handle, buckets
        self._kind = StateKind(handle, kind)
        self._value = handle.getValueState(name, "buckets int, timer long, data binary")
        self.shelf = StateShelf(handle, pieces)
        self._timer: int | None = None

    def load(self) -> bytes | None:
        """Return the saved state, or None for a new bucket."""
        buckets, self._timer, data = self._value.get() or (self._buckets, None, None)
        if buckets != self._buckets:
            raise SpecError(
                f"the checkpoint was written with {buckets} buckets, but the query has {self._buckets}; pass "
                f"buckets={buckets} or use a new checkpoint"
            )
        saved: bytes | None = data
        if saved is None or saved.startswith(BARE):
            self._kind.settle()
        return saved

    def save(self, data: bytes, event: int | None, reached: int, expired: int | None) -> None:
        """Save the state and wake the bucket at `event`, in milliseconds. A timer that is too early does no harm."""
        timer = None if self._timer == expired else self._timer
        wake_at = None if event is None else max(reached + 1, event)
        overdue = timer is not None and timer <= reached
        # An overdue timer would wake the bucket in this batch for work that has just been done.
        if overdue or (wake_at is not None and (timer is None or timer > wake_at)):
            if timer is not None:
                self._handle.deleteTimer(timer)
            if wake_at is not None:
                self._handle.registerTimer(wake_at)
            timer = wake_at
        self._value.update((self._buckets, timer, data))


class StateShelf:
    """The pieces of buffered rows in Spark's state store."""

    def __init__(self, handle: StatefulProcessorHandle, name: str) -> None:
        self._pieces = handle.getMapState(name, "piece long", "data binary")

    def put(self, number: int, data: bytes) -> None:
        """Store a piece."""
        self._pieces.updateValue((number,), (data,))

    def read(self, number: int) -> bytes:
        """Return a piece."""
        stored = self._pieces.getValue((number,))
        if stored is None:
            raise damaged(f"expected piece {number} of the waiting rows, got nothing")
        data: bytes = stored[0]
        return data

    def drop(self, number: int) -> None:
        """Delete a piece."""
        self._pieces.removeKey((number,))


def _unpacker(schema: pa.Schema) -> MapInArrow:
    """Return the function that turns the results of the buckets into rows."""

    def unpack_results(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for data in batch.column("data"):
                for table in unpack(data.as_buffer()):
                    yield from in_schema(table, schema).to_batches()

    return unpack_results
