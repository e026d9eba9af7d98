"""Samples are drawn with the probabilities they promise, from the window and nothing else, and answer from their items.

All seeds are fixed. A statistical test fails by chance with a probability of less than one in a million.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.aggregates import Count, Max, Mean, Median, Quantile, Stddev, Sum, Variance
from windrow.errors import DataError, SourceError, SpecError, UnsupportedError
from windrow.synopses.base import Accuracy, Retention
from windrow.synopses.samples.base import Estimate, Sample, sample_size
from windrow.synopses.samples.bernoulli import BernoulliSample
from windrow.synopses.samples.biased_reservoir import BiasedReservoir, capacity_for
from windrow.synopses.samples.bounded_priority import BoundedPrioritySample
from windrow.synopses.samples.chain import ChainSample
from windrow.synopses.samples.pane_reservoirs import PaneReservoirs, hypergeometric
from windrow.synopses.samples.priority import PrioritySample
from windrow.synopses.samples.random import failures, seeded, uniform

EXAMPLE = np.array([8.0, 10, 6, 4, 7, 11, 2, 1, 3, 12, 5, 9])
ROUGH = Accuracy(0.1, 0.01)
LIKELY = 4.89
"""A normal number is further from 0 than this with probability 1e-6."""


def chi_square_limit(freedom: int) -> float:
    """What a chi-square number exceeds with a probability of about 1e-6, by Wilson and Hilferty's approximation."""
    return freedom * (1 - 2 / (9 * freedom) + 4.754 * math.sqrt(2 / (9 * freedom))) ** 3


def assert_distributed(counts: np.ndarray, shares: np.ndarray) -> None:
    """Counts of independent draws, or of draws without replacement, that fit their shares."""
    expected = counts.sum() * shares / shares.sum()
    assert ((counts - expected) ** 2 / expected).sum() <= chi_square_limit(counts.size - 1)


def make(kind: type[Sample], aggregate: Any, retention: Retention, **options: Any) -> Sample:
    """A sample; a Bernoulli one over time needs its probability."""
    if kind is BernoulliSample and retention.kind == "time":
        options = {"probability": 0.4, **options}
    return kind(aggregate, retention, ROUGH, **options)


# Sizes, and the thesis' examples.


@pytest.mark.parametrize(
    ("delta", "sizes"), [(0.01, [997, 4386, 132877]), (0.001, [1329, 5715, 166096]), (0.0001, [1661, 7044, 199316])]
)
def test_sizes_are_those_of_table_5_2(delta: float, sizes: list[int]) -> None:
    assert [sample_size(Accuracy(eps, delta)) for eps in (0.1, 0.05, 0.01)] == sizes
    assert ChainSample(Mean("x"), Retention(10), Accuracy(0.1, delta)).size == sizes[0]


def test_the_bounded_priority_sample_of_example_4_5_1() -> None:
    # With this seed, the priorities are in the order of the example.
    sample = BoundedPrioritySample(Mean("x"), Retention(8), ROUGH, size=4, seed=48619)
    sample.update(np.arange(4), EXAMPLE[:4])
    assert sample.estimate() == Estimate(7.0, 4)
    sample.update(np.arange(4), EXAMPLE[4:8])
    assert sorted(sample.items()) == [1, 2, 4, 10]
    assert sample.estimate() == Estimate(4.25, 4)
    sample.update(np.arange(4), EXAMPLE[8:])
    assert sorted(sample.items()) == [2, 5, 9]
    assert sample.query() == pytest.approx(5 + 1 / 3)


def test_the_biased_reservoir_of_example_4_5_2() -> None:
    # With this seed, the coins fall as in the example. Its λ = 0.5 gives 3 places, not the 4 that it continues with.
    assert capacity_for(0.5) == 3
    sample = BiasedReservoir(Mean("x"), Retention(8), ROUGH, size=4, seed=2471)
    sample.update(np.arange(4), EXAMPLE[:4])
    assert list(sample.items()) == [6, 10, 4]
    assert sample.query() == pytest.approx(20 / 3)
    sample.update(np.arange(4), EXAMPLE[4:8])
    assert sample.estimate() == Estimate(7.25, 4)
    sample.update(np.arange(4), EXAMPLE[8:])
    assert sample.estimate() == Estimate(6.75, 4)


# Random numbers.


