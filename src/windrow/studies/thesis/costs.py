"""The cost model of the thesis, from its regression tables."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from windrow.planner.calibration.regression import Fit
from windrow.planner.model import (
    A_MINUTE,
    Costs,
    Key,
    Model,
)
from windrow.studies.thesis.models import THESIS_MODELS
from windrow.synopses import (
    ArasuMankuFixed,
    BiasedReservoir,
    ExpirationList,
    Panes,
    Recomputation,
    Synopsis,
    VarianceHistogram,
)

BEHIND: Mapping[str, type[Synopsis]] = {
    "instantaneous": Recomputation,
    "sampling": BiasedReservoir,
    "expiration list": ExpirationList,
    "panes": Panes,
    "histogram": VarianceHistogram,
    "quantile summary": ArasuMankuFixed,
}
"""Windrow's counterpart of each approach of the thesis."""


@cache
def thesis_model() -> Model:
    """Return the model of table 8.1: a 3 GHz machine of 2006, StreamInsight, and all memory of its process.

    >>> import windrow as wr
    >>> from windrow.planner.workload import Workload
    >>> hour, ten_minutes = 60 * 60 * 320, 10 * 60 * 320
    >>> work = Workload(wr.variance("temperature"), hour, ten_minutes)
    >>> {
    ...     kind.__name__: round(thesis_model().predict(work, kind).time / 1e9, 3)
    ...     for kind in (Recomputation, Panes)
    ... }
    {'Recomputation': 0.562, 'Panes': 0.16}
    """
    fits: dict[Key, dict[str, Fit]] = {}
    for table in THESIS_MODELS:
        if table.weighted:
            continue
        unit = 1e9 if table.what == "time" else 1e6
        scale = {"constant": ("one", 1), "retention": ("R", A_MINUTE), "slide": ("S", A_MINUTE)}
        weights = {
            scale[name][0]: unit * coefficient.value / scale[name][1]
            for name, coefficient in table.coefficients.items()
        }
        key = Key(table.aggregate, BEHIND[table.approach].__name__, "rolled", table.eps, table.delta)
        fits.setdefault(key, {})[table.what] = Fit(weights, 1.0, 1.0)
    return Model({key: Costs(**both) for key, both in fits.items()}, {"source": "thesis, tables 7.1 to 7.32"})
