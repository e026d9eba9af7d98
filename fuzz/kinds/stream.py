"""Streams: rows that arrive in any order, some of them late, watermarks, and restarts between any two batches."""

from __future__ import annotations

import random
from collections import defaultdict
from itertools import pairwise
from typing import Any

import pyarrow as pa

from fuzz.case import Kind, Mismatch, NotACase
from fuzz.draw import seconds
from fuzz.queries import ExpectedFrames, draw_query, layout_of, request_of, run, table_of
from fuzz.sliding import ExpectedWindows, draw_slide, is_refusal, slide_of
from fuzz.sliding import layout_of as slide_layout
from fuzz.sliding import run as run_windows
from fuzz.tables import dictionaries
from windrow.errors import UnsupportedError, WindrowError
from windrow.framing.stream import StreamFramer, StreamPlan
from windrow.rows.buffers.waiting import MemoryShelf
from windrow.windows.stream import SlidePlan, StreamSlider

CLOCKS = ("bigint", "timestamp", "timestamp")


def draw_arrivals(rng: random.Random, parts: dict[str, Any]) -> dict[str, Any]:
    """Draw the batch in which each row arrives, roughly in order, and the watermark after each batch."""
    t = list(parts["types"]).index("t")
    rows = parts["rows"]
    n = rng.choice((1, 2, 4, 8))
    order = sorted(range(len(rows)), key=lambda i: rows[i][t])
    disorder = rng.choice((0, 2, 10))
    late = {i: place + rng.randint(0, disorder) for place, i in enumerate(order)}
    arrived = sorted(range(len(rows)), key=lambda i: late[i])
    cuts = sorted(rng.randint(0, len(rows)) for _ in range(n - 1))
    batches = [arrived[a:b] for a, b in pairwise([0, *cuts, len(rows)])]
    marks: list[int | None] = []
    mark: int | None = None
    delay = rng.choice((0, 0, 1, 5)) * max((rows[i][t] for i in order), default=1) // 50
    seen: int | None = None
    for batch in batches:
        for i in batch:
            seen = rows[i][t] if seen is None else max(seen, rows[i][t])
        if seen is not None and rng.random() < 0.8:
            proposed = seen - delay
            if rng.random() < 0.15:
                proposed += rng.choice((1, 10, 100_000_000))
            mark = min(max(proposed, -(2**62)) if mark is None else max(mark, proposed), 2**63 - 1000)
        marks.append(mark)
    return {"batches": batches, "marks": marks, "restarts": rng.random() < 0.7}


def on_time(parts: dict[str, Any]) -> tuple[list[list[list[Any]]], int]:
    """Return the rows of each batch that are not behind the previous batch's watermark, and the number of late rows."""
    t = list(parts["types"]).index("t")
    on_time_rows, late, mark = [], 0, None
    marks = [*parts["marks"], *[None] * len(parts["batches"])]
    for batch, after in zip(parts["batches"], marks, strict=False):
        rows = [parts["rows"][i] for i in batch if i < len(parts["rows"])]
        on_time_rows.append([row for row in rows if mark is None or row[t] > mark])
        late += len(rows) - len(on_time_rows[-1])
        mark = mark if after is None else after if mark is None else max(mark, after)
    return on_time_rows, late


def rising(parts: dict[str, Any]) -> list[int | None]:
    """Return non-decreasing watermarks, one per batch."""
    marks: list[int | None] = []
    mark: int | None = None
    for i in range(len(parts["batches"])):
        after = parts["marks"][i] if i < len(parts["marks"]) else None
        mark = mark if after is None else after if mark is None else max(mark, after)
        marks.append(mark)
    return marks


class Stream(Kind):
    """`StreamFramer`: whole frames, or fragments whose union is the frame."""

    name = "stream"
    share = 2.0

    def draw(self, rng: random.Random) -> dict[str, Any]:
        parts = draw_query(rng, rows=rng.choice((3, 30, 120)), groups=rng.choice((1, 5, 20)), clocks=CLOCKS, odd=0.0)
        return parts | draw_arrivals(rng, parts) | {"fragments": rng.random() < 0.4, "empty": rng.random() < 0.2}

    def check(self, parts: dict[str, Any]) -> int:
        on_time_rows, late = on_time(parts)
        expected = ExpectedStream(parts, [row for rows in on_time_rows for row in rows])
        return run(expected, lambda: self._frames(parts, late))

    def _frames(self, parts: dict[str, Any], late: int) -> list[pa.Table]:
        request = request_of(parts)
        plan = StreamPlan(request, layout_of(request), fragments=parts["fragments"])
        shelf, tables, seen_late = MemoryShelf(), [], 0
        bucket = StreamFramer(plan, shelf)
        for batch, mark in zip(parts["batches"], rising(parts), strict=True):
            if parts["restarts"]:
                bucket = StreamFramer.load(plan, shelf, bucket.save())
            rows = [parts["rows"][i] for i in batch if i < len(parts["rows"])]
            done, behind = bucket.step([table_of(parts, rows)] if rows or not parts["empty"] else [], mark)
            tables += done
            seen_late += sum(table.num_rows for table in behind)
            event = bucket.next_event()
            if event is not None and mark is not None and event <= mark:
                raise Mismatch("next event: in the past", f"{event} is not after {mark}")
        if parts["restarts"]:
            bucket = StreamFramer.load(plan, shelf, bucket.save())
        tables += bucket.finish()
        if seen_late != late:
            raise Mismatch("late rows: number", f"{seen_late} late rows, expected {late}")
        if shelf:
            raise Mismatch("shelf: not empty", f"{len(shelf)} pieces are left at the end")
        return tables


