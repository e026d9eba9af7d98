"""Parquet files that tasks read without leaving Python: the files, their footers and their statistics."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from windrow.errors import SourceError, SpecError, quoted
from windrow.spark.arguments import check_spark, is_text
from windrow.spark.sources.paths import file_system, has_scheme, is_data, list_files, located, settle_path
from windrow.spark.sources.readings import Settings, int96_columns, known_schema, why_other_types, why_other_values


@dataclass(frozen=True)
class ParquetSource:
    """Parquet files that tasks read with pyarrow where this gives the same rows as Spark, and Spark reads otherwise."""

    spark: SparkSession = field(repr=False)
    path: str
    df: DataFrame = field(repr=False)


def parquet(spark: SparkSession, path: str | Path) -> ParquetSource:
    """Open a Parquet file or folder as a source. Tasks read it with pyarrow, without a sort or a shuffle.

    Parameters
    ----------
    spark
        The session that runs the query.
    path
        A file or folder that both Spark and pyarrow can read. A relative path is resolved now. A name that contains
        `*`, `?`, `[` or `{` is a pattern, as for Spark's reader, unless a file or folder has exactly that name.

    Returns
    -------
    A source for `wr.frames`, `wr.slide`, `wr.fill` and `wr.explain`.

    Examples
    --------
    >>> import tempfile, pyarrow as pa, pyarrow.parquet as pq, windrow as wr
    >>> folder = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"t": [1, 2, 3], "x": [0.1, 0.7, 0.9]}), f"{folder}/part-0.parquet")
    >>> source = wr.parquet(wr.session(), folder)
    >>> wr.frames(source, wr.Threshold("x > 0.5"), on="t").select("start", "end", "count").collect()
    [Row(start=2, end=3, count=2)]
    """
    check_spark(spark)
    if isinstance(path, Path):
        path = str(path)
    if not is_text(path):
        raise SpecError(f"path: expected the path of a Parquet file or folder, got {quoted(path)}")
    path, pattern = settle_path(path)
    try:
        schema = _plain_schema(path, Settings.of(spark))
        df = (spark.read if schema is None else spark.read.schema(schema)).parquet(pattern)
        _ = df.schema
    except (PySparkException, Py4JError) as error:
        shown = path if path.isprintable() else quoted(path)
        raise SourceError(f"{shown}: {_why_unreadable(error)}") from None
    return ParquetSource(spark, path, df)


def _plain_schema(path: str, settings: Settings) -> StructType | None:
    """Return the schema that Spark would infer, from the first file's footer, which saves Spark a job.

    Return None if only Spark can tell: for types that can be read in more than one way, partitioned folders, folders
    with a log or a summary of their files, and other file systems.
    """
    try:
        listing = list_files(path)
    except (OSError, pa.ArrowException):
        return None
    if not listing.files or listing.has_folders or listing.has_summary or not is_data(Path(path).name):
        return None
    try:
        footer = _footer(listing.files[0], listing.system)
    except LeftToSpark:
        return None
    return None if footer is None else known_schema(footer, settings)


def _why_unreadable(error: Exception) -> str:
    if not isinstance(error, PySparkException):
        return _not_parquet(error, "")
    kind = error.getCondition() or ""
    if kind == "PATH_NOT_FOUND":
        return "no such file or folder"
    if kind == "UNABLE_TO_INFER_SCHEMA":
        return "it contains no Parquet files"
    if kind == "COLUMN_ALREADY_EXISTS":
        twice = (error.getMessageParameters() or {}).get("columnName", "?").strip("`")
        return (
            f"two of its columns are named {twice!r}, apart from case; rename one of them, "
            "or set spark.sql.caseSensitive to true"
        )
    if kind == "PARQUET_TYPE_ILLEGAL":
        message = str(error).strip().splitlines()[0]
        return f"Spark cannot read a column's type (timestamps should be in microseconds, not nanoseconds): {message}"
    return _not_parquet(error, kind)


def _not_parquet(error: Exception, kind: str) -> str:
    match = re.search(r"[^\n]*(?:not a Parquet file|Could not read footer)[^\n]*", str(error))
    # Skip the names of Java exceptions at the start.
    message = re.sub(r"^[\s:]*(?:[\w.$]+(?:Exception|Error): )*", "", match[0]).strip() if match else kind
    return f"it cannot be read as Parquet and may be incomplete ({message})"


@dataclass(frozen=True)
class RowGroup:
    """A row group, with the least and the greatest `on` in it; None if its footer does not contain them."""

    path: str
    index: int
    rows: int
    low: Any
    high: Any


@dataclass(frozen=True)
class Footers:
    """The footers of all files that Spark would read, and the location of the files."""

    place: str
    files: dict[str, pq.FileMetaData]
    schema: pa.Schema


class LeftToSpark(Exception):
    """An error for files that only Spark can read correctly, or whose footers lack what the scan plan needs."""


def check_files(source: ParquetSource) -> None:
    """Raise `SourceError` for a file that is not Parquet, if the files are accessible from the driver."""
    try:
        read_footers(source, Settings.of(source.spark))
    except SourceError:
        raise
    except (LeftToSpark, OSError, pa.ArrowException):
        return


def read_footers(source: ParquetSource, settings: Settings) -> Footers:
    """Read the footer of every file that Spark would read. Raises `LeftToSpark` if the driver cannot access them."""
    if reason := settings.obstacle():
        raise LeftToSpark(reason)
    addresses = [address for address in source.df.inputFiles() if is_data(unquote(address.rsplit("/", 1)[-1]))]
    if not addresses:
        raise LeftToSpark("Spark finds no data files there")
    if not has_scheme(source.path) and not addresses[0].startswith("file:"):
        raise LeftToSpark("the path is not on Spark's default file system; add the scheme, e.g. 's3://…'")
    return footers_at(*located(addresses))


def footers_at(place: str, files: Sequence[str]) -> Footers:
    """Read the footers of files at a place, several at a time."""
    system, _ = file_system(place)
    with ThreadPoolExecutor(16) as pool:
        read = pool.map(lambda file: _footer(file, system), files)
        footers = {file: footer for file, footer in zip(files, read, strict=True) if footer is not None}
    if not footers:
        raise LeftToSpark("there are no rows")
    first = min(footers)
    return Footers(place, dict(sorted(footers.items())), footers[first].schema.to_arrow_schema())


def check_layout(source: ParquetSource, footers: Footers) -> None:
    """Raise `LeftToSpark`, with a reason, if files or folders have columns that only Spark can combine."""
    first, *_ = footers.files
    int96 = int96_columns(footers.files[first])
    for file, footer in footers.files.items():
        if named := [name for name in source.df.columns if f"/{name.lower()}=" in file.lower()]:
            raise LeftToSpark(f"column {named[0]!r} comes from folder names, which only Spark reads")
        if footer.schema.to_arrow_schema() != footers.schema or int96_columns(footer) != int96:
            raise LeftToSpark(f"the files do not have the same columns: {file} differs from {first}")


def check_readings(source: ParquetSource, footers: Footers, columns: Sequence[str], settings: Settings) -> None:
    """Raise `LeftToSpark`, with a reason, if pyarrow reads other types or values from columns than Spark does."""
    first, *_ = footers.files
    int96 = int96_columns(footers.files[first])
    if reason := why_other_types(footers.schema, int96, source.df.schema, columns):
        raise LeftToSpark(reason)
    for file, footer in footers.files.items():
        if reason := why_other_values(footer, settings, columns):
            raise LeftToSpark(f"{reason} ({file})")


def _footer(file: str, system: pafs.FileSystem) -> pq.FileMetaData | None:
    """Return the footer of a file, or None for an empty file, which Spark skips."""
    try:
        return pq.read_metadata(file, filesystem=system)
    except (FileNotFoundError, PermissionError) as error:
        raise SourceError(f"{file}: {error.strerror or error}") from None
    except (OSError, pa.ArrowException) as error:
        message = str(error).splitlines()[0]
        if "ncrypt" in message:
            raise LeftToSpark(f"{file} is encrypted, and only Spark has the keys") from None
        if system.get_file_info(file).size == 0:
            return None
        raise SourceError(f"{file}: cannot be read as Parquet; it may be damaged or incomplete: {message}") from None


def row_groups(footers: Footers, on: str, names: Sequence[str]) -> tuple[list[RowGroup], dict[str, int]]:
    """Return all row groups with rows, and the number of nulls per column according to the statistics."""
    nulls = dict.fromkeys(names, 0)
    groups = [group for file, footer in footers.files.items() for group in _row_groups(file, footer, on, nulls)]
    return groups, nulls


def _row_groups(file: str, footer: pq.FileMetaData, on: str, nulls: dict[str, int]) -> Iterator[RowGroup]:
    paths = {footer.schema.column(i).path: i for i in range(len(footer.schema))}
    for index in range(footer.num_row_groups):
        group = footer.row_group(index)
        if not group.num_rows:
            continue
        extent = group.column(paths[on]).statistics
        low, high = _extent(extent)
        has_extent = low is not None
        for name in nulls:
            statistics = group.column(paths[name]).statistics
            if name == on and not has_extent:
                continue
            if statistics is None or not statistics.has_null_count:
                raise LeftToSpark(f"the files do not count the nulls of column {name!r}")
            nulls[name] += statistics.null_count
        yield RowGroup(file, index, group.num_rows, low, high)


def _extent(statistics: pq.Statistics | None) -> tuple[Any, Any]:
    """Return the least and greatest value in a footer; None if it lacks them or they do not fit into a `datetime`."""
    if statistics is None or not statistics.has_min_max or not statistics.has_null_count:
        return None, None
    try:
        return statistics.min, statistics.max
    except (OverflowError, ValueError):
        return None, None


def open_file(file: str, place: str, encoded: Sequence[str] = ()) -> pq.ParquetFile:
    """Open a file for reading in one thread. Old 96-bit timestamps are read as Spark reads them.

    Text and binary values of `encoded` columns are read as codes with a dictionary.
    """
    system, _ = file_system(place)
    with naming(file):
        return pq.ParquetFile(
            file,
            filesystem=system,
            pre_buffer=False,
            coerce_int96_timestamp_unit="us",
            read_dictionary=list(encoded) or None,
        )


def read_row_group(group: RowGroup, place: str, columns: Sequence[str], encoded: Sequence[str] = ()) -> pa.Table:
    """Read some columns of a row group, those in `encoded` with a dictionary."""
    with open_file(group.path, place, encoded) as file, naming(group.path):
        return file.read_row_group(group.index, columns=list(columns), use_threads=False)


@contextmanager
def naming(file: str) -> Iterator[None]:
    """Name the file in errors raised while it is read."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        message = str(error).splitlines()[0]
        raise SourceError(f"{file}: cannot be read; it may be damaged or have changed: {message}") from None
