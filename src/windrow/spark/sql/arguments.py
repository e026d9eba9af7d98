"""Turn the arguments of a SQL call into a scheme, aggregates and columns, or raise an error that says what is wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from pyspark.sql.types import CalendarIntervalType, Row, StructType, YearMonthIntervalType
from pyspark.sql.udtf import AnalyzeArgument

from windrow.aggregates import AggregateFunction
from windrow.aggregates.text import AGGREGATE_REGISTRY, as_aggregates
from windrow.errors import SpecError
from windrow.framing.schemes import Scheme
from windrow.rows.text import as_columns

ANALYSER = "pyspark.sql.worker.analyze_udtf"
"""The program in which Spark runs `analyze`."""

OF_EVERY_CALL = ("on", "by", "order_by", "agg")
"""The arguments of every table function; each also has those of its scheme."""


@dataclass(frozen=True)
class TableFunction:
    """The table function of a scheme. Its arguments are those that the scheme declares."""

    kind: type[Scheme]
    aggregates: tuple[type[AggregateFunction], ...] = ()
    """Aggregates of imported modules. Spark calls `analyze` in another process, which has not imported them."""

    @property
    def name(self) -> str:
        """The name in SQL."""
        return f"{self.kind.name()}_frames"

    @property
    def options(self) -> list[str]:
        """The names of all arguments after the table."""
        return list(dict.fromkeys(["on", *self.kind.required(), *OF_EVERY_CALL, *self.kind.text_options()]))

    @property
    def example(self) -> str:
        """An example call, for errors."""
        declared = self.kind.text_options()
        required = {name: declared[name].sql_example for name in self.kind.required()}
        arguments = ", ".join(f"{name} => {value}" for name, value in {"on": "'ts'", **required}.items())
        return f"{self.name}(TABLE(readings), {arguments})"

    def make_scheme(self, options: Mapping[str, Any]) -> Scheme:
        """Return the scheme of a call."""
        declared = self.kind.text_options()
        return self.kind(
            **{
                name: value if declared[name].typed else declared[name].parse(value, name)
                for name, value in options.items()
            }
        )


@dataclass(frozen=True)
class Call:
    """A parsed call of a table function: the arguments for `wr.frames`."""

    table: StructType
    scheme: Scheme
    on: Any
    by: list[Any] | None
    order_by: list[Any] | None
    agg: dict[str, AggregateFunction] = field(default_factory=dict)


def read_call(
    function: TableFunction, positional: Sequence[AnalyzeArgument], named: Mapping[str, AnalyzeArgument]
) -> Call:
    """Parse the arguments of a call, or reject them."""
    AGGREGATE_REGISTRY.adopt(function.aggregates)
    table = _table(function, positional)
    options = {name.lower(): _value(name, argument) for name, argument in named.items()}
    options = {name: value for name, value in options.items() if value is not None}
    for name in options:
        if name not in function.options:
            raise SpecError(f"{function.name} has no argument {name!r}; available: {', '.join(function.options)}")
    for name in ("on", *function.kind.required()):
        if name not in options:
            raise SpecError(f"{function.name} requires {name}, e.g. {function.example}")
    return Call(
        table,
        function.make_scheme({name: value for name, value in options.items() if name not in OF_EVERY_CALL}),
        options["on"],
        as_columns(options.get("by"), "by"),
        as_columns(options.get("order_by"), "order_by"),
        as_aggregates(options.get("agg"), "agg"),
    )


def _table(function: TableFunction, positional: Sequence[AnalyzeArgument]) -> StructType:
    if len(positional) != 1 or not positional[0].isTable or not isinstance(positional[0].dataType, StructType):
        raise SpecError(f"{function.name} expects a table, then all arguments by name, e.g. {function.example}")
    return positional[0].dataType


def _value(name: str, argument: AnalyzeArgument) -> Any:
    if argument.isTable:
        raise SpecError(f"{name}: expected the table as the first argument, without a name: TABLE(readings)")
    if not argument.isConstantExpression:
        raise SpecError(f"{name}: expected a constant, whose value is known before the query runs")
    if isinstance(argument.dataType, YearMonthIntervalType | CalendarIntervalType):
        raise SpecError(
            f"{name}: expected a text such as '30 days' or an interval of days and smaller units, got an interval of "
            "months or years, which have no fixed length"
        )
    return plain(argument.value)


def accept_intervals() -> None:
    """Let intervals of months reach `analyze`, which rejects them with a message. Call this where `analyze` runs.

    PySpark has no Python value for them and fails, with a traceback, before it calls `analyze`.
    """
    main = getattr(sys.modules["__main__"], "__spec__", None)
    if ANALYSER in sys.modules or (main is not None and main.name == ANALYSER):
        os.environ["PYSPARK_YM_INTERVAL_LEGACY"] = "1"  # PySpark's switch: an interval of months becomes an integer
        CalendarIntervalType.needConversion = lambda self: False  # type: ignore[method-assign]


def plain(value: Any) -> Any:
    """Return a SQL value as a Python value that a scheme takes: `10.0` is a decimal in SQL, and a struct is a Row.

    A map does not keep the order in which it was written, so its names are sorted. A struct keeps it.

    >>> plain({"y": [Decimal("0.5"), 5], "x": Decimal("10.0")})
    {'x': 10.0, 'y': [0.5, 5]}
    >>> plain(Row(y=1, x=Decimal("10.0")))
    {'y': 1, 'x': 10.0}
    """
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, Row):
        return {name: plain(item) for name, item in value.asDict().items()}
    if isinstance(value, Mapping):
        return {name: plain(value[name]) for name in sorted(value, key=str)}
    return [plain(item) for item in value] if isinstance(value, list) else value