def test_random_numbers_are_uniform_and_skips_are_geometric() -> None:
    random = seeded(1)
    draws = np.array([uniform(random) for _ in range(20_000)])
    assert 0 < draws.min() < draws.max() < 1
    assert_distributed(np.histogram(draws, 50, (0, 1))[0], np.ones(50))
    skips = np.array([failures(random, 0.3) for _ in range(20_000)])
    assert_distributed(np.bincount(np.minimum(skips, 9), minlength=10), np.r_[0.3 * 0.7 ** np.arange(9), 0.7**9])


def test_the_number_of_items_from_a_pane_is_hypergeometric() -> None:
    random = seeded(2)
    draws = np.array([hypergeometric(random, 7, 9, 5) for _ in range(20_000)])
    assert_distributed(
        np.bincount(draws, minlength=6), np.array([math.comb(7, j) * math.comb(9, 5 - j) for j in range(6)])
    )


# Which elements are in a sample.

INDEPENDENT = [(ChainSample, "count"), (PrioritySample, "count"), (PrioritySample, "time")]


@pytest.mark.parametrize(("sampler", "kind"), INDEPENDENT)
@pytest.mark.parametrize("length", [1, 2, 3, 8])
def test_each_slot_holds_each_element_of_the_window_alike(sampler: type[Sample], kind: str, length: int) -> None:
    sample = make(sampler, Mean("x"), Retention(length, kind), size=8000, seed=length)
    seen = 0
    for steps in (2, 6, 1, 1, 4, 17):
        sample.update(np.arange(seen, seen + steps), np.arange(seen, seen + steps, dtype=float))
        seen += steps
        inside = min(seen, length)
        counts = np.bincount(sample.items().astype(int), minlength=seen)
        assert counts.sum() == 8000
        assert counts[: seen - inside].sum() == 0
        if inside > 1:
            assert_distributed(counts[seen - inside :], np.ones(inside))


def test_slots_of_a_chain_are_independent_of_each_other() -> None:
    sample = ChainSample(Mean("x"), Retention(6), ROUGH, size=20_000, seed=5)
    sample.update(np.arange(40), np.arange(40.0))
    items = sample.items().astype(int) - 34
    assert_distributed(np.bincount(items[::2] * 6 + items[1::2], minlength=36), np.ones(36))


ONE_BY_ONE = [
    (BoundedPrioritySample, Retention(8), 3, {}),
    (BoundedPrioritySample, Retention(8, "time"), 3, {}),
    (PaneReservoirs, Retention(24), 4, {"panes": 3}),
    (PaneReservoirs, Retention(24), 4, {"panes": 5}),
    (PaneReservoirs, Retention(20), 10, {"panes": 4}),
]


@pytest.mark.parametrize(("sampler", "retention", "size", "options"), ONE_BY_ONE)
def test_samples_without_replacement_hold_each_element_of_the_window_alike(
    sampler: type[Sample], retention: Retention, size: int, options: dict[str, Any]
) -> None:
    held = inclusions(
        lambda aggregate: sampler(aggregate, retention, ROUGH, size=size, seed=1, **options),
        np.arange(150_000),
        61,
        retention.length,
    )
    assert held.sum(axis=1).max() <= size
    assert_distributed(held.sum(axis=0), np.ones(retention.length))


class Arrivals(NamedTuple):
    """How elements come: the retention that holds the last R of them when it is asked for, and their `on`."""

    retention: Callable[[int], Retention]
    on: Callable[[np.ndarray, int], np.ndarray]


