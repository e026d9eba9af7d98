"""The kernels: any split of the rows into batches, with saved state in between, gives the frames of the definition."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from fuzz.case import Kind
from fuzz.queries import ExpectedFrames, draw_query, in_order, layout_of, request_of, run, table_of
from windrow.framing.query import frames_table
from windrow.framing.state import pack_state, unpack_state
from windrow.rows.query import Reader
from windrow.state.arrow import pack, unpack


class Frames(Kind):
    """`Framer` over batches."""

    name = "frames"
    share = 2.0

    def draw(self, rng: random.Random) -> dict[str, Any]:
        parts = draw_query(rng, rows=rng.choice((5, 60, 200, 400)), groups=rng.choice((1, 5, 20, 60)))
        n = len(parts["rows"])
        return parts | {
            "cuts": sorted(rng.randint(0, n) for _ in range(rng.choice((0, 1, 3)))),
            "save": rng.random() < 0.3,
        }

    def check(self, parts: dict[str, Any]) -> int:
        def engine() -> list[pa.Table]:
            request = request_of(parts)
            reader, framer = Reader(request, layout_of(request)), request.framer()
            rows, tables = in_order(parts), []
            for a, b in pairwise([0, *(min(cut, len(rows)) for cut in sorted(parts["cuts"])), len(rows)]):
                done = framer.process(reader.read(table_of(parts, rows[a:b])))
                tables.append(frames_table(request, reader.directory.keys(), done))
                if parts["save"]:
                    groups = np.arange(framer.groups.next.size)
                    state = unpack_state(unpack(pack(pack_state(framer.export(groups)))), framer)
                    framer = request.framer()
                    framer.adopt(groups, state)
            return [*tables, frames_table(request, reader.directory.keys(), framer.finish())]

        return run(ExpectedFrames(parts), engine)
