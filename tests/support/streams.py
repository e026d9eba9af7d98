"""Small random streams and schemes, the kernels run over them, and what the theory says of them.

Values are small integers, so that conditions are often met exactly at their limit, and `on` often stands still.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from hypothesis import settings
from hypothesis import strategies as st

import windrow as wr
from fuzz.schemes.change import LONG
from windrow.aggregates.engine.accumulator import Accumulator
from windrow.arrays import ALL_VALID, Values, read_numbers
from windrow.framing.framer import Framer, Frames
from windrow.framing.schemes.rules.labels import LabelColumn
from windrow.framing.theory.brute_force import final_frames, settle_nulls
from windrow.framing.theory.local import StreamRow
from windrow.rows.clock import Clock
from windrow.rows.query import RowBatch

FEWER = settings(max_examples=settings().max_examples // 6)
"""For tests whose examples are long."""

INTEGER, FLOAT = Clock.of(pa.int64(), "on"), Clock.of(pa.float64(), "on")
TYPES = {
    "x": pa.float64(),
    "y": pa.float64(),
    "v": pa.int64(),
    "hit": pa.bool_(),
    "stop": pa.bool_(),
    "state": pa.string(),
    "position": pa.int64(),
}
MEMBERS = (wr.first("position"), wr.last("position"), wr.sum("position"))
"""Aggregates that identify the rows in a frame."""


@dataclass(frozen=True)
class Sample:
    """The rows of one group: the predicates `hit` and `stop`, the attributes `x` and `y`, and `v` to aggregate."""

    on: list[float]
    columns: dict[str, list[Any]]

    def __len__(self) -> int:
        return len(self.on)

    @property
    def stream(self) -> list[StreamRow]:
        """The sample as the theory takes it."""
        return [
            StreamRow(on, {name: column[i] for name, column in self.columns.items()}) for i, on in enumerate(self.on)
        ]


class Row(NamedTuple):
    """A frame as a user sees it."""

    frame: int
    start: float
    end: float
    closed_at: float | None
    count: int
    complete: bool
    label: tuple[int, ...]
    aggregates: tuple[Any, ...]


# Streams.

NUMBERS = st.integers(-2, 4).map(float)
TRUTHS = st.booleans()
VALUES = st.none() | st.integers(-9, 9)
STATES = st.sampled_from(["A", "A", "B", "", LONG])
STEPS = st.sampled_from([0, 1, 1, 1, 2, 2, 3, 5])


@cache
def _columns(n: int, *, missing: bool) -> dict[str, st.SearchStrategy[list[Any]]]:
    """Columns of `n` values by name; `hit` often stays true or false for some rows, or for all."""
    truths = st.one_of(TRUTHS, st.none()) if missing else TRUTHS
    numbers = st.one_of(NUMBERS, NUMBERS, st.sampled_from([None, math.nan])) if missing else NUMBERS
    runs = st.lists(st.tuples(truths, st.integers(1, 5)), min_size=n, max_size=n)
    stretched = runs.map(lambda drawn: [truth for truth, length in drawn for _ in range(length)][:n])
    states = STATES | st.none() if missing else STATES
    columns = {"stop": truths, "x": numbers, "y": numbers, "v": VALUES, "state": states, "step": STEPS}
    lists = {name: st.lists(values, min_size=n, max_size=n) for name, values in columns.items()}
    return {**lists, "hit": st.one_of(lists["stop"], stretched, st.sampled_from([[True] * n, [False] * n]))}


@st.composite
def samples(
    draw: st.DrawFn, scheme: wr.Scheme, *, max_size: int = 12, missing: bool | None = None, more: Sequence[str] = ()
) -> Sample:
    """A stream of what a scheme reads: empty, one tuple, ties, gaps, everything in, nothing in, with missing values."""
    n = draw(st.integers(0, max_size) | st.integers(max_size // 2, max_size))
    columns = _columns(n, missing=draw(TRUTHS) if missing is None else missing)
    names = [*scheme.predicates, *scheme.attributes, *labels_of(scheme), *more]
    drawn = {name: draw(columns[name]) for name in dict.fromkeys(names)}
    return Sample(list(accumulate(draw(columns["step"]))), {**drawn, "position": list(range(n))})


def labels_of(scheme: wr.Scheme) -> list[str]:
    """The columns whose values label the rows."""
    return [label.column for label in scheme.label_columns.values()]


def traffic(on: Sequence[float], **columns: Sequence[Any]) -> Sample:
    """A stream spelled out by hand."""
    return Sample(list(on), {**{k: list(v) for k, v in columns.items()}, "position": list(range(len(on)))})


# Schemes.


class Span(wr.AggregateFunction):
    """A user's own aggregate: the largest minus the smallest value."""

    monotonic = "always"
    duplicate_sensitive = False

    @staticmethod
    def zero():
        return (math.inf, -math.inf)

    @staticmethod
    def add(s, x):
        return (min(s[0], x), max(s[1], x))

    @staticmethod
    def merge(a, b):
        return (min(a[0], b[0]), max(a[1], b[1]))

    @staticmethod
    def finish(s):
        return s[1] - s[0]


