"""Streams whose groups are put in order by their own newest row, and closed when they fall silent."""

from __future__ import annotations

import random
from collections import defaultdict
from itertools import pairwise
from typing import Any

import pyarrow as pa

from fuzz.case import Kind, Mismatch, NotACase
from fuzz.kinds.stream import CLOCKS, ExpectedStream, draw_arrivals
from fuzz.queries import ExpectedFrames, draw_query, in_order, layout_of, request_of, run, table_of
from fuzz.tables import dictionaries
from windrow.errors import UnsupportedError
from windrow.framing.schedule import check_schedule
from windrow.framing.stream import StreamFramer, StreamPlan
from windrow.rows.buffers.waiting import MemoryShelf


class OwnOrder:
    """The rule in plain Python: which rows are late, and where silences divide the rows of each group."""

    def __init__(self, parts: dict[str, Any]) -> None:
        names = list(parts["types"])
        self.t, self.by = names.index("t"), [names.index(name) for name in parts["by"]]
        self.delay, self.idle = parts["delay"], parts["idle"]
        self.late = 0
        self.segments: dict[Any, list[list[Any]]] = defaultdict(lambda: [[]])
        self._newest: dict[Any, int] = {}
        self._framed: dict[Any, int] = {}
        self._waiting: dict[Any, list[int]] = defaultdict(list)
        self._heard: dict[Any, int] = {}

    def step(self, rows: list[list[Any]], now: int) -> None:
        """Take in the rows of a batch."""
        framed = dict(self._framed)
        for row in rows:
            key, t = tuple(row[i] for i in self.by), row[self.t]
            self._heard[key] = now
            if key in framed and t <= framed[key]:
                self.late += 1
                continue
            self.segments[key][-1].append(row)
            self._waiting[key].append(t)
            self._newest[key] = max(self._newest.get(key, t), t)
        for key, waiting in self._waiting.items():
            is_silent = self.idle is not None and self._heard[key] + self.idle <= now
            due = [t for t in waiting if is_silent or self._newest[key] - t > self.delay]
            self._waiting[key] = [t for t in waiting if t not in due]
            if due:
                self._framed[key] = max(*due, self._framed.get(key, due[0]))
            if is_silent and self.segments[key][-1]:
                self.segments[key].append([])


class ExpectedSegments(ExpectedStream):
    """The frames of each group: those of its segments one after the other, ended by rows only."""

    def __init__(self, parts: dict[str, Any], rule: OwnOrder) -> None:
        super().__init__(parts, [])
        for key, segments in rule.segments.items():
            frames: list[dict[str, Any]] | None = []
            for rows in segments:
                named = [dict(zip(parts["types"], row, strict=True)) for row in in_order(parts, rows)]
                found = self._of_group(named)
                if found is None or frames is None:
                    frames = None
                else:
                    frames += [{**row, "frame": len(frames) + k} for k, row in enumerate(found)]
            self.frames[key] = frames

    _row = ExpectedFrames._row


class StreamDelay(Kind):
    """`StreamFramer` with a delay per group and, in some cases, a wall clock; fragments by batch or by event time."""

    name = "stream-delay"
    share = 1.5

    def draw(self, rng: random.Random) -> dict[str, Any]:
        """Draw a query, the arrival of its rows, the delay, and the time of each batch."""
        parts = draw_query(rng, rows=rng.choice((3, 30, 120)), groups=rng.choice((1, 5, 20)), clocks=CLOCKS, odd=0.0)
        parts |= draw_arrivals(rng, parts)
        del parts["marks"]
        t = list(parts["types"]).index("t")
        span = max((row[t] for row in parts["rows"]), default=1)
        parts["delay"] = rng.choice((0, 1, 5, 20)) * span // 50
        parts["fragments"] = rng.random() < 0.5
        parts["every"] = max(1, span // rng.choice((3, 10, 40))) if parts["fragments"] and rng.random() < 0.6 else None
        # The state that a group of a Custom scheme has lasts longer than its frames.
        can_be_idle = parts["scheme"]["name"] != "Custom" and rng.random() < 0.5
        parts["idle"] = rng.choice((1, 10, 25)) if can_be_idle else None
        now, parts["clock"] = 0, []
        for _ in parts["batches"]:
            now += rng.choice((0, 5, 10, 30))
            parts["clock"].append(now)
        return parts

    def check(self, parts: dict[str, Any]) -> int:
        """Compare the frames with those of the rows that are not late."""
        if parts["every"] == 0 or parts["idle"] == 0:
            raise NotACase
        rule = OwnOrder(parts)
        for batch, now in _batches(parts):
            rule.step(batch, now)
        return run(ExpectedSegments(parts, rule), lambda: self._frames(parts, rule.late))

    def _frames(self, parts: dict[str, Any], late: int) -> list[pa.Table]:
        request = request_of(parts)
        every = parts["every"]
        try:
            if every is not None:
                check_schedule(request.scheme, request.clock, request.types)
        except UnsupportedError:
            every = None
        options = {"fragments": parts["fragments"], "every": every, "idle": parts["idle"], "delay": parts["delay"]}
        plan = StreamPlan(request, layout_of(request), **options)
        shelf, tables, behind = MemoryShelf(), [], 0
        bucket = StreamFramer(plan, shelf)
        for rows, now in _batches(parts):
            if parts["restarts"]:
                bucket = StreamFramer.load(plan, shelf, bucket.save())
            done, left = bucket.step([table_of(parts, rows)] if rows else [], None, now)
            tables += done
            behind += sum(table.num_rows for table in left)
            event = bucket.next_event()
            if event is not None and event <= now:
                raise Mismatch("next event: in the past", f"{event} is not after {now}")
        if parts["restarts"]:
            bucket = StreamFramer.load(plan, shelf, bucket.save())
        tables += bucket.finish()
        if behind != late:
            raise Mismatch("late rows: number", f"{behind} late rows, expected {late}")
        if shelf:
            raise Mismatch("shelf: not empty", f"{len(shelf)} pieces are left at the end")
        if every is not None:
            _check_cuts(parts, tables, every)
        return tables


def _batches(parts: dict[str, Any]) -> list[tuple[list[list[Any]], int]]:
    """Return the rows of each batch and its time, which shrinking may have shortened."""
    clock = [*parts["clock"], *[0] * len(parts["batches"])]
    now, batches = 0, []
    for batch, at in zip(parts["batches"], clock, strict=False):
        now = max(now, at)
        batches.append(([parts["rows"][i] for i in batch if i < len(parts["rows"])], now))
    return batches


def _check_cuts(parts: dict[str, Any], tables: list[pa.Table], every: int) -> None:
    """Check that no piece after the first crosses a multiple, and that two neighbours are in different stretches."""
    pieces: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for row in (row for table in tables for row in dictionaries(table)):
        if row["count"]:
            pieces[tuple(row[name] for name in parts["by"]), row["frame"]].append(row)
    for mine in pieces.values():
        later = [row for row in mine if row["fragment"] > 0]
        crossing = [row for row in later if row["start"] // every != row["end"] // every]
        torn = [a for a, b in pairwise(later) if a["end"] // every == b["start"] // every]
        if crossing or torn:
            raise Mismatch("fragments: cut elsewhere", "\n".join(map(str, mine)))
