"""The automatic choice of how `wr.slide` stores the windows of each aggregate.

An aggregate whose state is a few numbers uses panes: they are aggregated before any row is shuffled, and no synopsis is
cheaper. Where panes would have to store all values, as for a quantile, a synopsis can be worth the sort that Spark does
for it. Both costs depend on the number of rows per window. For count windows it is known. For time windows, the choice
minimises the largest regret over all likely numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass

from windrow.aggregates import AggregateFunction
from windrow.aggregates.engine.codes import is_coded
from windrow.arrays import is_number
from windrow.planner.model import Model
from windrow.planner.panes_of_values import PanesOfValues
from windrow.planner.units import as_time
from windrow.planner.workload import Workload
from windrow.synopses import SYNOPSIS_REGISTRY, Synopsis
from windrow.windows.query import WindowQuery
from windrow.windows.specs import Shape
from windrow.windows.synopsis_spec import Keep

SORTING = 500.0
"""Nanoseconds per row that Spark takes to sort rows by group and time (20 million rows: 10 s)."""
LIKELY = (100, 1_000, 10_000, 100_000)
"""Numbers of rows that a time window may have."""


@dataclass(frozen=True)
class KeepChoice:
    """How the windows of an aggregate are stored, and why."""

    keep: Keep | None
    """The synopsis, or None for panes."""
    reason: str


def choose(slide: WindowQuery, model: Callable[[], Model], spared: Container[str] = ()) -> dict[str, KeepChoice]:
    """Choose how to store each aggregate whose panes would store values, except those in `spared`."""
    return {
        name: _chosen(slide, name, aggregate, model())
        for name, aggregate in slide.agg.items()
        if aggregate.form == "values" and name not in spared
    }


def _chosen(slide: WindowQuery, name: str, aggregate: AggregateFunction, model: Model) -> KeepChoice:
    obstacle = _why_panes(slide, aggregate)
    if obstacle:
        return KeepChoice(None, f"{name!r} is stored in panes of values: {obstacle}")
    costs = dict(_priced(slide, aggregate, model))
    if len(costs) < 2:
        return KeepChoice(None, f"{name!r} is stored in panes of values: no applicable synopsis was measured")
    best = [min(each) for each in zip(*costs.values(), strict=True)]
    regret = {keep: max(cost / least for cost, least in zip(each, best, strict=True)) for keep, each in costs.items()}
    keep = min(regret, key=lambda each: regret[each])
    times = ", ".join(f"{_name(each)} {as_time(cost[-1])}" for each, cost in costs.items())
    return KeepChoice(
        keep, f"{name!r} is stored in {_name(keep)}; {_premise(slide)}, the model predicts per slide: {times}"
    )


def _name(keep: Keep | None) -> str:
    return "panes of values" if keep is None else str(keep.synopsis)


def _premise(slide: WindowQuery) -> str:
    """Describe the window size that a prediction assumes: the count, or a likely number of rows for time windows."""
    if any(shape.unit == "time" for shape in slide.shapes):
        return (
            f"the number of rows per time window is unknown, and the choice suits {LIKELY[0]:,} to {LIKELY[-1]:,}; "
            f"for {LIKELY[-1]:,} rows"
        )
    return f"for a window of {slide.shapes[-1].length:,} rows"


def _why_panes(slide: WindowQuery, aggregate: AggregateFunction) -> str | None:
    """Return why no synopsis can store the aggregate here, or None if one might."""
    if any(shape.length is None for shape in slide.shapes):
        return "a landmark window has no fixed length"
    if any(shape.emit for shape in slide.shapes):
        return "emit= also reports windows of other lengths"
    if slide.clock.kind == "float":
        return f"{slide.on!r} is a float, but synopses need integers or instants"
    kinds = [slide.types[column] for column in aggregate.columns]
    if not all(map(is_number, kinds)) or (aggregate.only_compares and any(map(is_coded, kinds))):
        return "synopses store numbers only"
    return None


def _works(slide: WindowQuery, aggregate: AggregateFunction) -> list[Workload]:
    """Return the workloads of all windows, one per likely number of rows."""
    eps = float(getattr(aggregate, "eps", 0.0))
    return [work for shape in slide.shapes for work in _likely(shape, aggregate, eps)]


def _likely(shape: Shape, aggregate: AggregateFunction, eps: float) -> Iterator[Workload]:
    assert shape.length is not None
    if shape.unit != "time":
        yield Workload(aggregate, shape.length, shape.every, eps)
        return
    for rows in LIKELY:
        # A number of rows that makes whole panes.
        slides = -(-shape.length // shape.every)
        slide = max(1, rows // slides)
        yield Workload(aggregate, max(rows // slide * slide, slide), slide, eps, kind="time")


def _priced(
    slide: WindowQuery, aggregate: AggregateFunction, model: Model
) -> Iterator[tuple[Keep | None, list[float]]]:
    """Yield panes, then each synopsis within the allowed error, with its time per slide for each workload."""
    works = _works(slide, aggregate)
    exact = [Workload(work.aggregate, work.retention, work.slide, kind=work.kind) for work in works]
    sorting = SORTING if slide.commutes else 0.0
    panes = [model.predict(work, PanesOfValues) for work in exact]
    if any(each is None for each in panes):
        return
    yield None, [each.time for each in panes if each is not None]
    for kind in _measured(model):
        mine = exact if kind.exact else works
        if not kind.deterministic or kind.unsure(aggregate) or any(work.why_not(kind) for work in mine):
            continue
        costs = [model.predict(work, kind) for work in mine]
        if all(each is not None for each in costs):
            keep = Keep(kind.__name__, eps=0.0 if kind.exact else mine[0].eps)
            yield (
                keep,
                [each.time + sorting * work.slide for each, work in zip(costs, mine, strict=True) if each is not None],
            )


def _measured(model: Model) -> list[type[Synopsis]]:
    """Return the synopses that the model has costs of; no others are loaded."""
    names = [*SYNOPSIS_REGISTRY.builtin, *SYNOPSIS_REGISTRY.imported, *SYNOPSIS_REGISTRY.offered]
    return [SYNOPSIS_REGISTRY.find(name, "using") for name in dict.fromkeys(names) if name in model.synopses]
