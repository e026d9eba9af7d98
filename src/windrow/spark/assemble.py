"""`assemble`: fragments back together, in a table or in a stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import StructType

from windrow.errors import ColumnError, SpecError
from windrow.frames.fragments import put_together
from windrow.frames.packing import pack, save_tables, saved_tables, unpack
from windrow.saved import BARE
from windrow.spark.buckets import BUCKET, BUCKETS, StateKind, bucket_of, in_buckets, out_of_buckets
from windrow.spark.resolve import FRAME_COLUMNS, check_keys, column
from windrow.spark.versions import to_arrow_schema

MARKS = ("fragment", "final")
KIND = "assemble"
"""The kind of what is kept."""


def assemble(fragments: DataFrame) -> DataFrame:
    """Put the fragments of frames together again.

    Parameters
    ----------
    fragments
        What `wr.frames(..., fragments=True)` gives: as a stream, or as a table that it was written to.

    Returns
    -------
    One row a frame, without `fragment` and `final`: the same rows as without fragments. A frame comes out once its last
    fragment is there; a frame that is still open is left out.

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
    if not hasattr(fragments, "isStreaming"):
        raise SpecError(f"{fragments!r} is no DataFrame of fragments")
    names = fragments.columns
    for name in (*FRAME_COLUMNS, *MARKS):
        if name not in names:
            raise ColumnError.unknown(name, "fragments", names)
    by = names[: names.index("frame")]
    schema = StructType([field for field in fragments.schema.fields if field.name not in MARKS])
    pieces = to_arrow_schema(fragments.schema)
    check_keys({name: pieces.field(name).type for name in by}, by)
    if not fragments.isStreaming:
        together = _whole(by, to_arrow_schema(schema))
        buckets = fragments.withColumn(BUCKET, bucket_of([column(name) for name in by], BUCKETS))
        return buckets.groupBy(column(BUCKET)).applyInArrow(together, schema)
    packed = in_buckets(fragments, [column(name) for name in by], BUCKETS)
    found = packed.groupBy("bucket").transformWithStateInPandas(
        Assembler(by), outputStructType="data binary", outputMode="Append", timeMode="None"
    )
    return out_of_buckets(found, schema)


def _whole(by: list[str], schema: pa.Schema) -> Any:
    def whole(table: pa.Table) -> pa.Table:
        return put_together(table.drop_columns(BUCKET), by)[0].drop_columns(list(MARKS)).cast(schema)

    return whole


class Assembler(StatefulProcessor):
    """Keeps, for a bucket of groups, what there is of frames whose last piece has not come."""

    def __init__(self, by: list[str]) -> None:
        self.by = by

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name what is kept."""
        self.open = handle.getValueState("open", "data binary")
        self.kind = StateKind(handle, KIND)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[pd.DataFrame]:
        """Fragments arrived."""
        kept = self.open.get()
        if kept is None or kept[0].startswith(BARE):
            self.kind.settle()
        pieces = saved_tables(kept[0], KIND) if kept else []
        for frame in rows:
            for data in frame["data"]:
                pieces += unpack(data)
        if pieces:
            whole, rest = put_together(pa.concat_tables(pieces), self.by)
            self.open.update((save_tables(KIND, [rest]),))
            yield pd.DataFrame({"data": [pack([whole.drop_columns(list(MARKS))])]})
