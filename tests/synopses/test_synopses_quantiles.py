"""The synopses of quantiles and heavy hitters: the thesis' examples, and errors that never exceed what was promised."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from sweeps import crossed
from synopsis_contract import (
    assert_heavy,
    assert_memory_is_bounded,
    assert_pieces_do_not_matter,
    assert_rolls_as_it_updates,
    assert_saving_changes_nothing,
    rank_errors,
    window_at,
)
from windrow.aggregates.engine.gk_summary import Summary, band_of, bound_ranks, compress, insert_run
from windrow.errors import DataError, SourceError, SpecError, UnsupportedError
from windrow.synopses import Accuracy, Retention
from windrow.synopses.arasu_manku.heavy_hitters import ArasuMankuHeavyHitters
from windrow.synopses.arasu_manku.quantiles import ArasuMankuFixed, ArasuMankuVariable
from windrow.synopses.quantiles.greenwald_khanna import GreenwaldKhanna
from windrow.synopses.quantiles.kll import KLLPanes
from windrow.synopses.total_order import to_keys, to_numbers

Array = np.ndarray[Any, Any]
PHI = np.array([0.0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0])
EPS = [0.05, 0.01, 0.001]


def bursty(random: np.random.Generator, n: int) -> Array:
    return np.repeat(random.normal(size=n // 50 + 1), 50)[:n] + random.normal(scale=1e-3, size=n)


DATA: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "uniform": lambda random, n: random.random(n),
    "gaussian": lambda random, n: random.normal(size=n),
    "ascending": lambda random, n: np.arange(n, dtype=float),
    "descending": lambda random, n: -np.arange(n, dtype=float),
    "bursty": bursty,
    "heavy-tailed": lambda random, n: random.standard_cauchy(n),
    "duplicates": lambda random, n: random.integers(0, 12, n).astype(float),
    "outwards": lambda random, n: np.arange(n) * np.where(np.arange(n) % 2, 1.0, -1.0),
}


def bursty_instants(random: np.random.Generator, n: int) -> Array:
    """Instants of a stream whose rate changes a thousandfold, so that windows of time grow and shrink."""
    gaps = random.integers(0, 3, n) * np.repeat(10 ** random.integers(0, 4, n // 997 + 1), 997)[:n]
    return np.cumsum(gaps)


# The thesis' examples 4.7.1 and 4.7.2.


class Table:
    """A summary as the thesis prints it."""

    def __init__(self, values: list[int], g: list[int], delta: list[int]) -> None:
        self.summary, self.size = Summary.make(20), len(values)
        for room, numbers in zip(self.summary, (to_keys(np.array(values, float)), g, delta), strict=True):
            room[: self.size] = numbers

    def rows(self) -> tuple[list[float], list[int], list[int]]:
        value, g, delta = (part[: self.size] for part in self.summary)
        return to_numbers(value).tolist(), g.tolist(), delta.tolist()

    def insert(self, value: float, n: int) -> None:
        self.size = insert_run(self.summary, self.size, n, to_keys(np.array([value])), 2 * 0.2, 0)

    def compress(self, n: int) -> None:
        self.size = compress(self.summary, self.size, n, 2 * 0.2, np.empty(20, np.int8))


def example() -> Table:
    table = Table([], [], [])
    for n, value in enumerate([2, 4, 100, 44, 76, 49, 10, 98, 27]):
        table.insert(value, n)
        if n + 1 == 5:  # a multiple of 1 / 2ε = 2.5
            table.compress(5)
    return table


def test_the_thesis_example_of_inserting_and_compressing() -> None:
    table = example()
    assert table.rows() == (
        [2, 4, 10, 27, 44, 49, 76, 98, 100], [1] * 9, [0, 0, 2, 3, 1, 2, 1, 2, 0],
    )  # fmt: skip
    table.insert(38, 9)
    assert table.rows() == (
        [2, 4, 10, 27, 38, 44, 49, 76, 98, 100], [1] * 10, [0, 0, 2, 3, 3, 1, 2, 1, 2, 0],
    )  # fmt: skip
    table.compress(10)
    assert table.rows() == (
        [2, 4, 10, 27, 44, 76, 98, 100], [1, 1, 1, 1, 2, 2, 1, 1], [0, 0, 2, 3, 1, 1, 2, 0],
    )  # fmt: skip
    table.insert(35, 10)
    assert table.rows() == (
        [2, 4, 10, 27, 35, 44, 76, 98, 100], [1, 1, 1, 1, 1, 2, 2, 1, 1], [0, 0, 2, 3, 4, 1, 1, 2, 0],
    )  # fmt: skip


def test_the_thesis_example_of_a_query() -> None:
    table = Table([2, 4, 10, 27, 35, 44, 76, 98, 100], [1, 1, 1, 1, 1, 2, 2, 1, 1], [0, 0, 2, 3, 4, 1, 1, 2, 0])
    value, g, delta = (np.array(row) for row in table.rows())
    lowest, highest = np.cumsum(g), np.cumsum(g) + delta
    assert lowest.tolist() == [1, 2, 3, 4, 5, 7, 9, 10, 11]
    assert highest.tolist() == [1, 2, 5, 7, 9, 8, 10, 12, 11]
    rank = math.ceil(0.5 * 11)
    near = (rank - lowest <= 0.2 * 11) & (highest - rank <= 0.2 * 11)
    assert (rank, value[near][0]) == (6, 27)
    # A rank cannot be above that of the next value, which the thesis leaves out; so 35 is known to be nearer.
    bounds = np.empty((2, 9), np.int64)
    bound_ranks(table.summary, 9, bounds[0], bounds[1])
    assert bounds.tolist() == [lowest.tolist(), [1, 2, 5, 6, 7, 8, 9, 10, 11]]


@given(st.integers(1, 500), st.data())
def test_bands_are_those_of_the_definition(p: int, data: st.DataObject) -> None:
    delta = data.draw(st.integers(1, p))
    band = band_of(delta, p)
    if band == 0:
        assert delta == p
    else:
        power, half = 2**band, 2 ** (band - 1)
        assert p - power - p % power < delta <= p - half - p % half


# Greenwald-Khanna.


def greenwald_khanna(eps: float, phi: Any = PHI) -> GreenwaldKhanna:
    return GreenwaldKhanna(wr.median("x"), accuracy=Accuracy(eps=eps), phi=phi)


@pytest.mark.parametrize(("data", "eps"), crossed(DATA, EPS))
def test_greenwald_khanna_is_within_eps_in_little_memory(data: str, eps: float) -> None:
    random = np.random.default_rng(1)
    x, synopsis, seen = DATA[data](random, 60_000), greenwald_khanna(eps), 0
    for end in (1, 7, 100, 1_000, 12_345, 60_000):
        synopsis.update(np.arange(end - seen), x[seen:end])
        seen = end
        assert rank_errors(synopsis.query(), PHI, x[:seen]).max() <= eps
        tuples = 11 / (2 * eps) * max(1, math.log2(2 * eps * seen))
        assert synopsis._state.cursors[0] <= max(64, tuples)


@given(
    st.lists(st.floats(), min_size=1, max_size=400), st.sampled_from([0.3, 0.1, 0.02]), st.lists(st.integers(0, 400))
)
@settings(max_examples=60)
def test_greenwald_khanna_keeps_to_the_contract(values: list[float], eps: float, cuts: list[int]) -> None:
    x = np.array(values)
    on = np.arange(x.size)
    assert_pieces_do_not_matter(lambda: greenwald_khanna(eps), on, x, cuts)
    answers = greenwald_khanna(eps).roll(on, x, 1)
    for i in range(x.size):
        assert rank_errors(answers[i], PHI, x[: i + 1]).max() <= eps


@given(
    st.lists(st.integers(0, 3000), min_size=2, max_size=4), st.sampled_from(sorted(DATA)), st.sampled_from([0.1, 0.01])
)
@settings(max_examples=40)
def test_merged_greenwald_khanna_are_within_eps_of_the_union(sizes: list[int], data: str, eps: float) -> None:
    random = np.random.default_rng(len(sizes))
    x = DATA[data](random, sum(sizes) + 1000)
    parts = np.split(x, np.cumsum(sizes))
    synopses = [greenwald_khanna(eps) for _ in parts]
    for synopsis, part in zip(synopses, parts, strict=True):
        synopsis.update(np.arange(part.size), part)
    for other in synopses[1:]:
        synopses[0].merge(other)
    assert synopses[0].n == x.size
    assert rank_errors(synopses[0].query(), PHI, x).max() <= eps
    synopses[0].update(np.arange(500), x[:500])
    assert rank_errors(synopses[0].query(), PHI, np.append(x, x[:500])).max() <= eps


def test_saving_greenwald_khanna_changes_nothing() -> None:
    x = np.random.default_rng(5).normal(size=3_000)
    kept, moved = greenwald_khanna(0.01), greenwald_khanna(0.01)
    for piece in np.split(x, [10, 64, 700, 2_222]):
        data = moved.save()
        moved = greenwald_khanna(0.01)
        moved.load(data)
        for synopsis in (kept, moved):
            synopsis.update(np.arange(piece.size), piece)
        assert kept.save() == moved.save()


def test_greenwald_khanna_refuses_what_it_cannot_do() -> None:
    with pytest.raises(UnsupportedError, match="it never drops values; pass no retention"):
        GreenwaldKhanna(wr.median("x"), Retention(5), Accuracy(eps=0.1))
    with pytest.raises(UnsupportedError, match=r"it answers quantiles only, not sum\('x'\)"):
        GreenwaldKhanna(wr.sum("x"), accuracy=Accuracy(eps=0.1))
    with pytest.raises(SpecError, match=r"eps of at most 0\.01, which this one guarantees"):
        greenwald_khanna(0.01).merge(greenwald_khanna(0.1))


# Arasu-Manku.


def fixed(length: int, eps: float, phi: Any = PHI) -> ArasuMankuFixed:
    return ArasuMankuFixed(wr.median("x"), Retention(length), Accuracy(eps=eps), phi=phi)


def variable(length: int, eps: float, phi: Any = PHI) -> ArasuMankuVariable:
    return ArasuMankuVariable(wr.median("x"), Retention(length, "time"), Accuracy(eps=eps), phi=phi)


MAKERS = {"fixed": fixed, "variable": variable}


def assert_within_eps(synopsis: Any, on: Array, x: Array, ends: Array, *, among: bool = True) -> None:
    seen = 0
    for end in ends:
        synopsis.update(on[seen:end], x[seen:end])
        seen = end
        window = window_at(on, x, end - 1, synopsis.retention)
        assert rank_errors(synopsis.query(), PHI, window, among=among).max() <= synopsis.accuracy.eps


@pytest.mark.parametrize(("data", "eps"), crossed(DATA, EPS))
def test_a_fixed_window_is_within_eps(data: str, eps: float) -> None:
    random = np.random.default_rng(2)
    for length, n in ((100, 3_000), (3_333, 20_000), (100_000, 230_000)):
        x = DATA[data](random, n)
        ends = np.unique(np.append(random.integers(1, n, 60), [1, 2, 5, length - 1, length, length + 1, n]))
        assert_within_eps(fixed(length, eps), np.arange(n), x, ends)


@pytest.mark.parametrize(("data", "eps"), crossed(DATA, EPS))
def test_a_window_of_time_is_within_eps_while_it_grows_and_shrinks(data: str, eps: float) -> None:
    random = np.random.default_rng(3)
    for length, n in ((100, 20_000), (30_000, 60_000), (10**7, 60_000)):
        x, on = DATA[data](random, n), bursty_instants(random, n)
        ends = np.unique(np.append(random.integers(1, n, 100), [1, 2, 5, n]))
        assert_within_eps(variable(length, eps), on, x, ends)


@given(
    st.sampled_from(sorted(MAKERS)),
    st.lists(st.tuples(st.integers(0, 9), st.floats()), min_size=1, max_size=300),
    st.integers(1, 400),
    st.sampled_from([0.9, 0.5, 0.1]),
)
def test_each_answer_of_a_roll_is_within_eps(kind: str, rows: list[tuple[int, float]], length: int, eps: float) -> None:
    on, x = np.cumsum([gap for gap, _ in rows]), np.array([value for _, value in rows])
    synopsis = MAKERS[kind](length, eps)
    answers = synopsis.roll(on, x, 1)
    for i in range(x.size):
        assert rank_errors(answers[i], PHI, window_at(on, x, i, synopsis.retention)).max() <= eps


@given(
    st.sampled_from(sorted(MAKERS)),
    st.sampled_from([20, 1_000, 5_000]),
    st.sampled_from([0.5, 0.1, 0.02]),
    st.integers(1, 700),
    st.lists(st.integers(0, 9_000), max_size=4),
)
@settings(max_examples=40)
def test_arasu_manku_keeps_to_the_contract(kind: str, length: int, eps: float, every: int, cuts: list[int]) -> None:
    random = np.random.default_rng(every)
    on, x = np.cumsum(random.integers(0, 3, 9_000)), random.normal(size=9_000)
    assert_pieces_do_not_matter(lambda: MAKERS[kind](length, eps), on, x, cuts)
    assert_rolls_as_it_updates(lambda: MAKERS[kind](length, eps), on, x, every + 100)
    assert_saving_changes_nothing(lambda: MAKERS[kind](length, eps), on, x, cuts)


def test_a_variable_one_keeps_to_a_count_as_well() -> None:
    x = np.random.default_rng(8).random(5_000)
    synopsis = ArasuMankuVariable(wr.median("x"), Retention(700), Accuracy(eps=0.05), phi=PHI)
    assert_within_eps(synopsis, np.arange(5_000), x, np.arange(1, 5_001, 61))


def published_bytes(eps: float, length: int, *, shrinks: bool) -> float:
    """The published bounds on memory, O(1/ε · log 1/ε · log R), if windows shrink times log εR, at 100 numbers each."""
    bound = 1 / eps * math.log2(1 / eps) * math.log2(length)
    return 8 * 100 * bound * (math.log2(eps * length) if shrinks else 1)


@pytest.mark.parametrize(("data", "eps"), crossed(["uniform", "descending", "duplicates"], EPS))
def test_memory_stays_within_the_published_bounds(data: str, eps: float) -> None:
    x = DATA[data](np.random.default_rng(4), 400_000)
    on = np.arange(x.size)
    for length in (10_000, 100_000):
        for kind in MAKERS:
            bound = int(published_bytes(eps, length, shrinks=kind == "variable"))
            assert_memory_is_bounded(lambda k=kind, n=length: MAKERS[k](n, eps), on, x, bound)


def test_several_quantiles_come_in_the_shape_they_were_asked_for() -> None:
    synopsis = fixed(100, 0.1, [[0.9, 0.1], [0.5, 0.0]])
    assert synopsis.query() is None
    synopsis.update(np.arange(10), np.arange(10.0))
    assert synopsis.query().tolist() == [[8, 0], [4, 0]]
    assert synopsis.query(0.5) == 4
    assert synopsis.roll(np.arange(4), np.arange(4.0), 2).shape == (2, 2, 2)
    assert ArasuMankuFixed(wr.quantile("x", 0.9), Retention(9), Accuracy(eps=0.1)).phi == 0.9


def test_nan_is_the_largest_value() -> None:
    synopsis = fixed(4, 0.1, [0.0, 0.5, 1.0])
    synopsis.update(np.arange(4), np.array([np.nan, -0.0, np.inf, -1.0]))
    np.testing.assert_array_equal(synopsis.query(), [-1.0, 0.0, np.nan])


def test_arasu_manku_refuses_what_it_cannot_do() -> None:
    accuracy = Accuracy(eps=0.1)
    with pytest.raises(UnsupportedError, match="by count only"):
        ArasuMankuFixed(wr.median("x"), Retention(5, "time"), accuracy)
    with pytest.raises(UnsupportedError, match=r"eps: expected at least 1e-6, got 0\.0"):
        ArasuMankuFixed(wr.median("x"), Retention(5))
    with pytest.raises(UnsupportedError, match="it answers quantiles only, not "):
        ArasuMankuVariable(wr.sum("x"), Retention(5), accuracy)
    with pytest.raises(SpecError, match=r"phi: expected a number from 0 to 1, or an array of such numbers, got 1\.5"):
        fixed(5, 0.1, 1.5)
    with pytest.raises(SpecError, match="every: expected an integer from 1"):
        fixed(5, 0.1).roll(np.arange(3), np.arange(3.0), 0)
    with pytest.raises(DataError, match="in order"):
        variable(5, 0.1).update(np.array([2, 1]), np.zeros(2))
    with pytest.raises(SourceError, match="length=5"):
        fixed(6, 0.1).load(fixed(5, 0.1).save())


# Heavy hitters.


def heavy_hitters(phi: float, eps: float, retention: Retention) -> ArasuMankuHeavyHitters:
    return ArasuMankuHeavyHitters(wr.heavy_hitters("x", phi), retention, Accuracy(eps=eps))


@pytest.mark.parametrize("kind", ["count", "time"])
@pytest.mark.parametrize(("phi", "eps"), [(0.2, 0.15), (0.1, 0.05), (0.03, 0.01), (0.004, 0.001)])
def test_heavy_hitters_are_all_there_and_no_light_ones(kind: Any, phi: float, eps: float) -> None:
    random = np.random.default_rng(6)
    for length in (100, 4_000, 100_000):
        n = min(2 * length + 5_000, 150_000)
        x = np.floor(random.zipf(1.3, n).clip(0, 1e6)) + np.repeat(random.integers(0, 3, n // 500 + 1), 500)[:n]
        on = np.cumsum(random.integers(0, 3, n))
        synopsis, seen = heavy_hitters(phi, eps, Retention(length, kind)), 0
        for end in np.unique(np.append(random.integers(1, n, 25), [1, 3, n])):
            synopsis.update(on[seen:end], x[seen:end])
            seen = end
            assert_heavy(synopsis.query(), phi, eps, window_at(on, x, end - 1, synopsis.retention))


@given(st.lists(st.integers(0, 6), min_size=1, max_size=200), st.integers(1, 250), st.integers(1, 20))
@settings(max_examples=60)
def test_heavy_hitters_of_small_windows_are_exact(values: list[int], length: int, every: int) -> None:
    x = np.array(values, float)
    synopsis = heavy_hitters(0.3, 0.01, Retention(length))
    answers = synopsis.roll(np.arange(x.size), x, every)
    for row, answer in enumerate(answers):
        window = x[max(0, (row + 1) * every - length) : (row + 1) * every]
        assert answer == wr.heavy_hitters("x", 0.3).compute(window)
    moved = heavy_hitters(0.3, 0.01, Retention(length))
    moved.load(synopsis.save())
    assert moved.query() == synopsis.query()


def test_saving_heavy_hitters_changes_nothing() -> None:
    random = np.random.default_rng(9)
    x, on = random.zipf(1.5, 30_000).astype(float), np.cumsum(random.integers(0, 3, 30_000))
    kept, moved = (heavy_hitters(0.05, 0.02, Retention(9_000, "time")) for _ in range(2))
    for part in np.split(np.arange(30_000), np.sort(random.integers(0, 30_000, 9))):
        data = moved.save()
        moved = heavy_hitters(0.05, 0.02, Retention(9_000, "time"))
        moved.load(data)
        for synopsis in (kept, moved):
            synopsis.update(on[part], x[part])
        assert moved.query() == kept.query()


def test_heavy_hitters_refuse_what_they_cannot_do() -> None:
    with pytest.raises(UnsupportedError, match=r"eps: expected a number below phi=0\.1, got 0\.2"):
        heavy_hitters(0.1, 0.2, Retention(5))
    with pytest.raises(UnsupportedError, match="it answers heavy hitters only, not "):
        ArasuMankuHeavyHitters(wr.median("x"), Retention(5), Accuracy(eps=0.1))


# KLL panes.


def kll(length: int, accuracy: Accuracy) -> KLLPanes:
    return KLLPanes(wr.median("x"), Retention(length), accuracy, phi=PHI)


@pytest.mark.parametrize("eps", [0.1, 0.02])
@pytest.mark.parametrize("data", ["uniform", "ascending", "descending", "duplicates", "heavy-tailed"])
def test_kll_panes_are_within_eps_but_for_delta(data: str, eps: float) -> None:
    """With a delta of 1e-9, the library's own random bits never make this test fail."""
    random = np.random.default_rng(7)
    for length, n in ((50, 500), (5_000, 20_000)):
        x = DATA[data](random, n)
        ends = np.unique(np.append(random.integers(1, n, 20), [1, 2, length, n]))
        assert_within_eps(kll(length, Accuracy(eps, 1e-9)), np.arange(n), x, ends, among=False)


