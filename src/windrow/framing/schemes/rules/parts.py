"""What a conjunction asks its parts: what they read, and what a row that one of them skips means to the others."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.framing.schemes.base import Closure
from windrow.framing.schemes.gap import Gap
from windrow.framing.schemes.rules.loop import RuleScheme
from windrow.framing.schemes.threshold import Threshold


def common_closure(parts: Sequence[RuleScheme]) -> frozenset[Closure]:
    """Return the closures of all parts: of two closed sets of candidates, the common ones are closed as well."""
    first, *others = (part.closure for part in parts)
    return first.intersection(*others)


def skips_rows(part: RuleScheme) -> bool:
    """Return whether a part skips rows that lack a value."""
    return part.nulls == "skip" and reads_columns(part)


def reads_columns(part: RuleScheme) -> bool:
    """Return whether a part reads anything but `on`."""
    return bool(part.predicates or part.attributes or part.label_columns)


def judges_rows(part: RuleScheme) -> bool:
    """Return whether each row by itself shows whether it fails the part."""
    return isinstance(part, Gap) or (isinstance(part, Threshold) and part.close is None)


def is_skipped_with(one: RuleScheme, other: RuleScheme) -> bool:
    """Return whether the other part skips each row that the first one skips, too."""
    others = (*one.predicates, *one.label_columns)
    return skips_rows(other) and not others and set(one.attributes) <= set(other.attributes)


def free_name(name: str, taken: set[str]) -> str:
    """Return a name that is not taken yet, and take it."""
    free, n = name, 2
    while free in taken:
        free, n = f"{name}{n}", n + 1
    taken.add(free)
    return free
