"""What a streaming result says about itself, for the operators that follow it in the same query.

A result of `wr.frames`, `wr.slide` or `wr.fill` has marks in the metadata of its columns. Spark keeps the metadata of a
column through `where`, `select` and renames, and drops it where a column is computed.

- `known_at` is the event time: the watermark at which a row was reported. Spark takes a column for the event time of a
  stream if its metadata has the delay of a watermark, which `withWatermark` puts there. Here it cannot be used: such a
  watermark would follow the reported rows, which are reported as it advances.
- The `by` columns, `start` and `end` name the stream that they are of. If the rows of a group are reported in the order
  of `start` or `end`, that column says so, and the next operator can take the rows as they come.

A mark on a column is not enough: a union or a join keeps it too. `is_selection` therefore looks at the plan.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType, TimestampType

from windrow.spark.resolve.columns import Columns, check_distinct

KNOWN_AT = "known_at"
"""The column with the watermark at which a row was reported."""

MARK = "windrow"
"""The key under which a column's metadata holds its mark: the id of its stream, its role, and more."""

DELAY = "spark.watermarkDelayMs"
"""The key under which Spark's metadata of an event time holds the delay of its watermark."""

UNPACKS = "MapInArrow unpack_results("
"""How Spark describes the last step of an operator, which unpacks its rows."""

SELECTS = ("Project", "Filter", "SubqueryAlias", "CollectMetrics")
"""The parts of a plan that take rows one by one and return them unchanged, in part, or not at all."""


def after(watermark: int) -> int:
    """Return the first microsecond after a watermark in milliseconds: `known_at` of what is reported at it.

    Spark drops rows with an event time up to the watermark. A row that is reported while the watermark stands still is
    therefore placed right after it.

    >>> after(1_500)
    1500001
    """
    return 1000 * max(watermark, 0) + 1


def delay_of(*streams: DataFrame) -> int | None:
    """Return the longest delay, in milliseconds, of the watermarks of streams; None if none has a watermark."""
    return max((delay for df in streams for delay in _delays(df)), default=None)


def _delays(df: DataFrame) -> list[int]:
    fields = [field for field in df.schema.fields if DELAY in (field.metadata or {})]
    if fields and all(mark_of(field, KNOWN_AT) for field in fields) and "EventTimeWatermark" not in described(df):
        # Files hold the metadata of their columns. Frames that are read from them have a `known_at` of another query.
        return []
    return [field.metadata[DELAY] for field in fields]


def with_known_at(schema: StructType, delay: int | None, *, flushed: bool = False) -> StructType:
    """Return the schema of a result with `known_at`, if its query has a watermark; null in what `flush=` returns."""
    if delay is None:
        return schema
    check_distinct([*schema.names, KNOWN_AT], "the result")
    mark = {} if flushed else {DELAY: delay, MARK: {"role": KNOWN_AT}}
    return StructType([*schema.fields, StructField(KNOWN_AT, TimestampType(), flushed, mark)])


def marked(schema: StructType, stream: str, by: Sequence[str], in_order: Collection[str]) -> StructType:
    """Return the schema of a result with marks on its `by` columns, `start` and `end`."""
    fields = []
    for field in schema.fields:
        mark: dict[str, Any] = {"stream": stream}
        if field.name in by:
            mark |= {"role": "by", "place": list(by).index(field.name)}
        elif field.name in ("start", "end"):
            mark |= {"role": field.name, "groups": len(by), "in_order": field.name in in_order, "moved": 0}
        else:
            fields.append(field)
            continue
        fields.append(StructField(field.name, field.dataType, field.nullable, {**field.metadata, MARK: mark}))
    return StructType(fields)


def mark_of(field: StructField, role: str | None = None) -> dict[str, Any] | None:
    """Return the mark of a column, or None if it has none or one of another role."""
    mark: dict[str, Any] | None = (field.metadata or {}).get(MARK)
    return mark if mark and role in (None, mark["role"]) else None


def moved(field: StructField, length: int | float) -> dict[str, Any]:
    """Return the metadata of a `start` or `end` that is moved by a constant, which keeps the order."""
    mark = mark_of(field)
    metadata = dict(field.metadata or {})
    return metadata | {MARK: {**mark, "moved": mark["moved"] + length}} if mark and "moved" in mark else metadata


def known_at_of(df: DataFrame) -> str | None:
    """Return the name of the column `known_at` of a streaming result, which may have been renamed."""
    names = [field.name for field in df.schema.fields if mark_of(field, KNOWN_AT)] if df.isStreaming else []
    return names[0] if names else None


def comes_in_order(df: DataFrame, on: str, by: Iterable[str]) -> bool:
    """Return whether the rows of each group arrive in the order of `on`, as far as the result of an operator shows."""
    columns = Columns(df)
    mark = mark_of(columns.field(on, "on"))
    if mark is None or not mark.get("in_order"):
        return False
    places = set()
    for name in by:
        key = mark_of(columns.field(name, "by"), "by")
        if key and key["stream"] == mark["stream"]:
            places.add(key["place"])
    return len(places) == mark["groups"] and is_selection(df)


def is_selection(df: DataFrame) -> bool:
    """Return whether a stream is the result of an operator, or rows and columns selected from one."""
    analyzed = described(df).partition("== Analyzed Logical Plan ==")[2].partition("\n== ")[0]
    for line in analyzed.splitlines()[2:]:
        part = line.lstrip(" :+-~")
        if part.startswith(UNPACKS):
            return True
        if part.split(" ", 1)[0] not in SELECTS:
            return False
    return False


def described(df: DataFrame) -> str:
    """Return Spark's description of the plan of a DataFrame."""
    with contextlib.redirect_stdout(io.StringIO()) as plan:
        df.explain(True)
    return plan.getvalue()


def is_framed_here(frames: DataFrame) -> bool:
    """Return whether a stream is the result of a Windrow operator in the same query.

    A watermark on such a stream would wait for itself: it advances with the frames, which are emitted as it advances.
    """
    return "TransformWithStateInPySpark" in described(frames)
