"""Models of measurements in the thesis' form: a constant, the retention and the slide, by ordinary least squares.

As in chapter 7, a stratified fifth is held out for validation, and the residuals of the rest are tested for the
assumptions of least squares. For comparison, the planner's model is fitted to the same measurements, with the actual
cost terms of the synopsis and weights that minimise relative errors, and with the same fifth held out.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from windrow.extras import require
from windrow.planner.calibration.regression import Floats, Residuals, fit, held_out, tested
from windrow.studies.design_space import Sample
from windrow.studies.thesis.accuracy import SLIDE
from windrow.studies.thesis.models import Coefficient, Predictor, What
from windrow.synopses.costs import value_of

SEED = 0
"""Seed for choosing the held-out measurements, here and in the planner."""
PREDICTORS: tuple[Predictor, ...] = ("constant", "retention", "slide")


@dataclass(frozen=True)
class Refit:
    """A model in the thesis' form, in seconds or MB, with retention and slide in minutes."""

    coefficients: Mapping[Predictor, Coefficient]
    r_squared: float
    std_error: float
    rmse: float
    mae: float
    residuals: Residuals | None
    """None if the model is exact."""
    relative: float
    """Median relative error on the held-out measurements."""
    planner: float
    """The same for the planner's model."""


def refit(samples: Sequence[Sample], what: What) -> Refit:
    """Fit the time or the space of one approach's measurements."""
    require("fitting a cost model", "studies")
    from statsmodels.regression.linear_model import OLS

    y = np.array([sample.time if what == "time" else sample.space / 1e6 for sample in samples])
    X = np.array([[1.0, sample.retention / SLIDE, sample.slide / SLIDE] for sample in samples])  # noqa: N806
    strata = [(sample.retention, sample.slide) for sample in samples]
    held = held_out(strata, np.random.default_rng(SEED))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a perfect fit divides by residuals of zero
        model = OLS(y[~held], X[~held]).fit()
        widths = model.conf_int()[:, 1] - model.params
        r_squared = float(model.rsquared)
    off = np.abs(X[held] @ model.params - y[held])
    return Refit(
        {
            name: Coefficient(float(model.params[i]), float(widths[i]), float(model.bse[i]))
            for i, name in enumerate(PREDICTORS)
        },
        r_squared,
        math.sqrt(float(model.mse_resid)),
        float(np.sqrt(np.mean(off**2))),
        float(np.mean(off)),
        tested(model.resid, X[~held], float(y.max())),
        float(np.median(off / y[held])),
        _by_planner(samples, what, y, strata),
    )


def _by_planner(samples: Sequence[Sample], what: What, y: Floats, strata: Sequence[Any]) -> float:
    """Return the planner's error on the held-out fifth, which is the same because of the seed."""
    approach = samples[0].approach
    quantities = {stratum: approach.workload(*stratum).quantities for stratum in dict.fromkeys(strata)}
    costs = approach.kind.costs(approach.workload(*strata[0]).aggregate)
    some = quantities[strata[0]]
    names = list(costs.time_terms(some) if what == "time" else costs.space_terms(some))
    if what == "space" and samples[0].batch:
        names.append("S")  # The planner's models cover the synopsis alone; here the batch counts too.
    terms = {name: np.array([float(value_of(name, quantities[each])) for each in strata]) for name in names}
    diagnosis = fit(terms, y * 1e9 if what == "time" else y * 1e6, strata, SEED).diagnosis
    return math.nan if diagnosis is None else diagnosis.relative_v
