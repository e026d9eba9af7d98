"""The model of what synopses cost on a machine: measured, fitted and saved to a file. The package ships one."""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property, lru_cache
from importlib import resources
from pathlib import Path
from statistics import median
from typing import Any, Literal, TypeAlias

import numpy as np

from windrow.aggregates import AggregateFunction
from windrow.aggregates.base import name_of
from windrow.errors import DataError, SourceError, quoted
from windrow.planner.calibration.grid import Line
from windrow.planner.calibration.regression import Diagnosis, Fit, fit
from windrow.planner.data import RATE
from windrow.planner.workload import AGGREGATES, Workload
from windrow.synopses.costs import PER_VALUE_OF_SLIDE, TERMS, numbers, value_of

Mode: TypeAlias = Literal["rolled", "batched", "timed"]
"""How values arrive: many slides at once, a few at a time, or many at once with expiry by time."""
VERSION = 2
LEAST = 0.1
"""Lower bound of any time in nanoseconds, for windows far smaller than those measured."""
SHIPPED = "measured.json"
ELSEWHERE = "WINDROW_MODEL"
"""The environment variable that names another model."""


@dataclass(frozen=True)
class Key:
    """What a part of a model applies to; a key without an error applies to any error."""

    aggregate: str
    synopsis: str
    mode: Mode = "rolled"
    eps: float | None = None
    delta: float | None = None

    def bears(self, aggregate: str, synopsis: str, mode: Mode, work: Workload) -> bool:
        """Return whether the key matches and its error is tight enough for the workload."""
        same = (self.aggregate, self.synopsis, self.mode) == (aggregate, synopsis, mode)
        return same and self.eps is not None and self.eps <= work.eps and (self.delta or 0.0) <= work.delta


def _modes(work: Workload) -> tuple[Mode, ...]:
    """Return how values arrive, then the modes that can stand in for it."""
    if work.batch is not None:
        return ("batched", "rolled")
    return ("timed", "rolled") if work.kind == "time" else ("rolled",)


@dataclass(frozen=True)
class Costs:
    """Nanoseconds per slide, and bytes."""

    time: Fit
    space: Fit


@dataclass(frozen=True)
class Predicted:
    """The predicted cost of a synopsis with its 95% bounds."""

    time: float
    time_low: float
    time_high: float
    bytes: float
    bytes_low: float
    bytes_high: float
    stands_in: str | None = None
    """The aggregate whose model is used, if this one was not measured."""


@dataclass(frozen=True)
class Model:
    """The costs of synopses, by aggregate and synopsis."""

    costs: Mapping[Key, Costs]
    about: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def synopses(self) -> frozenset[str]:
        """The names of the synopses whose costs the model has."""
        return frozenset(key.synopsis for key in self.costs)

    def predict(self, work: Workload, kind: type[Any]) -> Predicted | None:
        """Predict the cost of a synopsis that applies; return None if nothing comparable was measured."""
        names = stand_ins(work.aggregate)
        for mode in _modes(work):
            for name in names:
                key = self._key(name, kind.__name__, mode, work)
                if key is not None:
                    empty = max(work.empty_bytes(kind), 1.0)
                    return self._predicted(self.costs[key], work, empty, None if name == work.name else name)
        return None

    def _predicted(self, costs: Costs, work: Workload, empty: float, stands_in: str | None) -> Predicted:
        q = work.quantities
        time, space = (
            float(fitted.predict({name: value_of(name, q) for name in fitted.weights}))
            for fitted in (costs.time, costs.space)
        )
        time = max(time, LEAST)
        size, low, high = (max(space * factor, empty) for factor in (1.0, costs.space.low, costs.space.high))
        return Predicted(time, time * costs.time.low, time * costs.time.high, size, low, high, stands_in)

    def _key(self, aggregate: str, synopsis: str, mode: Mode, work: Workload) -> Key | None:
        """Return the key for an aggregate; of the errors that are tight enough, the loosest is cheapest."""
        if (key := Key(aggregate, synopsis, mode)) in self.costs:
            return key
        fitting = [key for key in self.costs if key.bears(aggregate, synopsis, mode, work)]
        return max(fitting, key=lambda key: (key.eps or 0.0, key.delta or 0.0), default=None)

    def save(self, path: Path) -> None:
        """Write the model to a file."""
        costs = [asdict(key) | asdict(cost) for key, cost in self.costs.items()]
        text = json.dumps({"version": VERSION, "about": dict(self.about), "costs": costs}, indent=0, allow_nan=True)
        path.write_text(text + "\n", encoding="utf-8")


def read_model(text: str, where: str) -> Model:
    """Parse a saved model."""
    try:
        saved = json.loads(text)
        if saved["version"] != VERSION:
            raise SourceError(
                f"{where}: unsupported version {saved['version']}, expected {VERSION}; run `windrow calibrate` again"
            )
        costs = {
            Key(*(each[name] for name in ("aggregate", "synopsis", "mode", "eps", "delta"))): Costs(
                _fit(each["time"]), _fit(each["space"])
            )
            for each in saved["costs"]
        }
        return Model(costs, saved["about"])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise SourceError(f"{where}: expected a model written by `windrow calibrate` ({error!r})") from None


def _fit(saved: Mapping[str, Any]) -> Fit:
    for name, weight in saved["weights"].items():
        if name.removeprefix(PER_VALUE_OF_SLIDE) not in TERMS:
            raise ValueError(f"unknown term {name!r}")
        if not isinstance(weight, float | int) or not 0 < weight < math.inf:
            raise ValueError(f"the weight of {name!r} is {weight!r}")
    if not 0 < saved["low"] <= 1 <= saved["high"] < math.inf:
        raise ValueError(f"the 95% bounds are {saved['low']!r} and {saved['high']!r}")
    diagnosis = saved.get("diagnosis")
    return Fit(**{**saved, "diagnosis": Diagnosis(**diagnosis) if diagnosis else None})


