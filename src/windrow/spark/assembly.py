"""`assemble`: put fragments back together, in a table or a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BooleanType, DataType, IntegralType, StructField, StructType

from windrow.errors import ColumnError, SpecError, TypeMismatchError
from windrow.framing.assembly import KIND, Assembly, put_together
from windrow.framing.query import COMPLETE_UNTIL, OPEN_SINCE
from windrow.framing.schemes.base import FRAME_COLUMNS, MARKS
from windrow.rows import wire
from windrow.rows.clock import Clock
from windrow.spark.arguments import check_dataframe
from windrow.spark.failures import plain_errors
from windrow.spark.resolve.columns import Columns, check_distinct, check_keys, column
from windrow.spark.streams.buckets import (
    StateKind,
    StateShelf,
    check_state_store,
    in_buckets,
    out_of_buckets,
)
from windrow.spark.streams.lineage import KNOWN_AT, MARK, mark_of
from windrow.spark.versions import to_arrow_schema
from windrow.state.arrow import pack, unpack
from windrow.tuning import current_tuning

LATE = "late"
EXPECTED: dict[type[DataType], tuple[str, tuple[str, ...]]] = {
    IntegralType: ("an integer", ("frame", "count", "fragment")),
    BooleanType: ("a boolean", ("complete", "final")),
}
NEEDED = ("frame", "count", *MARKS)
BUCKETS = 32
"""The number of buckets. A checkpoint does not hold it, so it cannot depend on the session."""
"""The columns that are never null in a fragment, apart from the group columns."""
NEEDS = "wr.frames never writes such fragments; drop them, or check where they come from"


def assemble(fragments: DataFrame, *, by: str | Sequence[str] | None = None) -> DataFrame:
    """Put the fragments of each frame back together.

    Parameters
    ----------
    fragments
        The result of `wr.frames(..., fragments=True)`, as a stream or as a table it was written to. Fragments may
        arrive in any order and more than once, as from an at-least-once sink.
    by
        The columns that define a group, as in `wr.frames`. By default, the columns before `frame`, provided that the
        columns are still in the order of `wr.frames`. A table written with `partitionBy` has its partition columns
        last: name them here.

    Returns
    -------
    One row per frame, without `fragment` and `final`: the same rows as without fragments. A frame is returned once all
    its fragments have arrived, from fragment 0 to the final one. Open frames and frames that lack a fragment are left
    out. A repeated fragment is dropped; one with the same number but different content is an error. A stream forgets
    the fragments of the frames it has returned, and drops any further ones.

    Examples
    --------
    >>> import windrow as wr
    >>> columns = "frame long, start int, end int, closed_at int, count long, complete boolean"
    >>> columns += ", fragment long, final boolean"
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
    check_dataframe(fragments, "fragments")
    _check_columns(fragments)
    if _has_late_rows(fragments):
        fragments = fragments.where(column(LATE).isNull()).drop(LATE)
    if {COMPLETE_UNTIL, OPEN_SINCE} <= {*fragments.columns}:
        # Punctuation has no frame.
        fragments = fragments.where(column("frame").isNotNull()).drop(COMPLETE_UNTIL, OPEN_SINCE)
    keys = _group_columns(fragments, by)
    names = fragments.columns
    schema = StructType([_without_mark(field) for field in fragments.schema.fields if field.name not in MARKS])
    arrow = to_arrow_schema(fragments.schema)
    check_keys({name: arrow.field(name).type for name in keys}, keys)
    # Columns are addressed by position: PySpark cannot find a column whose name contains a dot or a backtick.
    places = {wire.column(i): name for i, name in enumerate(names) if name in keys or name in NEEDED}
    packed = in_buckets(
        fragments.toDF(*wire.columns(len(names))),
        [column(wire.column(names.index(name))) for name in keys],
        current_tuning().buckets or BUCKETS,
        places,
        needs=NEEDS,
    )
    if not fragments.isStreaming:
        return out_of_buckets(packed.groupBy("bucket").applyInArrow(_whole(keys, arrow), "data binary"), schema)
    check_state_store(fragments)
    assembled = packed.groupBy("bucket").transformWithStateInPandas(
        Assembler(keys, arrow), outputStructType="data binary", outputMode="Append", timeMode="None"
    )
    return out_of_buckets(assembled, schema)


