"""Measurements of the time and memory of a synopsis: warmed up, with a full window, repeated."""

from __future__ import annotations

import gc
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

from windrow.planner.workload import Elements, Workload


@dataclass(frozen=True)
class Care:
    """The time budget of a measurement; a larger one gives more reliable results."""

    least: float = 0.008
    """Minimum seconds per run."""
    most: float = 0.2
    """Maximum seconds per run, unless a single slide takes longer."""
    fill: float = 2.5
    """Maximum seconds to fill the window; a window that is not full by then is measured as it is."""
    runs: int = 3


QUICK, FULL = Care(least=0.005, most=0.1, fill=1.0), Care()


A_MOMENT = 0.01
"""Seconds. A synopsis that takes longer for ten values is too slow to be warmed up with thousands."""


@dataclass(frozen=True)
class Measured:
    """The measured costs of a synopsis for a workload, in nanoseconds and bytes."""

    time: float
    """Time per slide: its updates and one query. Median of the runs."""
    update: float
    """Time per value, without queries."""
    query: float
    """Time of one query, called from Python."""
    bytes: int
    runs: tuple[float, ...] = ()
    """Time per slide in each run."""
    full: bool = True
    """Whether the window was full."""


def measure(work: Workload, kind: type[Any], care: Care = FULL) -> Measured:
    """Measure a synopsis that applies to the workload."""
    synopsis, elements = work.make(kind), Elements(work.data)
    _warm_up(work, kind)
    with undisturbed():
        full = _fill(synopsis, elements, work.retention, care.fill)
        run = _in_batches if work.batch else _rolled
        slides = _slides(lambda n: run(synopsis, elements, work, n), work, care)
        runs = [run(synopsis, elements, work, slides) / slides]
        if slides * runs[0] <= 2 * care.most:
            runs = [run(synopsis, elements, work, slides) / slides for _ in range(care.runs)]
        size = synopsis.nbytes
        some = max(1, round(min(care.least * work.slide / runs[0], 1 << 20)))
        updates = [_timed(synopsis.update, *elements.take(some)) / some for _ in range(care.runs)]
        queries = [_timed(synopsis.query) for _ in range(care.runs)]
    nanoseconds = [1e9 * run for run in runs]
    return Measured(median(nanoseconds), 1e9 * median(updates), 1e9 * median(queries), size, tuple(nanoseconds), full)


def _timed(call: Callable[..., object], *arguments: Any) -> float:
    begin = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - begin


def _rolled(synopsis: Any, elements: Elements, work: Workload, slides: int) -> float:
    return _timed(synopsis.roll, *elements.take(slides * work.slide), int(work.slide))


def _in_batches(synopsis: Any, elements: Elements, work: Workload, slides: int) -> float:
    """Time slides whose values arrive in batches that may be smaller than a slide."""
    batch = int(work.batch or work.slide)
    batches = [elements.take(batch) for _ in range(work.slide // batch)]

    def slide() -> None:
        for on, x in batches:
            synopsis.update(on, x)
        synopsis.query()

    taken = 0.0
    for _ in range(slides):
        taken += _timed(slide)
        batches = [elements.take(batch) for _ in range(work.slide // batch)]
    return taken


def _warm_up(work: Workload, kind: type[Any]) -> None:
    """Compile everything that is called later."""
    synopsis, elements = work.make(kind), Elements(work.data)
    synopsis.update(*elements.take(10))
    synopsis.query()
    every = min(int(work.slide), 10)
    if _timed(synopsis.roll, *elements.take(every), every) < A_MOMENT:
        # Some synopses process many values on another code path than a few.
        every = min(int(work.slide), 2000)
        synopsis.roll(*elements.take(every), every)


def _fill(synopsis: Any, elements: Elements, retention: int, seconds: float) -> bool:
    """Fill the window in doubling steps; return False if it takes too long."""
    taken, at, step = 0.0, 0, 1024
    while at < retention and taken < seconds:
        some = min(step, retention - at)
        lasted = _timed(synopsis.update, *elements.take(some))
        taken, at = taken + lasted, at + some
        if lasted < seconds / 8:
            step *= 2
    return at >= retention


def _slides(run: Callable[[int], float], work: Workload, care: Care) -> int:
    """Return the slides per run: a whole window's if time allows, because some work happens once per window."""
    slides = 1
    # The first run may include work done once per window, or sort a window that was only filled.
    while (lasted := min(run(slides), run(slides))) < care.least / 4 and slides < 1 << 22:
        slides *= 4
    once = lasted / slides
    if slides == 1 and (more := run(4)) < 3 * lasted:
        # The call itself is slow, not the slide.
        once = max((more - lasted) / 3, care.least / (1 << 22))
    window = work.retention / work.slide
    slides = max(1, round(min(max(care.least / once, window), max(care.most / once, 1), (1 << 23) / work.slide)))
    if slides < window and work.batch is None and once * window <= 2 * care.fill:
        # Values that arrive in many pieces may be sorted once instead of piece by piece.
        whole = math.ceil(window)
        slides = whole if run(whole) < once * whole / 2 else slides
    return slides


@contextmanager
def undisturbed() -> Iterator[None]:
    """Run the block on one core, without garbage collection."""
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    was = gc.isenabled()
    gc.disable()
    try:
        if cores:
            os.sched_setaffinity(0, {max(cores)})
        yield
    finally:
        if cores:
            os.sched_setaffinity(0, cores)
        if was:
            gc.enable()
