"""Exact synopses answer what recomputation answers, for any aggregate, retention, cut and order."""

from __future__ import annotations

import bisect
import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from streams import Span
from sweeps import crossed, long
from synopsis_contract import (
    assert_exact,
    assert_memory_is_bounded,
    assert_pieces_do_not_matter,
    assert_rolls_as_it_updates,
    assert_same,
    assert_saving_changes_nothing,
    recomputed,
    window_at,
    window_until,
)
from windrow.errors import DataError, SourceError, SpecError, TypeMismatchError, UnsupportedError
from windrow.synopses import (
    DABA,
    SYNOPSES,
    Accuracy,
    ExpirationList,
    FiBA,
    Ordered,
    Panes,
    Recomputation,
    Retention,
    Synopsis,
    TwoStacks,
)

ALGEBRAIC = [Recomputation, ExpirationList, Panes, TwoStacks, DABA, FiBA]
AGGREGATES = [wr.sum("x"), wr.variance("x"), wr.first("x")]
"""One whose state is a sum, one that loses digits when it is subtracted, and one whose merges do not commute."""
CLOSE = 1e-9

each_synopsis = pytest.mark.parametrize("kind", ALGEBRAIC, ids=lambda kind: kind.__name__)
each_pair = pytest.mark.parametrize(
    ("kind", "aggregate"), crossed(ALGEBRAIC, AGGREGATES), ids=lambda value: getattr(value, "__name__", repr(value))
)
"""The kernels of each pair are compiled."""
RETENTIONS = st.builds(Retention, st.integers(1, 70), st.sampled_from(["count", "time"]))
CUTS = st.lists(st.integers(0, 150), max_size=5)
SIZES = st.integers(0, 150) | st.integers(0, 600)


@st.composite
def streams(draw: Any) -> tuple[Any, Any]:
    """Elements in order, with ties and gaps; values are a few distinct integers, so that sums are exact."""
    n, seed = draw(SIZES), draw(st.integers(0, 2**32))
    rng = np.random.default_rng(seed)
    steps = rng.choice([0, 1, 1, 2, 3, 40], n)
    return np.cumsum(steps), rng.integers(-20, 20, n).astype(np.float64)


OUTLIER = np.array([9.54e8] + [0.5, 1.5] * 10)
THESIS = np.array([8.0, 10, 6, 4, 7, 11, 2, 1, 3, 12, 5, 9])


def test_every_exact_synopsis_is_listed() -> None:
    assert set(SYNOPSES) >= {*ALGEBRAIC, Ordered}
    assert all(kind.exact and kind.deterministic and kind.source for kind in (*ALGEBRAIC, Ordered))


@each_pair
@settings(max_examples=15)
@given(streams(), RETENTIONS, CUTS, st.integers(1, 9))
def test_answers_are_those_of_recomputation(
    kind: Any, aggregate: Any, stream: Any, retention: Retention, cuts: list[int], every: int
) -> None:
    make = partial(kind, aggregate, retention)
    assert_exact(make, *stream, every, tolerance=CLOSE)
    assert_pieces_do_not_matter(make, *stream, cuts, tolerance=CLOSE)
    assert_saving_changes_nothing(make, *stream, cuts)
    assert_rolls_as_it_updates(make, *stream, every, tolerance=CLOSE)


@pytest.mark.parametrize(
    ("kind", "aggregate"),
    [
        *(long(kind, wr.sum("x")) if kind is FiBA else (kind, wr.sum("x")) for kind in ALGEBRAIC),
        *((kind, wr.last("x")) if kind is TwoStacks else long(kind, wr.last("x")) for kind in ALGEBRAIC),
    ],
    ids=lambda value: getattr(value, "__name__", repr(value)),
)
@settings(max_examples=20)
@given(streams(), RETENTIONS)
def test_integers_stay_integers(kind: Any, aggregate: Any, stream: Any, retention: Retention) -> None:
    on, x = stream[0], stream[1].astype(np.int64) * 2**40 + 1
    found = kind(aggregate, retention, integral=True).roll(on, x, 1)
    assert found.dtype == np.int64
    assert found.tolist() == recomputed(aggregate, on, x, retention)


@each_synopsis
def test_a_sum_past_64_bits_is_an_error(kind: Any) -> None:
    synopsis = kind(wr.sum("x"), Retention(3), integral=True)
    synopsis.update(np.arange(2), np.array([2**62, 2**62]))
    with pytest.raises(DataError, match="exceeds 64 bits"):
        synopsis.query()


