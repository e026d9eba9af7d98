"""Windows by their definition: which there are, what is in them, and what their aggregates are."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from streams import FEWER, Span
from windrow.aggregates.keeper import Keeper
from windrow.errors import SpecError
from windrow.frames.clock import Clock
from windrow.windows import DistinctTimes, Landmark, Rows, Sliding, Tumbling
from windrow.windows.panes import Panes, combined, windows_over
from windrow.windows.specs import Shape, pane_of

INTEGERS = Clock.of(pa.int64(), "on")
AGGREGATES = (
    wr.count(), wr.sum("v"), wr.first("v"), wr.last("v"), wr.min("v"), wr.max("v"), wr.mean("v"), wr.variance("v"),
    wr.median("v"), Span("v"),
)  # fmt: skip


class Tuple(NamedTuple):
    group: int
    on: int
    v: int | None


class Found(NamedTuple):
    """A window: its group, its start (none for a landmark), its end, whether it is complete, its values."""

    group: int
    start: int | None
    end: int
    complete: bool
    values: tuple[int | None, ...]


TUPLES = st.lists(
    st.builds(Tuple, st.integers(0, 2), st.integers(-20, 40), st.none() | st.integers(-5, 5)), max_size=25
).map(lambda rows: sorted(rows, key=lambda u: (u.group, u.on)))


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    emit = draw(st.integers(1, 3))
    every = emit * draw(st.integers(1, 3))
    if draw(st.integers(0, 3)) == 0:
        return Shape("time", None, every)
    return Shape("time", every + draw(st.integers(0, 9)), every, draw(st.sampled_from([None, emit])))


def by_definition(tuples: list[Tuple], shape: Shape, until: int | None, *, empty: bool) -> list[Found]:
    """All windows, found by looking at every instant at which one can end."""
    found = []
    for group in sorted({u.group for u in tuples}):
        mine = [u for u in tuples if u.group == group]
        low, high = mine[0].on, mine[-1].on
        past = high + 1 if until is None else until
        emit = shape.emit or shape.every
        reported = []
        for end in range((low - 50) // emit * emit, high + 60, emit):
            whole = -(-end // shape.every) * shape.every
            start = None if shape.length is None else whole - shape.length
            inside = [u for u in mine if (start is None or start <= u.on) and u.on < end]
            complete = end == whole and end <= past
            reported.append(Found(group, start, end, complete, tuple(u.v for u in inside)))
        if shape.length is None:
            reported = [w for w in reported if w.values and w.end <= high // shape.every * shape.every + shape.every]
        full = [i for i, w in enumerate(reported) if w.values]
        found += reported[full[0] : full[-1] + 1] if empty else [w for w in reported if w.values]
    return found


@pytest.mark.parametrize("empty", [False, True])
@FEWER
@given(TUPLES, shapes(), st.none() | st.integers(-20, 60))
def test_windows_have_the_tuples_of_the_definition(
    empty: bool, tuples: list[Tuple], shape: Shape, until: int | None
) -> None:
    pane = pane_of([shape])
    if until is not None:
        until = until // pane * pane
    keys = sorted({(u.group, u.on // pane) for u in tuples})
    panes = Panes(*(np.array(column, np.int64) for column in (zip(*keys, strict=True) if keys else ([], []))))
    slots = np.array([[keys.index((u.group, u.on // pane))] for u in tuples], np.int64).reshape(-1, 1)
    ranges = windows_over(panes, shape, pane, None if until is None else until // pane, empty=empty)
    # The stream ends with a group's last pane, which may be longer than what its last tuple needs.
    last = {g: (p + 1) * pane for g, p in keys}
    wanted = []
    for window in by_definition(tuples, shape, until, empty=empty):
        complete = window.complete
        if until is None and shape.emit is None:
            complete = window.end <= last[window.group]
        elif until is None:
            complete = window.end % shape.every == 0 and window.end <= last[window.group]
        wanted.append(window._replace(complete=complete))
    assert ranges.group.tolist() == [w.group for w in wanted]
    assert (pane * ranges.end).tolist() == [w.end for w in wanted]
    assert ranges.complete.tolist() == [w.complete for w in wanted]
    if shape.length is not None:
        assert (pane * ranges.start).tolist() == [w.start for w in wanted]
    for a, b in pairwise(range(len(wanted))):
        if ranges.group[a] == ranges.group[b]:
            assert ranges.first[a] <= ranges.first[b]
            assert ranges.last[a] <= ranges.last[b]
    values = pa.array([u.v for u in tuples], pa.int64())
    for aggregate in AGGREGATES:
        keeper = Keeper(aggregate, pa.int64())
        states = keeper.empty(len(keys))
        read = pa.array(np.zeros(len(tuples), np.int64)) if not aggregate.columns else values
        keeper.accumulate(states, slots, keeper.read(read))
        found = keeper.finish(combined(keeper, states, ranges.first, ranges.last)).to_pylist()
        assert close(found, [aggregated(aggregate, w.values) for w in wanted]), aggregate


def aggregated(aggregate: wr.AggregateFunction, values: tuple[int | None, ...]) -> Any:
    keeper = Keeper(aggregate, pa.int64())
    states = keeper.empty(1)
    column = pa.array(list(values) if aggregate.columns else [0] * len(values), pa.int64())
    keeper.accumulate(states, np.zeros((len(values), 1), np.int64), keeper.read(column))
    return keeper.finish(states)[0].as_py()


def close(found: list[Any], wanted: list[Any]) -> bool:
    rounded = [[round(x, 9) if isinstance(x, float) else x for x in side] for side in (found, wanted)]
    return rounded[0] == rounded[1]


def test_windows_are_read_on_a_clock() -> None:
    times = Clock.of(pa.timestamp("us", "UTC"), "at")
    assert Sliding("1 hour", "1 minute", emit="10 seconds").shape(times) == Shape(
        "time", 3_600_000_000, 60_000_000, 10_000_000
    )
    assert Tumbling("1 day").shape(Clock.of(pa.date32(), "day")) == Shape("time", 1, 1)
    assert Landmark(5).shape(INTEGERS) == Shape("time", None, 5)
    assert Rows(100, every=10).shape(INTEGERS) == Shape("rows", 100, 10)
    assert DistinctTimes(3).shape(INTEGERS) == Shape("times", 3, 1)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Sliding(5, 10).shape(INTEGERS), "every=10 is longer than length=5"),
        (lambda: Sliding(10, 4, emit=3).shape(INTEGERS), "emit=3 does not divide every=4"),
        (lambda: Sliding(0, 0).shape(INTEGERS), "length=0 must be longer than nothing"),
        (lambda: Sliding(None, 1), "length: give a duration"),  # type: ignore[arg-type]
        (lambda: Sliding("1 minute", "5 seconds").shape(INTEGERS), "`on` is a number"),
        (lambda: Sliding(2.5, 1).shape(INTEGERS), r"length=2.5: an integer has whole steps"),
        (lambda: Tumbling("36 hours").shape(Clock.of(pa.date32(), "day")), "a date has whole days"),
        (lambda: Rows(0), "n: 0 is no number of tuples"),
        (lambda: Rows(3, every=4), "every=4 is more than n=3"),
        (lambda: DistinctTimes(True), "n: True is no number"),
    ],
)
def test_windows_that_mean_nothing_are_refused(make: Any, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        make()
