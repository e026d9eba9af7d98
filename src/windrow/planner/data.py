"""Streams of numbers to test synopses on: the thesis' uniform one, and harder ones.

The values of uniform, Gaussian and heavy-tailed streams are independent, so everything that a synopsis remembers
represents the window. In sorted and bursty streams, the window differs from what preceded it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.random import Generator

from windrow.synopses.base import Numbers

RATE = 320
"""Values per second of the thesis' streams."""
QUIET, BURST = 60 * RATE, 5 * RATE
"""Average number of values in a quiet period and in a burst."""
TAIL = 2.5
"""Exponent of the tail: the variance is finite, the third and fourth moments are not."""


def _uniform(rng: Generator, n: int) -> Numbers:
    return rng.random(n)


def _gaussian(rng: Generator, n: int) -> Numbers:
    return rng.standard_normal(n)


def _sorted(rng: Generator, n: int) -> Numbers:
    """Draw values in ascending order."""
    return np.sort(rng.random(n))


def _bursty(rng: Generator, n: int) -> Numbers:
    """Draw values around 0 for about a minute, then around 20 for a few seconds."""
    periods = 2 * (n // (QUIET + BURST) + 1)
    lengths = np.empty(0, np.int64)
    while lengths.sum() < n:
        more = np.column_stack([rng.geometric(1 / QUIET, periods), rng.geometric(1 / BURST, periods)])
        lengths = np.append(lengths, more.ravel())
    in_burst = np.repeat(np.arange(lengths.size) % 2, lengths)[:n]
    return rng.standard_normal(n) * (1 + 3 * in_burst) + 20 * in_burst


def _heavy_tailed(rng: Generator, n: int) -> Numbers:
    """Draw from a Pareto distribution: a few values account for most of the variance."""
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
"""All kinds of streams by name; the first is the thesis'."""


def make_stream(kind: str, n: int, seed: int = 0) -> Numbers:
    """Return the first `n` values of a stream; equal seeds give equal streams.

    >>> make_stream("sorted", 3, seed=1).round(2).tolist() == sorted(
    ...     make_stream("sorted", 3, seed=1).round(2).tolist()
    ... )
    True
    """
    return STREAMS[kind](np.random.default_rng([seed, list(STREAMS).index(kind)]), n)
