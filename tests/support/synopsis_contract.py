"""The contract of every synopsis, as functions that the tests of each can call.

A `make` is a function without arguments that gives a new synopsis; it is called often, and each must be like the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from windrow.aggregates import AggregateFunction
from windrow.synopses import Retention, Synopsis
from windrow.synopses.total_order import to_keys

Array = npt.NDArray[Any]
Make = Callable[[], Synopsis]


def pieces(n: int, cuts: Sequence[int]) -> list[slice]:
    """A stream of `n` elements in pieces that end at the cuts, some of them empty."""
    ends = [0, *sorted(min(cut, n) for cut in cuts), n]
    return [slice(begin, end) for begin, end in pairwise(ends)]


def assert_same(found: Any, wanted: Any, tolerance: float = 0.0) -> None:
    """Answers are the same, or within a relative tolerance; None and NaN both stand for no answer."""
    a, b = (np.array([np.nan if v is None else v for v in np.ravel(values)], np.float64) for values in (found, wanted))
    if tolerance:
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(a, b)


def assert_pieces_do_not_matter(make: Make, on: Array, x: Array, cuts: Sequence[int], tolerance: float = 0.0) -> None:
    """Any cut of the elements into updates gives the same answer as one update, and as the last of a roll."""
    whole, cut, rolled = make(), make(), make()
    whole.update(on, x)
    for piece in pieces(x.size, cuts):
        cut.update(on[piece], x[piece])
    answers = rolled.roll(on, x, 1)
    assert_same(cut.query(), whole.query(), tolerance)
    assert_same(rolled.query(), whole.query(), tolerance)
    if x.size:
        assert_same(answers[-1], whole.query(), tolerance)


def assert_rolls_as_it_updates(make: Make, on: Array, x: Array, every: int, tolerance: float = 0.0) -> None:
    """A roll answers what updates of `every` elements and queries in turn do."""
    rolled, stepped = make(), make()
    answers = rolled.roll(on, x, every)
    assert len(answers) == x.size // every
    for i in range(len(answers)):
        stepped.update(on[i * every : (i + 1) * every], x[i * every : (i + 1) * every])
        assert_same(answers[i], stepped.query(), tolerance)


def assert_saving_changes_nothing(make: Make, on: Array, x: Array, cuts: Sequence[int]) -> None:
    """A synopsis that is saved and loaded between any two steps continues as if nothing had happened."""
    kept, moved = make(), make()
    for piece in pieces(x.size, cuts):
        data = moved.save()
        assert isinstance(data, bytes)
        moved = make()
        moved.load(data)
        kept.update(on[piece], x[piece])
        moved.update(on[piece], x[piece])
        assert_same(moved.query(), kept.query())
    if x.size:
        after = on + on[-1] - on[0]
        assert_same(moved.roll(after, x, 1), kept.roll(after, x, 1))


def window_at(on: Array, x: Array, i: int, retention: Retention) -> Array:
    """The elements in the window once element `i` has come, by the definition."""
    if retention.kind == "count":
        return x[max(0, i + 1 - retention.length) : i + 1]
    return x[: i + 1][on[: i + 1] > on[i] - retention.length]


def window_until(on: Array, x: Array, moment: int, retention: Retention | None) -> Array:
    """The elements in the window that ends at a moment, by the definition."""
    come = x[on <= moment]
    if retention is None:
        return come
    return (
        come[-retention.length :] if retention.kind == "count" else x[(on <= moment) & (on > moment - retention.length)]
    )


def recomputed(aggregate: AggregateFunction, on: Array, x: Array, retention: Retention, every: int = 1) -> list[Any]:
    """The answers of a roll, each from the elements in the window and nothing else."""
    ends = range(every - 1, x.size, every)
    return [aggregate.compute(window_at(on, x, i, retention)) for i in ends]


def assert_exact(make: Make, on: Array, x: Array, every: int = 1, tolerance: float = 0.0) -> None:
    """The answers are those of recomputation."""
    synopsis = make()
    wanted = recomputed(synopsis.aggregate, on, x, synopsis.retention, every)
    assert_same(synopsis.roll(on, x, every), wanted, tolerance)


def assert_memory_is_bounded(make: Make, on: Array, x: Array, at_most: int) -> None:
    """The memory stays below a bound however long the stream is."""
    synopsis = make()
    for piece in pieces(x.size, range(0, x.size, 1 + x.size // 20)):
        synopsis.update(on[piece], x[piece])
        synopsis.query()
        assert synopsis.nbytes <= at_most


def assert_asked_alike(make: Make, on: Array, x: Array, moments: Array, tolerance: float = 0.0) -> list[Any]:
    """Answers at moments are those of updates, advances and queries in turn, now and then saved and loaded between."""
    answers = make().answers(on, x, moments).to_pylist()
    assert len(answers) == moments.size
    stepped, seen = make(), 0
    for i, (moment, answer) in enumerate(zip(moments.tolist(), answers, strict=True)):
        upto = int(np.searchsorted(on, moment, "right"))
        stepped.update(on[seen:upto], x[seen:upto])
        stepped.advance(moment)
        seen = upto
        if i % 4 == 0:
            data, stepped = stepped.save(), make()
            stepped.load(data)
        if tolerance:
            assert_same(stepped.query(), answer, tolerance)
        else:
            np.testing.assert_equal(stepped.query(), answer)
    return answers


def rank_errors(found: Array, phi: Array, window: Array, *, among: bool = True) -> Array:
    """By how many ranks values are off, as a share of the window."""
    ordered = to_keys(np.sort(window))
    wanted = np.clip(np.ceil(phi * window.size), 1, window.size)
    first = np.searchsorted(ordered, to_keys(found), "left") + 1
    last = np.searchsorted(ordered, to_keys(found), "right")
    assert not among or (first <= last).all(), "an answer must be one of the values"
    return np.maximum(0, np.maximum(first - wanted, wanted - last)) / window.size


def assert_heavy(found: list[dict[str, float]], phi: float, eps: float, window: Array) -> None:
    """Heavy hitters are all there, with counts within eps, and no value is that is too light."""
    values, counts = np.unique(window, return_counts=True)
    often = dict(zip(values.tolist(), counts.tolist(), strict=True))
    reported = {row["value"]: row["count"] for row in found}
    assert {v for v, c in often.items() if c >= phi * window.size} <= reported.keys()
    for value, count in reported.items():
        assert often[value] >= (phi - eps) * window.size
        assert often[value] - eps * window.size <= count <= often[value]
    assert list(reported.values()) == sorted(reported.values(), reverse=True)
