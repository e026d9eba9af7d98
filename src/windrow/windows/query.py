"""Window queries: windows over the rows of a table, with names and types resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa

from windrow.aggregates import AggregateFunction, Max, Min
from windrow.aggregates.engine.accumulator import Accumulator
from windrow.errors import SpecError, UnsupportedError
from windrow.rows.query import Query
from windrow.windows.specs import Shape, Unit, Window, pane_of
from windrow.windows.synopsis_spec import Keep
from windrow.windows.synopsis_windows import SynopsisWindows


@dataclass(frozen=True)
class WindowOptions:
    """The kinds of windows that share one pass, by name; if there is only one, the result does not name it."""

    windows: Mapping[str, Window]
    named: bool
    empty: bool = False
    """Whether windows without rows are reported too."""
    only_changed: bool = False
    """Whether windows with the same results as the previous one are left out."""
    using: Mapping[str, Keep] = field(default_factory=dict)
    """The synopses that store aggregates, by the name of the result."""


@dataclass(frozen=True)
class WindowQuery(Query[WindowOptions]):
    """A query for windows of one or more kinds over the rows of a table. All kinds share the same panes."""

    @property
    def options(self) -> WindowOptions:
        """The kinds of windows, and how they are reported and stored."""
        return self.what

    @cached_property
    def shapes(self) -> list[Shape]:
        """The kinds of windows in steps of the clock, or in rows."""
        return [window.shape(self.clock) for window in self.options.windows.values()]

    @property
    def unit(self) -> Unit:
        """The unit in which the windows are measured."""
        return self.shapes[0].unit

    @property
    def pane(self) -> int:
        """The length of a pane."""
        return pane_of(self.shapes)

    @property
    def pane_text(self) -> str:
        """The length of a pane for display: a duration, units of `on`, rows or distinct times."""
        if self.unit != "time":
            return f"{self.pane:,} {'row' if self.unit == 'rows' else 'distinct time'}{'s' if self.pane > 1 else ''}"
        return self.clock.length_text(self.pane, self.on)

    @property
    def commutes(self) -> bool:
        """Whether rows can be taken in any order: neither the windows nor the aggregates depend on it."""
        free = all(a.builtin and not a.order_sensitive for a in self.agg.values())
        return self.unit == "time" and free and not self.options.using

    @property
    def carries(self) -> bool:
        """Whether an aggregate carries the last value before a window into it."""
        return any(accumulator.carries for accumulator in self.accumulators)

    @property
    def paned(self) -> list[int]:
        """The indices of the aggregates that are stored in panes."""
        return [j for j, name in enumerate(self.agg) if name not in self.options.using]

    @cached_property
    def pane_accumulators(self) -> list[Accumulator]:
        """The accumulators of a pane; for counted windows, those of the first and last `on` come last."""
        accumulators = self.accumulators
        ends: list[AggregateFunction] = [] if self.unit == "time" else [Min(self.on), Max(self.on)]
        return [*(accumulators[j] for j in self.paned), *(Accumulator(end, self.clock.type) for end in ends)]

    def synopsis_windows(self) -> dict[tuple[int, int], SynopsisWindows]:
        """Return new synopsis windows, keyed by the index of the aggregate and of the kind of window."""
        keeps = [(j, self.options.using[name]) for j, name in enumerate(self.agg) if name in self.options.using]
        accumulators = self.accumulators if keeps else []
        return {
            (j, k): SynopsisWindows(keep, accumulators[j], shape, self.pane)
            for j, keep in keeps
            for k, shape in enumerate(self.shapes)
        }

    def check(self) -> None:
        """Reject kinds of windows that cannot share panes, and lengths that the clock cannot represent."""
        units = {shape.unit: name for shape, name in zip(self.shapes, self.options.windows, strict=True)}
        if len(units) > 1:
            mixed = " and ".join(f"{name!r} by {unit}" for unit, name in units.items())
            raise SpecError(f"windows: {mixed} cannot share panes; call wr.slide once for each")
        if self.options.using and self.clock.kind == "float":
            raise UnsupportedError(
                f"using: on: column {self.on!r} is of type {self.clock.type}; a synopsis needs integers, dates or "
                "timestamps"
            )
        for windows in self.synopsis_windows().values():
            try:
                windows.keep.make(windows.accumulator, windows.shape)
            except UnsupportedError as error:
                message = str(error)
                raise UnsupportedError(message if message.startswith("using:") else f"using: {message}") from None

    @property
    def leading(self) -> list[tuple[str, pa.DataType]]:
        """The result columns that identify a window."""
        on = self.clock.type
        named = [("window", pa.string())] if self.options.named else []
        return [*named, ("start", on), ("end", on), ("complete", pa.bool_())]

    @cached_property
    def schema(self) -> pa.Schema:
        """The result: `by`, `window` if there are several kinds, `start`, `end`, `complete`, the aggregates."""
        fields = [(name, self.types[name]) for name in self.by] + self.leading
        results = [accumulator.result for accumulator in self.accumulators]
        return pa.schema([*fields, *zip(self.agg, results, strict=True)])
