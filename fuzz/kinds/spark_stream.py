"""Streams on Spark: files land one after the other, and the query is stopped and restarted in between."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import windrow as wr
from fuzz import schemes
from fuzz.case import Kind, Mismatch, NotACase
from fuzz.kinds.fill import AGG, compare_sums, inside
from fuzz.kinds.spark import without_undecided
from fuzz.kinds.stream import ExpectedStream
from fuzz.queries import draw_query, in_order, table_of
from fuzz.results import aggregate
from fuzz.session import draw_settings, folder, settings, write
from fuzz.tables import dictionaries, table

DELAY = 400
"""Days by which the watermark lags: no row of a case is late, and much is left for the flush."""


class SparkStream(Kind):
    """`wr.frames` over a stream with restarts, and a flush at its end."""

    name = "spark-stream"
    share = 1.5
    spark = True

    def draw(self, rng: random.Random) -> dict[str, Any]:
        parts = draw_query(rng, rows=240, groups=rng.choice((3, 60)), clocks=("timestamp",), odd=0.0)
        t = list(parts["types"]).index("t")
        # Spark's watermark starts in 1970 and has a resolution of milliseconds.
        parts["rows"] = [row for row in parts["rows"] if 0 <= row[t] < 4 * 10**15]
        parts["scheme"]["options"].pop("nulls", None)
        late = {"files": rng.choice((2, 3)), "late": rng.choice((0, 5, 30)), "seed": rng.randint(0, 999)}
        late["delay"] = rng.choice((0, 1, 3600, DELAY * 86_400))
        return parts | draw_settings(rng) | late | {"fragments": rng.random() < 0.4, "cores": 2}

    def check(self, parts: dict[str, Any]) -> int:
        rows = self._arriving(parts)
        share = -(-len(rows) // parts["files"])
        batches = [batch for k in range(parts["files"]) if (batch := rows[k * share : (k + 1) * share])]
        t = list(parts["types"]).index("t")
        if not batches or self._has_late_rows([[row[t] for row in batch] for batch in batches], parts["delay"]):
            raise NotACase
        parts, _ = without_undecided(parts)
        expected = ExpectedStream(parts)
        if expected.fails or expected.undecided or not parts["rows"]:
            raise NotACase
        remaining = set(map(repr, parts["rows"]))
        with settings(parts) as session, folder() as place:
            files = [[row for row in batch if repr(row) in remaining] for batch in batches]
            table = self._frames(parts, session, place, [batch for batch in files if batch])
        return expected.compare([table])

    @staticmethod
    def _arriving(parts: dict[str, Any]) -> list[list[Any]]:
        rng = random.Random(parts["seed"])
        rows = in_order(parts)
        places = [i + rng.randint(0, parts["late"]) for i in range(len(rows))]
        return [rows[i] for i in sorted(range(len(rows)), key=lambda i: places[i])]

    @staticmethod
    def _has_late_rows(batches: list[list[int]], delay: int) -> bool:
        """Return whether a row is behind the watermark that an earlier batch may have reached."""
        reached = None
        for batch in batches:
            if reached is not None and min(batch) <= reached - delay * 1_000_000:
                return True
            reached = max([*batch, *([] if reached is None else [reached])])
        return False

    def _frames(self, parts: dict[str, Any], session: Any, place: str, batches: list[Any]) -> pa.Table:
        agg = {f"a{i}": aggregate(name) for i, name in enumerate(parts["agg"])}
        arguments: dict[str, Any] = {"on": "t", "by": parts["by"] or None, "agg": agg}
        arguments |= {"order_by": parts["order_by"] or None, "fragments": parts["fragments"], "buckets": 2}
        Path(f"{place}/in").mkdir()
        frames: Any = None
        for k, rows in enumerate(batches):
            path = f"{place}/in/part-{k}.parquet"
            pq.write_table(table_of(parts, rows), path)
            os.utime(path, (1_600_000_000 + k, 1_600_000_000 + k))
            # Each file is a separate run of the query, which resumes where the previous one stopped.
            schema = session.read.parquet(f"{place}/in").schema
            source = session.readStream.schema(schema).parquet(f"{place}/in")
            source = source.withWatermark("t", f"{parts['delay']} seconds")
            frames = wr.frames(source, schemes.build(parts["scheme"]), **arguments)
            query = (
                frames.writeStream.format("parquet").option("path", f"{place}/out")
                .option("checkpointLocation", f"{place}/checkpoint").trigger(availableNow=True).start()
            )  # fmt: skip
            query.awaitTermination()
        streamed = session.read.schema(frames.schema).parquet(f"{place}/out").drop("known_at").toArrow()
        rest = wr.frames(source, schemes.build(parts["scheme"]), **arguments, flush=f"{place}/checkpoint")
        rest = rest.drop("known_at").toArrow()
        order = [(name, "ascending") for name in (*parts["by"], "frame", "fragment")]
        return pa.concat_tables([streamed, rest.cast(streamed.schema)]).sort_by(order)


class SparkFill(Kind):
    """`wr.fill` of a table of frames, with tags and with aggregates."""

    name = "spark-fill"
    share = 0.5
    spark = True

    def draw(self, rng: random.Random) -> dict[str, Any]:
        groups, span = rng.choice((1, 5, 40)), rng.choice((5, 40, 1000))
        frames = []
        for _ in range(rng.choice((0, 5, 100))):
            start = rng.randint(0, span)
            frames.append([rng.randrange(groups), start, start + rng.choice((0, 1, 3, 30, -1))])
        rows = [
            [rng.randrange(groups), rng.randint(0, span), rng.choice((None, *range(-5, 6)))]
            for _ in range(rng.choice((0, 10, 300)))
        ]
        kind = rng.choice(("bigint", "timestamp", "date", "double", "timestamp_ntz"))
        return {"clock": kind, "frames": frames, "rows": rows} | draw_settings(rng)

    def check(self, parts: dict[str, Any]) -> int:
        kinds = {"g": "bigint", "start": parts["clock"], "end": parts["clock"], "frame": "bigint"}
        frames = [[*frame, k] for k, frame in enumerate(parts["frames"])]
        rows = [[*row, i] for i, row in enumerate(parts["rows"])]
        with settings(parts) as session, folder() as place:
            write(table(kinds, frames), f"{place}/frames", 1, 1000)
            write(
                table({"g": "bigint", "t": parts["clock"], "v": "bigint", "p": "bigint"}, rows), f"{place}/rows", 2, 7
            )
            left, right = session.read.parquet(f"{place}/frames"), session.read.parquet(f"{place}/rows")
            tagged = wr.fill(left, right, on="t", by="g").toArrow()
            agg = {f"a{i}": aggregate(name) for i, name in enumerate(AGG)}
            summed = wr.fill(left, right, on="t", by="g", agg=agg, order_by="p").toArrow()
        tags = sorted((row["p"], row["frame"]) for row in dictionaries(tagged))
        expected = sorted((i, k) for k, frame in enumerate(parts["frames"]) for i in inside(frame, parts["rows"]))
        if tags != expected:
            raise Mismatch("fill: tags", f"found {tags[:50]}, expected {expected[:50]}")
        sums = dictionaries(summed)
        if sorted(row["frame"] for row in sums) != list(range(len(parts["frames"]))):
            raise Mismatch("fill: frames", f"found {sums}")
        for row in sums:
            compare_sums(row, "a", parts["frames"][row["frame"]], parts["rows"])
        return max(1, len(frames))
