"""Double-boundary frames: runs of rows in two neighbouring cells."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

import windrow as wr
from fuzz.definition import Definition, Frame, Length, Settled, Spec, whole
from fuzz.schemes._cells import cell, draw_origin
from fuzz.schemes._options import COMMON, GRIDS, SMALL_GRIDS


class DoubleBoundaryDefinition(Definition):
    """Runs of rows in either of two neighbouring cells, for each such pair; numbered by start, the lower pair first."""

    kind = wr.DoubleBoundary

    def draw(self, rng: random.Random, length: Length, *, runs: bool) -> Spec:
        grids = {"x": rng.choice(GRIDS)}
        return Spec([grids], draw_origin(rng, grids))

    def attributes(self, spec: Spec) -> list[str]:
        return list(spec.args[0])

    def frames(self, spec: Spec, rows: Sequence[Settled], block: range, length: Any) -> list[Frame]:
        ((name, grid),) = spec.args[0].items()
        origin = (spec.options.get("origin") or {}).get(name, 0.0)
        cells = {i: max(cell(rows[i].values[0], grid, origin), -(2**63) + 1) for i in block}
        frames = []
        for lower in sorted({n for c in cells.values() for n in (c - 1, c)}):
            inside = [i for i in block if cells[i] in (lower, lower + 1)]
            starts = [i for i in inside if i - 1 not in inside]
            ends = [i for i in inside if i + 1 not in inside]
            frames += [whole(a, b, label=(lower,)) for a, b in zip(starts, ends, strict=True)]
        return sorted(frames, key=lambda frame: (frame.members[0], frame.label))

    def strategy(self) -> st.SearchStrategy[wr.Scheme]:
        return st.builds(wr.DoubleBoundary, st.sampled_from(SMALL_GRIDS), **COMMON)

    def queries(self) -> dict[str, wr.Scheme]:
        return {"double boundary": wr.DoubleBoundary({"x": 0.75})}


DEFINITION = DoubleBoundaryDefinition()
