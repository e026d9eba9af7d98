"""From a user's words to a request: every name, type and text is checked before any Spark job starts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructField

from windrow.aggregates import AggregateFunction
from windrow.aggregates.keeper import Keeper
from windrow.errors import QUOTED, ColumnError, SpecError, TypeMismatchError, WindrowError, is_one_of, quoted
from windrow.frames import Aggregate, Scheme
from windrow.frames.clock import Clock
from windrow.frames.predicate import literal_patterns, zero_division
from windrow.frames.request import Request
from windrow.planner.model import current_model, shipped_model
from windrow.planner.slides import choose
from windrow.spark.arguments import check_switch
from windrow.spark.versions import to_arrow_type
from windrow.windows import Keep, Window
from windrow.windows.request import Kinds, Slide

AUTO = "auto"
"""What says that the planner chooses."""
FRAME_COLUMNS = ("frame", "start", "end", "closed_at", "count", "complete")


def resolve(
    df: DataFrame,
    scheme: Scheme,
    on: str,
    by: str | Sequence[str] | None,
    agg: Mapping[str, AggregateFunction] | None,
    order_by: str | Sequence[str] | None,
    analyse: Callable[[DataFrame, Any, str], None] | None = None,
) -> Request:
    """The request for a framing, or the one error that says what is wrong with it.

    `analyse` checks a predicate against the table; by default Spark's analyser does.
    """
    if not isinstance(scheme, Scheme):
        raise SpecError(f"scheme: {quoted(scheme)} is no framing scheme; give one such as wr.Threshold('speed < 40')")
    if isinstance(scheme, Aggregate):
        check_compiles(scheme.aggregate)
    roles = resolve_roles(df, on, by, agg, order_by, {name: type(scheme).__name__ for name in scheme.attributes})
    request = Request(scheme, *roles)
    scheme.check(request.clock, request.types)
    for option, predicate in scheme.predicates.items():
        (analyse or check_condition)(df, predicate, "close" if option == "stop" else "predicate")
    check_distinct([*request.by, *FRAME_COLUMNS, *scheme.extras, *request.agg], "the result")
    _ = request.schema
    return request


def resolve_windows(
    df: DataFrame,
    windows: Any,
    on: str,
    by: str | Sequence[str] | None,
    agg: Mapping[str, AggregateFunction] | None,
    order_by: str | Sequence[str] | None,
    *,
    empty: bool,
    only_changed: bool,
    using: Any = AUTO,
    sorts: bool = True,
) -> tuple[Slide, tuple[str, ...]]:
    """The request for windows, and why its aggregates are kept as they are; or the one error that says what is wrong.

    Unless the plan `sorts`, no synopsis is chosen: they take tuples in order.
    """
    for option, value in (("empty", empty), ("only_changed", only_changed)):
        check_switch(value, option)
    roles = resolve_roles(df, on, by, agg, order_by)
    asked = named_synopses(using, roles[3])
    kinds = Kinds(*named_windows(windows), empty, only_changed, {name: k for name, k in asked.items() if k is not None})
    slide = Slide(kinds, *roles)
    if not slide.agg:
        raise SpecError("agg: windows without an aggregate tell nothing; give one such as {'cars': wr.sum('volume')}")
    slide.check()
    # A stream must choose alike when it is started again, whatever was calibrated in between.
    chosen = choose(slide, shipped_model if df.isStreaming else current_model, asked if sorts else slide.agg)
    keeps = {name: choice.keep for name, choice in chosen.items() if choice.keep is not None}
    if keeps:
        slide = replace(slide, what=replace(kinds, using={**kinds.using, **keeps}))
        slide.check()
    check_distinct([*slide.by, *(name for name, _ in slide.leading), *slide.agg], "the result")
    _ = slide.schema
    told = [f"{name!r} is kept by {keep.synopsis}, as asked for" for name, keep in kinds.using.items()]
    return slide, (*told, *(choice.reason for choice in chosen.values()))


def named_windows(windows: Any) -> tuple[dict[str, Window], bool]:
    """Kinds of windows by name, and whether there are names: not if there is just one."""
    if isinstance(windows, Window):
        return {repr(windows): windows}, False
    listed = isinstance(windows, Sequence) and not isinstance(windows, str)
    given = [*windows.values()] if isinstance(windows, Mapping) else [*windows] if listed else []
    if not given or not all(isinstance(window, Window) for window in given):
        raise SpecError(
            f"windows: {quoted(windows)} is no kind of window; give one such as wr.Sliding('1 hour', "
            "every='1 minute'), a list of them, or a dict from name to window"
        )
    named = dict(windows) if isinstance(windows, Mapping) else {repr(window): window for window in given}
    if len(named) < len(given):
        raise SpecError("windows: there is one twice; give each kind once")
    for name in named:
        if not isinstance(name, str) or not name:
            raise SpecError(f"windows: {quoted(name)} is no name for a kind of window")
    return named, True


def named_synopses(using: Any, agg: Mapping[str, AggregateFunction]) -> dict[str, Keep | None]:
    """What keeps each aggregate that it is said for: a synopsis, or panes, which is None. The others are `AUTO`."""
    asked = using if isinstance(using, Mapping) else dict.fromkeys(agg, using)
    for name in asked:
        if name not in agg:
            raise SpecError(f"using: {quoted(name)} is none of the aggregates {', '.join(map(repr, agg))}")
    return {
        name: keep if keep is None or isinstance(keep, Keep) else Keep(keep)
        for name, keep in asked.items()
        if not is_one_of(keep, (AUTO,))
    }


def resolve_roles(
    df: DataFrame,
    on: str,
    by: str | Sequence[str] | None,
    agg: Mapping[str, AggregateFunction] | None,
    order_by: str | Sequence[str] | None,
    attributes: Mapping[str, str] | None = None,
) -> tuple[str, tuple[str, ...], tuple[str, ...], dict[str, AggregateFunction], dict[str, pa.DataType]]:
    """The columns that are asked for by role, as the table spells them, and their types.

    `attributes` are more columns that are read, each with the role in which it is.
    """
    columns = Columns(df)
    on = columns.find(on, "on")
    keys = columns.find_all(by, "by")
    ties = columns.find_all(order_by, "order_by")
    aggregates = check_aggregates(agg)
    for name, role in (attributes or {}).items():
        columns.find(name, role)
    for name, aggregate in aggregates.items():
        for column in aggregate.columns:
            columns.find(column, f"agg {name!r}")
    aggregated = (column for aggregate in aggregates.values() for column in aggregate.columns)
    types = columns.arrow_types([on, *keys, *ties, *(attributes or {}), *aggregated])
    check_keys(types, keys)
    check_keys(types, ties, "order_by")
    _ = Clock.of(types[on], on)
    return on, keys, ties, aggregates, types


class Columns:
    """The columns of a DataFrame, found by name as Spark finds them: letter case does not matter unless it must."""

    def __init__(self, df: DataFrame) -> None:
        self._spark = df.sparkSession
        self._fields: list[StructField] = df.schema.fields
        self.names = [field.name for field in self._fields]

    def find(self, name: Any, role: str) -> str:
        """The one column of that name, as the table spells it."""
        return self.field(name, role).name

    def find_all(self, names: str | Sequence[str] | None, role: str) -> tuple[str, ...]:
        """One or several columns, none of them twice."""
        if not isinstance(names, Sequence | None):
            raise SpecError(f"{role}: {quoted(names)} is neither the name of a column nor a list of names")
        listed = [] if names is None else [names] if isinstance(names, str) else list(names)
        found = tuple(self.find(name, role) for name in listed)
        check_distinct(found, role)
        return found

    def field(self, name: Any, role: str) -> StructField:
        """The one column of that name, with its type."""
        if not isinstance(name, str):
            raise SpecError(
                f"{role}: {quoted(name)} is no name of a column; the columns are {', '.join(map(repr, self.names))}"
            )
        found = [f for f in self._fields if f.name.lower() == name.lower()]
        exact = [f for f in found if f.name == name]
        if found != exact and self._case_matters():
            found = exact
        if not found:
            raise ColumnError.unknown(name, role, self.names)
        if len(found) > 1:
            named = ", ".join(repr(f.name) for f in found)
            raise ColumnError(f"{role}: {name!r} is ambiguous, the table has columns {named}; rename one of them")
        return found[0]

    def _case_matters(self) -> bool:
        return self._spark.conf.get("spark.sql.caseSensitive") == "true"

    def arrow_types(self, names: Iterable[str]) -> dict[str, pa.DataType]:
        """The Arrow type of each column; a name that was written in other letters is found as well."""
        return {name: arrow_type(self.field(name, "type"), name) for name in names}


def arrow_type(field: StructField, name: str) -> pa.DataType:
    """The Arrow type in which Spark hands over a column."""
    try:
        return to_arrow_type(field.dataType)
    except PySparkException:
        raise TypeMismatchError(
            f"column {name!r} is of type {field.dataType.simpleString()}, which cannot be used here; "
            "give a number, a text, a timestamp, a date or the like"
        ) from None


def check_aggregates(agg: Any) -> dict[str, AggregateFunction]:
    """The aggregates by result name, or a refusal."""
    if agg is None:
        return {}
    if not isinstance(agg, Mapping):
        raise SpecError(
            f"agg: {quoted(agg)} must be a dict from result name to aggregate, as in {{'cars': wr.sum('volume')}}"
        )
    for name, aggregate in agg.items():
        if not isinstance(name, str) or not name:
            raise SpecError(f"agg: {quoted(name)} is no name for a result column")
        if not isinstance(aggregate, AggregateFunction):
            raise SpecError(
                f"agg: {quoted(name)} is {quoted(aggregate)}; it must be an aggregate such as wr.sum('volume')"
            )
        check_compiles(aggregate)
    return dict(agg)


def check_compiles(aggregate: AggregateFunction) -> None:
    """Compile a user's aggregate here and now, so that what numba does not like is known before any job runs."""
    if aggregate.builtin:
        return
    try:
        keeper = Keeper(aggregate, *[pa.float64()] * aggregate.reads)
        states = keeper.empty(0)
        nothing = [pa.array([], pa.float64())] * aggregate.reads
        keeper.accumulate(states, np.empty((0, 1), np.int64), keeper.read(*nothing))
        keeper.merge(states, np.empty(0, np.int64), np.empty(0, np.int64))
        keeper.finish(states)
    except WindrowError:
        raise
    except Exception as error:
        said = " ".join(str(error).split())
        raise SpecError(f"the aggregate {aggregate!r} cannot be compiled: {said[:300]}") from None


