"""Does pyarrow read a Parquet file as Spark would: the same columns, types and values?

Spark decides by the session's settings, by metadata that writers left in the footer, and by the schema. If any of these
could make a difference, the files are left to Spark.
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
"""The key under which Spark stores its own schema, which it reads instead of the file's."""
VERSION_KEY = b"org.apache.spark.version"
LEGACY_KEY = b"org.apache.spark.legacyDateTime"
LEGACY_INT96_KEY = b"org.apache.spark.legacyINT96"

GREGORIAN = -141_427
"""Days to 1582-10-15. From then on, the calendar of old writers agrees with today's."""
SAME_INSTANTS = -2_208_988_800
"""Seconds to 1900-01-01. From then on, instants of old writers agree with today's in every time zone."""
PER_SECOND = {"milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}
PLAIN = (
    "boolean", "byte", "short", "integer", "long", "float", "double", "string", "date", "timestamp",
    "timestamp_ntz", "binary",
)  # fmt: skip
"""Types in Spark's own schema that mean the same under any settings."""


@dataclass(frozen=True)
class Settings:
    """The settings of a session that change how Spark reads Parquet."""

    merges_schemas: bool = False
    skips_files: bool = False
    by_field_id: bool = False
    case_sensitive: bool = False
    converts_int96: bool = False
    rebase: str = "CORRECTED"
    rebase_int96: str = "CORRECTED"

    @classmethod
    def of(cls, spark: SparkSession) -> Settings:
        """Return the settings of a session."""

        def setting(key: str) -> str:
            try:
                return (spark.conf.get(f"spark.sql.{key}") or "").upper()
            except PySparkException:  # this version of Spark has no such setting
                return ""

        return cls(
            setting("parquet.mergeSchema") == "TRUE",
            "TRUE" in (setting("files.ignoreCorruptFiles"), setting("files.ignoreMissingFiles")),
            setting("parquet.fieldId.read.enabled") == "TRUE",
            setting("caseSensitive") == "TRUE",
            setting("parquet.int96TimestampConversion") == "TRUE",
            setting("parquet.datetimeRebaseModeInRead"),
            setting("parquet.int96RebaseModeInRead"),
        )

    def obstacle(self) -> str | None:
        """Return why no file should be read without Spark, or None."""
        if self.skips_files:
            return "spark.sql.files.ignoreCorruptFiles or ignoreMissingFiles is set, so Spark decides what to skip"
        if self.by_field_id:
            return "spark.sql.parquet.fieldId.read.enabled is set, so Spark finds columns by their ids"
        return None


def known_schema(footer: pq.FileMetaData, settings: Settings) -> StructType | None:
    """Return the schema that Spark would infer from a footer, or None if only Spark can tell."""
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
    """Return the schema that Spark stored in a file, if all its types are plain."""
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
    schema: pa.Schema, int96: Collection[str], read_as: StructType, columns: Collection[str]
) -> str | None:
    """Return why pyarrow would read a column as another type than Spark does, or None."""
    types = {field.name: field.dataType for field in read_as.fields}
    for name in columns:
        if schema.get_all_field_indices(name) == []:
            return f"column {name!r} is not in all files: it comes from folder names, or some files lack it"
        kind = schema.field(name).type
        if pa.types.is_null(kind):
            return f"column {name!r} contains only nulls and has no type in the files"
        seen = pa.timestamp("us", "UTC") if name in int96 else kind
        if not _alike(seen, to_arrow_type(types[name])):
            return f"column {name!r} is {kind} in the files, but Spark reads it as {types[name].simpleString()}"
    return None


def _alike(kind: pa.DataType, read_as: pa.DataType) -> bool:
    """Return whether values of a file's type equal the values that Spark reads as type `read_as`."""
    if pa.types.is_dictionary(kind):
        return _alike(kind.value_type, read_as)
    if pa.types.is_timestamp(kind) and pa.types.is_timestamp(read_as):
        return kind.unit != "ns" and (kind.tz is None) == (read_as.tz is None)
    if pa.types.is_struct(kind) and pa.types.is_struct(read_as):
        pairs = list(zip(kind, read_as, strict=False))
        return len(kind) == len(read_as) and all(a.name == b.name and _alike(a.type, b.type) for a, b in pairs)
    if pa.types.is_map(kind) and pa.types.is_map(read_as):
        return _alike(kind.key_type, read_as.key_type) and _alike(kind.item_type, read_as.item_type)
    if (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and pa.types.is_list(read_as):
        return _alike(kind.value_type, read_as.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        return bool(read_as == (pa.string() if pa.types.is_large_string(kind) else pa.binary()))
    return bool(kind == read_as)


def int96_columns(footer: pq.FileMetaData) -> set[str]:
    """Return the columns whose timestamps are stored in 96 bits, as old writers did."""
    return {name for name, column in _leaves(footer) if column.physical_type == "INT96"}


def why_other_values(footer: pq.FileMetaData, settings: Settings, columns: Collection[str]) -> str | None:
    """Return why Spark would read other dates or instants from these columns than pyarrow, or None."""
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
    """Return how Spark reads old dates: by the writer's version and marks if it was Spark, else by the setting.

    >>> rebase_mode({VERSION_KEY: b"2.4.8"}, "CORRECTED", LEGACY_KEY, "3.0.0")
    'LEGACY'
    """
    version = metadata.get(VERSION_KEY)
    if version is None:
        return by_setting
    return "LEGACY" if version.decode() < since or key in metadata else "CORRECTED"


def _leaves(footer: pq.FileMetaData) -> Iterator[tuple[str, pq.ColumnSchema]]:
    """Yield every leaf of a file's schema with the name of the column it belongs to."""
    names = footer.schema.to_arrow_schema().names
    for i in range(len(footer.schema)):
        leaf = footer.schema.column(i)
        whole = (name for name in names if leaf.path == name or leaf.path.startswith(f"{name}."))
        yield max(whole, key=len, default=leaf.path), leaf


def _first_sure(column: pq.ColumnSchema) -> int | None:
    """Return the least stored number that means the same in both calendars, or None for a column without a calendar."""
    logical = column.logical_type
    if logical.type == "DATE":
        return GREGORIAN
    if logical.type == "TIMESTAMP":
        details = json.loads(logical.to_json())
        return SAME_INSTANTS * PER_SECOND[details["timeUnit"]] if details["isAdjustedToUTC"] else None
    return None


def _all_from(footer: pq.FileMetaData, leaf: int, limit: int) -> bool:
    """Return whether the statistics guarantee that no value of a leaf is below a limit."""
    for i in range(footer.num_row_groups):
        statistics = footer.row_group(i).column(leaf).statistics
        if statistics is None or not statistics.has_min_max or statistics.min_raw < limit:
            return False
    return True
