"""Global conditions by name: those that a framing satisfies, and the framing that satisfies some. "Frames" (2016), 3.1.

The paper defines *drained* and *saturated* relative to the other conditions of a scheme, and *maximal* and *minimal*
among all candidates. Lemma 2 compares only frames with the same starting point: among all candidates, delta frames are
seldom maximal. Here every name has one meaning, whatever the scheme:

- In a framing whose frames share no row, the frames before a frame are given when it is judged *maximal* or *minimal*
  (`from_the_left`). For schemes with union closure this is the same as among all candidates.
- *Drained* is relative to covering: no frame can be left out without uncovering a row of a candidate.
- *Saturated* is relative to those of maximal, minimal and disjoint that hold: adding any candidate would lose one.
- *Unique* is relative to all other properties that hold: no other framing has them all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import islice

from windrow.errors import SpecError
from windrow.framing.theory.intervals import (
    Framing,
    Interval,
    disjoint_framings,
    framings,
    from_the_left,
    is_covering,
    is_drained,
    is_maximal,
    is_maximal_from_the_left,
    is_minimal,
    is_minimal_from_the_left,
    is_overlapping,
    is_partitioning,
    is_saturated,
    is_separated,
)

MOST_FRAMINGS = 100_000
"""The number of framings that a search tries before it gives up."""


def is_maximal_in(framing: Framing, candidates: Framing) -> bool:
    """Return whether no candidate, or none that the frames before a frame leave possible, properly contains it."""
    return (is_maximal if is_overlapping(framing) else is_maximal_from_the_left)(framing, candidates)


def is_minimal_in(framing: Framing, candidates: Framing) -> bool:
    """Return whether no candidate, or none with the same first row if frames are disjoint, lies properly in a frame."""
    return (is_minimal if is_overlapping(framing) else is_minimal_from_the_left)(framing, candidates)


def is_disjoint(framing: Framing, candidates: Framing) -> bool:
    """Return whether no row is in more than one frame."""
    return not is_overlapping(framing)


def is_drained_in(framing: Framing, candidates: Framing) -> bool:
    """Return whether frames cover the candidates, and no longer do if any one of them is left out."""
    return is_drained(framing, lambda rest: is_covering(rest, candidates))


CHECKS: Mapping[str, Callable[[Framing, Framing], bool]] = {
    "overlapping": lambda framing, candidates: is_overlapping(framing),
    "disjoint": is_disjoint,
    "covering": is_covering,
    "separated": lambda framing, candidates: is_separated(framing),
    "maximal": is_maximal_in,
    "minimal": is_minimal_in,
    "drained": is_drained_in,
}
"""The properties that depend only on the frames and the candidates; cheap ones first."""

LIMITING = {"disjoint", "maximal", "minimal"}
"""The properties that `saturated` is relative to: they limit which candidates can be added to a framing."""

CONDITIONS = (*CHECKS, "saturated", "partitioning", "unique")


def properties_of(framing: Framing, candidates: Framing, rows: Collection[int] | None = None) -> set[str]:
    """Return the names of all properties that hold; `partitioning` only if the positions of the rows are given."""
    held = {name for name, check in CHECKS.items() if check(framing, candidates)}
    if has_all({*held, "saturated"}, framing, candidates):
        held.add("saturated")
    if is_only(framing, candidates, held):
        held.add("unique")
    if rows is not None and is_partitioning(framing, rows):
        held.add("partitioning")
    return held


def has_all(names: Collection[str], framing: Framing, candidates: Framing) -> bool:
    """Return whether all of these properties hold, except `partitioning` and `unique`, which are ignored."""
    if not all(check(framing, candidates) for name, check in CHECKS.items() if name in names):
        return False
    limits = LIMITING & set(names)
    return "saturated" not in names or is_saturated(framing, candidates, lambda more: has_all(limits, more, candidates))


def is_only(framing: Framing, candidates: Framing, names: Collection[str]) -> bool:
    """Return whether no other framing has all of these properties, which the framing has itself."""
    others = (other for other in _possible_framings(candidates, names) if set(other) != set(framing))
    return not any(has_all(names, other, candidates) for other in _at_most(others))


def select(candidates: Framing, conditions: Collection[str], rows: Collection[int]) -> list[Interval]:
    """Return the framing that satisfies the conditions, in the order of the first rows; raise if there is not one.

    Of several framings, one that contains all others is taken: without other conditions than maximal or minimal, these
    are all such candidates (definition 4). Disjoint frames are found from the left, as in lemma 2.
    """
    names = set(conditions)
    if "partitioning" in names:
        names |= {"disjoint", "covering"}
    if "separated" in names:
        names |= {"disjoint"}
    if "disjoint" in names and ("maximal" in names) != ("minimal" in names):
        chosen = from_the_left(
            max((candidate.last + 1 for candidate in candidates), default=0),
            lambda at, _: [candidate for candidate in candidates if candidate.first == at],
            longest="maximal" in names,
        )
    else:
        chosen = _largest(candidates, names)
    limits = names & LIMITING
    missing = [name for name in sorted(names) if not has_all({name, *limits}, chosen, candidates)]
    if "partitioning" in names and not is_partitioning(chosen, rows):
        missing.append("partitioning")
    if "unique" in names and not is_only(chosen, candidates, names):
        missing.append("unique")
    if missing:
        raise SpecError(
            f"conditions: expected conditions that one framing satisfies; {_shown(chosen)} is not {', '.join(missing)}"
        )
    return sorted(chosen, key=lambda frame: (frame.first, frame.label, frame.last))


def _largest(candidates: Framing, names: Collection[str]) -> list[Interval]:
    """Return the framing that has all of these properties and contains all others that have them."""
    allowed = [candidate for candidate in candidates if _is_extreme(candidate, candidates, names)]
    if has_all(names, allowed, candidates):
        return allowed
    having = [other for other in _at_most(_possible_framings(allowed, names)) if has_all(names, other, candidates)]
    largest = [framing for framing in having if not any(set(framing) < set(other) for other in having)]
    if len(largest) != 1:
        number = f"{len(largest)} framings satisfy" if largest else "no framing satisfies"
        example = f", e.g. {_shown(largest[0])} and {_shown(largest[1])}" if largest else ""
        raise SpecError(
            f"conditions: expected conditions that one framing satisfies; {number} {', '.join(sorted(names))}{example}"
        )
    return list(largest[0])


def _possible_framings(candidates: Framing, names: Collection[str]) -> Iterator[tuple[Interval, ...]]:
    """Return all framings that can have these properties, without those that obviously have not."""
    if "disjoint" not in names:
        allowed = [candidate for candidate in candidates if _is_extreme(candidate, candidates, names)]
        return framings(allowed, lambda framing: True)
    # The longest from its start, not among all: frames before it may leave no longer one possible.
    return disjoint_framings(
        [c for c in candidates if _is_extreme(c, [other for other in candidates if other.first == c.first], names)]
    )


def _is_extreme(candidate: Interval, candidates: Framing, names: Collection[str]) -> bool:
    """Return whether a candidate is maximal and minimal among others, as far as these are named."""
    longest = "maximal" not in names or is_maximal([candidate], candidates)
    return longest and ("minimal" not in names or is_minimal([candidate], candidates))


def _at_most(tried: Iterator[tuple[Interval, ...]]) -> Iterator[tuple[Interval, ...]]:
    """Yield framings, and raise if they are too many to try."""
    yield from islice(tried, MOST_FRAMINGS)
    if next(tried, None) is not None:
        raise SpecError(
            f"candidates: expected few enough that at most {MOST_FRAMINGS:,} framings have to be tried; use fewer rows"
        )


def _shown(framing: Framing) -> str:
    return str([(first, last, label) if label else (first, last) for first, last, label in sorted(framing)])
