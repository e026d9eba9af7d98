"""Every synopsis answers at any moment, whether or not an element came just then, of the window that ends there."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from sweeps import sweep
from synopsis_contract import assert_asked_alike, assert_heavy, assert_same, rank_errors, window_until
from windrow.errors import DataError, SourceError, TypeMismatchError
from windrow.synopses import (
    DABA,
    SYNOPSES,
    Accuracy,
    ArasuMankuFixed,
    ArasuMankuHeavyHitters,
    ArasuMankuVariable,
    BernoulliSample,
    BiasedReservoir,
    BoundedPrioritySample,
    ChainSample,
    ExpirationList,
    ExponentialHistogram,
    FiBA,
    GreenwaldKhanna,
    KLLPanes,
    Ordered,
    PaneReservoirs,
    Panes,
    PrioritySample,
    Recomputation,
    Retention,
    Synopsis,
    TwoStacks,
    VarianceHistogram,
)

Array = np.ndarray[Any, Any]
CLOSE = 1e-9
ROUGH = Accuracy(0.1, 0.01)
ALGEBRAIC = [Recomputation, ExpirationList, Panes, TwoStacks, DABA, FiBA]
SAMPLERS = [BernoulliSample, ChainSample, PrioritySample, BoundedPrioritySample, PaneReservoirs, BiasedReservoir]


def gappy(seed: int, n: int, length: int, most: int = 20) -> tuple[Array, Array, Array]:
    """Bursts and silences, some longer than the window; and moments at, between, before and long after elements."""
    rng = np.random.default_rng(seed)
    steps = rng.choice([0, 0, 0, 1, 1, 2, 3], n)
    steps += np.where(rng.random(n) < 0.03, rng.integers(1, 4 * length + 2, n), 0)
    on = np.cumsum(steps) - 20
    end = int(on[-1]) if n else 0
    grid = np.arange(-40, end + 2 * length + 2, max(1, (end + 2 * length + 42) // most))
    moments = np.concatenate([grid, rng.choice(grid, 3), rng.choice(on, 9) if n else grid[:1]])
    return on, rng.integers(0, 20, n).astype(np.float64), np.sort(moments)


class Case(NamedTuple):
    """A synopsis, and the check of an answer of it, for the values in the window."""

    make: Callable[[Retention], Synopsis]
    judge: Callable[[Any, Array], None]
    kinds: tuple[Any, ...] = ("count", "time")
    rounding: float = 0.0
    """By how much answers may differ where the same elements come in other batches."""


def exactly(aggregate: Any) -> Callable[[Any, Array], None]:
    return lambda answer, window: assert_same(answer, aggregate.compute(window.tolist()), CLOSE)


def exact(kind: Any, aggregate: Any, **options: Any) -> Case:
    return Case(lambda retention: kind(aggregate, retention, **options), exactly(aggregate))


def relatively(kind: Any, aggregate: Any, eps: float) -> Case:
    def judge(answer: Any, window: Array) -> None:
        want = aggregate.compute(window.tolist())
        assert (answer is None) == (want is None)
        assert want is None or abs(answer - want) <= eps * abs(want) + CLOSE

    return Case(lambda retention: kind(aggregate, retention, Accuracy(eps)), judge)


def in_rank(kind: Any, eps: float, delta: float = 0.0, kinds: tuple[Any, ...] = ("count", "time")) -> Case:
    def judge(answer: Any, window: Array) -> None:
        assert (answer is None) == (window.size == 0)
        assert answer is None or rank_errors(answer, PHI, window, among=not delta).max() <= eps

    return Case(lambda retention: kind(wr.median("x"), retention, Accuracy(eps, delta), phi=PHI), judge, kinds)


def heavy(phi: float, eps: float) -> Case:
    def judge(answer: Any, window: Array) -> None:
        assert (answer is None) == (window.size == 0)
        if answer is not None:
            assert_heavy(answer, phi, eps, window)

    return Case(lambda retention: ArasuMankuHeavyHitters(wr.heavy_hitters("x", phi), retention, Accuracy(eps)), judge)


def sample(kind: Any, aggregate: Any, retention: Retention, **options: Any) -> Any:
    if kind is BernoulliSample and retention.kind == "time":
        options = {"probability": 0.5, **options}
    return kind(aggregate, retention, ROUGH, seed=4, **options)


def counted(kind: Any) -> Case:
    """A count from any sample is within eps / 2; its other estimates have tests of their own."""

    def judge(answer: Any, window: Array) -> None:
        assert abs(answer - window.size) <= 0.05 * window.size + 0.5

    kinds = tuple(kind.retentions)
    return Case(lambda retention: sample(kind, wr.count("x"), retention, size=9), judge, kinds)


PHI = np.array([0.0, 0.1, 0.5, 0.9, 1.0])
CASES: dict[str, Case] = {
    **{f"{kind.__name__} {a!r}": exact(kind, a) for kind in ALGEBRAIC for a in (wr.sum("x"), wr.first("x"))},
    "Recomputation of variances": exact(Recomputation, wr.variance("x")),
    "TwoStacks of variances": exact(TwoStacks, wr.variance("x")),
    "DABA of variances": exact(DABA, wr.variance("x"))._replace(rounding=CLOSE),
    "FiBA of counts": exact(FiBA, wr.count("x")),
    "Ordered quantiles": exact(Ordered, wr.quantile("x", 0.7)),
    "Ordered mode": exact(Ordered, wr.mode("x")),
    **{f"{kind.__name__} count": counted(kind) for kind in SAMPLERS},
    **{
        f"ExponentialHistogram {a!r} {eps}": relatively(ExponentialHistogram, a, eps)
        for a, eps in ((wr.count("x"), 0.5), (wr.sum("x"), 0.1), (wr.mean("x"), 0.3))
    },
    "VarianceHistogram 0.5": relatively(VarianceHistogram, wr.variance("x"), 0.5),
    "VarianceHistogram 0.1": relatively(VarianceHistogram, wr.stddev("x"), 0.1),
    "ArasuMankuFixed": in_rank(ArasuMankuFixed, 0.2, kinds=("count",)),
    "ArasuMankuVariable": in_rank(ArasuMankuVariable, 0.2),
    "ArasuMankuHeavyHitters": heavy(0.2, 0.1),
    "KLLPanes": in_rank(KLLPanes, 0.2, 1e-9, kinds=("count",)),
}


def by_default(kind: type[Synopsis]) -> Case:
    """A synopsis that has no case above: its example, which answers exactly, or as its own tests check."""
    judge = exactly(kind.example_aggregate) if kind.exact else lambda answer, window: None
    return Case(kind.example, judge, tuple(kind.retentions))


listed = {case.make(Retention(9)).__class__ for case in CASES.values()}
CASES |= {kind.__name__: by_default(kind) for kind in SYNOPSES if kind.retentions and kind not in listed}


def test_every_synopsis_is_held_to_the_definition() -> None:
    assert {case.make(Retention(9)).__class__ for case in CASES.values()} | {GreenwaldKhanna} == set(SYNOPSES)
    for kind in SYNOPSES:
        assert isinstance(kind.example(Retention(9)), kind)
    for case in CASES.values():
        assert set(case.kinds) == case.make(Retention(9)).retentions


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
@settings(max_examples=6)
@given(st.integers(0, 2**32), st.integers(0, 400), st.integers(1, 90), st.data())
def test_answers_are_of_the_window_that_ends_at_the_moment(
    case: Case, seed: int, n: int, length: int, data: st.DataObject
) -> None:
    retention = Retention(length, data.draw(st.sampled_from(case.kinds)))
    on, x, moments = gappy(seed, n, length)
    make = partial(case.make, retention)
    if case is CASES["KLLPanes"]:
        answers = make().answers(on, x, moments).to_pylist()
    else:
        answers = assert_asked_alike(make, on, x, moments, case.rounding)
    for moment, answer in zip(moments, answers, strict=True):
        case.judge(answer, window_until(on, x, moment, retention))


def with_silences(seed: int) -> tuple[Array, Array]:
    """About a third of an element for each step of time, and three silences: two long ones, and that at the end."""
    on, x, _ = gappy(seed, 20_000, 30)
    return on + np.repeat([0, 2500, 9000], [8_000, 8_000, 4_000]), x


LARGE = {
    "ExponentialHistogram": relatively(ExponentialHistogram, wr.sum("x"), 0.05),
    "VarianceHistogram": relatively(VarianceHistogram, wr.variance("x"), 0.2),
    "ArasuMankuVariable": in_rank(ArasuMankuVariable, 0.02),
    "ArasuMankuHeavyHitters": heavy(0.1, 0.03),
    "Ordered": exact(Ordered, wr.median("x")),
    "FiBA": exact(FiBA, wr.max("x")),
}


@pytest.mark.parametrize("name", sweep(LARGE, *(name for name in LARGE if name != "FiBA")))
def test_large_windows_that_run_empty_stay_within_eps(name: str) -> None:
    case = LARGE[name]
    retention = Retention(3000, "time")
    on, x = with_silences(7)
    moments = np.sort(
        np.concatenate(
            [*(on[end] + np.arange(0, 3200, 60) for end in (7_999, 15_999, 19_999)), on[::311], on[::997] + 9]
        )
    )
    for moment, answer in zip(moments, case.make(retention).answers(on, x, moments).to_pylist(), strict=True):
        case.judge(answer, window_until(on, x, moment, retention))


# What samples estimate.

TIMED = [kind for kind in SAMPLERS if "time" in kind.retentions]
each_timed_sample = pytest.mark.parametrize("kind", TIMED, ids=lambda kind: kind.__name__)


@each_timed_sample
@pytest.mark.parametrize("aggregate", [wr.mean("x"), wr.variance("x"), wr.quantile("x", 0.9)], ids=repr)
def test_the_items_of_a_sample_leave_as_time_goes_on(kind: Any, aggregate: Any) -> None:
    for seed in range(5):
        on, x, moments = gappy(seed, 300, 30)
        x += np.arange(300) / 1000  # distinct values
        kept, seen = sample(kind, aggregate, Retention(30, "time"), size=1 + 7 * seed), 0
        for moment in moments:
            upto = np.searchsorted(on, moment, "right")
            kept.update(on[seen:upto], x[seen:upto])
            kept.advance(moment)
            seen, items = upto, kept.items()
            assert set(items) <= set(window_until(on, x, moment, kept.retention))
            too_few = window_until(on, x, moment, kept.retention).size < aggregate.needs
            want = None if too_few else aggregate.compute(items.tolist())
            assert kept.query() == (None if want is None else pytest.approx(want))


@each_timed_sample
def test_quantiles_of_a_sample_are_as_near_as_its_items_are_many(kind: Any) -> None:
    """For k items an error above sqrt(10 / k) is a chance of 4e-9, by Hoeffding's bound."""
    on, x = with_silences(3)
    moments = np.arange(-40, on[-1] + 2100, 500)
    x = np.random.default_rng(5).random(x.size) if kind is BiasedReservoir else np.arange(x.size, dtype=float)
    retention, kept, seen, many = Retention(2000, "time"), sample(kind, wr.median("x"), Retention(2000, "time")), 0, 0
    for moment in moments:
        upto = np.searchsorted(on, moment, "right")
        kept.update(on[seen:upto], x[seen:upto])
        kept.advance(moment)
        seen, (answer, items), window = upto, kept.estimate(), window_until(on, x, moment, retention)
        assert (answer is None) == (items == 0)
        many += items >= 200
        if answer is not None:
            assert rank_errors(np.array([answer]), np.array([0.5]), window).max() <= math.sqrt(10 / items)
    assert many >= 30


