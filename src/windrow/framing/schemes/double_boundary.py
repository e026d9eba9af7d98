"""Double-boundary frames: overlapping frames that may cross one boundary. Section 3.2 of "Frames" (2016)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import njit

from windrow.arrays import Array
from windrow.errors import SpecError, quoted
from windrow.framing.records import (
    DROPPED,
    FINAL,
    Batch,
    Groups,
    Records,
    assign,
    extend_record,
    is_break,
    must_cut,
    number_frames,
    open_record,
)
from windrow.framing.schemes.base import Automaton, Closure, Property, Scheme
from windrow.framing.schemes.rules.grid import Grid, cells, check_grid, check_origin, plain_cell, shifted
from windrow.framing.schemes.rules.limits import LimitedScheme, Limits, is_full, qualifies
from windrow.framing.schemes.text import as_grid, as_limits, text_option
from windrow.framing.theory.intervals import Label
from windrow.framing.theory.local import Stream
from windrow.rows.clock import Clock


@dataclass(frozen=True, repr=False)
class DoubleBoundary(LimitedScheme):
    """Maximal runs of rows in two neighbouring cells; every row is in two frames.

    For each pair of neighbouring cells n and n + 1, the frames are the maximal runs of rows in that pair. The result
    has a column `cell_<attribute>` with the lower cell n. Frames are numbered in the order in which they open, the
    lower pair first; a frame that is dropped has no number.

    Parameters
    ----------
    grid
        One attribute with its width or break points, as in `Boundary`.
    min_count, min_duration, max_count, max_duration, extent
        Limits on the rows and the length of each frame, as in `Threshold`. With a maximum, the only minimum is
        `min_count` together with `max_count`.
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

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "grid", check_grid(self.grid, "DoubleBoundary"))
        object.__setattr__(self, "origin", check_origin(self.origin, self.grid, "DoubleBoundary"))
        if len(self.grid) != 1:
            raise SpecError(f"DoubleBoundary expects one attribute, got {len(self.grid)}: {', '.join(self.grid)}")
        self._check_limits()

    def _check_limits(self) -> None:
        """Reject limits for which rows of dropped frames would have to be searched again."""
        if self.has_minimum and self.has_maximum and (self.min_duration, self.max_duration) != (None, None):
            most = "max_count" if self.max_duration is None else "max_duration"
            least = "min_count" if self.min_duration is None else "min_duration"
            raise SpecError(
                f"{most}: expected None with {least} on DoubleBoundary, which takes only min_count together with "
                f"max_count, got {quoted(getattr(self, most))}"
            )

    def __hash__(self) -> int:
        return hash((type(self), *self._grid, self.max_gap, self.nulls, *self.limits_hash))

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
        """Saturated and maximal per pair of cells, hence unique; every row is in two frames. Not so with limits."""
        if self.has_minimum or self.has_maximum:
            return frozenset()
        return frozenset({"unique", "saturated", "maximal", "covering", "overlapping"})

    @property
    def closure(self) -> frozenset[Closure]:  # type: ignore[override]
        """Parts of a run are runs."""
        return self.closure_within_limits(frozenset({"sub-interval"}))

    def is_sure(self, records: Records, clock: Clock) -> npt.NDArray[np.bool_]:
        """Return which open frames have a number: with a minimum, none, because an earlier one may be dropped."""
        return np.full(records.group.size, not self.has_minimum)

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
        limits, number_open = self.limits_on(clock), not self.has_minimum

        def kernel(
            batch: Batch, inputs: Mapping[str, Array], groups: Groups, records: Records, used: int, slots: Array
        ) -> int:
            return int(_pairs(batch, cells(inputs[name], grid), groups, records, used, slots, limits, number_open))

        return Automaton(kernel, width=2, labels=1)


@njit(cache=True)
def _pairs(
    batch: Batch,
    cell: Array,
    groups: Groups,
    records: Records,
    used: int,
    slots: Array,
    limits: Limits,
    number_open: bool,
) -> int:
    """Frame pairs of cells; column w of a group's open records holds the pair whose lower cell has parity w."""
    for i in range(batch.on.size):
        g, t = batch.group[i], batch.on[i]
        for w in range(2):
            k = groups.open[g, w]
            if k >= 0:
                lower = records.label[k, 0]
                outside = cell[i] != lower and cell[i] - 1 != lower
                if outside or must_cut(batch, i, records.end[k], limits.max_gap) or is_full(records, k, t, limits):
                    records.closed[k] = t
                    records.status[k] = FINAL if qualifies(records, k, t, limits) else DROPPED
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
                groups.open[g, w] = k
            assign(slots, i, w, k)
    number_frames(groups, records, used, number_open)
    return used
