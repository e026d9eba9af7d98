"""The table functions: `analyze` asks Catalyst for rows in order, `eval` collects them, and the kernel does the rest.

Rows are partitioned by bucket of groups, not by group, because Spark creates a new table function per partition. The
kernel takes many groups at once, so a hundred thousand groups cost no more than a few hundred.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.errors import PySparkValueError
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType
from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult, OrderingColumn, PartitioningColumn

from windrow.errors import SpecError, WindrowError
from windrow.framing.query import FrameQuery, frames_table
from windrow.framing.schemes import Scheme
from windrow.rows.ordering import read_in_order
from windrow.rows.query import Query, Reader, RowBatch
from windrow.spark.framing import result_schema
from windrow.spark.resolve.frames import resolve
from windrow.spark.resolve.windows import AUTO, resolve_windows
from windrow.spark.sliding import windows_schema
from windrow.spark.sql.arguments import (
    Call,
    TableFunction,
    accept_intervals,
    frames_function,
    read_call,
    windows_function,
)
from windrow.spark.sql.predicates import Table, check_predicate
from windrow.spark.sql.rows import as_rows, as_table, quoted, select_rows
from windrow.windows import Keep
from windrow.windows.in_order import WindowsInOrder
from windrow.windows.query import WindowQuery
from windrow.windows.text import make_window

accept_intervals()

BUCKETS = 256


@dataclass
class Analysis(AnalyzeResult):
    """The result of `analyze`, passed on to the tasks."""

    query: bytes = b""
    """The resolved query. Spark pickles this object, and pickle alone cannot send classes of imported modules."""


class TableHandler:
    """The base of the classes behind table functions: rows in order go in, rows of the result come out.

    Memory does not grow with the size of a group.
    """

    def __init__(self, analysis: Analysis) -> None:
        self._query: Any = cloudpickle.loads(analysis.query)
        self._selected, layout = select_rows(self._query)
        self._reader = Reader(self._query, layout)
        self._rows: list[Any] = []

    def take(self, rows: RowBatch) -> Iterable[pa.Table]:
        """Take in the next rows and return finished results; `rows` has all rows of its instants."""
        raise NotImplementedError

    def finish(self) -> Iterable[pa.Table]:
        """Return the results that remain at the end of the data."""
        raise NotImplementedError

    def eval(self, row: Any, **_: Any) -> Iterable[tuple[Any, ...]] | None:
        """Take one row. Rows arrive in the order of `on`, with groups interleaved."""
        results = None
        # Only when all rows of an instant have arrived, because ties are ordered there.
        if len(self._rows) >= self._query.tuning.rows_per_call and row[0] != self._rows[-1][0]:
            results = self._take()
        self._rows.append(row)
        return results

    def terminate(self) -> Iterable[tuple[Any, ...]]:
        """Process the remaining rows."""
        if self._rows:
            yield from self._take()
        for table in self.finish():
            yield from as_rows(table)

    def _take(self) -> Iterable[tuple[Any, ...]]:
        table = as_table(self._rows, self._selected)
        self._rows = []
        tables = list(self.take(read_in_order(self._reader, table)))
        return (row for table in tables for row in as_rows(table))


class Frames(TableHandler):
    """The frames of a scheme."""

    def __init__(self, analysis: Analysis) -> None:
        super().__init__(analysis)
        self._framer = self._query.framer()
        self._framer.directory = self._reader.directory

    def take(self, rows: RowBatch) -> Iterable[pa.Table]:
        """Return the frames that have closed."""
        yield frames_table(self._query, self._reader.directory.keys(), self._framer.process(rows))

    def finish(self) -> Iterable[pa.Table]:
        """Return the frames that are still open."""
        yield frames_table(self._query, self._reader.directory.keys(), self._framer.finish())


class Windows(TableHandler):
    """Moving windows."""

    def __init__(self, analysis: Analysis) -> None:
        super().__init__(analysis)
        self._windows = WindowsInOrder(self._query, self._reader.directory)

    def take(self, rows: RowBatch) -> Iterable[pa.Table]:
        """Return the windows that are due."""
        return self._windows.add(rows)

    def finish(self) -> Iterable[pa.Table]:
        """Return the windows that remain."""
        return self._windows.finish()


def frames_handler(kind: type[Scheme]) -> type[TableHandler]:
    """Return the class behind the table function of a scheme."""

    def resolved(call: Call, table: DataFrame) -> tuple[FrameQuery, StructType]:
        scheme = kind.from_options(call.options)
        query = resolve(table, scheme, call.on, call.by, call.agg, call.order_by, check_predicate)
        return query, result_schema(table, query)

    return _handler(Frames, frames_function(kind), resolved)


def windows_handler() -> type[TableHandler]:
    """Return the class behind `slide_windows`."""

    def resolved(call: Call, table: DataFrame) -> tuple[WindowQuery, StructType]:
        window = make_window(call.options["length"], call.options.get("every"), "length")
        query, _ = resolve_windows(
            table, window, call.on, call.by, call.agg, call.order_by,
            empty=False, only_changed=False, using=_using(call.options), analyse=check_predicate,
        )  # fmt: skip
        return query, windows_schema(table, query)

    return _handler(Windows, windows_function(), resolved)


def _using(options: Mapping[str, Any]) -> str | Keep:
    if "using" in options:
        return Keep(options["using"], eps=options.get("eps", 0.0), delta=options.get("delta", 0.0))
    for name in ("eps", "delta"):
        if name in options:
            raise SpecError(f"{name} requires using")
    return AUTO


Resolve: TypeAlias = Callable[[Call, DataFrame], tuple[Query[Any], StructType]]
"""A function from a call and its table to the query and the schema of its result."""


def _handler(base: type[TableHandler], function: TableFunction, resolved: Resolve) -> type[TableHandler]:
    """Return a handler for one function. It is sent to Spark's processes with everything that it refers to."""

    def analyze(*table: AnalyzeArgument, **options: AnalyzeArgument) -> Analysis:
        # For an exception in `analyze`, Spark shows the whole traceback unless it is a `PySparkValueError`, whose
        # message it shows.
        try:
            return _analysis(read_call(function, table, options), resolved)
        except WindrowError as error:
            raise PySparkValueError(str(error)) from None

    return type(function.name, (base,), {"analyze": staticmethod(analyze)})


def _analysis(call: Call, resolved: Resolve) -> Analysis:
    """Resolve a call, and ask Catalyst for the columns that it reads, sorted by `on`."""
    # Resolving only reads the schema of a DataFrame, apart from the checks of predicates.
    query, schema = resolved(call, cast(DataFrame, Table(call.table)))
    selected, _ = select_rows(query)
    keys = ", ".join(quoted(name) for name in query.by)
    return Analysis(
        schema,
        withSinglePartition=not keys,
        partitionBy=[PartitioningColumn(f"pmod(hash({keys}), {BUCKETS})")] if keys else [],
        orderBy=[OrderingColumn(quoted(query.on))],
        select=[one.column for one in selected],
        query=cloudpickle.dumps(query),  # type: ignore[no-untyped-call]
    )