ODD = [0.0, -0.0, 1.0, -2.5, 5e-324, -5e-324, 2.2e-308, math.nan, math.inf, -math.inf]
HUGE = [1.7e308, -1.7e308, 1e300]


@each_pair
@settings(max_examples=20)
@given(st.data(), RETENTIONS, st.integers(1, 3))
def test_floats_of_any_kind_are_answered_as_by_recomputation(
    kind: Any, aggregate: Any, data: Any, retention: Retention, every: int
) -> None:
    values = ODD + HUGE if isinstance(aggregate, wr.first) else ODD
    stream = data.draw(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(values)), max_size=60))
    on, x = np.cumsum([gap for gap, _ in stream], dtype=np.int64), np.array([value for _, value in stream], float)
    assert_exact(partial(kind, aggregate, retention), on, x, every, tolerance=CLOSE)


LEAST, MOST = -(2**63), 2**63 - 1
WHOLE = st.sampled_from([LEAST, MOST, LEAST + 1, 2**62, -(2**62), 5, -10, 0]) | st.integers(LEAST, MOST)


@each_synopsis
@given(st.lists(st.tuples(st.integers(0, 2), WHOLE), min_size=1, max_size=25), RETENTIONS)
def test_sums_of_integers_are_exact_wherever_they_fit(kind: Any, stream: Any, retention: Retention) -> None:
    on, x = np.cumsum([gap for gap, _ in stream]), np.array([value for _, value in stream], np.int64)
    if retention.kind not in kind.retentions:
        return
    synopsis = kind(wr.sum("x"), retention, integral=True)
    for i in range(x.size):
        synopsis.update(on[i : i + 1], x[i : i + 1])
        total = sum(window_at(on, x, i, retention).tolist())
        if LEAST <= total <= MOST:
            assert synopsis.query() == total
        else:
            with pytest.raises(DataError, match="exceeds 64 bits"):
                synopsis.query()


@pytest.mark.parametrize("kind", [TwoStacks, ExpirationList], ids=lambda kind: kind.__name__)
@settings(max_examples=20)
@given(streams(), RETENTIONS)
def test_users_aggregates_are_kept_as_well(kind: Any, stream: Any, retention: Retention) -> None:
    make, (on, x) = partial(kind, Span("x"), retention), stream
    assert_exact(make, on, x)
    moments = np.arange(0, on[-1] + 80, 9) if x.size else np.arange(3)
    windows = [window_until(on, x, moment, retention) for moment in moments]
    assert make().answers(on, x, moments).to_pylist() == [Span("x").compute(window.tolist()) for window in windows]


@pytest.mark.parametrize("kind", [ExpirationList, Panes], ids=lambda kind: kind.__name__)
def test_examples_4_3_1_and_4_4_1_of_the_thesis(kind: Any) -> None:
    synopsis = kind(wr.mean("x"), Retention(8), **({"every": 4} if kind is Panes else {}))
    for begin, wanted in ((0, 28 / 4), (4, 49 / 8), (8, 50 / 8)):
        synopsis.update(np.arange(begin, begin + 4), THESIS[begin : begin + 4])
        assert synopsis.query() == wanted


def test_the_second_pane_of_example_4_4_1_has_the_sum_of_its_batch() -> None:
    synopsis = Panes(wr.mean("x"), Retention(8), every=4)
    synopsis.update(np.arange(9), THESIS[:9])
    assert synopsis.window.partials[1].tolist() == [4.0, 21.0]
    assert synopsis.held == 4 + 1


@each_synopsis
def test_an_outlier_that_has_left_leaves_no_trace(kind: Any) -> None:
    on = np.arange(OUTLIER.size)
    variances = kind(wr.variance("x"), Retention(5)).roll(on, OUTLIER, 1)
    np.testing.assert_allclose(variances[5:], 0.3, rtol=1e-12)


def test_a_sum_forgets_what_was_much_larger_and_what_was_no_number() -> None:
    x = np.array([1e17, 1.25, math.inf, math.nan, 2.0, -math.inf, 3.5, 1e308, 1e308, -1e308, 0.5, 0.25, 1.0])
    synopsis = ExpirationList(wr.sum("x"), Retention(2))
    found = synopsis.roll(np.arange(x.size), x, 1)
    np.testing.assert_array_equal(found[[1, 10, 11, 12]], [1e17, -1e308, 0.75, 1.25])
    assert math.isinf(found[2])
    assert math.isnan(found[3])
    assert math.isinf(found[8])


