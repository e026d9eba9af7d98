"""Turn a user's arguments into a query for windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame

from windrow.aggregates import AggregateFunction
from windrow.errors import SpecError, is_one_of, quoted
from windrow.planner.auto import choose
from windrow.planner.model import current_model, shipped_model
from windrow.spark.arguments import check_switch
from windrow.spark.resolve.columns import (
    check_distinct,
    resolve_roles,
)
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
) -> tuple[WindowQuery, tuple[str, ...]]:
    """Return the query for windows and the reasons for how its aggregates are stored, or raise an error.

    Without `sorts`, no synopsis is chosen, because synopses need rows in order.
    """
    for option, value in (("empty", empty), ("only_changed", only_changed)):
        check_switch(value, option)
    roles = resolve_roles(df, on, by, agg, order_by)
    asked = named_synopses(using, roles.agg)
    kinds = WindowOptions(
        *named_windows(windows), empty, only_changed, {name: k for name, k in asked.items() if k is not None}
    )
    slide = WindowQuery(kinds, roles)
    if not slide.agg:
        raise SpecError("agg: windows without an aggregate tell nothing; give one such as {'cars': wr.sum('volume')}")
    slide.check()
    # A restarted stream must make the same choice, even if the model has been recalibrated in the meantime.
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
    """Return the windows by name, and whether the result shows the names: it does not for a single window."""
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
    """Return the requested synopsis per aggregate, or None for panes. Aggregates left to the planner are absent."""
    asked = using if isinstance(using, Mapping) else dict.fromkeys(agg, using)
    for name in asked:
        if name not in agg:
            raise SpecError(f"using: {quoted(name)} is none of the aggregates {', '.join(map(repr, agg))}")
    return {
        name: keep if keep is None or isinstance(keep, Keep) else Keep(keep)
        for name, keep in asked.items()
        if not is_one_of(keep, (AUTO,))
    }