class ExpectedStream(ExpectedFrames):
    """The frames of a stream: those ended by a gap have no `closed_at`, and fragments are merged first."""

    def _row(self, number: int, frame: Any, settled: Any) -> dict[str, Any]:
        row = super()._row(number, frame, settled)
        scheme = self.parts["scheme"]
        parts = [scheme, *(scheme["args"] if scheme["name"] == "Conjunction" else [])]
        options = [part["options"] for part in parts]
        if any(own.get("extent") == "half-open" and own.get("min_duration") is not None for own in options):
            # Only the row that ends such a frame decides whether it is long enough.
            return row
        gaps = [seconds(own.get("max_gap")) for own in options]
        gaps += [seconds(part["args"][0]) for part in parts if part["name"] == "Gap"]
        gap = min((gap for gap in gaps if gap is not None), default=None)
        if gap is not None and row["closed_at"] is not None and row["closed_at"] - row["end"] > gap:
            row["closed_at"] = None
        return row

    def compare(self, tables: Any, what: str = "") -> int:
        rows = [row for table in tables for row in dictionaries(table)]
        pieces: dict[Any, list[dict[str, Any]]] = defaultdict(list)
        for row in rows:
            pieces[tuple(row[name] for name in self.parts["by"]), row["frame"]].append(row)
        whole = [_united(mine) for mine in pieces.values()]
        if not self.parts["fragments"] and len(whole) < len(rows):
            raise Mismatch("frames: reported twice", "\n".join(map(str, rows)))
        return self.compare_rows(whole, what)


def _united(pieces: list[dict[str, Any]]) -> dict[str, Any]:
    """Merge all fragments of a frame, given in the order in which they were reported."""
    numbers, finals = [piece["fragment"] for piece in pieces], [piece["final"] for piece in pieces]
    shown = "\n".join(map(str, pieces))
    if numbers != list(range(len(pieces))) or finals != [False] * (len(pieces) - 1) + [True]:
        raise Mismatch("fragments: numbers", shown)
    full = [piece for piece in pieces if piece["count"]]
    if any(a["end"] > b["start"] for a, b in pairwise(full)):
        raise Mismatch("fragments: out of order", shown)
    ends = {"start": full[0]["start"], "end": full[-1]["end"], "count": sum(piece["count"] for piece in pieces)}
    return {name: value for name, value in pieces[-1].items() if name not in ("fragment", "final")} | ends


class StreamSlide(Kind):
    """`StreamSlider`: windows as the watermark passes their ends."""

    name = "stream-slide"
    share = 1.0

    def draw(self, rng: random.Random) -> dict[str, Any]:
        with_synopsis = rng.random() < 0.3
        parts = draw_slide(
            rng, rows=rng.choice((3, 15, 40)), groups=rng.choice((1, 2, 5)), with_synopsis=with_synopsis, clocks=CLOCKS
        )
        return parts | draw_arrivals(rng, parts)

    def check(self, parts: dict[str, Any]) -> int:
        if not parts["windows"] or not parts["agg"]:
            raise NotACase
        slide = slide_of(parts)
        try:
            slide.check()
        except WindrowError as error:
            if isinstance(error, UnsupportedError) or is_refusal(error):
                raise NotACase from None
            raise
        on_time_rows, _ = on_time(parts)
        mark = rising(parts)[-1] if parts["batches"] else None
        reached = -(2**63) if mark is None else mark + 1
        expected = ExpectedWindows(parts, [row for rows in on_time_rows for row in rows], reached)
        return run_windows(expected, lambda: self._windows(parts))

    def _windows(self, parts: dict[str, Any]) -> list[pa.Table]:
        slide = slide_of(parts)
        plan = SlidePlan(slide, slide_layout(slide))
        shelf, tables = MemoryShelf(), []
        bucket = StreamSlider(plan, shelf)
        for batch, mark in zip(parts["batches"], rising(parts), strict=True):
            if parts["restarts"]:
                bucket = StreamSlider.load(plan, shelf, bucket.save())
            rows = [parts["rows"][i] for i in batch if i < len(parts["rows"])]
            tables += bucket.step([table_of(parts, rows)], mark)[0]
        if parts["restarts"]:
            bucket = StreamSlider.load(plan, shelf, bucket.save())
        return [*tables, *bucket.finish()]
