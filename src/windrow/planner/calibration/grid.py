"""The workloads that a calibration measures, and the file of measurements.

Each line of the file is one measurement. An interrupted calibration resumes after the last complete line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from windrow.aggregates import AggregateFunction
from windrow.errors import SourceError, quoted
from windrow.planner.calibration.measure import Care, Measured, measure
from windrow.planner.data import STREAMS
from windrow.planner.workload import AGGREGATES, WHOLE, Workload, candidates
from windrow.synopses import Retention

RETENTIONS = (100, 1_000, 10_000, 100_000, 500_000, 2_000_000)
FEW_RETENTIONS = (200, 5_000, 100_000, 2_000_000)
ACCURACIES = ((0.2, 0.1), (0.1, 0.01), (0.05, 0.0001), (0.01, 0.001))
"""ε and δ of approximate synopses."""
SOME = ("sum", "variance", "max", "median", "mode", "heavy_hitters")
"""Aggregates that represent the others where measuring all would add little."""


@dataclass(frozen=True)
class Task:
    """One synopsis and one workload."""

    work: Workload
    kind: type[Any]

    @property
    def key(self) -> dict[str, Any]:
        """The fields that identify the task in a file."""
        identity = asdict(self.work) | {"aggregate": self.work.name, "synopsis": self.kind.__name__}
        return {name: identity[name] for name in KEY}

    def __str__(self) -> str:
        work = self.work
        error = f", ε {work.eps:g}" if work.eps else ""
        return f"{self.kind.__name__}: {work.name}, R {work.retention:,}, S {work.slide:,}{error}"


KEY = ("aggregate", "synopsis", "retention", "slide", "eps", "delta", "batch", "data", "kind")


@dataclass(frozen=True)
class Line:
    """A measurement and its task."""

    task: Task
    measured: Measured


def slides_for(retention: int, *, few: bool = False) -> list[int]:
    """Return slides from one value to the whole window, one coprime to it, so that panes hold single values."""
    shares = (1, retention // 10, retention) if few else (1, 8, retention // 100, retention // 10, retention // 2)
    odd = [] if few else [retention // 7 + 1 - (retention // 7) % 2, retention]
    return sorted({slide for slide in (*shares, *odd) if 1 <= slide <= retention})


def full_grid() -> list[Task]:
    """Return the tasks of a full calibration, shuffled so that any prefix is representative."""
    some = {name: AGGREGATES[name] for name in SOME}
    tasks: list[Task] = []
    for retention in RETENTIONS:
        for slide in slides_for(retention):
            tasks += _tasks(retention, slide, AGGREGATES, EXACTLY)
    for accuracy in ACCURACIES:
        for retention in FEW_RETENTIONS:
            for slide in slides_for(retention, few=True):
                tasks += _tasks(retention, slide, AGGREGATES, accuracy)
    for accuracy in (EXACTLY, ACCURACIES[2]):
        for data in STREAMS:
            tasks += _tasks(20_000, 200, some, accuracy, data=data)
        for retention, slide, batch in BATCHES:
            tasks += _tasks(retention, slide, some, accuracy, batch=batch)
    for accuracy in (EXACTLY, ACCURACIES[0], ACCURACIES[2]):  # one error alone would look like a constant
        for retention in FEW_RETENTIONS:
            for slide in slides_for(retention, few=True):
                tasks += _tasks(retention, slide, some, accuracy, kind="time")
    return _spread(tasks)


EXACTLY, ROUGHLY = (0.0, 0.0), (0.09, 0.01)
BATCHES = (
    (100, 10, 1),
    (1_000, 100, 10),
    (1_000, 100, 100),
    (20_000, 2_000, 5),
    (50_000, 5_000, 500),
    (50_000, 5_000, 5_000),
    (400_000, 40_000, 1_000),
    (400_000, 400_000, 400_000),
)
"""Retention, slide and batch of workloads whose values arrive a few at a time."""


def quick_grid() -> list[Task]:
    """Return enough tasks to estimate how much faster or slower each synopsis is here than in the model to adapt."""
    some = {name: AGGREGATES[name] for name in SOME}
    tasks: list[Task] = []
    for accuracy in (EXACTLY, ROUGHLY):
        for retention in (200, 10_000, 300_000):
            for slide in slides_for(retention, few=True):
                tasks += _tasks(retention, slide, some, accuracy)
        for retention, slide, batch in BATCHES[1:4]:
            tasks += _tasks(retention, slide, some, accuracy, batch=batch)
    return _spread(tasks)


def _tasks(
    retention: int, slide: int, aggregates: Mapping[str, Any], accuracy: tuple[float, float], **more: Any
) -> Iterator[Task]:
    """Yield a task per synopsis that applies; exact ones only for exact answers, so that each is measured once."""
    for aggregate in aggregates.values():
        for kind in candidates().values():
            if kind.exact != (accuracy[0] == 0) or kind.costs(aggregate) is None:
                continue
            options = {"data": WHOLE} if kind.needs_whole or _needs_repetitions(aggregate) else {}
            if options and more.get("data", "uniform") != "uniform":
                continue
            work = Workload(aggregate, retention, slide, *_needed(kind, accuracy), **(more | options))
            if work.why_not(kind) is None and kind.calibrates(Retention(retention, work.kind), work.accuracy):
                yield Task(work, kind)


def _needs_repetitions(aggregate: AggregateFunction) -> bool:
    """Return whether an aggregate is about how often values occur, so that some must occur more than once."""
    return aggregate.form == "values" and not aggregate.ranks_suffice


def _needed(kind: type[Any], accuracy: tuple[float, float]) -> tuple[float, float]:
    """Return the ε and δ to request; a deterministic synopsis needs no δ."""
    return (accuracy[0], 0.0) if kind.deterministic else accuracy


def _spread(tasks: Iterable[Task]) -> list[Task]:
    """Return the distinct tasks in a fixed pseudorandom order."""
    distinct = list({json.dumps(task.key): task for task in tasks}.values())
    return [distinct[i] for i in np.random.default_rng(1).permutation(len(distinct))]


def calibrate(tasks: Iterable[Task], path: Path, care: Care) -> Iterator[Line]:
    """Measure the tasks that the file lacks, and append each measurement immediately."""
    done = {json.dumps(line.task.key) for line in whole_lines(path)} if path.exists() else set()
    with path.open("a", encoding="utf-8") as file:
        for task in tasks:
            if json.dumps(task.key) not in done:
                line = Line(task, measure(task.work, task.kind, care))
                file.write(json.dumps(task.key | asdict(line.measured)) + "\n")
                file.flush()
                yield line


def whole_lines(path: Path) -> list[Line]:
    """Read the measurements of a file and truncate an incomplete last line, so that others can be appended."""
    lines = read_lines(path)
    # Truncate in place, so that no measurement is lost if the process is killed.
    os.truncate(path, path.read_bytes().rfind(b"\n") + 1)
    return lines


def read_lines(path: Path) -> list[Line]:
    """Read the measurements of a file; skip an incomplete last line."""
    lines = []
    try:
        texts = path.read_text(encoding="utf-8").splitlines()
    except ValueError:
        raise SourceError(
            f"{path}: expected measurements of `windrow calibrate`, got a file that is not text"
        ) from None
    kinds = candidates()
    for number, text in enumerate(texts, 1):
        try:
            lines.append(_read(json.loads(text), kinds))
        except (ValueError, KeyError, TypeError) as error:
            if number == len(texts) and text.startswith('{"aggregate"'):
                break
            raise SourceError(
                f"{path}: line {number}: expected a measurement of `windrow calibrate`, got {quoted(text)} ({error})"
            ) from None
    return lines


def _read(values: dict[str, Any], kinds: Mapping[str, type[Any]]) -> Line:
    work = {name: values[name] for name in KEY if name not in ("aggregate", "synopsis")}
    task = Task(Workload(AGGREGATES[values["aggregate"]], **work), kinds[values["synopsis"]])
    measured = {name: value for name, value in values.items() if name not in KEY}
    for name in ("time", "update", "query", "bytes"):
        if not isinstance(measured[name], float | int) or not 0 < measured[name] < float("inf"):
            raise ValueError(f"{name} is {measured[name]!r}")
    return Line(task, Measured(**{**measured, "runs": tuple(measured["runs"])}))
