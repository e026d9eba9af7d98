#!/usr/bin/env python3
"""Checks the wheel and the sdist in a folder before they are tested: their metadata and the files in them.

Run it as `python scripts/check_dist.py dist`. It prints what is wrong and exits with 1.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from packaging.metadata import Metadata

ROOT = Path(__file__).parents[1]
CACHES = {".pyc", ".nbi", ".nbc", ".lock"}
REQUIRED = ("src/windrow/py.typed", "src/windrow/planner/measured.json")
"""Files of the package that are not Python; a build that loses one would go unnoticed until it is used."""
IN_SDIST = ("README.md", "LICENSE", "Makefile", "constraints.txt", "pyproject.toml", "tests/conftest.py")


def main(folder: Path) -> int:
    wheel, sdist = _only(folder, "*.whl"), _only(folder, "*.tar.gz")
    problems = [*check_wheel(wheel), *check_sdist(sdist)]
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        print(f"{wheel.name} and {sdist.name}: metadata and contents are as expected")
    return 1 if problems else 0


def _only(folder: Path, pattern: str) -> Path:
    paths = list(folder.glob(pattern))
    if len(paths) != 1:
        sys.exit(f"{folder}: expected one {pattern}, got {len(paths)}")
    return paths[0]


def check_wheel(path: Path) -> Iterator[str]:
    """Yield what is wrong with a wheel: it must hold exactly the package, and metadata that an index accepts."""
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        about = next(name for name in names if name.endswith(".dist-info/METADATA"))
        yield from check_metadata(path, archive.read(about))
    content = {name for name in names if ".dist-info/" not in name}
    expected = {name.removeprefix("src/") for name in (*tracked("src"), *REQUIRED)}
    yield from (f"{path.name}: {name} is missing" for name in sorted(expected - content))
    yield from (f"{path.name}: {name} does not belong in a wheel" for name in sorted(content - expected))


def check_sdist(path: Path) -> Iterator[str]:
    """Yield what is wrong with an sdist: it must hold the source and tests, and nothing that a build or test leaves."""
    with tarfile.open(path) as archive:
        names = {str(PurePosixPath(*PurePosixPath(name).parts[1:])) for name in archive.getnames()}
        about = archive.extractfile(f"{path.name.removesuffix('.tar.gz')}/PKG-INFO")
        assert about is not None
        yield from check_metadata(path, about.read())
    expected = {*tracked("src"), *REQUIRED, *IN_SDIST}
    yield from (f"{path.name}: {name} is missing" for name in sorted(expected - names))
    leftovers = {name for name in names if Path(name).suffix in CACHES or "__pycache__" in name}
    yield from (f"{path.name}: {name} does not belong in an sdist" for name in sorted(leftovers))


def check_metadata(path: Path, text: bytes) -> Iterator[str]:
    """Yield what an index would reject, and a description or version that is not the project's."""
    try:
        metadata = Metadata.from_email(text, validate=True)
    except ExceptionGroup as group:
        yield from (f"{path.name}: {error}" for error in group.exceptions)
        return
    if metadata.description != (ROOT / "README.md").read_text(encoding="utf-8"):
        yield f"{path.name}: the description is not README.md"
    if str(metadata.version) != path.name.removesuffix(".tar.gz").split("-")[1]:
        yield f"{path.name}: the version in the metadata is {metadata.version}"


def tracked(folder: str) -> list[str]:
    """Return the files of a folder that are under version control."""
    listed = subprocess.run(["git", "ls-files", folder], cwd=ROOT, capture_output=True, text=True, check=True)
    return listed.stdout.splitlines()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
