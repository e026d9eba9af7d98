"""From the arguments of a call in SQL to a scheme, aggregates and columns, or the one error that says what is wrong."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from pyspark.sql.types import CalendarIntervalType, Row, StructType, YearMonthIntervalType
from pyspark.sql.udtf import AnalyzeArgument

from windrow.aggregates import AggregateFunction
from windrow.aggregates.text import as_call
from windrow.errors import SpecError, quoted
from windrow.framing.schemes import Aggregate, Boundary, Delta, Gap, Scheme, Threshold

CALL = re.compile(
    r"\s*+(?P<function>\w++)\s*+\(\s*+"
    r"(?:`(?P<quoted>(?:[^`]|``)++)`\s*+(?:,(?P<rest>[^()`]*+))?|(?P<plain>[^()`]*+))\)\s*+"
)

ANALYSER = "pyspark.sql.worker.analyze_udtf"
"""The program in which Spark runs `analyze`."""

OF_EVERY_SCHEME = ("max_gap", "nulls")
OF_EVERY_CALL = ("on", "by", "order_by", "agg", *OF_EVERY_SCHEME)


@dataclass(frozen=True)
class TableFunction:
    """What a table function is called with: examples of what must be given, and the names of what may be."""

    name: str
    make: Callable[..., Scheme]
    required: Mapping[str, str]
    optional: tuple[str, ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        """The names of all arguments after the table."""
        return (*OF_EVERY_CALL[:1], *self.required, *self.optional, *OF_EVERY_CALL[1:])

    @property
    def example(self) -> str:
        """A call, to be shown in errors."""
        given = ", ".join(f"{name} => {value}" for name, value in {"on": "'ts'", **self.required}.items())
        return f"{self.name}(TABLE(readings), {given})"


FUNCTIONS = {
    made.name: made
    for made in (
        TableFunction(
            "threshold_frames",
            Threshold,
            {"predicate": "'speed < 40'"},
            ("close", "min_count", "min_duration", "segments"),
        ),
        TableFunction("boundary_frames", Boundary, {"grid": "map('x', 10.0)"}),
        TableFunction("delta_frames", Delta, {"limits": "map('dye', 0.05)"}, ("op", "reference")),
        TableFunction(
            "aggregate_frames",
            lambda aggregate, **rest: Aggregate(as_aggregate(aggregate, "aggregate"), **rest),
            {"aggregate": "'sum(volume)'", "op": "'>'", "limit": "100"},
        ),
        TableFunction("gap_frames", Gap, {"gap": "'30 minutes'"}),
    )
}


@dataclass(frozen=True)
class Call:
    """A call of a table function, read: what `wr.frames` would be given."""

    table: StructType
    scheme: Scheme
    on: Any
    by: list[Any] | None
    order_by: list[Any] | None
    agg: dict[str, AggregateFunction] = field(default_factory=dict)


def read_call(
    function: TableFunction, positional: Sequence[AnalyzeArgument], named: Mapping[str, AnalyzeArgument]
) -> Call:
    """Read the arguments of a call, or refuse them."""
    table = _table(function, positional)
    options = {name.lower(): _value(name, argument) for name, argument in named.items()}
    options = {name: value for name, value in options.items() if value is not None}
    for name in options:
        if name not in function.options:
            raise SpecError(f"{function.name} has no option {name!r}; it has {', '.join(function.options)}")
    for name in ("on", *function.required):
        if name not in options:
            raise SpecError(f"{function.name} wants {name}, as in {function.example}")
    given = {name: value for name, value in options.items() if name not in OF_EVERY_CALL or name in OF_EVERY_SCHEME}
    return Call(
        table,
        function.make(**given),
        options["on"],
        as_columns(options.get("by"), "by"),
        as_columns(options.get("order_by"), "order_by"),
        as_aggregates(options.get("agg")),
    )


def _table(function: TableFunction, positional: Sequence[AnalyzeArgument]) -> StructType:
    if len(positional) != 1 or not positional[0].isTable or not isinstance(positional[0].dataType, StructType):
        raise SpecError(f"{function.name} wants a table first and all else by name, as in {function.example}")
    return positional[0].dataType


def _value(name: str, argument: AnalyzeArgument) -> Any:
    if argument.isTable:
        raise SpecError(f"{name}: a table comes first and without a name, as in TABLE(readings)")
    if not argument.isConstantExpression:
        raise SpecError(f"{name}: its value must be a constant, known before the query runs")
    if isinstance(argument.dataType, YearMonthIntervalType | CalendarIntervalType):
        raise SpecError(
            f"{name}: expected a text such as '30 days' or an interval of days and smaller units, got an interval of "
            "months or years, which have no fixed length"
        )
    return plain(argument.value)


def accept_intervals() -> None:
    """Let intervals of months reach `analyze`, which refuses them with a message; call it where `analyze` runs.

    PySpark has no Python value for them and fails, with a traceback, before it calls `analyze`.
    """
    main = getattr(sys.modules["__main__"], "__spec__", None)
    if ANALYSER in sys.modules or (main is not None and main.name == ANALYSER):
        os.environ["PYSPARK_YM_INTERVAL_LEGACY"] = "1"  # PySpark's switch: an interval of months is a whole number
        CalendarIntervalType.needConversion = lambda self: False  # type: ignore[method-assign]


def plain(value: Any) -> Any:
    """A value of SQL as a value of Python that a scheme takes: `10.0` is a decimal in SQL, and a struct is a row.

    A map has lost the order in which it was written, so its names are sorted; a struct has kept it.

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


def as_columns(given: Any, option: str) -> list[Any] | None:
    """Columns that were named in one text with commas, or in an array.

    >>> as_columns("road, lane", "by"), as_columns(["a, b"], "by")
    (['road', 'lane'], ['a, b'])
    """
    if given is None or isinstance(given, list):
        return given
    if not isinstance(given, str):
        raise SpecError(
            f"{option}: {quoted(given)} is no name of a column; write 'road', 'road, lane' or array('road')"
        )
    names = [name.strip() for name in given.split(",")]
    if not all(names):
        raise SpecError(f"{option}: {quoted(given)} names an empty column; write names with commas between them")
    return names


def as_aggregates(given: Any) -> dict[str, AggregateFunction]:
    """Aggregates by result name.

    >>> as_aggregates({"cars": "sum(volume)", "n": "count()"})
    {'cars': sum('volume'), 'n': count()}
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise SpecError(
            f"agg: {quoted(given)} is no map from result name to aggregate; write map('cars', 'sum(volume)')"
        )
    return {name: as_aggregate(text, f"agg {name!r}") for name, text in given.items()}


def as_aggregate(text: Any, option: str) -> AggregateFunction:
    """An aggregate that is written as a call.

    >>> as_aggregate("mean(`water temperature`)", "aggregate")
    mean('water temperature')
    >>> as_aggregate("quantile(`water temperature`, 0.9)", "aggregate")
    quantile('water temperature', 0.9)
    """
    found = CALL.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise SpecError(f"{option}: {quoted(text)} is no aggregate of a column; write it like 'sum(volume)'")
    if found["quoted"]:
        return as_call(found["function"], (found["rest"] or "").strip(), option, found["quoted"].replace("``", "`"))
    return as_call(found["function"], found["plain"], option)