@given(st.integers(0, 2**32), st.sampled_from([1e6, 1e9, 1e12]))
@settings(max_examples=25)
def test_sums_of_floats_do_not_drift(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=2000) * np.where(rng.random(2000) < 0.02, scale, 1.0)
    found = ExpirationList(wr.sum("x"), Retention(50)).roll(np.arange(2000), x, 1)
    wanted = [math.fsum(x[max(0, i - 49) : i + 1]) for i in range(2000)]
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_which_states_are_sums_is_known_for_the_built_in_aggregates() -> None:
    assert all(aggregate.additive for aggregate in (wr.count(), wr.sum("x"), wr.mean("x")))
    assert not any(aggregate.additive for aggregate in (wr.max("x"), wr.variance("x"), wr.first("x")))


@settings(max_examples=20)
@given(streams(), st.integers(1, 60), st.integers(1, 60), st.sampled_from(["count", "time"]))
def test_panes_leave_as_a_whole_and_are_exact_where_they_end(stream: Any, length: int, every: int, kind: Any) -> None:
    on, x = stream[0] + 1, stream[1]
    retention, pane = Retention(length, kind), math.gcd(length, every)
    moments = on if kind == "time" else np.arange(1, x.size + 1)
    found = Panes(wr.sum("x"), retention, every=every).roll(on, x, 1)
    begins = (moments - 1) // pane * pane
    for i in range(x.size):
        kept = x[: i + 1][begins[: i + 1] >= moments[i] - length]
        assert found[i] == kept.sum()
        if moments[i] % pane == 0:
            assert found[i] == window_at(on, x, i, retention).sum()


@each_synopsis
def test_memory_grows_with_the_window_and_not_with_the_stream(kind: Any) -> None:
    x = np.arange(30_000.0)
    assert_memory_is_bounded(partial(kind, wr.sum("x"), Retention(1000)), np.arange(x.size), x, at_most=100_000)
    assert_memory_is_bounded(partial(kind, wr.sum("x"), Retention(1000, "time")), np.arange(x.size), x, at_most=100_000)


def test_panes_keep_a_state_for_each_pane_only() -> None:
    synopsis = Panes(wr.sum("x"), Retention(100_000), every=10_000)
    synopsis.update(np.arange(300_000), np.ones(300_000))
    assert synopsis.query() == 100_000
    assert synopsis.nbytes < 2000


@settings(max_examples=15)
@given(st.integers(0, 2**32), st.integers(0, 900), RETENTIONS, st.sampled_from([1, 10, 1000]))
@pytest.mark.parametrize("aggregate", AGGREGATES, ids=repr)
def test_elements_may_come_in_any_order(aggregate: Any, seed: int, n: int, retention: Retention, delay: int) -> None:
    rng = np.random.default_rng(seed)
    on = np.arange(n) + rng.integers(0, delay + 1, n)
    x = rng.integers(-20, 20, n).astype(np.float64)
    synopsis = FiBA(aggregate, retention)
    held: list[tuple[int, int, float]] = []
    late = 0
    for i in range(n):
        synopsis.update(on[i : i + 1], x[i : i + 1])
        bisect.insort(held, (int(on[i]), i, float(x[i])))
        kept = [e for e in held if e[0] > held[-1][0] - retention.length]
        kept = kept if retention.kind == "time" else held[-retention.length :]
        late += (int(on[i]), i, float(x[i])) not in kept
        held = kept
        if i % 40 == 0 or i == n - 1:
            assert_same(synopsis.query(), aggregate.compute([value for _, _, value in held]), CLOSE)
    assert synopsis.late == late


QUANTILES = st.sampled_from([0.0, 0.1, 0.5, 0.99, 1.0])


@settings(max_examples=30)
@given(streams(), RETENTIONS, QUANTILES, CUTS, st.integers(1, 9))
def test_quantiles_are_those_of_recomputation(
    stream: Any, retention: Retention, q: float, cuts: list[int], every: int
) -> None:
    make = partial(Ordered, wr.quantile("x", q), retention)
    assert_exact(make, *stream, every)
    assert_pieces_do_not_matter(make, *stream, cuts)
    assert_saving_changes_nothing(make, *stream, cuts)
    assert_rolls_as_it_updates(make, *stream, every)


@settings(max_examples=20)
@given(streams(), RETENTIONS, st.integers(1, 9))
def test_the_mode_is_that_of_recomputation(stream: Any, retention: Retention, every: int) -> None:
    make = partial(Ordered, wr.mode("x"), retention)
    assert_exact(make, *stream, every)
    assert_rolls_as_it_updates(make, *stream, every)


