"""Options for the Java processes of all tests and doctests, including those that commands and scripts start.

Most of them run for less than a minute, of which Java spends a third on loading and compiling classes.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

CLASSES = Path(sys.prefix) / "spark-classes.jsa"
"""Spark's classes as Java has loaded and verified them, written by `scripts/archive_classes.py`; Java runs without."""

OPTIONS = (
    # Java's second compiler takes longer than it saves.
    "-XX:TieredStopAtLevel=1",
    f"-XX:SharedArchiveFile={CLASSES}",
    # Java reports an archive of another version on stdout, and then does without it.
    "-Xlog:disable",
    "-Xlog:all=error:stderr",
)
os.environ.setdefault("SPARK_SUBMIT_OPTS", " ".join(OPTIONS))
