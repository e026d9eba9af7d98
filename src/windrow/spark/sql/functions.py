"""The table functions: `analyze` asks Catalyst for tuples in order, `eval` collects them, the kernel frames them.

Tuples are partitioned not by group but by bucket of groups, since each partition is a new table function to Spark: the
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
from windrow.spark.sql.tuples import as_rows, as_table, quoted, select_tuples

accept_intervals()

BUCKETS = 256
ROWS_AT_ONCE = 10_000


@dataclass
class Framing(AnalyzeResult):
    """What `analyze` found out, for the tasks."""

    request: FrameQuery | None = None


def analyze_call(
    function: TableFunction, positional: Sequence[AnalyzeArgument], named: Mapping[str, AnalyzeArgument]
) -> Framing:
    """Resolve a call; what is wrong with it is said in one sentence.

    Of an exception in `analyze` Spark shows the whole traceback, unless it is a `PySparkValueError`: then the message.
    """
    try:
        return _framing(function, positional, named)
    except WindrowError as error:
        raise PySparkValueError(str(error)) from None


def _framing(
    function: TableFunction, positional: Sequence[AnalyzeArgument], named: Mapping[str, AnalyzeArgument]
) -> Framing:
    call = read_call(function, positional, named)
    # Resolving looks at the schema of a DataFrame only, the checks of predicates apart.
    table = cast(DataFrame, Table(call.table))
    request = resolve(table, call.scheme, call.on, call.by, call.agg, call.order_by, check_predicate)
    selected, _ = select_tuples(request)
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
    """The part that all table functions share: rows in, frames out, in memory that does not grow with a group."""

    def __init__(self, framing: Framing) -> None:
        assert framing.request is not None
        self._request = framing.request
        self._selected, self._layout = select_tuples(self._request)
        self._reader = Reader(self._request, self._layout)
        self._framer = self._request.framer()
        self._framer.directory = self._reader.directory
        self._rows: list[Any] = []

    def eval(self, row: Any, **_: Any) -> Iterable[tuple[Any, ...]] | None:
        """Take one tuple; tuples come in the order of `on`, groups mixed."""
        found = None
        # Only whole instants are framed, since ties are put in order there.
        if len(self._rows) >= ROWS_AT_ONCE and row[0] != self._rows[-1][0]:
            found = self._frame()
        self._rows.append(row)
        return found

    def terminate(self) -> Iterable[tuple[Any, ...]]:
        """Frame what is left."""
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
    """`threshold_frames`."""

    @staticmethod
    def analyze(*table: AnalyzeArgument, **options: AnalyzeArgument) -> Framing:
        """Resolve a call."""
        return analyze_call(FUNCTIONS["threshold_frames"], table, options)


class BoundaryFrames(Frames):
    """`boundary_frames`."""

    @staticmethod
    def analyze(*table: AnalyzeArgument, **options: AnalyzeArgument) -> Framing:
        """Resolve a call."""
        return analyze_call(FUNCTIONS["boundary_frames"], table, options)


class DeltaFrames(Frames):
    """`delta_frames`."""

    @staticmethod
    def analyze(*table: AnalyzeArgument, **options: AnalyzeArgument) -> Framing:
        """Resolve a call."""
        return analyze_call(FUNCTIONS["delta_frames"], table, options)


class AggregateFrames(Frames):
    """`aggregate_frames`."""

    @staticmethod
    def analyze(*table: AnalyzeArgument, **options: AnalyzeArgument) -> Framing:
        """Resolve a call."""
        return analyze_call(FUNCTIONS["aggregate_frames"], table, options)


class GapFrames(Frames):
    """`gap_frames`."""

    @staticmethod
    def analyze(*table: AnalyzeArgument, **options: AnalyzeArgument) -> Framing:
        """Resolve a call."""
        return analyze_call(FUNCTIONS["gap_frames"], table, options)
