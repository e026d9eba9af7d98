"""A synthetic day on a motorway: a row of loop detectors that report every 20 seconds.

Queues grow upstream from where they start: from a few bottlenecks every rush hour, and from incidents at any time.
Within a queue, stop-and-go waves run upstream. A detector that saw no car has no speed; one that failed sends nothing
for a while. The generated events are returned with the readings, so that tests know what must be found.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.errors import SpecError

Floats = npt.NDArray[np.float32]

DAY = datetime(2024, 3, 5)
SECONDS_PER_READING = 20
READINGS = 24 * 3600 // SECONDS_PER_READING
HOURS = np.arange(READINGS) * SECONDS_PER_READING / 3600
FIRST_ID = 1001
FREE_SPEED = 62.0


@dataclass(frozen=True)
class Queue:
    """Standing traffic that starts at detector `head` and reaches up to `reach` detectors upstream (lower numbers)."""

    head: int
    reach: float
    begin: float
    end: float
    speed: float
    incident: bool

    def severity(self, detectors: int) -> Floats:
        """Return the intensity of the queue at each reading and detector, from 0 to 1."""
        u = ((HOURS - self.begin) / (self.end - self.begin))[:, None]
        x = np.arange(detectors)[None, :]
        uneven = 1 + 0.13 * np.sin(17 * u + self.head) + 0.07 * np.sin(41 * u + 2 * self.head)
        if self.incident:  # the tail grows steadily; once the road is cleared, the head dissolves after it
            tail, head = self.head - self.reach * u * uneven, self.head - self.reach * np.clip((u - 0.6) / 0.4, 0, 1)
        else:
            long = np.sin(np.pi * np.clip(u, 0, 1)) ** 0.7
            tail, head = self.head - self.reach * long * uneven, np.full_like(u, self.head)
        inside = np.clip((x - tail) / 2 + 1, 0, 1) * np.clip(head - x + 1, 0, 1)
        return np.where((u >= 0) & (u <= 1), inside, 0).astype(np.float32)


@dataclass(frozen=True)
class Outage:
    """The readings that a detector did not send, from the first to the last."""

    detector: int
    first: int
    last: int


@dataclass(frozen=True)
class TrafficDay:
    """The readings in order of time, and the events behind them; arrays are readings by detectors."""

    table: pa.Table
    speed: Floats
    severity: Floats
    queues: tuple[Queue, ...]
    outages: tuple[Outage, ...]


def traffic_day(detectors: int = 200, seed: int = 8) -> TrafficDay:
    """Generate a day of readings from a row of detectors; equal seeds give equal days.

    >>> day = traffic_day(detectors=4)
    >>> day.table.column_names
    ['detectorid', 'starttime', 'speed', 'volume', 'occupancy']
    """
    if detectors < 4:
        raise SpecError(f"detectors: {detectors} are too few for a queue; give at least 4")
    rng = np.random.default_rng(seed)
    queues = _queues(detectors, rng)
    severity = np.maximum.reduce([queue.severity(detectors) for queue in queues])
    speed = _speed(queues, severity, rng)
    volume = rng.poisson(_demand()[:, None] * (1 - 0.45 * severity)).astype(np.int32)
    # Percentage of the time that a car of 7 m is over the loop.
    occupancy = np.minimum(volume * 7 / (speed * 0.447 * SECONDS_PER_READING) * 100, 100)
    unknown = (volume == 0) | (rng.random(volume.shape) < 0.003)
    speed[unknown] = np.nan
    outages = _outages(queues, detectors, rng)
    present = np.ones(volume.shape, bool)
    for outage in outages:
        present[outage.first : outage.last + 1, outage.detector] = False
    speed[~present] = np.nan
    table = _table(present, speed, volume, occupancy)
    return TrafficDay(table, speed, severity, queues, outages)


def _queues(detectors: int, rng: np.random.Generator) -> tuple[Queue, ...]:
    queues = []
    for count, begin, end in ((max(1, detectors // 90), 6.7, 9.4), (max(1, detectors // 65), 15.2, 18.6)):
        for k in range(count):
            head = round((k + 0.75 + rng.uniform(-0.1, 0.1)) / count * (detectors - 1))
            reach = min(rng.uniform(20, 45), 0.6 * head)
            start, stop = begin + rng.uniform(0, 0.6), end - rng.uniform(0, 0.8)
            queues.append(Queue(head, reach, start, stop, rng.uniform(15, 22), incident=False))
    for _ in range(max(1, detectors // 30)):
        head, begin = int(rng.integers(detectors // 2, detectors)), rng.uniform(5.5, 21.5)
        reach = min(rng.uniform(8, 18), 0.6 * head)
        queues.append(Queue(head, reach, begin, begin + rng.uniform(0.4, 0.9), rng.uniform(9, 15), incident=True))
    return tuple(queues)


def _speed(queues: tuple[Queue, ...], severity: Floats, rng: np.random.Generator) -> Floats:
    detectors = severity.shape[1]
    free = FREE_SPEED + rng.normal(0, 2, detectors) - 0.6 * _demand()[:, None] + rng.normal(0, 2.6, severity.shape)
    slow = np.full(severity.shape, 22.0)
    for queue in queues:
        behind = np.maximum(queue.head - np.arange(detectors), 0) / queue.reach
        slow = np.where(queue.severity(detectors) > 0, queue.speed + 6 * behind, slow)
    minutes = HOURS[:, None] * 60
    waves = 6.5 * np.sin(2 * np.pi * (minutes / 7 + np.arange(detectors) / 9)) * np.sin(2 * np.pi * minutes / 53)
    slow += waves + rng.normal(0, 2, severity.shape)
    return np.round(np.maximum(free * (1 - severity) + slow * severity, 2), 1).astype(np.float32)


def _demand() -> npt.NDArray[np.float64]:
    """Return the cars per 20 seconds over the day."""
    morning = 4.5 * np.exp(-(((HOURS - 7.9) / 1.4) ** 2))
    evening = 5.0 * np.exp(-(((HOURS - 16.9) / 1.9) ** 2))
    day = 3.6 / (1 + np.exp(-(HOURS - 6) * 2.2)) / (1 + np.exp((HOURS - 20.5) * 1.3))
    demand: npt.NDArray[np.float64] = 1.1 + morning + evening + day
    return demand


def _outages(queues: tuple[Queue, ...], detectors: int, rng: np.random.Generator) -> tuple[Outage, ...]:
    """Return two outages during a queue, one long and one short, and others anywhere."""
    evening = max((queue for queue in queues if not queue.incident), key=lambda queue: queue.end)
    middle = int((evening.begin + evening.end) / 2 * 3600) // SECONDS_PER_READING
    outages = [Outage(evening.head, middle, middle + 74), Outage(evening.head - 1, middle, middle + 11)]
    for detector in rng.choice(detectors, max(1, detectors // 12), replace=False).tolist():
        if detector not in (evening.head, evening.head - 1):
            first = int(rng.integers(5 * 180, 21 * 180))
            outages.append(Outage(detector, first, first + int(rng.integers(30, 360))))
    return tuple(outages)


def _table(present: npt.NDArray[np.bool_], speed: Floats, volume: npt.NDArray[np.int32], occupancy: Floats) -> pa.Table:
    reading, detector = np.nonzero(present)
    micros = np.datetime64(DAY, "us") + reading * np.timedelta64(SECONDS_PER_READING * 1_000_000, "us")
    seen = speed[present].astype(np.float64).round(1)
    columns: list[Any] = [
        pa.array((FIRST_ID + detector).astype(np.int32)),
        pa.array(micros, pa.timestamp("us")),
        pa.array(seen, mask=np.isnan(seen)),
        pa.array(volume[present]),
        pa.array(occupancy[present].astype(np.float64).round(1)),
    ]
    return pa.table(columns, ["detectorid", "starttime", "speed", "volume", "occupancy"])
