"""Turn the arguments of `fill` into a query. Names and types are checked before any Spark job starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ByteType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
)

from windrow.aggregates import AggregateFunction
from windrow.aggregates.engine.accumulator import Accumulator
from windrow.errors import SpecError, TypeMismatchError
from windrow.rows.clock import Clock
from windrow.spark.resolve.columns import Columns, arrow_type, check_aggregates, check_distinct, check_keys
from windrow.spark.resolve.nulls import count_rows, drop_lacking, may_lack, refuse_nulls
from windrow.spark.versions import from_arrow_type

INTEGERS = (ByteType, ShortType, IntegerType, LongType)
FLOATS = (FloatType, DoubleType)
FRAME_NEEDS = "a frame needs its group, its number, its start and its end"


@dataclass(frozen=True)
class FillQuery:
    """A resolved call of `fill`: the columns of both tables by role, and the types in which they are compared."""

    on: str
    start: str
    end: str
    frame: str
    time: DataType
    frame_keys: tuple[str, ...]
    tuple_keys: tuple[str, ...]
    key_types: tuple[DataType, ...]
    order_by: tuple[str, ...]
    agg: dict[str, AggregateFunction]
    types: dict[str, pa.DataType] = field(compare=False)

    @property
    def clock(self) -> Clock:
        """The clock of `on`, `start` and `end`."""
        return Clock.of(arrow_type(StructField(self.on, self.time), self.on), self.on)

    @property
    def accumulators(self) -> list[Accumulator]:
        """The accumulators of the aggregates."""
        return [Accumulator.of(aggregate, self.types) for aggregate in self.agg.values()]

    @property
    def values(self) -> list[str | None]:
        """The columns that the aggregates read, in order; None for a count of rows."""
        return [name for aggregate in self.agg.values() for name in aggregate.columns or (None,)]


def meet(
    framed: DataFrame,
    tuples: DataFrame,
    on: str,
    by: str | Sequence[str] | None,
    agg: Mapping[str, AggregateFunction] | None,
    order_by: str | Sequence[str] | None,
) -> FillQuery:
    """Resolve the arguments, or raise an error that says what is wrong with them."""
    left, right = Columns(framed), Columns(tuples)
    on = right.find(on, "on")
    keys = right.find_all(by, "by")
    ties = right.find_all(order_by, "order_by")
    aggregates = check_aggregates(agg)
    if agg is not None and not aggregates:
        raise SpecError("agg: {} has no aggregate; give at least one, or leave agg out to have the tuples tagged")
    for name, aggregate in aggregates.items():
        for read in aggregate.columns:
            right.find(read, f"agg {name!r}")
    frame_keys = left.find_all(by, "by (in frames)")
    start, end, frame = (left.find(name, "frames") for name in ("start", "end", "frame"))
    if aggregates:
        check_distinct([*left.names, *aggregates], "the result")
    else:
        check_distinct([*right.names, "frame"], "the result")
    types = right.arrow_types([on, *keys, *ties, *(c for a in aggregates.values() for c in a.columns)])
    check_keys(types, keys)
    check_keys(types, ties, "order_by")
    Clock.of(types[on], on)
    travelling = left if aggregates else right
    travelling.arrow_types(travelling.names)
    framed_types, tuple_types = ({f.name: f.dataType for f in df.schema.fields} for df in (framed, tuples))
    _check_frame(framed_types[frame])
    time = _common_time(tuple_types[on], on, {name: framed_types[name] for name in (start, end)})
    key_types = tuple(
        _common_key(name, framed_types[theirs], tuple_types[name])
        for name, theirs in zip(keys, frame_keys, strict=True)
    )
    meeting = FillQuery(on, start, end, frame, time, frame_keys, keys, key_types, ties, aggregates, types)
    _ = meeting.accumulators
    return meeting


def _check_frame(kind: DataType) -> None:
    if not isinstance(kind, INTEGERS):
        raise TypeMismatchError(
            f"frames: column 'frame' is of type {kind.simpleString()}; it must be the frame's number, an integer"
        )


def _common_time(on_type: DataType, on: str, bounds: Mapping[str, DataType]) -> DataType:
    for name, kind in bounds.items():
        if _common([on_type, kind], mixed=True) is None:
            raise TypeMismatchError(
                f"on: column {on!r} is of type {on_type.simpleString()}, but column {name!r} of the frames is of type "
                f"{kind.simpleString()}; cast one to the type of the other"
            )
    common = _common([on_type, *bounds.values()], mixed=True)
    assert common is not None
    return common


def _common_key(name: str, framed: DataType, tuples: DataType) -> DataType:
    common = _common([framed, tuples], mixed=False)
    if common is None:
        raise TypeMismatchError(
            f"by: column {name!r} is of type {framed.simpleString()} in the frames and of type {tuples.simpleString()} "
            f"in the source; cast one to the type of the other"
        )
    if isinstance(common, StringType) and not common.isUTF8BinaryCollation():
        raise TypeMismatchError(f"by: column {name!r} is of type {common.simpleString()}; cast it to a plain string")
    return common


def _common(kinds: Sequence[DataType], mixed: bool) -> DataType | None:
    """Return the type in which to compare values. Numbers are widened; other values must already have the same type."""
    if all(kind == kinds[0] for kind in kinds):
        return kinds[0]
    if all(isinstance(kind, INTEGERS) for kind in kinds):
        return max(kinds, key=lambda kind: INTEGERS.index(type(kind)))
    numbers: tuple[type[Any], ...] = (*INTEGERS, *FLOATS) if mixed else FLOATS
    return DoubleType() if all(isinstance(kind, numbers) for kind in kinds) else None


def settle(framed: DataFrame, tuples: DataFrame, meeting: FillQuery, nulls_on: str) -> DataFrame:
    """Reject frames with nulls, apply the policy to rows with nulls, and return the remaining rows.

    For streams, this happens when the rows arrive.
    """
    if not framed.isStreaming:
        _refuse_frames(framed, meeting)
    return tuples if tuples.isStreaming else _settle_tuples(tuples, meeting, nulls_on)


def _refuse_frames(framed: DataFrame, meeting: FillQuery) -> None:
    names = [*meeting.frame_keys, meeting.frame, meeting.start, meeting.end]
    lacking = may_lack(framed, names, Columns(framed).arrow_types(names))
    if lacking:
        counts = {f"frames: column {name!r}": n for name, n in count_rows(framed, lacking).items()}
        refuse_nulls(counts, FRAME_NEEDS)


def _settle_tuples(tuples: DataFrame, meeting: FillQuery, nulls_on: str) -> DataFrame:
    lacking = may_lack(tuples, [meeting.on, *meeting.tuple_keys], meeting.types)
    if not lacking:
        return tuples
    return drop_lacking(tuples, lacking, count_rows(tuples, lacking), meeting.on, nulls_on)


def aggregate_fields(tuples: DataFrame, meeting: FillQuery) -> list[StructField]:
    """Return the result columns of the aggregates. One that returns values of its column keeps its type."""
    columns = Columns(tuples)
    kept = {f.name: f.dataType for f in tuples.schema.fields}
    fields = []
    for (name, aggregate), accumulator in zip(meeting.agg.items(), meeting.accumulators, strict=True):
        same = aggregate.columns and accumulator.result == meeting.types[aggregate.column]
        kind = kept[columns.find(aggregate.column, "agg")] if same else from_arrow_type(accumulator.result)
        fields.append(StructField(name, kind, True))
    return fields
