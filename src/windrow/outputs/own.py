"""Recognition of outputs that a command itself could have written; only these may be replaced.

A recogniser inspects a path and returns why the command cannot have written it, or None if it can have. It recognises
tables by their columns as well as their format, since the user's data has the same formats.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

Recogniser: TypeAlias = Callable[[Path], str | None]

HEAD = 1 << 20
"""How many bytes of a file are read to find the names of its columns."""
TABLE = re.compile(r"(part-\d{5,}-[0-9a-f-]{36}\S*|(batch-\d{8,}|flushed)\.(parquet|csv|json))")
"""A file that Spark, or a stream, writes to a folder of results."""
NOTE = re.compile(r"_SUCCESS|\._SUCCESS\.crc|\.part-\d{5,}-[0-9a-f-]{36}\S*\.crc")
UNFINISHED = re.compile(r"\.(batch-\d{8,}|flushed)\.tmp")
"""A folder that a batch was being written to when the query was killed."""
CHECKPOINT = re.compile(r"metadata|offsets|commits|sources|state|columns\.json|\..*\.(crc|tmp)")


def table_file(expected: Collection[str]) -> Recogniser:
    """Recognise a Parquet, CSV or JSON file with at least these columns; an empty file may always be replaced."""

    def why_not(path: Path) -> str | None:
        if not path.is_file():
            return "it is a folder" if path.is_dir() else "it is not a regular file"
        return _why_no_table(path, expected)

    return why_not


def table_folder(expected: Collection[str]) -> Recogniser:
    """Recognise a folder that contains only tables with at least these columns, and files that Spark adds to them."""

    def why_not(path: Path) -> str | None:
        if not path.is_dir():
            return "it is a file" if path.is_file() else "it is not a folder"
        strange = [entry for entry in sorted(path.iterdir()) if not _is_of_results(entry)]
        if strange:
            return f"it contains {named(entry.name for entry in strange)}"
        tables = [entry for entry in sorted(path.iterdir()) if TABLE.fullmatch(entry.name)]
        for table in tables:
            why = _why_no_table(table, expected)
            if why:
                return f"{table.name}: {why}"
        return None

    return why_not


def _is_of_results(entry: Path) -> bool:
    if entry.is_symlink():
        return False
    if entry.is_dir():
        return bool(UNFINISHED.fullmatch(entry.name)) or (entry.name[0] in "._" and not strangers(entry, CHECKPOINT))
    return bool(TABLE.fullmatch(entry.name) or NOTE.fullmatch(entry.name))


def strangers(folder: Path, own: re.Pattern[str]) -> list[str]:
    """Return the names in a folder that do not match a pattern."""
    return sorted(entry.name for entry in folder.iterdir() if not own.fullmatch(entry.name))


def named(names: Iterable[str], most: int = 3) -> str:
    """Join names for a message, up to `most` of them.

    >>> named("abcde")
    "'a', 'b', 'c' and 2 more"
    """
    quoted = [repr(name) for name in names]
    more = f" and {len(quoted) - most} more" if len(quoted) > most else ""
    return ", ".join(quoted[:most]) + more


def _why_no_table(path: Path, expected: Collection[str]) -> str | None:
    columns = columns_of(path)
    if columns is None:
        return "it is not a Parquet, CSV or JSON file with columns"
    # Spark matches column names case-insensitively, and the result has the name of the input.
    lower = {name.lower() for name in columns}
    missing = [name for name in expected if name.lower() not in lower]
    if not missing or not path.stat().st_size:
        return None
    return f"expected the column{'s' if len(missing) > 1 else ''} {named(missing)}, got {named(columns) or 'none'}"


def columns_of(path: Path) -> list[str] | None:
    """Return the names of a file's columns: an empty list for an empty file, None for a file that is not a table."""
    with path.open("rb") as file:
        head = file.read(HEAD)
    if not head:
        return []
    if head.startswith(b"PAR1"):
        return _parquet_columns(path)
    try:
        text = head.decode("utf-8") if len(head) < HEAD else head.decode("utf-8", "ignore")
        if "\0" in text:
            return None
        if text.startswith("{"):
            return list(json.loads(text.splitlines()[0]))
        return next(_csv_rows(text), None)
    except (ValueError, csv.Error):
        return None


def _csv_rows(text: str) -> Iterator[list[str]]:
    return csv.reader(io.StringIO(text, newline=""))


def _parquet_columns(path: Path) -> list[str] | None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return list(pq.read_schema(path).names)
    except (OSError, pa.ArrowException):
        return None
