"""The table functions: `analyze` asks Catalyst for rows in order, `eval` collects them, and the kernel frames them.

Rows are partitioned by bucket of groups, not by group, because Spark creates a new table function per partition. The
kernel takes many groups at once, so a hundred thousand groups cost no more than a few hundred.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pyspark import cloudpickle
from pyspark.errors import PySparkValueError
from pyspark.sql import DataFrame
from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult, OrderingColumn, PartitioningColumn

from windrow.aggregates.text import AGGREGATE_REGISTRY
from windrow.errors import WindrowError
from windrow.framing.query import FrameQuery, frames_table
from windrow.framing.schemes import Scheme
from windrow.rows.ordering import read_in_order
from windrow.rows.query import Reader
from windrow.spark.framing import result_schema
from windrow.spark.resolve.frames import resolve
from windrow.spark.sql.arguments import TableFunction, accept_intervals, read_call
from windrow.spark.sql.predicates import Table, check_predicate
from windrow.spark.sql.rows import as_rows, as_table, quoted, select_rows

accept_intervals()

BUCKETS = 256


@dataclass
class Framing(AnalyzeResult):
    """The result of `analyze`, passed on to the tasks."""

    query: bytes = b""
    """The `FrameQuery`. Spark pickles this object, and pickle alone cannot send classes of imported modules."""


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
        query=cloudpickle.dumps(request),  # type: ignore[no-untyped-call]
    )


class Frames:
    """The base of all table functions: rows in, frames out, in memory that does not grow with the size of a group."""

    def __init__(self, framing: Framing) -> None:
        self._request: FrameQuery = cloudpickle.loads(framing.query)
        self._selected, self._layout = select_rows(self._request)
        self._reader = Reader(self._request, self._layout)
        self._framer = self._request.framer()
        self._framer.directory = self._reader.directory
        self._rows: list[Any] = []

    def eval(self, row: Any, **_: Any) -> Iterable[tuple[Any, ...]] | None:
        """Take one row. Rows arrive in the order of `on`, with groups interleaved."""
        frames = None
        # Only frame when all rows of an instant have arrived, because ties are ordered there.
        if len(self._rows) >= self._request.tuning.rows_per_call and row[0] != self._rows[-1][0]:
            frames = self._frame()
        self._rows.append(row)
        return frames

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


def handler_of(kind: type[Scheme]) -> type[Frames]:
    """Return the class behind the table function of a scheme. It is sent to Spark's processes, scheme included."""
    function = TableFunction(kind, tuple(AGGREGATE_REGISTRY.imported.values()))

    def analyze(*table: AnalyzeArgument, **options: AnalyzeArgument) -> Framing:
        return analyze_call(function, table, options)

    return type(f"{kind.__name__}Frames", (Frames,), {"analyze": staticmethod(analyze)})
