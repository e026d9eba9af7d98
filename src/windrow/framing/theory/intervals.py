"""Intervals of a stream, and properties of sets of intervals: definitions 2, 4 and 5 of "Frames" (2016).

A *framing* is any set of intervals. All functions are brute force and meant for small streams: they define what is
true, not how to compute it fast.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import chain, combinations, pairwise
from typing import NamedTuple, TypeAlias

Label: TypeAlias = tuple[float, ...]
"""Distinguishes frames of different kinds over the same rows: cells, or on and off."""


class Interval(NamedTuple):
    """Consecutive rows, as positions of the first and the last in their stream, so ties in `on` do not matter."""

    first: int
    last: int
    label: Label = ()

    @property
    def extent(self) -> range:
        """The positions of its rows."""
        return range(self.first, self.last + 1)

    @property
    def bare(self) -> Interval:
        """The interval without its label."""
        return Interval(self.first, self.last)

    def contains(self, other: Interval) -> bool:
        """Return whether it contains all rows of the other interval."""
        return self.first <= other.first and other.last <= self.last

    def overlaps(self, other: Interval) -> bool:
        """Return whether the two intervals share a row."""
        return self.first <= other.last and other.first <= self.last


Framing: TypeAlias = Collection[Interval]
Condition: TypeAlias = Callable[[Framing], bool]
"""A global condition, which holds for a framing or does not."""


def possible_frames(n: int) -> list[Interval]:
    """Return all intervals of a stream of `n` rows (definition 2).

    >>> [interval[:2] for interval in possible_frames(2)]
    [(0, 0), (0, 1), (1, 1)]
    """
    return [Interval(first, last) for first in range(n) for last in range(first, n)]


def from_the_left(n: int, starting: Callable[[int, Interval | None], Framing], *, longest: bool) -> list[Interval]:
    """Return the longest (or shortest) candidate from the first possible start, then from the next one after it.

    This is the construction in the proof of lemma 2: "the first possible frame needs to be picked which then defines
    the starting point of the next frame". `starting` returns the candidates whose first row is at a position, given
    the frame before them.

    >>> candidates = [Interval(1, 1), Interval(1, 2), Interval(2, 3), Interval(3, 3)]
    >>> def starting(at, previous):
    ...     return [candidate for candidate in candidates if candidate.first == at]
    >>> [frame[:2] for frame in from_the_left(4, starting, longest=True)]
    [(1, 2), (3, 3)]
    >>> [frame[:2] for frame in from_the_left(4, starting, longest=False)]
    [(1, 1), (2, 3)]
    """
    frames: list[Interval] = []
    at = 0
    while at < n:
        possible = starting(at, frames[-1] if frames else None)
        if possible:
            frames.append(max(possible) if longest else min(possible))
        at = frames[-1].last + 1 if possible else at + 1
    return frames


# Closures of a scheme's candidate frames (definition 5). They concern intervals and ignore labels.


def has_union_closure(candidates: Framing) -> bool:
    """Return whether the union of any two overlapping candidates is a candidate.

    >>> has_union_closure([Interval(0, 1), Interval(1, 2)])
    False
    """
    bare = {candidate.bare for candidate in candidates}
    return all(
        Interval(min(a.first, b.first), max(a.last, b.last)) in bare for a in bare for b in bare if a.overlaps(b)
    )


def has_sub_interval_closure(candidates: Framing) -> bool:
    """Return whether every interval within a candidate is a candidate."""
    bare = {candidate.bare for candidate in candidates}
    return all(Interval(i, j) in bare for a in bare for i in a.extent for j in range(i, a.last + 1))


def has_super_interval_closure(candidates: Framing, n: int) -> bool:
    """Return whether every interval of a stream of `n` rows that contains a candidate is a candidate."""
    bare = {candidate.bare for candidate in candidates}
    return all(possible in bare or not any(map(possible.contains, bare)) for possible in possible_frames(n))


# Properties of a framing among its candidates.


def covered(framing: Framing) -> set[int]:
    """Return the positions of all rows that are in a frame."""
    return set(chain.from_iterable(frame.extent for frame in framing))


def is_covering(framing: Framing, candidates: Framing) -> bool:
    """Return whether every row of every candidate is in a frame (definition 5)."""
    return covered(candidates) <= covered(framing)


def is_maximal(framing: Framing, candidates: Framing) -> bool:
    """Return whether no candidate of the same label properly contains a frame."""
    return not any(c != f and c.label == f.label and c.contains(f) for f in framing for c in candidates)


def is_minimal(framing: Framing, candidates: Framing) -> bool:
    """Return whether no candidate of the same label lies properly within a frame."""
    return not any(c != f and c.label == f.label and f.contains(c) for f in framing for c in candidates)


def is_maximal_from_the_left(framing: Framing, candidates: Framing) -> bool:
    """Return whether no candidate that shares no row with the frames before a frame properly contains it.

    Frames that are chosen `from_the_left` can be longest only in this sense: the frames before them are given.
    """
    return all(
        is_maximal([f], [c for c in candidates if not any(c.overlaps(g) for g in framing if g.last < f.first)])
        for f in framing
    )


def is_minimal_from_the_left(framing: Framing, candidates: Framing) -> bool:
    """Return whether no candidate with the same first row as a frame is shorter, as in `from_the_left`."""
    return all(is_minimal([f], [c for c in candidates if c.first == f.first]) for f in framing)


def is_drained(framing: Framing, holds: Condition) -> bool:
    """Return whether the conditions hold, and no frame can be removed without violating them.

    >>> everything = [Interval(0, 3)]
    >>> is_drained([Interval(0, 2), Interval(2, 3)], lambda framing: is_covering(framing, everything))
    True
    >>> is_drained(
    ...     [Interval(0, 2), Interval(2, 2), Interval(3, 3)],
    ...     lambda framing: is_covering(framing, everything),
    ... )
    False
    """
    return holds(framing) and not any(holds([f for f in framing if f != removed]) for removed in framing)


def is_saturated(framing: Framing, candidates: Framing, holds: Condition) -> bool:
    """Return whether the conditions hold, and no candidate can be added without violating them."""
    return holds(framing) and not any(holds([*framing, c]) for c in candidates if c not in framing)


def is_separated(framing: Framing) -> bool:
    """Return whether there is at least one row between any two frames."""
    ordered = sorted(framing)
    return all(after.first - before.last > 1 for before, after in pairwise(ordered))


def is_overlapping(framing: Framing) -> bool:
    """Return whether some row is in more than one frame."""
    return sum(len(frame.extent) for frame in framing) > len(covered(framing))


def is_partitioning(framing: Framing, rows: Collection[int]) -> bool:
    """Return whether each of the given rows, and no other, is in exactly one frame."""
    return covered(framing) == set(rows) and not is_overlapping(framing)


def framings(candidates: Framing, holds: Condition) -> Iterator[tuple[Interval, ...]]:
    """Return all framings, over all subsets of the candidates, for which the conditions hold (definition 4)."""
    ordered = sorted(candidates)
    subsets = chain.from_iterable(combinations(ordered, size) for size in range(len(ordered) + 1))
    return (subset for subset in subsets if holds(subset))


def disjoint_framings(candidates: Framing, at: int = 0) -> Iterator[tuple[Interval, ...]]:
    """Return all framings whose frames share no row, from a position on.

    >>> [
    ...     [frame[:2] for frame in framing]
    ...     for framing in disjoint_framings([Interval(0, 1), Interval(1, 2)])
    ... ]
    [[], [(0, 1)], [(1, 2)]]
    """
    yield ()
    for candidate in sorted(candidates):
        if candidate.first >= at:
            yield from ((candidate, *rest) for rest in disjoint_framings(candidates, candidate.last + 1))


def is_unique(candidates: Framing, holds: Condition) -> bool:
    """Return whether exactly one framing satisfies the conditions."""
    return len(list(framings(candidates, holds))) == 1
