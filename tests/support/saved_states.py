"""A saved state of every operator and every synopsis, and how each is loaded again, for tests of saved states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import fill_streams as filling
import fragment_tables as assembling
import windows_by_definition as sliding
import windrow as wr
from frame_streams import plan_for, tuples
from windrow.filling.filler import Filler
from windrow.framing.assembly import Assembly
from windrow.framing.stream import StreamFramer
from windrow.rows.buffers.waiting import ROWS, MemoryShelf, piece_of
from windrow.state.arrow import save_tables
from windrow.synopses import SYNOPSES, Accuracy, BernoulliSample, Retention, Synopsis
from windrow.windows import DistinctTimes, Rows, Sliding, Tumbling
from windrow.windows.stream import StreamSlider


@dataclass(frozen=True)
class Saved:
    """A saved state, what loads it, and what it is used for afterwards."""

    kind: str
    data: bytes
    load: Callable[[bytes], Any]
    use: Callable[[Any], Any] = lambda loaded: None
    shelf: MemoryShelf = field(default_factory=MemoryShelf)


MORE = tuples(*((g, t, t % 7 != 0) for g in "abc" for t in range(8, 40)))


def frames(scheme: wr.Scheme, **options: bool) -> Saved:
    """A bucket of frames with groups, open frames and waiting rows."""
    shelf, plan = MemoryShelf(), plan_for(scheme, **options)
    bucket = StreamFramer(plan, shelf)
    arrived = [tuples(("a", 5, True), ("b", 6, True), ("a", 7, False), ("c", 7, True), ("b", 9, True))]
    bucket.step(arrived, None if plan.ordered else 7)

    def use(loaded: StreamFramer) -> list[pa.Table]:
        found, _ = loaded.step([MORE], None if plan.ordered else 30)
        loaded.save()
        return [*found, *loaded.finish()]

    saved = bucket.save()
    return Saved("frames", saved, lambda data: StreamFramer.load(plan, MemoryShelf(shelf), data), use, shelf)


def slide(windows: list[wr.windows.Window], agg: dict[str, Any], **options: Any) -> Saved:
    """A bucket of windows with panes."""
    shelf, plan = MemoryShelf(), sliding.plan_of(sliding.slide_of(windows, agg, **options))
    bucket = StreamSlider(plan, shelf)
    early = [sliding.Row(g, t, t - 20) for t in range(20) for g in range(3)]
    bucket.step([sliding.table_of(early)], 15)
    later = sliding.table_of([sliding.Row(g, t, t) for t in range(20, 50) for g in range(4)])

    def use(loaded: StreamSlider) -> list[pa.Table]:
        found, _ = loaded.step([later], 40)
        loaded.save()
        return [*found, *loaded.finish()]

    saved = bucket.save()
    return Saved("slide", saved, lambda data: StreamSlider.load(plan, MemoryShelf(shelf), data), use, shelf)


def fill(agg: dict[str, Any]) -> Saved:
    """A bucket with open frames, one of them in pieces, and rows that wait."""
    shelf, plan = MemoryShelf(), filling.plan_for(filling.Story({}, [], [], []), agg)
    filler = Filler(plan, shelf)
    rows = filling.rows_table([filling.Row(g, t, t, t, 0) for g in "ab" for t in range(12)])
    pieces = [filling.Piece("a", 0, 1, 5, 0, False, 0), filling.Piece("b", 0, 2, 9, 0, True, 0)]
    filler.step([rows], [filling.pieces_table(pieces)], 6, None)

    def use(loaded: Filler) -> list[pa.Table]:
        last = filling.pieces_table([filling.Piece("a", 0, 6, 11, 1, True, 0)])
        found = loaded.step([], [last], 20)
        loaded.save()
        return [*found, *loaded.finish()]

    return Saved("fill", filler.save(), lambda data: Filler.load(plan, MemoryShelf(shelf), data), use)


def assemble() -> Saved:
    """Pieces of frames whose last one has not come."""
    shelf, (*early, last) = MemoryShelf(), assembling.pieces_of("a", 0, 0, [2, 3, 1])
    assembly = Assembly(["g"], assembling.SCHEMA, shelf)
    assembly.step([assembling.table_of(early)])

    def use(loaded: Assembly) -> pa.Table:
        found = loaded.step([assembling.table_of([last])])
        assert found.num_rows == 1
        loaded.save()
        return found

    def load(data: bytes) -> Assembly:
        return Assembly.load(data, ["g"], assembling.SCHEMA, MemoryShelf(shelf))

    return Saved("assemble", assembly.save(), load, use, shelf)


def waiting() -> Saved:
    """Rows that wait."""
    return Saved(ROWS, save_tables(ROWS, [MORE]), piece_of)


def synopsis(make: Callable[[], Synopsis], n: int = 90) -> Saved:
    """A synopsis that has seen some elements."""
    rng = np.random.default_rng(7)
    on, x = np.arange(2 * n), rng.integers(0, 9, 2 * n).astype(float)
    kept = make()
    kept.update(on[:n], x[:n])

    def load(data: bytes) -> Synopsis:
        loaded = make()
        loaded.load(data)
        return loaded

    def use(loaded: Synopsis) -> Any:
        if loaded.timed:
            loaded.advance(int(on[n]))
        loaded.update(on[n : n + 5], x[n : n + 5])
        loaded.query()
        rolled = loaded.roll(on[n + 5 :], x[n + 5 :], 3)
        loaded.save()
        return rolled

    return Saved(f"synopsis {type(kept).__name__}", kept.save(), load, use)


ACCURACY = Accuracy(eps=0.1, delta=0.05)


def synopses() -> dict[str, Callable[[], Saved]]:
    """Every synopsis, over a count, over a time, or both if it supports both."""
    found = {}
    for kind in SYNOPSES:
        aggregate = kind.example_aggregate
        retentions = [Retention(40, name) for name in ("count", "time") if name in kind.retentions]
        for retention in retentions or [None]:
            if kind.why_not(aggregate, retention, ACCURACY) is None:
                name = f"{kind.__name__} {'' if retention is None else retention.kind}".strip()
                make = partial(kind, aggregate, retention, ACCURACY)
                if kind is BernoulliSample and retention.kind == "time":
                    make = partial(make, probability=0.5)
                found[name] = partial(synopsis, make)
    return found


def operators() -> dict[str, Callable[[], Saved]]:
    """Every operator, with states of many forms."""
    agg = {"n": wr.count(), "median": wr.median("v"), "top": wr.top_k("v", 2), "trail": sliding.Trail("v")}
    kept = {"m": wr.Keep("Ordered"), "s": wr.Keep("TwoStacks")}
    return {
        "frames": lambda: frames(wr.Threshold("hit", max_gap=50)),
        "frames in pieces": lambda: frames(wr.Threshold("hit", min_count=2, segments=True), fragments=True),
        "frames in order": lambda: frames(wr.Delta({"v": 4.0}), ordered=True),
        "windows of time": lambda: slide([Tumbling(10), Sliding(15, 5)], agg),
        "windows of rows": lambda: slide([Rows(8, 2)], agg, only_changed=True),
        "windows of distinct times": lambda: slide([DistinctTimes(8, 2)], agg, empty=True),
        "windows in synopses": lambda: slide([Sliding(10, 5)], {"m": wr.median("v"), "s": wr.sum("v")}, using=kept),
        "filling": lambda: fill({"n": wr.count(), "median": wr.median("v")}),
        "tagging": lambda: fill({}),
        "assembling": assemble,
        "waiting rows": waiting,
    }
