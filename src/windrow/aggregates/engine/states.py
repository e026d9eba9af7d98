"""The states of one aggregate for many frames."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.engine import value_runs as growing
from windrow.aggregates.engine.value_runs import ValueRuns
from windrow.arrays import Array, as_objects
from windrow.state.checks import check_that

Indices = npt.NDArray[np.int64]


@dataclass
class States:
    """The number of values each frame has seen, the numbers of its state, and the values themselves if they are kept.

    A state that is an object of an Arrow type is the only element of its row of numbers.
    """

    seen: Indices
    numbers: Array
    runs: ValueRuns | None = None
    kind: pa.DataType | None = None

    def __len__(self) -> int:
        return self.seen.size

    def take(self, rows: Indices) -> States:
        """Return a copy of some of the states."""
        runs = None if self.runs is None else growing.copied(self.runs, rows)
        return States(self.seen[rows], self.numbers[rows], runs, self.kind)

    def keep(self, rows: Indices) -> States:
        """Return the given distinct states without copying large parts; the original must not be used again."""
        runs = None if self.runs is None else growing.chosen(self.runs, rows)
        return States(self.seen[rows], self.numbers[rows], runs, self.kind)

    def joined(self, others: States) -> States:
        """Return these states followed by others; the original must not be used again."""
        runs = None
        if self.runs is not None and others.runs is not None:
            runs = growing.joined(self.runs, others.runs)
        seen, numbers = (
            np.concatenate([self.seen, others.seen]),
            np.concatenate([self.numbers, others.numbers]),
        )
        return States(seen, numbers, runs, self.kind)

    def put(self, rows: Indices, others: States) -> None:
        """Replace some of the states by others."""
        self.seen[rows], self.numbers[rows] = others.seen, others.numbers
        if self.runs is not None and others.runs is not None:
            place = np.arange(len(self))
            place[rows] = len(self) + np.arange(len(others))
            self.runs = growing.chosen(growing.joined(self.runs, others.runs), place)

    def columns(self, prefix: str) -> dict[str, pa.Array]:
        """Return the states as Arrow columns, one row per frame."""
        columns = {f"{prefix}seen": pa.array(self.seen)}
        for i in range(self.numbers.shape[1]):
            column = np.ascontiguousarray(self.numbers[:, i])
            columns[f"{prefix}numbers{i}"] = pa.array(column if self.kind is None else column.tolist(), self.kind)
        if self.runs is not None:
            columns |= {f"{prefix}{name}": lists for name, lists in growing.as_columns(self.runs).items()}
        return columns

    def read(self, prefix: str, table: pa.Table) -> States:
        """Read states that `columns` wrote, of the same kind as these."""
        seen = np.array(_full(table, f"{prefix}seen").to_numpy(), np.int64)
        check_that((seen >= 0).all(), "no fewer than 0 values in a frame")
        numbers = np.empty((seen.size, self.numbers.shape[1]), self.numbers.dtype)
        for i in range(numbers.shape[1]):
            name = f"{prefix}numbers{i}"
            if self.kind is None:
                numbers[:, i] = _full(table, name).to_numpy()
            else:
                numbers[:, i] = as_objects(table.column(name))
        runs = None
        if self.runs is not None:
            names = growing.as_columns(self.runs)
            runs = growing.from_columns({name: _full(table, f"{prefix}{name}") for name in names}, self.runs)
            # The room for results depends on the number of values seen.
            check_that((growing.totals(runs) == seen).all(), "each frame to hold the values that it has seen")
        return States(seen, numbers, runs, self.kind)


def _full(table: pa.Table, name: str) -> pa.ChunkedArray:
    """Return a column, which must have no nulls."""
    column = table.column(name)
    check_that(not column.null_count, f"no nulls in column {name!r}")
    return column