ARRIVALS = {
    "counted": Arrivals(Retention, lambda i, r: i),
    "timed": Arrivals(lambda r: Retention(r, "time"), lambda i, r: i),
    "at once": Arrivals(lambda r: Retention(1, "time"), lambda i, r: i // r),
    "after a pause": Arrivals(lambda r: Retention(2, "time"), lambda i, r: i // r + i // (2 * r)),
}
DRAWN = [
    (BernoulliSample, {}),
    (ChainSample, {}),
    (PrioritySample, {}),
    (BoundedPrioritySample, {}),
    (PaneReservoirs, {"panes": 2}),
    (PaneReservoirs, {}),
]


def inclusions(draw: Callable[[Any], Sample], on: np.ndarray, step: int, r: int) -> np.ndarray:
    """Which of the last `r` elements are in the sample after each `step`; a row per answer, the newest first.

    The largest item of a stream that is 1 at one age and 0 at all others is 1 if the element of that age is in it.
    """
    place = np.arange(on.size) % step
    held = [draw(Quantile("x", 1.0)).roll(on, (place == step - 1 - age).astype(float), step) == 1.0 for age in range(r)]
    return np.stack(held, axis=1)


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("r", [2, 5, 20])
@pytest.mark.parametrize("arrivals", ARRIVALS)
@pytest.mark.parametrize(("sampler", "options"), DRAWN)
def test_all_sets_of_elements_of_the_window_are_drawn_alike(
    sampler: type[Sample], options: dict[str, Any], arrivals: str, r: int, size: int
) -> None:
    retention = ARRIVALS[arrivals].retention(r)
    if retention.kind not in sampler.retentions:
        return
    step, windows = 6 * r, 40_000 // r
    if sampler is BernoulliSample:
        options = {"probability": size / r}

    def draw(aggregate: Any) -> Sample:
        return sampler(aggregate, retention, ROUGH, size=size, seed=7, **options)

    held = inclusions(draw, ARRIVALS[arrivals].on(np.arange(windows * step), r), step, r)
    sizes = held.sum(axis=1)
    if sampler is not BernoulliSample:
        assert sizes.max() <= size
    assert_drawn_alike(held[sizes == 1], itertools.combinations(range(r), 1))
    assert_drawn_alike(held[sizes == 2], itertools.combinations(range(r), 2))


def assert_drawn_alike(held: np.ndarray, sets: Iterable[tuple[int, ...]]) -> None:
    """Each of the sets was drawn as often as the others, as far as chance allows."""
    counts = np.array([np.count_nonzero(held[:, list(places)].all(axis=1)) for places in sets])
    if counts.size > 1 and counts.sum() > 5 * counts.size:
        assert_distributed(counts, np.ones(counts.size))


@pytest.mark.parametrize("r", [2, 5, 20])
def test_two_slots_hold_the_same_element_as_often_as_chance_has_it(r: int) -> None:
    for sampler in (ChainSample, PrioritySample):
        held = inclusions(
            lambda aggregate, kind=sampler: kind(aggregate, Retention(r), ROUGH, size=2), np.arange(60_000), 4 * r, r
        )
        sizes = np.bincount(held.sum(axis=1), minlength=3)
        assert sizes[0] == 0
        assert_distributed(sizes[1:], np.array([1 / r, 1 - 1 / r]))


def test_a_bounded_priority_sample_of_two_is_empty_as_often_as_chance_has_it() -> None:
    # An element of priority u ends a run of rising ones, and so becomes a test, with density u·exp(u). It is in the way
    # of the two elements after the one that it beat, and there are e elements from one test to the next: the sample is
    # empty with probability (∫ u²·exp(u) + ∫ u³·exp(u)) / e.
    empty = 4 / math.e - 1
    for arrivals in ("counted", "timed"):
        retention = ARRIVALS[arrivals].retention(2)
        sample = BoundedPrioritySample(Mean("x"), retention, ROUGH, size=1, seed=3)
        none = np.isnan(sample.roll(np.arange(340_000), np.zeros(340_000), 17)).sum()
        assert_distributed(np.array([none, 20_000 - none]), np.array([empty, 1 - empty]))


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("r", [2, 5, 20])
def test_elements_of_a_small_window_leave_a_biased_reservoir_at_their_rate(r: int, size: int) -> None:
    held = inclusions(
        lambda aggregate: BiasedReservoir(aggregate, Retention(r), ROUGH, size=size), np.arange(40_000), 2 * r, r
    )
    chance = (1 - 1 / size) ** np.arange(r)
    limits = LIKELY * np.sqrt(len(held) * chance * (1 - chance))
    assert (np.abs(held.sum(axis=0) - len(held) * chance) <= np.maximum(limits, 1)).all()


def test_a_pane_sample_is_of_its_size_but_for_what_has_left_of_the_oldest_pane() -> None:
    sample = PaneReservoirs(Mean("x"), Retention(100), ROUGH, size=10, panes=5, seed=4)
    sizes = []
    for i in range(500):
        sample.update(np.array([i]), np.array([float(i)]))
        sizes.append(sample.estimate().size)
    assert sizes[:100] == [min(i, 10) for i in range(1, 101)]
    assert set(sizes[119::20]) == {10}
    assert np.mean(sizes[100:]) > 10 * 5 / 6


def test_panes_that_hold_all_their_elements_lose_none() -> None:
    sample = PaneReservoirs(Mean("x"), Retention(30), ROUGH, size=30, panes=4, seed=4)
    sample.update(np.arange(97), np.arange(97.0))
    assert sorted(sample.items()) == list(range(67, 97))


def test_a_bounded_priority_sample_has_at_most_its_size_and_sometimes_none() -> None:
    sizes = []
    for seed in range(400):
        sample = BoundedPrioritySample(Mean("x"), Retention(4), ROUGH, size=1, seed=seed)
        sample.update(np.arange(11), np.arange(11.0))
        estimate, size = sample.estimate()
        assert (estimate is None) == (size == 0)
        sizes.append(size)
    assert set(sizes) == {0, 1}


def test_a_bernoulli_sample_holds_each_element_with_its_probability() -> None:
    sample = BernoulliSample(Mean("x"), Retention(100_000), ROUGH, size=20_000, seed=9)
    sample.update(np.arange(250_000), np.arange(250_000.0))
    ages = 249_999 - sample.items()
    assert abs(ages.size - 20_000) <= LIKELY * math.sqrt(100_000 * 0.2 * 0.8)
    assert_distributed(np.histogram(ages, 20, (0, 100_000))[0], np.ones(20))
    # Neighbours are both in the sample with the square of the probability.
    pairs = int(np.count_nonzero(np.diff(np.sort(ages)) == 1))
    assert abs(pairs - 4000) <= LIKELY * math.sqrt(4000 * 2)


def test_elements_leave_a_biased_reservoir_at_their_rate() -> None:
    places, n, runs = 5, 60, 4000
    held = np.zeros(n, np.int64)
    for seed in range(runs):
        sample = BiasedReservoir(Mean("x"), Retention(1000), ROUGH, size=places, seed=seed)
        sample.update(np.arange(n), np.arange(float(n)))
        held += np.bincount(n - 1 - sample.items().astype(int), minlength=n)
    chance = (1 - 1 / places) ** np.arange(30)
    limits = LIKELY * np.sqrt(runs * chance * (1 - chance))
    assert (np.abs(held[:30] - runs * chance) <= limits).all()


def test_a_reservoir_too_small_for_its_rate_lets_fewer_in() -> None:
    sample = BiasedReservoir(Mean("x"), Retention(100_000), ROUGH, size=100, rate=0.001, seed=1)
    sample.update(np.arange(50_000), np.arange(50_000.0))
    ages = 49_999 - sample.items()
    assert sample.size == 100
    assert sample.admission == pytest.approx(0.1, rel=0.01)
    assert abs(ages.mean() - 1000) <= LIKELY * 1000 / math.sqrt(100)


def test_items_that_have_left_the_window_are_forgotten_unless_asked_for() -> None:
    kept = BiasedReservoir(Mean("x"), Retention(50), ROUGH, size=200, seed=1, forget=False)
    left = BiasedReservoir(Mean("x"), Retention(50), ROUGH, size=200, seed=1)
    for sample in (kept, left):
        sample.update(np.arange(1000), np.arange(1000.0))
    assert kept.items().min() < 950 <= left.items().min()
    assert left.items().size < kept.items().size


# What a sample estimates.

SAMPLERS = [BernoulliSample, ChainSample, PrioritySample, BoundedPrioritySample, BiasedReservoir, PaneReservoirs]
AGGREGATES = [Mean("x"), Variance("x"), Stddev("x"), Median("x"), Quantile("x", 0.9), Sum("x"), Count("x")]
STREAMS = st.lists(st.tuples(st.integers(0, 4), st.integers(-20, 20)), max_size=90)
CASES = st.tuples(
    st.sampled_from(SAMPLERS),
    st.sampled_from(AGGREGATES),
    st.builds(Retention, st.integers(1, 40), st.sampled_from(["count", "time"])),
    st.integers(1, 40),
    st.integers(0, 1000),
).filter(lambda case: case[2].kind in case[0].retentions)


def arrays(stream: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Moments, and distinct values."""
    on = np.cumsum([gap for gap, _ in stream], dtype=np.int64)
    return on, np.array([value + i / 1000 for i, (_, value) in enumerate(stream)])


def expected(aggregate: Any, items: np.ndarray, elements: float) -> Any:
    """The estimate of a sample of these items for a window of so many values."""
    if isinstance(aggregate, Count):
        return elements
    if isinstance(aggregate, Sum):
        return items.mean() * elements if items.size else None
    return aggregate.compute(items.tolist()) if elements >= aggregate.needs else None


@settings(max_examples=200)
@given(STREAMS, CASES)
def test_a_sample_tells_what_its_items_tell_and_they_are_in_the_window(
    stream: list[tuple[int, int]], case: Any
) -> None:
    sampler, aggregate, retention, size, seed = case
    on, x = arrays(stream)
    sample = make(sampler, aggregate, retention, size=size, seed=seed)
    for i in range(x.size):
        sample.update(on[i : i + 1], x[i : i + 1])
        first = np.searchsorted(on, on[i] - retention.length, side="right") if retention.kind == "time" else 0
        first = max(first, 0 if retention.kind == "time" else i + 1 - retention.length)
        items = sample.items()
        assert set(items) <= set(x[first : i + 1])
        estimate, inside = sample.query(), i + 1 - first
        if retention.kind == "time" and isinstance(aggregate, Count | Sum):
            scale = expected(aggregate, items, inside)
            assert estimate is None if scale is None else abs(estimate - scale) <= 0.05 * abs(scale) + 1e-9
        else:
            want = expected(aggregate, items, inside)
            assert estimate == (None if want is None else pytest.approx(want))


def test_more_places_than_elements_hold_them_all() -> None:
    x = np.random.default_rng(1).normal(size=300)
    for sampler in (BoundedPrioritySample, PaneReservoirs):
        sample = sampler(Variance("x"), Retention(100), ROUGH, size=100, seed=3)
        sample.update(np.arange(100), x[:100])
        assert sample.query() == pytest.approx(x[:100].var(ddof=1))
    everything = BernoulliSample(Median("x"), Retention(100), ROUGH, probability=1.0)
    everything.update(np.arange(300), x)
    assert everything.query() == np.sort(x[200:])[49]


@pytest.mark.parametrize("sampler", [BernoulliSample, ChainSample, BoundedPrioritySample, PaneReservoirs])
@pytest.mark.parametrize("data", ["uniform", "sorted", "heavy-tailed"])
def test_quantiles_are_within_eps_as_often_as_delta_says(sampler: type[Sample], data: str) -> None:
    random = np.random.default_rng(7)
    x = {"uniform": random.random(40_000), "sorted": np.sort(random.random(40_000))}.get(
        data, random.pareto(1.1, 40_000)
    )
    length, every = 5000, 500
    for q in (0.1, 0.5, 0.99):
        quantiles = sampler(Quantile("x", q), Retention(length), ROUGH, seed=2).roll(np.arange(x.size), x, every)
        off = 0
        for j in range(length // every, quantiles.size):
            window = np.sort(x[(j + 1) * every - length : (j + 1) * every])
            below, up_to = np.searchsorted(window, quantiles[j]), np.searchsorted(window, quantiles[j], side="right")
            off += not below - 0.1 * length <= q * length <= up_to + 0.1 * length
        assert off == 0  # With delta = 0.01 for each of 70 windows, more than seven would be a chance of 1e-6.


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_an_outlier_that_has_left_leaves_no_trace(sampler: type[Sample]) -> None:
    x = np.r_[9.54e8, np.tile([0.5, 1.5], 60)]
    got = sampler(Variance("x"), Retention(50), ROUGH, size=40, seed=1).roll(np.arange(x.size), x, 1)
    assert (got[50:][~np.isnan(got[50:])] < 0.6).all()


# The contract.


@settings(max_examples=200)
@given(STREAMS, CASES, st.integers(1, 7), st.lists(st.integers(0, 90), max_size=4))
def test_any_cut_and_any_round_trip_gives_the_same_answers(
    stream: list[tuple[int, int]], case: Any, every: int, cuts: list[int]
) -> None:
    sampler, aggregate, retention, size, seed = case
    on, x = arrays(stream)
    rolled, kept = (make(sampler, aggregate, retention, size=size, seed=seed) for _ in range(2))
    answers = rolled.roll(on, x, every)
    assert len(answers) == x.size // every
    begin = 0
    for end in sorted({min(c, x.size) for c in cuts} | set(range(every, x.size + 1, every)) | {x.size}):
        kept.update(on[begin:end], x[begin:end])
        begin = end
        if end and end % every == 0:
            answer = kept.query()
            assert np.isnan(answers[end // every - 1]) if answer is None else answer == answers[end // every - 1]
        fresh = make(sampler, aggregate, retention, size=size, seed=seed)
        fresh.load(kept.save())
        kept = fresh
    assert kept.query() == rolled.query()
    assert sorted(kept.items()) == sorted(rolled.items())


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_seeds_make_samples_reproducible(sampler: type[Sample]) -> None:
    x = np.arange(2000.0)
    drawn = []
    for seed in (1, 1, 2):
        sample = sampler(Mean("x"), Retention(500), ROUGH, size=20, seed=seed)
        sample.update(np.arange(2000), x)
        drawn.append(sorted(sample.items()))
    assert drawn[0] == drawn[1] != drawn[2]


def test_the_memory_of_a_sample_does_not_grow_with_the_window() -> None:
    x = np.zeros(60_000)
    for sampler in SAMPLERS:
        bytes_of = []
        for length in (3000, 30_000):
            sample = sampler(Mean("x"), Retention(length), ROUGH, size=50)
            sample.update(np.arange(x.size), x)
            bytes_of.append(sample.nbytes)
        assert bytes_of[1] <= 2 * bytes_of[0] < 8 * 30_000


def test_a_state_is_refused_by_a_sample_made_otherwise() -> None:
    saved = ChainSample(Mean("x"), Retention(8), ROUGH, size=4).save()
    with pytest.raises(SourceError, match="seed=0, but this synopsis has seed=1"):
        ChainSample(Mean("x"), Retention(8), ROUGH, size=4, seed=1).load(saved)


def test_nothing_is_told_of_nothing() -> None:
    for sampler in SAMPLERS:
        assert sampler(Mean("x"), Retention(8), ROUGH).estimate() == Estimate(None, 0)
        assert sampler(Count("x"), Retention(8), ROUGH).query() == 0


def test_elements_out_of_order_are_refused() -> None:
    sample = PrioritySample(Sum("x"), Retention(8, "time"), ROUGH, size=3)
    sample.update(np.array([5]), np.array([1.0]))
    with pytest.raises(DataError, match="in order"):
        sample.update(np.array([4]), np.array([1.0]))


@pytest.mark.parametrize(
    ("made", "error", "message"),
    [
        (lambda: ChainSample(Max("x"), Retention(8), ROUGH), UnsupportedError, "a sample estimates count, sum, mean"),
        (
            lambda: ChainSample(Mean("x"), Retention(8, "time"), ROUGH),
            UnsupportedError,
            "it supports a retention by count only, not by time",
        ),
        (lambda: PrioritySample(Mean("x"), Retention(8)), UnsupportedError, "eps and delta must be above 0"),
        (
            lambda: PrioritySample(Mean("x"), Retention(8), ROUGH, size=0),
            SpecError,
            "size: expected an integer from 1 to .*, got 0",
        ),
        (
            lambda: PrioritySample(Mean("x"), Retention(8), ROUGH, seed=-1),
            SpecError,
            "seed: expected an integer from 0 to .*, got -1",
        ),
        (
            lambda: BernoulliSample(Mean("x"), Retention(8, "time"), ROUGH),
            SpecError,
            "probability: the number of values in",
        ),
        (
            lambda: BernoulliSample(Mean("x"), Retention(8), ROUGH, probability=1.5),
            SpecError,
            "probability: expected .*, got 1.5",
        ),
        (lambda: BiasedReservoir(Mean("x"), Retention(8), ROUGH, rate=0), SpecError, "rate: expected .*, got 0"),
        (lambda: PaneReservoirs(Mean("x"), Retention(8), ROUGH, panes=0), SpecError, "panes: expected .*, got 0"),
        (
            lambda: ChainSample(Mean("x"), Retention(8), ROUGH).roll([1], [1.0], 0),
            SpecError,
            "every: expected .*, got 0",
        ),
    ],
)
def test_what_cannot_be_right_is_refused(made: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        made()
