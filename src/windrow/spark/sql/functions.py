"""The table functions: `analyze` asks Catalyst for rows in order, `eval` collects them, and the kernel frames them.

Rows are partitioned by bucket of groups, not by group, because Spark creates a new table function per partition. The
kernel takes many groups at once, so a hundred thousand groups cost no more than a few hundred.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pyspark.errors import PySparkValueError
from pyspark.sql import DataFrame
from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult, OrderingColumn, PartitioningColumn

from windrow.errors import WindrowError
from windrow.framing.query import FrameQuery, frames_table
from windrow.rows.ordering import read_in_order
from windrow.rows.query import Reader
from windrow.spark.framing import result_schema
from windrow.spark.resolve.frames import resolve
from windrow.spark.sql.arguments import FUNCTIONS, TableFunction, accept_intervals, read_call
from windrow.spark.sql.predicates import Table, check_predicate
from windrow.spark.sql.rows import as_rows, as_table, quoted, select_rows

accept_intervals()

BUCKETS = 256


@dataclass
class Framing(AnalyzeResult):
    """The result of `analyze`, passed on to the tasks."""

    request: FrameQuery | None = None


def analyze_call(
    function: TableFunction, positional: Sequence[AnalyzeArgument], named: Mapping[str, AnalyzeArgument]
) -> Framing:
    """Resolve a call, and report any error in one sentence.

    For an exception in `analyze`, Spark shows the whole traceback unless it is a `PySparkValueError`, whose message it
    shows.
    """
    try:
        return _framing(function, positional, named)
    except WindrowError as error:
        raise PySparkValueError(str(error)) from None


def _framing(
    function: TableFunction, positional: Sequence[AnalyzeArgument], named: Mapping[str, AnalyzeArgument]
) -> Framing:
    call = read_call(function, positional, named)
    # Resolving only reads the schema of a DataFrame, apart from the checks of predicates.
    table = cast(DataFrame, Table(call.table))
    request = resolve(table, call.scheme, call.on, call.by, call.agg, call.order_by, check_predicate)
    selected, _ = select_rows(request)
    keys = ", ".join(quoted(name) for name in request.by)
    return Framing(
        result_schema(table, request),
        withSinglePartition=not keys,
        partitionBy=[PartitioningColumn(f"pmod(hash({keys}), {BUCKETS})")] if keys else [],
        orderBy=[OrderingColumn(quoted(request.on))],
        select=[one.column for one in selected],
        request=request,
    )


class Frames:
    """The base of all table functions: rows in, frames out, in memory that does not grow with the size of a group."""

    def __init__(self, framing: Framing) -> None:
        assert framing.request is not None
        self._request = framing.request
        self._selected, self._layout = select_rows(self._request)
        self._reader = Reader(self._request, self._layout)
        self._framer = self._request.framer()
        self._framer.directory = self._reader.directory
        self._rows: list[Any] = []

    def eval(self, row: Any, **_: Any) -> Iterable[tuple[Any, ...]] | None:
        """Take one row. Rows arrive in the order of `on`, with groups interleaved."""
        found = None
        # Only frame when all rows of an instant have arrived, because ties are ordered there.
        if len(self._rows) >= self._request.tuning.rows_per_call and row[0] != self._rows[-1][0]:
            found = self._frame()
        self._rows.append(row)
        return found

    def terminate(self) -> Iterable[tuple[Any, ...]]:
        """Frame the remaining rows."""
        yield from self._frame()
        yield from as_rows(frames_table(self._request, self._reader.directory.keys(), self._framer.finish()))

    def _frame(self) -> Iterable[tuple[Any, ...]]:
        if not self._rows:
            return ()
        table = as_table(self._rows, self._selected)
        self._rows = []
        closed = self._framer.process(read_in_order(self._reader, table))
        return as_rows(frames_table(self._request, self._reader.directory.keys(), closed))


class ThresholdFrames(Frames):
    """The table function `threshold_frames`."""

    @staticmethod
    def analyze(*table: AnalyzeArgument, **options: AnalyzeArgument) -> Framing:
        """Resolve a call."""
        return analyze_call(FUNCTIONS["threshold_frames"], table, options)


class BoundaryFrames(Frames):
    """The table function `boundary_frames`."""

    @staticmethod
    def analyze(*table: AnalyzeArgument, **options: AnalyzeArgument) -> Framing:
        """Resolve a call."""
        return analyze_call(FUNCTIONS["boundary_frames"], table, options)


class DeltaFrames(Frames):
    """The table function `delta_frames`."""

    @staticmethod
    def analyze(*table: AnalyzeArgument, **options: AnalyzeArgument) -> Framing:
        """Resolve a call."""
        return analyze_call(FUNCTIONS["delta_frames"], table, options)


class AggregateFrames(Frames):
    """The table function `aggregate_frames`."""

    @staticmethod
    def analyze(*table: AnalyzeArgument, **options: AnalyzeArgument) -> Framing:
        """Resolve a call."""
        return analyze_call(FUNCTIONS["aggregate_frames"], table, options)


class GapFrames(Frames):
    """The table function `gap_frames`."""

    @staticmethod
    def analyze(*table: AnalyzeArgument, **options: AnalyzeArgument) -> Framing:
        """Resolve a call."""
        return analyze_call(FUNCTIONS["gap_frames"], table, options)
