"""Differences at the ends of every type: one rule for the theory, the kernels, chunks and ranges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from streams import expected, framed, traffic
from windrow.framing.parallel.in_process import Case
from windrow.framing.schemes.rules.grid import LARGEST_CELL, SMALLEST_CELL, cells
from windrow.rows.clock import LARGEST, Clock

INTEGERS = {
    pa.int8(): [-128, -100, 0, 100, 127],
    pa.int16(): [-(2**15), -600, 0, 40, 2**15 - 1],
    pa.int32(): [-(2**31), -5, 0, 7, 2**31 - 1],
    pa.int64(): [-(2**63), -(2**63) + 2, -(2**62), 0, 3, 2**62, 2**63 - 2, 2**63 - 1],
    pa.date32(): [-719162, -1, 0, 19_000, 2932896],
    pa.timestamp("us", "UTC"): [-62135596800000000, -(2**63) + 2, 0, 1_700_000_000_000_000, 253402300799999999],
    pa.timestamp("us"): [-62135596800000000, 0, 1_700_000_000_000_000, 2**63 - 1],
}
FLOATS = [-math.inf, -math.inf, -1e308, -1.5, 0.0, 2.0, 1e300, 1.7e308, math.inf, math.inf]


def lengths(kind: pa.DataType) -> list[Any]:
    if pa.types.is_timestamp(kind):
        return ["1 microsecond", "1 hour", "4000000 days", f"{2**63 - 1} microseconds"]
    if pa.types.is_date32(kind):
        return ["0 days", "36 hours", "4000000 days"]
    return [0, 10, 150, 255, 2**31, 2**62, 2**63 - 2, 2**63 - 1, 1e300]


def schemes(length: Any) -> list[wr.Scheme]:
    return [
        wr.Gap(length),
        wr.Threshold("hit", min_duration=length),
        wr.Threshold("hit", max_gap=length),
        wr.Threshold("hit", min_duration=length, segments=True),
        wr.Delta({"x": 100}, max_gap=length),
    ]


def check(kind: pa.DataType, numbers: list[Any], scheme: wr.Scheme) -> None:
    clock = Clock.of(kind, "on")
    n = len(numbers)
    sample = traffic(numbers, hit=[True] * n, x=[1.0] * n)
    as_days = scheme
    if pa.types.is_date32(kind):
        # The theory counts in microseconds.
        sample_of_days = traffic([day * 86_400_000_000 for day in numbers], hit=[True] * n, x=[1.0] * n)
        result = [(row.start * 86_400_000_000, row.count) for row in framed(scheme, clock, sample)]
        assert result == [(row.start, row.count) for row in expected(as_days, sample_of_days)]
    else:
        assert framed(scheme, clock, sample) == expected(scheme, sample)
    storage = pa.int32() if pa.types.is_date32(kind) else pa.int64() if pa.types.is_timestamp(kind) else kind
    table = pa.table({"t": pa.array(numbers, storage).cast(kind), "hit": [True] * n, "x": [1.0] * n})
    case = Case(table, scheme, "t", (), {"n": wr.count()})
    cuts = table.select(["t"]).slice(1, 2)
    whole = case.whole()
    assert case.ranges(cuts) == whole
    if not pa.types.is_timestamp(kind):  # Python has no instants before the year 1.
        assert case.chunks(cuts["t"].to_pylist()) == whole


@pytest.mark.parametrize("kind", INTEGERS, ids=str)
def test_differences_at_the_ends_of_integers_and_instants(kind: pa.DataType) -> None:
    for length in lengths(kind):
        for scheme in schemes(length):
            check(kind, sorted(INTEGERS[kind]), scheme)


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()], ids=str)
def test_differences_at_the_ends_of_floats(kind: pa.DataType) -> None:
    small = [-math.inf, -math.inf, -3e38, -1.5, 0.0, 0.1, 2.0, 3e38, math.inf, math.inf]
    numbers = [float(np.float32(x)) for x in small] if kind == pa.float32() else FLOATS
    for length in (0, 0.5, 4, 1e38, 1.7e308):
        for scheme in schemes(length):
            check(kind, numbers, scheme)


def test_a_row_past_64_bits_away_is_in_no_frame_with_others() -> None:
    on = [-(2**63) + 2, 1_700_000_000_000_000, 1_700_000_000_000_001]
    rows = framed(wr.Gap("1 day"), Clock.of(pa.timestamp("us", "UTC"), "on"), traffic(on))
    assert [row.count for row in rows] == [1, 2]


def test_a_duration_that_64_bits_cannot_hold_is_endless() -> None:
    on = [-LARGEST, LARGEST]
    for gap in (None, LARGEST, 1e300):
        rows = framed(wr.Threshold("hit", max_gap=gap), Clock.of(pa.int64(), "on"), traffic(on, hit=[True, True]))
        assert [row.count for row in rows] == [2]
    rows = framed(wr.Threshold("hit", max_gap=LARGEST - 1), Clock.of(pa.int64(), "on"), traffic(on, hit=[True, True]))
    assert [row.count for row in rows] == [1, 1]


@pytest.mark.parametrize("reference", ["range", "first"])
@pytest.mark.parametrize("op", ["<", "<=", ">", ">="])
def test_equal_infinities_are_no_distance_apart(op: str, reference: str) -> None:
    values = [1.0, math.inf, math.inf, 2.0, -math.inf, -math.inf, math.inf, 1e308, -1e308]
    sample = traffic(range(len(values)), x=values)
    for limit in (0, 1, 1e308):
        if limit or op != "<":
            scheme = wr.Delta({"x": limit}, op=op, reference=reference)
            assert framed(scheme, Clock.of(pa.int64(), "on"), sample) == expected(scheme, sample)
    if op == ">=":
        minimal = wr.Delta({"x": 0}, op=op, reference=reference)
        few = traffic(range(4), x=[1.0, math.inf, math.inf, 2.0])
        assert [row.count for row in framed(minimal, Clock.of(pa.int64(), "on"), few)] == [1, 1, 1, 1]


VALUES = [-math.inf, -1e300, -9.1e19, -10.0, 0.0, 5.0, 9.1e19, 1e300, math.inf]


def test_cells_past_64_bits_are_the_last_ones() -> None:
    result = cells(np.array(VALUES), 10.0).tolist()
    assert result == [SMALLEST_CELL, SMALLEST_CELL, SMALLEST_CELL, -1, 0, 1, LARGEST_CELL, LARGEST_CELL, LARGEST_CELL]
    assert cells(np.array([-math.inf, -1e300, 1e300, math.inf]), 1e300).tolist() == [SMALLEST_CELL, -1, 1, LARGEST_CELL]
    assert cells(np.array([-math.inf, math.inf]), (0.0, 5.0)).tolist() == [0, 2]
    assert cells(np.array([-1.0, 5e-324]), 5e-324).tolist() == [SMALLEST_CELL, 1]


@pytest.mark.parametrize("kind", [wr.Boundary, wr.DoubleBoundary])
@pytest.mark.parametrize("grid", [10.0, 1e300, 1e-300, [0.0, 5.0]])
def test_cells_of_infinities_are_those_of_the_theory(kind: Any, grid: Any) -> None:
    for values in (VALUES, VALUES[::-1], [-math.inf, math.inf, -math.inf, 0.0, -math.inf]):
        sample = traffic(range(len(values)), x=values)
        scheme = kind({"x": grid})
        assert framed(scheme, Clock.of(pa.int64(), "on"), sample) == expected(scheme, sample)
