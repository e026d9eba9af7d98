"""Framings of your own conditions by brute force, and the properties of a framing: public as `windrow.testing`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

import numpy as np

from windrow.errors import SpecError, quoted
from windrow.framing.theory.conditions import CONDITIONS, properties_of, select
from windrow.framing.theory.intervals import Framing, Interval, possible_frames

Row = TypeVar("Row")


def framing(
    rows: Sequence[Row], local: Callable[[Sequence[Row]], bool], conditions: Collection[str] = ()
) -> list[tuple[int, int]]:
    """Return the frames that satisfy a local and global conditions, by trying every interval of rows.

    This is the definition of a framing scheme in "Frames" (2016), section 3.1, for tests of your own schemes on short
    streams. It takes no part in `wr.frames`.

    Parameters
    ----------
    rows
        The rows of one group, in order; anything that `local` understands.
    local
        The local condition: whether some consecutive rows are a candidate frame.
    conditions
        Names of global conditions. `"maximal"` and `"minimal"` select the candidates that no other candidate contains,
        or that contain no other. With `"disjoint"`, `"separated"` or `"partitioning"`, frames are found from the left
        instead, as in lemma 2: the longest or shortest candidate from the first possible start, then from the next one
        after it. `"covering"`, `"drained"`, `"saturated"`, `"overlapping"` and `"unique"` must hold of the result; see
        `framing_properties`. Without conditions, all candidates are returned.

    Returns
    -------
    The positions of the first and the last row of each frame, in order. If no framing satisfies the conditions, or
    several do and none contains all others, a `SpecError` describes them.

    Examples
    --------
    Threshold frames are maximal runs; all candidates are the runs and their parts:

    >>> from windrow.testing import framing
    >>> speeds = [61, 38, 35, 52, 33]
    >>> framing(speeds, lambda extent: max(extent) < 40, {"maximal", "covering"})
    [(1, 2), (4, 4)]
    >>> framing(speeds, lambda extent: max(extent) < 40)
    [(1, 1), (1, 2), (2, 2), (4, 4)]

    Delta frames are found from the left. Maximal, covering and drained do not suffice, as the paper remarks:

    >>> dye = [0, 3, 6, 9, 12]
    >>> framing(dye, lambda extent: max(extent) - min(extent) <= 4, {"maximal", "disjoint"})
    [(0, 1), (2, 3), (4, 4)]
    >>> framing(dye, lambda extent: max(extent) - min(extent) <= 4, {"maximal", "covering", "drained"})
    Traceback (most recent call last):
    ...
    windrow.errors.SpecError: conditions: expected conditions that one framing satisfies; 2 framings satisfy covering,
    drained, maximal, e.g. [(0, 1), (1, 2), (3, 4)] and [(0, 1), (2, 3), (3, 4)]
    """
    if isinstance(conditions, str):
        raise SpecError(f"conditions: expected a set of names such as {{'maximal'}}, got {quoted(conditions)}")
    for name in conditions:
        if name not in CONDITIONS:
            raise SpecError(f"conditions: expected some of {', '.join(sorted(CONDITIONS))}; got {quoted(name)}")

    def holds_for(interval: Interval) -> bool:
        holds = local(rows[interval.first : interval.last + 1])
        # A generator or a Spark column would count as true for every extent.
        if not isinstance(holds, bool | np.bool_):
            raise SpecError(f"local: expected a function that returns True or False, got {quoted(holds)}")
        return bool(holds)

    candidates = [interval for interval in possible_frames(len(rows)) if holds_for(interval)]
    return [(frame.first, frame.last) for frame in select(candidates, conditions, range(len(rows)))]


def framing_properties(
    frames: Collection[Any], candidates: Collection[Any], *, rows: Collection[int] | None = None
) -> set[str]:
    """Return the properties that hold of a framing among its candidate frames, by trying every other framing.

    | property | holds if |
    | --- | --- |
    | `disjoint`, `overlapping` | no row is in more than one frame; some row is |
    | `separated` | at least one row lies between any two frames |
    | `covering` | every row of every candidate is in a frame |
    | `maximal` | no candidate properly contains a frame; if frames are disjoint, none without rows of earlier frames |
    | `minimal` | no candidate lies properly within a frame; if frames are disjoint, none with the same first row |
    | `drained` | frames are covering, and would not be if any one were left out |
    | `saturated` | no candidate can be added so that those of disjoint, maximal and minimal that hold still hold |
    | `unique` | no other set of candidates has all of these properties |
    | `partitioning` | each of `rows`, and no other row, is in exactly one frame |

    Parameters
    ----------
    frames
        Pairs of the positions of the first and the last row. A third element is a label: candidates of different labels
        do not compete to be maximal or minimal.
    candidates
        All candidate frames, in the same form, as `framing` returns without conditions. They contain the frames.
    rows
        The positions of the rows to be partitioned, such as `range(5)`. Without it, `partitioning` is not reported.

    Examples
    --------
    >>> from windrow.testing import framing, framing_properties
    >>> speeds = [61, 38, 35, 52, 33]
    >>> candidates = framing(speeds, lambda extent: max(extent) < 40)
    >>> sorted(framing_properties([(1, 2), (4, 4)], candidates))
    ['covering', 'disjoint', 'drained', 'maximal', 'saturated', 'separated', 'unique']
    >>> sorted(framing_properties([(1, 2), (2, 2)], candidates))
    ['overlapping']
    """
    framed, possible = _intervals(frames, "frames"), _intervals(candidates, "candidates")
    others = set(framed) - set(possible)
    if others:
        first, last, *_ = min(others)
        raise SpecError(f"frames: expected frames that are candidates, got ({first}, {last})")
    return properties_of(framed, possible, rows)


def _intervals(frames: Collection[Any], option: str) -> Framing:
    """Return pairs, or triples with a label, as a set of intervals."""
    for frame in frames:
        pair = frame[:2] if isinstance(frame, tuple | list) and len(frame) in (2, 3) else ()
        if [type(position) for position in pair] != [int, int] or not 0 <= pair[0] <= pair[1]:
            raise SpecError(
                f"{option}: expected pairs of the positions of the first and the last row, such as (0, 3); "
                f"got {quoted(frame)}"
            )
    return {Interval(*frame) for frame in frames}
