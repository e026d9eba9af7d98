"""Conjunctions of schemes: which schemes they take, their limits, and rows that a part skips."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import windrow as wr
from fuzz.schemes import SPECIFICATIONS
from streams import FEWER, INTEGER, TYPES, framed, samples, traffic
from windrow.errors import DataError, SpecError, TypeMismatchError
from windrow.framing.theory.brute_force import candidate_frames, final_frames, settle_nulls
from windrow.framing.theory.intervals import from_the_left


def found(scheme: wr.Scheme, **columns: list[float | bool | None]) -> list[tuple[float, float, float | None, int]]:
    """The start, end, `closed_at` and count of each frame, with positions as `on`."""
    rows = framed(scheme, INTEGER, traffic(range(len(next(iter(columns.values())))), **columns))
    return [(row.start, row.end, row.closed_at, row.count) for row in rows]


HIT, STEADY, CELLS = wr.Threshold("hit"), wr.Delta({"x": 1}), wr.Boundary({"y": 1.0})


def test_a_frame_satisfies_both_conditions() -> None:
    hit = [True, True, True, False, True, True]
    assert found(HIT & STEADY, hit=hit, x=[0, 1, 2, 2, 2, 2]) == [(0, 1, 2, 2), (2, 2, 3, 1), (4, 5, None, 2)]


def test_a_frame_that_misses_the_minimum_loses_only_its_first_row() -> None:
    scheme = HIT & wr.Delta({"x": 1}, min_count=3)
    assert found(scheme, hit=[True] * 5, x=[0, 1, 2, 2, 9]) == [(1, 3, 4, 3)]


def test_a_gap_is_a_longest_gap_of_the_whole() -> None:
    assert (wr.Gap(3) & STEADY).longest_gap(INTEGER) == 3
    assert (wr.Gap(3) & wr.Delta({"x": 1}, max_gap=2)).longest_gap(INTEGER) == 2
    sample = traffic([0, 1, 5, 6], x=[0, 0, 0, 0])
    assert framed(wr.Gap(3) & STEADY, INTEGER, sample) == framed(wr.Delta({"x": 1}, max_gap=3), INTEGER, sample)
    assert framed(wr.Gap(5) & wr.Gap(3), INTEGER, sample) == framed(wr.Gap(3), INTEGER, sample)


def test_columns_of_the_parts_follow_in_order() -> None:
    scheme = CELLS & HIT & wr.Boundary({"x": 2.0})
    assert list(scheme.extras) == ["cell_y", "cell_x"]
    rows = framed(scheme, INTEGER, traffic([0, 1], hit=[True, True], x=[3, 4], y=[5, 5]))
    assert [row.label for row in rows] == [(5, 2)]


# Limits.


def test_the_largest_minimums_and_the_smallest_maximums_apply() -> None:
    one = wr.Threshold("hit", min_count=3, max_count=9, min_duration="2 minutes", max_gap="1 hour")
    other = wr.Delta({"x": 1}, min_count=2, max_count=7, min_duration=timedelta(minutes=1), max_gap="59 minutes")
    whole = one & other
    assert (whole.min_count, whole.max_count, whole.min_duration, whole.max_gap) == (3, 7, "2 minutes", "59 minutes")
    assert (wr.Gap(1, max_duration=5) & wr.Gap(2, max_duration=4)).max_duration == 4


def test_the_extent_is_that_of_the_part_with_a_minimum_duration() -> None:
    half_open = wr.Delta({"x": 1}, min_duration=2, extent="half-open")
    assert (HIT & half_open).needs_closing_row
    assert found(HIT & half_open, hit=[True, True, False], x=[0, 0, 0]) == [(0, 1, 2, 2)]


def test_a_maximum_cuts_hysteresis_but_another_part_ends_it() -> None:
    hysteresis = wr.Threshold("hit", close="stop", max_count=2)
    signals = {"hit": [True, False, False, False], "stop": [False] * 4}
    assert found(hysteresis & STEADY, **signals, x=[0, 0, 0, 0]) == [(0, 1, 2, 2), (2, 3, None, 2)]
    # The third row exceeds the maximum, and would not have joined in any case.
    assert found(hysteresis & STEADY, **signals, x=[0, 0, 9, 9]) == [(0, 1, 2, 2)]


# Nulls, per part.


@pytest.mark.parametrize(
    ("scheme", "columns", "expected"),
    [
        # Skipped by one part, accepted by the other.
        (HIT & STEADY, {"hit": [True] * 3, "x": [0, None, 0]}, [(0, 2, None, 2)]),
        (CELLS & STEADY, {"y": [1, 1, 1], "x": [0, None, 0]}, [(0, 2, None, 2)]),
        # Skipped by one part, fails the other.
        (HIT & STEADY, {"hit": [True, False, True], "x": [0, None, 0]}, [(0, 0, 1, 1), (2, 2, None, 1)]),
        (CELLS & STEADY, {"y": [1, 2, 1], "x": [0, None, 0]}, [(0, 0, 1, 1), (2, 2, None, 1)]),
        (CELLS & STEADY, {"y": [1, None, 1], "x": [0, 5, 0]}, [(0, 0, 1, 1), (2, 2, None, 1)]),
        # Skipped by one part, breaks the other.
        (
            wr.Boundary({"y": 1.0}, nulls="break") & STEADY,
            {"y": [1, None, 1], "x": [0, None, 0]},
            [(0, 0, 1, 1), (2, 2, None, 1)],
        ),
        # The row that is skipped leaves no trace: 0 and 2 are too far apart, 0 and 1 are not.
        (CELLS & STEADY, {"y": [1, None, 1], "x": [0, -1, 1]}, [(0, 2, None, 2)]),
        # A row that is skipped cannot start a frame.
        (CELLS & STEADY, {"y": [1, 2, 2], "x": [0, None, 0]}, [(0, 0, 1, 1), (2, 2, None, 1)]),
        # Nor does it count for limits, unless it ends the frame.
        (CELLS & wr.Delta({"x": 1}, max_count=2), {"y": [1, 1, 1], "x": [0, None, 0]}, [(0, 2, None, 2)]),
        # The search for a frame that is long enough passes over it as well.
        (
            CELLS & wr.Delta({"x": 1}, min_count=3),
            {"y": [1, 1, None, 1, 1], "x": [0, 1, 1, 2, 2]},
            [(1, 4, None, 3)],
        ),
        (
            CELLS & wr.Delta({"x": 1}, min_count=3),
            {"y": [1, 1, 1, None, 1], "x": [0, 1, 2, 2, 2]},
            [(1, 4, None, 3)],
        ),
        (CELLS & wr.Delta({"x": 1}, min_count=2), {"y": [1, None, 1], "x": [0, 2, 1]}, []),
    ],
)
def test_each_part_has_its_own_policy_for_nulls(
    scheme: wr.Scheme, columns: dict[str, list[float | None]], expected: list[tuple[float, ...]]
) -> None:
    assert found(scheme, **columns) == expected


def test_an_error_is_that_of_the_part_which_reads_the_column() -> None:
    scheme = wr.Boundary({"y": 1.0}, nulls="error") & STEADY
    assert found(scheme, y=[1, 1], x=[None, 0]) == [(1, 1, None, 1)]
    with pytest.raises(DataError, match="column 'y' is null or NaN in 1 row: nulls='error' forbids that"):
        found(scheme, y=[1, None], x=[0, 0])


@pytest.mark.parametrize(
    ("scheme", "is_run"),
    [
        (HIT & wr.Boundary({"x": 1.0}), True),
        (HIT & wr.Boundary({"x": 1.0}) & wr.Gap(3, min_count=3), True),
        (wr.Boundary({"x": 1.0}) & CELLS, False),
        (wr.Boundary({"x": 1.0}, nulls="break") & wr.Boundary({"y": 1.0}, nulls="break"), True),
        (wr.Threshold("hit", nulls="skip") & CELLS, False),
        (HIT & STEADY, False),
        (wr.Threshold("hit", close="stop") & wr.Gap(3), False),
        (HIT & wr.Gap(3, max_duration=5), False),
    ],
)
def test_runs_are_native_where_each_row_shows_by_itself_whether_it_is_skipped(scheme: wr.Scheme, is_run: bool) -> None:
    assert scheme.is_run == is_run


# The spec.


def opens(t, s):  # type: ignore[no-untyped-def]
    return True


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: HIT & 5, r"&: expected a scheme such as wr.Threshold\('speed < 40'\), got 5"),
        (lambda: HIT & wr.Delta({"x": 1}, op=">"), "expected schemes with maximal frames .*, got Delta"),
        (lambda: wr.Aggregate(wr.sum("x"), ">=", 1) & HIT, "expected schemes with maximal frames .*, got Aggregate"),
        (lambda: HIT & wr.Threshold("x > 1", segments=True), "expected a scheme without segments=True"),
        (lambda: HIT & wr.DoubleBoundary({"x": 1}), "maximal and do not overlap, got DoubleBoundary"),
        (lambda: wr.Custom(["x"], open=opens, close=opens) & HIT, "maximal and do not overlap, got Custom"),
        (lambda: wr.Boundary({"x": 1}) & wr.Boundary({"x": [3]}), "both add the column 'cell_x'"),
        (lambda: wr.Gap(1, min_duration="1 minute") & wr.Gap(2, min_duration=5), "durations of one kind in all parts"),
        (lambda: wr.Gap(1, min_count=5) & wr.Gap(2, max_count=3), "min_count: expected at most max_count=3, got 5"),
        (
            lambda: wr.Gap(1, min_duration=1) & wr.Gap(2, min_duration=5, extent="half-open"),
            "extent: expected the same extent in all parts",
        ),
        (lambda: wr.Conjunction([HIT]), "Conjunction: expected two or more schemes, got"),
    ],
)
def test_what_cannot_be_a_part_is_refused(make: Callable[[], wr.Scheme], words: str) -> None:
    with pytest.raises(SpecError, match=words):
        make()


def test_the_types_of_all_parts_are_checked() -> None:
    with pytest.raises(TypeMismatchError, match="Delta: expected a numeric column, got 'x' of type string"):
        (HIT & STEADY).check(INTEGER, {**TYPES, "x": pa.string()})
    with pytest.raises(SpecError, match="min_duration: expected at most max_duration=3, got 5"):
        (wr.Gap(1, min_duration=5) & wr.Gap(2, max_duration=3)).check(INTEGER, TYPES)


def test_parts_are_flat_and_predicates_keep_apart() -> None:
    scheme = wr.Threshold("a") & (wr.Threshold("b", close="c") & wr.Threshold("d")) & wr.Delta({"hit2": 1})
    assert len(scheme.conjuncts) == 4
    assert scheme.predicates == {"hit": "a", "hit3": "b", "stop": "c", "hit4": "d"}
    assert repr(scheme) == "Threshold('a') & Threshold('b', close='c') & Threshold('d') & Delta({'hit2': 1.0})"
    assert (wr.Threshold("x>1") & STEADY).fingerprint == (wr.Threshold("x > 1") & STEADY).fingerprint


@FEWER
@given(data=st.data())
def test_without_skipped_rows_frames_are_the_longest_candidates_from_the_left(data: st.DataObject) -> None:
    scheme = data.draw(SPECIFICATIONS[wr.Conjunction])
    assume("stop" not in scheme.predicates)
    stream = settle_nulls(scheme, data.draw(samples(scheme, missing=False)).stream)
    candidates = candidate_frames(scheme, stream)
    chosen = from_the_left(len(stream), lambda at, _: [c for c in candidates if c.first == at], longest=True)
    assert [frame.interval for frame in final_frames(scheme, stream)] == list(chosen)


def test_values_that_change_end_frames_of_a_conjunction() -> None:
    scheme = wr.Boundary({"y": 2.0}) & wr.Change("x") & STEADY_IN_Y
    assert scheme.added_columns == ("cell_y", "x")
    rows = framed(scheme, INTEGER, traffic(range(4), x=[1.0, 1.0, 2.0, 2.0], y=[3, 4, 4, 9]))
    assert [(row.start, row.end) for row in rows] == [(0, 1), (2, 2), (3, 3)]
    assert [row.label[0] for row in rows] == [2, 2, 5]
    assert list(scheme.extra_places(TYPES)) == [0]


STEADY_IN_Y = wr.Delta({"y": 1})
