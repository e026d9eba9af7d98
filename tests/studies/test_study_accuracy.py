"""The study of accuracy: what the thesis saw, what is true of a window, and how far synopses are from it."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest

from windrow.aggregates import Quantile, Variance
from windrow.cli.main import main
from windrow.planner.data import STREAMS, make_stream
from windrow.studies.accuracy import Finding, Study, answers_of
from windrow.studies.report import exceptions, notes, verdict
from windrow.studies.thesis.accuracy import PHI, RETENTIONS, SLIDE, THESIS_TABLES
from windrow.studies.truth import Truth
from windrow.synopses import Accuracy, BiasedReservoir, PaneReservoirs, Retention

BY_NUMBER = {table.number: table for table in THESIS_TABLES}


def found(numbers: list[str], data: tuple[str, ...], measurements: int = 12) -> list[Finding]:
    tables = tuple(BY_NUMBER[number] for number in numbers)
    study = Study(tables, data, 0, measurements, measurements, retentions=(1,))
    return [finding for run in study.runs for finding in run.findings()]


def test_the_thesis_tables_have_a_number_for_every_retention_and_quantile():
    assert list(BY_NUMBER) == ["6.8", "6.9", "6.10", "6.11", "6.18", "6.19", "6.20", "6.21"]
    for table in THESIS_TABLES:
        phis = [None] if table.what == "variance" else list(PHI)
        assert list(table.observed) == [(minutes, phi) for minutes in RETENTIONS for phi in phis]
        for seen in table.observed.values():
            assert 0 <= seen.average <= seen.maximum
            assert (seen.maximum > table.eps) == (seen.delta > 0)
    assert BY_NUMBER["6.9"].observed[1, None] == (0.00483, 0.01753, 0.10501)
    assert BY_NUMBER["6.20"].observed[60, 0.75].maximum == 0.00702


@pytest.mark.parametrize("kind", STREAMS)
def test_a_seed_makes_one_stream(kind: str):
    x = make_stream(kind, 5000, seed=3)
    assert x.shape == (5000,)
    assert np.isfinite(x).all()
    assert (x == make_stream(kind, 5000, seed=3)).all()
    assert (x != make_stream(kind, 5000, seed=4)).any()


@pytest.mark.parametrize("ties", [False, True])
def test_the_truth_is_that_of_each_window(ties: bool):
    rng = np.random.default_rng(5)
    slide, minutes, windows = 20, 3, 6
    x = rng.integers(0, 9, 8 * slide).astype(float) if ties else rng.normal(1e6, 1.0, 8 * slide)
    truth = Truth(x, slide)
    parts = [x[i * slide : (i + minutes) * slide] for i in range(windows)]
    assert truth.variances(minutes, windows) == pytest.approx([part.var(ddof=1) for part in parts], rel=1e-9)
    phi = np.array([0.0, 0.3, 0.5, 1.0])
    answers = rng.choice(x, (windows, phi.size))
    for part, row, errors in zip(parts, answers, truth.rank_errors(answers, phi, minutes), strict=True):
        for share, answer, error in zip(phi, row, errors, strict=True):
            ranks = 1 + np.flatnonzero(np.sort(part) == answer)
            if ranks.size:
                asked = max(1, math.ceil(share * part.size))
                assert error == pytest.approx(abs(ranks - asked).min() / part.size)


def test_an_answer_past_all_elements_has_the_rank_of_the_last():
    truth = Truth(np.arange(40.0), 10)
    answers = np.array([[-1.0, 99.0], [-1.0, 99.0]])
    assert not truth.rank_errors(answers, np.array([0.0, 1.0]), 2).any()
    assert truth.rank_errors(answers, np.array([0.5, 0.5]), 2) == pytest.approx(np.full((2, 2), 0.5), abs=0.05)


@pytest.mark.parametrize("kind", [BiasedReservoir, PaneReservoirs])
def test_what_a_sample_tells_is_what_it_would_answer(kind: type):
    x, minutes = make_stream("bursty", 4 * SLIDE), 2
    retention, accuracy = Retention(minutes * SLIDE), Accuracy(0.1, 0.01)
    answers = answers_of(kind(Variance("x"), retention, accuracy), x, minutes, {"variance", "quantiles"})
    on = np.arange(x.size)
    rolled = kind(Variance("x"), retention, accuracy).roll(on, x, SLIDE)
    assert answers["variance"] == pytest.approx(rolled[minutes - 1 :], rel=1e-9)
    for j, phi in enumerate(PHI):
        rolled = kind(Quantile("x", phi), retention, accuracy).roll(on, x, SLIDE)
        assert (answers["quantiles"][:, j] == rolled[minutes - 1 :]).all()


def test_no_deterministic_synopsis_exceeds_eps_on_any_data():
    findings = [f for f in found(["6.10", "6.11", "6.20", "6.21"], tuple(STREAMS), 6) if f.deterministic]
    assert len(findings) == len(STREAMS) * (1 + 1 + 5 + 5)
    assert all(f.observed.maximum <= f.eps for f in findings)
    assert all(f.holds for f in findings)


def test_what_holds_and_what_does_not_where_the_thesis_saw_more_than_delta():
    findings = found(["6.9"], ("uniform",), measurements=40)
    by_name = {f.synopsis: f for f in findings}
    assert by_name["thesis' reservoir"].observed.delta > 0.01
    assert by_name["BiasedReservoir"].holds
    assert by_name["PaneReservoirs"].holds


def test_what_was_missed_is_told_with_where_and_how_often():
    findings = found(["6.9", "6.10"], ("sorted",))
    assert list(exceptions(findings)) == ["thesis' reservoir, table 6.9: sorted (1)"]
    assert verdict(findings).endswith("within ε in all 1 settings; randomised ones: observed δ ≤ δ in 2 of 3")
    tables = [BY_NUMBER["6.9"], BY_NUMBER["6.10"]]
    assert not any(note.startswith("Measurements") for note in notes(tables, findings))
    assert any("forgets what has left the window" in note for note in notes(tables, findings))


def test_data_beyond_the_thesis_are_measured_less_often_unless_named():
    assert (Study.choose().measurements, Study.choose().beyond) == (419, 105)
    assert (Study.choose(data="sorted").data, Study.choose(data="sorted").beyond) == (("sorted",), 419)
    quick = Study.choose(["6.20", "6.8", "6.20"], quick=True)
    assert [table.number for table in quick.tables] == ["6.20", "6.8"]
    assert quick.retentions == (1, 15)


def test_an_even_sample_holds_where_data_drift_and_a_biased_one_does_not():
    findings = found(["6.18"], ("sorted", "bursty"), measurements=20)
    assert all(f.holds for f in findings if f.synopsis == "PaneReservoirs")
    assert any(not f.holds for f in findings if f.synopsis == "BiasedReservoir")


def test_randomised_synopses_hold_on_uniform_data():
    findings = found(["6.8", "6.18", "6.20"], ("uniform",))
    assert {f.delta for f in findings if not f.deterministic} == {0.0001}
    assert all(f.holds for f in findings)
    assert verdict(findings) == (
        "deterministic synopses: within ε in all 5 settings; randomised ones: observed δ ≤ δ in all 23"
    )


def test_the_command_prints_theirs_beside_ours_and_writes_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "accuracy.csv"
    options = ["--table", "6.8", "--table", "6.10", "--data", "uniform", "--quick", "--out", str(out)]
    assert main(["study", "accuracy", *options]) == 0
    printed = capsys.readouterr()
    assert all(len(line) <= 100 for line in printed.out.splitlines())
    assert "0.04371" in printed.out
    assert printed.out.splitlines()[-1] == (
        "deterministic synopses: within ε in all 2 settings; randomised ones: observed δ ≤ δ in all 6"
    )
    assert printed.err == f"wrote 8 settings to {out}\n"
    rows = list(csv.DictReader(out.open()))
    assert len(rows) == 8
    first = rows[0]
    assert (first["table"], first["minutes"], first["phi"], first["thesis_maximum"]) == ("6.8", "1", "", "0.02758")
    assert main(["study", "accuracy", *options]) == 2
    assert "already exists; use --overwrite" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["study"], "STUDY"),
        (["study", "speed"], "invalid choice: 'speed'"),
        (["study", "accuracy", "--table", "7.1"], "--table: invalid choice: '7.1'"),
        (["study", "accuracy", "--data", "cauchy"], "--data: invalid choice: 'cauchy'"),
        (["study", "accuracy", "--seed", "-1"], "--seed: expected an integer of at least 0, got -1"),
        (["study", "accuracy", "--seed", "x"], "--seed: invalid int value: 'x'"),
        (["study", "accuracy", "--overwrite"], "--overwrite requires --out"),
        (["study", "accuracy", "--out", "errors.txt"], "expected a name that ends in .csv, got 'errors.txt'"),
        (["study", "accuracy", "--out", "no/such/folder.csv"], "there is no folder"),
    ],
)
def test_a_bad_option_is_refused_in_one_line(options: list[str], said: str, capsys: pytest.CaptureFixture[str]):
    assert main(options) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("windrow: error: ")
    assert printed.err.count("\n") == 1
    assert said in printed.err
