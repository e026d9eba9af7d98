"""Windows of a stream: tuples in as they arrive, windows out as the watermark passes their ends, the state between.

A `StreamSlider` has some of a stream's groups, a *bucket*. Where the order of tuples makes no difference they become
part of their panes as they arrive, and nothing waits; else they wait until the watermark has passed them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from windrow.frames.arrivals import Arrivals
from windrow.frames.ordering import read_in_order
from windrow.frames.packing import about_of, check_state, save_tables, saved_tables
from windrow.frames.request import Layout, Reader
from windrow.frames.shelf import Shelf
from windrow.saved import check_indices, check_that, reading
from windrow.windows.gather import Gatherer
from windrow.windows.panes import Indices, Panes
from windrow.windows.request import Slide
from windrow.windows.slider import Slider

VERSION = 2
KIND = "slide"
"""The kind of a saved bucket."""


@dataclass(frozen=True)
class SlidePlan:
    """Which windows are asked for and how tuples are read."""

    request: Slide
    layout: Layout
    ordered: bool = False

    kind: ClassVar[str] = KIND
    state: ClassVar[tuple[str, str]] = ("panes", "waiting")
    """Under which names a bucket's state and its pieces of tuples are kept."""

    def load(self, shelf: Shelf, data: bytes | None) -> StreamSlider:
        """A bucket as it was saved, or a new one."""
        return StreamSlider.load(self, shelf, data)

    @property
    def fingerprint(self) -> dict[str, Any]:
        """What a state depends on: with anything else it would mean something else."""
        kinds = self.request.what
        return {
            "windows": {name: repr(window) for name, window in kinds.windows.items()},
            **self.request.fingerprint,
            "ordered": self.ordered,
            "empty": kinds.empty,
            "using": {name: repr(keep) for name, keep in kinds.using.items()},
            "only_changed": kinds.only_changed,
        }


