"""The exact answers for sliding windows, recomputed with numpy, and the errors of approximate ones.

The thesis defines the error of a variance V (definition 4.2.1) as |V - V̂| / V, and that of a quantile (definition
4.2.2) by ranks: |r - r̂| / R for the requested rank r = ⌈φR⌉ and the rank r̂ of the answer among the R values of the
window. Its definition 5.3.3 of the observed error, |exact - approximate| / exact, does not say of what. For quantiles
it must be ranks too: the smallest of R uniform numbers is about 1 / R, and the smallest of a sample several times that,
so an error by values would exceed 1 for φ = 0, where table 6.18 has 0.00009. (Its definition 5.3.4 of the observed δ
lost a "not": it is the share of answers that do *not* respect ε.)
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from windrow.synopses.base import Numbers


class Truth:
    """The windows of a stream that slide by one minute and last an integral number of minutes.

    Everything is computed per minute and then combined per window, so each value is visited once.
    """

    def __init__(self, x: Numbers, slide: int) -> None:
        self.x, self.slide = x, slide
        self._minutes = x.reshape(-1, slide)

    @cached_property
    def _moments(self) -> tuple[Numbers, Numbers]:
        """The mean of each minute, and the sum of squared deviations from it."""
        means = self._minutes.mean(axis=1)
        return means, np.array([np.square(row - mean).sum() for row, mean in zip(self._minutes, means, strict=True)])

    @cached_property
    def _ordered(self) -> Numbers:
        return np.sort(self._minutes, axis=1)

    def variances(self, minutes: int, measurements: int) -> Numbers:
        """Return the variance of each window, starting with the first full one."""
        means, squares = (sliding_window_view(part, minutes)[:measurements] for part in self._moments)
        between = self.slide * np.square(means - means.mean(axis=1, keepdims=True)).sum(axis=1)
        return np.asarray((squares.sum(axis=1) + between) / (minutes * self.slide - 1))

    def variance_errors(self, answers: Numbers, minutes: int) -> Numbers:
        """Return the relative error of each answer from the variance of its window."""
        exact = self.variances(minutes, len(answers))
        return np.asarray(np.abs(answers - exact) / exact)

    def rank_errors(self, answers: Numbers, phi: Numbers, minutes: int) -> Numbers:
        """Return how far each answer's rank is from the requested one, as a share of the window: one row per window.

        An answer that occurs several times has several ranks, and one that is not in the window is between two; the
        nearest counts.
        """
        below, up_to = np.zeros(answers.shape, np.int64), np.zeros(answers.shape, np.int64)
        for i, minute in enumerate(self._ordered[: len(answers) + minutes - 1]):
            # This minute belongs to the windows that end with it or up to `minutes` - 1 later.
            windows = slice(max(0, i - minutes + 1), i + 1)
            below[windows] += np.searchsorted(minute, answers[windows], "left")
            up_to[windows] += np.searchsorted(minute, answers[windows], "right")
        size = minutes * self.slide
        ranks = np.maximum(1, np.ceil(phi * size)).astype(np.int64)
        lowest, highest = np.minimum(below + 1, up_to), np.maximum(below + 1, up_to)
        return np.asarray(np.maximum(0, np.maximum(lowest - ranks, ranks - highest)) / size)
