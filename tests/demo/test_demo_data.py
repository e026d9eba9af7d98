"""The demo's data are what they say: the same for the same seed, and with what was put in."""

from itertools import pairwise

import numpy as np
import pyarrow.compute as pc
import pytest

from windrow.demo import dye_tow, traffic_day
from windrow.demo.loops import dye_by_loop, jams_by_loop, steps_by_loop
from windrow.demo.traffic import FIRST_ID, READINGS, SECONDS_PER_READING
from windrow.errors import SpecError

MICROS = SECONDS_PER_READING * 1_000_000


@pytest.fixture(scope="module")
def day():
    return traffic_day(detectors=30, seed=3)


@pytest.fixture(scope="module")
def tow():
    return dye_tow(scans=30_000, seed=3)


def test_the_same_seed_makes_the_same_data_and_another_seed_does_not(day, tow) -> None:
    assert traffic_day(detectors=30, seed=3).table.equals(day.table)
    assert dye_tow(scans=30_000, seed=3).table.equals(tow.table)
    assert not traffic_day(detectors=30, seed=4).table.equals(day.table)
    assert not dye_tow(scans=30_000, seed=4).table.equals(tow.table)


def test_readings_are_in_the_order_of_time_with_one_a_detector_and_time(day) -> None:
    times, detectors = day.table["starttime"].to_numpy(), day.table["detectorid"].to_numpy()
    steps = np.diff(times).astype(np.int64)
    assert (steps >= 0).all()
    assert (np.diff(detectors)[steps == 0] > 0).all()
    assert set(detectors) == set(range(FIRST_ID, FIRST_ID + 30))


def test_an_outage_is_a_hole_in_the_readings(day) -> None:
    missing = sum(outage.last - outage.first + 1 for outage in day.outages)
    assert 0 < day.table.num_rows == 30 * READINGS - missing
    longest = max(day.outages, key=lambda outage: outage.last - outage.first)
    mine = day.table.filter(pc.field("detectorid") == FIRST_ID + longest.detector)
    gaps = np.diff(mine["starttime"].to_numpy()).astype("timedelta64[us]").astype(np.int64)
    assert gaps.max() == (longest.last - longest.first + 2) * MICROS


def test_readings_are_plausible(day) -> None:
    speed = day.table["speed"].drop_null().to_numpy()
    assert speed.min() >= 2
    assert 50 < np.median(speed) < 65
    assert 0 < day.table["speed"].null_count < day.table.num_rows // 4
    assert day.table["volume"].null_count == 0
    assert day.table["occupancy"].to_numpy().max() <= 100
    silent = day.table.filter(pc.field("volume") == 0)
    assert silent["speed"].null_count == silent.num_rows


def test_there_are_queues_in_both_rush_hours_and_by_incidents(day) -> None:
    kinds = {("incident" if q.incident else "morning" if q.begin < 12 else "evening") for q in day.queues}
    assert kinds == {"morning", "evening", "incident"}


def test_jams_are_where_queues_were_put_and_nowhere_else(day) -> None:
    inside = np.zeros(day.speed.shape, bool)
    start_of_day = day.table["starttime"].cast("int64").to_numpy()[0]
    for jam in jams_by_loop(day.table):
        first, last = ((at - start_of_day) // MICROS for at in (jam.start, jam.end))
        inside[first : last + 1, jam.group - FIRST_ID] = True
        assert (day.severity[first : last + 1, jam.group - FIRST_ID] > 0).mean() > 0.9
    full = (day.severity == 1) & ~np.isnan(day.speed)
    assert inside[full].mean() > 0.95


def test_a_day_needs_a_few_detectors() -> None:
    assert traffic_day(detectors=4).table.num_rows > 4 * READINGS * 0.8
    with pytest.raises(SpecError, match="at least 4"):
        traffic_day(detectors=3)


def test_dye_is_intermittent_over_a_low_floor(tow) -> None:
    flsp = tow.table["flsp"].to_numpy()
    assert flsp.min() >= 0
    assert np.median(flsp) < 0.05
    assert 0.01 < (flsp > 0.2).mean() < 0.3
    assert flsp.max() > 0.5


def test_the_probe_goes_up_and_down(tow) -> None:
    depth = tow.table["depth"].to_numpy()
    assert 0 < depth.min() < 5
    assert 28 < depth.max() < 35
    assert 15 < (np.diff(depth > 16)).sum() < 30


def test_dye_is_found_and_bubbles_are_not(tow) -> None:
    found = dye_by_loop(tow.table)
    inside = np.zeros(len(tow.dye), bool)
    for run in found:
        inside[run.start : run.end + 1] = True
    assert inside[tow.dye > 0.35].mean() > 0.9
    assert tow.bubbles
    assert not any(inside[first : last + 1].any() for first, last in tow.bubbles)


def test_steps_cover_every_scan_once(tow) -> None:
    steps = steps_by_loop(tow.table)
    assert sum(step.rows for step in steps) == tow.table.num_rows
    assert all(before.end + 1 == after.start for before, after in pairwise(steps))
    assert len(steps) < tow.table.num_rows / 10
