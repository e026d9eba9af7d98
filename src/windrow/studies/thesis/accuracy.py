"""The accuracy that the thesis observed: its tables 6.8 to 6.11 (variance) and 6.18 to 6.21 (quantiles).

"On a design space for sliding windows" (2011), sections 6.2.2 and 6.3.2, on uniform random numbers. The caption of
table 6.19 says ε = 0.05; its heading and the text around it say 0.01, and so do its numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from windrow.planner.data import RATE

What: TypeAlias = Literal["variance", "quantiles"]
Setting: TypeAlias = tuple[int, float | None]
"""A retention in minutes, and the quantile that was asked for, None for the variance."""

SLIDE = 60 * RATE
"""Elements a minute: as many come between two measurements."""
MEASUREMENTS = 419
RETENTIONS = (1, 15, 60)
"""In minutes."""
PHI = (0.0, 0.25, 0.5, 0.75, 1.0)


class Observed(NamedTuple):
    """The average and the maximum of the errors, and the share of them that is above ε."""

    average: float
    maximum: float
    delta: float


@dataclass(frozen=True)
class ThesisTable:
    """One table: what was asked for, of which synopsis, how accurately, and what was observed."""

    number: str
    what: What
    synopsis: str
    eps: float
    delta: float
    observed: dict[Setting, Observed]


def _variance(*columns: tuple[float, float, float]) -> dict[Setting, Observed]:
    """A column a retention, as the thesis has them."""
    return {(minutes, None): Observed(*column) for minutes, column in zip(RETENTIONS, columns, strict=True)}


def _quantiles(*parts: tuple[tuple[float, ...], tuple[float, ...]]) -> dict[Setting, Observed]:
    """A row of averages and one of maxima a retention, a column a quantile; the observed δ is 0 in all of them."""
    return {
        (minutes, phi): Observed(average, maximum, 0.0)
        for minutes, rows in zip(RETENTIONS, parts, strict=True)
        for phi, average, maximum in zip(PHI, *rows, strict=True)
    }


RESERVOIR, HISTOGRAM, SKETCH = "biased reservoir", "variance histogram", "Arasu-Manku fixed sketch"

THESIS_TABLES: tuple[ThesisTable, ...] = (
    ThesisTable(
        "6.8", "variance", RESERVOIR, 0.05, 0.0001,
        _variance((0.00716, 0.02758, 0), (0.00854, 0.04371, 0), (0.00847, 0.03479, 0)),
    ),
    ThesisTable(
        "6.9", "variance", RESERVOIR, 0.01, 0.0001,
        _variance((0.00483, 0.01753, 0.10501), (0.00216, 0.00925, 0), (0.00154, 0.00617, 0)),
    ),
    ThesisTable(
        "6.10", "variance", HISTOGRAM, 0.05, 0.0,
        _variance((0.00010, 0.00050, 0), (0.00181, 0.00607, 0), (0.00098, 0.00516, 0)),
    ),
    ThesisTable(
        "6.11", "variance", HISTOGRAM, 0.01, 0.0,
        _variance((0.00010, 0.00054, 0), (0.00180, 0.00561, 0), (0.00114, 0.00416, 0)),
    ),
    ThesisTable(
        "6.18", "quantiles", RESERVOIR, 0.05, 0.0001,
        _quantiles(
            ((0.00009, 0.00347, 0.00415, 0.00360, 0.00010), (0.00068, 0.01284, 0.01596, 0.01503, 0.00094)),
            ((0.00014, 0.00412, 0.00475, 0.00404, 0.00014), (0.00088, 0.01630, 0.01798, 0.01721, 0.00099)),
            ((0.00016, 0.00414, 0.00454, 0.00408, 0.00014), (0.00119, 0.01566, 0.01995, 0.01854, 0.00127)),
        ),
    ),
    ThesisTable(
        "6.19", "quantiles", RESERVOIR, 0.01, 0.0001,
        _quantiles(
            ((0.00000, 0.00229, 0.00260, 0.00241, 0.00000), (0.00005, 0.00931, 0.00941, 0.00894, 0.00005)),
            ((0.00000, 0.00066, 0.00065, 0.00058, 0.00000), (0.00002, 0.00262, 0.00249, 0.00228, 0.00002)),
            ((0.00000, 0.00062, 0.00069, 0.00065, 0.00000), (0.00002, 0.00202, 0.00221, 0.00186, 0.00002)),
        ),
    ),
    ThesisTable(
        "6.20", "quantiles", SKETCH, 0.05, 0.0,
        _quantiles(
            ((0.00226, 0.00252, 0.00122, 0.00249, 0.00019), (0.00504, 0.00967, 0.01061, 0.01258, 0.00151)),
            ((0.00254, 0.00247, 0.00268, 0.00313, 0.00003), (0.00475, 0.00845, 0.01201, 0.00863, 0.00087)),
            ((0.00291, 0.00275, 0.00224, 0.00227, 0.00004), (0.00509, 0.00775, 0.00770, 0.00702, 0.00166)),
        ),
    ),
    ThesisTable(
        "6.21", "quantiles", SKETCH, 0.01, 0.0,
        _quantiles(
            ((0.00036, 0.00020, 0.00023, 0.00196, 0.00004), (0.00140, 0.00166, 0.00129, 0.00868, 0.00052)),
            ((0.00034, 0.00059, 0.00069, 0.00066, 0.00002), (0.00079, 0.00260, 0.00349, 0.00288, 0.00020)),
            ((0.00035, 0.00054, 0.00045, 0.00046, 0.00000), (0.00076, 0.00216, 0.00175, 0.00177, 0.00007)),
        ),
    ),
)  # fmt: skip
