"""The theory of frames by brute force: each scheme's frames, straight from the definitions of "Frames" (2016).

This is the oracle that the compiled kernels are held to. A scheme's *local condition* says which intervals of a stream
are *candidate frames* (definition 3); global conditions choose the *final frames* among them (definition 4). All of it
is plain Python that tries every interval: clear rather than fast, and written apart from the kernels.

Two kinds of global conditions serve all schemes.

- Lemma 1: maximal frames that cover the candidates. Threshold, boundary, gap and double-boundary frames; hysteresis and
  segments too, as conditions on where an interval starts and on the tuples outside every episode.
- Lemma 2: maximal (minimal) frames that cover the candidates, each starting where the one before it ended. These
  are delta and aggregate frames. The proof picks "the first possible frame", which "then defines the starting point of
  the next frame": maximal is meant among the candidates with that starting point. Among all candidates, a frame that
  starts where the last one ended is seldom maximal, those that are may overlap, and a drained framing is not unique.

`Custom` has no definition by conditions; its reference is the logical frame operator of section 5.1.

Two things that the paper leaves out are further local conditions: `max_gap`, by which no two neighbours in an extent
are further apart, and tuples whose attribute is missing under `nulls="break"`, which are in no candidate frame.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeAlias

from windrow.aggregates import AggregateFunction
from windrow.errors import DataError
from windrow.framing.schemes.aggregate import Aggregate
from windrow.framing.schemes.base import Scheme
from windrow.framing.schemes.boundary import Boundary
from windrow.framing.schemes.custom import Custom
from windrow.framing.schemes.delta import Delta
from windrow.framing.schemes.double_boundary import DoubleBoundary
from windrow.framing.schemes.gap import Gap
from windrow.framing.schemes.grid import FARTHEST_CELL, LARGEST_CELL, SMALLEST_CELL, Grid
from windrow.framing.schemes.threshold import Threshold
from windrow.framing.theory.intervals import Interval, Label, covered, is_covering, is_maximal, possible_frames
from windrow.rows.clock import LARGEST
from windrow.rows.duration import Duration, parse_duration

COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class StreamTuple(NamedTuple):
    """One tuple of a group: its `on`, what the scheme reads by name, and whether it can be in no frame."""

    on: float
    values: Mapping[str, Any]
    breaks: bool = False


Stream: TypeAlias = Sequence[StreamTuple]
"""The tuples of one group in order (definition 1, bounded)."""


class Frame(NamedTuple):
    """A final frame: the positions of its tuples and of the tuple that ended it (None: the stream ended first)."""

    members: tuple[int, ...]
    closed_at: int | None
    complete: bool = True
    label: Label = ()

    @property
    def interval(self) -> Interval:
        """From its first to its last tuple."""
        return Interval(self.members[0], self.members[-1], self.label)


def settle_nulls(scheme: Scheme, stream: Stream) -> list[StreamTuple]:
    """The stream after the scheme's policy for null and NaN values: tuples are left out, marked, or taken as false."""
    settled = []
    for on, values, _ in stream:
        names = (*scheme.predicates, *scheme.attributes)
        missing = {name for name in names if values[name] is None or math.isnan(values[name])}
        if missing and scheme.nulls == "error":
            raise DataError(f"{', '.join(sorted(missing))} is null or NaN at {on}")
        if missing and scheme.nulls == "skip":
            continue
        if scheme.nulls == "false":
            values = {**values, **dict.fromkeys(missing, False)}
        settled.append(StreamTuple(on, values, bool(missing) and scheme.nulls == "break"))
    return settled


def final_frames(scheme: Scheme, stream: Stream) -> list[Frame]:
    """The frames of a stream whose nulls are settled, in the order of their numbers (definition 4).

    >>> ticks = [StreamTuple(i, {"hit": i != 2}) for i in range(4)]
    >>> for frame in final_frames(Threshold("hit"), ticks):
    ...     print(frame)
    Frame(members=(0, 1), closed_at=2, complete=True, label=())
    Frame(members=(3,), closed_at=None, complete=True, label=())
    """
    if isinstance(scheme, Custom):
        return _by_logical_operator(scheme, stream)
    if isinstance(scheme, Delta | Aggregate):
        return _from_the_left(scheme, stream)
    candidates = candidate_frames(scheme, stream)
    maximal = [candidate for candidate in candidates if is_maximal([candidate], candidates)]
    chosen = sorted(maximal, key=lambda interval: (interval.first, interval.label))
    assert is_covering(chosen, candidates)
    return [_frame(interval, stream) for interval in chosen]


