"""Advice: the pick and its reason, what is refused, and what `wr.slide` makes of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from streams import Span
from sweeps import long
from windows_by_definition import slide_of
from windrow.aggregates.engine.accumulator import Accumulator
from windrow.cli.main import main
from windrow.errors import OutputError, SpecError, UnsupportedError
from windrow.planner.advice import Advice, Way, cost_of
from windrow.planner.auto import choose
from windrow.planner.model import Model, shipped_model
from windrow.planner.plot import pareto_front
from windrow.planner.workload import AGGREGATES, WHOLE, Workload, approaches
from windrow.rows.clock import Clock
from windrow.synopses import ArasuMankuFixed, ArasuMankuVariable
from windrow.synopses.samples.base import Sample, sample_size
from windrow.windows.synopsis_spec import Keep


def way_of(advice: Advice, name: str) -> Way:
    return next(way for way in advice.ways if way.name == name)


def test_what_is_printed() -> None:
    advice = wr.advise(wr.quantile("temp", 0.99, eps=0.01), retention=1_152_000, slide=19_200)
    text = str(advice)
    lines = text.splitlines()
    assert lines[0] == "quantile('temp', 0.99, eps=0.01) over 1,152,000 values, every 19,200"
    assert f"pick: {advice.synopsis}." in text
    assert next(line for line in lines if line.startswith("*")).split()[1] == advice.synopsis
    assert "Ordered" in text
    assert "exact" in text
    assert "ε 0.01" in text
    assert "it answers quantiles only" in text or "stores single numbers" in text or "states of numbers" in text
    assert repr(advice) == text


def test_time_and_space_are_preferred() -> None:
    asked = {"retention": 1_000_000, "slide": 10, "eps": 0.01}
    quick = wr.advise(wr.median("x"), **asked, prefer="time")
    small = wr.advise(wr.median("x"), **asked, prefer="space")
    for advice, cost in ((quick, "time"), (small, "bytes")):
        sure = [way.predicted for way in advice.ways if way.predicted is not None and way.caution is None]
        picked = advice.pick.predicted
        assert picked is not None
        assert getattr(picked, cost) <= 1.1 * min(getattr(each, cost) for each in sure)
    assert small.synopsis != "Ordered"


def test_an_exact_answer_has_only_exact_ways() -> None:
    advice = wr.advise(wr.variance("x"), retention=10_000, slide=100)
    assert all(way.synopsis.exact for way in advice.ways if way.predicted is not None)
    assert "eps must be above 0" in str(way_of(advice, "VarianceHistogram").obstacle)


def test_a_way_without_a_bound_is_shown_but_not_picked() -> None:
    advice = wr.advise(wr.variance("x"), retention=2_000_000, slide=1, eps=0.05, delta=0.01, prefer="space")
    biased = way_of(advice, "BiasedReservoir")
    assert biased.predicted is not None
    assert biased.caution is not None
    assert advice.pick.caution is None


def test_the_limit_of_memory() -> None:
    asked = {"retention": 1_000_000, "slide": 1, "prefer": "time"}
    free = wr.advise(wr.median("x"), **asked, eps=0.01, groups=1_000)
    tight = wr.advise(wr.median("x"), **asked, eps=0.01, groups=1_000, limit_bytes=6e9)
    assert tight.pick.predicted is not None
    assert 1_000 * tight.pick.predicted.bytes <= 6e9
    assert free.pick.predicted is not None
    assert free.pick.predicted.time <= tight.pick.predicted.time
    with pytest.raises(UnsupportedError, match="no applicable synopsis is certain to fit into 1 kB"):
        wr.advise(wr.median("x"), **asked, limit_bytes=1_000)


def test_a_user_s_aggregate_has_the_costs_of_one_like_it() -> None:
    advice = wr.advise(Span("x"), retention=1_000, slide=10)
    assert advice.pick.predicted is not None
    assert advice.pick.predicted.stands_in is not None
    assert "the most similar aggregate that was measured" in advice.reason


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"aggregate": "sum"}, "aggregate: expected an aggregate such as wr.sum.*, got 'sum'"),
        ({"groups": 0}, "groups: expected an integer .*, got 0"),
        ({"groups": 10**5000}, "groups: expected an integer from 1 to 2.*, got a number of thousands of digits"),
        ({"retention": 10**30}, r"retention: expected an integer from 1 to 2\*\*62, got 10+"),
        ({"retention": 10**400}, r"retention: expected an integer from 1 to 2\*\*62, got 10+\.\.\."),
        ({"eps": 10**400}, "eps: expected .*, got 10+"),
        ({"eps": 1e-300, "delta": 1e-300}, "eps: expected 0 or at least 1e-12, got 1e-300"),
        ({"delta": 10**400}, "delta: expected .*, got 10+"),
        ({"limit_bytes": 10**400}, "limit_bytes: expected a number above 0 and up to 1e300, got 10+"),
        ({"whole": np.array([1, 2])}, "whole: expected True or False, got array"),
        ({"prefer": ["time"]}, "prefer: expected .*, got .'time'."),
        ({"kind": np.array(["time", "count"])}, "kind: expected 'count' or 'time', got array"),
        ({"whole": "yes"}, "whole: expected True or False, got 'yes'"),
        ({"model": 5}, "model: expected a model or a file written by `windrow calibrate --out`, got 5"),
        ({"prefer": "speed"}, "prefer: expected 'balanced', 'time' or 'space', got 'speed'"),
        ({"limit_bytes": -1}, "limit_bytes: expected .*, got -1"),
        ({"limit_bytes": "1 GB"}, "limit_bytes: expected .*, got '1 GB'"),
        ({"kind": "rows"}, "kind: expected 'count' or 'time', got 'rows'"),
        ({"slide": 0}, "slide: expected an integer .*, got 0"),
        ({"eps": -0.1}, "eps: expected a number of at least 0 and below 1, got -0.1"),
    ],
)
def test_what_makes_no_sense_is_refused(change: dict[str, object], said: str) -> None:
    asked = {"aggregate": wr.sum("x"), "retention": 100, "slide": 10, **change}
    with pytest.raises(SpecError, match=said):
        wr.advise(asked.pop("aggregate"), **asked)  # type: ignore[arg-type]


def test_what_is_missing_is_said() -> None:
    with pytest.raises(UnsupportedError, match=r"heavy_hitters\('x', 0.1\) with eps=0 and delta=0: .*eps"):
        wr.advise(wr.heavy_hitters("x", 0.1), retention=100, slide=10)
    with pytest.raises(UnsupportedError, match="the model has no costs of a synopsis that supports"):
        wr.advise(wr.sum("x"), retention=100, slide=10, model=Model({}))


@pytest.mark.parametrize("retention", [1, 2, 10])
def test_tiny_windows(retention: int) -> None:
    for aggregate in (wr.median("x"), wr.sum("x"), wr.mode("x")):
        advice = wr.advise(aggregate, retention=np.uint8(retention), slide=1, eps=np.float32(0.1), delta=0.1)
        assert advice.pick.predicted is not None
        assert f"pick: {advice.synopsis}" in str(advice)


def test_what_may_not_fit_is_shown_and_said() -> None:
    """The slide does not divide the window, so panes are single elements, and what is fast keeps them all."""
    asked = {"retention": 100_003, "slide": 1_000, "prefer": "time"}
    free = wr.advise(wr.variance("x"), **asked)
    tight = wr.advise(wr.variance("x"), **asked, limit_bytes=2e6)
    assert free.pick.predicted.bytes > 2e6
    assert tight.synopsis in ("ExpirationList", "Recomputation")
    assert f"{free.synopsis} would take" in tight.reason
    assert "more than the allowed 2 MB" in " ".join(str(tight).split())


def test_no_prediction_is_below_an_empty_synopsis() -> None:
    """Windows of time were predicted to take 0.1 bytes, picked for it, and let through any limit of memory."""
    asked = {"retention": 411, "slide": 101, "eps": 0.001, "kind": "time", "prefer": "space"}
    advice = wr.advise(wr.median("x"), **asked)
    assert way_of(advice, "ArasuMankuVariable").predicted.bytes > 100_000
    assert advice.synopsis == "Ordered"
    with pytest.raises(UnsupportedError, match="limit_bytes: no applicable synopsis"):
        wr.advise(wr.median("x"), **asked, limit_bytes=1)
    rng = np.random.default_rng(0)
    for work in random_works(rng, 60):
        for kind in approaches():
            found = shipped_model().predict(work, kind) if work.why_not(kind) is None else None
            if found is None:
                continue
            # Samples of many items are not made: one alone would take gigabytes.
            size = {"size": 20_000} if issubclass(kind, Sample) and sample_size(work.accuracy) > 20_000 else {}
            made = work.make(kind, **size).nbytes
            assert found.bytes >= made, (work, kind)
            assert found.bytes_low >= made or size
            assert found.bytes_low <= found.bytes <= found.bytes_high


def test_sizes_of_blocks_are_predicted_as_they_are() -> None:
    """A summary of 3,000 elements within 2 % takes ten times as much as keeping all of them twice."""
    work = Workload(wr.median("x"), 3_000, 300, eps=0.02)
    for kind in (ArasuMankuFixed, ArasuMankuVariable):
        synopsis = work.make(kind)
        synopsis.update(np.arange(9_000), np.random.default_rng(1).random(9_000))
        found = shipped_model().predict(work, kind)
        assert found.bytes_low <= synopsis.nbytes <= found.bytes_high
        assert found.bytes == pytest.approx(synopsis.nbytes, rel=0.6)
    assert wr.advise(wr.median("x"), retention=3_000, slide=300, eps=0.02, prefer="space").synopsis == "Ordered"


def test_recomputation_of_a_maximum_by_time_costs_what_it_reads() -> None:
    """A constant of 16 µs a slide, fitted to noise of the largest windows, hid the best way for long slides."""
    for retention in (100, 1_000, 10_000):
        found = wr.advise(wr.max("x"), retention=retention, slide=retention // 2, kind="time", prefer="time")
        way = way_of(found, "Recomputation").predicted
        assert way.time < 10 * retention
        assert found.pick.predicted.time <= way.time
    assert wr.advise(wr.max("x"), retention=1_000, slide=1_000, kind="time", prefer="time").synopsis == "Recomputation"


def random_works(rng: np.random.Generator, n: int) -> Iterator[Workload]:
    """Workloads of every size, kind and error."""
    names = list(AGGREGATES)
    for _ in range(n):
        retention = round(math.exp(rng.uniform(0, math.log(2e6))))
        slide = max(1, round(retention ** rng.uniform(0, 1)))
        eps, delta = rng.choice([0.0, 0.001, 0.01, 0.03, 0.1, 0.3]), rng.choice([0.0, 0.0001, 0.01, 0.1])
        data, kind = rng.choice(["uniform", WHOLE]), rng.choice(["count", "time"])
        yield Workload(AGGREGATES[rng.choice(names)], retention, slide, float(eps), float(delta), None, data, kind)


def advised(work: Workload, **changed: object) -> Advice | None:
    asked = {"retention": work.retention, "slide": work.slide, "eps": work.eps, "delta": work.delta}
    try:
        return wr.advise(work.aggregate, **(asked | {"kind": work.kind, "whole": work.data == WHOLE} | changed))
    except UnsupportedError:
        return None


def cost(advice: Advice) -> float:
    assert advice.pick.predicted is not None
    return cost_of(advice.prefer)(advice.pick.predicted)


def test_a_larger_error_never_leads_to_a_costlier_pick() -> None:
    rng = np.random.default_rng(1)
    compared = 0
    for work in random_works(rng, 200):
        options = {"prefer": str(rng.choice(["time", "space", "balanced"]))}
        if rng.random() < 0.3:
            options["limit_bytes"] = float(np.exp(rng.uniform(np.log(1e3), np.log(1e8))))
        found = [advised(work, eps=float(eps), **options) for eps in (0, *np.geomspace(1e-4, 0.9, 12))]
        for small, large in pairwise(found):
            if small is not None:
                if large is None:  # an error as large as the share says nothing of heavy hitters
                    assert work.name == "heavy_hitters"
                    break
                assert cost(large) <= cost(small) * (1 + 1e-12), (work, options, small, large)
                compared += 1
    assert compared > 500


def test_a_larger_limit_of_memory_never_leads_to_a_slower_pick() -> None:
    rng = np.random.default_rng(2)
    compared = 0
    for work in random_works(rng, 200):
        found = [advised(work, limit_bytes=float(limit), prefer="time") for limit in np.geomspace(100, 1e9, 15)]
        for small, large in pairwise(found):
            if small is not None:
                assert large is not None
                assert cost(large) <= cost(small), (work, small, large)
                compared += 1
    assert compared > 500


@pytest.mark.parametrize(("works", "synopses"), [(12, 4), long(150, 6)])
def test_whatever_is_advised_runs(works: int, synopses: int) -> None:
    """As `wr.slide` would build it, over windows of rows and of time."""
    rng = np.random.default_rng(3)
    ran = set()
    for work in random_works(rng, works):
        work = replace(work, retention=min(work.retention, 500), slide=min(work.slide, 500))
        for prefer in ("time", "space"):
            advice = advised(work, prefer=prefer)
            if advice is None or (not advice.pick.synopsis.deterministic and sample_size(work.accuracy) > 20_000):
                continue
            windows = wr.Rows if work.kind == "count" else wr.Sliding
            shape = windows(work.retention, every=work.slide).shape(Clock.of(pa.int64(), "t"))
            exact = advice.pick.synopsis.exact
            keep = Keep(advice.synopsis, 0.0 if exact else work.eps, 0.0 if exact else work.delta)
            synopsis = keep.make(Accumulator(work.aggregate, pa.float64()), shape)
            synopsis.update(np.arange(600), rng.integers(0, 9, 600).astype(float))
            assert synopsis.query() is not None or work.retention < 4
            ran.add(advice.synopsis)
    assert len(ran) >= synopses, ran


def test_a_sample_by_probability_is_not_advised_where_the_number_of_elements_is_unknown() -> None:
    for kind in ("time", "count"):
        advice = wr.advise(wr.median("x"), retention=100_000, slide=100, eps=0.1, delta=0.1, kind=kind)
        obstacle = way_of(advice, "BernoulliSample").obstacle
        assert ("is unknown for a time window" in str(obstacle)) == (kind == "time")


def test_the_table_fits_a_terminal() -> None:
    advice = wr.advise(wr.quantile("a_long_name", 0.999), retention=1_152_000, slide=19_200, eps=0.05, delta=0.0001)
    assert max(map(len, str(advice).splitlines())) <= 100


def test_an_aggregate_that_no_synopsis_keeps() -> None:
    with pytest.raises(UnsupportedError, match="no synopsis supports covariance"):
        wr.advise(wr.covariance("x", "y"), retention=100, slide=10)
    with pytest.raises(UnsupportedError) as caught:
        wr.advise(wr.covariance("x", "y"), retention=100, slide=10)
    assert "eps" not in str(caught.value).replace("keeps", "")
    assert str(caught.value).endswith("wr.slide stores it in panes instead")


def test_the_plot(tmp_path: Path) -> None:
    advice = wr.advise(wr.median("x"), retention=100_000, slide=1_000, eps=0.01, delta=0.01)
    path = advice.plot(tmp_path / "advice.png")
    assert path.read_bytes().startswith(b"\x89PNG")
    front = pareto_front([way for way in advice.ways if way.predicted is not None])
    times = [way.predicted.time for way in front if way.predicted]
    sizes = [way.predicted.bytes for way in front if way.predicted]
    assert times == sorted(times)
    assert sizes == sorted(sizes, reverse=True)
    for wrong in (tmp_path / "advice.txt", tmp_path / "none/advice.png", 5, "a\0.png"):
        with pytest.raises(OutputError):
            advice.plot(wrong)  # type: ignore[arg-type]
    odd = wr.advise(wr.median("a$\\frac{$"), retention=1_000, slide=10)
    assert odd.plot(tmp_path / "odd.svg").exists()


# The command.


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    picture = tmp_path / "advice.png"
    asked = ["advise", "quantile(temp, 0.99)", "--retention", "100000", "--slide", "1000", "--eps", "0.01"]
    assert main([*asked, "--plot", str(picture)]) == 0
    assert "pick: " in capsys.readouterr().out
    assert picture.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["quantile:0.9", "--retention", "9", "--slide", "1"], "AGGREGATE: expected an aggregate of a column"),
        (["middle(x)", "--retention", "9", "--slide", "1"], "unknown aggregate 'middle'"),
        (["sum(x)", "--retention", "9", "--slide", "1", "--plot", ""], "expected a name that ends in .png"),
        (["sum(x)", "--retention", "9", "--slide", "10"], "slide: 10 exceeds retention=9"),
        (["sum(x)", "--retention", "9", "--slide", "1", "--model", "none.json"], "cannot read the model"),
        (["sum(x)", "--retention", "nine", "--slide", "1"], "invalid int value"),
    ],
)
def test_the_command_refuses(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_calibrate_adapts_the_model(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("windrow.cli.commands.calibrate.quick_grid", lambda: _few())
    out = tmp_path / "model.json"
    assert main(["calibrate", "--out", str(out)]) == 0
    assert "times as long" in capsys.readouterr().out
    assert main(["advise", "sum(x)", "--retention", "1000", "--slide", "10", "--model", str(out)]) == 0
    lines = tmp_path / "model.quick.jsonl"
    lines.write_text("".join(lines.read_text().splitlines(keepends=True)[:2]))
    assert main(["calibrate", "--out", str(out)]) == 0
    assert "resuming after 2 of 4" in capsys.readouterr().err
    assert main(["calibrate", "--out", str(out)]) == 0
    assert "resuming" not in capsys.readouterr().err  # a finished one starts over
    lines.write_bytes(b"\xff\xfe")
    assert main(["calibrate", "--out", str(out)]) == 2
    assert "got a file that is not text" in capsys.readouterr().err
    assert main(["calibrate", "--out", "/proc/model.json"]) == 2
    assert main(["calibrate", "--out", ""]) == 2
    capsys.readouterr()
    assert main(["calibrate", "--out", str(tmp_path / "model.txt")]) == 2
    assert "expected a name that ends in .json" in capsys.readouterr().err


def _few() -> list[object]:
    from windrow.planner.calibration.grid import Task
    from windrow.planner.workload import Workload
    from windrow.synopses import Panes, Recomputation

    return [Task(Workload(wr.sum("x"), 100, slide), kind) for slide in (1, 10) for kind in (Panes, Recomputation)]


# What `wr.slide` follows.


def test_states_of_numbers_stay_with_panes() -> None:
    slide = slide_of([wr.Rows(1_000, every=10)], {"n": wr.count(), "v": wr.variance("v")})
    assert choose(slide, shipped_model) == {}


def test_a_median_of_many_rows_goes_to_a_synopsis() -> None:
    slide = slide_of([wr.Rows(10_000, every=1)], {"m": wr.median("v")})
    choice = choose(slide, shipped_model)["m"]
    assert choice.keep is not None
    assert choice.keep.synopsis == "Ordered"
    assert "for a window of 10,000 rows" in choice.reason


def test_an_assumed_number_of_rows_is_called_so() -> None:
    slide = slide_of([wr.Sliding(60, every=1)], {"m": wr.median("v")})
    reason = choose(slide, shipped_model)["m"].reason
    assert "the number of rows per time window is unknown" in reason
    assert "99,960" not in reason


def test_an_error_that_is_allowed_is_used_only_if_it_helps() -> None:
    slide = slide_of([wr.Rows(1_000_000, every=100_000)], {"m": wr.quantile("v", 0.9, eps=0.05)})
    choice = choose(slide, shipped_model)["m"]
    assert choice.keep is None or choice.keep.eps in (0.0, 0.05)


@pytest.mark.parametrize(
    ("windows", "said"),
    [(wr.Landmark(5), "landmark"), (wr.Sliding(10, every=10, emit=5), "emit=")],
)
def test_where_no_synopsis_can_keep_it(windows: wr.Window, said: str) -> None:
    choice = choose(slide_of([windows], {"m": wr.median("v")}), shipped_model)["m"]
    assert choice.keep is None
    assert said in choice.reason


def test_what_is_spared_is_not_chosen_for() -> None:
    slide = slide_of([wr.Rows(10_000)], {"m": wr.median("v"), "k": wr.mode("v")})
    assert set(choose(slide, shipped_model, spared={"m"})) == {"k"}


# In a notebook.


def test_an_advice_is_a_table_in_a_notebook() -> None:
    advice = wr.advise(wr.sum("<b>"), retention=1_000, slide=10)
    html = advice._repr_html_()
    assert html.count("<table>") == html.count("</table>") == 2
    assert "<b>" not in html
    assert "&lt;b&gt;" in html
    for way in advice.ways:
        assert f"<td>{way.name}</td>" in html
    assert "<td>*</td><td>Panes</td>" in html
    assert f"<pre>pick: {advice.synopsis}. " in html


def test_a_plot_without_a_path_is_a_figure() -> None:
    from matplotlib.figure import Figure

    figure = wr.advise(wr.sum("x"), retention=1_000, slide=10).plot()
    assert isinstance(figure, Figure)
    assert "1,000 values" in figure.axes[0].get_title()
    with pytest.raises(OutputError, match="plot: expected the name of a file, got 5"):
        wr.advise(wr.sum("x"), retention=1_000, slide=10).plot(5)  # type: ignore[call-overload]
