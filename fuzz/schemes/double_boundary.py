"""Double-boundary frames: runs of rows in two neighbouring cells."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

import windrow as wr
from fuzz.definition import Definition, Frame, Length, Limits, Settled, Spec, longest_runs
from fuzz.schemes._cells import cell, draw_origin
from fuzz.schemes._options import COMMON, GRIDS, LIMITED, SMALL_GRIDS


class DoubleBoundaryDefinition(Definition):
    """Runs of rows in either of two neighbouring cells, for each such pair; numbered by start, the lower pair first."""

    kind = wr.DoubleBoundary

    def draw(self, rng: random.Random, length: Length, *, runs: bool) -> Spec:
        grids = {"x": rng.choice(GRIDS)}
        return Spec([grids], draw_origin(rng, grids))

    def allow_limits(self, options: dict[str, Any]) -> None:
        if "max_count" in options or "max_duration" in options:
            options.pop("min_duration", None)
        if "max_duration" in options:
            options.pop("min_count", None)

    def attributes(self, spec: Spec) -> list[str]:
        return list(spec.args[0])

    def frames(self, spec: Spec, rows: Sequence[Settled], block: range, length: Any) -> list[Frame]:
        ((name, grid),) = spec.args[0].items()
        origin = (spec.options.get("origin") or {}).get(name, 0.0)
        cells = {i: max(cell(rows[i].values[0], grid, origin), -(2**63) + 1) for i in block}
        frames: list[Frame] = []
        limits = Limits(spec, rows, length)
        for lower in sorted({n for c in cells.values() for n in (c - 1, c)}):
            pair = (lower, lower + 1)
            runs = longest_runs(block, lambda extent, _: cells[extent[-1]] in pair, limits)  # noqa: B023
            frames += [replace(run, label=(lower,)) for run in runs]
        return sorted(frames, key=lambda frame: (frame.members[0], frame.label))

    def strategy(self) -> st.SearchStrategy[wr.Scheme]:
        grids = st.sampled_from(SMALL_GRIDS)
        minimums = {name: LIMITED[name] for name in ("min_count", "min_duration", "extent")}
        counts = {name: LIMITED[name] for name in ("min_count", "max_count")}
        return (
            st.builds(wr.DoubleBoundary, grids, **COMMON)
            | st.builds(wr.DoubleBoundary, grids, **COMMON, **minimums)
            | st.builds(wr.DoubleBoundary, grids, **COMMON, **counts)
            | st.builds(wr.DoubleBoundary, grids, **COMMON, max_duration=LIMITED["max_duration"])
        )

    def queries(self) -> dict[str, wr.Scheme]:
        return {
            "double boundary": wr.DoubleBoundary({"x": 0.75}),
            "double boundary with limits": wr.DoubleBoundary({"x": 0.75}, min_count=2, max_count=5),
        }


DEFINITION = DoubleBoundaryDefinition()
