"""The answers due while a synopsis takes values, and room for them.

Each synopsis has one loop. Updates, queries, rolls, answers at given moments and advances without a value differ only
in which answers are due.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import njit

from windrow.arrays import Array
from windrow.jit import INLINED

NO_INSTANTS = np.empty(0, np.int64)
NOW = np.zeros(1, np.int64)
"""The end of an answer that is due before the next value."""


class Due(NamedTuple):
    """The answers that are due, in order."""

    ends: npt.NDArray[np.int64]
    """The number of values after which each is due; never decreases."""
    moments: npt.NDArray[np.int64]
    """The time to advance to before each; empty where time does not matter."""
    answers: Array
    """Room for the answers."""
    sizes: npt.NDArray[np.int64]
    """The number of values behind each answer."""
    answered: npt.NDArray[np.int64]
    """One number: how many answers there are so far."""

    @classmethod
    def make(cls, ends: Array, moments: Array, answers: Array) -> Due:
        """Return answers of which none has been given."""
        return cls(ends, moments, answers, np.zeros(ends.size, np.int64), np.zeros(1, np.int64))


@njit(cache=True, **INLINED)
def is_due(due: Due, taken: int) -> bool:
    """Return whether an answer is due once `taken` values have been taken."""
    answered = due.answered[0]
    return bool(answered < due.ends.size and due.ends[answered] <= taken)


@njit(cache=True, **INLINED)
def give(due: Due, answer: Any, size: int) -> None:
    """Write the answer that is due."""
    due.answers[due.answered[0]] = answer
    count_answer(due, size)


@njit(cache=True, **INLINED)
def count_answer(due: Due, size: int) -> None:
    """Advance to the next answer after the current one has been written."""
    answered = due.answered[0]
    due.sizes[answered] = size
    due.answered[0] = answered + 1


@njit(cache=True)
def ends_at(on: Array, moments: Array) -> Array:
    """Return, per moment, the number of values up to it; values are in order."""
    ends = np.empty(moments.size, np.int64)
    end = 0
    for i in range(moments.size):
        while end < on.size and on[end] <= moments[i]:
            end += 1
        ends[i] = end
    return ends


def after_each(every: int, n: int) -> Array:
    """Return the ends of answers due after every `every` of `n` values."""
    return np.arange(every, n + 1, every)


def nullable(answers: Array, defined: npt.NDArray[np.bool_]) -> pa.Array:
    """Return answers as an Arrow array, null where undefined: NaN can be an answer."""
    return pa.array(answers, mask=None if defined.all() else ~defined, from_pandas=False)
