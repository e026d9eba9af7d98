"""Source and sink of a stream: folders in which files land, batch by batch."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from windrow.cli.options.files import QUOTING, SUFFIXES, WRITING, read
from windrow.errors import OutputError, SourceError
from windrow.framing.schemes.base import FRAME_COLUMNS
from windrow.outputs import Target, local_path
from windrow.outputs.own import table_folder
from windrow.spark import ParquetSource
from windrow.spark.resolve.columns import column
from windrow.spark.sources.paths import list_files, settle_path

FLUSHED = "flushed"
READING: dict[str, dict[str, str | bool]] = {
    "parquet": {},
    "csv": {"header": True, "enforceSchema": False, "mode": "FAILFAST", **QUOTING},
    "json": {"mode": "FAILFAST"},
}
"""Columns have the types of the first files. A later value of another type stops the query instead of becoming null."""
FOREVER = "36500d"
"""A moved file keeps its modification time, and by default Spark ignores files a week older than the newest."""


def check_landing(path: str, *, may_be_empty: bool) -> None:
    """Reject a folder that cannot be watched, before Spark starts."""
    local = local_path(path)
    if local is None or not local.exists():
        return
    if local.is_file():
        raise SourceError(f"{path} is a file; --stream expects the folder in which files land")
    listing = list_files(str(local))
    if not (may_be_empty or listing.files or listing.has_folders):
        raise SourceError(
            f"{path}: the folder contains no file yet, so columns and types are unknown; start again when the first "
            "file has landed"
        )


def columns_of(spark: SparkSession, path: str, form: str) -> StructType:
    """Return the columns of the files in a folder."""
    source = read(spark, path, form)
    return (source.df if isinstance(source, ParquetSource) else source).schema


def read_landing(spark: SparkSession, path: str, form: str, columns: StructType) -> DataFrame:
    """Stream the files in a folder and those that will land there."""
    _, pattern = settle_path(path)
    reader = spark.readStream.schema(columns).format(form).options(**READING[form])
    return reader.option("maxFileAge", FOREVER).load(pattern)


@dataclass
class BatchFolder:
    """A folder with one file per batch that contains frames, and the number of frames written.

    A batch that is repeated, because the query was stopped while processing it, replaces its own file, so the folder
    holds every frame once. A flush replaces the file of an earlier flush. The query deletes that file when it resumes,
    because it then emits the same frames itself.
    """

    target: Target
    form: str
    order: Sequence[str]
    frames: int = field(default=0, init=False)

    @classmethod
    def of(cls, path: str, form: str | None, order: Sequence[str], *, overwrite: bool, source: str) -> BatchFolder:
        """Create a sink with checked options; existing contents are checked later."""
        own = table_folder(FRAME_COLUMNS)
        target = Target.of(path, own, overwrite=overwrite, inputs=[source])
        if target.path.exists() and not target.path.is_dir():
            raise OutputError(f"--out: {path} is a file; a stream is written to a folder")
        return cls(target, form or SUFFIXES.get(target.path.suffix.lower(), "parquet"), order)

    @property
    def path(self) -> Path:
        """The folder, with symbolic links resolved."""
        return self.target.path

    @property
    def is_used(self) -> bool:
        """Whether the folder contains anything."""
        return self.path.exists() and any(self.path.iterdir())

    def make(self) -> None:
        """Create an empty folder, replacing an existing one if allowed."""
        with self.target.writing() as new:
            new.mkdir()

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Receive a batch of the query."""
        self._remove(FLUSHED)
        self._put(batch, f"batch-{number:08}")

    def flush(self, rest: DataFrame) -> None:
        """Receive the frames left at the end of the stream."""
        self._put(rest, FLUSHED)

    def _put(self, df: DataFrame, name: str) -> None:
        """Write to a temporary folder, then move the file, so that it appears complete or not at all."""
        aside = self.path / f".{name}.tmp"
        observation = Observation("written")
        counts = F.count(F.lit(1)).alias("rows"), F.count_if("final").alias("frames")
        ordered = df.repartition(1).sortWithinPartitions(*map(column, self.order))
        shutil.rmtree(aside, ignore_errors=True)
        try:
            written = ordered.observe(observation, *counts).write.format(self.form).options(**WRITING[self.form])
            written.save(str(aside))
            self._remove(name)
            if observation.get["rows"]:
                next(aside.glob("part-*")).replace(self.path / f"{name}.{self.form}")
                self.frames += observation.get["frames"]
        finally:
            shutil.rmtree(aside, ignore_errors=True)

    def _remove(self, name: str) -> None:
        (self.path / f"{name}.{self.form}").unlink(missing_ok=True)
