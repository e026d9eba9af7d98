"""Boundary frames: runs of rows in one cell of a grid."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

import windrow as wr
from fuzz.definition import Definition, Frame, Length, Settled, Spec, whole
from fuzz.schemes._cells import cell
from fuzz.schemes._options import COMMON, GRIDS, SMALL_GRIDS


class BoundaryDefinition(Definition):
    """A frame ends where the cell of any attribute changes."""

    kind = wr.Boundary
    weight = 2
    weight_of_runs = 1

    def draw(self, rng: random.Random, length: Length, *, runs: bool) -> Spec:
        return Spec([{"x": rng.choice(GRIDS)} | ({"y": rng.choice(GRIDS)} if rng.random() < 0.25 else {})], {})

    def attributes(self, spec: Spec) -> list[str]:
        return list(spec.args[0])

    def frames(self, spec: Spec, rows: Sequence[Settled], block: range, length: Any) -> list[Frame]:
        grids = list(spec.args[0].values())
        labels = {i: tuple(map(cell, rows[i].values, grids)) for i in block}
        starts = [i for i in block if i == block.start or labels[i] != labels[i - 1]]
        return [whole(a, b - 1, label=labels[a]) for a, b in pairwise([*starts, block.stop])]

    def strategy(self) -> st.SearchStrategy[wr.Scheme]:
        return st.builds(wr.Boundary, st.sampled_from([*SMALL_GRIDS, {"x": 2.0, "y": [0, 2]}]), **COMMON)

    def queries(self) -> dict[str, wr.Scheme]:
        return {
            "boundary": wr.Boundary({"x": 0.5}),
            "grid that breaks at nulls": wr.Boundary({"x": [-0.5, 0.5], "v": 5}, nulls="break", max_gap=3),
        }


DEFINITION = BoundaryDefinition()
