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
    """Start a script that says "started" once its query runs, and wait for that."""
    command = [sys.executable, script, *words]
    quiet = subprocess.DEVNULL
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=quiet, text=True, env=environment)
    assert running.stdout is not None
    assert running.stdout.readline() == "started\n"
    return running


def kill(running: subprocess.Popen[Any]) -> None:
    """SIGKILL a process and all that it started: of a driver, Python and Java alike, and the workers with it."""
    family = [running, *psutil.Process(running.pid).children(recursive=True)]
    for process in family:
        try:
            process.send_signal(signal.SIGKILL)
        except psutil.NoSuchProcess:
            continue
    running.wait()


def committed(checkpoint: Path) -> int:
    """How many batches are done."""
    return len(list((checkpoint / "commits").glob("[0-9]*")))


def wait(running: subprocess.Popen[str], checkpoint: Path, batches: int) -> None:
    """Wait until so many batches are done; on a busy machine that takes what it takes."""
    while committed(checkpoint) < batches and running.poll() is None:
        time.sleep(0.02)