def test_slots_hold_each_element_alike_after_a_silence() -> None:
    kept = sample(PrioritySample, wr.mean("x"), Retention(10, "time"), size=8000)
    kept.update(np.arange(20), np.arange(20.0))
    for now, inside in ((20, 9), (24, 5), (28, 1)):
        kept.advance(now)
        counts = np.bincount(kept.items().astype(int), minlength=20)[20 - inside :]
        assert counts.sum() == 8000
        assert np.abs(counts - 8000 / inside).max() <= 5 * math.sqrt(8000 / inside)
    kept.advance(29)
    assert kept.estimate() == (None, 0)


# What moments may be.


def timed(kind: Any) -> Synopsis:
    """One of each synopsis that supports a retention by time."""
    return next(
        case.make(Retention(10, "time")) for case in CASES.values() if isinstance(case.make(Retention(9)), kind)
    )


each_timed = pytest.mark.parametrize(
    "kind", [kind for kind in SYNOPSES if "time" in kind.retentions], ids=lambda kind: kind.__name__
)


@each_timed
def test_time_does_not_go_back(kind: Any) -> None:
    synopsis = timed(kind)
    synopsis.update(np.array([3, 5]), np.ones(2))
    with pytest.raises(DataError, match="now: expected at least 5, the time that was reached, got 4"):
        synopsis.advance(4)
    synopsis.advance(5)
    synopsis.advance(8)
    saved, before = synopsis.save(), synopsis.query()
    synopsis = timed(kind)
    synopsis.load(saved)
    with pytest.raises(DataError, match="now: expected at least 8, the time that was reached, got 7"):
        synopsis.advance(7)
    with pytest.raises(DataError, match="moments: expected at least 8, the time that was reached, got 7"):
        synopsis.answers(np.array([9]), np.ones(1), np.array([7, 9]))
    with pytest.raises(DataError, match="expected moments in ascending order"):
        synopsis.answers(np.array([9]), np.ones(1), np.array([9, 8]))
    with pytest.raises(TypeMismatchError, match=r"now: expected a flat array of integers"):
        synopsis.advance(9.5)
    if kind is not FiBA:
        with pytest.raises(DataError, match="in order"):
            synopsis.update(np.array([7]), np.ones(1))
        with pytest.raises(DataError, match="in order"):
            synopsis.answers(np.array([7, 9]), np.ones(2), np.array([9]))
        with pytest.raises(DataError, match="in order"):
            synopsis.answers(np.array([10, 9]), np.ones(2), np.array([11]))
    np.testing.assert_equal(synopsis.query(), before)
    synopsis.update(np.array([8]), np.ones(1))
    assert synopsis.answers(np.array([], np.int64), np.array([]), []).to_pylist() == []


