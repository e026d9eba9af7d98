"""Delta frames: a new frame whenever an attribute has moved too far."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

import windrow as wr
from fuzz.definition import (
    COMPARE,
    Definition,
    Frame,
    Length,
    Limits,
    Settled,
    Spec,
    Undecided,
    distance,
    from_the_left,
)
from fuzz.schemes._options import COMMON, LIMITED, OPERATORS

LIMITS = ({"x": 0}, {"x": 1}, {"x": 2}, {"x": 3}, {"x": 2, "y": 3})


class DeltaDefinition(Definition):
    """From each start, the longest frame within the limits, or the shortest past one of them."""

    kind = wr.Delta

    def draw(self, rng: random.Random, length: Length, *, runs: bool) -> Spec:
        op = rng.choice(OPERATORS)
        limits = (0, 0, 1, 2, 3, 0.5) if op != "<" else (1, 2, 3, 0.5)
        if rng.random() < 0.2:
            limit = rng.choice((1, 2, 3, 5, 300_000))
            return Spec([{"x,y": limit}], {"op": op, "distance": rng.choice(("euclidean", "great_circle"))})
        args = [{"x": rng.choice(limits)} | ({"y": rng.choice(limits)} if rng.random() < 0.25 else {})]
        return Spec(args, {"op": op, "reference": rng.choice(("range", "first"))})

    def attributes(self, spec: Spec) -> list[str]:
        return ["x", "y"] if "distance" in spec.options else list(spec.args[0])

    def frames(self, spec: Spec, rows: Sequence[Settled], block: range, length: Any) -> list[Frame]:
        op = spec.options.get("op", "<=")
        maximal, compare = op in ("<", "<="), COMPARE[op]
        limits = [float(limit) for limit in spec.args[0].values()]
        to_first = spec.options.get("reference") == "first"

        way = spec.options.get("distance")

        def holds(extent: range) -> bool:
            if way is not None:
                far = max(_points_apart(rows[extent[0]].values, rows[i].values, way) for i in extent)
                if far != limits[0] and math.isclose(far, limits[0], rel_tol=1e-12):
                    raise Undecided
                return bool(compare(far, limits[0]))
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
        points = (
            st.builds(
                wr.Delta, st.just({("x", "y"): limit}), op=st.just(op), distance=st.just(way), **COMMON, **LIMITED
            )
            for op in OPERATORS
            for limit, way in ((2, "euclidean"), (200_000, "great_circle"))
        )
        return st.one_of(
            *points,
            *(
                st.builds(wr.Delta, st.just(limits), op=st.just(op), reference=references, **COMMON, **LIMITED)
                for limits in LIMITS
                for op in OPERATORS
                if op != "<" or 0 not in limits.values()
            ),
        )

    def queries(self) -> dict[str, wr.Scheme]:
        return {
            "delta": wr.Delta({"x": 0.8}),
            "delta with minimums": wr.Delta({"x": 1.5}, min_count=3, min_duration=4, max_duration=30),
            "delta of points": wr.Delta({("x", "v"): 4}, distance="euclidean", min_count=2),
            "delta to the first": wr.Delta({"x": 0.8, "v": 9}, op=">", reference="first"),
        }


def _points_apart(a: Sequence[float], b: Sequence[float], way: str) -> float:
    """Return the distance of two points: in the plane, or on the earth by the angle between two unit vectors."""
    if max(map(abs, (*a, *b))) > 1e150:
        raise Undecided
    if way == "euclidean":
        return math.sqrt(sum(distance(x, y) ** 2 for x, y in zip(a, b, strict=True)))
    (east, north), (other_east, other_north) = ([math.radians(x) for x in point] for point in (a, b))
    u, v = (
        (math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat))
        for lon, lat in ((east, north), (other_east, other_north))
    )
    chord = math.dist(u, v)
    return 2 * 6_371_008.8 * math.asin(min(1.0, chord / 2))


DEFINITION = DeltaDefinition()
