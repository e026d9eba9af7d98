"""Errors that workers raise on purpose, shown to users as they are: the message last, without a traceback."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import pyarrow as pa

from windrow.errors import WindrowError
from windrow.frames.pieces import MapInArrow

HIDE = "SPARK_HIDE_TRACEBACK"
"""What PySpark looks for in a worker's environment when it reports an exception, after which the worker ends."""


def plainly(run: MapInArrow) -> MapInArrow:
    """Return the same function for `mapInArrow`, whose errors on purpose are reported without a traceback."""

    def run_plainly(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            yield from run(batches)
        except WindrowError:
            os.environ[HIDE] = "1"
            raise

    return run_plainly