@each_timed
def test_time_can_go_on_before_the_first_element(kind: Any) -> None:
    synopsis, fresh = timed(kind), timed(kind)
    synopsis.advance(7)
    np.testing.assert_equal(synopsis.query(), fresh.query())
    for one in (synopsis, fresh):
        one.update(np.array([7, 9, 11]), np.array([4.0, 2.0, 3.0]))
    np.testing.assert_equal(synopsis.query(), fresh.query())


@pytest.mark.parametrize("kind", [TwoStacks, FiBA, Ordered, ExponentialHistogram, ChainSample, ArasuMankuFixed])
def test_time_does_not_matter_to_a_count(kind: Any) -> None:
    synopsis = next(case.make(Retention(3)) for case in CASES.values() if isinstance(case.make(Retention(3)), kind))
    synopsis.update(np.arange(5), np.arange(5.0))
    before = synopsis.query()
    for now in (10**9, -(10**9)):
        synopsis.advance(now)
        np.testing.assert_equal(synopsis.query(), before)


def test_a_landmark_window_has_all_elements_up_to_the_moment() -> None:
    on, x, moments = gappy(1, 500, 10)
    synopsis = GreenwaldKhanna(wr.median("x"), accuracy=Accuracy(0.05), phi=PHI)
    for moment, answer in zip(moments, synopsis.answers(on, x, moments).to_pylist(), strict=True):
        window = window_until(on, x, moment, None)
        assert (answer is None) == (window.size == 0)
        assert answer is None or rank_errors(answer, PHI, window).max() <= 0.05
    assert synopsis.n == 500


