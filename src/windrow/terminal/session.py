"""A Spark session whose log does not appear on the terminal.

The Java process writes everything, from JVM warnings to tracebacks of workers, to the stderr it inherits at startup. So
stderr points to a file while the process starts, and to the terminal again afterwards. This needs no log4j
configuration and catches everything.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from windrow.spark.sessions import session
from windrow.terminal.log import SparkLog

STDERR = 2


def quiet_session(log: SparkLog) -> SparkSession:
    """Return the active session, or a new local one that logs to a file."""
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    with _stderr_to(log.path):
        made = session()
    if threading.current_thread() is threading.main_thread():
        # PySpark's own handler calls Spark over the very connection that it interrupts, and fails loudly.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return made


@contextmanager
def _stderr_to(path: Path) -> Iterator[None]:
    sys.stderr.flush()
    terminal = os.dup(STDERR)
    log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.dup2(log, STDERR)
        yield
    finally:
        os.dup2(terminal, STDERR)
        os.close(terminal)
        os.close(log)
