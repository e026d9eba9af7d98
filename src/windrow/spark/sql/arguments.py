"""Table functions and their arguments: parsed, or rejected with an error that says what is wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pyspark.sql.types import CalendarIntervalType, Row, StructType, YearMonthIntervalType
from pyspark.sql.udtf import AnalyzeArgument

from windrow.aggregates import AggregateFunction
from windrow.aggregates.text import AGGREGATE_REGISTRY, as_aggregates
from windrow.errors import SpecError
from windrow.framing.schemes import Scheme
from windrow.framing.schemes.text import TextOption
from windrow.rows.text import as_columns
from windrow.synopses import SYNOPSIS_REGISTRY, Synopsis

ANALYSER = "pyspark.sql.worker.analyze_udtf"
"""The program in which Spark runs `analyze`."""

OF_EVERY_CALL = ("on", "by", "order_by", "agg")
"""The arguments of every table function."""


@dataclass(frozen=True)
class TableFunction:
    """A table function: its name in SQL, and the arguments of its own.

    Spark calls `analyze` in another process, which has not imported the user's modules, so it carries their classes.
    """

    name: str
    declared: Mapping[str, TextOption]
    required: tuple[str, ...]
    aggregates: tuple[type[AggregateFunction], ...] = ()
    synopses: tuple[type[Synopsis], ...] = ()

    @property
    def arguments(self) -> list[str]:
        """The names of all arguments after the table."""
        return list(dict.fromkeys(["on", *self.required, *OF_EVERY_CALL, *self.declared]))

    @property
    def example(self) -> str:
        """An example call, for errors."""
        required = {name: self.declared[name].sql_example for name in self.required if name in self.declared}
        arguments = ", ".join(f"{name} => {value}" for name, value in {"on": "'ts'", **required}.items())
        agg = ", agg => map('cars', 'sum(volume)')" if "agg" in self.required else ""
        return f"{self.name}(TABLE(readings), {arguments}{agg})"

    def parse(self, name: str, value: Any) -> Any:
        """Parse the value of an argument of its own."""
        option = self.declared[name]
        return value if option.typed else option.parse(value, name)


def frames_function(kind: type[Scheme]) -> TableFunction:
    """Return the table function of a scheme. Its arguments are those that the scheme declares."""
    aggregates = tuple(AGGREGATE_REGISTRY.imported.values())
    return TableFunction(f"{kind.name()}_frames", kind.text_options(), tuple(kind.required()), aggregates)


WINDOW_ARGUMENTS = {
    "length": TextOption("the length of a window", example="1 hour", typed=True),
    "every": TextOption("the step from one window to the next", example="1 minute", typed=True),
    "using": TextOption("the synopsis that stores windows", example="TwoStacks"),
    "eps": TextOption("the allowed error of the synopsis", sql="0.01", typed=True),
    "delta": TextOption("the allowed probability of a larger error", sql="0.01", typed=True),
}


def windows_function() -> TableFunction:
    """Return the table function of moving windows."""
    aggregates = tuple(AGGREGATE_REGISTRY.imported.values())
    synopses = tuple(SYNOPSIS_REGISTRY.imported.values())
    return TableFunction("slide_windows", WINDOW_ARGUMENTS, ("length", "agg"), aggregates, synopses)


@dataclass(frozen=True)
class Call:
    """A parsed call of a table function: the table, the columns by role, and the arguments of the function's own."""

    table: StructType
    on: Any
    by: list[Any] | None
    order_by: list[Any] | None
    agg: dict[str, AggregateFunction]
    options: dict[str, Any]


def read_call(
    function: TableFunction, positional: Sequence[AnalyzeArgument], named: Mapping[str, AnalyzeArgument]
) -> Call:
    """Parse the arguments of a call, or reject them."""
    AGGREGATE_REGISTRY.adopt(function.aggregates)
    SYNOPSIS_REGISTRY.adopt(function.synopses)
    table = _table(function, positional)
    values = {name.lower(): _value(name, argument) for name, argument in named.items()}
    values = {name: value for name, value in values.items() if value is not None}
    for name in values:
        if name not in function.arguments:
            raise SpecError(f"{function.name} has no argument {name!r}; available: {', '.join(function.arguments)}")
    for name in ("on", *function.required):
        if name not in values:
            raise SpecError(f"{function.name} requires {name}, e.g. {function.example}")
    return Call(
        table,
        values["on"],
        as_columns(values.get("by"), "by"),
        as_columns(values.get("order_by"), "order_by"),
        as_aggregates(values.get("agg"), "agg"),
        {name: function.parse(name, value) for name, value in values.items() if name in function.declared},
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