def test_elements_older_than_a_moment_asked_for_come_to_fiba_while_they_are_in_the_window() -> None:
    window = FiBA(wr.sum("x"), Retention(10, "time"))
    assert window.answers(np.array([9, 2, 5]), np.array([1.0, 2.0, 4.0]), np.array([4, 8, 12])).to_pylist() == [
        2.0,
        6.0,
        5.0,
    ]
    window.update(np.array([3, 2]), np.array([8.0, 16.0]))
    assert (window.query(), window.late) == (13.0, 1)
    assert window.answers(np.array([30, 7, 40]), np.array([32.0, 64.0, 3.0]), np.array([13, 15, 19])).to_pylist() == [
        69,
        65,
        None,
    ]
    assert (window.query(), window.late, window.newest) == (3.0, 1, 40)


def test_panes_are_exact_at_moments_where_panes_end() -> None:
    on, x, _ = gappy(2, 400, 24)
    moments = np.arange(-48, on[-1] + 60, 8)
    window = Panes(wr.sum("x"), Retention(24, "time"), every=8)
    for moment, answer in zip(moments, window.answers(on, x, moments).to_pylist(), strict=True):
        assert answer == wr.sum("x").compute(window_until(on, x, moment, window.retention).tolist())


def test_integers_stay_integers_at_moments_too() -> None:
    on, x, moments = gappy(3, 200, 20)
    whole = x.astype(np.int64) * 2**40 + 1
    answer = DABA(wr.sum("x"), Retention(20, "time"), integral=True).answers(on, whole, moments).to_pylist()
    windows = (window_until(on, whole, moment, Retention(20, "time")) for moment in moments)
    assert answer == [wr.sum("x").compute(window.tolist()) for window in windows]
    window = TwoStacks(wr.sum("x"), Retention(3), integral=True)
    with pytest.raises(DataError, match="exceeds 64 bits"):
        window.answers(np.arange(2), np.array([2**62, 2**62]), np.array([0, 1]))


def test_the_state_of_an_older_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    saved = ExponentialHistogram(wr.sum("x"), Retention(8), ROUGH).save()
    monkeypatch.setattr(ExponentialHistogram, "version", ExponentialHistogram.version + 1)
    with pytest.raises(SourceError, match="written by an older Windrow"):
        ExponentialHistogram(wr.sum("x"), Retention(8), ROUGH).load(saved)
