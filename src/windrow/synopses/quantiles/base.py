"""The base of quantile synopses: the requested quantiles, and compiled kernels over keys."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

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
    """A synopsis of quantiles. The `phi`-quantile is the value of rank ⌈phi·N⌉ among the N values in the window.

    `phi` is one number or an array, and defaults to the aggregate's `q`.
    """

    example_aggregate: ClassVar[AggregateFunction] = Median("x")

    def __init__(
        self,
        aggregate: AggregateFunction,
        retention: Retention,
        accuracy: Accuracy = EXACT,
        *,
        seed: int = 0,
        phi: Phi | None = None,
    ) -> None:
        has_phi = phi is not None
        obstacle = self.why_not_keep(retention, accuracy) if has_phi else self.why_not(aggregate, retention, accuracy)
        if obstacle:
            raise UnsupportedError(f"{type(self).__name__} does not support {aggregate!r} over {retention}: {obstacle}")
        self.aggregate, self.retention, self.accuracy, self.seed = aggregate, retention, accuracy, seed
        self.newest = NEVER
        self.phi = check_phi("phi" if has_phi else "q", phi if has_phi else _share_of(aggregate))

    @classmethod
    def why_not(cls, aggregate: AggregateFunction, retention: Retention, accuracy: Accuracy = EXACT) -> str | None:
        """Return why this synopsis does not apply, or None if it applies."""
        if _share_of(aggregate) is None:
            return f"it answers quantiles only, not {aggregate!r}"
        return cls.why_not_keep(retention, accuracy)

    @classmethod
    def why_not_keep(cls, retention: Retention, accuracy: Accuracy) -> str | None:
        """Return why this retention or accuracy is not supported, or None if both are."""
        if retention.kind not in cls.retentions:
            return f"it supports a retention by {' or '.join(sorted(cls.retentions))} only, not by {retention.kind}"
        return why_not_eps(accuracy)

    @abstractmethod
    def query(self, phi: Phi | None = None) -> Any:
        """Return the quantiles of the window for `phi`, by default that of the aggregate, or None if it is empty."""


class CompiledQuantiles(QuantileSynopsis):
    """A quantile synopsis whose kernels take values as integer keys in the same order."""

    def query(self, phi: Phi | None = None) -> Any:
        """Return the quantiles of the window for `phi`, by default that of the aggregate, or None if it is empty."""
        shares = self.phi if phi is None else check_phi("phi", phi)
        answers, defined = self._find(NO_INSTANTS, NO_INSTANTS, shares, NOW)
        if not defined[0]:
            return None
        return answers[0] if shares.ndim else float(answers[0])

    def update(self, on: Instants, x: Numbers) -> None:
        """Add the next values, in order."""
        self._find(*self._elements(on, x), self.phi, NO_INSTANTS)

    def roll(self, on: Instants, x: Numbers, every: int) -> npt.NDArray[Any]:
        """Add values and return the answer after every `every`-th one: a row per answer if there are several `phi`."""
        check_every(every)
        return self._find(*self._elements(on, x), self.phi, after_each(int(every), len(x)))[0]

    def _answer_at(self, on: Instants, x: Any, ends: Instants, moments: Instants) -> pa.Array:
        answers, defined = self._find(*self._elements(on, x), self.phi, ends, moments)
        if not self.phi.ndim:
            return nullable(answers, defined)
        return pa.array([row.tolist() if valid else None for row, valid in zip(answers, defined, strict=True)])

    def _expire(self, now: int) -> None:
        self._find(NO_INSTANTS, NO_INSTANTS, self.phi, NOW, np.array([now]))

    def _find(
        self, on: Instants, keys: Keys, phi: Numbers, ends: Instants, moments: Instants = NO_INSTANTS
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
        """Add values; return the quantiles that are due, and which of them are defined."""
        rising = np.argsort(phi, axis=None)
        due = Due.make(ends, moments, np.zeros((ends.size, phi.size), np.int64))
        self._run(on, keys, np.ravel(phi)[rising], due)
        if moments.size:
            self.newest = max(self.newest, int(moments[-1]))
        answers = np.empty(due.answers.shape)
        answers[:, rising] = to_numbers(due.answers)
        return answers.reshape(ends.size, *phi.shape), due.sizes > 0

    def _elements(self, on: Instants, x: Numbers) -> tuple[Instants, Keys]:
        """Return values as the kernels take them; raise if they are malformed or out of order."""
        on, x = as_instants(on), np.asarray(x)
        check_elements(on, x, np.dtype(np.float64))
        if self.timed:
            self.newest = check_order(on, self.newest)
        return on, to_keys(x)

    @abstractmethod
    def _run(self, on: Instants, keys: Keys, phi: Numbers, due: Due) -> None:
        """Add values given as keys, and give the keys of the quantiles of ascending `phi` when due."""


def _share_of(aggregate: AggregateFunction) -> float | None:
    """Return which quantile an aggregate is, or None if it is not a quantile."""
    return 0.5 if isinstance(aggregate, Median) else getattr(aggregate, "q", None)


def check_phi(name: str, phi: Any) -> npt.NDArray[np.float64]:
    """Return the requested quantiles as an array of any shape; raise unless all are numbers from 0 to 1."""
    try:
        numbers = np.asarray(phi, np.float64)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    if not numbers.size or not ((numbers >= 0) & (numbers <= 1)).all():
        raise SpecError(f"{name}: expected a number from 0 to 1, or an array of such numbers, got {phi!r}")
    return numbers


def why_not_eps(accuracy: Accuracy) -> str | None:
    """Return why such a small error is not supported, or None if it is."""
    if accuracy.eps < 1e-6:
        return f"eps: expected at least 1e-6, got {accuracy.eps!r}; use an exact synopsis if no error is allowed"
    return None
