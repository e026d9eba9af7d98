"""The time and the space that the thesis measured: its tables 6.1 to 6.7 (variance) and 6.12 to 6.17 (quantiles).

"On a design space for sliding windows" (2011), sections 6.2.1 and 6.3.1, on uniform random numbers at about 320 a
second. An average or deviation of 0.000 is not zero, only below three decimals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from windrow.studies.thesis.accuracy import HISTOGRAM, RESERVOIR, RETENTIONS, SKETCH, What

WORKLOADS: tuple[tuple[int, int], ...] = (*((minutes, 1) for minutes in RETENTIONS), (60, 15), (60, 30))
"""Retention and slide in minutes; a batch is as long as a slide."""
MEASUREMENTS_EACH = 50
"""Of each workload."""
INSTANTANEOUS, EXPIRATION_LIST, PANES = "instantaneous", "expiration list", "panes"


class Measured(NamedTuple):
    """The average and the standard deviation of the measurements of one workload."""

    average: float
    std_dev: float


@dataclass(frozen=True)
class MeasuredRow:
    """One workload: retention and slide in minutes, times in seconds a slide, memory in MB.

    The operator's time is that of the updates of a slide and one query. Of the instantaneous approach there is only
    the operator's.
    """

    retention: int
    slide: int
    operator_time: Measured
    update_time: Measured | None
    query_time: Measured | None
    private_memory: Measured
    clr_heap: Measured


@dataclass(frozen=True)
class ThesisMeasured:
    """One table: of which aggregate and approach, how accurate, and a row for each workload."""

    number: str
    aggregate: What
    approach: str
    eps: float
    delta: float
    rows: tuple[MeasuredRow, ...]


def _rows(
    operator: tuple[tuple[float, float], ...],
    memory: tuple[tuple[float, float], ...],
    heap: tuple[tuple[float, float], ...],
    update: tuple[tuple[float, float], ...] | None = None,
    query: tuple[tuple[float, float], ...] | None = None,
) -> tuple[MeasuredRow, ...]:
    """Lines as the thesis has them, an average and a deviation for each workload."""
    return tuple(
        MeasuredRow(
            retention,
            slide,
            Measured(*operator[i]),
            None if update is None else Measured(*update[i]),
            None if query is None else Measured(*query[i]),
            Measured(*memory[i]),
            Measured(*heap[i]),
        )
        for i, (retention, slide) in enumerate(WORKLOADS)
    )


THESIS_MEASURED: tuple[ThesisMeasured, ...] = (
    ThesisMeasured(
        "6.1", "variance", INSTANTANEOUS, 0.0, 0.0,
        _rows(
            operator=((0.008, 0.000), (0.126, 0.002), (0.473, 0.007), (0.493, 0.017), (0.497, 0.010)),
            memory=((26.974, 0.008), (46.029, 0.008), (99.122, 0.009), (98.561, 0.008), (101.423, 0.136)),
            heap=((1.289, 0.043), (1.260, 0.007), (1.256, 0.002), (1.257, 0.009), (1.258, 0.013)),
        ),
    ),
    ThesisMeasured(
        "6.2", "variance", RESERVOIR, 0.05, 0.0001,
        _rows(
            operator=((0.015, 0.001), (0.016, 0.001), (0.015, 0.001), (0.244, 0.004), (0.490, 0.012)),
            update=((0.015, 0.001), (0.016, 0.001), (0.015, 0.001), (0.244, 0.004), (0.490, 0.012)),
            query=((0.000, 0.000), (0.000, 0.000), (0.000, 0.000), (0.000, 0.000), (0.000, 0.000)),
            memory=((27.075, 0.008), (27.147, 0.007), (27.127, 0.008), (43.944, 0.008), (62.137, 0.024)),
            heap=((1.353, 0.033), (1.353, 0.033), (1.345, 0.024), (1.341, 0.015), (1.343, 0.018)),
        ),
    ),
    ThesisMeasured(
        "6.3", "variance", RESERVOIR, 0.01, 0.0001,
        _rows(
            operator=((0.016, 0.001), (0.016, 0.001), (0.016, 0.001), (0.256, 0.002), (0.508, 0.018)),
            update=((0.016, 0.001), (0.016, 0.001), (0.016, 0.001), (0.256, 0.002), (0.508, 0.018)),
            query=((0.000, 0.000), (0.000, 0.000), (0.000, 0.000), (0.000, 0.000), (0.000, 0.000)),
            memory=((28.323, 0.013), (28.211, 0.008), (28.556, 0.109), (45.285, 0.011), (66.384, 0.061)),
            heap=((2.827, 0.040), (2.819, 0.035), (2.855, 0.201), (2.810, 0.016), (2.804, 0.009)),
        ),
    ),
    ThesisMeasured(
        "6.4", "variance", EXPIRATION_LIST, 0.0, 0.0,
        _rows(
            operator=((0.019, 0.002), (0.021, 0.004), (0.021, 0.004), (0.363, 0.021), (0.762, 0.028)),
            update=((0.019, 0.002), (0.021, 0.004), (0.021, 0.004), (0.363, 0.021), (0.762, 0.028)),
            query=((0.000, 0.000), (0.000, 0.000), (0.000, 0.000), (0.000, 0.000), (0.000, 0.000)),
            memory=((31.972, 1.456), (58.359, 3.722), (115.545, 8.522), (133.397, 12.242), (154.812, 13.234)),
            heap=((4.798, 1.663), (25.255, 3.829), (82.110, 8.529), (81.624, 13.437), (82.385, 13.253)),
        ),
    ),
    ThesisMeasured(
        "6.5", "variance", PANES, 0.0, 0.0,
        _rows(
            operator=((0.016, 0.000), (0.016, 0.000), (0.016, 0.000), (0.241, 0.002), (0.476, 0.004)),
            update=((0.016, 0.000), (0.016, 0.000), (0.016, 0.000), (0.241, 0.002), (0.476, 0.004)),
            query=((0.000, 0.000), (0.000, 0.000), (0.000, 0.000), (0.000, 0.000), (0.000, 0.000)),
            memory=((27.095, 0.008), (26.998, 0.205), (27.262, 0.008), (43.764, 0.009), (62.063, 0.011)),
            heap=((1.304, 0.046), (1.338, 0.200), (1.301, 0.041), (1.287, 0.020), (1.275, 0.004)),
        ),
    ),
    ThesisMeasured(
        "6.6", "variance", HISTOGRAM, 0.05, 0.0,
        _rows(
            operator=((0.027, 0.001), (0.034, 0.002), (0.037, 0.003), (0.529, 0.017), (1.097, 0.025)),
            update=((0.027, 0.001), (0.034, 0.002), (0.037, 0.003), (0.529, 0.017), (1.097, 0.025)),
            query=((0.000, 0.000), (0.000, 0.000), (0.000, 0.000), (0.000, 0.000), (0.000, 0.000)),
            memory=((31.474, 1.247), (32.700, 1.216), (33.850, 1.666), (76.399, 7.443), (116.523, 10.100)),
            heap=((3.428, 1.128), (4.446, 1.370), (5.460, 1.297), (23.298, 7.254), (44.885, 10.031)),
        ),
    ),
    ThesisMeasured(
        "6.7", "variance", HISTOGRAM, 0.01, 0.0,
        _rows(
            operator=((0.033, 0.002), (0.086, 0.011), (0.169, 0.020), (0.750, 0.034), (1.311, 0.046)),
            update=((0.033, 0.002), (0.086, 0.011), (0.169, 0.020), (0.750, 0.034), (1.311, 0.046)),
            query=((0.000, 0.000), (0.000, 0.000), (0.000, 0.000), (0.000, 0.000), (0.000, 0.000)),
            memory=((31.569, 1.446), (59.717, 3.696), (106.343, 12.212), (111.124, 20.605), (145.273, 16.022)),
            heap=((4.687, 1.550), (21.780, 3.057), (70.514, 11.663), (59.493, 20.240), (70.766, 16.591)),
        ),
    ),
    ThesisMeasured(
        "6.12", "quantiles", INSTANTANEOUS, 0.0, 0.0,
        _rows(
            operator=((0.018, 0.001), (0.437, 0.013), (2.794, 0.064), (2.783, 0.083), (2.801, 0.134)),
            memory=((29.055, 0.105), (60.167, 3.179), (156.028, 14.936), (157.910, 14.578), (151.636, 15.184)),
            heap=((1.612, 0.267), (9.191, 2.663), (42.922, 13.624), (43.970, 13.217), (44.301, 13.675)),
        ),
    ),
    # Section 6.3.1 has a δ of 0.01 for tables 6.13 and 6.14, the tables have 0.0001.
    ThesisMeasured(
        "6.13", "quantiles", RESERVOIR, 0.05, 0.0001,
        _rows(
            operator=((0.053, 0.001), (0.052, 0.001), (0.053, 0.001), (0.742, 0.012), (1.535, 0.044)),
            update=((0.052, 0.001), (0.052, 0.001), (0.052, 0.001), (0.741, 0.012), (1.534, 0.044)),
            query=((0.000, 0.000), (0.000, 0.000), (0.000, 0.000), (0.000, 0.000), (0.000, 0.000)),
            memory=((33.479, 0.762), (28.397, 0.671), (28.135, 0.679), (46.502, 0.388), (64.593, 0.204)),
            heap=((2.140, 0.403), (2.318, 0.370), (2.189, 0.373), (2.484, 0.568), (2.068, 0.226)),
        ),
    ),
    ThesisMeasured(
        "6.14", "quantiles", RESERVOIR, 0.01, 0.0001,
        _rows(
            operator=((0.145, 0.014), (0.151, 0.013), (0.142, 0.013), (1.731, 0.072), (3.425, 0.074)),
            update=((0.122, 0.014), (0.128, 0.013), (0.119, 0.014), (1.709, 0.072), (3.402, 0.074)),
            query=((0.023, 0.001), (0.023, 0.001), (0.022, 0.001), (0.023, 0.001), (0.023, 0.001)),
            memory=((73.658, 5.955), (73.921, 3.161), (73.314, 4.043), (71.983, 5.936), (90.755, 4.895)),
            heap=((39.130, 5.272), (34.437, 2.158), (34.392, 3.030), (21.000, 5.857), (22.231, 4.907)),
        ),
    ),
    ThesisMeasured(
        "6.15", "quantiles", EXPIRATION_LIST, 0.0, 0.0,
        _rows(
            operator=((0.052, 0.002), (0.207, 0.029), (0.373, 0.036), (3.207, 0.290), (6.301, 0.564)),
            update=((0.050, 0.002), (0.166, 0.029), (0.200, 0.029), (3.035, 0.289), (6.122, 0.559)),
            query=((0.002, 0.000), (0.042, 0.003), (0.173, 0.011), (0.172, 0.006), (0.179, 0.024)),
            memory=((38.158, 1.725), (153.448, 9.684), (274.855, 103.508), (242.944, 58.358), (256.958, 71.698)),
            heap=((5.162, 2.564), (118.289, 9.743), (228.682, 101.676), (178.021, 58.156), (172.679, 71.525)),
        ),
    ),
    ThesisMeasured(
        "6.16", "quantiles", SKETCH, 0.05, 0.0,
        _rows(
            operator=((0.148, 0.002), (0.141, 0.003), (0.139, 0.002), (2.191, 0.072), (4.099, 0.152)),
            update=((0.148, 0.002), (0.141, 0.003), (0.139, 0.002), (2.191, 0.072), (4.099, 0.152)),
            query=((0.000, 0.000), (0.000, 0.000), (0.000, 0.000), (0.000, 0.000), (0.000, 0.000)),
            memory=((29.976, 0.718), (28.056, 0.564), (30.492, 0.274), (47.469, 0.417), (63.154, 0.461)),
            heap=((2.377, 0.528), (1.908, 0.223), (1.635, 0.087), (1.651, 0.091), (1.630, 0.085)),
        ),
    ),
    ThesisMeasured(
        "6.17", "quantiles", SKETCH, 0.01, 0.0,
        _rows(
            operator=((0.144, 0.004), (0.209, 0.007), (0.196, 0.005), (2.892, 0.022), (5.918, 0.424)),
            update=((0.142, 0.004), (0.207, 0.007), (0.195, 0.005), (2.890, 0.022), (5.917, 0.424)),
            query=((0.002, 0.000), (0.002, 0.000), (0.002, 0.001), (0.002, 0.000), (0.002, 0.001)),
            memory=((33.539, 1.502), (33.965, 1.316), (33.607, 0.992), (50.446, 1.065), (69.279, 1.424)),
            heap=((4.684, 1.652), (4.646, 1.102), (4.542, 0.866), (4.052, 1.029), (4.068, 1.232)),
        ),
    ),
)  # fmt: skip
