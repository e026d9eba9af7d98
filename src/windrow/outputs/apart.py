"""Checks whether an output and an input overlap, under whatever names they are given."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from windrow.errors import OutputError

LOCAL = re.compile(r"file:(?://[^/]*)?(?P<path>/.*)", re.IGNORECASE | re.DOTALL)
MAGIC = re.compile(r"[*?\[{\\]")
"""The characters that begin a pattern, or an escape in one, for Spark's reader."""
BRACES = re.compile(r"\{([^{}]*)\}")


def local_path(path: str) -> Path | None:
    """Return the path on this machine, or None for an address such as `s3a://…`, which is left to Spark.

    >>> local_path("data/in.csv"), local_path("file:/data/in.csv"), local_path("s3a://bucket/in.csv")
    (PosixPath('data/in.csv'), PosixPath('/data/in.csv'), None)
    """
    address = LOCAL.fullmatch(path)
    if address:
        return Path(address["path"])
    return None if "://" in path else Path(path)


def check_apart(option: str, name: str | Path, path: Path, inputs: Iterable[str | Path]) -> None:
    """Reject an output that is, contains or lies inside an input: it would replace the input or be read as data."""
    here = path.resolve()
    for source in inputs:
        local = local_path(str(source))
        if local is None:
            continue
        for there in _read_places(local):
            relation = _relation(here, there)
            if relation:
                raise OutputError(f"{option}: {name} {relation} the input {source}; choose another path")
        if not os.path.lexists(local) and _matches(here, local):
            raise OutputError(f"{option}: {name} matches the input {source}; choose another path")


def _read_places(source: Path) -> Iterator[Path]:
    """Yield the places that a source reads: its path or the matches of its pattern, and the targets of links below."""
    waiting = [path.resolve() for path in ([source] if os.path.lexists(source) else _expand(source))]
    seen = set[Path]()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        yield path
        for folder, names, files in os.walk(path):
            inside = (Path(folder, name) for name in (*names, *files))
            waiting += [entry.resolve() for entry in inside if entry.is_symlink()]


def _expand(pattern: Path) -> list[Path]:
    texts = _alternatives(str(pattern))
    return [Path(match) for text in texts for match in glob.glob(text, include_hidden=True)]  # noqa: PTH207


def _alternatives(pattern: str) -> list[str]:
    """Translate a Hadoop pattern into Python patterns, which have neither braces nor escapes.

    >>> _alternatives("logs/{a,b}[^0].csv")
    ['logs/a[!0].csv', 'logs/b[!0].csv']
    """
    braces = BRACES.search(pattern)
    if braces:
        head, tail = pattern[: braces.start()], pattern[braces.end() :]
        return [text for choice in braces[1].split(",") for text in _alternatives(f"{head}{choice}{tail}")]
    return [re.sub(r"\\(.)", r"[\1]", pattern).replace("[^", "[!")]


def _matches(path: Path, pattern: Path) -> bool:
    """Return whether a pattern would match a path, or a folder that contains it, the next time it is read."""
    parts = pattern.absolute().parts
    plain = next((i for i, part in enumerate(parts) if MAGIC.search(part)), len(parts))
    base = Path(*parts[:plain]).resolve()
    for text in _alternatives("/".join(parts[plain:])):
        patterns = (*base.parts, *text.split("/"))
        if len(path.parts) >= len(patterns) and all(map(fnmatchcase, path.parts, patterns)):
            return True
    return False


def _relation(here: Path, there: Path) -> str | None:
    """Return the relation of an output to an input, by the files themselves, since one file may have many names."""
    mine, theirs = _identities(here), _identities(there)
    if mine[:1] == theirs[:1]:
        return "is"
    if theirs[0] in mine:
        return "lies inside"
    return "contains" if mine[0] in theirs else None


def _identities(path: Path) -> list[tuple[int, int] | str]:
    """Return identifiers of a path and of the folders above it: device and inode, or the name if it does not exist.

    A path that does not exist contains nothing, and lies in whatever contains its folder.
    """
    identities: list[tuple[int, int] | str] = []
    for one in (path, *path.parents):
        try:
            status = one.stat()
            identities.append((status.st_dev, status.st_ino))
        except OSError:
            identities.append(str(one))
    return identities
