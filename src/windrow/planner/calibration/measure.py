"""How long a synopsis takes and how much it keeps, measured: warmed up, with a full window, one at a time, repeated."""

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
    """How much time a measurement may take: more of it makes it surer."""

    least: float = 0.008
    """A run takes so many seconds at least …"""
    most: float = 0.2
    """… and at most, unless a single slide takes longer."""
    fill: float = 2.5
    """How long it may take to fill the window; one that is not full then is measured as it is."""
    runs: int = 3


QUICK, FULL = Care(least=0.005, most=0.1, fill=1.0), Care()


A_MOMENT = 0.01
"""Seconds; what takes longer for ten elements is too slow to be warmed up by thousands."""


@dataclass(frozen=True)
class Measured:
    """What a synopsis took for a workload: nanoseconds and bytes."""

    time: float
    """Of a slide: of taking in its elements, and of one answer. The median of some runs."""
    update: float
    """The time that an element takes, without any answer."""
    query: float
    """The time of an answer alone, when it is called for from Python."""
    bytes: int
    runs: tuple[float, ...] = ()
    """The time of a slide in each run."""
    full: bool = True
    """Whether the window was full."""


def measure(work: Workload, kind: type[Any], care: Care = FULL) -> Measured:
    """Measure a synopsis that can keep what is asked for."""
    synopsis, elements = work.make(kind), Elements(work.data)
    _warm_up(work, kind)
    with undisturbed():
        full = _fill(synopsis, elements, work.retention, care.fill)
        run = _in_batches if work.batch else _rolled
        slides = _slides(lambda n: run(synopsis, elements, work, n), work, care)
        runs = [run(synopsis, elements, work, slides) / slides]
        if slides * runs[0] <= 2 * care.most:
            runs = [run(synopsis, elements, work, slides) / slides for _ in range(care.runs)]
        kept = synopsis.nbytes
        some = max(1, round(min(care.least * work.slide / runs[0], 1 << 20)))
        updates = [_timed(synopsis.update, *elements.take(some)) / some for _ in range(care.runs)]
        queries = [_timed(synopsis.query) for _ in range(care.runs)]
    nanoseconds = [1e9 * run for run in runs]
    return Measured(median(nanoseconds), 1e9 * median(updates), 1e9 * median(queries), kept, tuple(nanoseconds), full)


def _timed(call: Callable[..., object], *arguments: Any) -> float:
    begin = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - begin


def _rolled(synopsis: Any, elements: Elements, work: Workload, slides: int) -> float:
    return _timed(synopsis.roll, *elements.take(slides * work.slide), int(work.slide))


def _in_batches(synopsis: Any, elements: Elements, work: Workload, slides: int) -> float:
    """Elements come in batches that may be smaller than a slide."""
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
    """Let everything be compiled that is called for later."""
    synopsis, elements = work.make(kind), Elements(work.data)
    synopsis.update(*elements.take(10))
    synopsis.query()
    every = min(int(work.slide), 10)
    if _timed(synopsis.roll, *elements.take(every), every) < A_MOMENT:
        # Some take many elements in another way than a few.
        every = min(int(work.slide), 2000)
        synopsis.roll(*elements.take(every), every)


def _fill(synopsis: Any, elements: Elements, retention: int, seconds: float) -> bool:
    """Fill the window, in steps that double, unless it takes too long."""
    taken, at, step = 0.0, 0, 1024
    while at < retention and taken < seconds:
        some = min(step, retention - at)
        lasted = _timed(synopsis.update, *elements.take(some))
        taken, at = taken + lasted, at + some
        if lasted < seconds / 8:
            step *= 2
    return at >= retention


def _slides(run: Callable[[int], float], work: Workload, care: Care) -> int:
    """How many slides a run has: those of a whole window if there is time, since some work is done once a window."""
    slides = 1
    # The first of two may do what happens once a window, or puts a window in order that was only filled.
    while (lasted := min(run(slides), run(slides))) < care.least / 4 and slides < 1 << 22:
        slides *= 4
    once = lasted / slides
    if slides == 1 and (more := run(4)) < 3 * lasted:
        # It is the call that takes long and not the slide.
        once = max((more - lasted) / 3, care.least / (1 << 22))
    window = work.retention / work.slide
    slides = max(1, round(min(max(care.least / once, window), max(care.most / once, 1), (1 << 23) / work.slide)))
    if slides < window and work.batch is None and once * window <= 2 * care.fill:
        # What comes in many pieces may be sorted once and for all instead of piece by piece.
        whole = math.ceil(window)
        slides = whole if run(whole) < once * whole / 2 else slides
    return slides


@contextmanager
def undisturbed() -> Iterator[None]:
    """On one core, and without a collection of garbage in between."""
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
