"""The location of a path, and the files below it.

Spark's reader treats `*`, `?`, `[` and `{` as patterns, resolves relative paths from the directory where the JVM was
started, and takes addresses literally. pyarrow has no patterns and decodes addresses. Both must read the same files, so
Windrow reads the files that Spark lists.
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
"""The characters that Spark's reader treats as part of a pattern."""
AMBIGUOUS = re.compile(r"[\\*?\[\]{}%#]")
"""The characters that Spark and pyarrow read differently in an address."""
SUMMARIES = ("_spark_metadata", "_metadata", "_common_metadata")
"""The files that Spark reads before any data file."""


def settle_path(path: str) -> tuple[str, str]:
    """Return a path whose meaning cannot change, and the text by which Spark's reader finds exactly that path.

    An existing name is taken literally; a pattern is one only if nothing has that name. A path that neither exists on
    this machine nor matches anything on it is left to Spark, which may use another file system.

    >>> settle_path("s3a://logs/2026")
    ('s3a://logs/2026', 's3a://logs/2026')
    """
    if has_scheme(path):
        return path, path
    here = str(Path(path).absolute())
    try:
        exists = Path(path).exists()
    except OSError as error:  # the name is too long, or a folder is not accessible
        raise SourceError(f"{quoted(path)}: {error.strerror}") from None
    if exists and ":" in Path(path).name and Path(path).is_file():
        # Hadoop looks for a checksum next to a local file, and takes the part of its name before a colon for a scheme.
        raise SourceError(f"{quoted(path)}: Spark cannot read a local file with ':' in its name; rename it")
    if exists:
        return here, _literally(here)
    if not Path(path).is_absolute() and glob.glob(path):  # noqa: PTH207, since Path.glob refuses some
        return here, f"{_literally(str(Path.cwd()))}/{path}"
    return path, path


def _literally(path: str) -> str:
    return PATTERN.sub(lambda match: "\\" + match[0], path)


def has_scheme(path: str) -> bool:
    """Return whether a path names its file system."""
    return "://" in path or path.startswith("file:")


def file_system(path: str) -> tuple[pafs.FileSystem, str]:
    """Return pyarrow's file system for a path or URI, and the path in it. A local path becomes absolute."""
    if not has_scheme(path):
        return pafs.LocalFileSystem(), str(Path(path).absolute())
    if AMBIGUOUS.search(path):
        raise OSError(f"{path} contains pattern or escape characters, which are left to Spark")
    system, root = pafs.FileSystem.from_uri(path.replace("s3a://", "s3://", 1))
    return system, root


def located(addresses: Sequence[str]) -> tuple[str, list[str]]:
    """Return the location of files that Spark names by address: a place for `file_system`, and their paths in it.

    Raises `OSError` if pyarrow may find other files under these names.

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
        raise OSError(f"{place} has files whose names contain pattern or escape characters")
    _, first = file_system(addresses[0])
    if not first.endswith(paths[0]):
        raise OSError(f"{addresses[0]} is {first} to pyarrow")
    return place, [first.removesuffix(paths[0]) + path for path in paths]


@dataclass(frozen=True)
class Listing:
    """The data files directly below a path, and whether there are also folders or metadata files of Spark.

    Folders may define columns, as in `road=7/part-0.parquet`. Spark's metadata files (the log of a stream's sink,
    summaries of footers) decide which files are read, or which columns they have.
    """

    system: pafs.FileSystem
    files: list[str]
    has_folders: bool
    has_summary: bool = False


def list_files(path: str) -> Listing:
    """List a file or folder, once. Raises `OSError` if it does not exist."""
    system, root = file_system(path)
    if system.get_file_info(root).type == pafs.FileType.File:
        return Listing(system, [root], has_folders=False)
    there = system.get_file_info(pafs.FileSelector(root))
    data = [info for info in there if is_data(info.base_name)]
    files = sorted(info.path for info in data if info.type == pafs.FileType.File)
    folders = any(info.type == pafs.FileType.Directory for info in data)
    return Listing(system, files, folders, any(info.base_name.startswith(SUMMARIES) for info in there))


def is_data(name: str) -> bool:
    """Return whether a file holds data, by Spark's rule: no leading `_` or `.`, unless the name defines a column."""
    return not name.startswith(".") and (not name.startswith("_") or "=" in name) and not name.endswith("._COPYING_")
