"""Minimums and maximums of frames that overlap, and of user-defined frames."""

from __future__ import annotations

import pytest

import windrow as wr
from streams import INTEGER, batch_of, framed, rows_of, traffic
from windrow.errors import SpecError
from windrow.framing.framer import Framer


def found(scheme: wr.Scheme, x: list[float]) -> list[tuple[int, float, float, float | None, bool]]:
    """The number, start, end, `closed_at` and completeness of each frame, with positions as `on`."""
    rows = framed(scheme, INTEGER, traffic(range(len(x)), x=x))
    return [(row.frame, row.start, row.end, row.closed_at, row.complete) for row in rows]


def test_a_pair_of_cells_that_misses_the_minimum_has_no_number() -> None:
    scheme = wr.DoubleBoundary({"x": 1.0}, min_count=3)
    assert found(scheme, [1, 2, 2, 3, 3]) == [(0, 0, 2, 3, True), (1, 1, 4, None, True)]


def test_a_maximum_cuts_each_pair_of_cells_by_itself() -> None:
    scheme = wr.DoubleBoundary({"x": 1.0}, min_count=2, max_count=2)
    # Cells 0 and 1: rows 0, 1. Cells 1 and 2: rows 0 to 3, cut after row 1. Cells 2 and 3: rows 2, 3.
    frames = [(0, 0, 1, 2, True), (1, 0, 1, 2, True), (2, 2, 3, None, True), (3, 2, 3, None, True)]
    assert found(scheme, [1, 1, 2, 2]) == frames


def test_a_closed_pair_waits_until_those_that_opened_before_it_are_decided() -> None:
    scheme = wr.DoubleBoundary({"x": 1.0}, min_count=4)
    sample = traffic(range(6), x=[5, 5, 4, 5, 5, 5])
    # Cells 5 and 6 are dropped at row 2, before anything is reported.
    framer = Framer(scheme, INTEGER, {}, [])
    batches = [batch_of(scheme, INTEGER, [], [(0, sample, i)]) for i in range(6)]
    reported = [row for batch in batches for _, row in rows_of(framer.process(batch))]
    assert reported == []
    assert [(row.frame, row.start, row.end) for _, row in rows_of(framer.finish())] == [(0, 0, 5)]


@pytest.mark.parametrize(
    "limits",
    [{"min_count": 2, "max_duration": 5}, {"min_duration": 2, "max_count": 5}, {"min_duration": 2, "max_duration": 5}],
)
def test_limits_that_need_a_search_are_refused_for_pairs_of_cells(limits: dict[str, int]) -> None:
    with pytest.raises(SpecError, match="on DoubleBoundary, which takes only min_count together with max_count"):
        wr.DoubleBoundary({"x": 1.0}, **limits)


def opens(t, s):  # type: ignore[no-untyped-def]
    return t.x > 0


def closes(t, s):  # type: ignore[no-untyped-def]
    return t.x < 0


def custom(**limits: object) -> wr.Scheme:
    return wr.Custom(["x"], open=opens, close=closes, **limits)


def test_a_maximum_cuts_a_custom_frame_unless_the_row_closes_it() -> None:
    assert found(custom(max_count=2), [1, 0, -1]) == [(0, 0, 1, 2, True)]
    assert found(custom(max_count=2), [1, 0, 2, 0]) == [(0, 0, 1, 2, False), (1, 2, 3, None, False)]
    assert found(custom(max_duration=1), [1, 0, 0, 2, -1]) == [(0, 0, 1, 2, False), (1, 3, 3, 4, True)]


def test_a_custom_frame_that_misses_a_minimum_is_discarded() -> None:
    assert found(custom(min_count=2), [1, -1, 1, 0, -1, 1]) == [(0, 2, 3, 4, True)]
    half_open = {"min_duration": 1, "extent": "half-open"}
    assert found(custom(**half_open), [1, -1, 1]) == [(0, 0, 0, 1, True)]
