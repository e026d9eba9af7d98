"""Conjunctions: frames that satisfy the definitions of several schemes at once."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from operator import and_
from typing import Any

from hypothesis import strategies as st

import windrow as wr
from fuzz.definition import Definition, Frame, Length, Limits, Row, Settled, Spec, Undecided, distance, sometimes
from fuzz.schemes import aggregate, boundary, delta, gap, threshold
from fuzz.schemes._options import GAPS, LIMITED

PARTS = {each.DEFINITION.kind.__name__: each.DEFINITION for each in (aggregate, boundary, delta, gap, threshold)}
KINDS = (
    ("Threshold", "Delta"),
    ("Threshold", "Delta"),
    ("Threshold", "Boundary"),
    ("Delta", "Boundary"),
    ("Threshold", "Gap"),
    ("Threshold", "Aggregate"),
    ("Threshold", "Delta", "Boundary"),
)
"""Few kinds: each takes seconds to compile."""
RUNS = (("Threshold", "Boundary"), ("Threshold", "Gap"), ("Boundary", "Gap"), ("Threshold", "Threshold"))
MOST_ROWS = 60
"""The definition looks at every prefix of a frame, so frames with more rows take too long."""


@dataclass(frozen=True)
class SettledByParts(Settled):
    """A row as each part reads it, or None if the part skips it."""

    parts: tuple[Settled | None, ...] = ()


class ConjunctionDefinition(Definition):
    """The longest run of rows that each part, by its own definition and without limits, frames as a whole."""

    kind = wr.Conjunction
    weight = 4
    weight_of_runs = 1

    def draw(self, rng: random.Random, length: Length, *, runs: bool) -> Spec:
        parts = []
        for name in rng.choice(RUNS if runs else KINDS):
            drawn = PARTS[name].draw(rng, length, runs=runs)
            drawn.options.pop("segments", None)
            if name == "Aggregate":
                drawn = Spec(["sum x", rng.choice(("<", "<=")), rng.choice((1, 3, 5))], {})
            if drawn.options.get("op", "<=") not in ("<", "<="):
                drawn.options["op"] = "<="
            sometimes(rng, drawn.options, "nulls", 0.4, lambda: rng.choice(PARTS[name].policies))  # noqa: B023
            sometimes(rng, drawn.options, "min_count", 0.2, lambda: rng.randint(1, 4))
            parts.append({"name": name, "args": drawn.args, "options": drawn.options})
        return Spec(parts, {})

    def _parts(self, spec: Spec) -> list[tuple[Definition, Spec]]:
        """Return the parts; the options of the whole are those of the last one."""
        parts = [Spec(part["args"], part["options"]) for part in spec.args]
        parts[-1] = Spec(parts[-1].args, {**parts[-1].options, **spec.options})
        return [(PARTS[part["name"]], own) for part, own in zip(spec.args, parts, strict=True)]

    def build(self, spec: Spec) -> wr.Scheme:
        return reduce(and_, (definition.build(own) for definition, own in self._parts(spec)))

    def attributes(self, spec: Spec) -> list[str]:
        return list(dict.fromkeys(name for part, own in self._parts(spec) for name in part.attributes(own)))

    def conditions(self, spec: Spec) -> dict[str, str]:
        texts = [text for part, own in self._parts(spec) for text in part.conditions(own).values()]
        return {f"condition{i}": text for i, text in enumerate(texts)}

    def settle(self, spec: Spec, rows: Sequence[Row], on: str) -> list[Settled]:
        settled: list[Settled] = []
        for row in rows:
            parts = [next(iter(part.settle(own, [row], on)), None) for part, own in self._parts(spec)]
            breaks = any(part is not None and part.breaks for part in parts)
            settled.append(SettledByParts(row, row[on], breaks, {}, (), tuple(parts)))
        return settled

    def frames(self, spec: Spec, rows: Sequence[Settled], block: range, length: Any) -> list[Frame]:
        raise NotImplementedError("the rows of a conjunction are not divided into blocks")

    def all_frames(self, spec: Spec, rows: Sequence[Settled], length: Any) -> list[Frame]:
        return Search(self._parts(spec), rows, length).frames()

    def strategy(self) -> st.SearchStrategy[wr.Scheme]:
        limits = {"max_gap": GAPS, **LIMITED}
        policies = st.sampled_from(["skip", "skip", "break"])
        thresholds = st.builds(
            wr.Threshold,
            st.just("hit"),
            close=st.sampled_from([None, "stop"]),
            nulls=st.sampled_from(["false", "skip", "break"]),
            max_count=LIMITED["max_count"],
        )
        deltas = st.builds(wr.Delta, st.sampled_from([{"x": 1}, {"x": 2}]), nulls=policies, **limits)
        cells = st.builds(wr.Boundary, st.sampled_from([{"y": 1.0}, {"y": 2.0}]), nulls=policies, max_gap=GAPS)
        gaps = st.builds(wr.Gap, st.sampled_from([1, 2, 3]), **LIMITED)
        pairs = [(thresholds, deltas), (cells, deltas), (thresholds, gaps)]
        return st.one_of(st.builds(and_, one, other) for one, other in pairs)

    def queries(self) -> dict[str, wr.Scheme]:
        return {
            "conjunction": wr.Threshold("x > 0.5") & wr.Delta({"x": 1.5}, min_count=2),
            "conjunction of runs": wr.Threshold("x > -0.5") & wr.Boundary({"x": 0.75}) & wr.Gap(3),
            "conjunction that skips nulls": wr.Boundary({"v": 9}) & wr.Delta({"x": 1.5}, max_count=9),
        }


class Search:
    """The search for frames from the left in the rows of one group."""

    def __init__(self, parts: list[tuple[Definition, Spec]], rows: Sequence[Settled], length: Any) -> None:
        self.rows: list[SettledByParts] = rows  # type: ignore[assignment]
        self.length = length
        free = ("max_gap", "min_count", "min_duration", "max_count", "max_duration", "extent", "nulls")
        self.parts = [
            (part, Spec(own.args, {k: v for k, v in own.options.items() if k not in free})) for part, own in parts
        ]
        self.gaps = [length(own.options["max_gap"]) for _, own in parts if "max_gap" in own.options]
        # A gap is a limit of the whole: rows that are skipped do not count for it.
        self.gaps += [length(own.args[0]) for part, own in parts if part.kind is wr.Gap]
        self.judges = [j for j, (part, _) in enumerate(parts) if part.kind is not wr.Gap]
        self.limits = [Limits(own, rows, length) for _, own in parts]

    def frames(self) -> list[Frame]:
        frames, begin, continues = [], 0, False
        while begin < len(self.rows):
            members, end = self.run(begin, continues)
            if members and self.is_enough(members, end):
                frames.append(Frame(members, end if end < len(self.rows) else None, True, self.label(members)))
                fits = end < len(self.rows) and not any(p is None for p in self.rows[end].parts)
                begin, continues = end, fits and self.fits([*members, end], continues)
            else:
                begin, continues = begin + 1, False
        return frames

    def run(self, begin: int, continues: bool) -> tuple[list[int], int]:
        """Return the longest run from a row on, and the position of the row that ends it."""
        members: list[int] = []
        for i in range(begin, len(self.rows)):
            if len(members) > MOST_ROWS:
                raise Undecided
            row, trial = self.rows[i], [*members, i]
            skipped = any(part is None for part in row.parts)
            if skipped and not members:
                return [], i
            if skipped and not row.breaks:
                if not all(self.holds(j, trial, continues) for j in self.judges if row.parts[j] is not None):
                    return members, i
            elif row.breaks or not self.fits(trial, continues) or not self.is_within(trial):
                return members, i
            else:
                members = trial
        return members, len(self.rows)

    def fits(self, members: list[int], continues: bool) -> bool:
        """Return whether rows may share a frame, as far as conditions, gaps and breaks are concerned."""
        apart = [distance(self.rows[a].on, self.rows[b].on) for a, b in pairwise(members)]
        if self.rows[members[-1]].breaks or any(each > gap for each in apart for gap in self.gaps):
            return False
        return all(self.holds(j, members, continues) for j in self.judges)

    def holds(self, j: int, members: list[int], continues: bool) -> bool:
        """Return whether a part by itself frames the rows as a whole."""
        return self.whole(j, members, continues) is not None

    def whole(self, j: int, members: list[int], continues: bool) -> Frame | None:
        own = [part for i in members if (part := self.rows[i].parts[j]) is not None]
        if continues and "stop" in own[0].truths:
            own[0] = replace(own[0], truths={**own[0].truths, "hit": True})
        definition, spec = self.parts[j]
        frames = definition.frames(spec, own, range(len(own)), self.length)
        return frames[0] if frames and frames[0].members == list(range(len(own))) else None

    def label(self, members: list[int]) -> tuple[Any, ...]:
        frames = [self.whole(j, members, True) for j in self.judges]
        return tuple(label for frame in frames if frame is not None for label in frame.label)

    def is_within(self, members: list[int]) -> bool:
        """Return whether rows exceed no maximum of a part."""
        lasts = distance(self.rows[members[0]].on, self.rows[members[-1]].on)
        return all(
            (each.max_count is None or len(members) <= each.max_count)
            and (each.max_duration is None or lasts <= each.max_duration)
            for each in self.limits
        )

    def is_enough(self, members: list[int], end: int) -> bool:
        """Return whether a frame that a row ends meets the minimums of all parts."""
        for each in self.limits:
            last = end if each.half_open and end < len(self.rows) else members[-1]
            lasts = distance(self.rows[members[0]].on, self.rows[last].on)
            if len(members) < each.min_count or (each.min_duration is not None and lasts < each.min_duration):
                return False
        return True


DEFINITION = ConjunctionDefinition()
