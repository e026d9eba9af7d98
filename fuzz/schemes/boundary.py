"""Boundary frames: runs of rows in one cell of a grid."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

import windrow as wr
from fuzz.definition import Definition, Frame, Length, Limits, Settled, Spec, longest_runs
from fuzz.schemes._cells import cell, draw_origin
from fuzz.schemes._options import COMMON, GRIDS, LIMITED, SMALL_GRIDS


class BoundaryDefinition(Definition):
    """A frame ends where the cell of any attribute changes."""

    kind = wr.Boundary
    weight = 2
    weight_of_runs = 1

    def draw(self, rng: random.Random, length: Length, *, runs: bool) -> Spec:
        grids = {"x": rng.choice(GRIDS)} | ({"y": rng.choice(GRIDS)} if rng.random() < 0.25 else {})
        return Spec([grids], draw_origin(rng, grids))

    def attributes(self, spec: Spec) -> list[str]:
        return list(spec.args[0])

    def frames(self, spec: Spec, rows: Sequence[Settled], block: range, length: Any) -> list[Frame]:
        grids = list(spec.args[0].values())
        origins = [(spec.options.get("origin") or {}).get(name, 0.0) for name in spec.args[0]]
        labels = {i: tuple(map(cell, rows[i].values, grids, origins)) for i in block}
        frames = longest_runs(
            block, lambda extent, _: labels[extent[0]] == labels[extent[-1]], Limits(spec, rows, length)
        )
        for frame in frames:
            frame.label = labels[frame.members[0]]
        return frames

    def strategy(self) -> st.SearchStrategy[wr.Scheme]:
        grids = st.sampled_from([*SMALL_GRIDS, {"x": 2.0, "y": [0, 2]}])
        shifted = st.builds(
            wr.Boundary, st.just({"x": 2.0}), origin=st.sampled_from([{"x": 1.0}, {"x": -0.5}]), **COMMON
        )
        return st.builds(wr.Boundary, grids, **COMMON, **LIMITED) | shifted

    def queries(self) -> dict[str, wr.Scheme]:
        return {
            "boundary": wr.Boundary({"x": 0.5}),
            "boundary with an origin": wr.Boundary({"x": 0.5}, origin={"x": 0.1}),
            "boundary with limits": wr.Boundary({"x": 1.5}, min_count=2, max_count=5),
            "grid that breaks at nulls": wr.Boundary({"x": [-0.5, 0.5], "v": 5}, nulls="break", max_gap=3),
        }


DEFINITION = BoundaryDefinition()
