"""Windows over rows in the order of `on`, for queries that depend on the order of rows."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from windrow.rows.groups import Directory
from windrow.rows.query import RowBatch
from windrow.windows.gather import Gatherer
from windrow.windows.query import WindowQuery
from windrow.windows.slider import Slider


class WindowsInOrder:
    """The windows of all groups in a task, whose rows arrive sorted by `on`, with groups interleaved."""

    def __init__(self, query: WindowQuery, directory: Directory) -> None:
        self._slider = Slider(query, directory)
        self._gatherer = Gatherer(query, self._slider.synopsis_windows, directory)

    def add(self, rows: RowBatch) -> Iterator[pa.Table]:
        """Take in the next rows, and yield the windows that are due."""
        self._slider.add(*self._gatherer.gather(rows))
        yield from self._slider.report(self._gatherer.past(self._slider.latest()))

    def finish(self) -> Iterator[pa.Table]:
        """Yield the windows that remain at the end of the data."""
        yield from self._slider.report(self._gatherer.past(self._slider.latest()), final=True)
