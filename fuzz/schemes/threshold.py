"""Threshold frames: runs of rows that satisfy a predicate, with hysteresis and segments."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

import windrow as wr
from fuzz.definition import Definition, Frame, Length, Settled, Spec, distance, sometimes, whole
from fuzz.schemes._options import GAPS

CONDITIONS = ("hit", "hit", "hit", "x > 0", "x >= 1 or stop", "x > 0 and not stop", "v is not null")


class ThresholdDefinition(Definition):
    """A row opens an episode if it satisfies the predicate; one that does not, or satisfies `close`, ends it."""

    kind = wr.Threshold
    weight = 5
    weight_of_runs = 2
    nulls = "false"
    policies = ("false", "skip", "skip", "break", "break")

    def draw(self, rng: random.Random, length: Length, *, runs: bool) -> Spec:
        options: dict[str, Any] = {}
        sometimes(rng, options, "min_count", 0.4, lambda: rng.randint(1, 4))
        sometimes(rng, options, "min_duration", 0.3, lambda: length(rng))
        if not runs:
            sometimes(rng, options, "close", 0.3, lambda: rng.choice(("stop", "x < 0", "not hit")))
            sometimes(rng, options, "segments", 0.3, lambda: True)
        return Spec([rng.choice(CONDITIONS)], options)

    def conditions(self, spec: Spec) -> dict[str, str]:
        close = spec.options.get("close")
        return {"hit": spec.args[0]} | ({"stop": close} if close else {})

    def frames(self, spec: Spec, rows: Sequence[Settled], block: range, length: Any) -> list[Frame]:
        least = length(spec.options.get("min_duration"))
        episodes = [
            run
            for run in _runs(rows, block)
            if len(run) >= spec.options.get("min_count", 1)
            and (least is None or distance(rows[run[0]].on, rows[run[-1]].on) >= least)
        ]
        if not spec.options.get("segments"):
            return [whole(run[0], run[-1]) for run in episodes]
        segments = [whole(run[0], run[-1], label=(1,)) for run in episodes]
        bounds = [block.start - 1, *(i for run in episodes for i in (run[0], run[-1])), block.stop]
        for a, b in zip(bounds[::2], bounds[1::2], strict=True):
            if b - a > 1:
                segments.append(whole(a + 1, b - 1, label=(0,)))
        return sorted(segments, key=lambda frame: frame.members[0])

    def strategy(self) -> st.SearchStrategy[wr.Scheme]:
        return st.builds(
            wr.Threshold,
            st.just("hit"),
            min_count=st.integers(1, 3),
            min_duration=st.sampled_from([None, None, None, 0, 1, 2.5]),
            close=st.sampled_from([None, "stop"]),
            segments=st.booleans(),
            max_gap=GAPS,
            nulls=st.sampled_from(["false", "skip", "break", "error"]),
        )

    def queries(self) -> dict[str, wr.Scheme]:
        return {
            "threshold": wr.Threshold("x > 0.5"),
            "threshold with minimums": wr.Threshold("x > 0.5", min_count=3, min_duration=4),
            "threshold with a gap": wr.Threshold("x > 0.5 or v < 3", max_gap=2),
            "threshold that skips nulls": wr.Threshold("x > 0.5", nulls="skip"),
            "hysteresis": wr.Threshold("x > 1", close="x < 0"),
            "segments": wr.Threshold("x > 0.5", min_count=4, segments=True),
        }


def _runs(rows: Sequence[Settled], block: range) -> list[list[int]]:
    """Return the runs of a block, whatever their length."""
    runs: list[list[int]] = []
    is_open = False
    for i in block:
        truths = rows[i].truths
        stays = not truths["stop"] if "stop" in truths else truths["hit"]
        if is_open and stays:
            runs[-1].append(i)
        else:
            is_open = truths["hit"] and not truths.get("stop", False)
            if is_open:
                runs.append([i])
    return runs


DEFINITION = ThresholdDefinition()
