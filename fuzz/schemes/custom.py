"""Frames by user-defined rules: the logical frame operator, over a short list of rules."""

from __future__ import annotations

import random
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from hypothesis import strategies as st

import windrow as wr
from fuzz.definition import Definition, Frame, Length, Settled, Spec, distance
from fuzz.rules import RULES, closes_at_half_or_late, closes_far_below, opens_far_above
from fuzz.schemes._options import COMMON


class CustomDefinition(Definition):
    """The operator, row by row. The state survives a cut, so rows are not divided into blocks."""

    kind = wr.Custom

    def draw(self, rng: random.Random, length: Length, *, runs: bool) -> Spec:
        return Spec([rng.choice(list(RULES))], {})

    def build(self, spec: Spec) -> wr.Scheme:
        return wr.Custom(["x"], **RULES[spec.args[0]], **spec.options)

    def attributes(self, spec: Spec) -> list[str]:
        return ["x"]

    def frames(self, spec: Spec, rows: Sequence[Settled], block: range, length: Any) -> list[Frame]:
        raise NotImplementedError("the rows of custom frames are not divided into blocks")

    def all_frames(self, spec: Spec, rows: Sequence[Settled], length: Any) -> list[Frame]:
        rule, gap = RULES[spec.args[0]], length(spec.options.get("max_gap"))
        state = SimpleNamespace(**rule["state"])
        frames: list[Frame] = []
        members: list[int] = []
        for i, row in enumerate(rows):
            if members and (row.breaks or (gap is not None and distance(rows[members[-1]].on, row.on) > gap)):
                frames.append(Frame(members, i, complete=False))
                members = []
            if row.breaks:
                continue
            t = SimpleNamespace(on=row.on, x=row.values[0])
            if members and rule["close"](t, state):
                frames.append(Frame(members, i))
                members = []
            if members:
                if "update" not in rule or rule["update"](t, state):
                    members.append(i)
            elif rule["open"](t, state):
                members = [i]
        return [*frames, *([Frame(members, None, complete=False)] if members else [])]

    def strategy(self) -> st.SearchStrategy[wr.Scheme]:
        return st.one_of(
            st.builds(wr.Custom, st.just(["x"]), **{name: st.just(value) for name, value in rule.items()}, **COMMON)
            for rule in (RULES["highs"] | {"close": closes_at_half_or_late}, RULES["thirds"])
        )

    def queries(self) -> dict[str, wr.Scheme]:
        return {"custom": wr.Custom(["x"], open=opens_far_above, close=closes_far_below, state={"high": -9.0})}


DEFINITION = CustomDefinition()
