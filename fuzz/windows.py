"""The windows of one group's rows, each computed from its rows: plain Python, from the definitions."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import windrow as wr
from fuzz.draw import Clock, seconds
from fuzz.results import ANYTHING, Near, agrees, by_definition

Row = dict[str, Any]


class Window(NamedTuple):
    """A window: its bounds, whether it is complete, and its ordered rows."""

    start: Any
    end: Any
    complete: bool
    rows: list[Row]


def draw(rng: random.Random, clock: Clock, *, plain: bool = False) -> dict[str, Any]:
    """Draw a kind of window; a `plain` one has a length and no early reports, so that a synopsis can store it."""
    name = rng.choice(("Sliding", "Sliding", "Sliding", "Tumbling", "Rows", "DistinctTimes", "Landmark"))
    if plain and name == "Landmark":
        name = "Sliding"
    emit = rng.choice((1, 1, 2, 3))
    every = emit * rng.choice((1, 1, 2, 3))
    if name in ("Rows", "DistinctTimes"):
        return {"name": name, "args": [every + rng.choice((0, 1, 4, 20)), every], "options": {}}
    options = {} if plain or name == "Landmark" or rng.random() < 0.7 else {"emit": clock.duration(emit)}
    if name == "Sliding":
        length = every + rng.choice((0, 1, 3, 9, 30))
        return {"name": name, "args": [clock.duration(length), clock.duration(every)], "options": options}
    return {"name": name, "args": [clock.duration(every)], "options": options}


def build(window: dict[str, Any]) -> Any:
    """Build the window that plain values stand for."""
    return getattr(wr, window["name"])(*window["args"], **window["options"])


def windows(window: dict[str, Any], rows: Sequence[Row], past: Any, *, empty: bool = False) -> list[Window]:
    """Return the windows over ordered rows; no more rows can arrive up to the instant `past`."""
    name, args = window["name"], window["args"]
    if name in ("Rows", "DistinctTimes"):
        return _counted(name, args, rows)
    lengths = [int(seconds(value)) for value in args]
    if name == "Landmark":
        return _landmark(lengths[0], rows, past)
    length, every = (lengths[0], lengths[0]) if name == "Tumbling" else lengths
    emit = int(seconds(window["options"].get("emit", args[-1])))
    ends = sorted({end for row in rows for end in _ends(row["t"], length, every, emit)})
    if empty and ends and ends[-1] - ends[0] < 100_000 * emit:
        ends = list(range(ends[0], ends[-1] + emit, emit))
    made = []
    low = high = 0
    for end in ends:
        whole = -(-end // every) * every
        start = whole - length
        while high < len(rows) and rows[high]["t"] < end:
            high += 1
        while low < high and rows[low]["t"] < start:
            low += 1
        made.append(Window(start, end, end == whole and end <= past, list(rows[low:high])))
    return made


def _ends(t: Any, length: int, every: int, emit: int) -> list[int]:
    """Return the ends of all windows and early reports that contain a row at `t`."""
    end = int(t // emit) * emit + emit
    ends = []
    while -(-end // every) * every - length <= t:
        ends.append(end)
        end += emit
    return ends


def _landmark(every: int, rows: Sequence[Row], past: Any) -> list[Window]:
    start, last = int(rows[0]["t"] // every) * every, int(rows[-1]["t"] // every) * every + every
    made = []
    for end in range(start + every, last + 1, every):
        made.append(Window(start, end, end <= past, [row for row in rows if row["t"] < end]))
    return made


def _counted(name: str, args: Sequence[int], rows: Sequence[Row]) -> list[Window]:
    n, every = args
    place = list(range(len(rows)))
    if name == "DistinctTimes":
        times = {t: i for i, t in enumerate(sorted({row["t"] for row in rows}))}
        place = [times[row["t"]] for row in rows]
    total, made = place[-1] + 1, []
    for end in range(every, total + every, every):
        inside = [row for row, at in zip(rows, place, strict=True) if end - n <= at < end]
        made.append(Window(inside[0]["t"], inside[-1]["t"], n <= end <= total, inside))
    return made


def only_changed(made: list[tuple[Window, list[Any]]]) -> list[tuple[Window, list[Any]]] | None:
    """Return the windows whose results differ from the previous one's, or None if that depends on rounding."""
    chosen: list[tuple[Window, list[Any]]] = []
    last: list[Any] | None = None
    for window, results in made:
        if any(result is ANYTHING for result in results):
            return None
        values = [result.value if isinstance(result, Near) else result for result in results]
        same = last is not None and all(map(agrees, values, last))
        if last is not None and not same:
            near = [r if isinstance(r, Near) else Near(r) for r in results]
            if all(agrees(value, Near(r.value, 10 * r.within)) for value, r in zip(last, near, strict=True)):
                return None
        if same and any(isinstance(result, Near) and result.within for result in results):
            return None
        if not same:
            chosen.append((window, results))
        last = values
    return chosen


def results_of(made: Sequence[Window], agg: Sequence[str]) -> list[tuple[Window, list[Any]]]:
    """Return each window with the results of its aggregates."""
    return [(window, [by_definition(name, window.rows) for name in agg]) for window in made]
