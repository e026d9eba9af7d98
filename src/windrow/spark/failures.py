"""`failure`: find the Windrow error in Spark's report of a failed task. Also shortens the tracebacks of workers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from windrow import errors
from windrow.errors import DataError, SpecError, WindrowError, quoted
from windrow.framing.parallel.pieces import MapInArrow

OURS = re.compile(r"\bwindrow\.errors\.(?P<kind>\w+): (?P<message>.+)$", re.MULTILINE)
"""Matches a Windrow error as a worker reports it, with or without its traceback."""
FAULT = re.compile(
    r"\[(?!MALFORMED_)[A-Z_.]+\] (?P<message>[^\n]+?) +SQLSTATE: 22\w{3}(?:\s*== SQL [^\n]*==\n(?P<sql>[^\n]+))?"
)
"""Matches Spark's report of values for which an expression cannot be computed, with the text of the expression if
known.
"""
CASE = "CASE WHEN ("
"""The text that the table functions put before a predicate."""
HIDE = "SPARK_HIDE_TRACEBACK"
"""The environment variable that makes PySpark leave out the traceback of the exception that ends a worker."""


def failure(of: StreamingQuery | BaseException) -> WindrowError | None:
    r"""Return the Windrow error that ended a query or an action, without Spark's stack traces.

    Some mistakes appear only while a task runs: a checkpoint that belongs to another query, a null with
    `nulls="error"`, a predicate that divides by zero in some row. Spark reports them as a failed task, in
    `query.exception()` or in the exception that an action raises, and surrounds the message with the stack traces of
    the worker and of its own threads. This function returns the error itself.

    Parameters
    ----------
    of
        A streaming query, or the exception that an action raised.

    Returns
    -------
    The error as an instance of its class, or None if the query has not failed or failed for another reason.

    Examples
    --------
    >>> error = "windrow.errors.DataError: column 'x' is null in 2 rows"
    >>> report = f"Job aborted\nTraceback ...\n{error}\n\tat java..."
    >>> failure(RuntimeError(report))
    DataError("column 'x' is null in 2 rows")
    """
    if isinstance(of, WindrowError):
        return of
    error = of if isinstance(of, BaseException) else _exception(of)
    if error is None:
        return None
    match = OURS.search(str(error))
    if match is None:
        return _fault(str(error))
    kind = getattr(errors, match["kind"], None)
    return (kind if isinstance(kind, type) and issubclass(kind, WindrowError) else WindrowError)(match["message"])


def _fault(text: str) -> DataError | None:
    """Return the error for values that a predicate cannot be computed for, such as division by zero."""
    fault = FAULT.search(text)
    if fault is None or "[FAILED_READ_FILE" in text:  # a broken file is not a fault of an expression
        return None
    sql = (fault["sql"] or "").strip().removeprefix(CASE)
    what = f"the expression {quoted(sql)}" if sql else "an expression"
    return DataError(f"{what} cannot be computed for some row: {fault['message']}")


@contextmanager
def own_errors() -> Iterator[None]:
    """Raise the Windrow error behind an exception of Spark in this block, for jobs that run before the result."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        ours = failure(error)
        if ours is None:
            raise
        raise ours from None


def _exception(query: object) -> BaseException | None:
    if not callable(getattr(query, "exception", None)):
        raise SpecError(f"of: expected a streaming query or an exception, got {type(query).__name__}")
    error: BaseException | None = query.exception()  # type: ignore[attr-defined]
    return error


@contextmanager
def plain_errors() -> Iterator[None]:
    """Report Windrow errors that a worker raises in this block without their traceback."""
    try:
        yield
    except WindrowError:
        os.environ[HIDE] = "1"
        raise


def plainly(run: MapInArrow) -> MapInArrow:
    """Return the same function for `mapInArrow`, but report its Windrow errors without the worker's traceback."""

    def run_plainly(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with plain_errors():
            yield from run(batches)

    return run_plainly
