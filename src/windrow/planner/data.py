"""Streams of numbers to try synopses on: the thesis' uniform ones, and harder ones beyond it.

Values of uniform, Gaussian and heavy-tailed streams are independent of each other, so whatever a synopsis remembers of
them tells of the window. In sorted and bursty ones the window is unlike what was before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.random import Generator

from windrow.synopses.base import Numbers

RATE = 320
"""How many elements a second the thesis' streams have."""
QUIET, BURST = 60 * RATE, 5 * RATE
"""How many elements a quiet period and a burst have, on average."""
TAIL = 2.5
"""The exponent of the tail: there is a variance, and there are no third and fourth moments."""


def _uniform(rng: Generator, n: int) -> Numbers:
    return rng.random(n)


def _gaussian(rng: Generator, n: int) -> Numbers:
    return rng.standard_normal(n)


def _sorted(rng: Generator, n: int) -> Numbers:
    """Every element is larger than all before it."""
    return np.sort(rng.random(n))


def _bursty(rng: Generator, n: int) -> Numbers:
    """Around 0 for a minute or so, then around 20 for some seconds."""
    periods = 2 * (n // (QUIET + BURST) + 1)
    lengths = np.empty(0, np.int64)
    while lengths.sum() < n:
        more = np.column_stack([rng.geometric(1 / QUIET, periods), rng.geometric(1 / BURST, periods)])
        lengths = np.append(lengths, more.ravel())
    in_burst = np.repeat(np.arange(lengths.size) % 2, lengths)[:n]
    return rng.standard_normal(n) * (1 + 3 * in_burst) + 20 * in_burst


def _heavy_tailed(rng: Generator, n: int) -> Numbers:
    """Pareto's law: a few elements make up most of the variance."""
    return 1 + rng.pareto(TAIL, n)


STREAMS: Mapping[str, Callable[[Generator, int], Numbers]] = MappingProxyType(
    {
        "uniform": _uniform,
        "gaussian": _gaussian,
        "sorted": _sorted,
        "bursty": _bursty,
        "heavy-tailed": _heavy_tailed,
    }
)
"""All kinds of streams, by name; the first is the thesis'."""


def make_stream(kind: str, n: int, seed: int = 0) -> Numbers:
    """The first `n` elements of a stream of one kind; the same seed makes the same stream.

    >>> make_stream("sorted", 3, seed=1).round(2).tolist() == sorted(make_stream("sorted", 3, seed=1).round(2).tolist())
    True
    """
    return STREAMS[kind](np.random.default_rng([seed, list(STREAMS).index(kind)]), n)
