"""Change frames: runs of equal values of columns of any type."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

import windrow as wr
from fuzz.definition import Definition, Frame, Length, Limits, Refused, Row, Settled, Spec, longest_runs, sometimes
from fuzz.schemes._options import COMMON, LIMITED
from fuzz.tables import is_nan, python_value

LONG = "a state with a name that is longer than any digest of it"
PALETTES: dict[str, tuple[Any, ...]] = {
    "string": ("on", "off", "", "ON", "on ", "\u00e4", "a\u0308", LONG, LONG + "!"),
    "binary": ("", "\0", "\0\0", "\xff", "on"),
    "decimal(20,2)": (0, 150, 1500, -150, 10**19, 10**19 + 1),
    "boolean": (True, False),
    "timestamp": (0, 1, -1, 1711846800_000_000, 1729990800_000_000, 1729994400_000_000),
    "timestamp_ntz": (0, 1711852200_000_000),
    "date": (0, -1, 19_000),
    "double": (0.0, -0.0, math.nan, math.inf, 0.1, 5e-324, 1.0),
    "bigint": (0, 1, 2**63 - 1, 2**63 - 2, -(2**63)),
    "tinyint": (0, 1, -128),
}
"""Values by type, as plain values: some of them are easily taken for equal, some are equal but differ in their bits."""
NUMBERS = ("double", "bigint", "tinyint")


class ChangeDefinition(Definition):
    """A frame ends where a value changes. The options are the columns, and the type of the column `s`."""

    kind = wr.Change
    weight = 4
    weight_of_runs = 3

    def draw(self, rng: random.Random, length: Length, *, runs: bool) -> Spec:
        kind = rng.choice(tuple(PALETTES))
        columns = rng.choice((["s"], ["s"], ["s", "hit"], ["hit", "s"], ["s", "x"]))
        options: dict[str, Any] = {}
        counts = [value for value in PALETTES[kind] if not is_nan(value)]
        # An ignored number also applies to `x`; a decimal, in plain values, is another number.
        if kind in NUMBERS or "x" not in columns:
            sometimes(rng, options, "ignore", 0.4, lambda: rng.sample(counts, rng.randint(1, 2)))
        return Spec([columns, kind], options)

    def build(self, spec: Spec) -> wr.Scheme:
        columns, kind = spec.args
        ignored = [python_value(value, kind) for value in spec.options.get("ignore", ())]
        return wr.Change(columns, **{**spec.options, "ignore": ignored})

    def labels(self, spec: Spec) -> list[str]:
        return list(spec.args[0])

    def more_columns(self, spec: Spec) -> dict[str, tuple[str, Sequence[Any]]]:
        return {"s": (spec.args[1], PALETTES[spec.args[1]])}

    def settle(self, spec: Spec, rows: Sequence[Row], on: str) -> list[Settled]:
        policy = spec.options.get("nulls", self.nulls)
        settled = []
        for row in rows:
            missing = any(self._is_missing(spec, name, row[name]) for name in spec.args[0])
            if missing and policy == "error":
                raise Refused
            if not (missing and policy == "skip"):
                settled.append(Settled(row, row[on], missing, {}))
        return settled

    def _is_missing(self, spec: Spec, name: str, value: Any) -> bool:
        if value is None or is_nan(value):
            return True
        suits = name == "s" or (name == "x" and spec.args[1] in NUMBERS) or spec.args[1] == "boolean"
        return suits and value in spec.options.get("ignore", ())

    def frames(self, spec: Spec, rows: Sequence[Settled], block: range, length: Any) -> list[Frame]:
        labels = {i: tuple(rows[i].row[name] for name in spec.args[0]) for i in block}
        limits = Limits(spec, rows, length)
        frames = longest_runs(block, lambda extent, _: labels[extent[0]] == labels[extent[-1]], limits)
        for frame in frames:
            frame.label = labels[frame.members[0]]
        return frames

    def strategy(self) -> st.SearchStrategy[wr.Scheme]:
        texts = st.builds(
            wr.Change, st.just("state"), ignore=st.sampled_from([(), (), "B", ["A", LONG]]), **COMMON, **LIMITED
        )
        several = st.builds(
            wr.Change,
            st.sampled_from(["x", ("state", "x"), ("hit", "state")]),
            ignore=st.sampled_from([(), (), 2.0]),
            **COMMON,
        )
        # With nulls="error" the tests draw streams without nulls, but with values to ignore.
        return (texts | several).filter(
            lambda scheme: not scheme.ignore or (scheme.nulls != "error" and scheme.columns != ("hit", "state"))
        )

    def queries(self) -> dict[str, wr.Scheme]:
        return {
            "change": wr.Change("state"),
            "change that breaks": wr.Change("state", ignore="OFF", nulls="break", min_count=2),
            "change of several columns": wr.Change(["v", "state"], ignore=[3, "high"], max_count=3, max_gap=4),
        }


DEFINITION = ChangeDefinition()
