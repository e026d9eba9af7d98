"""State per bucket of groups: how rows travel to their bucket, and how Spark's state store holds the state.

Rows travel in pieces of Arrow, so Spark moves a few large rows instead of many small ones. Every call to the state
store is a round trip, so a bucket has only one value, its pieces of buffered rows, and one timer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle
from pyspark.sql.types import StructType

from windrow.errors import DataError, SessionError, SourceError, SpecError, quoted
from windrow.framing.parallel.pieces import MapInArrow
from windrow.rows.ordering import in_larger_tables
from windrow.spark.failures import plainly
from windrow.spark.sessions import SHUFFLE_PARTITIONS, STATE_PARTITIONS
from windrow.spark.streams.lineage import KNOWN_AT, mark_of
from windrow.spark.streams.saved import in_schema
from windrow.spark.versions import to_arrow_schema
from windrow.state.arrow import pack, unpack
from windrow.state.checks import damaged
from windrow.state.header import BARE
from windrow.tuning import Tuning, current_tuning

BUCKET = "_windrow_bucket"
"""The column that holds a row's bucket. No column of a user has this name."""

MOST_BUCKETS = 32
"""The most buckets that a stream's state has by default."""

PARTITIONS = (STATE_PARTITIONS, SHUFFLE_PARTITIONS)
"""The settings that hold the number of partitions of a query's state, the first that is set. Spark stores the number in
the checkpoint, and a query that is restarted has it again in its settings, whatever the session has."""

_PACKED = pa.schema([("bucket", pa.int32()), ("buckets", pa.int32()), ("dropped", pa.int64()), ("data", pa.binary())])
_PACKED_SPARK = "bucket int, buckets int, dropped long, data binary"


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


def default_buckets(setting: Callable[[str], str | None]) -> int:
    """Return the number of buckets of a query whose settings `setting` returns: one per partition, up to 32.

    >>> default_buckets({"spark.sql.shuffle.partitions": "4"}.get), default_buckets({}.get)
    (4, 32)
    """
    partitions = next(filter(None, map(setting, PARTITIONS)), None)
    return min(MOST_BUCKETS, int(partitions)) if partitions else MOST_BUCKETS


def bucket_of(by: Sequence[Column], buckets: int) -> Column:
    """Return the bucket of a row, from the values of its group."""
    return (F.pmod(F.xxhash64(*by), F.lit(buckets)) if by else F.lit(0)).cast("int")


ROW_NEEDS = "such rows cannot be put in order; drop them first, or pass nulls_on='drop'"


def in_buckets(
    df: DataFrame,
    by: Sequence[Column],
    buckets: int | None,
    places: Mapping[str, str] | None = None,
    nulls_on: str = "error",
    needs: str = ROW_NEEDS,
) -> DataFrame:
    """Pack rows into pieces of Arrow per bucket. `places` names the columns that must not be null, `needs` says why.

    Without a number of buckets, the tasks find it in the settings of the query (`default_buckets`).
    """
    packer = _packer(buckets, dict(places or {}), nulls_on, needs, current_tuning())
    hashed = F.xxhash64(*by) if by else F.lit(0).cast("long")
    return df.withColumn(BUCKET, hashed).mapInArrow(plainly(packer), _PACKED_SPARK)


def out_of_buckets(packed: DataFrame, schema: StructType) -> DataFrame:
    """Unpack the rows from the pieces of Arrow that stateful operators return. Columns that a piece lacks are null.

    If the result has `known_at`, it is that of the operator, one value per piece.
    """
    has_known_at = mark_of(schema.fields[-1], KNOWN_AT) is not None and KNOWN_AT in packed.columns
    selected = packed.select(*([KNOWN_AT, "data"] if has_known_at else ["data"]))
    return selected.mapInArrow(_unpacker(to_arrow_schema(schema)), schema)


def _packer(buckets: int | None, places: dict[str, str], nulls_on: str, needs: str, tuning: Tuning) -> MapInArrow:
    """Return the function that packs rows into one piece of Arrow per bucket, without the rows dropped for nulls."""

    def pack_buckets(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        dropped = 0
        context = TaskContext.get()
        number = buckets or default_buckets(context.getLocalProperty if context else lambda _: None)
        for table in in_larger_tables(batches, tuning):
            whole = _without_nulls(table, places, nulls_on, needs)
            dropped += table.num_rows - whole.num_rows
            yield from _by_bucket(_in_utc(whole), number)
        # Bucket 0 receives something in every batch, so that a changed query is rejected before anything is framed.
        yield _packed(np.zeros(1), number, [b""], dropped)

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


def _by_bucket(table: pa.Table, number: int) -> Iterator[pa.RecordBatch]:
    bucket = table.column(BUCKET).to_numpy() % number
    order = np.argsort(bucket, kind="stable")
    buckets, begins = np.unique(bucket[order], return_index=True)
    rows = table.drop_columns(BUCKET).take(pa.array(order))
    ends = [*begins[1:].tolist(), order.size]
    data = [pack([rows.slice(a, b - a)]) for a, b in zip(begins.tolist(), ends, strict=True)]
    if data:
        yield _packed(buckets, number, data)


def _packed(buckets: npt.NDArray[Any], number: int, data: Sequence[bytes], dropped: int = 0) -> pa.RecordBatch:
    """Return pieces of Arrow with their buckets, the number of all buckets, and how many rows were dropped."""
    counts = np.full(len(data), number, np.int32), np.full(len(data), dropped, np.int64)
    columns = [buckets.astype(np.int32), *counts, pa.array(data, pa.binary())]
    return pa.record_batch([*map(pa.array, columns[:3]), columns[3]], schema=_PACKED)


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

    def __init__(self, handle: StatefulProcessorHandle, kind: str, name: str, pieces: str) -> None:
        self._handle = handle
        self.buckets: int | None = None
        self._kind = StateKind(handle, kind)
        self._value = handle.getValueState(name, "buckets int, timer long, data binary")
        self.shelf = StateShelf(handle, pieces)
        self._timer: int | None = None

    def load(self, buckets: int | None) -> bytes | None:
        """Return the saved state, or None for a new bucket. Without rows, the number of buckets is unknown."""
        stored, self._timer, data = self._value.get() or (None, None, None)
        if stored is not None and buckets is not None and stored != buckets:
            raise SpecError(
                f"the checkpoint was written with {stored} buckets, but the query has {buckets}; pass "
                f"buckets={stored} or use a new checkpoint"
            )
        self.buckets = buckets if stored is None else stored
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
        self._value.update((self.buckets, timer, data))


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
            instants = batch.column(KNOWN_AT) if batch.num_columns > 1 else None
            for i, data in enumerate(batch.column("data")):
                for table in unpack(data.as_buffer()):
                    if instants is None:
                        yield from in_schema(table, schema).to_batches()
                    else:
                        yield from _known_at(in_schema(table, schema.remove(len(schema) - 1)), instants[i]).to_batches()

    return unpack_results


def _known_at(table: pa.Table, instant: pa.Scalar) -> pa.Table:
    """Return a result with `known_at` as its last column."""
    column = pa.repeat(instant.cast(pa.timestamp("us", "UTC")), len(table))
    return table.append_column(pa.field(KNOWN_AT, column.type, nullable=False), column)
