"""Checkpoints written before the modules moved still open: a continued query returns what one without a stop does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

import fill_streams
import frame_streams
import saved_checkpoints
import windows_by_definition as sliding
import windrow as wr
from saved_checkpoints import EXPECTED, HALVES, QUERIES, STORED, land, remaining, run, unpack
from sweeps import sweep
from windrow.errors import SourceError
from windrow.filling.filler import Filler
from windrow.framing.stream import StreamFramer
from windrow.rows.buffers.waiting import MemoryShelf
from windrow.spark.streams.saved import FILLING, FRAMING, SLIDING, buckets_of
from windrow.state.arrow import about_of, save_tables, saved_tables
from windrow.windows.stream import StreamSlider

pytestmark = pytest.mark.spark

WRITTEN = json.loads((STORED / EXPECTED).read_text())


def unpacked(name: str, folder: Path) -> Path:
    """Unpack the saved checkpoint of a query, with its input: the files it has read, and more."""
    for half in HALVES:
        land(folder, half)
    return unpack(STORED / f"{name}.tar.gz", folder, name)


@pytest.mark.parametrize("name", sweep(QUERIES, "frames", "fill", "slide"))
def test_a_saved_checkpoint_is_continued(spark, tmp_path: Path, name: str) -> None:
    query, written, checkpoint = QUERIES[name], WRITTEN[name], unpacked(name, tmp_path)
    after = run(query.build(spark, tmp_path), checkpoint)
    rest = remaining(spark, query, tmp_path, checkpoint)
    assert after
    assert sorted([*written["before the stop"], *after, *rest]) == written["without a stop"]


def bytes_of(spark, checkpoint: Path, names: tuple[str, str]) -> bytes:
    """Return the state of one bucket."""
    state = buckets_of(spark, str(checkpoint), names).where("piece is null").sort("bucket").first()
    assert state is not None
    return bytes(state["data"])


def load_frames(data: bytes) -> Any:
    plan = frame_streams.plan_for(wr.Threshold("hit"))
    return StreamFramer.load(plan, MemoryShelf(), data)


def load_windows(data: bytes) -> Any:
    plan = sliding.plan_of(sliding.slide_of([wr.Tumbling(10)], {"n": wr.count()}))
    return StreamSlider.load(plan, MemoryShelf(), data)


def load_filler(data: bytes) -> Any:
    plan = fill_streams.plan_for(fill_streams.NOTHING, {})
    return Filler.load(plan, MemoryShelf(), data)


LOADERS: dict[str, tuple[tuple[str, str], Callable[[bytes], Any]]] = {
    "frames": (FRAMING, load_frames),
    "slide": (SLIDING, load_windows),
    "fill": (FILLING, load_filler),
}


@pytest.mark.parametrize("kind", LOADERS)
def test_a_saved_state_of_a_newer_version_or_of_another_kind_is_refused(spark, tmp_path: Path, kind: str) -> None:
    names, load = LOADERS[kind]
    data = bytes_of(spark, unpacked(kind, tmp_path), names)
    first, *others = saved_tables(data, kind)
    about = about_of(first)
    newer = first.replace_schema_metadata({"windrow": json.dumps(about | {"version": about["version"] + 1})})
    message = f"a state of version {about['version'] + 1}, written by a newer Windrow.*upgrade Windrow, or use a new"
    with pytest.raises(SourceError, match=message):
        load(save_tables(kind, [newer, *others]))
    with pytest.raises(SourceError, match="the checkpoint was written with"):
        load(data)
    for other, (_, load_other) in LOADERS.items():
        if other != kind:
            with pytest.raises(SourceError, match=f"of kind '{kind}', expected '{other}'"):
                load_other(data)


def test_a_saved_checkpoint_is_not_continued_as_another_query(spark, tmp_path: Path) -> None:
    checkpoint = unpacked("frames", tmp_path)
    with pytest.raises(StreamingQueryException) as caught:
        run(saved_checkpoints.slide(spark, tmp_path), checkpoint)
    assert "the checkpoint holds the state of wr.frames" in str(wr.failure(caught.value))
    with pytest.raises(StreamingQueryException) as caught:
        run(saved_checkpoints.delta(spark, tmp_path), checkpoint)
    assert "the checkpoint was written with scheme=Threshold" in str(wr.failure(caught.value))


def test_a_checkpoint_is_packed_without_its_location(tmp_path: Path) -> None:
    written, moved, archive = tmp_path / "written", tmp_path / "moved", tmp_path / "packed.tar.gz"
    (written / "frames").mkdir(parents=True)
    (written / "frames" / "metadata").write_text(f'{{"path": "file:{written}/frames/state"}}')
    saved_checkpoints.pack(written, "frames", archive)
    checkpoint = unpack(archive, moved, "frames")
    assert (checkpoint / "metadata").read_text() == f'{{"path": "file:{moved}/frames/state"}}'
