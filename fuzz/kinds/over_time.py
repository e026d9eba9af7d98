"""Aggregates over time: in frames that are cut by chunks and ranges, in windows, and in filled frames."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

import windrow as wr
from fuzz.case import Kind, Mismatch, NotACase
from fuzz.over_time import over_time
from windrow.aggregates.engine.accumulator import Accumulator
from windrow.filling.sweep import Summary, SweepBatch
from windrow.framing.parallel.in_process import Case
from windrow.predicates.parse import parse_predicate
from windrow.rows.clock import Clock
from windrow.rows.groups import Directory
from windrow.rows.ordering import read_in_order
from windrow.rows.query import Layout, Reader
from windrow.rows.roles import Condition, Roles
from windrow.windows.in_order import WindowsInOrder
from windrow.windows.query import WindowOptions, WindowQuery

CLOCKS = {"bigint": pa.int64(), "double": pa.float64(), "date": pa.date32(), "timestamp": pa.timestamp("us", "UTC")}
STEP = {"bigint": 1, "double": 0.5, "date": 1, "timestamp": 250_000}
UNIT = {"timestamp": 1_000_000}
NAMES = ("time_mean", "integral", "duration", "time_in")
SCHEMES = {
    "threshold": lambda step: wr.Threshold("y > 0"),
    "segments": lambda step: wr.Threshold("y > 0", segments=True, min_count=2),
    "delta": lambda step: wr.Delta({"y": 1.0}, min_count=2),
    "boundary": lambda step: wr.Boundary({"y": 2.0}),
}


class OverTime(Kind):
    """Random steps with nulls and ties, on every kind of clock; integers may be at the limits of 64 bits."""

    name = "over-time"

    def draw(self, rng: random.Random) -> dict[str, Any]:
        where = rng.choice(("frames", "windows", "fill"))
        n, at, rows = rng.choice((0, 1, 6, 20, 40)), rng.choice((0, -7, 40)), []
        for _ in range(n):
            at += rng.choice((0, 0, 1, 1, 2, 5, 30))
            rows.append([rng.randrange(2), at, rng.choice((None, None, *range(-3, 4))), rng.choice((None, 0, 1, 2, 3))])
        return {
            "where": where,
            "clock": rng.choice(tuple(CLOCKS)),
            "shift": 2**62 if where != "windows" and rng.random() < 0.1 else 0,
            "rows": rows,
            "agg": [self._options(rng) for _ in range(rng.choice((1, 2)))],
            "framed_by": rng.choice(tuple(SCHEMES)),
            "cuts": sorted(rng.randint(-7, 80) for _ in range(rng.choice((0, 1, 3)))),
            "batch": rng.choice((1, 3, 100)),
            "window": rng.choice(("tumbling", "sliding", "emit", "landmark", "rows", "times")),
            "empty": rng.random() < 0.5,
            "frames": [[rng.randrange(2), rng.randint(-9, 60), rng.choice((0, 3, 20))] for _ in range(4)],
        }

    @staticmethod
    def _options(rng: random.Random) -> dict[str, Any]:
        name = rng.choice(NAMES)
        linear = name in ("time_mean", "integral") and rng.random() < 0.3
        return {
            "name": name,
            "method": "linear" if linear else "previous",
            "hold": rng.choice((None, None, 0, 1, 4, 10)),
            "carry": not linear and rng.random() < 0.5,
        }

    def check(self, parts: dict[str, Any]) -> int:
        if not parts["agg"] or parts["batch"] < 1 or any(a[1] > b[1] for a, b in pairwise(parts["rows"])):
            raise NotACase
        if parts["shift"] and parts["clock"] != "bigint":
            raise NotACase
        results = {"frames": self._frames, "windows": self._windows, "fill": self._filled}[parts["where"]](parts)
        compared = 1
        for what, found in results:
            compared += 1
            for j, options in enumerate(parts["agg"]):
                wanted = by_definition(parts, options, found)
                if not _near(found[f"a{j}"], wanted):
                    raise Mismatch(f"{what}: {options['name']}", f"{options}: {found}, expected {wanted}")
        return compared

    # The engines. Each yields results with the places of the first and last row, `start` and `end` in steps.

    def _frames(self, parts: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        table, clock = table_of(parts), clock_of(parts)
        places = {"first": wr.first("p"), "last": wr.last("p")}
        case = Case(table, SCHEMES[parts["framed_by"]](1), "t", ("g",), aggregates(parts) | places, ("p",))
        upto = clock.write(pa.array(instants(parts, sorted({*parts["cuts"]}))))
        keys = [(g, cut) for g in (0, 1) for cut in sorted({*parts["cuts"]})]
        on = clock.write(pa.array(instants(parts, [cut for _, cut in keys])))
        cuts = pa.table({"g": pa.array([g for g, _ in keys], pa.int64()), "t": on})
        engines = {
            "batches": case.whole(batch=parts["batch"]),
            "chunks": case.chunks(upto.to_pylist() if parts["clock"] != "timestamp" else upto, batch=parts["batch"]),
            "ranges": case.ranges(cuts, batch=parts["batch"]),
        }
        for what, found in engines.items():
            yield from ((what, row) for row in in_steps(found, clock))

    def _windows(self, parts: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        table, clock = table_of(parts), clock_of(parts)
        types = dict(zip(table.column_names, table.schema.types, strict=True))
        agg = aggregates(parts) | {"first": wr.first("p"), "last": wr.last("p")}
        windows = WindowOptions({"w": window_of(parts)}, False, parts["empty"])
        query = WindowQuery(windows, Roles("t", ("g",), ("p",), agg, types))
        values = tuple(
            parse_predicate(value.text).compile(table.schema) if isinstance(value, Condition) else value
            for value in query.values
        )
        reader = Reader(query, Layout("t", ("g",), {}, {}, values, ("p",)))
        engine, tables = WindowsInOrder(query, reader.directory), []
        on = [row[1] for row in parts["rows"]]
        cuts = [i for i in range(parts["batch"], len(on), parts["batch"]) if on[i - 1] < on[i]]
        for a, b in pairwise([0, *cuts, len(on)]):
            tables += engine.add(read_in_order(reader, table.slice(a, b - a)))
        for found in [*tables, *engine.finish()]:
            yield from (("windows", row) for row in in_steps(found, clock))

    def _filled(self, parts: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        clock, agg = clock_of(parts), aggregates(parts)
        accumulators = [Accumulator.of(each, {"x": pa.float64()}, clock) for each in agg.values()]
        entries = [(g, start, start + length, k, True) for k, (g, start, length) in enumerate(parts["frames"])]
        entries += [(row[0], row[1], row[2], k, False) for k, row in enumerate(parts["rows"])]
        entries.sort(key=lambda entry: (entry[0], entry[1], not entry[4], entry[3]))
        summary, directory, found = Summary(accumulators, clock.dtype), Directory([pa.int64()]), []
        for begin in range(0, len(entries), parts["batch"]):
            piece = entries[begin : begin + parts["batch"]]
            on = instants(parts, [entry[1] for entry in piece])
            opens = np.array([entry[4] for entry in piece])
            ends = instants(parts, [entry[2] for entry in piece if entry[4]])
            batch = SweepBatch(directory.encode([pa.array([entry[0] for entry in piece])]), on, opens, ends)
            x = pa.table({"x": pa.array([None if entry[4] else entry[2] for entry in piece], pa.float64())})
            values = [
                k.with_on(k.read(pa.array(_read(options, x["x"].to_pylist()), pa.float64())), on)
                for k, options in zip(accumulators, parts["agg"], strict=True)
            ]
            frames = pa.table({"frame": pa.array([entry[3] for entry in piece if entry[4]], pa.int64())})
            found += summary.add(batch, frames, values).to_pylist()
            directory = Directory([pa.int64()])
            directory.encode([pa.array([piece[-1][0]])])
        last = summary.finish()
        for row in [*found, *([] if last is None else last.to_pylist())]:
            g, start, length = parts["frames"][row["frame"]]
            places = [p for p, each in enumerate(parts["rows"]) if each[0] == g and start <= each[1] <= start + length]
            bounds = instants(parts, [start, start + length]).tolist()
            results = {f"a{j}": row[f"aggregate{j}"] for j in range(len(parts["agg"]))}
            members = {"first": min(places, default=None), "last": max(places, default=None)}
            yield "fill", {"g": g, "start": bounds[0], "end": bounds[1], **members, **results}


def _near(found: Any, wanted: Any) -> bool:
    if found is None or wanted is None:
        return found is wanted
    return math.isclose(found, wanted, rel_tol=1e-9, abs_tol=1e-9)


def _read(options: dict[str, Any], x: list[Any]) -> list[Any]:
    """Return what an aggregate reads of each row."""
    if options["name"] == "duration":
        return [1.0] * len(x)
    return [float(value is not None and value > 0) for value in x] if options["name"] == "time_in" else x


def by_definition(parts: dict[str, Any], options: dict[str, Any], found: dict[str, Any]) -> float | None:
    """Return an aggregate of the rows of a frame or window, given by the places of the first and the last."""
    rows, first, last = parts["rows"], found["first"], found["last"]
    on = instants(parts, [row[1] for row in rows]).tolist()
    x = _read(options, [row[2] for row in rows])
    mine = [(p, on[p], x[p]) for p in range(len(rows)) if rows[p][0] == found["g"]]
    earlier = [(t, value) for p, t, value in mine if (t < found["start"] if first is None else p < first)]
    framed = parts["where"] == "frames" and parts["framed_by"] in ("delta", "boundary")
    own = [
        (t, value)
        for p, t, value in mine
        if first is not None and first <= p <= last and not (framed and rows[p][3] is None)
    ]
    values = [row for row in earlier if row[1] is not None]
    return over_time(
        options["name"],
        own,
        found["start"],
        found["end"],
        method=options["method"],
        max_hold=None if options["hold"] is None else options["hold"] * STEP[parts["clock"]],
        before=values[-1] if options["carry"] and values else None,
        unit=UNIT.get(parts["clock"], 1),
    )


def clock_of(parts: dict[str, Any]) -> Clock:
    """Return the clock of a case."""
    return Clock.of(CLOCKS[parts["clock"]], "t")


def instants(parts: dict[str, Any], places: list[int]) -> Any:
    """Return places as numbers of the clock."""
    dtype = clock_of(parts).dtype
    return np.array([place * STEP[parts["clock"]] + parts["shift"] for place in places], dtype)


def table_of(parts: dict[str, Any]) -> pa.Table:
    """Return the rows of a case."""
    rows = parts["rows"]
    return pa.table(
        {
            "g": pa.array([row[0] for row in rows], pa.int64()),
            "t": clock_of(parts).write(pa.array(instants(parts, [row[1] for row in rows]))),
            "x": pa.array([row[2] for row in rows], pa.float64()),
            "y": pa.array([row[3] for row in rows], pa.float64()),
            "p": pa.array(range(len(rows)), pa.int64()),
        }
    )


def duration(parts: dict[str, Any], steps: int) -> Any:
    """Return a duration of some steps, as a user writes it."""
    if parts["clock"] == "timestamp":
        return f"{steps * STEP['timestamp']} microseconds"
    return f"{steps} days" if parts["clock"] == "date" else steps * STEP[parts["clock"]]


def aggregates(parts: dict[str, Any]) -> dict[str, Any]:
    """Return the aggregates of a case by the names of their results."""
    made = {}
    for j, options in enumerate(parts["agg"]):
        given: dict[str, Any] = {"carry": options["carry"]}
        if options["hold"] is not None:
            given["max_hold"] = duration(parts, options["hold"])
        if options["method"] == "linear":
            given["method"] = "linear"
        first = {"duration": [], "time_in": ["x > 0"]}.get(options["name"], ["x"])
        made[f"a{j}"] = getattr(wr, options["name"])(*first, **given)
    return made


def window_of(parts: dict[str, Any]) -> Any:
    """Return the window of a case; on a clock of floats, a step is half a unit."""
    return {
        "tumbling": wr.Tumbling(duration(parts, 6)),
        "sliding": wr.Sliding(duration(parts, 12), every=duration(parts, 4)),
        "emit": wr.Sliding(duration(parts, 12), every=duration(parts, 4), emit=duration(parts, 2)),
        "landmark": wr.Landmark(duration(parts, 8)),
        "rows": wr.Rows(4, every=2),
        "times": wr.DistinctTimes(3, every=2),
    }[parts["window"]]


def in_steps(found: pa.Table, clock: Clock) -> list[dict[str, Any]]:
    """Return results with their bounds as numbers of the clock."""
    bounds = {name: clock.read(found[name]).numbers.tolist() for name in ("start", "end")}
    kept = [name for name in found.column_names if name in ("g", "first", "last") or name[0] == "a"]
    rows = found.select([name for name in kept if name != "active"]).to_pylist()
    return [row | {name: numbers[i] for name, numbers in bounds.items()} for i, row in enumerate(rows)]