class Trail(wr.AggregateFunction):
    """A user's own aggregate with a state that is not a tuple of numbers: the last three values."""

    state = pa.list_(pa.float64())
    order_sensitive = True

    def result_type(self, values):
        return pa.string()

    @staticmethod
    def zero():
        return []

    @staticmethod
    def add(s, x):
        return [*s, float(x)][-3:]

    @staticmethod
    def merge(a, b):
        return (a + b)[-3:]

    @staticmethod
    def finish(s):
        return " ".join(map(str, s))


# Running both.


def _truths(column: Sequence[bool | None]) -> Values:
    return Values(np.array(column, np.bool_), np.array([truth is not None for truth in column], np.bool_))


def _labels(label: LabelColumn, values: Sequence[Any]) -> Values:
    kind = TYPES[label.column]
    return label.read(Accumulator(wr.first(label.column), kind).read(pa.array(values, kind)), kind)


@cache
def _dtype(aggregate: wr.AggregateFunction) -> np.dtype[Any]:
    """What the aggregate's column is read as."""
    return Accumulator(aggregate, TYPES[aggregate.column]).dtype


def batch_of(
    scheme: wr.Scheme,
    clock: Clock,
    aggregates: Sequence[wr.AggregateFunction],
    rows: Sequence[tuple[int, Sample, int]],
) -> RowBatch:
    """Rows, each a group, its sample and a position in it, as the framer takes them."""

    def column(name: str) -> list[Any]:
        return [sample.columns[name][i] for _, sample, i in rows]

    inputs = {name: _truths(column(name)) for name in scheme.predicates}
    inputs |= {name: read_numbers(pa.array(column(name), TYPES[name]), FLOAT.dtype) for name in scheme.attributes}
    inputs |= {key: _labels(label, column(label.column)) for key, label in scheme.label_columns.items()}
    columns = {a.column: pa.array(column(a.column), TYPES[a.column]) for a in aggregates if a.columns}
    counted = Values(np.zeros(len(rows), np.int64), ALL_VALID)
    values = [read_numbers(columns[a.column], _dtype(a)) if a.columns else counted for a in aggregates]
    on = np.array([sample.on[i] for _, sample, i in rows], clock.dtype)
    return RowBatch(np.array([g for g, _, _ in rows], np.int64), on, inputs, values)


def rows_of(frames: Frames) -> list[tuple[int, Row]]:
    """Frames as rows, each with its group."""
    r = frames.records
    aggregates = [column.to_pylist() for column in frames.aggregates]
    return [
        (
            int(r.group[k]),
            Row(
                int(r.number[k]),
                r.start[k].item(),
                r.end[k].item(),
                r.closed[k].item() if frames.closed[k] else None,
                int(r.count[k]),
                bool(r.complete[k]),
                tuple(r.label[k].tolist()),
                tuple(column[k] for column in aggregates),
            ),
        )
        for k in range(len(frames))
    ]


def framed(
    scheme: wr.Scheme, clock: Clock, sample: Sample, aggregates: Sequence[wr.AggregateFunction] = MEMBERS
) -> list[Row]:
    """The frames that the kernel finds in one group's stream, in the order of their numbers."""
    framer = Framer(scheme, clock, TYPES, aggregates)
    done = rows_of(framer.process(batch_of(scheme, clock, aggregates, [(0, sample, i) for i in range(len(sample))])))
    return sorted(row for _, row in done + rows_of(framer.finish()))


def _as_numbers(scheme: wr.Scheme, label: tuple[Any, ...]) -> tuple[int, ...]:
    """A label as records store it: a float by its bits, values of any type by their own labels."""
    if scheme.label_columns:
        parts = zip(scheme.label_columns.values(), label, strict=True)
        return tuple(int(part) for column, value in parts for part in _labels(column, [value]).numbers[0])
    return tuple(int(np.float64(part).view(np.int64)) if isinstance(part, float) else int(part) for part in label)


def expected(scheme: wr.Scheme, sample: Sample) -> list[Row]:
    """The same by the theory, with the aggregates `MEMBERS`."""
    stream = settle_nulls(scheme, sample.stream)
    rows = []
    for number, frame in enumerate(final_frames(scheme, stream)):
        positions = [stream[i].values["position"] for i in frame.members]
        rows.append(
            Row(
                number,
                stream[frame.members[0]].on,
                stream[frame.members[-1]].on,
                None if frame.closed_at is None else stream[frame.closed_at].on,
                len(frame.members),
                frame.complete,
                _as_numbers(scheme, frame.label),
                (positions[0], positions[-1], sum(positions)),
            )
        )
    return rows