def test_saved_kll_panes_answer_the_same_and_go_on() -> None:
    x = np.random.default_rng(3).normal(size=9_000)
    kept = kll(2_000, Accuracy(0.05, 1e-9))
    kept.update(np.arange(6_000), x[:6_000])
    moved = kll(2_000, Accuracy(0.05, 1e-9))
    moved.load(kept.save())
    assert moved.save() == kept.save()
    answers = moved.roll(np.arange(3_000), x[6_000:], 100)
    for row, answer in enumerate(answers):
        window = x[6_000 + (row + 1) * 100 - 2_000 : 6_000 + (row + 1) * 100]
        assert rank_errors(answer, PHI, window, among=False).max() <= 0.05


def test_kll_panes_refuse_what_they_cannot_do() -> None:
    with pytest.raises(UnsupportedError, match="must be above 0; it is randomised"):
        kll(100, Accuracy(0.1))
    with pytest.raises(UnsupportedError, match="by count only"):
        KLLPanes(wr.median("x"), Retention(5, "time"), Accuracy(0.1, 0.1))
    with pytest.raises(UnsupportedError, match="no sketch of the library is so exact"):
        kll(100, Accuracy(0.00001, 0.1))
    with pytest.raises(DataError, match="do not accept NaN"):
        kll(100, Accuracy(0.1, 0.1)).update(np.arange(1), np.array([np.nan]))
    assert kll(100, Accuracy(0.1, 0.1)).query() is None


def test_a_synopsis_that_was_saved_empty_takes_elements_of_any_time() -> None:
    saved = ArasuMankuVariable(wr.median("x"), Retention(5, "time"), Accuracy(0.1)).save()
    synopsis = ArasuMankuVariable(wr.median("x"), Retention(5, "time"), Accuracy(0.1))
    synopsis.load(saved)
    synopsis.update(np.array([-(2**63) + 10]), np.array([7.0]))
    assert synopsis.query() == 7.0
