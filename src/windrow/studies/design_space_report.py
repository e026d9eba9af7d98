"""The report of a design-space study, for a terminal and for a file: the thesis' numbers next to ours."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import mean
from typing import IO

from windrow.planner.calibration.regression import SIGNIFICANT
from windrow.studies.design_space import APPROACHES, DesignSpace, Sample, of_part
from windrow.studies.refit import PREDICTORS, Refit, refit
from windrow.studies.thesis.accuracy import SLIDE
from windrow.studies.thesis.measured import Measured as Theirs
from windrow.studies.thesis.measured import MeasuredRow
from windrow.studies.thesis.models import Coefficient, ThesisModel
from windrow.studies.thesis.models import What as ModelOf
from windrow.terminal import Table

FIELDS = (
    "part", "aggregate", "approach", "synopsis", "eps", "delta", "retention", "slide",
    "update_seconds", "query_seconds", "synopsis_bytes", "batch_bytes",
)  # fmt: skip

NONE = "-"
"""Marks values that the thesis does not report."""
ROWS = (
    *PREDICTORS, "R²", "standard error", "RMSE_v", "MAE_v", "homoscedastic", "independent", "normal",
    "median error_v", "… planner's fit",
)  # fmt: skip
_UNITS: Mapping[ModelOf, str] = {"time": "ms", "space": "MB"}
_SCALES: Mapping[ModelOf, float] = {"time": 1e3, "space": 1.0}


# Chapter 6: measurements.


def beside_measured(study: DesignSpace, samples: Sequence[Sample], number: str) -> Table:
    """Return a table of chapter 6: the averages per workload, in milliseconds and MB."""
    approach = APPROACHES[number]
    mine, published = (
        of_part(samples, approach, number),
        {(row.retention, row.slide): row for row in approach.table.rows},
    )
    rows = [published.get(workload) for workload in study.workloads]
    each = [[s for s in mine if (s.retention, s.slide) == (r * SLIDE, t * SLIDE)] for r, t in study.workloads]
    columns: dict[str, Sequence[object]] = {"R": [r for r, _ in study.workloads], "S": [s for _, s in study.workloads]}
    times: tuple[tuple[str, Callable[[MeasuredRow], Theirs | None], Callable[[Sample], float]], ...] = (
        ("op", lambda row: row.operator_time, lambda s: s.time),
        ("upd", lambda row: row.update_time, lambda s: s.update),
        ("q.", lambda row: row.query_time, lambda s: s.query),
    )
    for name, theirs, ours in times:
        if theirs(approach.table.rows[0]) is not None:
            columns[f"{name} theirs"] = [_their_ms(theirs(row) if row else None) for row in rows]
        columns[f"{name} ours"] = [short(1e3 * mean(map(ours, some))) for some in each]
    columns["MB theirs"] = [f"{row.private_memory.average:.1f}" if row else NONE for row in rows]
    columns["MB ours"] = [short(mean(s.space for s in some) / 1e6) for some in each]
    title = f"Table {number}: {approach}, {approach.kind.__name__}, ms and MB, N = {len(each[0])}"
    return Table(columns, title=title)


# Chapter 7: models.


def beside_models(study: DesignSpace, samples: Sequence[Sample], number: str) -> Table | None:
    """Return all tables of chapter 7 for one approach, or None if none was requested."""
    approach = APPROACHES[number]
    models = [model for model in approach.models if model.number in study.numbers]
    if not models:
        return None
    mine, columns = of_part(samples, approach, number), dict[str, Sequence[object]]({"": ROWS})
    for model in models:
        columns[f"{model.number} {'weighted' if model.weighted else _UNITS[model.what]}"] = _their_fit(model)
    for what in dict.fromkeys(model.what for model in models):
        columns[f"ours, {_UNITS[what]}"] = _our_fit(refit(mine, what), _SCALES[what])
    numbers = ", ".join(model.number for model in models)
    return Table(columns, title=f"Tables {numbers}: {approach}, by minutes of retention and slide")


def _their_fit(model: ThesisModel) -> list[str]:
    scale = _SCALES[model.what]
    held = (model.homoscedasticity, model.independence, model.normality)
    errors = (model.std_error, model.rmse, model.mae)
    return [
        *(_coefficient(model.coefficients.get(name), scale, "<1" if scale > 1 else "<0.001") for name in PREDICTORS),
        f"{model.r_squared:.3f}",
        *(short(scale * error) for error in errors),
        *(verdict.lower() for verdict in held),
        "",
        "",
    ]


def _our_fit(refit: Refit, scale: float) -> list[str]:
    r = refit.residuals
    held = ["exact"] * 3 if r is None else [
        f"{_yes(r.homoscedastic)}, p {r.breusch_pagan:.3f}",
        f"{_yes(r.independent)}, d {r.durbin_watson:.2f}",
        f"{_yes(r.normal)}, p {r.jarque_bera:.3f}",
    ]  # fmt: skip
    return [
        *(_coefficient(refit.coefficients[name], scale) for name in PREDICTORS),
        f"{refit.r_squared:.3f}",
        *(short(scale * error) for error in (refit.std_error, refit.rmse, refit.mae)),
        *held,
        f"{refit.relative:.2%}",
        f"{refit.planner:.2%}",
    ]


# Notes and output.


def notes(study: DesignSpace, samples: Sequence[Sample]) -> Iterator[str]:
    """Explain how to read the numbers."""
    approaches = {sample.approach for sample in samples}
    yield (
        "Memory: theirs is that of the process. Ours is the bytes of the synopsis and of the batch, a slide of 8 bytes "
        "an element; the instantaneous approach has the batch in its window already."
    )
    if any(a.is_instantaneous and a.table.aggregate == "quantiles" for a in approaches):
        yield (
            "The instantaneous approach to quantiles keeps the values of each slide in order, and puts those of the "
            "whole window together for each answer."
        )
    if any(number in APPROACHES for number in study.numbers):
        yield (
            "op is the time of a slide: that of its updates (upd) and of one answer (q.). A dash is where the thesis "
            "has no number."
        )
    if any(number.startswith("7.") for number in study.numbers):
        yield (
            "Models: on 80 % of the measurements; what ends in _v is on the others, and its median is of relative "
            "errors. An assumption holds where its test finds nothing against it: Breusch-Pagan's and Jarque-Bera's "
            f"with a p above {SIGNIFICANT:g}, Durbin-Watson's with a d as near to 2 as that of independent residuals. "
            "Weighted models of the thesis are of the same measurements as the one before; ours are not weighted."
        )


def write_samples(samples: Iterable[Sample], file: IO[str]) -> None:
    """Write one line per measurement."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(FIELDS)
    for s in samples:
        table = s.approach.table
        workload = [s.part, table.aggregate, table.approach, s.approach.kind.__name__, table.eps, table.delta]
        writer.writerow([*workload, s.retention, s.slide, s.update, s.query, s.stored, s.batch])


def short(value: float) -> str:
    """Format a number for a table: three digits, or the integer part.

    >>> short(1234.5), short(12.345), short(0.01234), short(0.00001)
    ('1234', '12.3', '0.012', '<0.001')
    """
    if 0 < abs(value) < 0.0005:
        return "<0.001" if value > 0 else ">-0.001"
    if abs(value) < 1:
        return f"{value:.3f}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _their_ms(seconds: Theirs | None) -> str:
    if seconds is None:
        return NONE
    return f"{1e3 * seconds.average:.0f}" if seconds.average else "<1"


def _coefficient(coefficient: Coefficient | None, scale: float, nought: str = "0") -> str:
    """Format a coefficient and its half-width; a zero in the thesis' three decimals need not be exactly 0."""
    if coefficient is None:
        return NONE
    both = (coefficient.value, coefficient.half_width)
    return " ± ".join(short(scale * value) if value else nought for value in both)


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"
