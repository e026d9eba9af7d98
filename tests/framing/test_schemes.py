"""Every scheme's kernel gives the frames that the definitions give."""

from __future__ import annotations

import math
from datetime import timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from fuzz.schemes import SPECIFICATIONS
from streams import FEWER, FLOAT, INTEGER, TYPES, Row, Sample, Span, expected, framed, samples, traffic
from windrow.arrays import Values
from windrow.errors import DataError, SpecError
from windrow.framing.framer import Framer
from windrow.framing.schemes import SCHEMES
from windrow.framing.schemes.rules.grid import cells
from windrow.rows.clock import Clock
from windrow.rows.query import RowBatch


@pytest.mark.parametrize("clock", [INTEGER, FLOAT], ids=["integer", "float"])
@pytest.mark.parametrize("kind", SCHEMES, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_kernel_gives_the_frames_of_the_theory(kind: type[wr.Scheme], clock: Clock, data: st.DataObject) -> None:
    scheme = data.draw(SPECIFICATIONS[kind])
    sample = data.draw(samples(scheme))
    try:
        frames = expected(scheme, sample)
    except DataError:
        with pytest.raises(DataError, match="nulls='error'"):
            framed(scheme, clock, sample)
        return
    assert framed(scheme, clock, sample) == frames


@FEWER
@given(op=st.sampled_from(["<", "<=", ">", ">="]), limit=st.integers(0, 5), data=st.data())
def test_a_users_own_aggregate_frames_like_a_built_in_one(op: str, limit: int, data: st.DataObject) -> None:
    scheme = wr.Aggregate(Span("x"), op, limit)
    sample = data.draw(samples(scheme))
    assert framed(scheme, INTEGER, sample) == expected(scheme, sample)
    if limit > 0:
        assert expected(scheme, sample) == expected(wr.Delta({"x": limit}, op=op), sample)


# Worked by hand. A row is: frame, start, end, closed_at, count, complete, label, first, last and sum of positions.


def row(
    frame: int,
    start: float,
    end: float,
    closed_at: float | None,
    members: range,
    *,
    complete: bool = True,
    label: tuple[int, ...] = (),
) -> Row:
    positions = (members[0], members[-1], sum(members))
    return Row(frame, start, end, closed_at, len(members), complete, label, positions)


MINUTE = 60
SPEEDS = [55, 38, 52, 39, 35, 31, 28, 30, 37, 44, 36, 33, 60, 39, 39, 39, 39, 39, 39]
LOOP = traffic(
    [MINUTE * i for i in range(len(SPEEDS))],
    x=[float(speed) for speed in SPEEDS],
    hit=[speed < 40 for speed in SPEEDS],
    stop=[speed > 45 for speed in SPEEDS],
)
"""A detector, read once a minute; the example of definition 3 asks for speeds below 40 for at least five minutes."""

WAVE = traffic(range(12), x=[1.0, 3.0, 4.0, 6.0, 7.0, 7.0, 5.0, 2.0, 1.0, 0.0, 4.0, 9.0])
"""A curve that rises and falls, as in Figure 2."""


def above(sample: Sample, limit: float) -> Sample:
    return traffic(sample.on, x=sample.columns["x"], hit=[x > limit for x in sample.columns["x"]])


WORKED = {
    "speed below 40 for at least five minutes": (
        wr.Threshold("hit", min_duration=5 * MINUTE),
        LOOP,
        [row(0, 180, 480, 540, range(3, 9)), row(1, 780, 1080, None, range(13, 19))],
    ),
    "speed below 40 for at least two readings": (
        wr.Threshold("hit", min_count=2),
        LOOP,
        [
            row(0, 180, 480, 540, range(3, 9)),
            row(1, 600, 660, 720, range(10, 12)),
            row(2, 780, 1080, None, range(13, 19)),
        ],
    ),
    "from below 40 until above 45": (
        wr.Threshold("hit", close="stop", min_count=2),
        LOOP,
        [row(0, 180, 660, 720, range(3, 12)), row(1, 780, 1080, None, range(13, 19))],
    ),
    "on and off, the short runs being part of the off frames": (
        wr.Threshold("hit", min_duration=5 * MINUTE, segments=True),
        LOOP,
        [
            row(0, 0, 120, 180, range(3), label=(0,)),
            row(1, 180, 480, 540, range(3, 9), label=(1,)),
            row(2, 540, 720, 780, range(9, 13), label=(0,)),
            row(3, 780, 1080, None, range(13, 19), label=(1,)),
        ],
    ),
    "figure 2 (a): boundary frames": (
        wr.Boundary({"x": 3}),
        WAVE,
        [
            row(0, 0, 1, 2, range(2), label=(1,)),
            row(1, 2, 3, 4, range(2, 4), label=(2,)),
            row(2, 4, 5, 6, range(4, 6), label=(3,)),
            row(3, 6, 6, 7, range(6, 7), label=(2,)),
            row(4, 7, 8, 9, range(7, 9), label=(1,)),
            row(5, 9, 9, 10, range(9, 10), label=(0,)),
            row(6, 10, 10, 11, range(10, 11), label=(2,)),
            row(7, 11, 11, None, range(11, 12), label=(3,)),
        ],
    ),
    "figure 2 (b): threshold frames": (
        wr.Threshold("hit"),
        above(WAVE, 3),
        [row(0, 2, 6, 7, range(2, 7)), row(1, 10, 11, None, range(10, 12))],
    ),
    "figure 2 (c): aggregate frames, a sum of at least ten": (
        wr.Aggregate(wr.sum("x"), ">=", 10),
        WAVE,
        [
            row(0, 0, 3, 3, range(4)),
            row(1, 4, 5, 5, range(4, 6)),
            row(2, 6, 10, 10, range(6, 11)),
            row(3, 11, 11, None, range(11, 12), complete=False),
        ],
    ),
    "figure 2 (d): delta frames, a range above four": (
        wr.Delta({"x": 4}, op=">"),
        WAVE,
        [row(0, 0, 3, 3, range(4)), row(1, 4, 7, 7, range(4, 8)), row(2, 8, 11, 11, range(8, 12))],
    ),
    "delta frames, a range of at most four": (
        wr.Delta({"x": 4}),
        WAVE,
        [
            row(0, 0, 2, 3, range(3)),
            row(1, 3, 6, 7, range(3, 7)),
            row(2, 7, 10, 11, range(7, 11)),
            row(3, 11, 11, None, range(11, 12)),
        ],
    ),
    "delta frames, at most four from the first": (
        wr.Delta({"x": 4}, reference="first"),
        WAVE,
        [
            row(0, 0, 2, 3, range(3)),
            row(1, 3, 7, 8, range(3, 8)),
            row(2, 8, 10, 11, range(8, 11)),
            row(3, 11, 11, None, range(11, 12)),
        ],
    ),
    "aggregate frames, a sum of at most ten; nine fits, seven and seven do not": (
        wr.Aggregate(wr.sum("x"), "<=", 10),
        WAVE,
        [
            row(0, 0, 2, 3, range(3)),
            row(1, 3, 3, 4, range(3, 4)),
            row(2, 4, 4, 5, range(4, 5)),
            row(3, 5, 5, 6, range(5, 6)),
            row(4, 6, 9, 10, range(6, 10)),
            row(5, 10, 10, 11, range(10, 11)),
            row(6, 11, 11, None, range(11, 12)),
        ],
    ),
    "a tuple that is over the limit by itself is in no frame": (
        wr.Aggregate(wr.sum("x"), "<", 5),
        traffic(range(5), x=[2.0, 9.0, 1.0, 3.0, 8.0]),
        [row(0, 0, 0, 1, range(1)), row(1, 2, 3, 4, range(2, 4))],
    ),
    "sessions, two rows exactly the gap apart being in one": (
        wr.Gap(3),
        traffic([0, 3, 6, 10, 10, 20]),
        [row(0, 0, 6, 10, range(3)), row(1, 10, 10, 20, range(3, 5)), row(2, 20, 20, None, range(5, 6))],
    ),
    "double-boundary frames, each tuple in two": (
        wr.DoubleBoundary({"x": 10}),
        traffic(range(4), x=[5.0, 15.0, 25.0, 15.0]),
        [
            row(0, 0, 0, 1, range(1), label=(0,)),
            row(1, 0, 1, 2, range(2), label=(1,)),
            row(2, 1, 3, None, range(1, 4), label=(2,)),
            row(3, 2, 2, 3, range(2, 3), label=(3,)),
            row(4, 3, 3, None, range(3, 4), label=(1,)),
        ],
    ),
    "an outage ends a minimal frame before its condition is met": (
        wr.Aggregate(wr.sum("x"), ">=", 4, max_gap=1),
        traffic([0, 1, 5, 6], x=[1.0, 2.0, 3.0, 1.0]),
        [row(0, 0, 1, 5, range(2), complete=False), row(1, 5, 6, 6, range(2, 4))],
    ),
}


@pytest.mark.parametrize("clock", [INTEGER, FLOAT], ids=["integer", "float"])
@pytest.mark.parametrize(("scheme", "sample", "rows"), WORKED.values(), ids=WORKED)
def test_worked_example(scheme: wr.Scheme, sample: Sample, rows: list[Row], clock: Clock) -> None:
    assert framed(scheme, clock, sample) == rows
    assert expected(scheme, sample) == rows


def test_a_stream_in_microseconds_takes_durations_as_text() -> None:
    clock = Clock.of(pa.timestamp("us"), "on")
    sample = traffic([at * 1_000_000 for at in LOOP.on], hit=LOOP.columns["hit"])
    scheme = wr.Threshold("hit", min_duration="5 minutes", max_gap=timedelta(minutes=1))
    assert [(r.start, r.end) for r in framed(scheme, clock, sample)] == [(180e6, 480e6), (780e6, 1080e6)]
    assert framed(scheme, clock, sample) == expected(scheme, sample)


# At the edges of what numbers can say.


def test_infinite_on_has_frames_unless_a_duration_is_asked_for() -> None:
    sample = traffic([-math.inf, 0.0, math.inf], hit=[True, False, True])
    assert [(r.start, r.end) for r in framed(wr.Threshold("hit"), FLOAT, sample)] == [(-math.inf,) * 2, (math.inf,) * 2]
    assert framed(wr.Threshold("hit", min_duration=1), FLOAT, sample) == []


def test_on_may_span_more_than_64_bits() -> None:
    sample = traffic([-(2**63), 2**63 - 1], hit=[True, True])
    assert [r.count for r in framed(wr.Threshold("hit"), INTEGER, sample)] == [2]


@pytest.mark.parametrize("endless", [10**30, 1e30])
def test_a_gap_longer_than_64_bits_cuts_nothing(endless: float) -> None:
    sample = traffic([0, 2**62], hit=[True, True])
    assert [r.count for r in framed(wr.Threshold("hit", max_gap=endless), INTEGER, sample)] == [2]
    assert framed(wr.Threshold("hit", min_duration=endless), INTEGER, sample) == []


def test_infinite_values_lie_in_the_outermost_cells() -> None:
    sample = traffic(range(4), x=[-math.inf, math.inf, math.inf, -math.inf])
    assert [r.count for r in framed(wr.Boundary({"x": 1.0}), INTEGER, sample)] == [1, 2, 1]
    assert [r.count for r in framed(wr.Boundary({"x": [0]}), INTEGER, sample)] == [1, 2, 1]
    frames = framed(wr.DoubleBoundary({"x": 1.0}), INTEGER, sample)
    assert [(r.start, r.end) for r in frames] == [(0, 0), (0, 0), (1, 2), (1, 2), (3, 3), (3, 3)]
    cell = {r.start: r.label[0] for r in framed(wr.Boundary({"x": 1.0}), INTEGER, sample)}
    assert [r.label for r in frames] == [(cell[at] + below,) for at in (0, 1, 3) for below in (-1, 0)]


@given(
    n=st.integers(-(10**6), 10**6),
    width=st.sampled_from([0.1, 0.3, 0.7, 1 / 3, 1e-3, 7.0]),
    toward=st.sampled_from([-1, 0, 1]),
)
def test_a_value_at_a_boundary_lies_below_it_however_the_quotient_rounds(n: int, width: float, toward: int) -> None:
    value = n * width if toward == 0 else math.nextafter(n * width, toward * math.inf)
    (cell,) = cells(np.array([value]), width).tolist()
    assert (cell - 1) * width < value <= cell * width


@pytest.mark.parametrize("nulls", ["skip", "break", "error"])
def test_nan_and_null_are_both_missing(nulls: str) -> None:
    sample = traffic(range(5), x=[1.0, None, 1.0, math.nan, 1.0])
    scheme = wr.Boundary({"x": 1.0}, nulls=nulls)
    if nulls == "error":
        with pytest.raises(DataError, match="column 'x' is null or NaN in 2 rows: nulls='error' forbids that"):
            framed(scheme, INTEGER, sample)
        return
    counts = {"skip": [3], "break": [1, 1, 1]}
    assert [r.count for r in framed(scheme, INTEGER, sample)] == counts[nulls]


def test_a_forbidden_null_predicate_is_named() -> None:
    sample = traffic(range(2), hit=[True, None])
    with pytest.raises(DataError, match="predicate 'hit' is null or NaN in 1 row: "):
        framed(wr.Threshold("hit", nulls="error"), INTEGER, sample)


def test_a_batch_without_nulls_satisfies_nulls_error_even_if_it_carries_flags() -> None:
    framer = Framer(wr.Boundary({"x": 1.0}, nulls="error"), INTEGER, TYPES, [])
    values = Values(np.ones(2), np.ones(2, np.bool_))
    framer.process(RowBatch(np.zeros(2, np.int64), np.arange(2), {"x": values}, []))
    assert framer.finish().records.count.tolist() == [2]


def test_custom_functions_that_read_what_is_not_there_are_refused() -> None:
    def opens(t, s):  # type: ignore[no-untyped-def]
        return t.speed > 0

    with pytest.raises(SpecError, match=r"open=opens.*reads 'speed', which is neither a column nor in the state"):
        framed(wr.Custom(["x"], open=opens, close=opens), INTEGER, WAVE)


def test_custom_functions_that_numba_cannot_compile_are_refused() -> None:
    def opens(t, s):  # type: ignore[no-untyped-def]
        return t.x + "1" > 0

    with pytest.raises(SpecError, match=r"(?s)open=opens.*cannot be compiled"):
        framed(wr.Custom(["x"], open=opens, close=opens), INTEGER, WAVE)


def test_a_function_of_the_user_that_divides_by_zero_is_named():
    def opens(t, s):
        return 1 / (t.x - t.x) > 0

    with pytest.raises(DataError, match=r"Custom\(.*a function failed on a row: ZeroDivisionError: division by zero"):
        framed(wr.Custom(["x"], open=opens, close=opens), INTEGER, WAVE)
