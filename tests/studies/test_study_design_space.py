"""The study of the design space: what the thesis measured and fitted, what is measured here, and where ways meet."""

from __future__ import annotations

import csv
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from windrow.cli.main import main
from windrow.studies.design_space import (
    APPROACHES,
    NUMBERS,
    SECTION,
    SHARES,
    DesignSpace,
    Run,
    Sample,
    crossing,
)
from windrow.studies.refit import refit
from windrow.studies.stops import STOPS, where_it_stops, why_it_stops
from windrow.studies.thesis.accuracy import SLIDE
from windrow.studies.thesis.measured import WORKLOADS
from windrow.studies.thesis.models import THESIS_MODELS

WRONG = {"7.1"}
"""Its coefficient of the slide is ten times what table 6.1 and its own t say."""


def made(number: str, time: object, part: str | None = None, kept: int = 1000, each: int = 20) -> list[Sample]:
    """Samples of an approach whose time is a function of minutes of retention and of slide."""
    rng, approach = np.random.default_rng(2), APPROACHES[number]
    workloads = WORKLOADS if part is None else [(60, 60 * a / b) for a, b in SHARES]
    return [
        Sample(approach, part or number, r * SLIDE, round(s * SLIDE), time(r, s) * rng.normal(1, 1e-3), 0.0, kept)
        for r, s in workloads
        for _ in range(each)
    ]


def test_every_model_of_the_thesis_is_of_an_approach_that_it_measured():
    assert list(APPROACHES) == [f"6.{i}" for i in (*range(1, 8), *range(12, 18))]
    assert [m.number for approach in APPROACHES.values() for m in approach.models] == [f"7.{i}" for i in range(1, 33)]
    for approach in APPROACHES.values():
        assert [model.what for model in approach.models if not model.weighted] == ["time", "space"]
        work = approach.workload(600, 60)
        assert work.why_not(approach.kind) is None
        assert [(row.retention, row.slide) for row in approach.table.rows] == list(WORKLOADS)


@pytest.mark.parametrize("number", APPROACHES)
def test_the_models_of_the_thesis_are_those_of_its_measurements(number: str):
    approach = APPROACHES[number]
    for model in approach.models:
        if model.weighted or model.number in WRONG:
            continue
        means = [
            row.operator_time.average if model.what == "time" else row.private_memory.average
            for row in approach.table.rows
        ]
        # Coefficients have three decimals, and a fifth of the measurements is not in them.
        rounded = 0.0005 * 91
        for row, mean in zip(approach.table.rows, means, strict=True):
            assert abs(model.predict(row.retention, row.slide) - mean) <= 2 * model.std_error + rounded


def test_the_thesis_slide_is_worth_less_than_its_first_model_says():
    (model, *_), rows = APPROACHES["6.1"].models, APPROACHES["6.1"].table.rows
    seen = (rows[-1].operator_time.average - rows[-3].operator_time.average) / 29
    assert model.coefficients["slide"].value > 9 * seen


@pytest.mark.parametrize("number", [number for number, (time, _) in STOPS.items() if time])
def test_where_the_thesis_says_that_an_approach_stops_to_pay_is_in_its_measurements(number: str):
    table = APPROACHES[number].table
    first = APPROACHES["6.1" if table.aggregate == "variance" else "6.12"].table
    costs, others = ([row.operator_time.average for row in each.rows[2:]] for each in (table, first))
    found = crossing([1 / 60, 1 / 4, 1 / 2], costs, others)
    assert (0.5 if found is None else found) == pytest.approx(float(Fraction(STOPS[number][0])), abs=0.03)


def test_a_crossing_is_between_the_shares_where_the_sign_changes():
    shares = [0.1, 0.2, 0.4, 1.0]
    assert crossing(shares, [1, 2, 4, 10], [5, 5, 5, 5]) == pytest.approx(0.5)
    assert crossing(shares, [1, 2, 4, 10], [3, 3, 3, 3]) == pytest.approx(0.3)
    assert crossing(shares, [1, 2, 4, 10], [10, 10, 10, 10]) is None
    assert crossing(shares, [1, 2, 4, 10], [4, 4, 4, 4]) == pytest.approx(0.4)
    assert crossing(shares, [6, 7, 8, 9], [5, 5, 5, 5]) == 0.1


def test_a_refit_finds_what_the_measurements_were_made_of():
    found = refit(made("6.5", lambda r, s: 0.002 + 0.001 * r + 0.05 * s), "time")
    for name, value in (("constant", 0.002), ("retention", 0.001), ("slide", 0.05)):
        assert found.coefficients[name].value == pytest.approx(value, abs=1e-3)
        assert found.coefficients[name].half_width > 0
    assert found.r_squared > 0.999
    assert found.residuals is not None
    assert found.residuals.n == 80
    assert not found.residuals.homoscedastic
    assert found.relative < 0.02


