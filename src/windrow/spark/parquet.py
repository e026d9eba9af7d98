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
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StructField, StructType

from windrow.errors import SourceError, SpecError


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
        A file or folder that both Spark and pyarrow can read.

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
    try:
        known = _plain_schema(path)
        df = (spark.read if known is None else spark.read.schema(known)).parquet(path)
        _ = df.schema
    except (PySparkException, Py4JError) as error:
        raise SourceError(f"{path}: {_why_unreadable(error)}") from None
    return ParquetSource(spark, path, df)


def _plain_schema(path: str) -> StructType | None:
    """The schema that Spark would infer, from the first file's footer, which saves Spark a job to find it.

    None where only Spark can tell: for types that have more than one reading, partitioned folders, other file systems.
    """
    try:
        system, root = file_system(path)
        if system.get_file_info(root).type == pafs.FileType.NotFound:
            return None
        files = list_files(path)
        if not files or has_folders(path):
            return None
    except (OSError, pa.ArrowException):
        return None
    footer = _footer(files[0], system)
    old = any(footer.schema.column(i).physical_type == "INT96" for i in range(len(footer.schema)))
    schema = footer.schema.to_arrow_schema()
    if old or not all(_has_one_reading(field.type) for field in schema):
        return None
    return StructType([StructField(field.name, from_arrow_type(field.type), True) for field in schema])


def _has_one_reading(kind: pa.DataType) -> bool:
    signed_or_plain = pa.types.is_signed_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_string(kind)
    instant = pa.types.is_date32(kind) or (pa.types.is_timestamp(kind) and kind.tz is not None and kind.unit != "ns")
    return bool(signed_or_plain or instant or pa.types.is_float32(kind) or pa.types.is_float64(kind))


def has_folders(path: str) -> bool:
    """Whether there are folders inside, which may carry columns, as in `road=7/part-0.parquet`."""
    system, root = file_system(path)
    if system.get_file_info(root).type != pafs.FileType.Directory:
        return False
    found = system.get_file_info(pafs.FileSelector(root))
    return any(f.type == pafs.FileType.Directory and not f.base_name.startswith(("_", ".")) for f in found)


def _why_unreadable(error: Exception) -> str:
    kind = (error.getCondition() or "") if isinstance(error, PySparkException) else ""
    if kind == "PATH_NOT_FOUND":
        return "there is no such file or folder"
    if kind == "UNABLE_TO_INFER_SCHEMA":
        return "there is no Parquet file in it"
    if kind == "PARQUET_TYPE_ILLEGAL":
        told = str(error).strip().splitlines()[0]
        return f"Spark cannot read a column's type (timestamps should be in microseconds, not nanoseconds): {told}"
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


def file_system(path: str) -> tuple[pafs.FileSystem, str]:
    """The file system of a path or URI as pyarrow knows it, and the path in it; a local one is made absolute."""
    if not has_scheme(path):
        return pafs.LocalFileSystem(), str(Path(path).absolute())
    system, root = pafs.FileSystem.from_uri(path.replace("s3a://", "s3://", 1))
    return system, root


def has_scheme(path: str) -> bool:
    """Whether a path says which file system it is on."""
    return "://" in path or path.startswith("file:")


def list_files(path: str) -> list[str]:
    """The data files below a path, by the rule that Spark uses: names with a leading `_` or `.` are no data."""
    system, root = file_system(path)
    info = system.get_file_info(root)
    if info.type == pafs.FileType.File:
        return [root]
    found = system.get_file_info(pafs.FileSelector(root))
    return sorted(f.path for f in found if f.type == pafs.FileType.File and not f.base_name.startswith(("_", ".")))


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
        system, _ = file_system(path)
        files = list_files(path)
    except (OSError, pa.ArrowException):
        return
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda file: _footer(file, system), files))


def read_footers(path: str, on: str, names: Sequence[str]) -> Footers:
    """Read every footer; raise `NoStatistics` with a reason where one does not tell enough."""
    system, _ = file_system(path)
    files = list_files(path)
    if not files:
        raise NoStatistics("there is no file")
    if has_folders(path):
        raise NoStatistics("there are folders inside, which may carry columns that the files do not hold")
    with ThreadPoolExecutor(16) as pool:
        metadata = list(pool.map(lambda file: _footer(file, system), files))
    schema = metadata[0].schema.to_arrow_schema()
    nulls = dict.fromkeys(names, 0)
    row_groups: list[RowGroup] = []
    for file, footer in zip(files, metadata, strict=True):
        if footer.schema.to_arrow_schema() != schema:
            raise NoStatistics(f"the files do not have the same columns: {file} differs from {files[0]}")
        row_groups += _row_groups(file, footer, on, nulls)
    return Footers(row_groups, schema, nulls)


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
