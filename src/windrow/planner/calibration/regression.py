"""Regression: estimates how many nanoseconds or bytes each term of a cost is worth.

Measured times span seven orders of magnitude, and their errors grow with them. The assumptions of ordinary least
squares are tested first and rarely hold. The fallback minimises *relative* errors, downweights outliers and keeps every
coefficient non-negative.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from windrow.errors import DataError
from windrow.extras import require

Floats: TypeAlias = npt.NDArray[np.float64]
Method: TypeAlias = Literal["least squares", "weighted, robust"]
SIGNIFICANT = 0.05
HUBER = 1.345
"""Residuals beyond this many standard deviations are outliers."""
FOLDS = 5
HELD_OUT = 0.2


@dataclass(frozen=True)
class Diagnosis:
    """Goodness of fit, prediction error on held-out measurements, and tests of the residuals."""

    n: int
    r_squared: float
    rmse: float
    rmse_v: float
    """RMSE on a stratified fifth of the measurements, from a model fitted to the others."""
    mae_v: float
    """Mean absolute error on the same fifth."""
    relative_v: float
    """Median relative error on the same fifth."""
    durbin_watson: float
    breusch_pagan: float
    """p-value of the Breusch-Pagan test for equal variance, on the residuals of ordinary least squares."""
    normality: float
    """p-value of the Jarque-Bera test for normality, on the same residuals."""


@dataclass(frozen=True)
class Residuals:
    """Results of the tests on residuals."""

    n: int
    breusch_pagan: float
    """p-value of the test for equal variance."""
    durbin_watson: float
    jarque_bera: float
    """p-value of the test for normality."""

    @property
    def homoscedastic(self) -> bool:
        """Whether equal variance is not rejected."""
        return self.breusch_pagan > SIGNIFICANT

    @property
    def independent(self) -> bool:
        """Whether the statistic is as close to 2 as for independent residuals; its variance is about 4 / n."""
        return abs(self.durbin_watson - 2) <= 1.96 * 2 / math.sqrt(self.n)

    @property
    def normal(self) -> bool:
        """Whether normality is not rejected."""
        return self.jarque_bera > SIGNIFICANT


@dataclass(frozen=True)
class Fit:
    """The cost of each term, and the factors of a prediction between which 95% of measurements lie."""

    weights: Mapping[str, float]
    low: float
    high: float
    method: Method = "weighted, robust"
    errors: Mapping[str, float] = field(default_factory=dict)
    """Half-width of the 95% confidence interval of each weight."""
    diagnosis: Diagnosis | None = None

    def predict(self, terms: Mapping[str, Any]) -> Any:
        """Predict the cost from the values of the terms."""
        return sum(weight * terms[name] for name, weight in self.weights.items())


SOUND = Residuals(0, 1.0, 2.0, 1.0)
"""Placeholder for a fit without residuals."""


def fit(terms: Mapping[str, Floats], y: Floats, strata: Sequence[Any], seed: int = 0) -> Fit:
    """Fit a cost to its terms.

    Parameters
    ----------
    terms
        Value of each term in each measurement.
    y
        Measured costs, all positive.
    strata
        Kind of workload of each measurement; a fifth of each kind is held out for validation.
    seed
        Seed for choosing the held-out measurements.
    """
    require("fitting a cost model", "studies")
    X = np.column_stack([np.broadcast_to(column, y.shape) for column in terms.values()])  # noqa: N806
    if y.size < X.shape[1] + 2 or not (y > 0).all():
        raise DataError(f"{y.size} measurements above 0 are too few for {X.shape[1]} terms")
    names = list(terms)
    rng = np.random.default_rng(seed)
    held = held_out(strata, rng)
    ordinary = _least_squares(X, y)
    scaled = np.column_stack([np.ones(y.size), X / np.max(np.abs(X), axis=0)])
    residuals = tested(y - X @ ordinary, scaled, float(y.max())) or SOUND
    plain = residuals.homoscedastic and residuals.normal and bool((ordinary >= 0).all())
    weighted = robust(X, y)
    # With a dozen measurements the tests reject nothing, and an error that is tiny for the largest is thousands of
    # times the smallest. So ordinary least squares must nowhere have a much larger relative error than the robust fit.
    plain = plain and _furthest(X @ ordinary, y) <= max(2 * _furthest(X @ weighted, y), math.log(2))
    method: Method = "least squares" if plain else "weighted, robust"
    solve, weights = (_least_squares, ordinary) if plain else (robust, weighted)
    unseen = X[held] @ solve(X[~held], y[~held]) if held.any() else np.empty(0)
    low, high = _factors(X, y, solve, rng)
    predicted = X @ weights
    diagnosis = Diagnosis(
        int(y.size),
        1 - float(np.sum((y - predicted) ** 2) / max(np.sum((y - y.mean()) ** 2), 1e-300)),
        _rmse(y, predicted),
        _rmse(y[held], unseen),
        float(np.mean(np.abs(y[held] - unseen))) if held.any() else math.nan,
        float(np.median(np.abs(unseen / y[held] - 1))) if held.any() else math.nan,
        residuals.durbin_watson,
        residuals.breusch_pagan,
        residuals.jarque_bera,
    )
    positive = {name: float(weight) for name, weight in zip(names, weights, strict=True) if weight > 0}
    errors = dict(zip(names, _half_widths(X, y, weights), strict=True))
    return Fit(positive, low, high, method, {name: errors[name] for name in positive}, diagnosis)


def _furthest(predicted: Floats, y: Floats) -> float:
    """Return the largest factor by which a prediction is off, as a logarithm."""
    return float(np.max(np.abs(np.log(np.maximum(predicted, 1e-3 * y) / y))))


def held_out(strata: Sequence[Any], rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Hold out a random fifth of each stratum."""
    chosen = np.zeros(len(strata), np.bool_)
    places: dict[Any, list[int]] = {}
    for i, stratum in enumerate(strata):
        places.setdefault(stratum, []).append(i)
    for mine in places.values():
        chosen[rng.permutation(mine)[: round(HELD_OUT * len(mine))]] = True
    return chosen


