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


RULES: dict[str, dict[str, Any]] = {
    "highs": {
        "open": opens_at_new_high,
        "update": updates_when_positive,
        "close": closes_at_half,
        "state": {"high": -2.0, "opened": 0.0},
    },
    "thirds": {"open": opens_always, "close": closes_every_third, "state": {"seen": 0.0}},
}
