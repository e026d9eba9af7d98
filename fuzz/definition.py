"""The frames of one group's rows, straight from the definitions of the schemes: plain Python, row by row.

This module shares nothing with the kernels. `max_gap` and breaking rows cut the stream into blocks; within a block,
each scheme is just its definition, in a module of its own in `fuzz.schemes`. Integers are Python's, so no difference
overflows. The difference of equal floats, including infinities, is zero.
"""

from __future__ import annotations

import operator
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from hypothesis import strategies as st

import windrow as wr
from fuzz.predicates import evaluate
from fuzz.tables import is_nan

COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
Row = dict[str, Any]
Length = Callable[[random.Random], Any]
"""Draws a duration."""


class Undecided(Exception):
    """A frame whose end depends on rounding alone: there is nothing to compare with."""


class Refused(Exception):
    """A row that `nulls="error"` forbids: the query must fail."""


@dataclass
class Frame:
    """The positions of a frame's rows in the settled stream, and of the row that ended it."""

    members: list[int]
    closed: int | None
    complete: bool = True
    label: tuple[Any, ...] = field(default=())


@dataclass(frozen=True)
class Settled:
    """A row that takes part: the values that the scheme reads, and whether it only ends frames."""

    row: Row
    on: Any
    breaks: bool
    truths: dict[str, bool]
    values: tuple[float, ...] = ()


@dataclass(frozen=True)
class Spec:
    """A scheme in plain values, which can be printed and shrunk."""

    args: list[Any]
    options: dict[str, Any]


class Definition(ABC):
    """A scheme by its definition: how it is drawn and built, what it reads, and its frames in a block of rows.

    The module of a scheme defines one subclass and one instance of it, named `DEFINITION`.
    """

    kind: ClassVar[type[wr.Scheme]]
    weight: ClassVar[int] = 1
    """How often the fuzzer draws it, compared with others."""
    weight_of_runs: ClassVar[int] = 0
    """The same among schemes whose frames are runs of one label."""
    nulls: ClassVar[str] = "skip"
    """The default policy for nulls."""
    policies: ClassVar[tuple[str, ...]] = ("skip", "break", "break")
    """The policies that the fuzzer draws; `"error"` is drawn for every scheme."""

    @abstractmethod
    def draw(self, rng: random.Random, length: Length, *, runs: bool) -> Spec:
        """Draw the scheme's own options; with `runs`, its frames are runs of one label."""

    @abstractmethod
    def frames(self, spec: Spec, rows: Sequence[Settled], block: range, length: Any) -> list[Frame]:
        """Return the frames in a block, in the order of their numbers."""

    @abstractmethod
    def strategy(self) -> st.SearchStrategy[wr.Scheme]:
        """Return random schemes over the predicates `hit` and `stop` and the attributes `x` and `y`, for Hypothesis."""

    @abstractmethod
    def queries(self) -> dict[str, wr.Scheme]:
        """Return schemes by name that every engine must frame alike, over the columns `x` and `v` of `cases.table`."""

    def build(self, spec: Spec) -> wr.Scheme:
        """Build the scheme that plain values stand for."""
        return self.kind(*spec.args, **spec.options)

    def allow_limits(self, options: dict[str, Any]) -> None:
        """Remove limits that the scheme does not take together."""
        return

    def attributes(self, spec: Spec) -> list[str]:
        """Return the columns whose numbers the scheme reads."""
        return []

    def labels(self, spec: Spec) -> list[str]:
        """Return the columns whose values label the rows, and are columns of the result."""
        return []

    def more_columns(self, spec: Spec) -> dict[str, tuple[str, Sequence[Any]]]:
        """Return further columns that the scheme needs: their types, and values to draw from."""
        return {}

    def conditions(self, spec: Spec) -> dict[str, str]:
        """Return the predicates that the scheme reads."""
        return {}

    def settle(self, spec: Spec, rows: Sequence[Row], on: str) -> list[Settled]:
        """Return the rows that take part, according to the policy for nulls."""
        policy = spec.options.get("nulls", self.nulls)
        settled = []
        for row in rows:
            truths = {name: evaluate(text, row) for name, text in self.conditions(spec).items()}
            values = [row[name] for name in self.attributes(spec)]
            missing = any(truth is None for truth in truths.values()) or any(v is None or is_nan(v) for v in values)
            if missing and policy == "error":
                raise Refused
            if missing and policy == "skip":
                continue
            floats = tuple(0.0 if v is None else float(v) for v in values)
            plain = {name: bool(truth) for name, truth in truths.items()}
            settled.append(Settled(row, row[on], missing and policy == "break", plain, floats))
        return settled

    def all_frames(self, spec: Spec, rows: Sequence[Settled], length: Any) -> list[Frame]:
        """Return all frames in order of their numbers; `length` converts an option's duration to clock units."""
        frames: list[Frame] = []
        for block in blocks(rows, length(spec.options.get("max_gap"))):
            frames += self.frames(spec, rows, block, length)
        for frame in frames:
            if frame.closed is not None and frame.closed >= len(rows):
                frame.closed = None
        return frames


