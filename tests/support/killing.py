"""Starting a query in a process of its own, and killing it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil

KILLS = int(os.environ.get("WINDROW_KILLS", "1"))
"""How often a query is killed; `make kill` kills it 25 times."""


def start(script: str, *words: str, environment: dict[str, str] | None = None) -> subprocess.Popen[str]:
    """Start a script and wait until it prints "started": its query runs."""
    command = [sys.executable, script, *words]
    quiet = subprocess.DEVNULL
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=quiet, text=True, env=environment)
    assert running.stdout is not None
    assert running.stdout.readline() == "started\n"
    return running


def kill(running: subprocess.Popen[Any]) -> None:
    """Kill a process and all its children: of a driver, Python, Java and the workers."""
    family = [running, *psutil.Process(running.pid).children(recursive=True)]
    for process in family:
        try:
            process.send_signal(signal.SIGKILL)
        except psutil.NoSuchProcess:
            continue
    running.wait()


def committed(checkpoint: Path) -> int:
    """Return the number of committed batches."""
    return len(list((checkpoint / "commits").glob("[0-9]*")))


def wait(running: subprocess.Popen[str], checkpoint: Path, batches: int) -> None:
    """Wait until a number of batches are committed, or the process has ended. There is no time limit."""
    while committed(checkpoint) < batches and running.poll() is None:
        time.sleep(0.02)
