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
    anew: bool

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
        if not self.anew and folder.is_used and not self.goes_on:
            raise OutputError(
                f"--out: {folder.path} exists already, and {self.checkpoint} holds no run to go on with; "
                "give --overwrite to replace it"
            )
        if self.anew:
            folder.target.check()
        if self.anew and self.goes_on and not self.checkpoint.is_relative_to(folder.path):
            raise SpecError(
                f"--overwrite: it begins anew, and --checkpoint {self.checkpoint} is of an earlier run; "
                "give a new folder for it, or leave --overwrite out to go on"
            )

    @property
    def goes_on(self) -> bool:
        """Whether the checkpoint belongs to an earlier run."""
        return self.checkpoint is not None and (self.checkpoint / "metadata").exists()

    def begin(self, found: DataFrame) -> None:
        """Create the folder of frames, unless this run resumes an earlier one."""
        if self.folder is None:
            return
        check_types(found, self.folder.target.name, self.folder.form)
        if self.anew or not self.goes_on or not self.folder.path.exists():
            self.folder.make()

    def known_columns(self) -> StructType | None:
        """Return the input columns of the run that this one resumes, or None.

        Files may have come and gone since. Inferring the columns again could yield other types, and thus a query that
        does not match the checkpoint.
        """
        if self.anew or not self.goes_on or self.checkpoint is None:
            return None
        kept = self.checkpoint / COLUMNS
        return StructType.fromJson(json.loads(kept.read_text())) if kept.exists() else None

    def keep_columns(self, columns: StructType) -> None:
        """Save the columns for runs that resume this one."""
        if self.checkpoint is None:
            return
        try:
            self.checkpoint.mkdir(exist_ok=True)
            # A half-written file would block the next run.
            beside = self.checkpoint / f".{COLUMNS}.tmp"
            beside.write_text(columns.json())
            beside.replace(self.checkpoint / COLUMNS)
        except OSError as error:
            raise OutputError(f"--checkpoint: {self.checkpoint}: cannot be written: {error.strerror}") from None

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

    def how_to_go_on(self) -> str:
        """Describe how to resume a stopped run."""
        if self.checkpoint is None:
            return "with --checkpoint FOLDER the next run could go on from there"
        return f"the same command{', without --overwrite,' if self.anew else ''} goes on from {self.checkpoint}"


def _checkpoint(given: str | None, folder: BatchFolder | None, source: str) -> Path | None:
    if given is None:
        return folder.path / HIDDEN if folder else None
    local = local_path(given)
    if local is None or local.is_file():
        raise SpecError(f"--checkpoint: {given} is no folder on this machine; give one")
    path = local.resolve()
    check_apart("--checkpoint", given, path, [source])
    if folder and (path == folder.path or folder.path.is_relative_to(path)):
        raise SpecError(f"--checkpoint: {given} is or contains --out {folder.target.name}; choose another folder")
    if folder and path.is_relative_to(folder.path) and (path.parent != folder.path or path.name[0] not in "._"):
        raise SpecError(
            f"--checkpoint: {given} lies inside --out {folder.target.name} and would be read as data; choose another "
            f"folder, or leave it out for {HIDDEN}"
        )
    if not (path.parent.is_dir() or (folder and path.parent == folder.path)):
        raise SpecError(f"--checkpoint: {given}: there is no folder {path.parent}")
    strange = strangers(path, CHECKPOINT) if path.is_dir() else []
    if strange:
        raise SpecError(
            f"--checkpoint: {given} contains {named(strange)}, which is not part of a checkpoint; give a new folder"
        )
    return path
