"""Boundary frames: a new frame whenever an attribute crosses a boundary. Sections 3.2 and 5.2.2 of "Frames" (2016)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa

from windrow.arrays import Array
from windrow.framing.records import Batch
from windrow.framing.schemes.base import Scheme
from windrow.framing.schemes.native import NativeRun
from windrow.framing.schemes.rules.grid import Grid, cell_sql, cells, check_grid, check_origin, plain_cell, shifted
from windrow.framing.schemes.rules.loop import BoundRule
from windrow.framing.schemes.rules.runs import LabelRule, RunScheme
from windrow.framing.schemes.text import as_grid, as_limits, text_option
from windrow.framing.theory.intervals import Label
from windrow.framing.theory.local import Stream


@dataclass(frozen=True, repr=False)
class Boundary(RunScheme):
    """Maximal runs of rows in one cell of a grid over one or more attributes.

    Parameters
    ----------
    grid
        Per attribute, either a width w, where cell n is `(n-1)w < a <= nw`, or increasing break points b, where cell i
        is `b[i-1] < a <= b[i]` and the two outer cells are open-ended. The result has a column `cell_<attribute>` per
        attribute.
    origin
        Per attribute with a width, where cell 1 starts: cell n is `origin + (n-1)w < a <= origin + nw`.
    min_count, min_duration, max_count, max_duration, extent
        As in `Threshold`.
    max_gap
        Two rows further apart are never in the same frame.
    nulls
        How to treat a null or NaN attribute: `"skip"` (default: the row takes no part in framing), `"break"` or
        `"error"`.

    Examples
    --------
    >>> Boundary({"x": 10.0, "y": [0, 5, 20]})
    Boundary({'x': 10.0, 'y': (0.0, 5.0, 20.0)})
    """

    grid: Mapping[str, float | Sequence[float]] = field(
        metadata=text_option(
            "runs in one cell, by width or break points", "GRID", "x=10,y=0:5:20", parse=as_grid, sql="map('x', 10.0)"
        )
    )
    origin: Mapping[str, float] | None = field(
        default=None,
        kw_only=True,
        metadata=text_option(
            "where the first cell starts (default 0)", "ORIGIN", "x=5", parse=as_limits, sql="map('x', 5.0)"
        ),
    )

    source: ClassVar[str] = "Frames (2016), 3.2 and 5.2.2"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "grid", check_grid(self.grid, "Boundary"))
        object.__setattr__(self, "origin", check_origin(self.origin, self.grid, "Boundary"))

    def __hash__(self) -> int:
        return hash((type(self), frozenset(self.grids.items()), self.max_gap, self.nulls, *self.limits_hash))

    @classmethod
    def examples(cls) -> tuple[Scheme, ...]:
        """Return cells by width."""
        return (cls({"x": 10.0}),)

    def native_run(self, inputs: Mapping[str, str]) -> NativeRun:
        """Return the runs of one cell."""
        return NativeRun(tuple(cell_sql(inputs[name], grid) for name, grid in self.grids.items()))

    def local_condition(self, extent: Stream) -> Iterable[Label]:
        """Return the cell that all rows are in, if there is one."""
        cells = {tuple(plain_cell(row.values[name], grid) for name, grid in self.grids.items()) for row in extent}
        return cells if len(cells) == 1 else ()

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes of the grid."""
        return tuple(self.grid)

    @property
    def grids(self) -> dict[str, Grid]:
        """The widths, with their origins, and break points."""
        return shifted(check_grid(self.grid, "Boundary"), self.origin)

    @property
    def extras(self) -> dict[str, pa.DataType]:
        """The cell of the frame, per attribute."""
        return {f"cell_{name}": pa.int64() for name in self.grid}

    def rule(self, types: Mapping[str, pa.DataType]) -> BoundRule:
        """Return the rule over the cells of the attributes."""
        grids = self.grids

        def make(batch: Batch, inputs: Mapping[str, Array]) -> LabelRule:
            return LabelRule(np.column_stack([cells(inputs[name], grid) for name, grid in grids.items()]))

        return BoundRule(make, labels=len(grids))
