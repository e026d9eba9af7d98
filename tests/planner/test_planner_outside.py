"""Synopses from outside the package: the planner lists them, measures them, and picks them only once it has."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

import windrow as wr
from windrow import registry
from windrow.aggregates import AggregateFunction
from windrow.planner.advice import NO_COSTS, NOT_MEASURED
from windrow.planner.calibration.grid import Line, Task, full_grid, quick_grid
from windrow.planner.calibration.measure import Measured
from windrow.planner.model import Model, adapted, fit_model, shipped_model
from windrow.planner.workload import AGGREGATES, Workload, approaches, candidates
from windrow.synopses import Recomputation, TwoStacks
from windrow.synopses.costs import Complexity


class Recounting(Recomputation):
    """A synopsis from outside that declares its costs."""

    @classmethod
    def costs(cls, aggregate: AggregateFunction) -> Complexity | None:
        return Complexity(("one",), ("one", "R"), ("one", "room_R"))


class Secretive(TwoStacks):
    """A synopsis from outside that does not."""

    @classmethod
    def costs(cls, aggregate: AggregateFunction) -> Complexity | None:
        return None


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module with both, registered as by `--import`."""
    module = ModuleType("outside_synopses")
    for kind in (Recounting, Secretive):
        monkeypatch.setattr(kind, "__module__", module.__name__)
        setattr(module, kind.__name__, kind)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(registry, "_modules", [*registry._modules])
    return registry.import_classes(module.__name__, "--import")


@pytest.mark.usefixtures("outside")
def test_it_is_listed_as_not_measured_and_never_picked() -> None:
    assert {Recounting, Secretive} <= set(approaches())
    advice = wr.advise(wr.sum("x"), retention=10, slide=10, prefer="space")
    obstacles = {way.name: way.obstacle for way in advice.ways}
    assert obstacles["Recounting"] == NOT_MEASURED
    assert obstacles["Secretive"] == NO_COSTS
    assert advice.synopsis not in ("Recounting", "Secretive")
    assert "Recounting" in str(advice)


@pytest.mark.usefixtures("outside")
def test_a_calibration_measures_it_if_it_declares_its_costs() -> None:
    for tasks in (full_grid(), quick_grid()):
        kinds = {task.kind for task in tasks}
        assert Recounting in kinds
        assert Secretive not in kinds
    assert candidates()["Recounting"] is Recounting


def lines(*, faster: float) -> list[Line]:
    """Measurements of a quick calibration, of recomputation on this machine, and of a synopsis that is faster."""
    model, made = shipped_model(), []
    for task in quick_grid():
        if task.kind in (Recomputation, Recounting) and task.work.batch is None:
            predicted = model.predict(task.work, Recomputation)
            assert predicted is not None
            time = predicted.time / (faster if task.kind is Recounting else 1.0)
            made.append(Line(task, Measured(time, 1.0, time, int(predicted.bytes))))
    return made


@pytest.mark.usefixtures("outside")
def test_once_measured_it_can_be_picked(tmp_path: Path) -> None:
    model = adapted(shipped_model(), lines(faster=1000.0))
    assert model.synopses - shipped_model().synopses == {"Recounting"}
    model.save(tmp_path / "model.json")
    advice = wr.advise(wr.sum("x"), retention=10_000, slide=10_000, prefer="time", model=tmp_path / "model.json")
    assert advice.synopsis == "Recounting"


def test_a_model_of_a_synopsis_that_is_not_imported_is_no_obstacle() -> None:
    work = Workload(AGGREGATES["sum"], 100, 10)
    alone = fit_model([Line(Task(work, Recomputation), Measured(1.0, 1.0, 1.0, 1))])
    assert alone.costs == {}
    shipped = shipped_model()
    model = Model(
        {**shipped.costs, **{type(key)(key.aggregate, "Elsewhere"): cost for key, cost in shipped.costs.items()}}
    )
    assert wr.advise(wr.sum("x"), retention=100, slide=10, model=model).synopsis
