"""The rules of the `Custom` frames under test, in a module that Spark's workers can import."""

from __future__ import annotations

from typing import Any


def opens_at_new_high(t, s):  # noqa: D103
    if t.x > s.high:
        s.high = t.x
        s.opened = t.on
        return True
    return False


def updates_when_positive(t, s):  # noqa: D103
    return t.x > 0


def closes_at_half(t, s):  # noqa: D103
    return t.x <= s.high / 2


def opens_always(t, s):  # noqa: D103
    return True


def closes_every_third(t, s):  # noqa: D103
    s.seen += 1
    return s.seen % 3 == 0


def closes_at_half_or_late(t, s):  # noqa: D103
    return t.x <= s.high / 2 or t.on - s.opened > 6


def opens_far_above(t, s):  # noqa: D103
    if t.x > s.high + 0.5:
        s.high = t.x
        return True
    return False


def closes_far_below(t, s):  # noqa: D103
    return t.x < s.high - 1.0


def opens_when_positive(t, s):  # noqa: D103
    return t.x > 0


def updates_by_counting(t, s, f):  # noqa: D103
    f.rows += 1
    return True


def closes_runs_of_three(t, s, f):  # noqa: D103
    return 0 if t.x > 0 else 1 if f.rows >= 3 else 2


def opens_with_first(t, s, f):  # noqa: D103
    f.first = t.x
    return t.x > -1


def updates_with_highest(t, s, f):  # noqa: D103
    f.rows += 1
    if t.x > f.highest:
        f.highest = t.x
    return t.x != f.first


def closes_dips(t, s, f):  # noqa: D103
    if t.x >= f.first and f.rows < 5:
        return 0
    return 1 if f.rows >= 2 else 2


def opens_by_turns(t, s, f):  # noqa: D103
    s.seen += 1
    s.odd = not s.odd
    f.own = s.odd
    f.number = s.seen
    return s.seen % 3 > 0


def updates_by_turns(t, s, f):  # noqa: D103
    s.seen += 1
    f.joined += t.x > 0 or f.own
    return t.x > 0 or f.own


def closes_by_turns(t, s, f):  # noqa: D103
    return s.seen - f.number > 5 or t.x > 2


RULES: dict[str, dict[str, Any]] = {
    "highs": {
        "open": opens_at_new_high,
        "update": updates_when_positive,
        "close": closes_at_half,
        "state": {"high": -2.0, "opened": 0.0},
    },
    "thirds": {"open": opens_always, "close": closes_every_third, "state": {"seen": 0.0}},
    "runs of three": {
        "open": opens_when_positive,
        "update": updates_by_counting,
        "close": closes_runs_of_three,
        "record": {"rows": 1},
    },
    "dips": {
        "open": opens_with_first,
        "update": updates_with_highest,
        "close": closes_dips,
        "record": {"first": 0.0},
        "labels": {"rows": 1, "highest": 0.0},
    },
    "turns": {
        "open": opens_by_turns,
        "update": updates_by_turns,
        "close": closes_by_turns,
        "state": {"seen": 2**53, "odd": True},
        "labels": {"own": False, "number": 0, "joined": 1},
    },
}
