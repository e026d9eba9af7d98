"""How `wr.slide` keeps the windows of each aggregate if it is free to choose.

An aggregate whose state is a few numbers is kept by panes: they are aggregated before any row is moved, and no synopsis
takes less. Where panes would have to keep all values, as for a quantile, a synopsis may be worth that Spark sorts the
rows for it. What both cost depends on how many tuples a window has. Where windows are counted that is known; where they
are lengths of time the choice is the one that is least wrong over all likely numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass

from windrow.aggregates import AggregateFunction
from windrow.arrays import is_number
from windrow.planner.model import Model
from windrow.planner.panes_of_values import PanesOfValues
from windrow.planner.units import as_time
from windrow.planner.workload import APPROACHES, Workload
from windrow.windows.query import WindowQuery
from windrow.windows.specs import Shape
from windrow.windows.synopsis_spec import Keep

SORTING = 500.0
"""Nanoseconds a row that Spark takes to bring rows into the order of group and time (20 million rows: 10 s)."""
LIKELY = (100, 1_000, 10_000, 100_000)
"""Numbers of tuples that a window of time may have."""


@dataclass(frozen=True)
class KeepChoice:
    """What keeps the windows of an aggregate, and why."""

    keep: Keep | None
    """The synopsis; None: panes."""
    reason: str


def choose(slide: WindowQuery, model: Callable[[], Model], spared: Container[str] = ()) -> dict[str, KeepChoice]:
    """What keeps each aggregate whose panes would keep values, those that are spared excepted."""
    return {
        name: _chosen(slide, name, aggregate, model())
        for name, aggregate in slide.agg.items()
        if aggregate.form == "values" and name not in spared
    }


def _chosen(slide: WindowQuery, name: str, aggregate: AggregateFunction, model: Model) -> KeepChoice:
    obstacle = _why_panes(slide, aggregate)
    if obstacle:
        return KeepChoice(None, f"{name!r} is kept by panes of values: {obstacle}")
    costs = dict(_priced(slide, aggregate, model))
    if len(costs) < 2:
        return KeepChoice(None, f"{name!r} is kept by panes of values: no synopsis that applies was measured")
    best = [min(each) for each in zip(*costs.values(), strict=True)]
    regret = {keep: max(cost / least for cost, least in zip(each, best, strict=True)) for keep, each in costs.items()}
    keep = min(regret, key=lambda each: regret[each])
    told = ", ".join(
        f"{'panes of values' if k is None else k.synopsis} {as_time(each[-1])}" for k, each in costs.items()
    )
    kept = "panes of values" if keep is None else str(keep.synopsis)
    return KeepChoice(keep, f"{name!r} is kept by {kept}; {_premise(slide)}, the model predicts per slide: {told}")


def _premise(slide: WindowQuery) -> str:
    """For how many rows in a window a prediction is: as many as it counts, or as assumed for windows of time."""
    if any(shape.unit == "time" for shape in slide.shapes):
        return (
            f"how many rows a window of time has is not known, and the choice suits {LIKELY[0]:,} to {LIKELY[-1]:,} "
            f"rows; if it has about {LIKELY[-1]:,}"
        )
    return f"for a window of {slide.shapes[-1].length:,} rows"


def _why_panes(slide: WindowQuery, aggregate: AggregateFunction) -> str | None:
    """Why no synopsis can keep an aggregate here."""
    if any(shape.length is None for shape in slide.shapes):
        return "a landmark window has no retention"
    if any(shape.emit for shape in slide.shapes):
        return "emit= asks for windows of other lengths too"
    if slide.clock.kind == "float":
        return f"{slide.on!r} is a float, and synopses take whole numbers and instants"
    if not all(is_number(slide.types[column]) for column in aggregate.columns):
        return "synopses keep numbers"
    return None


def _works(slide: WindowQuery, aggregate: AggregateFunction) -> list[Workload]:
    """What may be asked of a window, the likely numbers of tuples one after the other."""
    eps = float(getattr(aggregate, "eps", 0.0))
    return [work for shape in slide.shapes for work in _likely(shape, aggregate, eps)]


def _likely(shape: Shape, aggregate: AggregateFunction, eps: float) -> Iterator[Workload]:
    assert shape.length is not None
    if shape.unit != "time":
        yield Workload(aggregate, shape.length, shape.every, eps)
        return
    for tuples in LIKELY:
        # As many tuples as make whole panes.
        slides = -(-shape.length // shape.every)
        slide = max(1, tuples // slides)
        yield Workload(aggregate, max(tuples // slide * slide, slide), slide, eps, kind="time")


def _priced(
    slide: WindowQuery, aggregate: AggregateFunction, model: Model
) -> Iterator[tuple[Keep | None, list[float]]]:
    """Panes, and each synopsis that keeps to what is asked for, with the time of a slide for each workload."""
    works = _works(slide, aggregate)
    exact = [Workload(work.aggregate, work.retention, work.slide, kind=work.kind) for work in works]
    sorting = SORTING if slide.commutes else 0.0
    panes = [model.predict(work, PanesOfValues) for work in exact]
    if any(each is None for each in panes):
        return
    yield None, [each.time for each in panes if each is not None]
    for kind in APPROACHES:
        asked = exact if kind.exact else works
        if not kind.deterministic or kind.unsure(aggregate) or any(work.why_not(kind) for work in asked):
            continue
        costs = [model.predict(work, kind) for work in asked]
        if all(each is not None for each in costs):
            keep = Keep(kind.__name__, eps=0.0 if kind.exact else asked[0].eps)
            yield (
                keep,
                [each.time + sorting * work.slide for each, work in zip(costs, asked, strict=True) if each is not None],
            )