def check_keys(types: Mapping[str, pa.DataType], keys: Sequence[str], role: str = "by") -> None:
    """Refuse to group or to order by what has no plain equality and order."""
    for key in keys:
        if pa.types.is_nested(types[key]) or pa.types.is_null(types[key]):
            raise TypeMismatchError(
                f"{role}: column {key!r} is of type {types[key]}; give a string, a number, a date or the like"
            )


def check_distinct(names: Sequence[str], where: str) -> None:
    """Refuse two columns of one name; Spark does not tell letters of different case apart."""
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise ColumnError(f"{where} would have two columns named {name!r}; rename one of them")
        seen.add(name.lower())


def column(name: str) -> Column:
    """A column by its literal name, dots and backticks included."""
    escaped = name.replace("`", "``")
    return F.col(f"`{escaped}`")


def condition(predicate: Any) -> Column:
    """A predicate as a column expression."""
    return F.expr(predicate) if isinstance(predicate, str) else predicate


def check_condition(df: DataFrame, predicate: Any, option: str) -> None:
    """Let Spark analyse a predicate, and say in one sentence what it does not like."""
    shown = quoted(predicate) if isinstance(predicate, str) else str(predicate)[:QUOTED]
    try:
        kind: DataType = df.select(condition(predicate).alias("it")).schema.fields[0].dataType
        # Within an aggregate it is analysed row by row: aggregates, window functions and chance are refused.
        _ = df.agg(F.count(condition(predicate))).schema
    except (AnalysisException, ParseException) as error:
        explain_analysis(error, option, shown, df.columns)
    except (PySparkException, Py4JError) as error:  # such as of a lambda by itself, which the analyser cannot type
        said = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise SpecError(f"{option}: {shown} is no condition that Spark understands: {quoted(said)}") from None
    if isinstance(predicate, str):
        _check_patterns(df, predicate, option)
        _check_divisors(df, predicate, option)
    if kind.typeName() != "boolean":
        raise TypeMismatchError(f"{option}: {shown} is of type {kind.simpleString()}; it must be true or false")


