"""Rings of partials take in a batch as a whole: answers and windows are those of one element after the other.

For two stacks and for panes of several elements they are the same bit by bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from streams import Span
from sweeps import crossed, sweep
from synopsis_contract import assert_exact, recomputed
from windrow.errors import DataError
from windrow.synopses import DABA, Panes, Retention, TwoStacks
from windrow.synopses.exact.base import ExactSynopsis
from windrow.synopses.exact.bulk import TILE

R = 12
AGGREGATES = [wr.max("x"), wr.variance("x"), wr.first("x"), wr.sum("x"), Span("x")]
"""The merges of `first` do not commute, and the last is a user's own."""
BATCHES = {
    "of one element": [1] * (3 * R),
    "shorter than the window": [5] * 20,
    "up to a flip": [R, R, R, R],
    "that end just before and just behind flips": [R - 1, 1, R, 1, R - 1, R + 1, R - 1],
    "that are odd numbers of windows": [R, 3 * R, 5 * R, R],
    "that are even numbers of windows": [2 * R, 4 * R, 2 * R],
    "much longer": [50 * R + 7, 3, 40 * R + 5],
    "with empty ones": [0, 7, 0, 0, 2 * R + 1, 0],
}
each_aggregate = pytest.mark.parametrize("aggregate", AGGREGATES, ids=repr)


def one_by_one(synopsis: Any, on: Any, x: Any, every: int) -> Any:
    """What the loop over single elements answers."""
    return ExactSynopsis._roll(synopsis, *synopsis._elements(on, x), every)


def window_of(synopsis: Any) -> list[Any]:
    """What is in a window, wherever in its ring."""
    live = synopsis.live(synopsis.window)
    return [live.cursors, live.numbers, live.partials[: live.cursors[1]]]


def assert_as_one_by_one(aggregate: Any, length: int, x: Any, sizes: Sequence[int], every: int) -> None:
    """Rolls over batches of these sizes do what the loop over single elements does, and leave what it leaves."""
    assert_alike(partial(TwoStacks, aggregate, Retention(length)), x, sizes, every)


def assert_alike(make: Callable[[], Any], x: Any, sizes: Sequence[int], every: int) -> None:
    whole, single = make(), make()
    for batch in np.split(x, np.cumsum(sizes)):
        on = np.arange(batch.size)
        found, wanted = whole.roll(on, batch, every), one_by_one(single, on, batch, every)
        np.testing.assert_array_equal(found, wanted)
        for a, b in zip(window_of(whole), window_of(single), strict=True):
            np.testing.assert_array_equal(a, b)
        assert whole.query() == single.query() or math.isnan(single.query())


@each_aggregate
@pytest.mark.parametrize("sizes", BATCHES.values(), ids=BATCHES)
@pytest.mark.parametrize("every", [1, 3, R, R + 5])
def test_batches(aggregate: Any, sizes: list[int], every: int) -> None:
    x = np.random.default_rng(3).normal(size=sum(sizes))
    assert_as_one_by_one(aggregate, R, x, sizes, every)


@each_aggregate
@settings(max_examples=40)
@given(st.integers(0, 2**32), st.integers(1, 40), st.lists(st.integers(0, 300), max_size=6), st.integers(1, 50))
def test_any_batches(aggregate: Any, seed: int, length: int, sizes: list[int], every: int) -> None:
    x = np.random.default_rng(seed).normal(size=sum(sizes))
    assert_as_one_by_one(aggregate, length, x, sizes, every)


