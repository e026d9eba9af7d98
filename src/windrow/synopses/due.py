"""When answers are due among elements, and room for them: what the loop of every synopsis is given besides elements.

There is one loop per synopsis. Updates, queries, rolls, answers at moments and time that passes without an element
differ only in which answers are due.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import njit

from windrow.arrays import Array
from windrow.synopses.jit import INLINED

NO_INSTANTS = np.empty(0, np.int64)
NOW = np.zeros(1, np.int64)
"""The end of an answer that is due before any further element."""


class Due(NamedTuple):
    """Answers that are due, in order."""

    ends: npt.NDArray[np.int64]
    """After how many of the elements each is due; this never falls."""
    moments: npt.NDArray[np.int64]
    """To which moment time advances before each; empty where time does not matter."""
    answers: Array
    """Room for the answers."""
    sizes: npt.NDArray[np.int64]
    """How many values each answer is of."""
    given: npt.NDArray[np.int64]
    """One number: how many of the answers have been given."""

    @classmethod
    def make(cls, ends: Array, moments: Array, answers: Array) -> Due:
        """Answers of which none has been given."""
        return cls(ends, moments, answers, np.zeros(ends.size, np.int64), np.zeros(1, np.int64))


@njit(cache=True, **INLINED)
def is_due(due: Due, taken: int) -> bool:
    """Whether an answer is due once so many elements have been taken in."""
    given = due.given[0]
    return bool(given < due.ends.size and due.ends[given] <= taken)


@njit(cache=True, **INLINED)
def give(due: Due, answer: Any, size: int) -> None:
    """Write down the answer that is due."""
    due.answers[due.given[0]] = answer
    count_given(due, size)


@njit(cache=True, **INLINED)
def count_given(due: Due, size: int) -> None:
    """Advance to the next answer, once this one has been written."""
    given = due.given[0]
    due.sizes[given] = size
    due.given[0] = given + 1


@njit(cache=True)
def ends_at(on: Array, moments: Array) -> Array:
    """How many of the elements, which are in order, are up to each moment."""
    ends = np.empty(moments.size, np.int64)
    end = 0
    for i in range(moments.size):
        while end < on.size and on[end] <= moments[i]:
            end += 1
        ends[i] = end
    return ends


def after_each(every: int, n: int) -> Array:
    """The ends of answers after each `every` of `n` elements."""
    return np.arange(every, n + 1, every)


def nullable(answers: Array, known: npt.NDArray[np.bool_]) -> pa.Array:
    """Answers as an Arrow array, with null for those that are not known: NaN can be an answer."""
    return pa.array(answers, mask=None if known.all() else ~known, from_pandas=False)