class StreamSlider:
    """One bucket of a stream's groups."""

    def __init__(self, plan: SlidePlan, shelf: Shelf) -> None:
        self.plan, self.slide = plan, plan.request
        self.reader = Reader(self.slide, plan.layout)
        self.arrivals = Arrivals(self.reader, shelf, plan.ordered, waits=not self.slide.commutes)
        self.slider = Slider(self.slide, self.reader.directory)
        self.gatherer = Gatherer(self.slide, self.slider.kept)

    def step(self, arrived: Iterable[pa.Table], watermark: int | None) -> tuple[list[pa.Table], list[pa.Table]]:
        """Take in what arrived and go on to the watermark: the rows of the result, and the tuples that are late."""
        due, late = self.arrivals.take(arrived, watermark)
        self._gather(due)
        if watermark is None and not self.plan.ordered:
            return [], late
        return [*self.slider.report(self._past())], late

    def finish(self) -> list[pa.Table]:
        """The stream is over: all windows are due."""
        self._gather(self.arrivals.take_all())
        past = self._past(settled=True)
        if self.slide.unit == "time":
            # What a tuple of its own group lies past is whole, even if the watermark is not past it yet.
            past = np.maximum(past, self.slider.latest())
        return [*self.slider.report(past, final=True)]

    def next_event(self) -> int | None:
        """The watermark at which there is something to do even if no tuple arrives; None if there is nothing."""
        first, end = self.arrivals.waiting.first, None
        if self.slide.unit == "time" and not self.plan.ordered:
            end = self.slider.next_end()
        events = [event for event in (first, None if end is None else end * self.slide.pane - 1) if event is not None]
        return min(events, default=None)

    def _gather(self, due: list[pa.Table]) -> None:
        if due:
            table = pa.concat_tables(due).combine_chunks()
            tuples = self.reader.read(table) if self.slide.commutes else read_in_order(self.reader, table)
            self.arrivals.met(tuples)
            self.slider.add(*self.gatherer.gather(tuples))

    def _past(self, *, settled: bool = False) -> Indices:
        """How many panes of each group are whole."""
        if self.plan.ordered or self.slide.unit != "time":
            return self.gatherer.past(self.slider.latest(), settled=settled or not self.plan.ordered)
        watermark = self.arrivals.watermark
        # Before the first watermark nothing is known to be whole.
        whole = np.iinfo(np.int64).min + 1 if watermark is None else (watermark + 1) // self.slide.pane
        return np.full(len(self.reader.directory), whole)

    # The state as bytes.

    @property
    def _forgets(self) -> bool:
        """Whether nothing need be known of a group without panes; without `by` there is always the one group."""
        kinds = self.slide.what
        keeps = self.plan.ordered or kinds.empty or kinds.only_changed or kinds.using or not self.slide.by
        return self.slide.unit == "time" and not keeps

    def save(self) -> bytes:
        """All but the shelf."""
        slider, groups = self.slider, len(self.reader.directory)
        slider.grow()
        kept = np.unique(slider.panes.group) if self._forgets else np.arange(groups)
        columns = {f"by{i}": key.take(pa.array(kept)) for i, key in enumerate(self.reader.directory.keys())}
        columns |= {f"after{k}": pa.array(after[kept]) for k, after in enumerate(slider.after)}
        columns |= self.arrivals.columns()
        if self.slide.unit != "time":
            self.gatherer.grow(groups)
            columns |= {"counted": pa.array(self.gatherer.counted), "latest": pa.array(self.gatherer.latest)}
        about = {"version": VERSION, "plan": self.plan.fingerprint, **self.arrivals.about()}
        known = pa.table({"group": kept, **columns}).replace_schema_metadata({"windrow": json.dumps(about)})
        held = {"group": pa.array(np.searchsorted(kept, slider.panes.group)), "pane": pa.array(slider.panes.number)}
        for j, states in enumerate(slider.states):
            held |= states.columns(f"a{j}_")
        more = [change.table() for change in slider.changes]
        more += [table for kept in slider.kept.values() for table in kept.tables()]
        return save_tables(KIND, [known, self.arrivals.waiting.index(), pa.table(held), *more])

    @classmethod
    def load(cls, plan: SlidePlan, shelf: Shelf, data: bytes | None) -> StreamSlider:
        """The bucket as it was saved, or a new one."""
        bucket = cls(plan, shelf)
        if data is None:
            return bucket
        tables = saved_tables(data, KIND)
        about = about_of(tables[0])
        check_state(about, VERSION, plan.fingerprint)
        with reading():
            bucket._restore(about, *tables)
        return bucket

    def _restore(
        self, about: dict[str, Any], known: pa.Table, waiting: pa.Table, held: pa.Table, *more: pa.Table
    ) -> None:
        slider, groups, left = self.slider, known.num_rows, list(more)
        self.reader.directory.restore([known.column(f"by{i}") for i in range(len(self.slide.by))], groups)
        slider.after = np.array([_integers(known, f"after{k}") for k in range(len(slider.shapes))])
        slider.panes = Panes(_integers(held, "group"), _integers(held, "pane"))
        check_indices("groups of panes", slider.panes.group, groups)
        check_that(_rises(*slider.panes), "panes in the order of group and number")
        slider.states = [keeper.empty(0).read(f"a{j}_", held) for j, keeper in enumerate(slider.keepers)]
        for change in slider.changes:
            change.restore(left.pop(0), groups)
        for kept in slider.kept.values():
            kept.restore([left.pop(0), left.pop(0)], groups)
        self.arrivals.restore(about, known, waiting)
        if self.slide.unit != "time":
            self.gatherer.counted = _integers(known, "counted")
            self.gatherer.latest = np.array(known.column("latest").to_numpy(), self.slide.clock.dtype)
            check_that((self.gatherer.counted >= 0).all(), "no fewer than 0 rows in a group")


def _integers(table: pa.Table, name: str) -> Indices:
    column = table.column(name)
    check_that(not column.null_count, f"no nulls in column {name!r}")
    return np.array(column.to_numpy(), np.int64)


def _rises(group: Indices, number: Indices) -> bool:
    """Whether panes are in the order of group and number, none twice."""
    later = (group[1:] == group[:-1]) & (number[1:] > number[:-1])
    return bool(((group[1:] > group[:-1]) | later).all())
