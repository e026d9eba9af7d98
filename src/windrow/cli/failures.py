"""Classification of failures: unusable input, or something unexpected.

Most bad input raises a `WindrowError`. Some shows up only inside a running task and arrives as a traceback from a
worker or a Java stack.
"""

from __future__ import annotations

import re

import pyarrow as pa

from windrow.spark.failures import failure

READING = re.compile(r"^(?:OSError|FileNotFoundError|pyarrow\.lib\.Arrow\w+): (?P<message>.+)$", re.MULTILINE)
"""A worker could not read a file with pyarrow."""
SPARK = re.compile(r"\[(?P<kind>[A-Z_]+(?:\.[A-Z_]+)?)\] (?P<message>[^\n]+)")
"""How Spark starts a message, whatever wraps it."""
HEADER = re.compile(r"(?P<message>(?:CSV header does not|Number of column in CSV header)[^\"]*?CSV file: [^\n]+)")
"""A file of a stream has different columns than the first ones."""
WRAPPERS = ("STREAM_FAILED", "FOREACH_BATCH_USER_FUNCTION_ERROR")
"""Error classes that Spark uses for any failed query, whatever the cause."""
UNREADABLE = ("FAILED_READ_FILE", "MALFORMED_RECORD_IN_PARSING", "PATH_NOT_FOUND", "MALFORMED_CSV_RECORD")


def bad_input(error: Exception) -> str | None:
    """Describe what is wrong with the input in one sentence; return None for other failures."""
    ours = failure(error)
    if ours is not None:
        return str(ours)
    text = str(error)
    header = HEADER.search(text)
    if header:
        return f"the input cannot be read: {' '.join(header['message'].split())}"
    unreadable = next((match for match in SPARK.finditer(text) if match["kind"].startswith(UNREADABLE)), None)
    if unreadable:
        return _unreadable(unreadable["message"], "MALFORMED_RECORD" in text)
    if isinstance(error, pa.ArrowInvalid):
        return _unreadable(text)
    reading = READING.search(text) if "pyarrow" in text else None
    return _unreadable(reading["message"]) if reading else None


def _unreadable(message: str, malformed: bool = False) -> str:
    why = (
        "a value does not have its column's type, or a file is incomplete" if malformed else "a file may be incomplete"
    )
    return f"the input cannot be read, {why}: {message.split(' SQLSTATE: ')[0]}"


def gist(error: Exception) -> str:
    """Return the most informative line of a failure.

    >>> gist(
    ...     RuntimeError("An error occurred while calling o1.x: SparkException: [OUT_OF_LUCK] No luck.")
    ... )
    'RuntimeError: [OUT_OF_LUCK] No luck.'
    """
    messages = [match for match in SPARK.finditer(str(error)) if match["kind"] not in WRAPPERS]
    from_spark = messages[0] if messages else SPARK.search(str(error))
    line = from_spark[0] if from_spark else next(iter(str(error).strip().splitlines()), "no message")
    return f"{type(error).__name__}: {line}"
