"""The states of one aggregate for many frames."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.aggregates.engine import value_runs as growing
from windrow.aggregates.engine.codes import Coding, changes, encode, mark, recode, union
from windrow.aggregates.engine.value_runs import ValueRuns
from windrow.arrays import Array, Values, as_objects
from windrow.state.checks import check_that

Indices = npt.NDArray[np.int64]


@dataclass
class States:
    """The number of values each frame has seen, the numbers of its state, and the values themselves if they are kept.

    A state that is an object of an Arrow type is the only element of its row of numbers. Values that are not numbers
    are codes, which `coding` translates.
    """

    seen: Indices
    numbers: Array
    runs: ValueRuns | None = None
    kind: pa.DataType | None = None
    coding: Coding | None = None

    def __len__(self) -> int:
        return self.seen.size

    def take(self, rows: Indices) -> States:
        """Return a copy of some of the states."""
        runs = None if self.runs is None else growing.copied(self.runs, rows)
        return replace(self, seen=self.seen[rows], numbers=self.numbers[rows], runs=runs)

    def keep(self, rows: Indices) -> States:
        """Return the given distinct states without copying large parts; the original must not be used again."""
        runs = None if self.runs is None else growing.chosen(self.runs, rows)
        return replace(self, seen=self.seen[rows], numbers=self.numbers[rows], runs=runs)

    def joined(self, others: States) -> States:
        """Return these states followed by others; the original must not be used again."""
        others = self._aligned(others)
        runs = None
        if self.runs is not None and others.runs is not None:
            runs = growing.joined(self.runs, others.runs)
        seen, numbers = (
            np.concatenate([self.seen, others.seen]),
            np.concatenate([self.numbers, others.numbers]),
        )
        return replace(self, seen=seen, numbers=numbers, runs=runs)

    def put(self, rows: Indices, others: States) -> None:
        """Replace some of the states by others."""
        others = self._aligned(others)
        self.seen[rows], self.numbers[rows] = others.seen, others.numbers
        if self.runs is not None and others.runs is not None:
            place = np.arange(len(self))
            place[rows] = len(self) + np.arange(len(others))
            self.runs = growing.chosen(growing.joined(self.runs, others.runs), place)

    # Codes.

    def codes_of(self, values: Values) -> Array:
        """Return the codes of a batch of values in these states; its dictionary becomes part of that of the states."""
        assert values.dictionary is not None
        self._compact()
        codes = self._extend_dictionary(values.dictionary)
        return codes[values.numbers] if changes(codes) else values.numbers

    def _aligned(self, others: States) -> States:
        """Return other states in the codes of these, whose dictionary grows; the others remain as they are."""
        if self.coding is None or others.coding is None or not len(others.coding.dictionary):
            return others
        codes = self._extend_dictionary(others.coding.dictionary)
        if changes(codes):
            others = others.take(np.arange(len(others)))
            others._recode(codes)
        return others

    def _extend_dictionary(self, dictionary: pa.Array) -> Indices:
        """Add values to the dictionary, and return the code of each of them."""
        assert self.coding is not None
        both, mine, theirs = union(self.coding.dictionary, dictionary)
        if changes(mine):
            self._recode(mine)
        self.coding = self.coding._replace(dictionary=both)
        return theirs

    def _compact(self) -> None:
        """Drop values that no state refers to from the dictionary."""
        assert self.coding is not None
        used = np.zeros(len(self.coding.dictionary), np.bool_)
        if self.runs is not None:
            mark(self.runs, used)
        else:
            used[self.numbers[self.seen > 0, self.coding.at]] = True
        if not used.all():
            self._recode(np.cumsum(used) - 1)
            self.coding = self.coding._replace(dictionary=self.coding.dictionary.filter(pa.array(used)))

    def _recode(self, codes: Indices) -> None:
        assert self.coding is not None
        if self.runs is not None:
            recode(self.runs, codes)
        else:
            held, at = self.seen > 0, self.coding.at
            self.numbers[held, at] = codes[self.numbers[held, at]]

    # States as Arrow columns.

    def columns(self, prefix: str) -> dict[str, pa.Array]:
        """Return the states as Arrow columns, one row per frame; codes are written as the values they stand for."""
        columns = {f"{prefix}seen": pa.array(self.seen)}
        for i in range(self.numbers.shape[1]):
            column = np.ascontiguousarray(self.numbers[:, i])
            if self.coding is not None and self.coding.at == i:
                columns[f"{prefix}numbers{i}"] = self.coding.decode(column, self.seen == 0)
            else:
                columns[f"{prefix}numbers{i}"] = pa.array(column if self.kind is None else column.tolist(), self.kind)
        if self.runs is not None:
            lists = growing.as_columns(self.runs)
            if self.coding is not None:
                codes = lists["values"]
                values = self.coding.decode(codes.values.to_numpy())
                lists["values"] = pa.LargeListArray.from_arrays(codes.offsets, values)
            columns |= {f"{prefix}{name}": column for name, column in lists.items()}
        return columns

    def read(self, prefix: str, table: pa.Table) -> States:
        """Read states that `columns` wrote, of the same kind as these."""
        seen = np.array(_full(table, f"{prefix}seen").to_numpy(), np.int64)
        check_that((seen >= 0).all(), "no fewer than 0 values in a frame")
        numbers, coding = np.empty((seen.size, self.numbers.shape[1]), self.numbers.dtype), self.coding
        for i in range(numbers.shape[1]):
            name = f"{prefix}numbers{i}"
            if coding is not None and coding.at == i:
                column, held = table.column(name).combine_chunks(), seen > 0
                values = encode(pc.if_else(pa.array(held), column, pa.scalar(None, column.type)), coding.kind)
                check_that(not values.valid.size or (values.valid == held).all(), "a value in each frame that has one")
                numbers[:, i] = np.where(held, values.numbers, coding.zero)
                coding = coding._replace(dictionary=values.dictionary)
            elif self.kind is None:
                numbers[:, i] = _full(table, name).to_numpy()
            else:
                numbers[:, i] = as_objects(table.column(name))
        runs = None
        if self.runs is not None:
            lists = {name: _full(table, f"{prefix}{name}") for name in growing.as_columns(self.runs)}
            if coding is not None:
                lists["values"], dictionary = _encoded(lists["values"], coding.kind)
                coding = coding._replace(dictionary=dictionary)
            runs = growing.from_columns(lists, self.runs)
            # The room for results depends on the number of values seen.
            check_that((growing.totals(runs) == seen).all(), "each frame to hold the values that it has seen")
        return States(seen, numbers, runs, self.kind, coding)


def _encoded(lists: pa.ChunkedArray, kind: pa.DataType) -> tuple[pa.ChunkedArray, pa.Array]:
    """Return lists of values as lists of codes, and their dictionary."""
    lists = lists.combine_chunks()
    values = encode(lists.flatten(), kind)
    check_that(not values.valid.size, "no nulls among the values of a frame")
    lengths = pc.list_value_length(lists).to_numpy().astype(np.int64)
    ends = pa.array(np.concatenate([[0], np.cumsum(lengths)]))
    return pa.chunked_array([pa.LargeListArray.from_arrays(ends, pa.array(values.numbers))]), values.dictionary


def _full(table: pa.Table, name: str) -> pa.ChunkedArray:
    """Return a column, which must have no nulls."""
    column = table.column(name)
    check_that(not column.null_count, f"no nulls in column {name!r}")
    return column
