"""What the synopses of quantiles have in common: which quantiles they are asked for, and what they need to start."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates import AggregateFunction, Median
from windrow.errors import SpecError, UnsupportedError
from windrow.synopses.base import EXACT, Accuracy, Instants, Numbers, Retention, Synopsis
from windrow.synopses.checks import NEVER, as_instants, check_elements, check_every, check_order
from windrow.synopses.due import NO_INSTANTS, NOW, Due, after_each, nullable
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
        answers, known = self._find(NO_INSTANTS, NO_INSTANTS, asked, NOW)
        if not known[0]:
            return None
        return answers[0] if asked.ndim else float(answers[0])

    def update(self, on: Instants, x: Numbers) -> None:
        """Take in the next elements, in order."""
        self._find(*self._elements(on, x), self.phi, NO_INSTANTS)

    def roll(self, on: Instants, x: Numbers, every: int) -> npt.NDArray[Any]:
        """Take in elements and answer after each `every` of them: one row a query if there are several `phi`."""
        check_every(every)
        return self._find(*self._elements(on, x), self.phi, after_each(int(every), len(x)))[0]

    def _answer_at(self, on: Instants, x: Any, ends: Instants, moments: Instants) -> pa.Array:
        answers, known = self._find(*self._elements(on, x), self.phi, ends, moments)
        if not self.phi.ndim:
            return nullable(answers, known)
        return pa.array([row.tolist() if valid else None for row, valid in zip(answers, known, strict=True)])

    def _expire(self, now: int) -> None:
        self._find(NO_INSTANTS, NO_INSTANTS, self.phi, NOW, np.array([now]))

    def _find(
        self, on: Instants, keys: Keys, phi: Numbers, ends: Instants, moments: Instants = NO_INSTANTS
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
        """Take in elements; the quantiles that are due, and for which of them there were elements."""
        rising = np.argsort(phi, axis=None)
        due = Due.make(ends, moments, np.zeros((ends.size, phi.size), np.int64))
        self._run(on, keys, np.ravel(phi)[rising], due)
        if moments.size:
            self.newest = max(self.newest, int(moments[-1]))
        answers = np.empty(due.answers.shape)
        answers[:, rising] = to_numbers(due.answers)
        return answers.reshape(ends.size, *phi.shape), due.sizes > 0

    def _elements(self, on: Instants, x: Numbers) -> tuple[Instants, Keys]:
        """Elements as the kernels take them, if they are ones that can come now."""
        on, x = as_instants(on), np.asarray(x)
        check_elements(on, x, np.dtype(np.float64))
        if self.timed:
            self.newest = check_order(on, self.newest)
        return on, to_keys(x)

    @abstractmethod
    def _run(self, on: Instants, keys: Keys, phi: Numbers, due: Due) -> None:
        """Take in elements whose values are given as keys, and give keys of the quantiles of rising `phi` when due."""


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