def distance(a: Any, b: Any) -> Any:
    """Return the distance of two numbers; it is 0 for equal ones, including infinities."""
    return 0 if a == b else abs(b - a)


def blocks(rows: Sequence[Settled], gap: Any) -> list[range]:
    """Return the ranges of rows between breaks and gaps that are too long."""
    ranges, begin = [], 0
    for i, row in enumerate(rows):
        apart = i > begin and gap is not None and distance(rows[i - 1].on, row.on) > gap
        if row.breaks or apart:
            ranges.append(range(begin, i))
            begin = i + 1 if row.breaks else i
    return [block for block in [*ranges, range(begin, len(rows))] if len(block)]


def whole(first: int, last: int, **more: Any) -> Frame:
    """Return the frame from the first to the last row, ended by the row after it."""
    return Frame(list(range(first, last + 1)), last + 1, **more)


class Limits:
    """The minimums and maximums of a scheme, in clock units."""

    def __init__(self, spec: Spec, rows: Sequence[Settled], length: Any) -> None:
        options = spec.options
        self.rows = rows
        self.min_count, self.max_count = options.get("min_count", 1), options.get("max_count")
        self.min_duration, self.max_duration = length(options.get("min_duration")), length(options.get("max_duration"))
        self.half_open = options.get("extent") == "half-open"

    def is_within(self, extent: range) -> bool:
        """Return whether no maximum is exceeded."""
        return not self.exceeds(extent)

    def exceeds(self, members: Sequence[int]) -> bool:
        """Return whether some rows, one after the other or not, exceed a maximum."""
        lasts = distance(self.rows[members[0]].on, self.rows[members[-1]].on)
        too_long = self.max_duration is not None and lasts > self.max_duration
        return too_long or (self.max_count is not None and len(members) > self.max_count)

    def suffices(self, members: Sequence[int], closed: int | None) -> bool:
        """Return whether some rows meet all minimums, if the row at `closed` ends the frame."""
        last = closed if self.half_open and closed is not None else members[-1]
        lasts = distance(self.rows[members[0]].on, self.rows[last].on)
        return len(members) >= self.min_count and (self.min_duration is None or lasts >= self.min_duration)

    def is_enough(self, extent: range, *, ends_itself: bool = False) -> bool:
        """Return whether all minimums are met by a frame, which its last row or the row after it ends."""
        last = extent[-1]
        if self.half_open and not ends_itself and last + 1 < len(self.rows):
            last += 1
        lasts = distance(self.rows[extent[0]].on, self.rows[last].on)
        return len(extent) >= self.min_count and (self.min_duration is None or lasts >= self.min_duration)


def from_the_left(rows: Sequence[Settled], block: range, holds: Any, maximal: bool, limits: Limits) -> list[Frame]:
    """Return consecutive frames; `holds` returns whether the condition holds for a range of rows, or None."""
    return (
        longest_runs(block, lambda extent, _: holds(extent) is not False, limits)
        if maximal
        else (shortest_runs(block, lambda extent: holds(extent) is True, limits))
    )


def longest_runs(block: range, holds: Callable[[range, bool], bool], limits: Limits) -> list[Frame]:
    """Return the longest runs of which every prefix holds; a run that misses a minimum loses its first row.

    `holds` also gets whether the rows continue an earlier frame that was ended by a maximum only.
    """
    frames: list[Frame] = []
    begin, continues = block.start, False
    while begin < block.stop:
        end = begin
        while end < block.stop and limits.is_within(range(begin, end + 1)) and holds(range(begin, end + 1), continues):
            end += 1
        if end > begin and limits.is_enough(range(begin, end)):
            frames.append(whole(begin, end - 1))
            continues = end < block.stop and not limits.is_within(range(begin, end + 1))
            begin = end
        else:
            begin, continues = begin + 1, False
    return frames


def shortest_runs(block: range, holds: Callable[[range], bool], limits: Limits) -> list[Frame]:
    """Return the shortest runs that hold and meet the minimums; a run that is cut before is incomplete."""
    frames: list[Frame] = []
    begin = block.start
    while begin < block.stop:
        end = begin
        while True:
            extent = range(begin, end + 1)
            if holds(extent) and limits.is_enough(extent, ends_itself=True):
                frames.append(Frame(list(extent), end))
                break
            if end + 1 == block.stop or not limits.is_within(range(begin, end + 2)):
                frames.append(whole(begin, end, complete=False))
                break
            end += 1
        begin = end + 1
    return frames


def sometimes(rng: random.Random, options: dict[str, Any], name: str, p: float, value: Callable[[], Any]) -> None:
    """Set an option with probability `p`."""
    if rng.random() < p:
        options[name] = value()
