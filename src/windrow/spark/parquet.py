"""Parquet that is read without leaving Python: files, footers, and what their statistics promise."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from windrow.errors import SourceError, SpecError
from windrow.spark.paths import Listing, file_system, list_files, settle_path
from windrow.spark.versions import from_arrow_type


@dataclass(frozen=True)
class ParquetSource:
    """Parquet files, to be read by Spark's tasks with pyarrow where that is right, and by Spark itself where not."""

    spark: SparkSession = field(repr=False)
    path: str
    df: DataFrame = field(repr=False)


def parquet(spark: SparkSession, path: str | Path) -> ParquetSource:
    """A Parquet file or folder as a source for `frames`: tasks read it with pyarrow, without a sort or a shuffle.

    Parameters
    ----------
    spark
        The session that the work runs in.
    path
        A file or folder that both Spark and pyarrow can read. A relative one stays where it is now. A name with `*`,
        `?`, `[` or `{` in it is a pattern, as for Spark's reader, if there is nothing of that very name.

    Examples
    --------
    >>> import tempfile, pyarrow as pa, pyarrow.parquet as pq, windrow as wr
    >>> folder = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"t": [1, 2, 3], "x": [0.1, 0.7, 0.9]}), f"{folder}/part-0.parquet")
    >>> source = wr.parquet(wr.session(), folder)
    >>> wr.frames(source, wr.Threshold("x > 0.5"), on="t").select("start", "end", "count").collect()
    [Row(start=2, end=3, count=2)]
    """
    if not hasattr(spark, "read"):
        raise SpecError(f"spark: {spark!r} is no Spark session; wr.session() makes one")
    if isinstance(path, Path):
        path = str(path)
    if not isinstance(path, str) or not path:
        raise SpecError(f"path: {path!r} is no path of a Parquet file or folder")
    path, pattern = settle_path(path)
    try:
        known = _plain_schema(path)
        df = (spark.read if known is None else spark.read.schema(known)).parquet(pattern)
        _ = df.schema
    except (PySparkException, Py4JError) as error:
        raise SourceError(f"{path}: {_why_unreadable(error)}") from None
    return ParquetSource(spark, path, df)


def _plain_schema(path: str) -> StructType | None:
    """The schema that Spark would infer, from the first file's footer, which saves Spark a job to find it.

    None where only Spark can tell: for types that have more than one reading, partitioned folders, other file systems.
    """
    try:
        listing = list_files(path)
    except (OSError, pa.ArrowException):
        return None
    if not listing.files or listing.has_folders:
        return None
    footer = _footer(listing.files[0], listing.system)
    old = any(footer.schema.column(i).physical_type == "INT96" for i in range(len(footer.schema)))
    schema = footer.schema.to_arrow_schema()
    if old or not all(_has_one_reading(field.type) for field in schema):
        return None
    return StructType([StructField(field.name, from_arrow_type(field.type), True) for field in schema])


def _has_one_reading(kind: pa.DataType) -> bool:
    signed_or_plain = pa.types.is_signed_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_string(kind)
    instant = pa.types.is_date32(kind) or (pa.types.is_timestamp(kind) and kind.tz is not None and kind.unit != "ns")
    return bool(signed_or_plain or instant or pa.types.is_float32(kind) or pa.types.is_float64(kind))


def _why_unreadable(error: Exception) -> str:
    if not isinstance(error, PySparkException):
        return _not_parquet(error, "")
    kind = error.getCondition() or ""
    if kind == "PATH_NOT_FOUND":
        return "there is no such file or folder"
    if kind == "UNABLE_TO_INFER_SCHEMA":
        return "there is no Parquet file in it"
    if kind == "COLUMN_ALREADY_EXISTS":
        twice = (error.getMessageParameters() or {}).get("columnName", "?").strip("`")
        return (
            f"it has two columns {twice!r} that differ in letter case at most; rename one of them, "
            "or set spark.sql.caseSensitive to true"
        )
    if kind == "PARQUET_TYPE_ILLEGAL":
        told = str(error).strip().splitlines()[0]
        return f"Spark cannot read a column's type (timestamps should be in microseconds, not nanoseconds): {told}"
    return _not_parquet(error, kind)


