"""Double-boundary frames: overlapping frames that may cross one boundary. Section 3.2 of "Frames" (2016)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import pyarrow as pa
from numba import njit

from windrow.arrays import Array
from windrow.errors import SpecError
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
from windrow.framing.schemes.rules.grid import Grid, cells, check_grid, check_origin, plain_cell, shifted
from windrow.framing.schemes.text import as_grid, as_limits, text_option
from windrow.framing.theory.intervals import Label
from windrow.framing.theory.local import Stream
from windrow.rows.clock import Clock


@dataclass(frozen=True, repr=False)
class DoubleBoundary(Scheme):
    """Maximal runs of rows in two neighbouring cells; every row is in two frames.

    For each pair of neighbouring cells n and n + 1, the frames are the maximal runs of rows in that pair. The result
    has a column `cell_<attribute>` with the lower cell n. Frames are numbered in the order in which they open, the
    lower pair first.

    Parameters
    ----------
    grid
        One attribute with its width or break points, as in `Boundary`.
    origin, max_gap, nulls
        As in `Boundary`.

    Examples
    --------
    >>> DoubleBoundary({"x": 10})
    DoubleBoundary({'x': 10.0})
    """

    grid: Mapping[str, float | Sequence[float]] = field(
        metadata=text_option(
            "overlapping frames over two neighbouring cells", "GRID", "x=10", parse=as_grid, sql="map('x', 10.0)"
        )
    )
    origin: Mapping[str, float] | None = field(
        default=None,
        kw_only=True,
        metadata=text_option(
            "where the first cell starts (default 0)", "ORIGIN", "x=5", parse=as_limits, sql="map('x', 5.0)"
        ),
    )

    source: ClassVar[str] = "Frames (2016), 3.2"
    closure: ClassVar[frozenset[Closure]] = frozenset({"sub-interval"})

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "grid", check_grid(self.grid, "DoubleBoundary"))
        object.__setattr__(self, "origin", check_origin(self.origin, self.grid, "DoubleBoundary"))
        if len(self.grid) != 1:
            raise SpecError(f"DoubleBoundary expects one attribute, got {len(self.grid)}: {', '.join(self.grid)}")

    def __hash__(self) -> int:
        return hash((type(self), *self._grid, self.max_gap, self.nulls))

    @property
    def _grid(self) -> tuple[str, Grid]:
        """The attribute, and its width with the origin, or its break points."""
        return next(iter(shifted(check_grid(self.grid, "DoubleBoundary"), self.origin).items()))

    @classmethod
    def examples(cls) -> tuple[Scheme, ...]:
        """Return pairs of cells by width."""
        return (cls({"x": 10.0}),)

    def local_condition(self, extent: Stream) -> Iterable[Label]:
        """Return the pairs of neighbouring cells that contain all rows, by their lower cell."""
        name, grid = self._grid
        cells = {plain_cell(row.values[name], grid) for row in extent}
        lowest = min(cells)
        return [(n,) for n in (lowest - 1, lowest) if cells <= {n, n + 1}]

    @property
    def properties(self) -> frozenset[Property]:
        """Saturated and maximal per pair of cells, hence unique; every row is in two frames."""
        return frozenset({"unique", "saturated", "maximal", "covering", "overlapping"})

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attribute of the grid."""
        return tuple(self.grid)

    @property
    def extras(self) -> dict[str, pa.DataType]:
        """The lower of the two cells."""
        return {f"cell_{name}": pa.int64() for name in self.grid}

    def bind(self, clock: Clock, types: Mapping[str, pa.DataType]) -> Automaton:
        """Return the kernel over the cells of the attribute."""
        name, grid = self._grid
        max_gap = clock.at_most(self.max_gap, "max_gap")

        def kernel(
            batch: Batch, inputs: Mapping[str, Array], groups: Groups, records: Records, used: int, slots: Array
        ) -> int:
            return int(_pairs(batch, cells(inputs[name], grid), groups, records, used, slots, max_gap))

        return Automaton(kernel, width=2, labels=1)


@njit(cache=True)
def _pairs(batch: Batch, cell: Array, groups: Groups, records: Records, used: int, slots: Array, max_gap: float) -> int:
    """Frame pairs of cells; column w of a group's open records holds the pair whose lower cell has parity w."""
    for i in range(batch.on.size):
        g, t = batch.group[i], batch.on[i]
        for w in range(2):
            k = groups.open[g, w]
            if k >= 0:
                lower = records.label[k, 0]
                outside = cell[i] != lower and cell[i] - 1 != lower
                if outside or must_cut(batch, i, records.end[k], max_gap):
                    close_record(groups, records, k, t)
                    groups.open[g, w] = -1
        if is_break(batch, i):
            continue
        for lower in (cell[i] - 1, cell[i]):
            w = lower & 1
            k = groups.open[g, w]
            if k >= 0:
                extend_record(records, k, t)
            else:
                k = used
                used += 1
                open_record(records, k, g, t)
                records.label[k, 0] = lower
                records.number[k] = groups.next[g]
                groups.next[g] += 1
                groups.open[g, w] = k
            assign(slots, i, w, k)
    return used
