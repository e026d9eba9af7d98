"""Turn a user's arguments into a query for windows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame

from windrow.aggregates import AggregateFunction
from windrow.errors import SpecError, is_one_of, quoted
from windrow.planner.auto import choose
from windrow.planner.model import current_model, shipped_model
from windrow.spark.arguments import check_switch
from windrow.spark.resolve.columns import check_distinct, resolve_roles
from windrow.windows import Keep, Window
from windrow.windows.query import WindowOptions, WindowQuery

AUTO = "auto"
"""The value of `using=` that lets the planner choose."""


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
    analyse: Callable[[DataFrame, Any, str], None] | None = None,
) -> tuple[WindowQuery, tuple[str, ...]]:
    """Return the query for windows and the reasons for how its aggregates are stored, or raise an error.

    Without `sorts`, no synopsis is chosen, because synopses need rows in order. `analyse` checks conditions, instead of
    Spark's analyzer.
    """
    for option, value in (("empty", empty), ("only_changed", only_changed)):
        check_switch(value, option)
    roles = resolve_roles(df, on, by, agg, order_by, analyse=analyse)
    requested = named_synopses(using, roles.agg)
    synopses = {name: keep for name, keep in requested.items() if keep is not None}
    options = WindowOptions(*named_windows(windows), empty, only_changed, synopses)
    query = WindowQuery(options, roles)
    if not query.agg:
        raise SpecError("agg: wr.slide requires at least one aggregate, e.g. {'cars': wr.sum('volume')}")
    query.check()
    # A restarted stream must make the same choice, even if the model has been recalibrated in the meantime.
    model = shipped_model if df.isStreaming else current_model
    chosen = choose(query, model, requested if sorts else query.agg)
    keeps = {name: choice.keep for name, choice in chosen.items() if choice.keep is not None}
    if keeps:
        query = replace(query, what=replace(options, using={**options.using, **keeps}))
        query.check()
    check_distinct([*query.by, *(name for name, _ in query.leading), *query.agg], "the result")
    _ = query.schema
    reasons = [f"{name!r} is stored in {keep.synopsis}, as requested" for name, keep in options.using.items()]
    return query, (*reasons, *(choice.reason for choice in chosen.values()))


def named_windows(windows: Any) -> tuple[dict[str, Window], bool]:
    """Return the windows by name, and whether the result shows the names: it does not for a single window."""
    if isinstance(windows, Window):
        return {repr(windows): windows}, False
    is_list = isinstance(windows, Sequence) and not isinstance(windows, str)
    specs = [*windows.values()] if isinstance(windows, Mapping) else [*windows] if is_list else []
    if not specs or not all(isinstance(spec, Window) for spec in specs):
        raise SpecError(
            "windows: expected a window spec, e.g. wr.Sliding('1 hour', every='1 minute'), a list of them, or a dict "
            f"from name to spec, got {quoted(windows)}"
        )
    named = dict(windows) if isinstance(windows, Mapping) else {repr(spec): spec for spec in specs}
    if len(named) < len(specs):
        raise SpecError(f"windows: expected each window spec once, got {quoted(windows)}")
    for name in named:
        if not isinstance(name, str) or not name:
            raise SpecError(f"windows: expected a name for each window spec, got {quoted(name)}")
    return named, True


def named_synopses(using: Any, agg: Mapping[str, AggregateFunction]) -> dict[str, Keep | None]:
    """Return the requested synopsis per aggregate, or None for panes. Aggregates left to the planner are absent."""
    requested = using if isinstance(using, Mapping) else dict.fromkeys(agg, using)
    for name in requested:
        if name not in agg:
            names = ", ".join(map(repr, agg))
            raise SpecError(f"using: expected the name of an aggregate, got {quoted(name)}; available: {names}")
    return {
        name: keep if keep is None or isinstance(keep, Keep) else Keep(keep)
        for name, keep in requested.items()
        if not is_one_of(keep, (AUTO,))
    }
