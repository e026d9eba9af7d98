"""A streaming query in the terminal: its counts so far, and a clean stop on Ctrl-C."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import FrameType
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

SECONDS_BETWEEN_LOOKS = 0.25
FAR_AHEAD = timedelta(hours=1)
"""A watermark this far ahead of the clock was moved by a row from the future."""


@dataclass
class Counts:
    """The numbers of rows that arrived, were late, dropped or held back, as the query's batches report them."""

    arrived: int = 0
    late: int = 0
    dropped: int = 0
    held: int = 0
    batch: int = -1
    runs_ahead: datetime | None = None
    """The watermark, if it is so far ahead of the clock that today's rows are late."""

    def take(self, progress: Iterable[Any]) -> None:
        """Add the batches that have not been counted yet."""
        for report in progress:
            metrics = list(report["observedMetrics"].values())
            if report["batchId"] <= self.batch or not metrics:
                continue
            self.batch = report["batchId"]
            self._look_at((report.get("eventTime") or {}).get("watermark"))
            for name in ("arrived", "late", "dropped", "held"):
                # The operator and the guard each report their own metrics.
                total = sum(each[name] or 0 for each in metrics if name in each)
                setattr(self, name, getattr(self, name) + total)

    def _look_at(self, watermark: str | None) -> None:
        reached = datetime.fromisoformat(watermark) if watermark else None
        is_ahead = reached is not None and reached - datetime.now(UTC) > FAR_AHEAD
        self.runs_ahead = reached if is_ahead else None

    def __str__(self) -> str:
        dropped = f", {self.dropped:,} dropped because of a null" if self.dropped else ""
        held = f", {self.held:,} held back from the future" if self.held else ""
        ahead = f", warning: the watermark is ahead of the clock, at {self.runs_ahead}" if self.runs_ahead else ""
        return f"{self.arrived:,} row{'' if self.arrived == 1 else 's'}, {self.late:,} late{dropped}{held}{ahead}"


@contextmanager
def interruption() -> Iterator[threading.Event]:
    """Yield an event that the first Ctrl-C sets instead of interrupting a call to Spark; a second acts as usual."""
    requested = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield requested
        return

    def request(_: int, __: FrameType | None) -> None:
        requested.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, request)
    try:
        yield requested
    finally:
        signal.signal(signal.SIGINT, before)


def watch(query: StreamingQuery, look: Callable[[Counts], None], until: Callable[[], bool]) -> Counts:
    """Poll a query until it ends or `until` returns true, then stop it; raise the error of a failed query."""
    counts = Counts()
    try:
        while query.isActive and not until():
            counts.take(query.recentProgress)
            look(counts)
            time.sleep(SECONDS_BETWEEN_LOOKS)
        if not query.isActive:
            query.awaitTermination()
    finally:
        query.stop()
    counts.take(query.recentProgress)
    look(counts)
    return counts
