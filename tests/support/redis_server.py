"""A Redis server of a test's own, on a free port of this machine, which keeps nothing on disk."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    """The url of a running server."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("there is no redis-server on the PATH: `make redis` installs it on Debian and Ubuntu, as root")
    port = free_port()
    settings = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(folder)]
    with subprocess.Popen([program, *settings], stdout=subprocess.DEVNULL) as running:
        url = f"redis://127.0.0.1:{port}"
        wait(url, running)
        yield url
        running.terminate()


def wait(url: str, running: subprocess.Popen[bytes]) -> None:
    """Wait until the server answers."""
    with redis.Redis.from_url(url, retry=None) as client:
        while running.poll() is None:
            try:
                client.ping()
                return
            except redis.ConnectionError:
                time.sleep(0.02)
    raise RuntimeError("redis-server ended as soon as it was started")
