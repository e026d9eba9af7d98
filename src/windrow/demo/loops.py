"""The demo's frames computed by plain loops over the rows: slow, but easy to verify."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc


class Run(NamedTuple):
    """A frame: its group, its first and last `on`, and its number of rows."""

    group: int
    start: int
    end: int
    rows: int


def jams_by_loop(readings: pa.Table) -> list[Run]:
    """Find runs of speed under 40 for at least 3 minutes; skip missing speeds, and break at gaps over 5 minutes."""
    minute = 60_000_000
    measured = readings.filter(pc.is_valid(readings["speed"]))
    ordered = measured.sort_by([("detectorid", "ascending"), ("starttime", "ascending")])
    hits = pc.less(ordered["speed"], pa.scalar(40.0))
    runs = _runs(_rows(ordered["detectorid"], ordered["starttime"].cast(pa.int64()), hits), max_gap=5 * minute)
    return [run for run in runs if run.end - run.start >= 3 * minute]


def dye_by_loop(scans: pa.Table) -> list[Run]:
    """Find runs of fluorescence over 0.2 in at least 20 scans."""
    hits = pc.greater(scans["flsp"], pa.scalar(0.2))
    rows = ((0, scan, hit) for scan, hit in _rows(scans["scan"], hits))
    return [run for run in _runs(rows, max_gap=scans.num_rows) if run.rows >= 20]


def steps_by_loop(scans: pa.Table) -> list[Run]:
    """Split the scans into segments within which the fluorescence moves by at most 0.05."""
    steps: list[Run] = []
    low = high = 0.0
    for scan, value in _rows(scans["scan"], scans["flsp"]):
        low, high = min(low, value), max(high, value)
        if steps and high - low <= 0.05:
            steps[-1] = steps[-1]._replace(end=scan, rows=steps[-1].rows + 1)
        else:
            steps.append(Run(0, scan, scan, 1))
            low = high = value
    return steps


def runs_of(frames: pa.Table, by: str | None) -> list[Run]:
    """Convert frames to the form that the loops return."""
    bounds = (frames[name].cast(pa.int64()) for name in ("start", "end", "count"))
    groups: Iterable[Any] = frames[by].to_pylist() if by else [0] * frames.num_rows
    return [Run(group, *rest) for group, rest in zip(groups, _rows(*bounds), strict=True)]


def _runs(rows: Iterable[tuple[Any, ...]], max_gap: int) -> Iterator[Run]:
    """Yield maximal runs of hits per group; each row is a group, an `on` and a hit."""
    for group, members in groupby(rows, key=itemgetter(0)):
        run: Run | None = None
        for _, at, hit in members:
            if run and (not hit or at - run.end > max_gap):
                yield run
                run = None
            if hit:
                run = Run(group, run.start, at, run.rows + 1) if run else Run(group, at, at, 1)
        if run:
            yield run


def _rows(*columns: Any) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in columns), strict=True)
