"""The output and the checkpoint of a stream, and whether a run resumes an earlier one."""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from windrow.cli.landing import BatchFolder
from windrow.cli.options.files import check_types
from windrow.cli.options.texts import column_names
from windrow.errors import OutputError, SpecError
from windrow.outputs import check_apart, local_path
from windrow.outputs.own import CHECKPOINT, named, strangers

HIDDEN = ".checkpoint"
"""The default checkpoint in a folder of frames; its name keeps it from being read as data."""

COLUMNS = "columns.json"


@dataclass(frozen=True)
class Place:
    """The output folder (None: the terminal) and the checkpoint (None: a temporary one)."""

    folder: BatchFolder | None
    checkpoint: Path | None
    overwrite: bool

    @classmethod
    def of(cls, args: argparse.Namespace) -> Place:
        """Create the place that the options describe, and check that a run can use it."""
        order = [*(column_names(args.by, "--by") or ()), "frame", "fragment"]
        folder = None
        if args.out is not None:
            folder = BatchFolder.of(args.out, args.format, order, overwrite=args.overwrite, source=args.input)
        place = cls(folder, _checkpoint(args.checkpoint, folder, args.input), args.overwrite)
        if folder:
            place._check_beginning(folder)
        return place

    def _check_beginning(self, folder: BatchFolder) -> None:
        assert self.checkpoint is not None
        if not self.overwrite and folder.is_used and not self.resumes:
            raise OutputError(
                f"--out: {folder.path} exists already, and {self.checkpoint} has no run to resume; "
                "use --overwrite to replace it"
            )
        if self.overwrite:
            folder.target.check()
        if self.overwrite and self.resumes and not self.checkpoint.is_relative_to(folder.path):
            raise SpecError(
                f"--overwrite starts over, but --checkpoint {self.checkpoint} belongs to an earlier run; "
                "use a new folder for the checkpoint, or drop --overwrite to resume"
            )

    @property
    def resumes(self) -> bool:
        """Whether the checkpoint belongs to an earlier run."""
        return self.checkpoint is not None and (self.checkpoint / "metadata").exists()

    def begin(self, frames: DataFrame) -> None:
        """Create the folder of frames, unless this run resumes an earlier one."""
        if self.folder is None:
            return
        check_types(frames, self.folder.target.name, self.folder.form)
        if self.overwrite or not self.resumes or not self.folder.path.exists():
            self.folder.make()

    def saved_columns(self) -> StructType | None:
        """Return the input columns of the run that this one resumes, or None.

        Files may have come and gone since. Inferring the columns again could yield other types, and thus a query that
        does not match the checkpoint.
        """
        if self.overwrite or not self.resumes or self.checkpoint is None:
            return None
        saved = self.checkpoint / COLUMNS
        return StructType.fromJson(json.loads(saved.read_text())) if saved.exists() else None

    def save_columns(self, columns: StructType) -> None:
        """Save the columns for runs that resume this one."""
        if self.checkpoint is None:
            return
        try:
            self.checkpoint.mkdir(exist_ok=True)
            # A half-written file would block the next run.
            temporary = self.checkpoint / f".{COLUMNS}.tmp"
            temporary.write_text(columns.json())
            temporary.replace(self.checkpoint / COLUMNS)
        except OSError as error:
            raise OutputError(f"--checkpoint: cannot write {self.checkpoint}: {error.strerror}") from None

    @contextmanager
    def used_checkpoint(self) -> Iterator[Path]:
        """Yield the checkpoint, or a temporary one that is deleted afterwards."""
        if self.checkpoint is not None:
            yield self.checkpoint
            return
        folder = Path(tempfile.mkdtemp(prefix="windrow-checkpoint-"))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def how_to_resume(self) -> str:
        """Describe how to resume a stopped run."""
        if self.checkpoint is None:
            return "use --checkpoint FOLDER to be able to resume"
        without = " without --overwrite" if self.overwrite else ""
        return f"run the same command again{without} to resume from {self.checkpoint}"


def _checkpoint(text: str | None, folder: BatchFolder | None, source: str) -> Path | None:
    if text is None:
        return folder.path / HIDDEN if folder else None
    local = local_path(text)
    if local is None or local.is_file():
        raise SpecError(f"--checkpoint: expected a folder on this machine, got {text}")
    path = local.resolve()
    check_apart("--checkpoint", text, path, [source])
    if folder and (path == folder.path or folder.path.is_relative_to(path)):
        raise SpecError(f"--checkpoint: {text} is or contains --out {folder.target.name}; choose another folder")
    if folder and path.is_relative_to(folder.path) and (path.parent != folder.path or path.name[0] not in "._"):
        raise SpecError(
            f"--checkpoint: {text} is inside --out {folder.target.name} and would be read as data; choose another "
            f"folder, or drop the option to use {HIDDEN}"
        )
    if not (path.parent.is_dir() or (folder and path.parent == folder.path)):
        raise SpecError(f"--checkpoint: {text}: folder {path.parent} does not exist")
    strange = strangers(path, CHECKPOINT) if path.is_dir() else []
    if strange:
        raise SpecError(
            f"--checkpoint: {text} contains {named(strange)}, which is not part of a checkpoint; use a new folder"
        )
    return path