@each_aggregate
@pytest.mark.parametrize("length", [1, 2, TILE - 1, TILE, TILE + 1, TILE + 2, 3 * TILE])
def test_windows_about_as_long_as_tiles(aggregate: Any, length: int) -> None:
    x = np.random.default_rng(5).normal(size=9 * length + 5)
    assert_as_one_by_one(aggregate, length, x, [length // 2, 5 * length + 1], 1)


@each_aggregate
@settings(max_examples=20)
@given(st.integers(0, 2**32), st.lists(st.integers(0, 100), max_size=4), st.integers(1, 5))
def test_values_that_are_no_numbers(aggregate: Any, seed: int, sizes: list[int], every: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.choice([1.0, -2.5, math.nan, math.inf, -math.inf, 1e308], sum(sizes), p=[0.5, 0.38, *[0.03] * 4])
    assert_as_one_by_one(aggregate, R, x, sizes, every)


def test_values_that_are_no_numbers_leave_with_their_elements() -> None:
    x = np.array([math.nan, math.inf, *range(200)], np.float64)
    for aggregate in (wr.sum("x"), wr.variance("x")):
        found = TwoStacks(aggregate, Retention(R)).roll(np.arange(x.size), x, 1)
        assert np.isfinite(found[R + 1 :]).all()


@pytest.mark.parametrize("sizes", BATCHES.values(), ids=BATCHES)
def test_updates_and_rolls_in_turn(sizes: list[int]) -> None:
    x = np.random.default_rng(8).integers(-20, 20, sum(sizes)).astype(np.float64)
    synopsis, come = TwoStacks(wr.sum("x"), Retention(R)), 0
    for i, size in enumerate(sizes):
        batch, on = x[come : come + size], np.arange(come, come + size)
        if i % 2:
            moved = TwoStacks(wr.sum("x"), Retention(R))
            moved.load(synopsis.save())
            synopsis = moved
            synopsis.update(on, batch)
        else:
            wanted = [x[max(0, k + 1 - R) : k + 1].sum() for k in on]
            assert synopsis.roll(on, batch, 1).tolist() == wanted
        come += size
        if come:
            assert synopsis.query() == x[max(0, come - R) : come].sum()


@pytest.mark.parametrize("every", [1, 7])
def test_integers_stay_integers_and_are_an_error_past_64_bits(every: int) -> None:
    x, on = np.random.default_rng(2).integers(-9, 9, 500) * 2**53 + 1, np.arange(500)
    for sizes in ([500], [3, 30, 467]):
        synopsis = TwoStacks(wr.sum("x"), Retention(R), integral=True)
        batches = np.split(x, np.cumsum(sizes)[:-1]) if every == 1 else [x]
        found = np.concatenate([synopsis.roll(np.arange(batch.size), batch, every) for batch in batches])
        assert found.dtype == np.int64
        assert found.tolist() == recomputed(synopsis.aggregate, on, x, synopsis.retention, every)
    x[300:304] = 2**62
    with pytest.raises(DataError, match="exceeds 64 bits"):
        TwoStacks(wr.sum("x"), Retention(R), integral=True).roll(on, x, every)


@pytest.mark.parametrize("cut", [0, 1, 5, 6, 10, 300])
def test_an_outlier_that_has_left_leaves_no_trace(cut: int) -> None:
    x = np.array([0.5, 1.5] * 20 + [9.54e8] + [0.5, 1.5] * 500)
    synopsis = TwoStacks(wr.variance("x"), Retention(5))
    found = np.concatenate([synopsis.roll(np.arange(batch.size), batch, 1) for batch in np.split(x, [cut])])
    np.testing.assert_allclose(found[46:], 0.3, rtol=1e-12)


def test_values_that_are_all_equal_have_no_variance() -> None:
    x = np.full(5000, 0.1)
    assert (TwoStacks(wr.variance("x"), Retention(700)).roll(np.arange(x.size), x, 1)[1:] == 0.0).all()


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.sampled_from([0.0, 1e3, 1e6]))
def test_variances_far_from_zero_are_as_good_as_recomputed_ones(seed: int, far: float) -> None:
    x = np.random.default_rng(seed).normal(far, 1.0, 3000)
    found = TwoStacks(wr.variance("x"), Retention(100)).roll(np.arange(x.size), x, 1)
    wanted = np.lib.stride_tricks.sliding_window_view(x - far, 100).var(axis=1, ddof=1)
    np.testing.assert_allclose(found[99:], wanted, rtol=1e-9)


def test_answers_of_too_few_elements_are_none() -> None:
    make = partial(TwoStacks, wr.variance("x"))
    for length, every in ((1, 1), (1, 3), (2, 1), (5, 1), (5, 2)):
        assert_exact(partial(make, Retention(length)), np.arange(20), np.arange(20.0) ** 2, every, tolerance=1e-12)


def test_a_batch_makes_the_ring_no_larger_than_the_window() -> None:
    synopsis = TwoStacks(wr.max("x"), Retention(1000))
    synopsis.update(np.arange(100_000), np.arange(100_000.0))
    assert len(synopsis.window.partials) == 1024


each_aggregate_of_panes = pytest.mark.parametrize("aggregate", sweep(AGGREGATES, wr.first("x"), wr.sum("x")), ids=repr)


@each_aggregate_of_panes
@pytest.mark.parametrize("sizes", BATCHES.values(), ids=BATCHES)
@pytest.mark.parametrize(("pane", "every"), [(2, 2), (2, 6), (4, 4), (12, 12), (3, 1), (4, 6)])
def test_panes(aggregate: Any, sizes: list[int], pane: int, every: int) -> None:
    """Also where answers are due within panes, which is not done as a whole."""
    x = np.random.default_rng(3).normal(size=sum(sizes))
    assert_alike(partial(Panes, aggregate, Retention(R), every=pane), x, sizes, every)


@each_aggregate_of_panes
@settings(max_examples=40)
@given(st.integers(0, 2**32), st.integers(1, 9), st.integers(2, 9), st.lists(st.integers(0, 300), max_size=6))
def test_any_batches_of_panes(aggregate: Any, seed: int, panes: int, pane: int, sizes: list[int]) -> None:
    x = np.random.default_rng(seed).normal(size=sum(sizes))
    assert_alike(partial(Panes, aggregate, Retention(panes * pane), every=pane), x, sizes, 2 * pane)


KINDS = {
    "two stacks": TwoStacks,
    "DABA": DABA,
    "panes of one": partial(Panes, every=1),
    "panes of three": partial(Panes, every=3),
}
each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.mark.parametrize(("kind", "aggregate"), crossed(KINDS, AGGREGATES))
@settings(max_examples=40)
@given(
    st.integers(0, 2**32), st.integers(1, 12), st.lists(st.tuples(st.integers(0, 90), st.booleans()), max_size=9),
    st.sampled_from([3, 6, 15]),
)  # fmt: skip
def test_batches_and_single_elements_in_turn(
    kind: str, aggregate: Any, seed: int, thirds: int, turns: list[tuple[int, bool]], every: int
) -> None:
    """Single values continue from whatever batches leave behind, also from bytes, and the other way round."""
    length = 3 * thirds
    synopsis, come = KINDS[kind](aggregate, Retention(length)), 0
    x = np.random.default_rng(seed).integers(-50, 50, 3 * sum(n for n, _ in turns)).astype(np.float64)
    for size, whole in turns:
        batch = x[come : come + 3 * size]
        on = np.arange(batch.size)
        found = synopsis.roll(on, batch, every) if whole else one_by_one(synopsis, on, batch, every)
        ends = come + np.arange(every, batch.size + 1, every)
        windows = [x[max(0, end - length) : end] for end in ends]
        wanted = [_recomputed(aggregate, window) for window in windows]
        np.testing.assert_allclose(found, np.array(wanted, np.float64), rtol=1e-12, atol=1e-12)
        come += batch.size
        moved = KINDS[kind](aggregate, Retention(length))
        moved.load(synopsis.save())
        synopsis = moved


def _recomputed(aggregate: Any, window: Any) -> float:
    (found,) = recomputed(aggregate, np.arange(window.size), window, Retention(window.size), window.size)
    return math.nan if found is None else found


@each_kind
def test_updates_take_in_batches_too(kind: str) -> None:
    rng = np.random.default_rng(6)
    x = rng.integers(-50, 50, 20_000).astype(np.float64)
    synopsis, come = KINDS[kind](wr.sum("x"), Retention(99)), 0
    while come < 19_000:
        n = 3 * int(rng.integers(0, 300))
        synopsis.update(np.arange(come, come + n), x[come : come + n])
        come += n
        assert synopsis.query() == x[max(0, come - 99) : come].sum()


@pytest.mark.parametrize("before", [0, 1, 17, 63, 64, 65, 100])
def test_daba_is_constant_time_again_after_a_batch(before: int) -> None:
    """No element costs more than a few merges: the pointers are where so much work is done as must be."""
    synopsis, on = DABA(wr.sum("x"), Retention(64)), np.arange(64 + before)
    synopsis.roll(on, np.ones(on.size), 1)
    for _ in range(300):
        head, tail, left, right, accumulated, back = synopsis.window.cursors.tolist()
        assert head <= left <= right <= accumulated <= back <= tail
        assert back - left == (back - head) - (tail - back) - 1
        assert right - left == accumulated - right
        synopsis.update(np.arange(1), np.ones(1))
        assert synopsis.query() == 64
