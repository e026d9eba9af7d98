"""The plan of a fill query on streams: its columns, its aggregates, and which of its sides is a table."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from windrow.aggregates.engine.accumulator import Accumulator
from windrow.rows import wire
from windrow.rows.clock import Clock
from windrow.tuning import Tuning, current_tuning


@dataclass(frozen=True)
class FillPlan:
    """A fill query: its columns, its aggregates, and which side is a table that is complete from the start.

    Rows arrive with the columns `by0`, `by1`, … of their group, `on`, and the columns named here. Frames, or their
    fragments, arrive with the columns of their group, `number`, `start`, `end`, `fragment`, `final`, and the columns
    named here.
    """

    clock: Clock
    key_types: tuple[pa.DataType, ...]
    accumulators: tuple[Accumulator, ...]
    """The aggregates; without any, rows are tagged."""
    values: tuple[str | None, ...]
    """The input columns of the aggregates, in order; None for a count of rows."""
    ties: tuple[str, ...]
    """The columns that order rows with the same `on`."""
    row_columns: tuple[str, ...]
    """The columns of a tagged row."""
    frame_columns: tuple[str, ...]
    """The columns of a filled frame, before its aggregates."""
    frame_roles: dict[str, str]
    """Which of them are `start`, `end` and `count`; for a frame in fragments, these span all fragments."""
    fingerprint: dict[str, str]
    """Everything that a saved state depends on."""
    frames_are_table: bool = False
    rows_are_table: bool = False
    before: int | float = 0
    """How far before the watermark an unknown frame may start: the distance by which starts were moved back."""
    tuning: Tuning = field(default_factory=current_tuning, compare=False, repr=False)

    @property
    def keys(self) -> list[str]:
        """The column names of the group keys in arriving tables."""
        return [*wire.keys(len(self.key_types))]

    @property
    def in_order(self) -> bool:
        """Whether rows are matched when the watermark passes them rather than on arrival, as aggregates require."""
        return bool(self.accumulators) and not self.rows_are_table
