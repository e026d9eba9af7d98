"""Windrow works unchanged over Spark Connect and on a real standalone cluster on loopback."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import pyspark
import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

HERE = Path(__file__).parent
SPARK_HOME = Path(pyspark.__file__).parent


def environment(folder: Path) -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
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


def run_everywhere(folder: Path, where: str) -> str:
    command = [sys.executable, str(HERE / "everywhere.py"), str(folder), where]
    done = subprocess.run(command, env=environment(folder), capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    return done.stdout


def test_every_plan_over_spark_connect(tmp_path):
    said = run_everywhere(tmp_path, "connect")
    assert said.count(" ok") == 9


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def cluster(tmp_path):
    """A master and two workers of one core each, from the PySpark package; stopped at the end."""
    port, master = free_port(), "org.apache.spark.deploy.master.Master"
    start = [str(SPARK_HOME / "bin" / "spark-class")]
    log = tmp_path / "cluster.log"
    running: list[subprocess.Popen[bytes]] = []
    with log.open("wb") as out:

        def launch(*words: str) -> None:
            running.append(subprocess.Popen([*start, *words], env=environment(tmp_path), stdout=out, stderr=out))

        launch(master, "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
        wait_for(log, "I have been elected leader", 1)
        for _ in range(2):
            worker = "org.apache.spark.deploy.worker.Worker"
            launch(
                worker, "--host", "127.0.0.1", "-c", "1", "-m", "1g", "--webui-port", "0", f"spark://127.0.0.1:{port}"
            )
        wait_for(log, "Registering worker 127.0.0.1", 2)
        yield f"spark://127.0.0.1:{port}"
        for process in reversed(running):
            process.terminate()
        for process in running:
            process.wait(30)


def wait_for(log: Path, text: str, times: int) -> None:
    for _ in range(120):
        if len(re.findall(text, log.read_text(errors="replace"))) >= times:
            return
        time.sleep(0.5)
    raise AssertionError(f"{text!r} was not logged {times} times: {log.read_text(errors='replace')[-2000:]}")


def test_every_plan_on_a_standalone_cluster(cluster, tmp_path):
    said = run_everywhere(tmp_path, cluster)
    assert said.count(" ok") == 9
