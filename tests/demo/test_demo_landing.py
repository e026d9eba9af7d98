"""The day as it lands: all of it, nearly in order, and once."""

import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from windrow.demo import traffic_day
from windrow.demo.landing import Landing, arrivals
from windrow.demo.run import write_table
from windrow.demo.stream import as_shown
from windrow.errors import OutputError

KEYS = [("starttime", "ascending"), ("detectorid", "ascending")]


@pytest.fixture(scope="module")
def files() -> list[pa.Table]:
    return arrivals(traffic_day(detectors=8, seed=3), seed=3)


def test_every_reading_comes_in_once_and_out_of_order(files: list[pa.Table]) -> None:
    day = traffic_day(detectors=8, seed=3).table
    came = pa.concat_tables(files)
    assert came.sort_by(KEYS).equals(day.sort_by(KEYS).cast(came.schema))
    assert not came.equals(came.sort_by(KEYS))
    assert len(files) == 1 + 19 * 4


def test_no_reading_is_two_minutes_behind_one_that_came_before(files: list[pa.Table]) -> None:
    times = pa.concat_tables(files)["starttime"].to_numpy()
    behind = np.maximum.accumulate(times) - times
    assert np.timedelta64(20, "s") < behind.max() < np.timedelta64(2, "m")


def lands(landing: Landing, within: float) -> bool:
    done = threading.Event()
    landing.start(done.set)
    return done.wait(within)


def test_files_land_whole_and_those_that_are_there_stay(files: list[pa.Table], tmp_path: Path) -> None:
    (tmp_path / "readings-000.parquet").write_text("mine")
    landing = Landing(files[:3], tmp_path, 0, write_table)
    assert lands(landing, within=60)
    assert landing.landed == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"readings-{i:03}.parquet" for i in range(3)]
    assert (tmp_path / "readings-000.parquet").read_text() == "mine"
    assert pq.read_table(tmp_path / "readings-002.parquet").equals(files[2])


def test_a_landing_that_is_stopped_is_not_over(files: list[pa.Table], tmp_path: Path) -> None:
    landing = Landing(files, tmp_path, 0, write_table)
    landing.stop()
    assert not lands(landing, within=0.5)
    assert landing.has_ended
    assert not landing.is_over
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_to_ends_it(files: list[pa.Table], tmp_path: Path) -> None:
    landing = Landing(files, tmp_path / "none", 0, write_table)
    assert not lands(landing, within=0.5)
    assert landing.has_ended
    assert isinstance(landing.error, OutputError)


def test_a_jam_is_growing_until_its_last_piece() -> None:
    at = pa.array([0, 60_000_000, 120_000_000], pa.timestamp("us"))
    pieces = pa.table({
        "detectorid": [7, 7, 7], "frame": [0, 0, 0], "fragment": [0, 1, 2], "start": at, "end": at, "count": [1, 1, 1],
        "slowest": [20.0, 21.0, 22.0], "average": [20.04, 21.0, 22.0], "cars": [3, 4, 5], "final": [False, False, True],
    })  # fmt: skip
    shown = as_shown(pieces.take([2, 0, 1]))
    assert shown["jam is"] == ["growing", "growing", "over"]
    assert shown["piece"] == [0, 1, 2]
    assert shown["average mph"] == [20.0, 21.0, 22.0]
