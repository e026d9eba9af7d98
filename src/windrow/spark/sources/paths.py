"""Where a path is, and what lies below it.

Spark's reader takes `*`, `?`, `[` and `{` for patterns, resolves relative paths where the JVM was started, and takes
addresses as they are written; pyarrow knows no patterns and decodes addresses. Both must read the same files, so what
Spark found is what is read.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow.fs as pafs

from windrow.errors import SourceError, quoted

PATTERN = re.compile(r"[\\*?\[\]{}]")
"""What Spark's reader takes for a part of a pattern."""
AMBIGUOUS = re.compile(r"[\\*?\[\]{}%#]")
"""What Spark and pyarrow read differently in an address."""
SUMMARIES = ("_spark_metadata", "_metadata", "_common_metadata")
"""What Spark reads before any file of data."""


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
    try:
        exists = Path(path).exists()
    except OSError as error:  # too long a name, a folder that may not be entered
        raise SourceError(f"{quoted(path)}: {error.strerror}") from None
    if exists and ":" in Path(path).name and Path(path).is_file():
        # Hadoop looks for a checksum beside a local file, and takes what is before the colon in its name for a scheme.
        raise SourceError(f"{quoted(path)}: Spark cannot read a local file with ':' in its name; rename it")
    if exists:
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


def located(addresses: Sequence[str]) -> tuple[str, list[str]]:
    """Return where files are that Spark names by address: a place for `file_system`, and their paths there.

    Raises `OSError` where pyarrow may find other files by these names.

    >>> located(["file:///logs/a%20b/part-0.parquet"])
    ('/', ['/logs/a b/part-0.parquet'])
    """
    parts = [urlsplit(address) for address in addresses]
    places = {(part.scheme, part.netloc) for part in parts}
    if len(places) > 1:
        raise OSError("the files are on more than one file system")
    scheme, host = places.pop()
    paths = [unquote(part.path) for part in parts]
    if scheme == "file":
        return "/", paths
    place = f"{scheme}://{host}/"
    if any(AMBIGUOUS.search(address) for address in addresses):
        raise OSError(f"{place} has files with characters of a pattern or an escape in their names")
    _, first = file_system(addresses[0])
    if not first.endswith(paths[0]):
        raise OSError(f"{addresses[0]} is {first} to pyarrow")
    return place, [first.removesuffix(paths[0]) + path for path in paths]


@dataclass(frozen=True)
class Listing:
    """The data files directly below a path, and whether there are folders or files of Spark's about them too.

    Folders may carry columns, as in `road=7/part-0.parquet`. What Spark writes about files (the log of a stream's sink,
    summaries of footers) decides which files are read, or what their columns are.
    """

    system: pafs.FileSystem
    files: list[str]
    has_folders: bool
    has_summary: bool = False


def list_files(path: str) -> Listing:
    """List a file or folder, once; OSError where there is none."""
    system, root = file_system(path)
    if system.get_file_info(root).type == pafs.FileType.File:
        return Listing(system, [root], has_folders=False)
    there = system.get_file_info(pafs.FileSelector(root))
    found = [info for info in there if is_data(info.base_name)]
    files = sorted(info.path for info in found if info.type == pafs.FileType.File)
    folders = any(info.type == pafs.FileType.Directory for info in found)
    return Listing(system, files, folders, any(info.base_name.startswith(SUMMARIES) for info in there))


def is_data(name: str) -> bool:
    """Whether a file holds data by Spark's rule: not with a leading `_` or `.`, unless it names a column."""
    return not name.startswith(".") and (not name.startswith("_") or "=" in name) and not name.endswith("._COPYING_")
