"""Where a path is, and what lies below it.

Spark's reader takes `*`, `?`, `[` and `{` for patterns, resolves relative paths where the JVM was started, and takes
addresses as they are written; pyarrow knows no patterns and decodes addresses. Both must read the same files.
"""

from __future__ import annotations

import glob
import re
from dataclasses import dataclass
from pathlib import Path

import pyarrow.fs as pafs

PATTERN = re.compile(r"[\\*?\[\]{}]")
"""What Spark's reader takes for a part of a pattern."""
AMBIGUOUS = re.compile(r"[\\*?\[\]{}%#]")
"""What Spark and pyarrow read differently in an address."""


def settle_path(path: str) -> tuple[str, str]:
    """A path that means the same place for good, and the text by which Spark's reader finds just that.

    What is there by its very name is meant literally; a pattern is one only where nothing is named so. A path that is
    neither on this machine nor matches anything on it is left to Spark, whose own file system may be another.

    >>> settle_path("s3a://logs/2026")
    ('s3a://logs/2026', 's3a://logs/2026')
    """
    if has_scheme(path):
        return path, path
    here = str(Path(path).absolute())
    if Path(path).exists():
        return here, _literally(here)
    if not Path(path).is_absolute() and glob.glob(path):  # noqa: PTH207, since Path.glob refuses some
        return here, f"{_literally(str(Path.cwd()))}/{path}"
    return path, path


def _literally(path: str) -> str:
    return PATTERN.sub(lambda found: "\\" + found[0], path)


def has_scheme(path: str) -> bool:
    """Whether a path says which file system it is on."""
    return "://" in path or path.startswith("file:")


def file_system(path: str) -> tuple[pafs.FileSystem, str]:
    """The file system of a path or URI as pyarrow knows it, and the path in it; a local one is made absolute."""
    if not has_scheme(path):
        return pafs.LocalFileSystem(), str(Path(path).absolute())
    if AMBIGUOUS.search(path):
        raise OSError(f"{path} has characters of a pattern or an escape in it, which is left to Spark")
    system, root = pafs.FileSystem.from_uri(path.replace("s3a://", "s3://", 1))
    return system, root


@dataclass(frozen=True)
class Listing:
    """The data files directly below a path, and whether there are folders too.

    Folders may carry columns, as in `road=7/part-0.parquet`.
    """

    system: pafs.FileSystem
    files: list[str]
    has_folders: bool


def list_files(path: str) -> Listing:
    """List a file or folder, once; OSError where there is none."""
    system, root = file_system(path)
    if system.get_file_info(root).type == pafs.FileType.File:
        return Listing(system, [root], has_folders=False)
    found = [info for info in system.get_file_info(pafs.FileSelector(root)) if _is_data(info.base_name)]
    files = sorted(info.path for info in found if info.type == pafs.FileType.File)
    return Listing(system, files, any(info.type == pafs.FileType.Directory for info in found))


def _is_data(name: str) -> bool:
    """By the rule that Spark uses: a leading `_` or `.` is for what is no data, unless it names a column."""
    return not name.startswith(".") and (not name.startswith("_") or "=" in name)
