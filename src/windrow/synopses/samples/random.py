"""Random numbers for samples, from a generator whose whole state is one number, so that it can be saved with them."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numba import njit

from windrow.jit import INLINED

Random: TypeAlias = npt.NDArray[np.uint64]

STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
SECOND_FACTOR = np.uint64(0x94D049BB133111EB)
PART = 2.0**-53


@njit(cache=True, **INLINED)
def scramble(number: Any) -> Any:
    """Return a number whose bits depend on all bits of another, one to one (the finalizer of SplitMix64)."""
    number = (number ^ (number >> np.uint64(30))) * FIRST_FACTOR
    number = (number ^ (number >> np.uint64(27))) * SECOND_FACTOR
    return number ^ (number >> np.uint64(31))


@njit(cache=True, **INLINED)
def uniform(random: Random) -> float:
    """Return the next random number, above 0 and below 1: SplitMix64, whose state advances by a constant odd step."""
    random[0] += STEP
    return float((float(scramble(random[0]) >> np.uint64(11)) + 0.5) * PART)


@njit(cache=True, **INLINED)
def below(random: Random, n: int) -> int:
    """Return a random integer from 0 to `n` - 1."""
    return int(uniform(random) * n)


@njit(cache=True, **INLINED)
def failures(random: Random, probability: float) -> int:
    """Return how often an event of this probability fails before it first succeeds, at most 2^62 times."""
    if probability >= 1.0:
        return 0
    return int(min(np.floor(np.log(uniform(random)) / np.log1p(-probability)), 2.0**62))


def seeded(seed: int) -> Random:
    """Return the generator for a seed; different seeds give unrelated generators.

    >>> random = seeded(7)
    >>> 0 < uniform(random) < 1
    True
    """
    with np.errstate(over="ignore"):
        return np.array([scramble(np.uint64(seed % 2**64) + STEP)], np.uint64)
