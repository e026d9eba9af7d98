"""Histograms with given edges."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.base import THESIS, AggregateFunction, Form, Gives, Kind, Options
from windrow.errors import SpecError, quoted

Row = npt.NDArray[Any]


@dataclass(frozen=True, repr=False)
class Histogram(AggregateFunction):
    """The number of values in each cell between given edges, as a list.

    The cells are those of `Boundary`: cell i is `edges[i-1] < x <= edges[i]`, and the two outer cells are open-ended.
    Every value is therefore counted, and there is one more count than edges. NaN falls into the last cell.

    >>> import windrow as wr
    >>> wr.histogram("speed", [0, 30, 60]).compute([12, 30, 45, 80, None])
    [0, 2, 1, 1]
    """

    edges: tuple[float, ...]

    kind: ClassVar[Kind] = "distributive"
    form: ClassVar[Form] = "row"
    gives: ClassVar[Gives] = "list"
    has_options: ClassVar[bool] = True
    takes_list: ClassVar[bool] = True
    needs: ClassVar[int] = 0
    source: ClassVar[str] = THESIS
    builtin: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", _checked(self.edges))
        super().__post_init__()

    @classmethod
    def example(cls, column: str = "x", other: str = "y") -> AggregateFunction:
        """Return an example of three cells."""
        return cls(column, (-1.0, 2.0))

    def result_type(self, values: pa.DataType) -> pa.DataType:
        """Return a list type of 64-bit integers."""
        return pa.list_(pa.int64())

    def options(self, integral: bool) -> Options:
        """Return the edges."""
        return np.array(self.edges)

    def zero_state(self, integral: bool) -> tuple[float, ...]:
        """Return one zero per cell."""
        return (0.0,) * (len(self.edges) + 1)

    def longest_list(self, seen: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the number of cells, for every frame."""
        return np.full(seen.size, len(self.edges) + 1)

    @staticmethod
    def add(row: Row, x: float, options: Options) -> None:  # noqa: D102
        row[options.size if x != x else np.searchsorted(options, x)] += 1.0

    @staticmethod
    def merge(row: Row, other: Row, options: Options) -> None:  # noqa: D102
        row += other

    @staticmethod
    def finish(row: Row, options: Options, items: Row) -> int:  # noqa: D102
        for i in range(row.size):
            items[i] = int(row[i])
        return row.size


def _checked(edges: Any) -> tuple[float, ...]:
    problem = f"Histogram: edges: expected ascending finite numbers such as [0, 30, 60], got {quoted(edges)}"
    listed = edges.ndim == 1 if isinstance(edges, np.ndarray) else isinstance(edges, Sequence)
    listed = listed and not isinstance(edges, str | bytes)
    if not listed or not len(edges) or not all(isinstance(e, Real) and not isinstance(e, bool) for e in edges):
        raise SpecError(problem)
    floats = tuple(float(edge) if abs(edge) <= sys.float_info.max else math.nan for edge in edges)
    if not all(map(math.isfinite, floats)) or any(b <= a for a, b in pairwise(floats)):
        raise SpecError(problem)
    return floats
