"""Boundary frames: a new frame whenever an attribute crosses a boundary. Sections 3.2 and 5.2.2 of "Frames" (2016)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numba import njit

from windrow.arrays import Array
from windrow.framing.records import (
    Batch,
    Groups,
    Records,
    assign,
    close_record,
    extend_record,
    is_break,
    must_cut,
    open_record,
)
from windrow.framing.schemes.base import Automaton, Closure, Property, Scheme
from windrow.framing.schemes.grid import Grid, cell_sql, cells, check_grid, plain_cell
from windrow.framing.schemes.native import NativeRun
from windrow.framing.schemes.text import as_grid, text_option
from windrow.framing.theory.intervals import Label
from windrow.framing.theory.local import Stream
from windrow.rows.clock import Clock


@dataclass(frozen=True, repr=False)
class Boundary(Scheme):
    """Maximal runs of rows in one cell of a grid over one or more attributes.

    Parameters
    ----------
    grid
        Per attribute, either a width w, where cell n is `(n-1)w < a <= nw`, or increasing break points b, where cell i
        is `b[i-1] < a <= b[i]` and the two outer cells are open-ended. The result has a column `cell_<attribute>` per
        attribute.
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

    source: ClassVar[str] = "Frames (2016), 3.2 and 5.2.2"
    closure: ClassVar[frozenset[Closure]] = frozenset({"union", "sub-interval"})

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "grid", check_grid(self.grid, "Boundary"))

    def __hash__(self) -> int:
        return hash((type(self), frozenset(self.grid.items()), self.max_gap, self.nulls))

    @classmethod
    def examples(cls) -> tuple[Scheme, ...]:
        """Return cells by width."""
        return (cls({"x": 10.0}),)

    @property
    def properties(self) -> frozenset[Property]:
        """Lemma 1 and propositions 1 and 2; every row is in exactly one frame."""
        return frozenset({"unique", "drained", "maximal", "covering", "partitioning"})

    @property
    def is_run(self) -> bool:
        """Always true: the label of a row is its cell."""
        return True

    def native_run(self, inputs: Mapping[str, str]) -> NativeRun:
        """Return the runs of one cell."""
        return NativeRun(labels=tuple(cell_sql(inputs[name], grid) for name, grid in self.grids.items()))

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
        """The validated widths and break points."""
        return check_grid(self.grid, "Boundary")

    @property
    def extras(self) -> dict[str, pa.DataType]:
        """The cell of the frame, per attribute."""
        return {f"cell_{name}": pa.int64() for name in self.grid}

    def bind(self, clock: Clock, types: Mapping[str, pa.DataType]) -> Automaton:
        """Return the kernel over the cells of the attributes."""
        grids = self.grids
        max_gap = clock.at_most(self.max_gap, "max_gap")

        def kernel(
            batch: Batch, inputs: Mapping[str, Array], groups: Groups, records: Records, used: int, slots: Array
        ) -> int:
            labels = np.empty((batch.on.size, len(grids)), np.int64)
            for j, (name, grid) in enumerate(grids.items()):
                labels[:, j] = cells(inputs[name], grid)
            return int(label_runs(batch, labels, groups, records, used, slots, max_gap))

        return Automaton(kernel, labels=len(grids))


@njit(cache=True)
def label_runs(
    batch: Batch, labels: Array, groups: Groups, records: Records, used: int, slots: Array, max_gap: float
) -> int:
    """Frame maximal runs of rows with the same label: the kernel that `Boundary` and `Gap` share."""
    width = labels.shape[1]
    for i in range(batch.on.size):
        g, t = batch.group[i], batch.on[i]
        k = groups.open[g, 0]
        if k >= 0:
            same = not must_cut(batch, i, records.end[k], max_gap)
            for j in range(width):
                same = same and records.label[k, j] == labels[i, j]
            if same:
                extend_record(records, k, t)
                assign(slots, i, 0, k)
                continue
            close_record(groups, records, k, t)
            groups.open[g, 0] = -1
        if not is_break(batch, i):
            open_record(records, used, g, t)
            for j in range(width):
                records.label[used, j] = labels[i, j]
            groups.open[g, 0] = used
            assign(slots, i, 0, used)
            used += 1
    return used
