"""Fragments of frames as tables, and the whole frames they belong to."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import strategies as st

SCHEMA = pa.schema(
    [
        ("g", pa.string()), ("frame", pa.int64()), ("start", pa.int64()), ("end", pa.int64()),
        ("closed_at", pa.int64()), ("count", pa.int64()), ("complete", pa.bool_()), ("total", pa.float64()),
        ("fragment", pa.int64()), ("final", pa.bool_()),
    ]
)  # fmt: skip


def pieces_of(group: str, frame: int, start: int, counts: list[int]) -> list[dict]:
    """The fragments of one frame, one row a second; the last count may be 0: the frame ended without a further row."""
    found, at = [], start
    for i, count in enumerate(counts):
        last = i == len(counts) - 1
        bounds = {"start": at, "end": at + count - 1} if count else {"start": None, "end": None}
        at += count
        closed = {"closed_at": at if last else None, "complete": last, "total": float(at)}
        found.append({"g": group, "frame": frame, "count": count, **bounds, **closed, "fragment": i, "final": last})
    return found


@st.composite
def framings(draw: st.DrawFn) -> list[list[dict]]:
    """Frames of a few groups, each as its fragments."""
    frames = []
    for group in draw(st.lists(st.sampled_from("abc"), unique=True, min_size=1)):
        at = 0
        for number in range(draw(st.integers(1, 4))):
            counts = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
            counts += [0] * draw(st.booleans())
            frames.append(pieces_of(group, number, at, counts))
            at += sum(counts) + 2
    return frames


def whole(frames: list[list[dict]]) -> list[tuple]:
    """What frames must look like, from their fragments."""
    rows = []
    for pieces in frames:
        last = pieces[-1]
        end = max(p["end"] for p in pieces if p["end"] is not None)
        bounds = (pieces[0]["start"], end, last["closed_at"], sum(p["count"] for p in pieces))
        rows.append((last["g"], last["frame"], *bounds, last["complete"], last["total"]))
    return sorted(rows)


def rows_of(table: pa.Table) -> list[tuple]:
    return sorted(zip(*table.drop_columns(["fragment", "final"]).to_pydict().values(), strict=True))


def table_of(pieces: list[dict]) -> pa.Table:
    return pa.Table.from_pylist(pieces, SCHEMA)
