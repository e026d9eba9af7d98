"""The theory of frames by brute force: each scheme's frames, straight from the definitions in "Frames" (2016).

This is the oracle for the compiled kernels. A scheme's *local condition* defines which intervals of a stream are
*candidate frames* (definition 3); *global conditions* select the *final frames* among them (definition 4). All of it is
plain Python that tries every interval: clear rather than fast, and independent of the kernels. Each scheme declares its
local condition, and the lemma by which final frames are selected.

Two kinds of global conditions cover all schemes:

- Lemma 1: maximal frames that cover the candidates. These are threshold, boundary, gap and double-boundary frames.
  Hysteresis and segments become conditions on where an interval starts and on the rows outside every episode.
- Lemma 2: maximal (or minimal) frames that cover the candidates, each starting where the previous one ended. These are
  delta and aggregate frames. The proof picks "the first possible frame", which "then defines the starting point of the
  next frame", so maximal means maximal among the candidates that the frames before it leave. Among all candidates, a
  frame that starts where the last one ended is seldom maximal, maximal frames may overlap, and a drained framing is
  not unique.

Frames of a conjunction may pass over rows, so they are not intervals: see `theory.conjunction`.

`Custom` has no definition by conditions. Its reference is the logical frame operator of section 5.1.

Two features that are not in the paper become further local conditions: `max_gap`, the largest distance between
neighbouring rows of a frame, and rows with a missing attribute under `nulls="break"`, which are in no candidate frame.
"""

from __future__ import annotations

import math
from inspect import signature
from itertools import chain
from types import SimpleNamespace
from typing import Any, NamedTuple

from windrow.errors import DataError
from windrow.framing.schemes.base import Scheme
from windrow.framing.schemes.conjunction import Conjunction
from windrow.framing.schemes.custom import Custom
from windrow.framing.schemes.double_boundary import DoubleBoundary
from windrow.framing.schemes.operator import Rule
from windrow.framing.schemes.rules.labels import LabelColumn
from windrow.framing.schemes.rules.limits import LimitedScheme
from windrow.framing.theory.conditions import select
from windrow.framing.theory.conjunction import frames_of_conjunction, settle_parts
from windrow.framing.theory.intervals import Interval, Label, covered, from_the_left, possible_frames
from windrow.framing.theory.local import Stream, StreamRow, are_close, distance, length


class Frame(NamedTuple):
    """A final frame: the positions of its rows and of the row that ended it (None: the stream ended first)."""

    members: tuple[int, ...]
    closed_at: int | None
    complete: bool = True
    label: Label = ()

    @property
    def interval(self) -> Interval:
        """The interval from its first to its last row."""
        return Interval(self.members[0], self.members[-1], self.label)


def settle_nulls(scheme: Scheme, stream: Stream) -> list[StreamRow]:
    """Apply the scheme's policy for null and NaN values: rows are left out, marked, or read as false."""
    if isinstance(scheme, Conjunction):
        return settle_parts(scheme, stream)
    settled = []
    for on, values, *_ in stream:
        names = (*scheme.predicates, *scheme.attributes)
        missing = {name for name in names if values[name] is None or math.isnan(values[name])}
        missing |= {label.column for label in scheme.label_columns.values() if _lacks(values[label.column], label)}
        if missing and scheme.nulls == "error":
            raise DataError(f"{', '.join(sorted(missing))} is null or NaN at {on}")
        if missing and scheme.nulls == "skip":
            continue
        if scheme.nulls == "false":
            values = {**values, **dict.fromkeys(missing, False)}
        settled.append(StreamRow(on, values, bool(missing) and scheme.nulls == "break"))
    return settled


def _lacks(value: Any, label: LabelColumn) -> bool:
    """Return whether a value that labels a row is missing or ignored."""
    is_nan = isinstance(value, float) and math.isnan(value)
    return value is None or is_nan or any(value == ignored for ignored in label.ignore)


