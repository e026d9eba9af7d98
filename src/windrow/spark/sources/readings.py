"""Whether pyarrow reads Parquet as Spark would: the same columns, types and values.

Spark decides by the session's settings, by what writers left in a footer, and by the schema it found. Wherever one of
these could make a difference, the files are left to Spark.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from windrow.spark.versions import from_arrow_type, to_arrow_type

SCHEMA_KEY = b"org.apache.spark.sql.parquet.row.metadata"
"""Where Spark leaves its own schema, which it reads instead of the file's."""
VERSION_KEY = b"org.apache.spark.version"
LEGACY_KEY = b"org.apache.spark.legacyDateTime"
LEGACY_INT96_KEY = b"org.apache.spark.legacyINT96"

GREGORIAN = -141_427
"""Days to 1582-10-15, since when the calendar of old writers agrees with today's."""
SAME_INSTANTS = -2_208_988_800
"""Seconds to 1900-01-01, since when instants of old writers agree with today's in every time zone."""
PER_SECOND = {"milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}
PLAIN = (
    "boolean", "byte", "short", "integer", "long", "float", "double", "string", "date", "timestamp",
    "timestamp_ntz", "binary",
)  # fmt: skip
"""Types in Spark's own schema that mean the same whatever the settings are."""


@dataclass(frozen=True)
class Settings:
    """The settings of a session that change what Spark reads of Parquet."""

    merges_schemas: bool = False
    skips_files: bool = False
    by_field_id: bool = False
    case_sensitive: bool = False
    converts_int96: bool = False
    rebase: str = "CORRECTED"
    rebase_int96: str = "CORRECTED"

    @classmethod
    def of(cls, spark: SparkSession) -> Settings:
        """The settings of this session."""

        def said(key: str) -> str:
            try:
                return (spark.conf.get(f"spark.sql.{key}") or "").upper()
            except PySparkException:  # this version of Spark has no such setting
                return ""

        return cls(
            said("parquet.mergeSchema") == "TRUE",
            "TRUE" in (said("files.ignoreCorruptFiles"), said("files.ignoreMissingFiles")),
            said("parquet.fieldId.read.enabled") == "TRUE",
            said("caseSensitive") == "TRUE",
            said("parquet.int96TimestampConversion") == "TRUE",
            said("parquet.datetimeRebaseModeInRead"),
            said("parquet.int96RebaseModeInRead"),
        )

    def obstacle(self) -> str | None:
        """Why no file at all should be read without Spark, or None."""
        if self.skips_files:
            return "spark.sql.files.ignoreCorruptFiles or ignoreMissingFiles is set, so Spark decides what to skip"
        if self.by_field_id:
            return "spark.sql.parquet.fieldId.read.enabled is set, so Spark finds columns by their ids"
        return None


def known_schema(footer: pq.FileMetaData, settings: Settings) -> StructType | None:
    """The schema that Spark would infer from a footer; None where only Spark can say."""
    if settings.obstacle() or settings.merges_schemas:
        return None
    own = (footer.metadata or {}).get(SCHEMA_KEY)
    if own is not None:
        return _own_schema(own)
    if any(footer.schema.column(i).physical_type == "INT96" for i in range(len(footer.schema))):
        return None
    fields = footer.schema.to_arrow_schema()
    if not all(_has_one_reading(field.type) for field in fields):
        return None
    made = StructType()
    for field in fields:
        made.add(field.name, from_arrow_type(field.type))
    return made


def _own_schema(text: bytes) -> StructType | None:
    """The schema that Spark left in a file, if all of its types are plain."""
    try:
        fields = json.loads(text)["fields"]
        if not all(field["type"] in PLAIN and not field["metadata"] for field in fields):
            return None
    except (ValueError, KeyError, TypeError):
        return None
    made = StructType()
    for field in fields:
        made.add(field["name"], field["type"])
    return made


def _has_one_reading(kind: pa.DataType) -> bool:
    signed_or_plain = pa.types.is_signed_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_string(kind)
    instant = pa.types.is_date32(kind) or (pa.types.is_timestamp(kind) and kind.tz is not None and kind.unit != "ns")
    return bool(signed_or_plain or instant or pa.types.is_float32(kind) or pa.types.is_float64(kind))


def why_other_types(
    schema: pa.Schema, int96: Collection[str], wanted: StructType, columns: Collection[str]
) -> str | None:
    """Why pyarrow would read one of the columns as another type than Spark does, or None."""
    types = {field.name: field.dataType for field in wanted.fields}
    for name in columns:
        if schema.get_all_field_indices(name) == []:
            return f"the files have no column {name!r}: folders name it, or only some files have it"
        kind = schema.field(name).type
        if pa.types.is_null(kind):
            return f"column {name!r} has only nulls, and no type in the files"
        seen = pa.timestamp("us", "UTC") if name in int96 else kind
        if not _alike(seen, to_arrow_type(types[name])):
            return f"column {name!r} is {kind} in the files, and Spark reads it as {types[name].simpleString()}"
    return None


def _alike(kind: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether values of a file's type are those that Spark reads as another type."""
    if pa.types.is_dictionary(kind):
        return _alike(kind.value_type, wanted)
    if pa.types.is_timestamp(kind) and pa.types.is_timestamp(wanted):
        return kind.unit != "ns" and (kind.tz is None) == (wanted.tz is None)
    if pa.types.is_struct(kind) and pa.types.is_struct(wanted):
        pairs = list(zip(kind, wanted, strict=False))
        return len(kind) == len(wanted) and all(a.name == b.name and _alike(a.type, b.type) for a, b in pairs)
    if pa.types.is_map(kind) and pa.types.is_map(wanted):
        return _alike(kind.key_type, wanted.key_type) and _alike(kind.item_type, wanted.item_type)
    if (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and pa.types.is_list(wanted):
        return _alike(kind.value_type, wanted.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        return bool(wanted == (pa.string() if pa.types.is_large_string(kind) else pa.binary()))
    return bool(kind == wanted)


def int96_columns(footer: pq.FileMetaData) -> set[str]:
    """The columns whose instants are kept in 96 bits, as old writers did."""
    return {name for name, column in _leaves(footer) if column.physical_type == "INT96"}


def why_other_values(footer: pq.FileMetaData, settings: Settings, columns: Collection[str]) -> str | None:
    """Why Spark would read other dates or instants in these columns of a file than pyarrow, or None."""
    metadata = footer.metadata or {}
    mode = rebase_mode(metadata, settings.rebase, LEGACY_KEY, "3.0.0")
    mode_int96 = rebase_mode(metadata, settings.rebase_int96, LEGACY_INT96_KEY, "3.1.0")
    for i, (name, column) in enumerate(_leaves(footer)):
        if name not in columns:
            continue
        if column.physical_type == "INT96":
            if settings.converts_int96:
                return f"spark.sql.parquet.int96TimestampConversion is set, which moves column {name!r}"
            if mode_int96 != "CORRECTED":
                return f"column {name!r} is in 96 bits and may follow the old calendar, which Spark converts"
            continue
        limit = _first_sure(column)
        if mode != "CORRECTED" and limit is not None and not _all_from(footer, i, limit):
            return f"column {name!r} may have dates of the old calendar, which Spark converts"
    return None


def rebase_mode(metadata: Mapping[bytes, bytes], by_setting: str, key: bytes, since: str) -> str:
    """How Spark reads old dates: by the writer's version and marks if it was Spark, else by the session's setting.

    >>> rebase_mode({VERSION_KEY: b"2.4.8"}, "CORRECTED", LEGACY_KEY, "3.0.0")
    'LEGACY'
    """
    version = metadata.get(VERSION_KEY)
    if version is None:
        return by_setting
    return "LEGACY" if version.decode() < since or key in metadata else "CORRECTED"


def _leaves(footer: pq.FileMetaData) -> Iterator[tuple[str, pq.ColumnSchema]]:
    """Every leaf of a file's schema with the name of the column that it is a part of."""
    names = footer.schema.to_arrow_schema().names
    for i in range(len(footer.schema)):
        leaf = footer.schema.column(i)
        whole = (name for name in names if leaf.path == name or leaf.path.startswith(f"{name}."))
        yield max(whole, key=len, default=leaf.path), leaf


def _first_sure(column: pq.ColumnSchema) -> int | None:
    """The least stored number that means the same in both calendars; None for a column without a calendar."""
    logical = column.logical_type
    if logical.type == "DATE":
        return GREGORIAN
    if logical.type == "TIMESTAMP":
        kept = json.loads(logical.to_json())
        return SAME_INSTANTS * PER_SECOND[kept["timeUnit"]] if kept["isAdjustedToUTC"] else None
    return None


def _all_from(footer: pq.FileMetaData, leaf: int, limit: int) -> bool:
    """Whether the statistics say that no value of a leaf is below a limit."""
    for i in range(footer.num_row_groups):
        statistics = footer.row_group(i).column(leaf).statistics
        if statistics is None or not statistics.has_min_max or statistics.min_raw < limit:
            return False
    return True
