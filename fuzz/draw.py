"""Random rows: groups of very different sizes, ties, outages, nulls, and the extremes of every type."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

from fuzz.tables import WHOLE, as_stored, extremes

CLOCKS = ("bigint", "bigint", "timestamp", "timestamp", "double", "date", "timestamp_ntz", "int", "smallint", "tinyint")
STEPS = (0, 0, 1, 1, 1, 1, 2, 2, 3, 5)
UNITS = {
    "timestamp": (1, 1_000_000, 600_000_000, 1_800_000_000, 1_800_000_000, 3_600_000_000),
    "timestamp_ntz": (1_000_000, 1_800_000_000, 3_600_000_000),
}
CHANGES = (1711846800, 1711846800, 1729990800, 1729990800, 1710054000, 1730613600, 1712415600, 1728142200, 1325239200)
"""Instants, in seconds, at which clocks change: in Berlin, New York, Lord Howe, and Apia, which once skipped a day."""
ODD = (math.inf, -math.inf, 1e308, -1e308, 1e300, -0.0, 5e-324, 0.1, 0.30000000000000004, 1 / 3)
"""Floats at which arithmetic fails first."""
NUMBER_TYPES = ("double",) * 6 + ("float", "bigint", "int")


class Clock:
    """A type of `on`, the step by which the rows of a case advance, and the notation of durations for it."""

    def __init__(self, kind: str, unit: float = 1) -> None:
        self.kind, self.unit = kind, unit

    @classmethod
    def draw(cls, rng: random.Random, kinds: tuple[str, ...] = CLOCKS) -> Clock:
        kind = rng.choice(kinds)
        if kind in ("double", "float"):
            return cls(kind, rng.choice((1.0, 1.0, 0.5, 0.1)))
        return cls(kind, rng.choice(UNITS.get(kind, (1,))))

    def duration(self, steps: float) -> Any:
        """Return a duration of this many steps."""
        length = steps * self.unit
        if self.kind in ("timestamp", "timestamp_ntz"):
            return f"{math.floor(length)} microseconds"
        return f"{math.floor(length)} days" if self.kind == "date" else length

    def length(self, rng: random.Random) -> Any:
        """Return a random duration."""
        numeric = self.kind not in ("timestamp", "timestamp_ntz", "date")
        steps: list[float] = [0, 1, 1, 2, 2, 3, 4, 10, 100]
        return self.duration(rng.choice([*steps, 2.5] if numeric else steps))


def seconds(duration: Any) -> Any:
    """Return a duration in clock units, or None for None."""
    return int(duration.split()[0]) if isinstance(duration, str) else duration


def instants(rng: random.Random, clock: Clock, n: int) -> list[Any]:
    """Return `n` ordered values of `on` with steps, ties and outages, now and then at the extremes of the type."""
    steps = rng.choice((STEPS, STEPS, (0, 1), (1,), (0, 0, 0, 1), (1, 2, 50)))
    outage = rng.choice((0.0, 0.0, 0.05, 0.2))
    at, ticks = 0, []
    for _ in range(n):
        at += rng.choice((30, 200, 5000)) if rng.random() < outage else rng.choice(steps)
        ticks.append(at)
    if clock.kind in ("double", "float"):
        base = rng.choice((0.0, 0.0, -10.0, 1e6, -1e15))
        floats = [as_stored(base + tick * clock.unit, clock.kind) for tick in ticks]
        if n and rng.random() < 0.04:
            floats[0] = -math.inf
        if n and rng.random() < 0.04:
            floats[-1] = math.inf
        return sorted(floats)
    low, high = extremes(clock.kind)
    unit = int(clock.unit)
    base = rng.choice((0, 0, 0, -7 * unit, 19_000 * unit, low, high - at * unit if ticks else 0))
    if rng.random() < 0.9:
        base = rng.choice((0, -7 * unit)) if WHOLE[clock.kind] < 32 else rng.choice((0, -7, 19_000)) * unit
    if clock.kind in UNITS and rng.random() < 0.6:
        base = rng.choice(CHANGES) * 1_000_000 - rng.choice((0, 1, at // 2, at)) * unit
        base += rng.choice((0, 0, 3600_000_000, 7200_000_000)) if clock.kind == "timestamp_ntz" else 0
    whole = [min(max(base + tick * unit, low), high) for tick in ticks]
    if n > 1 and rng.random() < 0.03:
        whole[0], whole[-1] = rng.choice((low, low + 2)), rng.choice((high, high - 2))
    return sorted(whole)


def number(rng: random.Random, kind: str, odd: float) -> Any:
    """Return a small number, which often meets conditions exactly; with probability `odd`, a difficult one."""
    if rng.random() < odd:
        if kind in ("double", "float"):
            return as_stored(rng.choice(ODD), kind)
        low, high = extremes(kind)
        return rng.choice((low, high, low + 1, high - 1, 2**53 + 1 if kind == "bigint" else high))
    whole = rng.randint(-2, 4)
    return float(whole) if kind in ("double", "float") else whole


class Columns:
    """The parameters by which the columns of one case are drawn."""

    def __init__(self, rng: random.Random, *, missing: float | None = None, odd: float | None = None) -> None:
        self.missing = rng.choice((0.0, 0.1, 0.4)) if missing is None else missing
        self.odd = rng.choice((0.0, 0.0, 0.1, 0.4)) if odd is None else odd
        self.types = {"x": rng.choice(NUMBER_TYPES), "y": "double", "v": rng.choice(("bigint", "bigint", "double"))}
        self.walk = rng.random() < 0.4
        """Whether `x` moves a little from row to row, so that frames are long."""
        self.dull = rng.choice((None, None, None, None, 5.0))
        """A value that `x` has in all rows, so that one frame spans everything."""

    def rows(self, rng: random.Random, on: list[Any]) -> list[list[Any]]:
        """Return x, y, v, hit and stop for each instant."""
        rows: list[list[Any]] = []
        level = rng.randint(-2, 4)
        hit = rng.random() < 0.5
        changes = rng.choice((0.0, 0.1, 0.5, 0.5))
        gone = 0
        for _ in on:
            level += rng.choice((-1, 0, 0, 0, 1))
            x = number(rng, self.types["x"], self.odd)
            if self.walk:
                x = as_stored(float(level), self.types["x"]) if self.types["x"] in ("double", "float") else level
            if self.dull is not None:
                x = self.dull if self.types["x"] in ("double", "float") else 5
            hit = not hit if rng.random() < changes else hit
            row = [x, number(rng, "double", 0), number(rng, self.types["v"], self.odd), hit, rng.random() < 0.2]
            # Now and then attributes are missing for a while, as when a sensor fails.
            gone = rng.randint(2, 12) if self.missing and rng.random() < 0.03 else max(0, gone - 1)
            for j in range(5):
                if gone or rng.random() < self.missing / (1 if j == 0 else 3):
                    floats = j == 1 or (j in (0, 2) and self.types["xyv"[j]] in ("double", "float"))
                    row[j] = rng.choice((None, math.nan)) if floats else None
            rows.append(row)
        return rows


def runs_of(rng: random.Random, palette: Sequence[Any], n: int, missing: float) -> list[Any]:
    """Return `n` values of a palette, in runs of any length, with nulls."""
    changes = rng.choice((0.0, 0.1, 0.5, 1.0))
    value = rng.choice(palette)
    values = []
    for _ in range(n):
        value = rng.choice(palette) if rng.random() < changes else value
        values.append(None if rng.random() < missing / 2 else value)
    return values


def group_sizes(rng: random.Random, groups: int, rows: int) -> list[int]:
    """Return the number of rows per group: similar, or most of them in one group."""
    weights = [rng.random() ** rng.choice((0, 1, 4)) for _ in range(groups)]
    share = rows / (sum(weights) or 1.0)
    return [max(0, round(weight * share)) for weight in weights]
