"""Chunks and ranges, however many there are and whatever is in them, give the frames that one task gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from fuzz.schemes import SPECIFICATIONS
from streams import FEWER
from sweeps import sweep
from windrow.errors import DataError
from windrow.framing.parallel.in_process import Case
from windrow.framing.parallel.ranges import quantiles

AGGREGATES = {
    "n": wr.count("v"),
    "total": wr.sum("v"),
    "first": wr.first("v"),
    "last": wr.last("x"),
    "middle": wr.median("v"),
}
CORES = range(1, 33)


def rows(frames: pa.Table) -> list[str]:
    """Frames that can be compared even where an aggregate is NaN."""
    return [repr(row) for row in frames.to_pylist()]


def with_outages(rng: np.random.Generator, n: int, groups: int) -> pa.Table:
    """Rows with ties and silences; for a while an attribute is missing everywhere, or a group sends nothing."""
    on = np.cumsum(rng.choice([0, 0, 1, 1, 2, 5, 40], n))
    span = int(on[-1]) + 1 if n else 1
    dark = rng.integers(0, span, 2)
    is_dark = (on >= dark.min()) & (on < dark.max())
    g = rng.integers(0, groups, n)
    g[is_dark & (rng.random() < 0.5)] = 0
    x = rng.integers(-2, 5, n).astype(float)
    missing = (rng.random(n) < 0.05) | (is_dark & (rng.random() < 0.6))
    truth = np.repeat(rng.random(n) < 0.7, rng.integers(1, 9, n))[:n] if n else np.empty(0, bool)
    made = pa.table(
        {
            "g": pa.array(g),
            "t": pa.array(on),
            "x": pa.array(np.where(missing & (rng.random(n) < 0.3), np.nan, x), mask=missing),
            "y": pa.array(rng.integers(-2, 5, n).astype(float)),
            "v": pa.array(rng.integers(-9, 9, n), mask=rng.random(n) < 0.1),
            "hit": pa.array(truth, mask=missing),
            "stop": pa.array(rng.random(n) < 0.2),
            "state": pa.array(np.where(truth, "A", "B").astype(object), mask=rng.random(n) < 0.1),
        }
    )
    return made.take(pa.array(rng.permutation(n)))


@FEWER
@pytest.mark.parametrize("kind", SPECIFICATIONS)
@given(data=st.data())
def test_seams_do_not_show(kind: type[wr.Scheme], data: st.DataObject) -> None:
    scheme = data.draw(SPECIFICATIONS[kind].filter(lambda drawn: drawn.nulls != "error"))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    by: tuple[str, ...] = ("g",) if rng.random() < 0.6 else ()
    table = with_outages(rng, int(rng.integers(0, 60)), int(rng.integers(1, 5)))
    case = Case(table, scheme, "t", by, AGGREGATES)
    expected = rows(case.whole())
    assert rows(case.whole(batch=5)) == expected
    # Cuts lie anywhere, also where there are no rows, before all and after all, and twice at one place.
    upto = np.sort(rng.integers(-3, 200, rng.integers(0, 9)))
    assert rows(case.chunks(upto.tolist(), buckets=int(rng.integers(1, 4)), batch=int(rng.integers(1, 30)))) == expected
    cuts = pa.table({"g": rng.integers(-1, 6, upto.size), "t": upto}).sort_by(
        [(name, "ascending") for name in (*by, "t")]
    )
    assert rows(case.ranges(cuts, batch=int(rng.integers(1, 30)))) == expected


@pytest.mark.parametrize("cores", CORES)
def test_cuts_rise_whatever_the_number_of_cores(cores: int) -> None:
    rng = np.random.default_rng(cores)
    sample = pa.table({"0": rng.integers(0, 5, 2_000), "1": rng.permutation(20_000)[:2_000]})
    cuts = quantiles(sample, 2 * cores).to_pylist()
    keys = [tuple(cut.values()) for cut in cuts]
    assert keys == sorted(set(keys))
    assert len(keys) == 2 * cores - 1


@pytest.mark.parametrize("cores", sweep(CORES, 1, 2, 3, 4, 5, 8, 16, 32))
def test_frames_do_not_depend_on_the_number_of_cores(cores: int) -> None:
    rng = np.random.default_rng(cores)
    table = pa.table({"g": rng.integers(0, 5, 600), "t": rng.permutation(6_000)[:600], "y": [1] * 600})
    scheme = (wr.Delta({"y": 1.0}), wr.Boundary({"y": 10}), wr.Gap(30))[cores % 3]
    case = Case(table, scheme, "t", ("g",), {"n": wr.count()})
    expected = case.whole()
    assert case.ranges(quantiles(table.select(["g", "t"]), 2 * cores)) == expected
    upto = quantiles(table.select(["t"]), cores)["t"].to_pylist()
    assert case.chunks(upto, buckets=1 + cores % 4) == expected


def both(table: pa.Table, scheme: wr.Scheme, upto: list[Any], **more: Any) -> list[list[dict[str, Any]]]:
    case = Case(table, scheme, "t", **more)
    cuts = pa.table({"t": pa.array(upto, table.schema.field("t").type)})
    return [frames.to_pylist() for frames in (case.whole(), case.chunks(upto), case.ranges(cuts))]


def test_a_chunk_of_rows_that_are_skipped_ends_no_frame() -> None:
    table = pa.table({"t": list(range(9)), "x": [5.0] * 3 + [None] * 3 + [5.0] * 3})
    whole, chunks, ranges = both(table, wr.Boundary({"x": 10.0}), [2, 5])
    assert whole == chunks == ranges
    assert [(row["start"], row["end"], row["count"]) for row in whole] == [(0, 8, 6)]


@pytest.mark.parametrize("scheme", [wr.Gap("1 day"), wr.Threshold("x >= 0"), wr.Threshold("x >= 0", min_count=6)])
def test_a_range_without_rows_ends_no_frame(scheme: wr.Scheme) -> None:
    days = pa.array([19_000] * 2 + [19_001] * 4, pa.date32())
    table = pa.table({"t": days, "x": [1, 2, 3, 4, 5, 6]})
    upto = pa.array([19_000, 19_001, 19_001], pa.date32()).to_pylist()
    whole, chunks, ranges = both(table, scheme, upto, agg={"m": wr.median("x")})
    assert whole == chunks == ranges
    assert [(row["count"], row["closed_at"], row["m"]) for row in whole] == [(6, None, 3.0)]


def test_a_first_row_that_opens_nothing_still_ends_what_was_open() -> None:
    table = pa.table({"t": [0, 1, 2, 3], "x": [1, 1, -1, 1]})
    whole, chunks, ranges = both(table, wr.Threshold("x >= 0"), [1])
    assert whole == chunks == ranges
    assert [(row["end"], row["closed_at"]) for row in whole] == [(1, 2), (3, None)]


LARGE = 2**62


@pytest.mark.parametrize(
    ("scheme", "x"),
    [(wr.Delta({"x": 1}), [0, 1, 2, 2, 9, 9]), (wr.Boundary({"x": 2.0}), [1, 1, 1, 1, 9, 9])],
    ids=["replayed", "stitched"],
)
def test_an_error_in_a_guess_is_raised_only_if_the_guess_stands(scheme: wr.Scheme, x: list[int]) -> None:
    # Framed without the first row, the second and the third are in one frame, whose sum would be too large.
    table = pa.table({"t": range(6), "x": x, "v": [-LARGE, LARGE, LARGE, 0, 0, 0]})
    more: dict[str, Any] = {"agg": {"v": wr.sum("v")}}
    whole, chunks, ranges = both(table, scheme, [0], **more)
    assert chunks == ranges == whole
    for at in (0, 4):
        closing = table.set_column(2, "v", pa.array([0, 0, LARGE, LARGE, 0, 0])).slice(at // 2)
        case = Case(closing, scheme, "t", **more)
        for frames in (lambda: case.chunks([at // 2]), lambda: case.ranges(pa.table({"t": [at // 2]}))):  # noqa: B023
            with pytest.raises(DataError, match="exceeds 64 bits in 1 frame"):
                frames()
