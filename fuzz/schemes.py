"""Random schemes as plain values, and the schemes they stand for.

Options are drawn freely, but aggregates and rules come from a short list, because each takes seconds to compile.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import windrow as wr
from fuzz.results import aggregate
from fuzz.rules import RULES

CONDITIONS = ("hit", "hit", "hit", "x > 0", "x >= 1 or stop", "x > 0 and not stop", "v is not null")
GRIDS: tuple[Any, ...] = (1.0, 2.0, 1.5, 0.1, 10.0, [0.0, 2.0, 3.0], [1.0], [-1.0, 0.5])
RUNNING = ("sum x", "sum x", "count", "min x", "max x", "mean x", "first x", "last x")
"""Aggregates whose frames are tested."""
NAMES = ("Threshold", "Threshold", "Threshold", "Boundary", "Boundary", "Gap", "Gap", "Delta", "Aggregate")
RARE = ("DoubleBoundary", "Custom", "Segments", "Hysteresis")
Length = Callable[[random.Random], Any]


def draw(rng: random.Random, length: Length, *, runs: bool = False) -> dict[str, Any]:
    """Draw a scheme; `length` draws a duration. With `runs`, its frames are runs of one label."""
    name = rng.choice(("Threshold", "Threshold", "Boundary", "Gap") if runs else (*NAMES, *RARE))
    options: dict[str, Any] = {}
    args: list[Any] = []
    if name in ("Threshold", "Segments", "Hysteresis"):
        args = [rng.choice(CONDITIONS)]
        _sometimes(rng, options, "min_count", 0.4, lambda: rng.randint(1, 4))
        _sometimes(rng, options, "min_duration", 0.3, lambda: length(rng))
        if not runs and (name == "Hysteresis" or rng.random() < 0.1):
            options["close"] = rng.choice(("stop", "x < 0", "not hit"))
        if not runs and (name == "Segments" or rng.random() < 0.1):
            options["segments"] = True
        _sometimes(rng, options, "nulls", 0.5, lambda: rng.choice(("false", "skip", "skip", "break", "break")))
        name = "Threshold"
    else:
        if name == "Boundary":
            args = [{"x": rng.choice(GRIDS)} | ({"y": rng.choice(GRIDS)} if rng.random() < 0.25 else {})]
        elif name == "DoubleBoundary":
            args = [{"x": rng.choice(GRIDS)}]
        elif name == "Gap":
            args = [length(rng)]
        elif name == "Delta":
            args, options = _delta(rng)
        elif name == "Aggregate":
            args = [rng.choice(RUNNING), rng.choice(("<", "<=", ">", ">=")), rng.choice((-1, 0, 1, 2, 3, 5, 9, 20))]
        else:
            args = [rng.choice(list(RULES))]
        _sometimes(rng, options, "nulls", 0.4, lambda: rng.choice(("skip", "break", "break")))
    _sometimes(rng, options, "max_gap", 0.3, lambda: length(rng))
    if rng.random() < 0.03:
        options["nulls"] = "error"
    return {"name": name, "args": args, "options": options}


def _delta(rng: random.Random) -> tuple[list[Any], dict[str, Any]]:
    op = rng.choice(("<=", "<", ">", ">="))
    limits = (0, 0, 1, 2, 3, 0.5) if op != "<" else (1, 2, 3, 0.5)
    args = [{"x": rng.choice(limits)} | ({"y": rng.choice(limits)} if rng.random() < 0.25 else {})]
    return args, {"op": op, "reference": rng.choice(("range", "first"))}


def _sometimes(rng: random.Random, options: dict[str, Any], name: str, p: float, value: Callable[[], Any]) -> None:
    if rng.random() < p:
        options[name] = value()


def build(scheme: dict[str, Any]) -> wr.Scheme:
    """Build the scheme that plain values stand for."""
    name, args, options = scheme["name"], scheme["args"], scheme["options"]
    if name == "Custom":
        return wr.Custom(["x"], **RULES[args[0]], **options)
    if name == "Aggregate":
        return wr.Aggregate(aggregate(args[0]), *args[1:], **options)
    made: wr.Scheme = getattr(wr, name)(*args, **options)
    return made