def test_a_planner_that_knows_the_terms_is_nearer_than_a_line():
    # Values are put in order, so the window costs more than in proportion; a line is far off where it is short.
    found = refit(made("6.12", lambda r, s: 1e-9 * r * SLIDE * np.log2(r * SLIDE / s)), "time")
    assert found.planner < 0.01
    assert found.planner < found.relative


def test_space_without_any_scatter_is_told_exactly():
    found = refit(made("6.2", lambda r, s: 0.001), "space")
    assert found.residuals is None
    assert found.coefficients["slide"].value == pytest.approx(8 * SLIDE / 1e6)
    assert found.coefficients["constant"].value == pytest.approx(0.001)
    assert found.planner == pytest.approx(0, abs=1e-6)


def test_where_it_stops_follows_from_what_was_measured():
    samples = made("6.1", lambda r, s: 0.012, SECTION, kept=4_000_000)
    for number in ("6.2", "6.3", "6.4", "6.5", "6.6", "6.7"):
        samples += made(number, lambda r, s: 0.0005 * s, SECTION)
    table = where_it_stops(samples, "variance")
    assert table.columns["time ours"] == ["0.40"] * 6
    # 4 MB are 500,000 elements of the 1,152,000.
    assert table.columns["memory ours"] == ["0.43"] * 6
    assert table.columns["time theirs"] == ["1/2", "1/2", "1/3", "1/2", "-", "1/8"]
    assert "panes 0.40 (seen: 0.40)" in why_it_stops(samples, "variance")


def test_what_is_asked_for_is_measured_once():
    quick = DesignSpace.choose(["7.11", "6.5", "7.10"], quick=True)
    assert quick.numbers == ("6.5", "7.10", "7.11")
    assert [(run.part, run.measurements) for run in quick.runs] == [("6.5", 10)] * 4
    assert max(run.retention for run in DesignSpace.choose(quick=True).runs) == 15 * SLIDE
    full = DesignSpace.choose()
    assert full.numbers == NUMBERS
    assert len(list(full.runs)) == 13 * (len(WORKLOADS) + len(SHARES))
    assert {run.measurements for run in full.runs if run.part != SECTION} == {50}


@pytest.mark.parametrize("number", APPROACHES)
def test_every_approach_can_be_measured(number: str):
    approach = APPROACHES[number]
    samples = Run(approach, number, 2000, 500, 3).samples()
    assert len(samples) == 3
    assert all(s.update > 0 and s.query > 0 and s.stored > 0 for s in samples)
    assert {s.batch for s in samples} == ({0} if approach.is_instantaneous else {4000})


def test_the_command_prints_theirs_beside_ours_and_writes_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "costs.csv"
    options = ["--table", "6.5", "--table", "7.10", "--table", "7.11", "--quick", "--out", str(out)]
    assert main(["study", "design-space", *options]) == 0
    printed = capsys.readouterr()
    assert all(len(line.rstrip()) <= 100 for line in printed.out.splitlines())
    assert printed.out.startswith("Table 6.5: variance, panes, Panes, ms and MB, N = 10")
    assert "16 ± <1" in printed.out
    assert "Tables 7.10, 7.11: variance, panes" in printed.out
    assert "25.8 ± 0.039" in printed.out
    assert printed.err == f"wrote 40 measurements to {out}\n"
    rows = list(csv.DictReader(out.open()))
    assert len(rows) == 40
    first = rows[0]
    assert (first["part"], first["synopsis"], first["slide"], first["batch_bytes"]) == (
        "6.5", "Panes", "19200", "153600",
    )  # fmt: skip
    assert float(first["update_seconds"]) > 0
    assert main(["study", "design-space", *options]) == 2
    assert "already exists; use --overwrite" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--table", "6.8"], "--table: invalid choice: '6.8'"),
        (["--table", "7.33"], "--table: invalid choice: '7.33'"),
        (["--overwrite"], "--overwrite requires --out"),
        (["--out", "costs.txt"], "expected a name that ends in .csv, got 'costs.txt'"),
        (["--out", "no/such/folder.csv"], "there is no folder"),
        (["--data", "uniform"], "unrecognized arguments: --data"),
    ],
)
def test_a_bad_option_is_refused_in_one_line(options: list[str], said: str, capsys: pytest.CaptureFixture[str]):
    assert main(["study", "design-space", *options]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("windrow: error: ")
    assert printed.err.count("\n") == 1
    assert said in printed.err


def test_there_is_a_model_of_the_thesis_for_each_number():
    assert set(NUMBERS) == {*APPROACHES, *(model.number for model in THESIS_MODELS), SECTION}
