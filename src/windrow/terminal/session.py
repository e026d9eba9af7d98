"""A Spark session whose log does not land on the terminal.

What the Java process says, from the JVM's own warnings to the tracebacks of workers, goes to a file descriptor that it
inherits when it starts. So the descriptor is a file while it starts, and the terminal again afterwards: nothing has to
be known about log4j, and nothing slips through.
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
    """The active session, or a new local one whose log goes to a file."""
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
    kept = os.dup(STDERR)
    log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.dup2(log, STDERR)
        yield
    finally:
        os.dup2(kept, STDERR)
        os.close(kept)
        os.close(log)
