"""Measure what a window costs in each exact synopsis and in the rolling functions of other libraries.

Nanoseconds per value, for adding it and answering after each slide, and the bytes of the window. Run by
`python -m benchmarks synopses`, which uses no Spark.
"""

import os

os.environ.setdefault("POLARS_MAX_THREADS", "1")  # everything is measured on one core

import inspect
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import bottleneck
import duckdb
import numpy as np
import pandas as pd
import polars as pl

import windrow as wr
from benchmarks import timing
from benchmarks.report import Cell, Report
from windrow.planner.calibration import measure as planner
from windrow.planner.workload import WHOLE, Workload, approaches
from windrow.synopses import (
    SYNOPSES,
    Accuracy,
    GreenwaldKhanna,
    Retention,
    Synopsis,
)

WINDOWS = (100, 10_000, 1_000_000)
AGGREGATES = {"sum": wr.sum("x"), "max": wr.max("x"), "variance": wr.variance("x"), "median": wr.median("x")}
SQL = {"sum": "sum", "max": "max", "variance": "var_samp", "median": "median"}
POLARS = {"sum": "rolling_sum", "max": "rolling_max", "variance": "rolling_var", "median": "rolling_median"}
PANDAS = {"sum": "sum", "max": "max", "variance": "var", "median": "median"}
BOTTLENECK = {"sum": "move_sum", "max": "move_max", "variance": "move_var", "median": "move_median"}
DUCKDB_ROWS = 200_000
"""DuckDB takes microseconds per row, so it gets fewer of them."""
QUICK = 0.05
"""Runs below this many seconds are repeated more often."""


@dataclass(frozen=True)
class Work:
    """One rolling aggregate over a stream."""

    aggregate: str
    window: int
    every: int
    x: np.ndarray

    @property
    def name(self) -> str:
        return f"{self.aggregate}, window {self.window:,}, slide {self.every:,}"


