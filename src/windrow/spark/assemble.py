"""`assemble`: fragments back together, in a table or in a stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import StructType

from windrow.errors import ColumnError, SpecError
from windrow.frames.assembly import KIND, MARKS, Assembly, put_together
from windrow.frames.packing import pack, unpack
from windrow.spark.buckets import (
    BUCKET,
    BUCKETS,
    StateKind,
    bucket_of,
    check_state_store,
    in_buckets,
    out_of_buckets,
)
from windrow.spark.failure import plain_errors
from windrow.spark.resolve import FRAME_COLUMNS, Columns, check_keys, column
from windrow.spark.versions import to_arrow_schema

LATE = "late"


def assemble(fragments: DataFrame, *, by: str | Sequence[str] | None = None) -> DataFrame:
    """Put the fragments of frames together again.

    Parameters
    ----------
    fragments
        The result of `wr.frames(..., fragments=True)`: as a stream, or as a table that it was written to. Fragments may
        come in any order and more than once, as from an at-least-once sink.
    by
        The columns that make a group, as in `wr.frames`. By default, the columns before `frame`, provided that the
        columns are still in the order of `wr.frames`. A table that was written with `partitionBy` has its partition
        columns last: name them here.

    Returns
    -------
    One row per frame, without `fragment` and `final`: the same rows as without fragments. A frame is returned once all
    its fragments are there, from fragment 0 to the final one. Open frames, and frames that lack a fragment, are left
    out. A repeated fragment is dropped; one with the same number but different content is an error.

    Examples
    --------
    >>> import windrow as wr
    >>> columns = (
    ...     "frame long, start int, end int, closed_at int, count long, complete boolean, fragment long, final boolean"
    ... )
    >>> pieces = [
    ...     (0, 1, 4, None, 4, False, 0, False),
    ...     (0, 5, 6, 7, 2, True, 1, True),
    ...     (1, 9, 9, None, 1, False, 0, False),
    ... ]
    >>> assemble(wr.session().createDataFrame(pieces, columns)).show()
    +-----+-----+---+---------+-----+--------+
    |frame|start|end|closed_at|count|complete|
    +-----+-----+---+---------+-----+--------+
    |    0|    1|  6|        7|    6|    true|
    +-----+-----+---+---------+-----+--------+
    <BLANKLINE>
    """
    if not hasattr(fragments, "isStreaming") or not hasattr(fragments, "columns"):
        raise SpecError(f"fragments: expected a DataFrame of fragments, got {type(fragments).__name__}")
    for name in (*FRAME_COLUMNS, *MARKS):
        if name not in fragments.columns:
            raise ColumnError.unknown(name, "fragments", fragments.columns)
    keys = _group_columns(fragments, by)
    schema = StructType([field for field in fragments.schema.fields if field.name not in (*MARKS, LATE)])
    arrow = to_arrow_schema(fragments.schema)
    check_keys({name: arrow.field(name).type for name in keys}, keys)
    if LATE in fragments.columns:
        fragments = fragments.where(column(LATE).isNull()).drop(LATE)
    arrow = pa.schema([field for field in arrow if field.name != LATE])
    if not fragments.isStreaming:
        together = _whole(keys, to_arrow_schema(schema))
        buckets = fragments.withColumn(BUCKET, bucket_of([column(name) for name in keys], BUCKETS))
        return buckets.groupBy(column(BUCKET)).applyInArrow(together, schema)
    check_state_store(fragments)
    packed = in_buckets(fragments, [column(name) for name in keys], BUCKETS)
    found = packed.groupBy("bucket").transformWithStateInPandas(
        Assembler(keys, arrow), outputStructType="data binary", outputMode="Append", timeMode="None"
    )
    return out_of_buckets(found, schema)


def _group_columns(fragments: DataFrame, by: str | Sequence[str] | None) -> list[str]:
    """Return the columns that make a group; refuse to guess where columns have been moved."""
    names = fragments.columns
    if by is not None:
        keys = list(Columns(fragments).find_all(by, "by"))
        for name in keys:
            if name in (*FRAME_COLUMNS, *MARKS, LATE):
                raise ColumnError(f"by: {name!r} describes a frame; expected the columns that make a group")
        return keys
    first = names.index("frame")
    after = [name for name in names[max(names.index(mark) for mark in MARKS) + 1 :] if name != LATE]
    if after:
        raise SpecError(
            f"by: {', '.join(map(repr, after))} after 'final', as in a table that was written with partitionBy, may be "
            f"a group column; pass the group columns, e.g. by={after}, or by=[] if there are none"
        )
    if names[first : first + len(FRAME_COLUMNS)] != list(FRAME_COLUMNS):
        raise SpecError(
            f"by: the columns are not in the order of wr.frames ({', '.join(map(repr, names))}); pass the group "
            f"columns, or by=[] if there are none"
        )
    return names[:first]


def _whole(by: list[str], schema: pa.Schema) -> Any:
    def whole(table: pa.Table) -> pa.Table:
        return put_together(table.drop_columns(BUCKET), by)[0].drop_columns(list(MARKS)).cast(schema)

    return whole


class Assembler(StatefulProcessor):
    """Keeps, for a bucket of groups, the fragments whose frame is not whole yet and which frames are done."""

    def __init__(self, by: list[str], schema: pa.Schema) -> None:
        self.by, self.schema = by, schema

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name what is kept."""
        self.state = handle.getValueState("open", "data binary")
        self.kind = StateKind(handle, KIND)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[pd.DataFrame]:
        """Fragments arrived."""
        arrived = [table for frame in rows for data in frame["data"] for table in unpack(data)]
        with plain_errors():
            saved = self.state.get()
            if saved is None:
                self.kind.settle()
            assembly = Assembly.load(saved[0], self.by, self.schema) if saved else Assembly(self.by, self.schema)
            whole = assembly.step(table.cast(self.schema) for table in arrived)
            self.state.update((assembly.save(),))
        yield pd.DataFrame({"data": [pack([whole.drop_columns(list(MARKS))])]})
