"""Sessions: runs of rows in which neighbours are at most a gap apart."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

import windrow as wr
from fuzz.definition import Definition, Frame, Length, Limits, Settled, Spec, distance, longest_runs
from fuzz.schemes._options import COMMON, LIMITED


class GapDefinition(Definition):
    """A session ends where the next row is further away than the gap."""

    kind = wr.Gap
    weight = 2
    weight_of_runs = 1

    def draw(self, rng: random.Random, length: Length, *, runs: bool) -> Spec:
        return Spec([length(rng)], {})

    def frames(self, spec: Spec, rows: Sequence[Settled], block: range, length: Any) -> list[Frame]:
        longest = length(spec.args[0])

        def holds(extent: range, _: bool) -> bool:
            return all(distance(rows[a].on, rows[b].on) <= longest for a, b in pairwise(extent))

        return longest_runs(block, holds, Limits(spec, rows, length))

    def strategy(self) -> st.SearchStrategy[wr.Scheme]:
        return st.builds(wr.Gap, st.sampled_from([0, 1, 2, 2.5, 3]), **COMMON, **LIMITED)

    def queries(self) -> dict[str, wr.Scheme]:
        return {"gap": wr.Gap(2), "gap with a minimum": wr.Gap(2, min_count=3, extent="half-open", min_duration=5)}


DEFINITION = GapDefinition()
