"""Where the frames of a stream go, where the query's state is kept, and whether a run goes on with an earlier one."""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql.types import StructType

from windrow.commands.batches import BatchFolder
from windrow.commands.files import local_path
from windrow.commands.schemes import as_columns
from windrow.errors import OutputError, SpecError

HIDDEN = ".checkpoint"
"""The checkpoint in a folder of frames, unless another is given; by its name nobody takes it for data."""

COLUMNS = "columns.json"


@dataclass(frozen=True)
class Place:
    """Where frames go, None for the terminal, and the checkpoint, None if it need not outlive the run."""

    folder: BatchFolder | None
    checkpoint: Path | None
    anew: bool

    @classmethod
    def of(cls, args: argparse.Namespace) -> Place:
        """The place that the options name, if it is fit for a run."""
        order = [*(as_columns(args.by) or ()), "frame", "fragment"]
        folder = None if args.out is None else BatchFolder.of(args.out, args.format, order)
        place = cls(folder, _checkpoint(args.checkpoint, folder), args.overwrite)
        if folder:
            _check_apart("--out", folder.path, args.input)
            place._check_beginning(folder)
        if args.checkpoint and place.checkpoint:
            _check_apart("--checkpoint", place.checkpoint, args.input)
        return place

    def _check_beginning(self, folder: BatchFolder) -> None:
        assert self.checkpoint is not None
        if not self.anew and folder.is_used and not self.goes_on:
            raise OutputError(
                f"--out: {folder.path} exists already, and {self.checkpoint} holds no run to go on with; "
                "give --overwrite to replace it"
            )
        if self.anew and self.goes_on and not self.checkpoint.is_relative_to(folder.path):
            raise SpecError(
                f"--overwrite: it begins anew, and --checkpoint {self.checkpoint} is of an earlier run; "
                "give a new folder for it, or leave --overwrite out to go on"
            )

    @property
    def goes_on(self) -> bool:
        """Whether the checkpoint is of an earlier run."""
        return self.checkpoint is not None and (self.checkpoint / "metadata").exists()

    def known_columns(self) -> StructType | None:
        """The columns of the input as the run had them that this one goes on with; files may have come and gone since.

        Inferred anew, they could be of other types, and the query another one than that of the checkpoint.
        """
        if self.anew or not self.goes_on or self.checkpoint is None:
            return None
        kept = self.checkpoint / COLUMNS
        return StructType.fromJson(json.loads(kept.read_text())) if kept.exists() else None

    def keep_columns(self, columns: StructType) -> None:
        """Remember the columns for runs that go on with this one."""
        if self.checkpoint is None:
            return
        try:
            self.checkpoint.mkdir(exist_ok=True)
            (self.checkpoint / COLUMNS).write_text(columns.json())
        except OSError as error:
            raise OutputError(f"--checkpoint: {self.checkpoint}: cannot be written: {error.strerror}") from None

    @contextmanager
    def used_checkpoint(self) -> Iterator[Path]:
        """The checkpoint, or one that is gone afterwards."""
        if self.checkpoint is not None:
            yield self.checkpoint
            return
        folder = Path(tempfile.mkdtemp(prefix="windrow-checkpoint-"))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def how_to_go_on(self) -> str:
        """What a user must know who has stopped a run."""
        if self.checkpoint is None:
            return "with --checkpoint FOLDER the next run could go on from there"
        return f"the same command{', without --overwrite,' if self.anew else ''} goes on from {self.checkpoint}"


def _checkpoint(given: str | None, folder: BatchFolder | None) -> Path | None:
    if given is None:
        return folder.path / HIDDEN if folder else None
    path = local_path(given)
    if path is None or path.is_file():
        raise SpecError(f"--checkpoint: {given} is no folder on this machine; give one")
    if not path.absolute().parent.is_dir():
        raise SpecError(f"--checkpoint: {given}: there is no folder {path.absolute().parent}")
    return path.absolute()


def _check_apart(option: str, path: Path, source: str) -> None:
    """Refuse to read what is written, and to replace what is read."""
    local = local_path(source)
    if local is None:
        return
    here, there = path.resolve(), local.resolve()
    if here.is_relative_to(there) or there.is_relative_to(here):
        raise SpecError(f"{option}: {path} and the input {source} lie in one another; give another folder")
