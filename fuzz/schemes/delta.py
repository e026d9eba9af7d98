"""Delta frames: a new frame whenever an attribute has moved too far."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

import windrow as wr
from fuzz.definition import COMPARE, Definition, Frame, Length, Limits, Settled, Spec, distance, from_the_left
from fuzz.schemes._options import COMMON, LIMITED, OPERATORS

LIMITS = ({"x": 0}, {"x": 1}, {"x": 2}, {"x": 3}, {"x": 2, "y": 3})


class DeltaDefinition(Definition):
    """From each start, the longest frame within the limits, or the shortest past one of them."""

    kind = wr.Delta

    def draw(self, rng: random.Random, length: Length, *, runs: bool) -> Spec:
        op = rng.choice(OPERATORS)
        limits = (0, 0, 1, 2, 3, 0.5) if op != "<" else (1, 2, 3, 0.5)
        args = [{"x": rng.choice(limits)} | ({"y": rng.choice(limits)} if rng.random() < 0.25 else {})]
        return Spec(args, {"op": op, "reference": rng.choice(("range", "first"))})

    def attributes(self, spec: Spec) -> list[str]:
        return list(spec.args[0])

    def frames(self, spec: Spec, rows: Sequence[Settled], block: range, length: Any) -> list[Frame]:
        op = spec.options.get("op", "<=")
        maximal, compare = op in ("<", "<="), COMPARE[op]
        limits = [float(limit) for limit in spec.args[0].values()]
        to_first = spec.options.get("reference") == "first"

        def holds(extent: range) -> bool:
            outcomes = []
            for j, limit in enumerate(limits):
                values = [rows[i].values[j] for i in extent]
                far = max(distance(values[0], value) for value in values)
                moved = far if to_first else distance(min(values), max(values))
                outcomes.append(compare(moved, limit))
            return all(outcomes) if maximal else any(outcomes)

        return from_the_left(rows, block, holds, maximal, Limits(spec, rows, length))

    def strategy(self) -> st.SearchStrategy[wr.Scheme]:
        references = st.sampled_from(["range", "first"])
        return st.one_of(
            st.builds(wr.Delta, st.just(limits), op=st.just(op), reference=references, **COMMON, **LIMITED)
            for limits in LIMITS
            for op in OPERATORS
            if op != "<" or 0 not in limits.values()
        )

    def queries(self) -> dict[str, wr.Scheme]:
        return {
            "delta": wr.Delta({"x": 0.8}),
            "delta with minimums": wr.Delta({"x": 1.5}, min_count=3, min_duration=4, max_duration=30),
            "delta to the first": wr.Delta({"x": 0.8, "v": 9}, op=">", reference="first"),
        }


DEFINITION = DeltaDefinition()