def _not_parquet(error: Exception, kind: str) -> str:
    said = re.search(r"[^\n]*(?:not a Parquet file|Could not read footer)[^\n]*", str(error))
    return f"not readable as Parquet, it may be half-written ({said[0].strip() if said else kind})"


@dataclass(frozen=True)
class RowGroup:
    """A row group, with the least and the greatest `on` in it; None where its footer does not tell."""

    path: str
    index: int
    rows: int
    low: Any
    high: Any


@dataclass(frozen=True)
class Footers:
    """All row groups below a path, the files' common schema, and how many nulls the statistics count."""

    row_groups: list[RowGroup]
    schema: pa.Schema
    nulls: dict[str, int]


class NoStatistics(Exception):
    """The footers do not say what the scan plan must know."""


def check_files(path: str) -> None:
    """Raise `SourceError` for a file that is no Parquet, where the files can be seen from here."""
    try:
        listing = list_files(path)
    except (OSError, pa.ArrowException):
        return
    _read_all(listing)


def read_footers(path: str, on: str, names: Sequence[str]) -> Footers:
    """Read every footer; raise `NoStatistics` with a reason where one does not tell enough."""
    listing = list_files(path)
    files = listing.files
    if not files:
        raise NoStatistics("there is no file")
    if listing.has_folders:
        raise NoStatistics("there are folders inside, which may carry columns that the files do not hold")
    metadata = _read_all(listing)
    schema = metadata[0].schema.to_arrow_schema()
    nulls = dict.fromkeys(names, 0)
    row_groups: list[RowGroup] = []
    for file, footer in zip(files, metadata, strict=True):
        if footer.schema.to_arrow_schema() != schema:
            raise NoStatistics(f"the files do not have the same columns: {file} differs from {files[0]}")
        row_groups += _row_groups(file, footer, on, nulls)
    return Footers(row_groups, schema, nulls)


def _read_all(listing: Listing) -> list[pq.FileMetaData]:
    with ThreadPoolExecutor(16) as pool:
        return list(pool.map(lambda file: _footer(file, listing.system), listing.files))


def _footer(file: str, system: pafs.FileSystem) -> pq.FileMetaData:
    try:
        return pq.read_metadata(file, filesystem=system)
    except pa.ArrowInvalid as error:
        said = str(error).splitlines()[0]
        raise SourceError(f"{file}: not readable as Parquet, it may be half-written: {said}") from None


def _row_groups(file: str, footer: pq.FileMetaData, on: str, nulls: dict[str, int]) -> Iterator[RowGroup]:
    paths = {footer.schema.column(i).path: i for i in range(len(footer.schema))}
    for index in range(footer.num_row_groups):
        group = footer.row_group(index)
        if not group.num_rows:
            continue
        extent = group.column(paths[on]).statistics
        told = extent is not None and extent.has_min_max and extent.has_null_count
        for name in nulls:
            statistics = group.column(paths[name]).statistics
            if name == on and not told:
                continue
            if statistics is None or not statistics.has_null_count:
                raise NoStatistics(f"the files do not count the nulls of column {name!r}")
            nulls[name] += statistics.null_count
        yield RowGroup(file, index, group.num_rows, *((extent.min, extent.max) if told else (None, None)))


def open_file(file: str, path: str) -> pq.ParquetFile:
    """A file below a path, ready to be read by one thread; old 96-bit timestamps are read as Spark reads them."""
    system, _ = file_system(path)
    return pq.ParquetFile(file, filesystem=system, pre_buffer=False, coerce_int96_timestamp_unit="us")


def read_row_group(group: RowGroup, path: str, columns: Sequence[str]) -> pa.Table:
    """Some columns of a row group."""
    with open_file(group.path, path) as file:
        return file.read_row_group(group.index, columns=list(columns), use_threads=False)
