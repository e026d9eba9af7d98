"""Arrival of the traffic day: readings delayed by up to two minutes, in files that land one by one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from windrow.demo.traffic import DAY, TrafficDay

NIGHT = 5 * 3600
"""Little happens at night, so everything that arrives before five o'clock is one file."""
SECONDS_PER_FILE = 15 * 60
LONGEST_DELAY = 119
"""In seconds. A watermark of two minutes loses nothing."""


def arrivals(day: TrafficDay, seed: int = 8) -> list[pa.Table]:
    """Return the readings in order of arrival, one table per file; times are instants, in UTC.

    >>> from windrow.demo.traffic import traffic_day
    >>> files = arrivals(traffic_day(detectors=4))
    >>> len(files), files[0].schema.field("starttime").type
    (77, TimestampType(timestamp[us, tz=UTC]))
    """
    rng = np.random.default_rng(seed)
    sent = (day.table["starttime"].to_numpy() - np.datetime64(DAY, "us")) / np.timedelta64(1, "s")
    comes = sent + np.minimum(rng.exponential(15, sent.size), LONGEST_DELAY)
    order = np.argsort(comes, kind="stable")
    at = day.table.schema.get_field_index("starttime")
    instants = day.table.set_column(at, "starttime", day.table["starttime"].cast(pa.timestamp("us", "UTC")))
    cuts = np.arange(NIGHT, 24 * 3600, SECONDS_PER_FILE)
    bounds = [0, *np.searchsorted(comes[order], cuts).tolist(), order.size]
    arrived = instants.take(pa.array(order))
    return [arrived.slice(a, b - a) for a, b in pairwise(bounds)]


class Landing:
    """A thread that writes files to a folder one after the other; existing files stay."""

    def __init__(
        self, files: Sequence[pa.Table], folder: Path, every: float, write: Callable[[pa.Table, Path], None]
    ) -> None:
        self.files, self.folder, self.every, self.write = files, folder, every, write
        self.landed = 0
        self.error: Exception | None = None
        self._stopped, self._over = threading.Event(), threading.Event()

    def start(self, afterwards: Callable[[], None]) -> None:
        """Start landing files; call `afterwards` when all have landed."""
        threading.Thread(target=self._run, args=(afterwards,), daemon=True).start()

    def stop(self) -> None:
        """Stop landing files."""
        self._stopped.set()

    @property
    def is_over(self) -> bool:
        """Whether all files landed before `stop` was called."""
        return self._over.is_set()

    @property
    def has_ended(self) -> bool:
        """Whether no more files will come: all landed, or it was stopped or failed."""
        return self.is_over or self._stopped.is_set()

    def _run(self, afterwards: Callable[[], None]) -> None:
        try:
            for number in range(len(self.files)):
                if self._stopped.is_set():
                    return
                self._land(number)
        except Exception as error:
            self.error = error
            self.stop()
            return
        # If the query fails here, whoever watches it sees the error.
        with suppress(Exception):
            afterwards()
            if not self._stopped.is_set():
                self._over.set()

    def _land(self, number: int) -> None:
        path = self.folder / f"readings-{number:03}.parquet"
        if not path.exists():
            self.write(self.files[number], path)
            self._stopped.wait(self.every)
        self.landed = number + 1
