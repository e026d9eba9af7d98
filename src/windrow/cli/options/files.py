"""Tables in files: Parquet, CSV and JSON lines, read by Spark and written atomically."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DateType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    VariantType,
)

from windrow.errors import OutputError, SourceError, SpecError, quoted
from windrow.outputs import Target, local_path
from windrow.outputs.own import table_file, table_folder
from windrow.spark import ParquetSource, parquet
from windrow.spark.resolve.columns import column
from windrow.spark.sources.paths import settle_path

FORMATS = ("parquet", "csv", "json")
SUFFIXES = {
    ".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json",
}  # fmt: skip
COMPRESSED = (".gz", ".bz2", ".zst", ".lz4", ".snappy")
NESTED = (ArrayType, MapType, StructType, VariantType)
DATE = r"^[+-]?\d{4,}-\d{2}-\d{2}$"
QUOTING: dict[str, str | bool] = {"quote": '"', "escape": '"'}
"""A quote inside quotes is doubled, as in every CSV dialect but Spark's."""
WRITING: dict[str, dict[str, str | bool]] = {
    "parquet": {},
    "csv": {
        "header": True,
        **QUOTING,
        "ignoreLeadingWhiteSpace": False,
        "ignoreTrailingWhiteSpace": False,
        "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
        "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    },
    "json": {
        "ignoreNullFields": False,
        "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
        "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    },
}
"""A text file must preserve microseconds, blanks, the names of empty columns and the keys of nulls."""


def format_of(path: str, form: str | None) -> str:
    """Return the format of a file: `form`, or by its name; a folder without a suffix is Parquet, as in Spark.

    >>> format_of("loops.csv.gz", None), format_of("loops/", None), format_of("loops.txt", "csv")
    ('csv', 'parquet', 'csv')
    """
    if form:
        return form
    name = Path(path.rstrip("/")).name.lower()
    for suffix in COMPRESSED:
        name = name.removesuffix(suffix)
    suffix = Path(name).suffix
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    if local_path(path) is not None and Path(path).is_file():
        raise SpecError(
            f"{path}: the name does not show the format; use --input-format with one of {', '.join(FORMATS)}"
        )
    return "parquet"


def add_table_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the table that a command reads, and the roles of its columns."""
    parser.add_argument("input", metavar="INPUT", help="a file or folder of Parquet, CSV with a header, or JSON lines")
    parser.add_argument("--input-format", choices=FORMATS, help="format of INPUT (default: by its name, else parquet)")
    parser.add_argument(
        "--on", required=True, metavar="COLUMN", help="the column that orders the rows: time, date or number"
    )
    parser.add_argument("--by", action="append", metavar="COLUMN[,COLUMN]", help="columns that identify a group")
    parser.add_argument(
        "--order-by", action="append", metavar="COLUMN[,COLUMN]", help="columns that order rows of equal --on"
    )


def check_input(path: str) -> None:
    """Reject a path that is empty or does not exist, before Spark starts."""
    if not path.strip():
        raise SourceError(f"input: expected a path, got {quoted(path)}")
    local = local_path(path)
    try:
        is_absent = local is not None and not local.exists()
    except OSError as error:  # such as a name that is too long
        raise SourceError(f"{quoted(path)}: {error.strerror}") from None
    if is_absent and not any(mark in path for mark in "*?[{"):
        raise SourceError(f"{path}: no such file or folder")


def read(spark: SparkSession, path: str, form: str) -> DataFrame | ParquetSource:
    """Read a table as a source of frames. CSV and JSON are read an extra time to infer types."""
    if form == "parquet":
        return parquet(spark, path)
    _, pattern = settle_path(path)
    with _zoneless_timestamps(spark):
        try:
            df = _read_csv(spark, pattern) if form == "csv" else _read_json(spark, pattern)
            columns = df.columns
        except PySparkException as error:
            raise SourceError(f"{path}: not readable as {form.upper()}: {str(error).strip().splitlines()[0]}") from None
    if not columns:
        raise SourceError(f"{path} is empty, so it has no columns")
    if form == "csv" and all(isinstance(field.dataType, StringType) for field in df.schema.fields) and df.isEmpty():
        raise SourceError(f"{path} has a header but no rows, so the types of its columns are unknown")
    if "_corrupt_record" in columns:
        raise SourceError(f"{path}: not readable as JSON; expected one object per line")
    return df


def _read_csv(spark: SparkSession, path: str) -> DataFrame:
    return spark.read.options(**QUOTING).csv(path, header=True, inferSchema=True)


def _read_json(spark: SparkSession, path: str) -> DataFrame:
    df = spark.read.option("inferTimestamp", True).json(path)
    times = [field.name for field in df.schema.fields if isinstance(field.dataType, TimestampNTZType)]
    dates = _date_columns(spark, path, times) if times else []
    if not dates:
        return df
    fields = [StructField(f.name, DateType() if f.name in dates else f.dataType) for f in df.schema.fields]
    return spark.read.schema(StructType(fields)).json(path)


def _date_columns(spark: SparkSession, path: str, times: Sequence[str]) -> list[str]:
    """Return the columns that hold only dates: Spark infers dates in CSV, but reads them as times in JSON."""
    texts = spark.read.schema(StructType([StructField(name, StringType()) for name in times])).json(path)
    tests = [F.bool_and(column(name).rlike(DATE)).alias(f"c{i}") for i, name in enumerate(times)]
    outcomes = texts.agg(*tests).collect()[0]
    return [name for name, is_date in zip(times, outcomes, strict=True) if is_date]


@contextmanager
def _zoneless_timestamps(spark: SparkSession) -> Iterator[None]:
    """Read times without a zone as such, not as times in the session's zone."""
    key = "spark.sql.timestampType"
    before = spark.conf.get(key)
    spark.conf.set(key, "TIMESTAMP_NTZ")
    try:
        yield
    finally:
        spark.conf.set(key, before or "TIMESTAMP_LTZ")


@dataclass(frozen=True)
class Output:
    """The destination of a result: one file if the path has a file suffix, otherwise a folder as Spark writes it."""

    target: Target
    form: str

    @classmethod
    def of(
        cls,
        path: str,
        form: str | None,
        overwrite: bool,
        inputs: Sequence[str] = (),
        columns: Sequence[str] = ("frame",),
    ) -> Output:
        """Check the output path before any work is done.

        Only an output that has `columns`, columns of the result, may be replaced.
        """
        suffix = Path(path).suffix.lower()
        own = table_file(columns) if suffix in SUFFIXES else table_folder(columns)
        target = Target.of(path, own, overwrite=overwrite, inputs=inputs).check()
        return cls(target, form or SUFFIXES.get(suffix, "parquet"))

    @property
    def is_single(self) -> bool:
        """Whether the path has a file suffix."""
        return Path(self.target.name).suffix.lower() in SUFFIXES

    def write(self, df: DataFrame, order: Sequence[str]) -> None:
        """Write the result next to its path, then move it there, so that the path never holds a partial result."""
        check_types(df, self.target.name, self.form)
        df = df.repartition(1) if self.is_single else df
        ordered = df.sortWithinPartitions(*map(column, order)) if order else df
        with self.target.writing() as new:
            folder = new.with_name("parts") if self.is_single else new
            try:
                ordered.write.format(self.form).options(**WRITING[self.form]).save(str(folder))
            except BaseException:
                _stop_writing()
                raise
            if self.is_single:
                next(folder.glob("part-*")).rename(new)


def check_types(df: DataFrame, path: Path | str, form: str) -> None:
    """Reject columns that the format cannot hold."""
    nested = [field.name for field in df.schema.fields if isinstance(field.dataType, NESTED)]
    if form == "csv" and nested:
        raise OutputError(f"{path}: CSV cannot hold {', '.join(map(repr, nested))}; write Parquet or JSON instead")


def _stop_writing() -> None:
    """Cancel Spark's jobs and wait for them to end: a running task would keep writing into a removed folder."""
    try:
        context = SparkSession.active().sparkContext
        context.cancelAllJobs()
        for _ in range(50):
            if not context.statusTracker().getActiveJobsIds():
                return
            time.sleep(0.1)
    except Exception:  # Connect has no context, and the session may be dead; either way nothing writes
        return
