"""The regression models of the thesis: its tables 7.1 to 7.32, of the time and the space of an approach.

"On a design space for sliding windows" (2011), sections 7.2 and 7.3. Retention and slide are in minutes at about 320
elements a second, time is in seconds a slide, space in MB. Example 8.1.2 takes the unweighted models.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

What: TypeAlias = Literal["time", "space"]
Aggregate: TypeAlias = Literal["variance", "quantile"]
Approach: TypeAlias = Literal["instantaneous", "sampling", "expiration list", "panes", "histogram", "quantile summary"]
Predictor: TypeAlias = Literal["constant", "retention", "slide"]
Verdict: TypeAlias = Literal["Yes", "Almost", "Some", "Slight", "No"]
"""Whether an assumption holds of the residuals, as the thesis prints it; it prints no "Yes"."""


@dataclass(frozen=True)
class Coefficient:
    """A coefficient as it is, not standardised; half the width of its 95% confidence interval; its standard error."""

    value: float
    half_width: float
    std_error: float


@dataclass(frozen=True)
class ThesisModel:
    """One table: what was fitted, how well, and how well it predicted the fifth of the measurements held out.

    `eps` is 0 where the approach is exact, `delta` where it is deterministic. A predictor that is not in the model is
    not in `coefficients`. `std_error` is that of the estimate. A `weighted` model fits the same
    measurements as the model before it, by weighted least squares; the R² of the two cannot be compared.
    """

    number: str
    what: What
    aggregate: Aggregate
    approach: Approach
    eps: float
    delta: float
    r_squared: float
    std_error: float
    coefficients: Mapping[Predictor, Coefficient]
    rmse: float
    mae: float
    homoscedasticity: Verdict
    independence: Verdict
    normality: Verdict
    weighted: bool = False

    def predict(self, retention: float, slide: float) -> float:
        """Seconds or MB at a retention and a slide in minutes.

        The exact variance of an hour every ten minutes by the instantaneous approach, from example 8.1.2:

        >>> time, space = THESIS_MODELS[:2]
        >>> round(time.predict(60, 10), 3), round(0.002 + 60 * 0.008 + 10 * 0.008, 3)
        (0.562, 0.562)
        >>> round(space.predict(60, 10), 3), round(26.674 + 60 * 1.201 + 10 * 0.070, 3)
        (99.434, 99.434)
        """
        minutes: dict[Predictor, float] = {"constant": 1.0, "retention": retention, "slide": slide}
        return sum(coefficient.value * minutes[name] for name, coefficient in self.coefficients.items())


def _coefficients(**columns: tuple[float, float, float]) -> dict[Predictor, Coefficient]:
    """The columns B, CI-95% and Std. Error of each predictor."""
    names: tuple[Predictor, ...] = ("constant", "retention", "slide")
    return {name: Coefficient(*columns[name]) for name in names if name in columns}


# Where two places of the thesis contradict each other, the number is that of the table in chapter 7.
THESIS_MODELS: tuple[ThesisModel, ...] = (
    # The slide's 0.008 is in example 8.1.2 too, but its t (9.521), its β (0.043) and table 6.1 say 0.0008.
    ThesisModel(
        "7.1", "time", "variance", "instantaneous", 0.0, 0.0, r_squared=0.997, std_error=0.011,
        coefficients=_coefficients(
            constant=(0.002, 0.003, 0.001), retention=(0.008, 0.000, 0.000), slide=(0.008, 0.000, 0.000),
        ),
        rmse=0.010, mae=0.008, homoscedasticity="No", independence="Almost", normality="No",
    ),
    ThesisModel(
        "7.2", "space", "variance", "instantaneous", 0.0, 0.0, r_squared=0.999, std_error=0.957,
        coefficients=_coefficients(
            constant=(26.674, 0.243, 0.123), retention=(1.201, 0.007, 0.003), slide=(0.070, 0.014, 0.007),
        ),
        rmse=0.955, mae=0.882, homoscedasticity="No", independence="No", normality="No",
    ),
    ThesisModel(
        "7.3", "time", "variance", "sampling", 0.05, 0.0001, r_squared=0.999, std_error=0.006,
        coefficients=_coefficients(constant=(-0.001, 0.001, 0.001), slide=(0.016, 0.000, 0.000)),
        rmse=0.006, mae=0.004, homoscedasticity="No", independence="Almost", normality="No",
    ),
    ThesisModel(
        "7.4", "space", "variance", "sampling", 0.05, 0.0001, r_squared=1.000, std_error=0.042,
        coefficients=_coefficients(constant=(25.899, 0.008, 0.004), slide=(1.207, 0.001, 0.000)),
        rmse=0.037, mae=0.033, homoscedasticity="No", independence="No", normality="No",
    ),
    ThesisModel(
        "7.5", "time", "variance", "sampling", 0.01, 0.0001, r_squared=0.998, std_error=0.009,
        coefficients=_coefficients(constant=(0.000, 0.001, 0.001), slide=(0.017, 0.000, 0.000)),
        rmse=0.004, mae=0.003, homoscedasticity="Almost", independence="Almost", normality="No",
    ),
    ThesisModel(
        "7.6", "space", "variance", "sampling", 0.01, 0.0001, r_squared=0.999, std_error=0.569,
        coefficients=_coefficients(
            constant=(27.003, 0.145, 0.073), retention=(-0.005, 0.004, 0.002), slide=(1.306, 0.009, 0.004),
        ),
        rmse=0.553, mae=0.413, homoscedasticity="No", independence="No", normality="No",
    ),
    ThesisModel(
        "7.7", "time", "variance", "expiration list", 0.0, 0.0, r_squared=0.997, std_error=0.016,
        coefficients=_coefficients(constant=(-0.007, 0.003, 0.001), slide=(0.025, 0.001, 0.000)),
        rmse=0.023, mae=0.013, homoscedasticity="No", independence="Almost", normality="No",
    ),
    ThesisModel(
        "7.8", "space", "variance", "expiration list", 0.0, 0.0, r_squared=0.964, std_error=9.101,
        coefficients=_coefficients(
            constant=(32.389, 2.308, 1.170), retention=(1.354, 0.062, 0.031), slide=(1.426, 0.137, 0.070),
        ),
        rmse=10.610, mae=7.791, homoscedasticity="No", independence="Almost", normality="Almost",
    ),
    ThesisModel(
        "7.9", "space", "variance", "expiration list", 0.0, 0.0, r_squared=0.979, std_error=1.542,
        coefficients=_coefficients(
            constant=(29.463, 0.495, 0.251), retention=(1.465, 0.054, 0.027), slide=(1.277, 0.173, 0.088),
        ),
        rmse=10.473, mae=7.413, homoscedasticity="Almost", independence="Almost", normality="Almost",
        weighted=True,
    ),
    # Example 8.1.2 leaves the retention out: its coefficient is below 0.0005.
    ThesisModel(
        "7.10", "time", "variance", "panes", 0.0, 0.0, r_squared=1.000, std_error=0.002,
        coefficients=_coefficients(
            constant=(0.000, 0.001, 0.000), retention=(0.000, 0.000, 0.000), slide=(0.016, 0.000, 0.000),
        ),
        rmse=0.003, mae=0.001, homoscedasticity="No", independence="Almost", normality="No",
    ),
    ThesisModel(
        "7.11", "space", "variance", "panes", 0.0, 0.0, r_squared=1.000, std_error=0.156,
        coefficients=_coefficients(
            constant=(25.842, 0.039, 0.020), retention=(0.002, 0.001, 0.001), slide=(1.201, 0.003, 0.001),
        ),
        rmse=0.121, mae=0.105, homoscedasticity="No", independence="No", normality="No",
    ),
    ThesisModel(
        "7.12", "time", "variance", "histogram", 0.05, 0.0, r_squared=0.999, std_error=0.015,
        coefficients=_coefficients(constant=(-0.006, 0.003, 0.001), slide=(0.037, 0.001, 0.000)),
        rmse=0.019, mae=0.013, homoscedasticity="No", independence="No", normality="No",
    ),
    # ε is in the caption, not in the heading. The text finds no normality.
    ThesisModel(
        "7.13", "space", "variance", "histogram", 0.05, 0.0, r_squared=0.972, std_error=5.761,
        coefficients=_coefficients(
            constant=(28.810, 1.461, 0.741), retention=(0.055, 0.039, 0.020), slide=(2.846, 0.087, 0.044),
        ),
        rmse=5.833, mae=3.824, homoscedasticity="No", independence="Almost", normality="Almost",
    ),
    ThesisModel(
        "7.14", "space", "variance", "histogram", 0.05, 0.0, r_squared=0.948, std_error=1.473469,
        coefficients=_coefficients(
            constant=(28.864, 0.386, 0.196), retention=(0.037, 0.0105, 0.005), slide=(2.919, 0.101, 0.051),
        ),
        rmse=5.878, mae=3.835, homoscedasticity="Almost", independence="Almost", normality="Almost",
        weighted=True,
    ),
    ThesisModel(
        "7.15", "time", "variance", "histogram", 0.01, 0.0, r_squared=0.996, std_error=0.032,
        coefficients=_coefficients(
            constant=(0.000, 0.009, 0.004), retention=(0.002, 0.001, 0.000), slide=(0.039, 0.001, 0.000),
        ),
        rmse=0.027, mae=0.020, homoscedasticity="No", independence="Almost", normality="Almost",
    ),
    # Its F gives an R² of 0.888; 0.886 is what adjusting it for the number of predictors gives.
    ThesisModel(
        "7.16", "space", "variance", "histogram", 0.01, 0.0, r_squared=0.886, std_error=14.330,
        coefficients=_coefficients(
            constant=(34.253, 3.634, 1.843), retention=(1.137, 0.097, 0.049), slide=(1.271, 0.216, 0.110),
        ),
        rmse=15.297, mae=11.866, homoscedasticity="No", independence="No", normality="No",
    ),
    ThesisModel(
        "7.17", "space", "variance", "histogram", 0.01, 0.0, r_squared=0.938, std_error=1.637,
        coefficients=_coefficients(
            constant=(29.428, 0.553, 0.280), retention=(1.350, 0.083, 0.042), slide=(0.953, 0.274, 0.139),
        ),
        rmse=16.506, mae=11.538, homoscedasticity="Almost", independence="Slight", normality="Slight",
        weighted=True,
    ),
    ThesisModel(
        "7.18", "time", "quantile", "instantaneous", 0.0, 0.0, r_squared=0.992, std_error=0.116,
        coefficients=_coefficients(constant=(-0.145, 0.030, 0.015), retention=(0.049, 0.001, 0.000)),
        rmse=0.104, mae=0.089, homoscedasticity="No", independence="No", normality="No",
    ),
    ThesisModel(
        "7.19", "space", "quantile", "instantaneous", 0.0, 0.0, r_squared=0.958, std_error=11.476,
        coefficients=_coefficients(constant=(27.544, 2.906, 1.474), retention=(2.122, 0.062, 0.031)),
        rmse=12.780, mae=8.963, homoscedasticity="No", independence="Almost", normality="No",
    ),
    # The weight is printed as 1 / retention; the standard errors and the coefficients fit a power of about 2.4.
    ThesisModel(
        "7.20", "space", "quantile", "instantaneous", 0.0, 0.0, r_squared=0.984, std_error=0.113,
        coefficients=_coefficients(constant=(26.889, 0.053, 0.027), retention=(2.163, 0.038, 0.019)),
        rmse=12.696, mae=9.051, homoscedasticity="Slight", independence="Almost", normality="Slight",
        weighted=True,
    ),
    # A half width is about twice its standard error; the constant's is not.
    ThesisModel(
        "7.21", "time", "quantile", "sampling", 0.05, 0.0001, r_squared=0.999, std_error=0.022,
        coefficients=_coefficients(
            constant=(0.002, 0.003, 0.003), retention=(0.000, 0.000, 0.000), slide=(0.051, 0.000, 0.000),
        ),
        rmse=0.025, mae=0.013, homoscedasticity="No", independence="No", normality="Almost",
    ),
    ThesisModel(
        "7.22", "space", "quantile", "sampling", 0.05, 0.0001, r_squared=0.988, std_error=1.504,
        coefficients=_coefficients(
            constant=(30.432, 0.382, 0.193), retention=(-0.063, 0.010, 0.005), slide=(1.276, 0.023, 0.011),
        ),
        rmse=1.535, mae=1.152, homoscedasticity="No", independence="No", normality="Almost",
    ),
    ThesisModel(
        "7.23", "space", "quantile", "sampling", 0.05, 0.0001, r_squared=0.998, std_error=2.243,
        coefficients=_coefficients(
            constant=(30.292, 0.566, 0.287), retention=(-0.034, 0.010, 0.005), slide=(1.212, 0.008, 0.004),
        ),
        rmse=1.722, mae=1.327, homoscedasticity="Almost", independence="Slight", normality="Almost",
        weighted=True,
    ),
    ThesisModel(
        "7.24", "time", "quantile", "sampling", 0.01, 0.0001, r_squared=0.999, std_error=0.050,
        coefficients=_coefficients(constant=(0.033, 0.010, 0.005), slide=(0.113, 0.001, 0.000)),
        rmse=0.034, mae=0.023, homoscedasticity="No", independence="Almost", normality="Some",
    ),
    # The table has a weight of 1 / slide ** -1.1, the text a power of 1.1; the numbers fit the text.
    ThesisModel(
        "7.25", "time", "quantile", "sampling", 0.01, 0.0001, r_squared=0.997, std_error=0.014,
        coefficients=_coefficients(constant=(0.032, 0.003, 0.001), slide=(0.113, 0.001, 0.000)),
        rmse=0.034, mae=0.023, homoscedasticity="Almost", independence="Almost", normality="Almost",
        weighted=True,
    ),
    ThesisModel(
        "7.26", "space", "quantile", "sampling", 0.01, 0.0001, r_squared=0.505, std_error=6.052,
        coefficients=_coefficients(
            constant=(74.234, 1.535, 0.778), retention=(-0.082, 0.041, 0.021), slide=(0.614, 0.091, 0.046),
        ),
        rmse=6.241, mae=4.776, homoscedasticity="Almost", independence="No", normality="Almost",
    ),
    # RMSE and MAE are those of table 7.18, and too low for the standard error of the estimate.
    ThesisModel(
        "7.27", "time", "quantile", "expiration list", 0.0, 0.0, r_squared=0.986, std_error=0.292,
        coefficients=_coefficients(
            constant=(-0.117, 0.074, 0.037), retention=(0.005, 0.002, 0.001), slide=(0.203, 0.005, 0.002),
        ),
        rmse=0.104, mae=0.089, homoscedasticity="No", independence="Some", normality="Some",
    ),
    # The text finds no normality.
    ThesisModel(
        "7.28", "space", "quantile", "expiration list", 0.0, 0.0, r_squared=0.615, std_error=66.451,
        coefficients=_coefficients(constant=(65.269, 16.829, 8.534), retention=(3.231, 0.358, 0.182)),
        rmse=67.048, mae=53.102, homoscedasticity="No", independence="No", normality="Slight",
    ),
    # The half widths are those of table 7.27, and too wide for their standard errors.
    ThesisModel(
        "7.29", "time", "quantile", "quantile summary", 0.05, 0.0, r_squared=0.997, std_error=0.091,
        coefficients=_coefficients(
            constant=(0.003, 0.074, 0.011), retention=(0.001, 0.002, 0.000), slide=(0.137, 0.005, 0.001),
        ),
        rmse=0.148, mae=0.064, homoscedasticity="Some", independence="Slight", normality="Slight",
    ),
    # The half width 0.358 is that of table 7.28, and too wide for both standard errors.
    ThesisModel(
        "7.30", "space", "quantile", "quantile summary", 0.05, 0.0, r_squared=0.994, std_error=1.038,
        coefficients=_coefficients(
            constant=(27.842, 0.264, 0.134), retention=(0.027, 0.358, 0.004), slide=(1.138, 0.358, 0.008),
        ),
        rmse=0.904, mae=0.736, homoscedasticity="No", independence="No", normality="Slight",
    ),
    ThesisModel(
        "7.31", "time", "quantile", "quantile summary", 0.01, 0.0, r_squared=0.991, std_error=0.212,
        coefficients=_coefficients(constant=(-0.024, 0.040, 0.020), slide=(0.198, 0.003, 0.001)),
        rmse=0.071, mae=0.051, homoscedasticity="Some", independence="Some", normality="No",
    ),
    ThesisModel(
        "7.32", "space", "quantile", "quantile summary", 0.01, 0.0, r_squared=0.992, std_error=1.259,
        coefficients=_coefficients(constant=(32.389, 0.228, 0.116), slide=(1.221, 0.016, 0.008)),
        rmse=1.398, mae=1.143, homoscedasticity="Almost", independence="Almost", normality="Almost",
    ),
)  # fmt: skip
