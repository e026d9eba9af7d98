"""Spark's Python daemon with Windrow already imported.

Spark forks each Python worker from a daemon. With Spark's own daemon, every worker imports pandas, pyarrow, numba and
Windrow by itself, which takes it about two seconds of a core. A fork of this one has them from the start, and shares
their memory with the other workers. `wr.session` selects it by `spark.python.daemon.module`.
"""

from __future__ import annotations

import gc

import pandas  # noqa: F401
import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

import windrow.filling.filler
import windrow.framing.parallel
import windrow.spark.streams.operator  # noqa: F401

if __name__ == "__main__":
    # Collections in the workers would otherwise write to, and so copy, every page that they share with the daemon.
    gc.freeze()
    manager()