def candidate_frames(scheme: Scheme, stream: Stream) -> set[Interval]:
    """The intervals of a stream for which the scheme's local condition holds, with their labels (definition 3)."""
    within_gap = [i for i in possible_frames(len(stream)) if _keep_together(scheme, stream[i.first : i.last + 1])]
    candidates = {
        Interval(first, last, label)
        for first, last, _ in within_gap
        for label in _labels(scheme, stream[first : last + 1])
    }
    if isinstance(scheme, Threshold) and scheme.segments:
        episodes = covered(candidates)
        candidates |= {Interval(i.first, i.last, (0,)) for i in within_gap if episodes.isdisjoint(i.extent)}
    return candidates


def _frame(interval: Interval, stream: Stream, *, complete: bool = True, ends_itself: bool = False) -> Frame:
    closed_at = interval.last if ends_itself else interval.last + 1
    return Frame(tuple(interval.extent), closed_at if closed_at < len(stream) else None, complete, interval.label)


# Local conditions.


def _keep_together(scheme: Scheme, extent: Stream) -> bool:
    """Whether tuples may be in one frame at all: none of them breaks it, and no two neighbours are too far apart."""
    breaks = any(t.breaks for t in extent)
    return not breaks and (scheme.max_gap is None or _are_close(extent, scheme.max_gap))


def _are_close(extent: Stream, gap: Duration) -> bool:
    """Whether no two neighbours are further apart than a gap."""
    return all(distance(b.on, a.on) <= length(gap, b.on) for a, b in pairwise(extent))


def distance(later: float, earlier: float) -> float:
    """How far two values are apart: equal infinities not at all, and integers by no more than `LARGEST`."""
    apart = 0 if later == earlier else later - earlier
    return min(apart, LARGEST) if isinstance(apart, int) else apart


def length(duration: Duration, on: float) -> float:
    """A duration as a number on the clock of `on`: its own, or microseconds; with integers no more than `LARGEST`."""
    number = duration if isinstance(duration, int | float) else parse_duration(duration)
    return min(number, LARGEST) if isinstance(on, int) else number


def _labels(scheme: Scheme, extent: Stream) -> Iterable[Label]:
    """The labels under which an extent satisfies the local condition; none if it does not."""
    match scheme:
        case Threshold():
            return [(1,) if scheme.segments else ()] if _is_episode(scheme, extent) else []
        case Boundary():
            cells = {tuple(_cell(t.values[name], grid) for name, grid in scheme.grid.items()) for t in extent}
            return cells if len(cells) == 1 else []
        case DoubleBoundary():
            ((name, grid),) = scheme.grid.items()
            cells_of_one = {_cell(t.values[name], grid) for t in extent}
            lowest = min(cells_of_one)
            return [(n,) for n in (lowest - 1, lowest) if cells_of_one <= {n, n + 1}]
        case Gap():
            return [()] if _are_close(extent, scheme.gap) else []
        case Delta():
            return [()] if _has_moved(scheme, extent) else []
        case Aggregate():
            return [()] if _has_reached(scheme, extent) else []
    raise NotImplementedError(f"there is no local condition for {scheme!r}")


def _is_episode(scheme: Threshold, extent: Stream) -> bool:
    """All tuples satisfy the predicate; with hysteresis the first does, and none satisfies `close`."""
    if scheme.close is None:
        holds = all(t.values["hit"] for t in extent)
    else:
        holds = extent[0].values["hit"] and not any(t.values["stop"] for t in extent)
    first, last = extent[0].on, extent[-1].on
    lasts = scheme.min_duration is None or distance(last, first) >= length(scheme.min_duration, last)
    return bool(holds and lasts and len(extent) >= scheme.min_count)


def _cell(value: float, grid: Any) -> int:
    """The one cell that the definition of boundary frames gives a value."""
    if not isinstance(grid, tuple) and abs(value / grid) > FARTHEST_CELL:
        return LARGEST_CELL if value > 0 else SMALLEST_CELL
    return next(n for n in _nearby_cells(value, grid) if _is_in_cell(value, grid, n))


