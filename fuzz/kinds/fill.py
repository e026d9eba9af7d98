"""Fill: rows of another source and the frames that contain them, by the sweep over sorted batches and by the stream."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from fuzz.case import Kind, Mismatch, NotACase
from fuzz.results import aggregate, agrees, by_definition
from windrow.aggregates.engine.accumulator import Accumulator
from windrow.arrays import ALL_VALID, Values
from windrow.filling.filler import Filler
from windrow.filling.plan import FillPlan
from windrow.filling.sweep import Summary, SweepBatch, Tagger
from windrow.rows.buffers.waiting import MemoryShelf
from windrow.rows.clock import Clock
from windrow.rows.groups import Directory

AGG = ("count", "count v", "sum v", "first v", "last v", "max v", "mean v")
COLUMNS = ("by0", "number", "start", "end", "fragment", "final", "c0", "c1", "c2", "c3")


class Fill(Kind):
    """`Tagger` and `Summary` over arbitrarily cut batches; frames may overlap, and may end before they start."""

    name = "fill"

    def draw(self, rng: random.Random) -> dict[str, Any]:
        groups, span = rng.choice((1, 2, 4)), rng.choice((5, 12, 100))
        shift = rng.choice((0, 0, -50, 2**63 - 200, -(2**63) + 100))
        frames = []
        for _ in range(rng.choice((0, 1, 5, 20))):
            start = rng.randint(0, span)
            frames.append([rng.randrange(groups), start + shift, start + rng.choice((0, 1, 3, 30, -1)) + shift])
        rows = [
            [rng.randrange(groups), rng.randint(0, span) + shift, rng.choice((None, *range(-5, 6)))]
            for _ in range(rng.choice((0, 1, 10, 40)))
        ]
        n = len(frames) + len(rows)
        cuts = sorted(rng.randint(0, n) for _ in range(rng.choice((0, 1, 4))))
        return {"clock": rng.choice(("bigint", "double")), "frames": frames, "rows": rows, "cuts": cuts}

    def check(self, parts: dict[str, Any]) -> int:
        if parts["clock"] == "double" and any(abs(row[1]) > 2**52 for row in [*parts["frames"], *parts["rows"]]):
            raise NotACase
        self._tags(parts)
        self._sums(parts)
        return max(1, len(parts["frames"]))

    def _batches(self, parts: dict[str, Any]) -> Any:
        dtype = np.int64 if parts["clock"] == "bigint" else np.float64
        both = [(*frame, i, True) for i, frame in enumerate(parts["frames"])]
        both += [(*row, i, False) for i, row in enumerate(parts["rows"])]
        both.sort(key=lambda row: (row[0], row[1], not row[4]))
        directory = Directory([pa.int64()])
        for a, b in pairwise([0, *(min(cut, len(both)) for cut in sorted(parts["cuts"])), len(both)]):
            if piece := both[a:b]:
                group = directory.encode([pa.array([row[0] for row in piece])])
                end = np.array([row[2] for row in piece if row[4]], dtype)
                opens = np.array([row[4] for row in piece])
                yield SweepBatch(group, np.array([row[1] for row in piece], dtype), opens, end), piece
                directory = Directory([pa.int64()])
                directory.encode([pa.array([piece[-1][0]])])

    def _tags(self, parts: dict[str, Any]) -> None:
        tagger = Tagger(np.dtype(np.int64 if parts["clock"] == "bigint" else np.float64))
        tagged = []
        for rows, piece in self._batches(parts):
            number = np.array([row[3] for row in piece if row[4]], np.int64)
            for at, tags in tagger.tag(rows, number):
                tagged += [(piece[i][3], tag) for i, tag in zip(at.tolist(), tags.tolist(), strict=True)]
        expected = [(i, k) for k, frame in enumerate(parts["frames"]) for i in inside(frame, parts["rows"])]
        if sorted(tagged) != sorted(expected):
            raise Mismatch("tags: differ", f"found {sorted(tagged)}, expected {sorted(expected)}")

    def _sums(self, parts: dict[str, Any]) -> None:
        accumulators = [Accumulator(aggregate(name), pa.int64()) for name in AGG]
        summary = Summary(accumulators, np.dtype(np.int64 if parts["clock"] == "bigint" else np.float64))
        results: list[dict[str, Any]] = []
        for rows, piece in self._batches(parts):
            column = pa.array([None if row[4] else row[2] for row in piece], pa.int64())
            counted = Values(rows.group, ALL_VALID)
            values = [k.read(column) if k.aggregate.columns else counted for k in accumulators]
            frames = pa.table({"frame": pa.array([row[3] for row in piece if row[4]], pa.int64())})
            results += summary.add(rows, frames, values).to_pylist()
        last = summary.finish()
        results += [] if last is None else last.to_pylist()
        if sorted(row["frame"] for row in results) != list(range(len(parts["frames"]))):
            raise Mismatch("sums: frames", f"found {results}")
        for row in results:
            compare_sums(row, "aggregate", parts["frames"][row["frame"]], parts["rows"])


def inside(frame: Any, rows: list[Any]) -> list[int]:
    """Return the positions of the rows that lie in a frame, in order of time."""
    chosen = [i for i, row in enumerate(rows) if row[0] == frame[0] and frame[1] <= row[1] <= frame[2]]
    return sorted(chosen, key=lambda i: rows[i][1])


def compare_sums(sums: dict[str, Any], prefix: str, frame: Any, rows: list[Any]) -> None:
    """Raise `Mismatch` if an aggregate of a frame differs from that of its rows."""
    values = [{"v": rows[i][2]} for i in inside(frame, rows)]
    for j, name in enumerate(AGG):
        if not agrees(sums[f"{prefix}{j}"], by_definition(name, values)):
            raise Mismatch(f"sums: {name}", f"frame {frame}: found {sums}, rows {values}")


class FillStream(Kind):
    """`Filler`: fragments of frames and rows that arrive in any order, with restarts in between."""

    name = "fill-stream"

    def draw(self, rng: random.Random) -> dict[str, Any]:
        batches = rng.randint(1, 5)
        marks = sorted(rng.randint(-1, 30) for _ in range(batches))
        frames, pieces = [], []
        for number in range(rng.choice((0, 1, 3, 6))):
            start = rng.randint(0, 20)
            ends = sorted(rng.randint(start, 22) for _ in range(rng.choice((1, 1, 2, 3))))
            frames.append([rng.randrange(2), start, ends[-1]])
            batch, begin = 0, start
            for fragment, end in enumerate(ends):
                batch = rng.randint(batch, batches)
                final = fragment == len(ends) - 1
                bare = fragment > 0 and final and ends[-2] == end
                pieces.append([number, None if bare else begin, None if bare else end, fragment, final, batch])
                begin = end
        rows = []
        for _ in range(rng.choice((0, 2, 8, 20))):
            on = rng.randint(0, 24)
            latest = min(sum(mark < on for mark in marks), batches - 1)
            rows.append([rng.randrange(2), on, rng.choice((None, *range(-5, 6))), rng.randint(0, latest)])
        at_start = rng.choice(("", "", "frames", "rows"))
        return {
            "frames": frames,
            "pieces": pieces,
            "rows": rows,
            "marks": marks,
            "known": at_start,
            "agg": rng.random() < 0.5,
        }

    def check(self, parts: dict[str, Any]) -> int:
        self._is_story(parts)
        filled = self._filled(parts)
        if parts["agg"]:
            if sorted(row["c0"] for row in filled) != list(range(len(parts["frames"]))):
                raise Mismatch("filler: frames", f"found {filled}")
            for row in filled:
                compare_sums(row, "aggregate", parts["frames"][row["c0"]], parts["rows"])
        else:
            tags = sorted((row["name"], row["frame"]) for row in filled)
            expected = sorted((i, k) for k, frame in enumerate(parts["frames"]) for i in inside(frame, parts["rows"]))
            if tags != expected:
                raise Mismatch("filler: tags", f"found {tags}, expected {expected}")
        return max(1, len(parts["frames"]))

    @staticmethod
    def _is_story(parts: dict[str, Any]) -> None:
        """Raise `NotACase` unless each frame has all its pieces and no row is late."""
        marks = parts["marks"]
        if not marks or sorted(marks) != marks:
            raise NotACase
        for number, (_, start, end) in enumerate(parts["frames"]):
            mine = [piece for piece in parts["pieces"] if piece[0] == number]
            full = [piece for piece in mine if piece[1] is not None]
            if [piece[3] for piece in mine] != list(range(len(mine))) or not full:
                raise NotACase
            if [piece[4] for piece in mine] != [False] * (len(mine) - 1) + [True]:
                raise NotACase
            if full[0][1] != start or full[-1][2] != end or any(a[2] != b[1] for a, b in pairwise(full)):
                raise NotACase
            if any(a[5] > b[5] for a, b in pairwise(mine)) or not all(0 <= piece[5] <= len(marks) for piece in mine):
                raise NotACase
            if any(piece[1] > piece[2] for piece in full):
                raise NotACase
        if any(piece[0] >= len(parts["frames"]) for piece in parts["pieces"]):
            raise NotACase
        for _, on, _, batch in parts["rows"]:
            if not 0 <= batch < len(marks) or (batch and marks[batch - 1] >= on):
                raise NotACase

    def _filled(self, parts: dict[str, Any]) -> list[dict[str, Any]]:
        names = AGG if parts["agg"] else ()
        accumulators = tuple(Accumulator(aggregate(name), pa.int64()) for name in names)
        values = tuple("v" if accumulator.aggregate.columns else None for accumulator in accumulators)
        plan = FillPlan(
            Clock.of(pa.int64(), "on"), (pa.string(),), accumulators, values, ("name",), ("by0", "on", "name"),
            ("by0", "c0", "c1", "c2", "c3") if names else (), {"start": "c1", "end": "c2", "count": "c3"},
            {"agg": repr(names)}, frames_are_table=parts["known"] == "frames", rows_are_table=parts["known"] == "rows",
        )  # fmt: skip
        shelf = MemoryShelf()
        filler = Filler(plan, shelf)
        filler.take_table(
            [self._rows(parts, None)] if parts["known"] == "rows" else [],
            [self._pieces(parts, None)] if parts["known"] == "frames" else [],
        )
        filled: list[pa.Table] = []
        for batch, mark in enumerate(parts["marks"]):
            filler = Filler.load(plan, shelf, filler.save())
            rows = [] if parts["known"] == "rows" else [self._rows(parts, batch)]
            pieces = [] if parts["known"] == "frames" else [self._pieces(parts, batch)]
            filled += filler.step(rows, pieces, mark, self._under_way(parts, batch, mark))
        filler = Filler.load(plan, shelf, filler.save())
        last = [] if parts["known"] == "frames" else [self._pieces(parts, len(parts["marks"]))]
        filled += filler.finish(last)
        if shelf:
            raise Mismatch("shelf: not empty", f"{len(shelf)} pieces are left at the end")
        return [row for table in filled for row in table.to_pylist()]

    @staticmethod
    def _rows(parts: dict[str, Any], batch: int | None) -> pa.Table:
        chosen = [(i, *row) for i, row in enumerate(parts["rows"]) if batch is None or row[3] == batch]
        return pa.table(
            {
                "by0": pa.array([f"g{row[1]}" for row in chosen], pa.string()),
                "on": pa.array([row[2] for row in chosen], pa.int64()),
                "v": pa.array([row[3] for row in chosen], pa.int64()),
                "name": pa.array([row[0] for row in chosen], pa.int64()),
            }
        )

    @staticmethod
    def _pieces(parts: dict[str, Any], batch: int | None) -> pa.Table:
        rows = []
        for number, start, end, fragment, final, at in parts["pieces"]:
            if batch is None or at == batch:
                count = 0 if end is None else 1
                group = f"g{parts['frames'][number][0]}"
                rows.append((group, number, start, end, fragment, final, number, start, end, count))
        kinds = [pa.string(), *[pa.int64()] * 4, pa.bool_(), *[pa.int64()] * 4]
        columns = zip(*rows, strict=True) if rows else [()] * len(COLUMNS)
        return pa.table({n: pa.array(c, k) for n, c, k in zip(COLUMNS, columns, kinds, strict=True)})

    @staticmethod
    def _under_way(parts: dict[str, Any], batch: int, mark: int) -> pa.Table:
        """Return what a stream of frames reports about frames behind the watermark that have not arrived."""
        starts: dict[str, int] = {}
        for number, (group, start, _) in enumerate(parts["frames"]):
            first = min(piece[5] for piece in parts["pieces"] if piece[0] == number)
            if parts["known"] != "frames" and first > batch and start <= mark:
                starts[f"g{group}"] = min(start, starts.get(f"g{group}", start))
        return pa.table(
            {"by0": pa.array(list(starts), pa.string()), "start": pa.array(list(starts.values()), pa.int64())}
        )
