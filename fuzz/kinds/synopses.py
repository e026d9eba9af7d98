"""Synopses: updates in pieces, rolls and answers at moments, saved and loaded, against the values of each window."""

from __future__ import annotations

import inspect
import math
import random
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from fuzz.case import Kind, Mismatch, NotACase
from fuzz.draw import number
from fuzz.results import Near, Overflow, aggregate, agrees, by_definition
from fuzz.sliding import STORED, is_refusal, within
from windrow.errors import DataError, WindrowError
from windrow.synopses import SYNOPSES, Accuracy, Retention

NAMES = {kind.__name__: kind for kind in SYNOPSES}


class Synopses(Kind):
    """One synopsis over one stream of values."""

    name = "synopses"
    share = 1.5

    def draw(self, rng: random.Random) -> dict[str, Any]:
        synopsis, name, eps, delta = rng.choice(STORED)
        kind = NAMES[synopsis]
        retention = rng.choice(sorted(kind.retentions))
        n = rng.choice((0, 1, 5, 30, 100))
        odd = rng.choice((0.0, 0.0, 0.1, 0.4))
        nan = rng.choice((0.0, 0.0, 0.05))
        integral = name == "sum v"
        at, on = rng.choice((0, 0, -50, 10**12, -(2**63) + 5)), []
        for _ in range(n):
            at += rng.choice((0, 0, 1, 1, 2, 3, 40) if rng.random() < 0.9 else (500,))
            on.append(at)
        x = [
            float("nan")
            if not integral and rng.random() < nan
            else number(rng, "bigint" if integral else "double", odd)
            for _ in range(n)
        ]
        every = rng.choice((1, 1, 2, 5))
        return {
            "synopsis": [synopsis, name, eps, delta],
            "length": rng.choice((1, 2, 3, 7, 20)) * every,
            "retention": retention,
            "every": every,
            "elements": [list(pair) for pair in zip(on, x, strict=True)],
            "cuts": sorted(rng.randint(0, n) for _ in range(rng.choice((0, 1, 4)))),
            "moments": sorted((on[0] if on else 0) + rng.randint(0, 120) for _ in range(rng.choice((1, 3, 10)))),
            "how": rng.choice(("update", "roll", "answers")),
            "save": rng.random() < 0.4,
        }

    def check(self, parts: dict[str, Any]) -> int:
        on, x = [pair[0] for pair in parts["elements"]], [pair[1] for pair in parts["elements"]]
        if None in on or None in x or sorted(on) != on or parts["every"] < 1:
            raise NotACase
        parts = parts | {"on": on, "x": x}
        if parts["length"] < parts["every"] or parts["length"] % parts["every"] or not parts["moments"]:
            raise NotACase
        if parts["synopsis"][0] == "Panes" and parts["how"] != "roll":
            # Panes are exact only at the end of a pane.
            raise NotACase
        if parts["synopsis"][0] == "Panes" and parts["retention"] == "time":
            raise NotACase
        if parts["synopsis"][:2] == ["ExpirationList", "mean x"] and any(1e15 < abs(v) < math.inf for v in x):
            # As documented, its sum over floats has twice the precision of a float, and no more.
            raise NotACase
        try:
            return {"update": self._update, "roll": self._roll, "answers": self._answers}[parts["how"]](parts)
        except WindrowError as error:
            if is_refusal(error) or (isinstance(error, DataError) and self._may_overflow(parts)):
                raise NotACase from None
            raise

    @staticmethod
    def _may_overflow(parts: dict[str, Any]) -> bool:
        return sum(abs(value) for value in parts["x"] if isinstance(value, int)) >= 2**62

    @staticmethod
    def _make(parts: dict[str, Any]) -> Any:
        synopsis, name, eps, delta = parts["synopsis"]
        kind = NAMES[synopsis]
        more = {"every": parts["every"], "integral": name == "sum v"}
        options = {key: value for key, value in more.items() if key in inspect.signature(kind).parameters}
        retention = Retention(parts["length"], parts["retention"])
        return kind(aggregate(name), retention, Accuracy(eps, delta), seed=1, **options)

    @staticmethod
    def _arrays(parts: dict[str, Any]) -> tuple[Any, Any]:
        dtype = np.int64 if parts["synopsis"][1] == "sum v" else np.float64
        return np.array(parts["on"], np.int64), np.array(parts["x"], dtype)

    def _update(self, parts: dict[str, Any]) -> int:
        on, x = self._arrays(parts)
        made = self._make(parts)
        n = len(on)
        compared = 0
        for a, b in pairwise([0, *(min(cut, n) for cut in sorted(parts["cuts"])), n]):
            made.update(on[a:b], x[a:b])
            if parts["save"]:
                data, made = made.save(), self._make(parts)
                made.load(data)
            if b:
                self._compare(parts, made.query(), self._window(parts, b, parts["on"][b - 1]), f"after {b} values")
                compared += 1
        return compared

    def _roll(self, parts: dict[str, Any]) -> int:
        on, x = self._arrays(parts)
        every = parts["every"]
        answers = self._make(parts).roll(on, x, every)
        if len(answers) != len(on) // every:
            raise Mismatch("roll: number of answers", f"{len(answers)} answers to {len(on)} values by {every}")
        for i, answer in enumerate(answers):
            end = (i + 1) * every
            plain = answer.item() if hasattr(answer, "item") else answer
            result = None if self._is_missing(parts, answer, end) else plain
            self._compare(parts, result, self._window(parts, end, parts["on"][end - 1]), f"roll, after {end} values")
        return len(answers)

    def _is_missing(self, parts: dict[str, Any], answer: Any, end: int) -> bool:
        """Return whether an answer is missing: a roll returns floats, where undefined is NaN."""
        expected = self._expected(parts, self._window(parts, end, parts["on"][end - 1]))
        value = expected.value if isinstance(expected, Near) else expected
        return value is None and isinstance(answer, float) and np.isnan(answer)

    def _answers(self, parts: dict[str, Any]) -> int:
        on, x = self._arrays(parts)
        answers = self._make(parts).answers(on, x, np.array(parts["moments"], np.int64)).to_pylist()
        for moment, answer in zip(parts["moments"], answers, strict=True):
            end = sum(t <= moment for t in parts["on"])
            self._compare(parts, answer, self._window(parts, end, moment), f"at {moment}")
        return len(answers)

    @staticmethod
    def _window(parts: dict[str, Any], end: int, now: int) -> list[Any]:
        """Return the values in the window after `end` values, at time `now`."""
        if parts["retention"] == "count":
            return list(parts["x"][max(0, end - parts["length"]) : end])
        chosen = zip(parts["on"][:end], parts["x"][:end], strict=True)
        return [value for t, value in chosen if t > now - parts["length"]]

    @staticmethod
    def _expected(parts: dict[str, Any], values: Sequence[Any]) -> Any:
        name = parts["synopsis"][1]
        column = name.partition(" ")[2]
        try:
            return by_definition(name, [{column: value} for value in values])
        except Overflow:
            raise NotACase from None

    def _compare(self, parts: dict[str, Any], answer: Any, values: Sequence[Any], where: str) -> None:
        synopsis, name, eps, _ = parts["synopsis"]
        expected = self._expected(parts, values)
        what = name.partition(" ")[0]
        right = within(synopsis, what, eps, answer, expected, values) if eps else agrees(answer, expected)
        if not right:
            details = f"{parts['how']}, {where}: found {answer}, expected {expected} of {list(values)}"
            raise Mismatch(f"{synopsis} {name}: differs", details)