def _nearby_cells(value: float, grid: Grid) -> range:
    return range(len(grid) + 1) if isinstance(grid, tuple) else range(int(value / grid) - 2, int(value / grid) + 3)


def _is_in_cell(value: float, grid: Grid, n: int) -> bool:
    if isinstance(grid, tuple):
        return (n == 0 or grid[n - 1] < value) and (n == len(grid) or value <= grid[n])
    return (n - 1) * grid < value <= n * grid


def _has_moved(scheme: Delta, extent: Stream) -> bool:
    """The range, or the distance to the first, compares with the limit: for all attributes, or (minimal) for any."""
    compares = COMPARISONS[scheme.op]
    outcomes = []
    for name, limit in scheme.limits.items():
        values = [t.values[name] for t in extent]
        references = values if scheme.reference == "range" else values[:1]
        distances = [distance(max(a, b), min(a, b)) for a in references for b in values]
        outcomes.append(compares(max(distances), limit))
    return all(outcomes) if scheme.is_maximal else any(outcomes)


def _has_reached(scheme: Aggregate, extent: Stream) -> bool:
    """The aggregate of the extent is past the limit; for maximal frames, the running aggregate never is."""
    compares = COMPARISONS[scheme.op]
    values = [tuple(t.values[name] for name in scheme.aggregate.columns) or (0.0,) for t in extent]
    running = [aggregated(scheme.aggregate, values[: n + 1]) for n in range(len(values))]
    if scheme.is_maximal:
        return all(result is None or compares(result, scheme.limit) for result in running)
    return running[-1] is not None and compares(running[-1], scheme.limit)


def aggregated(aggregate: AggregateFunction, values: Sequence[tuple[float, ...]]) -> float | None:
    """An aggregate of some rows by its own four functions, uncompiled; None where it is not defined."""
    if len(values) < aggregate.needs:
        return None
    kind, options = type(aggregate), aggregate.last_arguments(integral=False)
    state = aggregate.zero_state(False)
    for value in values:
        state = kind.add(state, *value, *options)
    result: float = kind.finish(state, *options)
    return None if math.isnan(result) else result


# Global conditions of lemma 2.


def _from_the_left(scheme: Delta | Aggregate, stream: Stream) -> list[Frame]:
    """The longest (shortest) candidate from the first tuple on, then from the tuple after it, and so on.

    Where no candidate starts: a tuple that can be in no maximal frame is left out; what can become no minimal frame any
    more, up to the end or the next cut, is reported as incomplete.
    """
    candidates = candidate_frames(scheme, stream)
    frames = []
    at = 0
    while at < len(stream):
        starting = [candidate for candidate in candidates if candidate.first == at]
        if starting and scheme.is_maximal:
            frames.append(_frame(max(starting), stream))
        elif starting:
            frames.append(_frame(min(starting), stream, ends_itself=True))
        elif not scheme.is_maximal and not stream[at].breaks:
            rests = (i for i in possible_frames(len(stream)) if i.first == at)
            rest = max(i for i in rests if _keep_together(scheme, stream[at : i.last + 1]))
            frames.append(_frame(rest, stream, complete=False))
        else:
            at += 1
            continue
        at = frames[-1].members[-1] + 1
    return frames


# The logical frame operator of section 5.1.


def _by_logical_operator(scheme: Custom, stream: Stream) -> list[Frame]:
    frames: list[Frame] = []
    state = SimpleNamespace(**scheme.state)
    members: list[int] = []
    for i, t in enumerate(stream):
        if members and not _keep_together(scheme, [stream[members[-1]], t]):
            frames.append(Frame(tuple(members), i, complete=False))
            members = []
        if t.breaks:
            continue
        seen = SimpleNamespace(on=t.on, **{name: t.values[name] for name in scheme.columns})
        if members and scheme.close(seen, state):
            frames.append(Frame(tuple(members), i))
            members = []
        if members:
            if scheme.update is None or scheme.update(seen, state):
                members.append(i)
        elif scheme.open(seen, state):
            members = [i]
    return frames + ([Frame(tuple(members), None, complete=False)] if members else [])