def final_frames(scheme: Scheme, stream: Stream) -> list[Frame]:
    """Return the frames of a stream whose nulls are settled, in the order of their numbers (definition 4).

    >>> from windrow.framing.schemes import Threshold
    >>> ticks = [StreamRow(i, {"hit": i != 2}) for i in range(4)]
    >>> for frame in final_frames(Threshold("hit"), ticks):
    ...     print(frame)
    Frame(members=(0, 1), closed_at=2, complete=True, label=())
    Frame(members=(3,), closed_at=None, complete=True, label=())
    """
    if isinstance(scheme, Custom):
        return _by_logical_operator(scheme, stream)
    if isinstance(scheme, DoubleBoundary):
        return _per_label(scheme, stream)
    if isinstance(scheme, Conjunction):
        return [Frame(*frame) for frame in frames_of_conjunction(scheme, stream)]
    if scheme.lemma == 2 or (isinstance(scheme, LimitedScheme) and scheme.has_maximum):
        return _from_the_left(scheme, stream)
    chosen = select(candidate_frames(scheme, stream), {"maximal", "covering"}, range(len(stream)))
    return [_frame(interval, stream) for interval in chosen]


def candidate_frames(scheme: Scheme, stream: Stream) -> set[Interval]:
    """Return the intervals for which the scheme's local condition holds, with their labels (definition 3)."""
    within_gap = [i for i in possible_frames(len(stream)) if _keep_together(scheme, stream[i.first : i.last + 1])]
    candidates = {
        Interval(first, last, label)
        for first, last, _ in within_gap
        if _within_limits(scheme, stream, first, last)
        for label in scheme.local_condition(stream[first : last + 1])
    }
    if scheme.outside_label is not None:
        inside = covered(candidates)
        outside = [i for i in within_gap if inside.isdisjoint(i.extent)]
        candidates |= {Interval(i.first, i.last, scheme.outside_label) for i in outside}
    return candidates


def _frame(interval: Interval, stream: Stream, *, complete: bool = True, ends_itself: bool = False) -> Frame:
    closed_at = interval.last if ends_itself else interval.last + 1
    return Frame(tuple(interval.extent), closed_at if closed_at < len(stream) else None, complete, interval.label)


def _keep_together(scheme: Scheme, extent: Stream) -> bool:
    """Return whether rows may share a frame: none breaks it, and no neighbours are too far apart."""
    breaks = any(row.breaks for row in extent)
    return not breaks and (scheme.max_gap is None or are_close(extent, scheme.max_gap))


def _within_limits(scheme: Scheme, stream: Stream, first: int, last: int) -> bool:
    """Return whether an interval meets the minimums and maximums of the scheme."""
    if not isinstance(scheme, LimitedScheme):
        return True
    start, end, n = stream[first].on, stream[last].on, last - first + 1
    closing = scheme.extent == "half-open" and scheme.is_maximal and last + 1 < len(stream)
    lasts = distance(stream[last + 1].on if closing else end, start)
    long_enough = scheme.min_duration is None or lasts >= length(scheme.min_duration, start)
    return long_enough and n >= scheme.min_count and not _is_over(scheme, n, distance(end, start), start)


def _is_over(scheme: LimitedScheme, n: int, lasts: float, on: float) -> bool:
    """Return whether so many rows, or so long a time, exceed a maximum."""
    too_many = scheme.max_count is not None and n > scheme.max_count
    return too_many or (scheme.max_duration is not None and lasts > length(scheme.max_duration, on))


# Global conditions of lemma 2.


def _from_the_left(scheme: Scheme, stream: Stream) -> list[Frame]:
    """Return the longest (or shortest) candidate from the first row on, then from the row after it, and so on.

    If no candidate starts at a row: for maximal frames, the row is left out. For minimal frames, the rows up to the end
    or the next cut are reported as an incomplete frame.
    """
    candidates = candidate_frames(scheme, stream)

    def starting(at: int, previous: Interval | None) -> list[Interval]:
        possible = [candidate for candidate in candidates if candidate.first == at]
        if "stop" in scheme.predicates and previous is not None and _is_cut_by_maximum(scheme, stream, previous, at):
            # After a maximum, an episode continues without opening again.
            opened = [*stream[:at], stream[at]._replace(values={**stream[at].values, "hit": True}), *stream[at + 1 :]]
            possible = [candidate for candidate in candidate_frames(scheme, opened) if candidate.first == at]
        if possible or scheme.is_maximal or stream[at].breaks:
            return possible
        rests = (i for i in possible_frames(len(stream)) if i.first == at)
        return [max(i for i in rests if _stays_in(scheme, stream, at, i.last))]

    frames = from_the_left(len(stream), starting, longest=scheme.is_maximal)
    if scheme.is_maximal:
        return [_frame(interval, stream) for interval in frames]
    complete = [interval in candidates for interval in frames]
    return [_frame(i, stream, complete=met, ends_itself=met) for i, met in zip(frames, complete, strict=True)]


