"""The frames of a conjunction by definition: from the left, the longest run of rows that satisfies every part.

A row that some part skips is in no frame. It ends the frame if it breaks or fails another part.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from windrow.errors import DataError
from windrow.framing.schemes.conjunction import Conjunction
from windrow.framing.schemes.gap import Gap
from windrow.framing.schemes.rules.labels import LabelColumn
from windrow.framing.theory.intervals import Label
from windrow.framing.theory.local import Stream, StreamRow, are_close, distance, length


class Run(NamedTuple):
    """The positions of a frame's rows and of the row that ended it, in the fields of `brute_force.Frame`."""

    members: tuple[int, ...]
    closed_at: int | None
    complete: bool
    label: Label


def settle_parts(scheme: Conjunction, stream: Stream) -> list[StreamRow]:
    """Apply the policy of each part to the values that it reads."""
    return [settled for row in stream if (settled := _settled(scheme, row)) is not None]


def _settled(scheme: Conjunction, row: StreamRow) -> StreamRow | None:
    breaks, skipped_by, values = False, set(), dict(row.values)
    for j, part in enumerate(scheme.parts):
        labels = part.label_columns
        read = [at for own, at in scheme.names[j].items() if own not in labels]
        missing = [at for at in read if values[at] is None or math.isnan(values[at])]
        missing += [label.column for label in labels.values() if _lacks(values[label.column], label)]
        if missing and part.nulls == "error":
            raise DataError(f"{', '.join(sorted(missing))} is null or NaN at {row.on}")
        if missing and part.nulls == "skip":
            skipped_by.add(j)
        if part.nulls == "false":
            values |= dict.fromkeys(missing, False)
        breaks = breaks or (bool(missing) and part.nulls == "break")
    settled = StreamRow(row.on, values, breaks, frozenset(skipped_by))
    if not skipped_by or breaks or scheme.masks:
        return settled
    # The row alone shows whether it ends frames.
    fails = not all(scheme.labels_of_part(j, [settled]) for j in _readers(scheme, settled))
    return StreamRow(row.on, values, breaks=True) if fails else None


def _lacks(value: Any, label: LabelColumn) -> bool:
    """Return whether a value that labels a row is missing or ignored."""
    is_nan = isinstance(value, float) and math.isnan(value)
    return value is None or is_nan or value in label.ignore


def _readers(scheme: Conjunction, row: StreamRow) -> list[int]:
    """Return the parts that do not skip a row. A gap is a limit of the whole, for which such a row does not count."""
    return [j for j, part in enumerate(scheme.parts) if j not in row.skipped_by and not isinstance(part, Gap)]


def frames_of_conjunction(scheme: Conjunction, stream: Stream) -> Iterator[Run]:
    """Yield the frames of a stream whose nulls are settled."""
    begin, continues = 0, False
    while begin < len(stream):
        rows = _reopened(scheme, stream, begin) if continues else stream
        members, end = _longest_run(scheme, rows, begin)
        if not members or not _is_enough(scheme, rows, members, end):
            begin, continues = begin + 1, False
            continue
        (label,) = scheme.local_condition([rows[i] for i in members])
        yield Run(tuple(members), end if end < len(stream) else None, True, label)
        begin, continues = end, end < len(stream) and _fits(scheme, rows, [*members, end])


def _reopened(scheme: Conjunction, stream: Stream, at: int) -> Stream:
    """Return the stream with a row that continues an episode without opening it again."""
    hits = [names["hit"] for names in scheme.names if "stop" in names]
    row = stream[at]._replace(values={**stream[at].values, **dict.fromkeys(hits, True)})
    return [*stream[:at], row, *stream[at + 1 :]]


def _longest_run(scheme: Conjunction, stream: Stream, begin: int) -> tuple[list[int], int]:
    """Return the rows of the longest run from a row on, and the position of the row that ends it."""
    members: list[int] = []
    for i in range(begin, len(stream)):
        row = stream[i]
        if row.skipped_by and members and not row.breaks:
            trial = [stream[k] for k in (*members, i)]
            if not all(scheme.labels_of_part(j, trial) for j in _readers(scheme, row)):
                return members, i
        elif not _fits(scheme, stream, [*members, i]) or not _is_within(scheme, stream, [*members, i]):
            return members, i
        else:
            members.append(i)
    return members, len(stream)


def _fits(scheme: Conjunction, stream: Stream, members: Sequence[int]) -> bool:
    """Return whether rows may share a frame, as far as conditions, gaps and breaks are concerned."""
    rows = [stream[i] for i in members]
    together = not rows[-1].breaks and (scheme.max_gap is None or are_close(rows, scheme.max_gap))
    return together and bool(list(scheme.local_condition(rows)))


def _is_within(scheme: Conjunction, stream: Stream, members: Sequence[int]) -> bool:
    """Return whether rows exceed no maximum."""
    start, end = stream[members[0]].on, stream[members[-1]].on
    too_many = scheme.max_count is not None and len(members) > scheme.max_count
    too_long = scheme.max_duration is not None and distance(end, start) > length(scheme.max_duration, start)
    return not too_many and not too_long


def _is_enough(scheme: Conjunction, stream: Stream, members: Sequence[int], end: int) -> bool:
    """Return whether a frame that a row ends meets the minimums."""
    half_open = scheme.extent == "half-open" and end < len(stream)
    start, last = stream[members[0]].on, stream[end if half_open else members[-1]].on
    lasts = scheme.min_duration is None or distance(last, start) >= length(scheme.min_duration, start)
    return lasts and len(members) >= scheme.min_count
