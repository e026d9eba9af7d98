"""The compiled form of a predicate: a small tree of Arrow kernels that carries no trace of SQL.

It can be pickled, and a process that only evaluates needs no SQL parser.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from windrow.errors import ColumnError, TypeMismatchError

Columns: TypeAlias = Mapping[str, Any]
"""Arrow arrays or chunked arrays by column name."""


@dataclass(frozen=True)
class Column:
    """A column of the batch; `plain` is its type after dictionaries and string views are decoded."""

    name: str
    type: pa.DataType
    plain: pa.DataType

    def evaluate(self, columns: Columns) -> Any:
        """The column's values."""
        if self.name not in columns:
            raise ColumnError.unknown(self.name, "predicate", columns)
        values = columns[self.name]
        if values.type != self.type:
            raise TypeMismatchError(
                f"column {self.name!r} is of type {values.type}, but the predicate was compiled for {self.type}"
            )
        return values if self.type == self.plain else values.cast(self.plain)


@dataclass(frozen=True)
class Constant:
    """One value for all rows; `None` is null."""

    value: bool | int | float | str | None
    type: pa.DataType

    def evaluate(self, columns: Columns) -> Any:
        """The value as an Arrow scalar."""
        return pa.scalar(self.value, self.type)


@dataclass(frozen=True)
class Call:
    """A function of `pyarrow.compute`, by name, its arguments and its keyword options."""

    function: str
    arguments: tuple[Node, ...]
    options: tuple[tuple[str, Any], ...] = ()

    def evaluate(self, columns: Columns) -> Any:
        """The function's result on the arguments' values."""
        values = [argument.evaluate(columns) for argument in self.arguments]
        return getattr(pc, self.function)(*values, **dict(self.options))


Node: TypeAlias = Column | Constant | Call


@dataclass(frozen=True)
class CompiledPredicate:
    """A predicate that is ready to run on the batches of one schema."""

    text: str
    columns: tuple[str, ...]
    """The columns to read, spelled as in the schema."""
    node: Node

    def __call__(self, batch: pa.RecordBatch | pa.Table | Columns) -> pa.BooleanArray:
        """True, false or null for each row, as Spark SQL would say; null means unknown."""
        columns: Columns = (
            batch if isinstance(batch, Mapping) else dict(zip(batch.schema.names, batch.columns, strict=True))
        )
        result: Any = self.node.evaluate(columns)
        if isinstance(result, pa.Scalar):
            result = pa.repeat(result, _rows(batch))  # type: ignore[call-overload,unused-ignore]
        return result.combine_chunks() if isinstance(result, pa.ChunkedArray) else result


def call(function: str, *arguments: Node, **options: Any) -> Call:
    """Shorthand for a call of a kernel."""
    return Call(function, arguments, tuple(options.items()))


def negated(node: Node) -> Call:
    """NOT, where null stays null."""
    return call("invert", node)


def compare(op: str, left: Node, right: Node, *, nan_left: bool = False, nan_right: bool = False) -> Call:
    """`left op right` in Spark's order: NaN equals NaN and is above all else; `nan_*` says which side may be NaN.

    Arrow's comparisons with NaN are IEEE's, all of them false but `<>`; this puts them right with as few kernels as
    the case needs.
    """
    if op in (">", ">="):
        return compare(op.replace(">", "<"), right, left, nan_left=nan_right, nan_right=nan_left)
    if op == "<" and nan_right:
        return negated(compare("<=", right, left, nan_left=nan_right, nan_right=nan_left))
    if op == "<=" and nan_right:
        if not nan_left:
            return negated(call("less", right, left))
        return call("or_", call("less_equal", left, right), call("is_nan", right))
    if op == "=" and nan_left and nan_right:
        return call("or_", call("equal", left, right), call("and_", call("is_nan", left), call("is_nan", right)))
    if op == "<>" and nan_left and nan_right:
        return negated(compare("=", left, right, nan_left=True, nan_right=True))
    return call(_KERNELS[op], left, right)


def null_safe_equal(equal: Node, left: Node, right: Node) -> Call:
    """`left <=> right`, given `left = right`: never null."""
    both_null = call("and_", call("is_null", left), call("is_null", right))
    return call("or_", call("coalesce", equal, FALSE), both_null)


_KERNELS = {"=": "equal", "<>": "not_equal", "<": "less", "<=": "less_equal"}

TRUE = Constant(True, pa.bool_())
FALSE = Constant(False, pa.bool_())
UNKNOWN = Constant(None, pa.bool_())


def _rows(batch: pa.RecordBatch | pa.Table | Columns) -> int:
    """The rows of a batch, for a predicate that reads no column."""
    if not isinstance(batch, Mapping):
        return int(batch.num_rows)
    return max((len(values) for values in batch.values()), default=0)