@cache
def shipped_model() -> Model:
    """Return the model that ships with the package."""
    text = resources.files("windrow.planner").joinpath(SHIPPED).read_text(encoding="utf-8")
    return read_model(text, SHIPPED)


def own_model_path() -> Path:
    """Return the path where `windrow calibrate` saves the model of this machine."""
    if os.environ.get(ELSEWHERE):
        return Path(os.environ[ELSEWHERE])
    base = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(base) / "windrow" / "model.json"


def load_model(path: str | Path) -> Model:
    """Read a model from a file."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not a text file"
        shown = str(path) if str(path).isprintable() else quoted(str(path))
        raise SourceError(f"{shown}: cannot read the model: {reason}") from None
    return read_model(text, str(path))


def current_model() -> Model:
    """Return the model of this machine if it was calibrated, otherwise the one that ships with the package."""
    path = own_model_path()
    if os.environ.get(ELSEWHERE):
        return load_model(path)
    try:
        written = path.stat().st_mtime_ns if path.is_file() else None
    except OSError as error:
        raise SourceError(f"{path}: cannot look for the model of this machine: {error.strerror}") from None
    return shipped_model() if written is None else _own_model(path, written)


@lru_cache(maxsize=1)
def _own_model(path: Path, written: int) -> Model:
    """Read the model once per modification of its file; every planned window needs it."""
    return load_model(path)


# Fitting.


def fit_model(lines: Iterable[Line], about: Mapping[str, Any] | None = None) -> Model:
    """Fit a model to measurements; combinations with too few measurements are left out."""
    groups: dict[Key, list[Line]] = {}
    for line in lines:
        if line.measured.full:
            groups.setdefault(key_of(line), []).append(line)
    costs = {}
    for key, mine in sorted(groups.items(), key=lambda item: str(item[0])):
        try:
            costs[key] = fit_costs(mine, key.mode)
        except DataError:
            continue
    n = sum(len(mine) for mine in groups.values())
    return Model(costs, {"measurements": n, "machine": platform.machine(), "cores": os.cpu_count(), **(about or {})})


def key_of(line: Line) -> Key:
    """Return the part of a model that a measurement belongs to."""
    work = line.task.work
    return Key(work.name, line.task.kind.__name__, _modes(work)[0])


def fit_costs(lines: Sequence[Line], mode: Mode) -> Costs:
    """Fit the time and the space of one synopsis for one aggregate."""
    works = [line.task.work for line in lines]
    each = [work.quantities for work in works]
    q = numbers(*(np.array([getattr(one, name) for one in each]) for name in "RSPkeB"))
    terms = lines[0].task.kind.costs(works[0].aggregate)
    time_terms = terms.time_terms(q)
    if mode == "batched":
        time_terms["calls"] = value_of("calls", q)
    strata = [(round(math.log10(work.retention)), work.eps) for work in works]
    time = np.array([line.measured.time for line in lines])
    space = np.array([float(line.measured.bytes) for line in lines])
    return Costs(fit(time_terms, time, strata), fit(terms.space_terms(q), space, strata))


def adapted(model: Model, lines: Iterable[Line]) -> Model:
    """Adapt the model of another machine by some measurements on this one: scale the times of each synopsis.

    The factors measured for a few aggregates are applied to all of them. Synopses that the model lacks, such as those
    from outside the package, get weights of their own.
    """
    ratios: dict[tuple[str, Mode], list[float]] = {}
    lines = list(lines)
    for line in lines:
        expected = model.predict(line.task.work, line.task.kind)
        if expected is not None and line.measured.full:
            ratios.setdefault((line.task.kind.__name__, key_of(line).mode), []).append(
                line.measured.time / expected.time
            )
    if not ratios:
        raise DataError("no window could be filled in time; run `windrow calibrate` again when the machine is idle")
    overall = median([ratio for some in ratios.values() for ratio in some])
    costs = dict(fit_model(line for line in lines if line.task.kind.__name__ not in model.synopses).costs)
    for key, cost in model.costs.items():
        mine = ratios.get((key.synopsis, key.mode)) or ratios.get((key.synopsis, "rolled")) or [overall]
        factor = median(mine)
        weights = {name: factor * weight for name, weight in cost.time.weights.items()}
        costs[key] = replace(cost, time=replace(cost.time, weights=weights))
    return Model(costs, {**model.about, "adapted_by": len(lines), "factor": round(overall, 3)})


# Values per minute in the thesis' streams.

A_MINUTE = 60 * RATE


# Stand-ins.


def stand_ins(aggregate: AggregateFunction) -> list[str]:
    """Return the aggregates whose costs can stand in for those of another, the most similar first.

    >>> import windrow as wr
    >>> stand_ins(wr.mean("speed"))[:3]
    ['mean', 'sum', 'count']
    """
    mine = [name_of(type(aggregate))]
    if aggregate.form == "numbers":
        size = len(aggregate.zero_state(integral=False))
        others = [name for name, other in AGGREGATES.items() if other.form == "numbers"]
        differential = [name for name in others if AGGREGATES[name].invertible == aggregate.invertible]
        by_size = sorted(differential, key=lambda name: abs(len(AGGREGATES[name].zero_state(integral=False)) - size))
        return list(dict.fromkeys(mine + by_size + others))
    if getattr(aggregate, "q", None) is not None:
        return list(dict.fromkeys([*mine, "quantile", "median"]))
    return mine
