"""Turn the arguments of `fill` into a query. Names and types are checked before any Spark job starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
from windrow.errors import SpecError, TypeMismatchError, UnsupportedError
from windrow.rows.clock import Clock
from windrow.rows.roles import Roles
from windrow.spark.resolve.columns import Columns, arrow_type, check_distinct, resolve_roles
from windrow.spark.resolve.nulls import count_rows, drop_lacking, may_lack, refuse_nulls
from windrow.spark.versions import from_arrow_type

INTEGERS = (ByteType, ShortType, IntegerType, LongType)
FLOATS = (FloatType, DoubleType)
FRAME_NEEDS = "a frame needs its group, its number, its start and its end"


@dataclass(frozen=True)
class FrameRoles:
    """The columns of the frames by role, spelled as in the table."""

    by: tuple[str, ...]
    number: str
    start: str
    end: str


@dataclass(frozen=True)
class FillQuery:
    """A resolved call of `fill`: the columns of both sides by role, and the types in which they are compared."""

    source: Roles
    frames: FrameRoles
    time: DataType
    """The common type of `on`, `start` and `end`."""
    key_types: tuple[DataType, ...]
    """The common types of the `by` columns."""

    @property
    def agg(self) -> dict[str, AggregateFunction]:
        """The aggregates, by the name of the result; without any, rows are tagged."""
        return self.source.agg

    @property
    def accumulators(self) -> list[Accumulator]:
        """One accumulator per aggregate, on the common clock."""
        return [Accumulator.of(aggregate, self.source.types, self.clock) for aggregate in self.agg.values()]

    @property
    def clock(self) -> Clock:
        """The clock of `on`, `start` and `end`."""
        return Clock.of(arrow_type(StructField(self.source.on, self.time), self.source.on), self.source.on)


def resolve_fill(
    frames: DataFrame,
    source: DataFrame,
    on: str,
    by: str | Sequence[str] | None,
    agg: Mapping[str, AggregateFunction] | None,
    order_by: str | Sequence[str] | None,
) -> FillQuery:
    """Return the query for filling, or raise an error that says what is wrong with the arguments."""
    roles = resolve_roles(source, on, by, agg, order_by)
    if agg is not None and not roles.agg:
        raise SpecError("agg: {} has no aggregate; pass at least one, or omit agg to tag the rows")
    columns = Columns(frames)
    frame_roles = FrameRoles(
        columns.find_all(by, "by (in frames)"),
        *(columns.find(name, "frames") for name in ("frame", "start", "end")),
    )
    check_distinct([*frames.columns, *roles.agg] if roles.agg else [*source.columns, "frame"], "the result")
    # The columns of the result pass through Arrow, so all of them must have an Arrow type.
    result_side = columns if roles.agg else Columns(source)
    result_side.arrow_types(result_side.names)
    _ = roles.accumulators
    return _with_common_types(frames, source, roles, frame_roles)


def refuse_carrying(query: FillQuery) -> None:
    """Reject aggregates that carry in values from before a frame, whose rows a stream has released by then."""
    for name, accumulator in zip(query.agg, query.accumulators, strict=True):
        if accumulator.carries:
            raise UnsupportedError(
                f"agg {name!r}: carry=True requires tables, because a stream releases the rows before a frame; omit "
                "carry, or fill a table of frames from a table"
            )


def _with_common_types(frames: DataFrame, source: DataFrame, roles: Roles, frame_roles: FrameRoles) -> FillQuery:
    in_frames, in_source = ({f.name: f.dataType for f in df.schema.fields} for df in (frames, source))
    _check_number(in_frames[frame_roles.number])
    bounds = {name: in_frames[name] for name in (frame_roles.start, frame_roles.end)}
    time = _common_time(in_source[roles.on], roles.on, bounds)
    key_types = tuple(
        _common_key(name, in_frames[in_frame], in_source[name])
        for name, in_frame in zip(roles.by, frame_roles.by, strict=True)
    )
    return FillQuery(roles, frame_roles, time, key_types)


def _check_number(kind: DataType) -> None:
    if not isinstance(kind, INTEGERS):
        raise TypeMismatchError(
            f"frames: column 'frame' is of type {kind.simpleString()}; expected an integer, the number of the frame"
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


def _common_key(name: str, in_frames: DataType, in_source: DataType) -> DataType:
    common = _common([in_frames, in_source], mixed=False)
    if common is None:
        raise TypeMismatchError(
            f"by: column {name!r} is of type {in_frames.simpleString()} in the frames and of type "
            f"{in_source.simpleString()} in the source; cast one to the type of the other"
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


def settle(frames: DataFrame, source: DataFrame, query: FillQuery, nulls_on: str) -> DataFrame:
    """Reject frames with nulls, apply the policy to rows with nulls, and return the remaining rows.

    For streams, this happens when the rows arrive.
    """
    if not frames.isStreaming:
        _refuse_frames(frames, query.frames)
    return source if source.isStreaming else _settle_rows(source, query.source, nulls_on)


def _refuse_frames(frames: DataFrame, roles: FrameRoles) -> None:
    names = [*roles.by, roles.number, roles.start, roles.end]
    lacking = may_lack(frames, names, Columns(frames).arrow_types(names))
    if lacking:
        counts = {f"frames: column {name!r}": n for name, n in count_rows(frames, lacking).items()}
        refuse_nulls(counts, FRAME_NEEDS)


def _settle_rows(source: DataFrame, roles: Roles, nulls_on: str) -> DataFrame:
    lacking = may_lack(source, [roles.on, *roles.by], roles.types)
    if not lacking:
        return source
    return drop_lacking(source, lacking, count_rows(source, lacking), roles.on, nulls_on)


def aggregate_fields(source: DataFrame, roles: Roles) -> list[StructField]:
    """Return the result columns of the aggregates. One that returns values of its column has that column's type."""
    columns = Columns(source)
    fields = []
    for (name, aggregate), accumulator in zip(roles.agg.items(), roles.accumulators, strict=True):
        same = aggregate.columns and accumulator.result == roles.types[aggregate.column]
        kind = columns.field(aggregate.column, "agg").dataType if same else from_arrow_type(accumulator.result)
        fields.append(StructField(name, kind, True))
    return fields
