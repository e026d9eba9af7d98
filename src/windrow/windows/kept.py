"""Windows that a synopsis keeps: one for each group, in place of states by pane."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.aggregates.keeper import Keeper, Values
from windrow.errors import DataError, SpecError, UnsupportedError, quoted
from windrow.saved import check_that
from windrow.synopses import SYNOPSES, Accuracy, Retention, Synopsis
from windrow.synopses.base import check_whole
from windrow.synopses.samples import sample_size
from windrow.windows.panes import Indices, Ranges
from windrow.windows.specs import Shape

NAMES = {kind.__name__: kind for kind in SYNOPSES}


@dataclass(frozen=True)
class Keep:
    """How an aggregate of windows is kept: by which synopsis, and how wrong it may be.

    Parameters
    ----------
    synopsis
        A class of `windrow.synopses`, or its name.
    eps
        How wrong an answer may be at most, relative; by default what the aggregate says, else nothing.
    delta
        With which probability it may be more wrong than that; 0 for synopses that never are.
    seed
        For those that draw at random.

    Examples
    --------
    >>> Keep("BiasedReservoir", eps=0.05, delta=0.001)
    Keep(synopsis='BiasedReservoir', eps=0.05, delta=0.001, seed=0)
    """

    synopsis: str | type[Synopsis]
    eps: float = 0.0
    delta: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.synopsis, str) and self.synopsis not in NAMES:
            raise SpecError(f"using: there is no synopsis {quoted(self.synopsis)}; there are {', '.join(NAMES)}")
        if not isinstance(self.synopsis, str) and not any(self.synopsis is kind for kind in SYNOPSES):
            raise SpecError(f"using: {quoted(self.synopsis)} is no synopsis; give the name of one, such as 'TwoStacks'")
        _ = Accuracy(self.eps, self.delta)
        check_whole("seed", self.seed, 0)

    @property
    def kind(self) -> type[Synopsis]:
        """The class of the synopsis."""
        return NAMES[self.synopsis] if isinstance(self.synopsis, str) else self.synopsis

    def counts(self, shape: Shape) -> bool:
        """Whether it counts values; else it goes by their places, which takes those without a value into account."""
        return shape.unit == "rows" and "time" not in self.kind.retentions

    def make(self, keeper: Keeper, shape: Shape) -> Synopsis:
        """A synopsis that has seen nothing, for windows of one kind; or a refusal that says why there is none."""
        if shape.length is None:
            raise UnsupportedError("using: a landmark window has no retention for a synopsis to keep to")
        if shape.emit:
            raise UnsupportedError("using: a synopsis keeps one length, and emit= asks for windows that are shorter")
        kind = self.kind
        accuracy = Accuracy(self.eps or float(getattr(keeper.aggregate, "eps", 0.0)), self.delta)
        retention = Retention(shape.length, "count" if self.counts(shape) else "time")
        more = {"every": shape.every, "integral": keeper.integral}
        taken = inspect.signature(kind).parameters
        options: dict[str, Any] = {name: value for name, value in more.items() if name in taken}
        if (
            "probability" in taken
            and shape.unit == "rows"
            and kind.why_not(keeper.aggregate, retention, accuracy) is None
        ):
            # Places are numbers of rows, so there are no more elements in a window than it is long.
            options["probability"] = min(1.0, sample_size(accuracy) / shape.length)
        return kind(keeper.aggregate, retention, accuracy, seed=self.seed, **options)


class Kept:
    """One aggregate over windows of one kind, for all groups. Elements wait until a window is asked for past them."""

    def __init__(self, keep: Keep, keeper: Keeper, shape: Shape, pane: int) -> None:
        self.keep, self.keeper, self.shape, self.pane = keep, keeper, shape, pane
        self.synopses: dict[int, Synopsis] = {}
        self._waiting: list[tuple[Indices, Indices, npt.NDArray[Any]]] = []

    def add(self, group: Indices, place: Indices, values: Values) -> None:
        """Take in elements, each group's in order; `place` is their `on`, or their number in the group."""
        x = values.numbers
        if values.valid.size:
            if self.keep.counts(self.shape):
                column = self.keeper.aggregate.column
                raise DataError(
                    f"using: {self.keep.synopsis} keeps a number of values, and column {column!r} has nulls, which "
                    "count as tuples; drop them before, or choose a synopsis that keeps to time"
                )
            group, place, x = (column[values.valid] for column in (group, place, x))
        if place.dtype != np.int64:
            # Windows begin and end at whole numbers, so the part after the point makes no difference.
            place = np.floor(place).astype(np.int64)
        # A window has what is before its end, and a retention what is up to a moment.
        self._waiting.append((group, place + 1, x))

    def results(self, ranges: Ranges) -> pa.Array:
        """The answers for windows that are due, which are sorted by group and end."""
        group, place, x = self._taken()
        found: list[pa.Array] = []
        left = np.ones(group.size, np.bool_)
        groups, begins = np.unique(ranges.group, return_index=True)
        moments = ranges.end * self.pane
        first, last = (np.searchsorted(group, groups, side).tolist() for side in ("left", "right"))
        for g, mine, a, b in zip(groups.tolist(), np.split(moments, begins[1:]), first, last, strict=True):
            b = a + int(np.searchsorted(place[a:b], mine[-1], "right"))
            answers = self._synopsis(g).answers(place[a:b], x[a:b], mine)
            if self.keep.counts(self.shape) and (a == b or place[b - 1] < mine[-1]):
                # The end of the data cut the last window: it has fewer rows than the synopsis keeps, which cannot say
                # what they alone would give.
                answers = pa.concat_arrays([answers[:-1], pa.nulls(1, answers.type)])
            found.append(answers)
            left[a:b] = False
        self._waiting = [(group[left], place[left], x[left])]
        return self._typed(found)

    def _taken(self) -> tuple[Indices, Indices, npt.NDArray[Any]]:
        """All that waits, by group; those of a group stay in order."""
        if not self._waiting:
            return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, self.keeper.dtype)
        group, place, x = (np.concatenate(parts) for parts in zip(*self._waiting, strict=True))
        order = np.argsort(group, kind="stable")
        return group[order], place[order], x[order]

    def _synopsis(self, group: int) -> Synopsis:
        if group not in self.synopses:
            self.synopses[group] = self.keep.make(self.keeper, self.shape)
        return self.synopses[group]

    def _typed(self, found: Sequence[pa.Array]) -> pa.Array:
        """The answers of all groups as the result has them; only what is null is null, NaN is an answer."""
        kind = self.keeper.result
        if len({part.type for part in found}) > 1:
            found = [part.cast(kind) for part in found]
        whole = pa.concat_arrays(found) if found else pa.nulls(0)
        if pa.types.is_integer(kind) and pa.types.is_floating(whole.type):
            whole = pc.round(whole)
        return whole.cast(kind)

    # The state as Arrow.

    def tables(self) -> list[pa.Table]:
        """The synopses, and what waits."""
        group, place, x = self._taken()
        saved = {"group": list(self.synopses), "data": [s.save() for s in self.synopses.values()]}
        kinds = pa.schema([("group", pa.int64()), ("data", pa.binary())])
        return [pa.table(saved, schema=kinds), pa.table({"group": group, "place": place, "x": x})]

    def adopt(self, tables: Sequence[pa.Table]) -> None:
        """Take over synopses, and what waits, of groups that have none."""
        saved, waiting = tables
        for group, data in zip(saved["group"].to_pylist(), saved["data"].to_pylist(), strict=True):
            check_that(group not in self.synopses, "the synopsis of each group once")
            self._synopsis(group).load(data)
        group, place, x = (np.array(waiting.column(name).to_numpy()) for name in ("group", "place", "x"))
        check_that(group.dtype == place.dtype == np.int64 and x.dtype == self.keeper.dtype, "numbers of its types")
        self._waiting.append((group, place, x))