def robust(X: Floats, y: Floats, rounds: int = 12) -> Floats:  # noqa: N803
    """Return non-negative weights that minimise relative errors, with outliers downweighted."""
    from scipy.optimize import nnls

    scale = np.linalg.norm(X / y[:, None], axis=0)
    scale[scale == 0] = 1.0
    around, trust = y, np.ones(y.size)
    weights = np.zeros(X.shape[1])
    for _ in range(rounds):
        each = trust / around
        weights = nnls(X * each[:, None] / scale, y * each)[0] / scale
        predicted = np.maximum(X @ weights, 1e-3 * y)
        residuals = np.log(y / predicted)
        spread = max(1.4826 * float(np.median(np.abs(residuals - np.median(residuals)))), 1e-3)
        trust = np.sqrt(np.minimum(1.0, HUBER * spread / np.maximum(np.abs(residuals), 1e-12)))
        # Dividing by the measured cost would penalise underestimates less than overestimates.
        around = np.sqrt(y * predicted)
    return np.asarray(weights)


def _least_squares(X: Floats, y: Floats) -> Floats:  # noqa: N803
    return np.asarray(np.linalg.lstsq(X, y, rcond=None)[0])


def tested(residuals: Floats, X: Floats, scale: float) -> Residuals | None:  # noqa: N803
    """Test the residuals; return None if they are negligible relative to `scale`."""
    from statsmodels.stats.diagnostic import het_breuschpagan
    from statsmodels.stats.stattools import durbin_watson, jarque_bera

    if float(np.ptp(residuals)) <= 1e-9 * scale:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spread, normal = het_breuschpagan(residuals, X)[1], jarque_bera(residuals)[1]
    sound = (float(np.nan_to_num(p)) for p in (spread, durbin_watson(residuals), normal))
    return Residuals(residuals.size, *sound)


def _half_widths(X: Floats, y: Floats, weights: Floats) -> list[float]:  # noqa: N803
    """Return the half-widths of 95% confidence intervals, robust to unequal variance (HC3)."""
    from statsmodels.regression.linear_model import WLS

    used = weights > 0
    widths = np.full(weights.size, math.nan)
    if used.any() and used.sum() < y.size:
        predicted = np.maximum(X @ weights, 1e-12)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = WLS(y, X[:, used], weights=1 / predicted**2).fit(cov_type="HC3")
            widths[used] = 1.96 * result.bse
    return [float(width) for width in widths]


def _factors(X: Floats, y: Floats, solve: Any, rng: np.random.Generator) -> tuple[float, float]:  # noqa: N803
    """Return the factors between which 95% of unseen measurements lie around a prediction, by cross-validation."""
    fold = rng.permutation(y.size) % FOLDS
    ratio = np.ones(y.size)
    for k in range(FOLDS):
        mine = fold == k
        if mine.any() and (~mine).sum() > X.shape[1]:
            ratio[mine] = y[mine] / np.maximum(X[mine] @ solve(X[~mine], y[~mine]), 1e-3 * y[mine])
    low, high = np.quantile(ratio, [0.025, 0.975])
    return min(float(low), 1.0), max(float(high), 1.0)


def _rmse(y: Floats, predicted: Floats) -> float:
    return float(np.sqrt(np.mean((y - predicted) ** 2))) if y.size else math.nan