def _check_columns(fragments: DataFrame) -> None:
    """Reject a table in which a fragment column is missing, duplicated or of the wrong type."""
    for name in (*FRAME_COLUMNS, *MARKS):
        if name not in fragments.columns:
            raise ColumnError.unknown(name, "fragments", fragments.columns)
    check_distinct(fragments.columns, "the result")
    for expected, (described, names) in EXPECTED.items():
        for name in names:
            actual = fragments.schema[name].dataType
            if not isinstance(actual, expected):
                raise TypeMismatchError(
                    f"fragments: column {name!r} is of type {actual.simpleString()}; expected {described}, as "
                    "wr.frames returns it. Text files need a schema when they are read"
                )
    Clock.of(to_arrow_schema(StructType([fragments.schema["start"]])).field(0).type, "start")


def _without_mark(field: StructField) -> StructField:
    """Return a column of whole frames without the mark of the stream that they came from; `known_at` keeps its own."""
    mark = mark_of(field)
    if mark is None or mark["role"] == KNOWN_AT:
        return field
    metadata = {key: value for key, value in field.metadata.items() if key != MARK}
    return StructField(field.name, field.dataType, field.nullable, metadata)


def _has_late_rows(fragments: DataFrame) -> bool:
    """Return whether the table has the column of `late="emit"`, rather than an aggregate of that name."""
    return LATE in fragments.columns and isinstance(fragments.schema[LATE].dataType, StructType)


def _group_columns(fragments: DataFrame, by: str | Sequence[str] | None) -> list[str]:
    """Return the columns that define a group; refuse to guess if columns have been reordered."""
    names = fragments.columns
    if by is not None:
        keys = list(Columns(fragments).find_all(by, "by"))
        for name in keys:
            if name in (*FRAME_COLUMNS, *MARKS):
                raise ColumnError(f"by: {name!r} describes a frame; expected the columns that make a group")
        return keys
    first = names.index("frame")
    after = [name for name in names[max(names.index(mark) for mark in MARKS) + 1 :] if name != KNOWN_AT]
    if after:
        raise SpecError(
            f"by: {', '.join(map(repr, after))} after 'final', as in a table that was written with partitionBy, may be "
            f"a group column; pass the group columns, e.g. by={after}, or by=[] if there is only one group"
        )
    if names[first : first + len(FRAME_COLUMNS)] != list(FRAME_COLUMNS):
        raise SpecError(
            f"by: the columns are not in the order of wr.frames ({', '.join(map(repr, names))}); pass the group "
            f"columns, or by=[] if there is only one group"
        )
    return names[:first]


def _whole(by: list[str], schema: pa.Schema) -> Any:
    def whole(packed: pa.Table) -> pa.Table:
        pieces = _unpacked(packed["data"].to_pylist(), schema)
        with plain_errors():
            frames = put_together(pa.concat_tables([schema.empty_table(), *pieces]), by)[0]
        return pa.table({"data": [pack([frames.drop_columns(list(MARKS))])]}, pa.schema([("data", pa.binary())]))

    return whole


def _unpacked(packed: Iterable[bytes], schema: pa.Schema) -> list[pa.Table]:
    tables = (table for data in packed for table in unpack(data))
    return [table.rename_columns(schema.names).cast(schema) for table in tables]


class Assembler(StatefulProcessor):
    """A stateful operator that stores, per bucket of groups, the fragments of unfinished frames and which are done."""

    def __init__(self, by: list[str], schema: pa.Schema) -> None:
        self.by, self.schema, self.tuning = by, schema, current_tuning()

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state variables."""
        self.state = handle.getValueState("open", "data binary")
        self.shelf = StateShelf(handle, "assembled")
        self.kind = StateKind(handle, KIND)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[pd.DataFrame]:
        """Add the fragments that arrived and return the frames that are now complete."""
        arrived = _unpacked((data for frame in rows for data in frame["data"]), self.schema)
        with plain_errors():
            saved = self.state.get()
            if saved is None:
                self.kind.settle()
            bucket = (self.by, self.schema, self.shelf, self.tuning)
            assembly = Assembly.load(saved[0], *bucket) if saved else Assembly(*bucket)
            whole = assembly.step(arrived)
            self.state.update((assembly.save(),))
        yield pd.DataFrame({"data": [pack([whole.drop_columns(list(MARKS))])]})
