"""What the synopses of quantiles have in common: which quantiles they are asked for, and what they need to start."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from windrow.aggregates import AggregateFunction, Median
from windrow.errors import SpecError, UnsupportedError
from windrow.synopses.base import EXACT, Accuracy, Instants, Numbers, Retention, Synopsis
from windrow.synopses.elements import NEVER, check_elements, check_every, check_order
from windrow.synopses.total_order import Keys, to_keys, to_numbers

Phi = float | npt.ArrayLike


class QuantileSynopsis(Synopsis):
    """A synopsis of quantiles. The quantile of `phi` is the value of rank ⌈phi·N⌉ of the N in the window.

    `phi`, one number or an array of them, is the aggregate's `q` unless it is given.
    """

    def __init__(
        self,
        aggregate: AggregateFunction,
        retention: Retention,
        accuracy: Accuracy = EXACT,
        *,
        seed: int = 0,
        phi: Phi | None = None,
    ) -> None:
        given = phi is not None
        obstacle = self.why_not_keep(retention, accuracy) if given else self.why_not(aggregate, retention, accuracy)
        if obstacle:
            raise UnsupportedError(f"{type(self).__name__} cannot keep {aggregate!r} over {retention}: {obstacle}")
        self.aggregate, self.retention, self.accuracy, self.seed = aggregate, retention, accuracy, seed
        self.newest = NEVER
        self.phi = check_phi("phi" if given else "q", phi if given else _share_of(aggregate))

    @classmethod
    def why_not(cls, aggregate: AggregateFunction, retention: Retention, accuracy: Accuracy = EXACT) -> str | None:
        """Why this synopsis does not apply; None if it does."""
        if _share_of(aggregate) is None:
            return f"it tells quantiles, and {aggregate!r} is none"
        return cls.why_not_keep(retention, accuracy)

    @classmethod
    def why_not_keep(cls, retention: Retention, accuracy: Accuracy) -> str | None:
        """Why quantiles cannot be kept over this retention and this accurately; None if they can."""
        if retention.kind not in cls.retentions:
            return f"it keeps to retentions by {' or '.join(sorted(cls.retentions))} only"
        return why_not_eps(accuracy)

    @abstractmethod
    def query(self, phi: Phi | None = None) -> Any:
        """The quantiles of the elements in the window now, of the aggregate or of another `phi`; None without any."""


class CompiledQuantiles(QuantileSynopsis):
    """A synopsis of quantiles whose kernels take values as keys of the same order."""

    def query(self, phi: Phi | None = None) -> Any:
        """The quantiles of the elements in the window now, of the aggregate or of another `phi`; None without any."""
        asked = self.phi if phi is None else check_phi("phi", phi)
        rising = np.argsort(asked, axis=None)
        found = np.empty(asked.size, np.int64)
        if not self._answer(np.ravel(asked)[rising], found):
            return None
        answers = np.empty(asked.size)
        answers[rising] = to_numbers(found)
        return answers.reshape(asked.shape) if asked.ndim else float(answers[0])

    def update(self, on: Instants, x: Numbers) -> None:
        """Take in the next elements, in order."""
        self._take(*self._elements(on, x))

    def roll(self, on: Instants, x: Numbers, every: int) -> npt.NDArray[Any]:
        """Take in elements and answer after each `every` of them: one row a query if there are several `phi`."""
        check_every(every)
        rising = np.argsort(self.phi, axis=None)
        found = np.empty((len(x) // every, self.phi.size), np.int64)
        self._roll(*self._elements(on, x), every, np.ravel(self.phi)[rising], found)
        answers = np.empty(found.shape)
        answers[:, rising] = to_numbers(found)
        return answers.reshape(found.shape[0], *self.phi.shape)

    def _elements(self, on: Instants, x: Numbers) -> tuple[Instants, Keys]:
        """Elements as the kernels take them, if they are ones that can come now."""
        on, x = np.ascontiguousarray(on, np.int64), np.asarray(x)
        check_elements(on, x, np.dtype(np.float64))
        if self.timed:
            self.newest = check_order(on, self.newest)
        return on, to_keys(x)

    @abstractmethod
    def _take(self, on: Instants, keys: Keys) -> None:
        """Take in elements whose values are given as keys of the same order."""

    @abstractmethod
    def _answer(self, phi: Numbers, out: Keys) -> bool:
        """Find the keys of the quantiles of rising `phi`; False if there are no elements."""

    @abstractmethod
    def _roll(self, on: Instants, keys: Keys, every: int, phi: Numbers, out: Keys) -> None:
        """Take in elements and find the keys of the quantiles after each `every` of them, in rows of `out`."""


def _share_of(aggregate: AggregateFunction) -> float | None:
    """Which quantile an aggregate is; None if it is none."""
    return 0.5 if isinstance(aggregate, Median) else getattr(aggregate, "q", None)


def check_phi(name: str, phi: Any) -> npt.NDArray[np.float64]:
    """The quantiles that are asked for, as an array of any shape; refuses what is none."""
    try:
        numbers = np.asarray(phi, np.float64)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    if not numbers.size or not ((numbers >= 0) & (numbers <= 1)).all():
        raise SpecError(f"{name}: {phi!r} is no quantile; it must be a number from 0 to 1, or an array of such numbers")
    return numbers


def why_not_eps(accuracy: Accuracy) -> str | None:
    """Why so small an error cannot be kept; None if it can."""
    if accuracy.eps < 1e-6:
        return f"eps: {accuracy.eps!r} must be at least 1e-6; where no error is allowed, take an exact synopsis"
    return None
