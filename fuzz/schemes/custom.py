"""Frames by user-defined rules: the logical frame operator, over a short list of rules."""

from __future__ import annotations

import random
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from hypothesis import strategies as st

import windrow as wr
from fuzz.definition import Definition, Frame, Length, Limits, Settled, Spec, distance, sometimes
from fuzz.rules import RULES, closes_at_half_or_late, closes_far_below, opens_far_above
from fuzz.schemes._options import COMMON, LIMITED


class OpenFrame:
    """A frame that a row opened: its rows, its own record, and what has become of it."""

    def __init__(self, rule: dict[str, Any], first: int) -> None:
        self.members = [first]
        self.record = SimpleNamespace(**rule.get("record", {}), **rule.get("labels", {}))
        self.status = "open"
        self.closed: int | None = None
        self.complete = True

    def end(self, status: str, closed: int | None, *, complete: bool = True) -> None:
        """Report or discard the frame."""
        self.status, self.closed, self.complete = status, closed, complete


class CustomDefinition(Definition):
    """The operator, row by row. The state survives a cut, so rows are not divided into blocks."""

    kind = wr.Custom
    weight = 2

    def draw(self, rng: random.Random, length: Length, *, runs: bool) -> Spec:
        spec = Spec([rng.choice(list(RULES))], {})
        sometimes(rng, spec.options, "open_frames", 0.6, lambda: rng.choice((2, 3, 5)))
        return spec

    def build(self, spec: Spec) -> wr.Scheme:
        return wr.Custom(["x"], **RULES[spec.args[0]], **spec.options)

    def attributes(self, spec: Spec) -> list[str]:
        return ["x"]

    def frames(self, spec: Spec, rows: Sequence[Settled], block: range, length: Any) -> list[Frame]:
        raise NotImplementedError("the rows of custom frames are not divided into blocks")

    def all_frames(self, spec: Spec, rows: Sequence[Settled], length: Any) -> list[Frame]:
        rule, gap = RULES[spec.args[0]], length(spec.options.get("max_gap"))
        most = spec.options.get("open_frames", 1)
        limits = Limits(spec, rows, length)
        state = SimpleNamespace(**rule.get("state", {}))
        opened: list[OpenFrame] = []

        def call(option: str, row: Settled, frame: OpenFrame) -> Any:
            arguments = (SimpleNamespace(on=row.on, x=row.values[0]), state, frame.record)
            return rule[option](*arguments[: rule[option].__code__.co_argcount])

        for i, row in enumerate(rows):
            for frame in [each for each in opened if each.status == "open"]:
                if row.breaks or (gap is not None and distance(rows[frame.members[-1]].on, row.on) > gap):
                    frame.end("reported", i, complete=False)
                    continue
                verdict = int(call("close", row, frame))
                if verdict:
                    frame.end({1: "reported", 2: "discarded"}[verdict], i)
                elif limits.exceeds([*frame.members, i]):
                    frame.end("reported", i, complete=False)
            if row.breaks:
                continue
            still_open = [each for each in opened if each.status == "open"]
            for frame in still_open:
                if "update" not in rule or call("update", row, frame):
                    frame.members.append(i)
            if len(still_open) < most:
                new = OpenFrame(rule, i)
                if call("open", row, new):
                    opened.append(new)
        for frame in opened:
            if frame.status == "open":
                frame.end("reported", None, complete=False)
        return [
            Frame(
                each.members, each.closed, each.complete, tuple(getattr(each.record, n) for n in rule.get("labels", {}))
            )
            for each in opened
            if each.status == "reported" and limits.suffices(each.members, each.closed)
        ]

    def strategy(self) -> st.SearchStrategy[wr.Scheme]:
        several = st.sampled_from([1, 1, 2, 3])
        chosen = [RULES["highs"] | {"close": closes_at_half_or_late}, *(RULES[n] for n in RULES if n != "highs")]
        return st.one_of(
            st.builds(
                wr.Custom,
                st.just(["x"]),
                open_frames=several,
                **{n: st.just(v) for n, v in rule.items()},
                **COMMON,
                **LIMITED,
            )
            for rule in chosen
        )

    def queries(self) -> dict[str, wr.Scheme]:
        return {
            "custom": wr.Custom(["x"], open=opens_far_above, close=closes_far_below, state={"high": -9.0}),
            "custom that overlaps": wr.Custom(["x"], **RULES["dips"], open_frames=3),
            "custom with limits": wr.Custom(["x"], **RULES["dips"], open_frames=3, min_count=2, max_duration=20),
        }


DEFINITION = CustomDefinition()