@pytest.mark.parametrize("shape", ["rising", "falling", "two clusters", "equal"])
def test_medians_of_difficult_shapes(shape: str) -> None:
    n, i = 40_000, np.arange(40_000)
    far = np.where(i % 2 == 0, i, -i)
    x = {"rising": i, "falling": -i, "two clusters": far, "equal": i * 0}[shape].astype(np.float64)
    found = Ordered(wr.median("x"), Retention(3000)).roll(i, x, 1)
    for at in (0, 1, 2999, 3000, 20_000, n - 1):
        assert found[at] == np.sort(x[max(0, at - 2999) : at + 1])[(min(at + 1, 3000) + 1) // 2 - 1]


def test_shelves_and_ranks_agree_in_a_large_window() -> None:
    rng = np.random.default_rng(5)
    x, on = rng.normal(size=60_000).round(2), np.arange(60_000)
    ranks, shelves = (Ordered(wr.median("x"), Retention(20_000)) for _ in range(2))
    wanted = ranks.roll(on, x, 1)
    shelves.update(on[:30_000], x[:30_000])
    found = np.concatenate([shelves.roll(on[i : i + 500], x[i : i + 500], 1) for i in range(30_000, 60_000, 500)])
    np.testing.assert_array_equal(found, wanted[30_000:])
    assert ranks.query() == shelves.query() == wanted[-1]
    assert ranks.rank(0.5) == shelves.rank(0.5) == int((x[-20_000:] <= 0.5).sum())


def test_nan_is_greater_than_any_other_value_and_zeros_are_one() -> None:
    window = Ordered(wr.quantile("x", 1.0), Retention(4))
    window.update(np.arange(3), np.array([math.inf, -0.0, math.nan]))
    assert math.isnan(window.query())
    assert window.quantile(0.5) == math.inf
    assert window.rank(0.0) == 1


def test_ordered_keeps_integers_of_64_bits() -> None:
    window = Ordered(wr.median("x"), Retention(3), integral=True)
    assert window.roll(np.arange(3), np.array([2**62 + 1, 2**62, 5]), 1).tolist() == [2**62 + 1, 2**62, 2**62]


def test_memory_of_ordered_is_bounded() -> None:
    x = np.random.default_rng(0).normal(size=30_000)
    make = partial(Ordered, wr.median("x"), Retention(1000))
    assert_memory_is_bounded(make, np.arange(x.size), x, at_most=200_000)


def test_an_empty_window_has_no_answer() -> None:
    for kind in ALGEBRAIC:
        assert kind(wr.sum("x"), Retention(3)).query() is None
    assert Ordered(wr.median("x"), Retention(3)).query() is None
    assert TwoStacks(wr.variance("x"), Retention(3)).roll(np.arange(1), np.ones(1), 1).tolist() == pytest.approx(
        [math.nan], nan_ok=True
    )


def refusal(error: type[Exception], match: str) -> Any:
    return pytest.raises(error, match=match)


def test_what_cannot_be_is_refused_in_plain_words() -> None:
    window = TwoStacks(wr.sum("x"), Retention(3, "time"))
    window.update(np.array([5]), np.ones(1))
    with refusal(DataError, "values must arrive in order; sort them by `on`, or use FiBA"):
        window.update(np.array([4]), np.ones(1))
    with refusal(DataError, "expected flat arrays of equal length"):
        window.update(np.arange(2), np.ones(3))
    with refusal(SpecError, r"every: expected an integer from 1 to 2\*\*63 - 1, got 0"):
        window.roll(np.arange(2), np.ones(2), 0)
    with refusal(SpecError, r"every: expected an integer from 1 to 2\*\*63 - 1, got -1"):
        Panes(wr.sum("x"), Retention(3), every=-1)
    with refusal(TypeMismatchError, "omit integral=True"):
        TwoStacks(wr.sum("x"), Retention(3), integral=True).update(np.arange(1), np.ones(1))
    with refusal(TypeMismatchError, "x: values of type <U1 cannot be stored as float64; pass numbers"):
        Panes(wr.sum("x"), Retention(3)).update(np.arange(2), np.array(["a", "b"]))
    with refusal(UnsupportedError, "reads 2 columns"):
        DABA(wr.covariance("x", "y"), Retention(3))
    with refusal(UnsupportedError, "has the form 'values'"):
        DABA(wr.median("x"), Retention(3))
    with refusal(UnsupportedError, "it answers quantiles and the mode only"):
        Ordered(wr.sum("x"), Retention(3))
    with refusal(SpecError, "phi: expected a number from 0 to 1, got 2"):
        Ordered(wr.sum("x"), Retention(3), phi=2)


def test_a_saved_state_must_be_of_the_same_synopsis() -> None:
    saved = TwoStacks(wr.sum("x"), Retention(3)).save()
    other: list[tuple[Synopsis, str]] = [
        (DABA(wr.sum("x"), Retention(3)), "of kind 'synopsis TwoStacks', expected 'synopsis DABA'"),
        (TwoStacks(wr.sum("x"), Retention(4)), "saved with length=3, but this synopsis has length=4"),
        (TwoStacks(wr.sum("y"), Retention(3)), "aggregate"),
        (TwoStacks(wr.sum("x"), Retention(3), integral=True), "integral=False, but this synopsis has integral=True"),
    ]
    for synopsis, message in other:
        with refusal(SourceError, message):
            synopsis.load(saved)
    with refusal(SourceError, "the saved state is damaged"):
        TwoStacks(wr.sum("x"), Retention(3)).load(b"nonsense")


@pytest.mark.parametrize("kind", ["count", "time"])
@pytest.mark.parametrize("aggregate", [wr.median("x"), wr.mode("x")], ids=["median", "mode"])
def test_an_ordered_window_gives_back_the_room_of_a_large_batch(aggregate: Any, kind: Any) -> None:
    n = 100_000
    on, x = np.arange(n), np.random.default_rng(1).integers(0, 9, n).astype(np.float64)
    updated, asked, asleep = (Ordered(aggregate, Retention(100, kind)) for _ in range(3))
    updated.update(on, x)
    asked.answers(on, x, on[::1000])
    asleep.update(np.zeros(n, np.int64), x)
    asleep.advance(200)
    for window in (updated, asked, asleep):
        assert window.query() == (None if window is asleep and kind == "time" else aggregate.compute(x[-100:]))
        assert window.nbytes < 16_000


# Moments and numbers at the ends of what there is.

MOMENTS = {
    "least": -(2**63) + np.array([1, 10, 10, 20, 130, 250]),
    "most": 2**63 - 1 - np.array([250, 130, 20, 10, 10, 0]),
    "both": np.array([-(2**63) + 1, -(2**63) + 20, -3, 40, 2**63 - 30, 2**63 - 1]),
}


def makers(retention: Retention) -> dict[str, Any]:
    """Every synopsis that can sum, count, or rank, over windows of time."""
    accuracy = Accuracy(0.1, 0.01)
    made = {kind.__name__: partial(kind, wr.sum("x"), retention) for kind in ALGEBRAIC}
    for kind in SYNOPSES:
        for aggregate in (wr.count("x"), wr.median("x")):
            if kind.__name__ not in made and kind.why_not(aggregate, retention, accuracy) is None:
                options = {"probability": 1.0} if kind.__name__ == "BernoulliSample" else {}
                made[kind.__name__] = partial(kind, aggregate, retention, accuracy, **options)
    return made


@pytest.mark.parametrize("ends", MOMENTS)
def test_windows_at_the_ends_of_64_bits_hold_what_the_definition_says(ends: str) -> None:
    on, x = MOMENTS[ends], np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    for length in (15, 100, 2**62, 2**63 - 1):
        retention = Retention(length, "time")
        for make in makers(retention).values():
            synopsis = make()
            for i in range(on.size):
                synopsis.update(on[i : i + 1], x[i : i + 1])
                earliest = int(on[i]) - length + 1
                inside = [v for t, v in zip(on[: i + 1].tolist(), x.tolist(), strict=False) if t >= earliest]
                assert_same(synopsis.query(), synopsis.aggregate.compute(inside), 0.0 if synopsis.exact else CLOSE)


def test_an_on_that_is_no_whole_number_is_refused() -> None:
    on, x = np.array([0.2, 0.9, 1.1, 1.9]), np.array([1.0, 2.0, 4.0, 8.0])
    for name, make in makers(Retention(1, "time")).items():
        for wrong in (on, np.array([0.0, np.nan, 1.0, 2.0])):
            with pytest.raises(TypeMismatchError, match="on: expected integers, got 0"):
                make().update(wrong, x)
            with pytest.raises(TypeMismatchError, match="on: expected integers, got 0"):
                make().answers(wrong, x, np.array([1, 2]))
        with pytest.raises(DataError, match="on: expected a number of at most"):
            make().update(np.array([1, 2**63], np.uint64), x[:2])
        if name != "FiBA":
            with pytest.raises(DataError, match="which is reserved"):
                make().update(np.array([-(2**63)]), x[:1])
    with pytest.raises(SpecError, match="from 1 to 2"):
        Retention(2**63, "time")