def _per_label(scheme: DoubleBoundary, stream: Stream) -> list[Frame]:
    """Return the longest candidates of each label from the left, ordered by where they start, then by label."""
    candidates = candidate_frames(scheme, stream)

    def of_label(label: Label) -> list[Interval]:
        mine = [candidate for candidate in candidates if candidate.label == label]
        return list(from_the_left(len(stream), lambda at, _: [c for c in mine if c.first == at], longest=True))

    chosen = chain.from_iterable(map(of_label, {candidate.label for candidate in candidates}))
    return [_frame(interval, stream) for interval in sorted(chosen, key=lambda each: (each.first, each.label))]


def _stays_in(scheme: Scheme, stream: Stream, first: int, last: int) -> bool:
    """Return whether rows may share a frame as far as gaps, breaks and maximums are concerned."""
    over = isinstance(scheme, LimitedScheme) and _is_over(
        scheme, last - first + 1, distance(stream[last].on, stream[first].on), stream[first].on
    )
    return not over and _keep_together(scheme, stream[first : last + 1])


def _is_cut_by_maximum(scheme: Scheme, stream: Stream, frame: Interval, at: int) -> bool:
    """Return whether a row follows a frame immediately, and only a maximum separates them."""
    together = at == frame.last + 1 and _keep_together(scheme, stream[frame.first : at + 1])
    return together and not _stays_in(scheme, stream, frame.first, at)


# The logical frame operator of section 5.1.


class _OpenFrame:
    """A frame under construction: its rows and its own record."""

    def __init__(self, scheme: Custom, first: int) -> None:
        self.members = [first]
        self.record = SimpleNamespace(**scheme.record, **scheme.labels)
        self.frame: Frame | None = None
        self.discarded = False

    def end(self, scheme: Custom, closed_at: int | None, *, complete: bool) -> None:
        label = tuple(type(start)(getattr(self.record, name)) for name, start in scheme.labels.items())
        self.frame = Frame(tuple(self.members), closed_at, complete, label)


def _by_logical_operator(scheme: Custom, stream: Stream) -> list[Frame]:
    """Return the reported frames in the order in which they opened."""
    opened: list[_OpenFrame] = []
    state = SimpleNamespace(**scheme.state)

    def call(rule: Rule, row: StreamRow, frame: _OpenFrame) -> int:
        seen = SimpleNamespace(on=row.on, **{name: row.values[name] for name in scheme.columns})
        return int(rule(*(seen, state, frame.record)[: len(signature(rule).parameters)]))

    def still_open() -> list[_OpenFrame]:
        return [each for each in opened if each.frame is None and not each.discarded]

    for i, row in enumerate(stream):
        for each in still_open():
            if not _keep_together(scheme, [stream[each.members[-1]], row]):
                each.end(scheme, i, complete=False)
            elif (verdict := call(scheme.close, row, each)) == 1:
                each.end(scheme, i, complete=True)
            elif verdict == 2:
                each.discarded = True
            elif _is_over(scheme, len(each.members) + 1, distance(row.on, stream[each.members[0]].on), row.on):
                each.end(scheme, i, complete=False)
        if row.breaks:
            continue
        for each in still_open():
            if scheme.update is None or call(scheme.update, row, each):
                each.members.append(i)
        new = _OpenFrame(scheme, i)
        if len(still_open()) < scheme.open_frames and call(scheme.open, row, new):
            opened.append(new)
    for each in still_open():
        each.end(scheme, None, complete=False)
    ended = [each.frame for each in opened if each.frame is not None]
    return [frame for frame in ended if _is_enough(scheme, stream, frame)]


def _is_enough(scheme: Custom, stream: Stream, frame: Frame) -> bool:
    """Return whether a frame meets the minimums."""
    at = frame.members[-1] if scheme.extent == "closed" or frame.closed_at is None else frame.closed_at
    start, last = stream[frame.members[0]].on, stream[at].on
    lasts = scheme.min_duration is None or distance(last, start) >= length(scheme.min_duration, start)
    return lasts and len(frame.members) >= scheme.min_count
