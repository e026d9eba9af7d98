"""A real standalone cluster on loopback, from the PySpark package, whose workers can be killed."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyspark

from killing import kill

HERE = Path(__file__).parent
SPARK_HOME = Path(pyspark.__file__).parent


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of the processes of the cluster and of those that use it."""
    path = os.pathsep.join(filter(None, [str(HERE), str(HERE.parents[1]), os.environ.get("PYTHONPATH")]))
    return {
        **os.environ,
        "PYTHONPATH": path,
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(folder / "work"),
        "SPARK_LOG_DIR": str(folder / "logs"),
    }


class Cluster:
    """A master, and workers of one core each."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self.environment = environment(folder)
        self._log = folder / "cluster.log"
        self._out = self._log.open("wb")
        self.workers: list[subprocess.Popen[Any]] = []
        port = free_port()
        self.url = f"spark://127.0.0.1:{port}"
        self._master = self._launch(
            "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"
        )
        self._wait_for("I have been elected leader", 1)
        for _ in range(workers):
            self.add_worker()

    def add_worker(self) -> None:
        """Start a worker and wait until it is registered."""
        registered = len(re.findall("Registering worker 127.0.0.1", self._output()))
        words = ["--host", "127.0.0.1", "-c", "1", "-m", "1g", "--webui-port", "0", self.url]
        self.workers.append(self._launch("org.apache.spark.deploy.worker.Worker", *words))
        self._wait_for("Registering worker 127.0.0.1", registered + 1)

    def kill_worker(self) -> None:
        """SIGKILL the oldest worker with its executors and their Python processes."""
        kill(self.workers.pop(0))

    def stop(self) -> None:
        """Stop the workers and the master."""
        for process in (*self.workers, self._master):
            process.terminate()
        for process in (*self.workers, self._master):
            process.wait(30)
        self._out.close()

    def _launch(self, *words: str) -> subprocess.Popen[Any]:
        command = [str(SPARK_HOME / "bin" / "spark-class"), *words]
        return subprocess.Popen(command, env=self.environment, stdout=self._out, stderr=self._out)

    def _output(self) -> str:
        return self._log.read_text(errors="replace")

    def _wait_for(self, text: str, times: int) -> None:
        for _ in range(240):
            if len(re.findall(text, self._output())) >= times:
                return
            time.sleep(0.5)
        raise AssertionError(f"{text!r} was not logged {times} times: {self._output()[-2000:]}")


def free_port() -> int:
    """Return a free port of the loopback interface."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
