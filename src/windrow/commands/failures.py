"""What a failure was about: input that cannot be used, or something nobody has thought of.

Most bad input is refused by a `WindrowError`. Some shows only when a task is in the midst of its work, and comes back
as Spark's account of it: a traceback from a worker, or a Java stack.
"""

from __future__ import annotations

import re

import pyarrow as pa

from windrow.errors import WindrowError

OURS = re.compile(r"^windrow\.errors\.\w+: (?P<said>.+)$", re.MULTILINE)
"""An error of ours, raised in a worker."""
READING = re.compile(r"^(?:OSError|FileNotFoundError|pyarrow\.lib\.Arrow\w+): (?P<said>.+)$", re.MULTILINE)
"""A worker could not read a file with pyarrow."""
SPARK = re.compile(r"\[(?P<kind>[A-Z_]+(?:\.[A-Z_]+)?)\] (?P<said>[^\n]+)")
"""How Spark begins a message, whatever it is wrapped in."""
DATA_FAULT = re.compile(r"\[[A-Z_.]+\] (?P<said>[^\n]+?) SQLSTATE: 22\w{3}(?:\s*== SQL [^\n]*==\n(?P<sql>[^\n]+))?")
"""Spark's word for values that an expression cannot be computed for, with the expression where Spark knows its text."""
UNREADABLE = ("FAILED_READ_FILE", "MALFORMED_RECORD_IN_PARSING", "PATH_NOT_FOUND", "MALFORMED_CSV_RECORD")


def bad_input(error: Exception) -> str | None:
    """What is wrong with the input, in one sentence; None if the failure is of another kind."""
    if isinstance(error, WindrowError):
        return str(error)
    text = str(error)
    ours = OURS.search(text)
    if ours:
        return ours["said"]
    from_spark = SPARK.search(text)
    if from_spark and from_spark["kind"].startswith(UNREADABLE):
        return _unreadable(from_spark["said"])
    fault = DATA_FAULT.search(text)
    if fault:
        what = f"the predicate {fault['sql'].strip()!r}" if fault["sql"] else "a value"
        return f"{what} cannot be computed for some row: {fault['said']}"
    if isinstance(error, pa.ArrowInvalid):
        return _unreadable(text)
    reading = READING.search(text) if "pyarrow" in text else None
    return _unreadable(reading["said"]) if reading else None


def _unreadable(said: str) -> str:
    return f"the input cannot be read, it may be half-written: {said.split(' SQLSTATE: ')[0]}"


def gist(error: Exception) -> str:
    """The one line of a failure that says most.

    >>> gist(RuntimeError("An error occurred while calling o1.x: SparkException: [OUT_OF_LUCK] No luck."))
    'RuntimeError: [OUT_OF_LUCK] No luck.'
    """
    from_spark = SPARK.search(str(error))
    line = from_spark[0] if from_spark else next(iter(str(error).strip().splitlines()), "no message")
    return f"{type(error).__name__}: {line}"
