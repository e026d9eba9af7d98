"""Parquet that is read without leaving Python: files, footers, and what their statistics promise."""

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
    check_spark(spark)
    if isinstance(path, Path):
        path = str(path)
    if not is_text(path):
        raise SpecError(f"path: {quoted(path)} is no path of a Parquet file or folder")
    path, pattern = settle_path(path)
    try:
        known = _plain_schema(path, Settings.of(spark))
        df = (spark.read if known is None else spark.read.schema(known)).parquet(pattern)
        _ = df.schema
    except (PySparkException, Py4JError) as error:
        shown = path if path.isprintable() else quoted(path)
        raise SourceError(f"{shown}: {_why_unreadable(error)}") from None
    return ParquetSource(spark, path, df)


def _plain_schema(path: str, settings: Settings) -> StructType | None:
    """The schema that Spark would infer, from the first file's footer, which saves Spark a job to find it.

    None where only Spark can tell: for types that have more than one reading, partitioned folders, folders with a log
    or a summary of their files, other file systems.
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
    # The names of Java's exceptions come first.
    told = re.sub(r"^[\s:]*(?:[\w.$]+(?:Exception|Error): )*", "", said[0]).strip() if said else kind
    return f"not readable as Parquet, it may be half-written ({told})"


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
    """The footers of all files that Spark would read, and where the files are."""

    place: str
    files: dict[str, pq.FileMetaData]
    schema: pa.Schema


class LeftToSpark(Exception):
    """Only Spark can read the files as Spark does, or the footers do not say what the scan plan must know."""


def check_files(source: ParquetSource) -> None:
    """Raise `SourceError` for a file that is not Parquet, where the files can be seen from here."""
    try:
        read_footers(source, Settings.of(source.spark))
    except SourceError:
        raise
    except (LeftToSpark, OSError, pa.ArrowException):
        return


def read_footers(source: ParquetSource, settings: Settings) -> Footers:
    """Read the footer of every file that Spark would read; raise `LeftToSpark` where they cannot be seen from here."""
    if reason := settings.obstacle():
        raise LeftToSpark(reason)
    addresses = [address for address in source.df.inputFiles() if is_data(unquote(address.rsplit("/", 1)[-1]))]
    if not addresses:
        raise LeftToSpark("Spark finds no file of data there")
    if not has_scheme(source.path) and not addresses[0].startswith("file:"):
        raise LeftToSpark("the path is not local to Spark; say which file system it is on, as in 's3://…'")
    return footers_at(*located(addresses))


def footers_at(place: str, files: Sequence[str]) -> Footers:
    """Read the footers of files at a place, several at a time."""
    system, _ = file_system(place)
    with ThreadPoolExecutor(16) as pool:
        read = pool.map(lambda file: _footer(file, system), files)
        found = {file: footer for file, footer in zip(files, read, strict=True) if footer is not None}
    if not found:
        raise LeftToSpark("there are no rows")
    first = min(found)
    return Footers(place, dict(sorted(found.items())), found[first].schema.to_arrow_schema())


def check_layout(source: ParquetSource, footers: Footers) -> None:
    """Raise `LeftToSpark` with a reason where files or folders have columns that only Spark puts together."""
    first, *_ = footers.files
    int96 = int96_columns(footers.files[first])
    for file, footer in footers.files.items():
        if named := [name for name in source.df.columns if f"/{name.lower()}=" in file.lower()]:
            raise LeftToSpark(f"column {named[0]!r} is in the names of folders, which Spark reads")
        if footer.schema.to_arrow_schema() != footers.schema or int96_columns(footer) != int96:
            raise LeftToSpark(f"the files do not have the same columns: {file} differs from {first}")


def check_readings(source: ParquetSource, footers: Footers, columns: Sequence[str], settings: Settings) -> None:
    """Raise `LeftToSpark` with a reason where pyarrow reads other types or values in columns than Spark does."""
    first, *_ = footers.files
    int96 = int96_columns(footers.files[first])
    if reason := why_other_types(footers.schema, int96, source.df.schema, columns):
        raise LeftToSpark(reason)
    for file, footer in footers.files.items():
        if reason := why_other_values(footer, settings, columns):
            raise LeftToSpark(f"{reason} ({file})")


def _footer(file: str, system: pafs.FileSystem) -> pq.FileMetaData | None:
    """The footer of a file; None if it is empty, which Spark passes over."""
    try:
        return pq.read_metadata(file, filesystem=system)
    except (FileNotFoundError, PermissionError) as error:
        raise SourceError(f"{file}: {error.strerror or error}") from None
    except (OSError, pa.ArrowException) as error:
        said = str(error).splitlines()[0]
        if "ncrypt" in said:
            raise LeftToSpark(f"{file} is encrypted, and only Spark has the keys") from None
        if system.get_file_info(file).size == 0:
            return None
        raise SourceError(f"{file}: not readable as Parquet, it may be damaged or half-written: {said}") from None


def row_groups(footers: Footers, on: str, names: Sequence[str]) -> tuple[list[RowGroup], dict[str, int]]:
    """All row groups with rows, and how many nulls the statistics count in columns."""
    nulls = dict.fromkeys(names, 0)
    found = [group for file, footer in footers.files.items() for group in _row_groups(file, footer, on, nulls)]
    return found, nulls


def _row_groups(file: str, footer: pq.FileMetaData, on: str, nulls: dict[str, int]) -> Iterator[RowGroup]:
    paths = {footer.schema.column(i).path: i for i in range(len(footer.schema))}
    for index in range(footer.num_row_groups):
        group = footer.row_group(index)
        if not group.num_rows:
            continue
        extent = group.column(paths[on]).statistics
        low, high = _extent(extent)
        told = low is not None
        for name in nulls:
            statistics = group.column(paths[name]).statistics
            if name == on and not told:
                continue
            if statistics is None or not statistics.has_null_count:
                raise LeftToSpark(f"the files do not count the nulls of column {name!r}")
            nulls[name] += statistics.null_count
        yield RowGroup(file, index, group.num_rows, low, high)


def _extent(statistics: pq.Statistics | None) -> tuple[Any, Any]:
    """The least and greatest value by a footer; None where it does not say, or Python has no instant that far out."""
    if statistics is None or not statistics.has_min_max or not statistics.has_null_count:
        return None, None
    try:
        return statistics.min, statistics.max
    except (OverflowError, ValueError):
        return None, None


def open_file(file: str, place: str) -> pq.ParquetFile:
    """A file at a place, ready to be read by one thread; old 96-bit timestamps are read as Spark reads them."""
    system, _ = file_system(place)
    with naming(file):
        return pq.ParquetFile(file, filesystem=system, pre_buffer=False, coerce_int96_timestamp_unit="us")


def read_row_group(group: RowGroup, place: str, columns: Sequence[str]) -> pa.Table:
    """Some columns of a row group."""
    with open_file(group.path, place) as file, naming(group.path):
        return file.read_row_group(group.index, columns=list(columns), use_threads=False)


@contextmanager
def naming(file: str) -> Iterator[None]:
    """Name the file in what goes wrong while it is read."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        said = str(error).splitlines()[0]
        raise SourceError(f"{file}: cannot be read, it may be damaged or have changed: {said}") from None
