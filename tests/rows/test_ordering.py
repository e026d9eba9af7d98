"""Putting rows in order as Spark does, at the ends of types too."""

from __future__ import annotations

import pyarrow as pa

import windrow as wr
from windrow.framing.parallel.in_process import Case


def test_tied_rows_with_integers_past_the_floats_are_put_in_order() -> None:
    table = pa.table({"t": [1, 1, 1], "x": pa.array([2**63 - 1, -(2**63), 5], pa.int64())})
    frames = Case(table, wr.Boundary({"x": [0, 10]}), on="t").whole()
    assert frames["cell_x"].to_pylist() == [0, 1, 2]