def work(rows: int) -> Iterator[Work]:
    """Yield everything to measure; a stream is at least three windows long."""
    values = np.random.default_rng(7).normal(size=max(rows, 3 * max(WINDOWS)))
    for aggregate in AGGREGATES:
        for window in WINDOWS:
            for every in (1, window // 10):
                yield Work(aggregate, window, every, values[: max(rows, 3 * window)])


def synopses(job: Work) -> dict[str, Callable[[], object]]:
    """Return constructors of the exact synopses that apply, without those whose queries would take minutes."""
    aggregate, retention = AGGREGATES[job.aggregate], Retention(job.window)
    made: dict[str, Callable[[], object]] = {}
    for kind in approaches():
        costs = kind.costs(aggregate)
        is_quick = job.window // job.every <= 100 or (costs is not None and "R" not in costs.query)
        if kind.exact and is_quick and kind.why_not(aggregate, retention) is None:
            options = {"every": job.every} if "every" in inspect.signature(kind).parameters else {}
            made[kind.__name__] = partial(kind, aggregate, retention, **options)
    return made


def peers(job: Work) -> dict[str, tuple[Callable[[], object], int]]:
    """Return the same work by other libraries, with their row counts; those that only slide by one are left out."""
    x, window, name = job.x, job.window, job.aggregate
    rolled: dict[str, tuple[Callable[[], object], int]] = {}
    options = {} if name in ("sum", "max", "median") else {"ddof": 1}
    series, column = pd.Series(x), pl.Series(x)
    pandas_rolling = series.rolling(window, step=job.every)
    rolled["pandas"] = (getattr(pandas_rolling, PANDAS[name]), x.size)
    if job.every > 1:
        return rolled
    rolled["bottleneck"] = (partial(getattr(bottleneck, BOTTLENECK[name]), x, window, **options), x.size)
    rolled["Polars"] = (partial(getattr(column, POLARS[name]), window), x.size)
    if window <= DUCKDB_ROWS:
        rolled["DuckDB"] = (partial(in_duckdb, name, window, x[:DUCKDB_ROWS]), min(DUCKDB_ROWS, x.size))
    return rolled


def in_duckdb(name: str, window: int, x: np.ndarray) -> object:
    table = pd.DataFrame({"i": np.arange(x.size), "x": x})
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("elements", table)
        rows = f"ROWS BETWEEN {window - 1} PRECEDING AND CURRENT ROW"
        return connection.sql(f"SELECT {SQL[name]}(x) OVER (ORDER BY i {rows}) FROM elements").fetchnumpy()


def exact(report: Report, rows: int, rounds: int) -> None:
    """Report each exact synopsis and each peer: nanoseconds per value, bytes, and the ratio to the best peer."""
    title = f"Rolling aggregates, {rows:,} values or three windows: nanoseconds per value (median), bytes"
    results = [[job.name, *row] for job in work(rows) for row in _measured(job, rounds, report)]
    report.table(title, ["", "", "ns", "bytes", "/best peer"], results)


def _measured(job: Work, rounds: int, report: Report) -> Iterator[list[Cell]]:
    """Yield the name, nanoseconds, bytes and ratio to the best peer, fastest first."""
    on = np.arange(job.x.size)
    bytes_of, runs, sizes = {}, {}, {}
    for name, make in synopses(job).items():
        synopsis = make()
        synopsis.roll(on, job.x, job.every)  # compiles it and fills the window
        bytes_of[name], sizes[name] = synopsis.nbytes, job.x.size
        runs[name] = lambda make=make: make().roll(on, job.x, job.every)
    others = peers(job)
    runs |= {name: run for name, (run, _) in others.items()}
    sizes |= {name: n for name, (_, n) in others.items()}
    timings = timing.race(runs, rounds, warm_up=False, report=lambda line: report.progress(f"{job.name}: {line}"))
    # Runs of milliseconds are noisy, but quick to repeat.
    quick = {name: run for name, run in runs.items() if timings[name].median < QUICK}
    for name, more in timing.race(quick, 5 * rounds, warm_up=False).items():
        timings[name].seconds += more.seconds
    cost = {name: 1e9 * timings[name].median / sizes[name] for name in runs}
    best = min(cost[name] for name in others)
    for name in sorted(cost, key=cost.__getitem__):
        yield [name, cost[name], bytes_of.get(name), cost[name] / best]


MOST_VALUES = 200_000
SECONDS = 0.1
"""A run has as many values as take about this long, and at most `MOST_VALUES`."""


def answers(report: Report, rounds: int) -> None:
    """Compare the cost of answers at moments, as `wr.slide` requests them, with those of a roll."""
    results: list[list[Cell]] = []
    for kind in SYNOPSES:
        make = partial(_made, kind)
        n = _values(make)
        on, x = np.arange(n), np.random.default_rng(7).integers(0, 100, n).astype(np.float64)
        runs = {
            "roll": lambda make=make, on=on, x=x: make().roll(on, x, 1),
            "answers": lambda make=make, on=on, x=x: make().answers(on, x, on),
        }
        timings = timing.race(runs, rounds, report=lambda line, kind=kind: report.progress(f"{kind.__name__}: {line}"))
        roll, moments = (1e9 * timings[name].median / n for name in runs)
        results.append([kind.__name__, ANSWERED, roll, moments, moments / roll])
    title = "Answers at moments and answers of a roll, slide 1: nanoseconds per answer"
    report.table(title, ["", "window", "roll", "answers", "/roll"], results)


ANSWERED = 10_000
"""The window of the answers at moments."""


def _made(kind: type[Synopsis]) -> Synopsis:
    """Create the example of a synopsis over the last moments, or over as many values if it does not support time."""
    options = {
        name: value for name, value in (("every", 1), ("size", 100)) if name in inspect.signature(kind).parameters
    }
    return kind.example(Retention(ANSWERED, "time" if "time" in kind.retentions else "count"), **options)


def _values(make: Callable[[], Synopsis]) -> int:
    """Return how many values to answer: those that take about `SECONDS`, after a first run that compiles."""
    n, lasted = 500, 0.0
    make().roll(np.arange(n), np.zeros(n), 1)
    while n < MOST_VALUES and lasted < SECONDS:
        n = min(2 * n, MOST_VALUES)
        begin = time.perf_counter()
        make().roll(np.arange(n), np.zeros(n), 1)
        lasted = time.perf_counter() - begin
    return n


APPROXIMATE = {
    "sum": wr.sum("x"),
    "variance": wr.variance("x"),
    "median": wr.median("x"),
    "heavy hitters": wr.heavy_hitters("x", 0.1),
}


def approximate(report: Report) -> None:
    """Report the costs of approximate synopses at windows of all sizes; no peer has any."""
    results: list[list[Cell]] = []
    for name, aggregate in APPROXIMATE.items():
        for window in WINDOWS:
            for kind in approaches():
                row = _approximate(aggregate, window, kind, name)
                if row is not None:
                    report.progress(f"{name}, window {window:,}: {kind.__name__}")
                    results.append([f"{name}, window {window:,}", kind.__name__, *row])
    results.append(["median of all values", "GreenwaldKhanna", None, None, _greenwald_khanna(), None])
    title = "Approximate synopses, ε 0.01, δ 0.001 where drawn at random: nanoseconds per value, bytes"
    report.table(title, ["", "", "slide 1", "slide R/10", "update", "bytes"], results)


def _greenwald_khanna() -> float:
    """Return nanoseconds per value; it has no window."""
    x = np.random.default_rng(7).random(2_000_000)
    make = partial(GreenwaldKhanna, APPROXIMATE["median"], accuracy=Accuracy(0.01))
    make().update(np.arange(10), x[:10])
    timings = timing.race({"update": lambda: make().update(np.arange(x.size), x)}, 3, warm_up=False)
    return 1e9 * timings["update"].median / x.size


def _approximate(aggregate: wr.AggregateFunction, window: int, kind: type[Synopsis], name: str) -> list[Cell] | None:
    delta = 0.0 if kind.deterministic else 0.001
    data = WHOLE if name == "heavy hitters" or kind.needs_whole else "uniform"
    works = [Workload(aggregate, window, slide, 0.01, delta, data=data) for slide in (1, window // 10)]
    if kind.exact or works[0].why_not(kind) or not kind.calibrates(Retention(window), works[0].accuracy):
        return None
    one, tenth = (planner.measure(work, kind, planner.QUICK) for work in works)
    return [one.time, tenth.time / works[1].slide, tenth.update, tenth.bytes]
