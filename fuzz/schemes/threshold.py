"""Threshold frames: runs of rows that satisfy a predicate, with hysteresis and segments."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

import windrow as wr
from fuzz.definition import Definition, Frame, Length, Limits, Settled, Spec, longest_runs, sometimes, whole
from fuzz.schemes._options import GAPS, LIMITED

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
        if not runs:
            sometimes(rng, options, "close", 0.3, lambda: rng.choice(("stop", "x < 0", "not hit")))
            sometimes(rng, options, "segments", 0.3, lambda: True)
        return Spec([rng.choice(CONDITIONS)], options)

    def conditions(self, spec: Spec) -> dict[str, str]:
        close = spec.options.get("close")
        return {"hit": spec.args[0]} | ({"stop": close} if close else {})

    def frames(self, spec: Spec, rows: Sequence[Settled], block: range, length: Any) -> list[Frame]:
        truths = [row.truths for row in rows]

        def holds(extent: range, continues: bool) -> bool:
            if any(truths[i].get("stop", False) for i in extent):
                return False
            opens = truths[extent[0]]["hit"] or continues
            return opens if "stop" in truths[0] else all(truths[i]["hit"] for i in extent)

        episodes = longest_runs(block, holds, Limits(spec, rows, length))
        if not spec.options.get("segments"):
            return episodes
        runs = [frame.members for frame in episodes]
        segments = [whole(run[0], run[-1], label=(1,)) for run in runs]
        bounds = [block.start - 1, *(i for run in runs for i in (run[0], run[-1])), block.stop]
        for a, b in zip(bounds[::2], bounds[1::2], strict=True):
            if b - a > 1:
                segments.append(whole(a + 1, b - 1, label=(0,)))
        return sorted(segments, key=lambda frame: frame.members[0])

    def strategy(self) -> st.SearchStrategy[wr.Scheme]:
        return st.builds(
            wr.Threshold,
            st.just("hit"),
            close=st.sampled_from([None, "stop"]),
            max_gap=GAPS,
            nulls=st.sampled_from(["false", "skip", "break", "error"]),
            **LIMITED,
        ) | st.builds(
            wr.Threshold,
            st.just("hit"),
            min_count=st.integers(1, 3),
            min_duration=st.sampled_from([None, None, None, 0, 1, 2.5]),
            close=st.sampled_from([None, "stop"]),
            extent=LIMITED["extent"],
            segments=st.just(True),
            max_gap=GAPS,
            nulls=st.sampled_from(["false", "skip", "break", "error"]),
        )

    def queries(self) -> dict[str, wr.Scheme]:
        return {
            "threshold": wr.Threshold("x > 0.5"),
            "threshold with minimums": wr.Threshold("x > 0.5", min_count=3, min_duration=4),
            "threshold with a gap": wr.Threshold("x > 0.5 or v < 3", max_gap=2),
            "threshold that skips nulls": wr.Threshold("x > 0.5", nulls="skip"),
            "threshold with maximums": wr.Threshold("x > -1", max_count=6, min_duration=5, max_duration=20),
            "hysteresis": wr.Threshold("x > 1", close="x < 0"),
            "segments": wr.Threshold("x > 0.5", min_count=4, segments=True),
        }


DEFINITION = ThresholdDefinition()
