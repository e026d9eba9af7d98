"""From measurements to a model: the measurements, the fit, and the file."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import windrow as wr
from sweeps import sweep
from windrow.errors import DataError, SourceError, SpecError
from windrow.planner import model as models
from windrow.planner.calibration.grid import Line, Task, calibrate, full_grid, quick_grid, read_lines, slides_for
from windrow.planner.calibration.measure import Care, Measured, measure
from windrow.planner.calibration.regression import Fit, fit, held_out, robust
from windrow.planner.model import Key, Model, adapted, fit_model, key_of, load_model, shipped_model
from windrow.planner.panes_of_values import PanesOfValues
from windrow.planner.workload import AGGREGATES, WHOLE, Elements, Workload, approaches
from windrow.studies.thesis.costs import BEHIND, thesis_model
from windrow.studies.thesis.models import THESIS_MODELS
from windrow.synopses import Accuracy, ExponentialHistogram, FiBA, Ordered, Panes, Recomputation, Retention, TwoStacks
from windrow.synopses.costs import TERMS, numbers
from windrow.synopses.samples.base import sample_size

SWIFT = Care(least=0.0005, most=0.002, fill=0.2, runs=2)


# Workloads.


def test_elements_go_on_for_ever_and_are_in_order() -> None:
    elements = Elements("uniform")
    on, x = elements.take(elements.pool.size - 2)
    assert on[0] == 0
    later, more = elements.take(5)
    assert later.tolist() == [on.size, on.size + 1, on.size + 2, on.size + 3, on.size + 4]
    assert more[2:].tolist() == x[:3].tolist()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"retention": 0}, "retention: expected an integer from 1 to 2.*, got 0"),
        ({"slide": 2.5}, "slide: expected an integer from 1 to 2.*, got 2.5"),
        ({"slide": 101}, "slide: 101 exceeds retention=100"),
        ({"batch": 3}, "batch: 3 must divide slide=10"),
        ({"batch": True}, "batch: expected an integer from 1 to 2.*, got True"),
        ({"data": "odd"}, "data: expected one of uniform, .*, got 'odd'"),
        ({"eps": 1.5}, "eps: expected a number of at least 0 and below 1, got 1.5"),
    ],
)
def test_a_workload_that_makes_no_sense_is_refused(change: dict[str, object], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        Workload(**{"aggregate": wr.sum("x"), "retention": 100, "slide": 10, **change})


def test_an_exponential_histogram_wants_to_know_that_values_are_whole() -> None:
    work = Workload(wr.sum("x"), 100, 10, 0.1)
    assert "whole=True" in str(work.why_not(ExponentialHistogram))
    assert replace(work, data=WHOLE).why_not(ExponentialHistogram) is None


# Measuring.


@pytest.mark.parametrize(
    "kind", sweep(approaches(), *(kind for kind in approaches() if kind is not FiBA)), ids=lambda kind: kind.__name__
)
def test_every_synopsis_can_be_measured(kind: type) -> None:
    delta = 0.0 if kind.deterministic else 0.1
    eps = 0.0 if kind.exact else 0.09
    works = (Workload(a, 200, 20, eps, delta, data=WHOLE) for a in AGGREGATES.values())
    work = next(work for work in works if work.why_not(kind) is None)
    found = measure(work, kind, SWIFT)
    assert found.time > 0
    assert found.update > 0
    assert found.query > 0
    assert found.bytes > 0
    assert found.full
    assert len(found.runs) in (1, 2)  # one if it takes long here


def test_batches_smaller_than_the_slide_are_measured() -> None:
    one, all_ = (measure(Workload(wr.sum("x"), 400, 40, batch=batch), TwoStacks, SWIFT) for batch in (1, 40))
    assert one.time > all_.time  # forty calls from Python against one


def test_a_window_that_takes_too_long_to_fill_says_so() -> None:
    care = replace(SWIFT, fill=1e-9)
    assert not measure(Workload(wr.sum("x"), 100_000, 10_000), TwoStacks, care).full


@pytest.mark.parametrize("name", ["median", "quantile", "mode"])
def test_panes_of_values_answer_as_the_synopsis_does(name: str) -> None:
    aggregate, elements = AGGREGATES[name], Elements(WHOLE)
    on, x = elements.take(600)
    found = PanesOfValues(aggregate, Retention(120), every=30)
    wanted = Ordered(aggregate, Retention(120))
    for a, b in ((0, 90), (90, 300), (300, 600)):
        np.testing.assert_array_equal(found.roll(on[a:b], x[a:b], 30), wanted.roll(on[a:b], x[a:b], 30))
    found.update(on[:60], x[:60])
    wanted.update(on[:60] + 600, x[:60])
    assert found.query() == wanted.query()
    assert found.nbytes > 0


# The grid and its file.


def test_the_grid_has_every_synopsis_and_every_aggregate_once() -> None:
    tasks = full_grid()
    assert len({json.dumps(task.key) for task in tasks}) == len(tasks)
    assert {task.kind for task in tasks} == {*approaches(), PanesOfValues}
    assert {task.work.name for task in tasks} == set(AGGREGATES)
    assert {task.work.data for task in tasks} == {"uniform", "gaussian", "sorted", "bursty", "heavy-tailed", WHOLE}
    assert any(task.work.batch is not None and task.work.batch < task.work.slide for task in tasks)
    assert {task.kind for task in quick_grid()} >= set(approaches())


def test_slides_reach_from_one_element_to_the_whole_window() -> None:
    assert slides_for(1_000) == [1, 8, 10, 100, 143, 500, 1_000]
    assert slides_for(3, few=True) == [1, 3]


def test_a_calibration_that_was_broken_off_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    tasks = [Task(Workload(wr.sum("x"), 100, slide), Panes) for slide in (1, 10, 50)]
    measuring = calibrate(tasks, path, SWIFT)
    first = next(measuring)
    measuring.close()
    with path.open("a") as file:
        file.write('{"aggregate": "sum", "syn')  # cut off in the middle of a line
    assert [line.task for line in read_lines(path)] == [tasks[0]]
    rest = list(calibrate(tasks, path, SWIFT))
    assert [line.task for line in rest] == tasks[1:]
    assert read_lines(path) == [first, *rest]


def test_a_file_that_is_no_calibration_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text("no\nlines\n")
    with pytest.raises(SourceError, match="line 1: expected a measurement"):
        read_lines(path)
    path.write_text("something of yours without an end")
    with pytest.raises(SourceError, match="line 1: expected a measurement"):
        list(calibrate([], path, SWIFT))
    assert path.read_text() == "something of yours without an end"
    key = Task(Workload(wr.sum("x"), 100, 1), Panes).key
    path.write_text(json.dumps({**key, "time": -1.0, "update": 1.0, "query": 1.0, "bytes": 1, "runs": []}) + "\n{}\n")
    with pytest.raises(SourceError, match=r"time is -1\.0"):
        read_lines(path)


# Regression.


def test_weights_are_found_again() -> None:
    rng = np.random.default_rng(3)
    n = np.exp(rng.uniform(0, 14, 300))
    terms = {"one": np.ones(300), "n": n, "square": n**2}
    y = (40 + 3 * n) * np.exp(rng.normal(0, 0.05, 300))
    y[::37] *= 8  # outliers
    found = fit(terms, y, np.log10(n).round().tolist())
    assert found.method == "weighted, robust"
    assert found.weights["one"] == pytest.approx(40, rel=0.1)
    assert found.weights["n"] == pytest.approx(3, rel=0.1)
    assert found.predict(dict.fromkeys(terms, 1.0)) == pytest.approx(43, rel=0.1)
    assert found.diagnosis is not None
    assert found.diagnosis.breusch_pagan < 0.05
    assert found.diagnosis.relative_v < 0.1
    assert found.low < 1 < found.high
    assert found.errors["n"] < 1


def test_plain_least_squares_where_its_assumptions_hold() -> None:
    rng = np.random.default_rng(1)
    n = rng.uniform(10, 100, 200)
    found = fit({"one": np.ones(200), "n": n}, 500 + 2 * n + rng.normal(0, 3, 200), [0] * 200)
    assert found.method == "least squares"
    assert found.weights["n"] == pytest.approx(2, rel=0.1)
    assert found.diagnosis is not None
    assert 1.5 < found.diagnosis.durbin_watson < 2.5


def test_no_term_costs_less_than_nothing() -> None:
    n = np.arange(1.0, 60.0)
    weights = robust(np.column_stack([np.ones(n.size), n, n**2]), 1000 - 5 * n)
    assert (weights >= 0).all()


def test_a_fifth_of_each_stratum_is_held_out() -> None:
    strata = ["a"] * 50 + ["b"] * 10
    held = held_out(strata, np.random.default_rng(0))
    assert held[:50].sum() == 10
    assert held[50:].sum() == 2


def test_too_few_measurements_make_no_model() -> None:
    with pytest.raises(DataError, match="too few"):
        fit({"one": np.ones(2), "n": np.arange(2.0)}, np.ones(2), [0, 0])


# Models.


def line(work: Workload, kind: type, time: float, size: int = 800) -> Line:
    return Line(Task(work, kind), Measured(time, 1.0, 1.0, size))


def made_up() -> list[Line]:
    """Recomputation that costs 50 ns and 2 ns an element of the window, and 8 bytes of each."""
    works = [Workload(wr.sum("x"), r, s) for r in (100, 1_000, 10_000, 100_000) for s in (1, 10, 50, 100)]
    return [line(work, Recomputation, 50 + 2.0 * work.retention, 8 * work.retention) for work in works]


def test_a_model_predicts_what_it_was_not_fitted_to() -> None:
    model = fit_model(made_up())
    found = model.predict(Workload(wr.sum("x"), 5_000, 7), Recomputation)
    assert found is not None
    assert found.time == pytest.approx(10_050, rel=0.05)
    assert found.time_low <= found.time <= found.time_high
    assert found.stands_in is None


def test_an_aggregate_that_was_not_measured_has_a_stand_in() -> None:
    found = fit_model(made_up()).predict(Workload(wr.max("x"), 5_000, 7), Recomputation)
    assert found is not None
    assert found.stands_in == "sum"
    assert fit_model(made_up()).predict(Workload(wr.median("x"), 5_000, 7), Ordered) is None


def test_a_model_is_kept_in_a_file(tmp_path: Path) -> None:
    model = fit_model(made_up())
    model.save(tmp_path / "model.json")
    read = load_model(tmp_path / "model.json")
    assert read.costs.keys() == model.costs.keys()
    key = Key("sum", "Recomputation")
    assert read.costs[key].time.weights == model.costs[key].time.weights
    assert read.costs[key].time.diagnosis == model.costs[key].time.diagnosis
    assert list(tmp_path.iterdir()) == [tmp_path / "model.json"]


def broken(**change: object) -> str:
    """A model with one part that makes no sense."""
    good = {"weights": {"one": 1.0}, "low": 0.9, "high": 1.1}
    key = {"aggregate": "sum", "synopsis": "Panes", "mode": "rolled", "eps": None, "delta": None}
    return json.dumps({"version": 2, "about": {}, "costs": [{**key, "time": {**good, **change}, "space": good}]})


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", '{"version": 2}', '{"version": 2, "about": {}, "costs": [1]}', "[" * 100_000,
        broken(weights={"one": -1.0}), broken(weights={"one": "x"}), broken(weights={"none": 1.0}),
        broken(weights=[]), broken(low=2.0), broken(more=1),
    ],
    ids=range(11),
)  # fmt: skip
def test_a_file_that_is_no_model_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "model.json").write_text(text)
    with pytest.raises(SourceError, match="expected a model written by `windrow calibrate`"):
        load_model(tmp_path / "model.json")


def test_a_model_of_another_version_or_none_at_all(tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text('{"version": 99}')
    with pytest.raises(SourceError, match="unsupported version 99, expected 2; run `windrow calibrate` again"):
        load_model(tmp_path / "model.json")
    with pytest.raises(SourceError, match="cannot read the model"):
        load_model(tmp_path / "none.json")
    (tmp_path / "model.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SourceError, match="it is not a text file"):
        load_model(tmp_path / "model.json")


def test_a_model_of_ones_own_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(models.ELSEWHERE, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert models.current_model() is shipped_model()
    own = tmp_path / "windrow" / "model.json"
    own.parent.mkdir()
    fit_model(made_up()).save(own)
    assert set(models.current_model().costs) == {Key("sum", "Recomputation")}
    monkeypatch.setenv(models.ELSEWHERE, str(tmp_path / "other.json"))
    with pytest.raises(SourceError, match=r"other\.json"):
        models.current_model()


def test_a_few_measurements_adapt_a_model() -> None:
    model = fit_model(made_up())
    twice = [replace(each, measured=replace(each.measured, time=2 * each.measured.time)) for each in made_up()[:4]]
    found = adapted(model, twice).predict(Workload(wr.sum("x"), 5_000, 7), Recomputation)
    assert found is not None
    assert found.time == pytest.approx(20_100, rel=0.1)


def test_batches_and_times_have_models_of_their_own() -> None:
    work = Workload(wr.sum("x"), 100, 10)
    assert key_of(line(work, Panes, 1.0)).mode == "rolled"
    assert key_of(line(replace(work, batch=5), Panes, 1.0)).mode == "batched"
    assert key_of(line(replace(work, kind="time"), Panes, 1.0)).mode == "timed"


def test_the_model_of_the_package_knows_every_synopsis_of_every_aggregate() -> None:
    model = shipped_model()
    for aggregate in AGGREGATES.values():
        for kind in (*approaches(), PanesOfValues):
            for eps, delta in ((0.0, 0.0), (0.05, 0.001)):
                work = Workload(aggregate, 10_000, 100, eps, delta, data=WHOLE)
                if work.why_not(kind) is None:
                    found = model.predict(work, kind)
                    assert found is not None, (aggregate, kind)
                    assert found.stands_in is None, (aggregate, kind)
                    assert 0 < found.time_low <= found.time <= found.time_high
                    assert 0 < found.bytes_low <= found.bytes <= found.bytes_high


# The thesis' model.


def test_table_8_1_reproduces_example_8_1_2() -> None:
    hour, ten_minutes = 60 * 60 * 320, 10 * 60 * 320
    advice = wr.advise(wr.variance("x"), retention=hour, slide=ten_minutes, model=thesis_model())
    found = {way.name: way.predicted for way in advice.ways if way.predicted is not None}
    seconds = {name: round(each.time / 1e9, 3) for name, each in found.items()}
    megabytes = {name: round(each.bytes / 1e6, 2) for name, each in found.items()}
    assert seconds == {"Recomputation": 0.562, "ExpirationList": 0.243, "Panes": 0.16}
    assert megabytes == {"Recomputation": 99.43, "ExpirationList": 127.89, "Panes": 37.97}
    assert advice.synopsis == "Panes"
    assert advice.close == ()


def test_table_8_1_takes_the_loosest_error_that_is_tight_enough() -> None:
    model = thesis_model()
    hour, minute = 60 * 60 * 320, 60 * 320

    def time(eps: float) -> float | None:
        work = Workload(wr.variance("x"), hour, minute, eps, 0.0001)
        found = model.predict(work, BEHIND["histogram"])
        return None if found is None else found.time

    assert time(0.05) == time(0.07)
    assert time(0.01) == time(0.02)
    assert time(0.005) is None
    assert time(0.05) != time(0.01)


def test_every_table_of_the_thesis_is_there() -> None:
    assert [table.number for table in THESIS_MODELS] == [f"7.{i}" for i in range(1, 33)]
    assert all(isinstance(each.time, Fit) and isinstance(each.space, Fit) for each in thesis_model().costs.values())
    assert isinstance(thesis_model(), Model)


def test_a_dozen_measurements_with_an_outlier_do_not_hide_what_small_windows_cost() -> None:
    """Of so few the tests of residuals reject nothing; plain least squares made microseconds of noise a constant."""
    retention = np.repeat([200.0, 5_000.0, 100_000.0, 2_000_000.0], 3)
    share = np.tile([0.0, 0.1, 1.0], 4)
    terms = {"one": np.ones(12), "R": retention, "S": share * retention}
    for seed in range(20):
        noise = np.random.default_rng(seed).normal(1, 0.1, 12)
        time = (5 + 0.7 * retention + 4 * share * retention) * noise
        found = fit(terms, time, list(range(12)))
        small = found.predict({"one": 1.0, "R": 200.0, "S": 20.0})
        assert 0.5 < small / (5 + 0.7 * 200 + 4 * 20) < 2


def test_no_term_grows_with_the_error_that_is_allowed() -> None:
    rng = np.random.default_rng(4)
    for _ in range(200):
        R = round(math.exp(rng.uniform(0, math.log(1e7))))  # noqa: N806
        S = max(1, round(R ** rng.uniform(0, 1)))  # noqa: N806
        eps, delta = np.geomspace(1e-4, 0.9, 30), float(rng.choice([1e-4, 0.1]))
        k = np.array([sample_size(Accuracy(float(each), delta)) for each in eps])
        q = numbers(np.full(30, R), np.full(30, S), np.full(30, math.gcd(R, S)), k, 1 / eps)
        for name, term in TERMS.items():
            values = np.broadcast_to(term(q), 30)
            assert (np.diff(values) <= 1e-9 * values[:-1]).all(), (name, R, S)