def _check_patterns(df: DataFrame, predicate: str, option: str) -> None:
    """Let Spark compile the regular expressions of a predicate, which it would do for the first row; no job runs.

    What has a backslash may be read differently by the two parsers, and is left to Spark.
    """
    for pattern in literal_patterns(predicate):
        try:
            nothing = df.sparkSession.sql("select s from values ('') as it(s)")
            nothing.select(F.col("s").rlike(pattern)).collect()
        except (PySparkException, Py4JError):
            raise SpecError(
                f"{option}: {quoted(predicate)}: {quoted(pattern)} is no regular expression that Java understands"
            ) from None


def _check_divisors(df: DataFrame, predicate: str, option: str) -> None:
    """Refuse to divide by a zero that is written out, where Spark would do so at the first row."""
    part = zero_division(predicate)
    if part and (df.sparkSession.conf.get("spark.sql.ansi.enabled") or "").lower() == "true":
        raise SpecError(f"{option}: {quoted(predicate)}: {quoted(part)} divides by zero")


def explain_analysis(error: PySparkException, option: str, shown: str, names: Sequence[str]) -> NoReturn:
    """Turn what Spark's analyser says into one of our errors."""
    kind = error.getCondition() or ""
    said = str(error).strip().splitlines()[0]
    if kind.startswith(("UNRESOLVED_COLUMN", "UNRESOLVED_FIELD")):
        missing = (error.getMessageParameters() or {}).get("objectName", "?").strip("`")
        raise ColumnError.unknown(missing, f"{option} {shown}", names) from None
    if "NONDETERMINISTIC" in kind:
        raise SpecError(f"{option}: {shown} is not deterministic; the same tuple must always give the same") from None
    wrong: type[WindrowError] = TypeMismatchError if "DATATYPE_MISMATCH" in kind else SpecError
    raise wrong(f"{option}: {shown} is no condition that Spark understands: {said}") from None
