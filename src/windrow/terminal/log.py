"""The log of the Java process while a command runs."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


class SparkLog:
    """The file that receives the output of the Java process; deleted when the command ends."""

    def __init__(self) -> None:
        handle, name = tempfile.mkstemp(prefix="windrow-spark-", suffix=".log")
        os.close(handle)
        self.path = Path(name)

    def tail(self, lines: int = 40) -> str:
        """Return the last lines, for the report of an unexpected error."""
        try:
            return "\n".join(self.path.read_text(errors="replace").splitlines()[-lines:])
        except OSError:
            return ""

    def remove(self) -> None:
        """Delete the file; the Java process may still write to it."""
        self.path.unlink(missing_ok=True)
