"""Where the Java process writes while a command runs."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


class SparkLog:
    """The file that takes what the Java process writes; removed with the command."""

    def __init__(self) -> None:
        handle, name = tempfile.mkstemp(prefix="windrow-spark-", suffix=".log")
        os.close(handle)
        self.path = Path(name)

    def tail(self, lines: int = 40) -> str:
        """The last lines, for a report of something unexpected."""
        try:
            return "\n".join(self.path.read_text(errors="replace").splitlines()[-lines:])
        except OSError:
            return ""

    def remove(self) -> None:
        """Delete the file; the Java process may still write to it, unread."""
        self.path.unlink(missing_ok=True)
