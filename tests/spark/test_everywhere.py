"""Windrow works unchanged over Spark Connect and on a real standalone cluster on loopback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import everywhere
from cluster import environment

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def run_everywhere(folder: Path, where: str) -> str:
    command = [sys.executable, everywhere.__file__, str(folder), where]
    done = subprocess.run(command, env=environment(folder), capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    return done.stdout


def test_every_plan_over_spark_connect(tmp_path):
    said = run_everywhere(tmp_path, "connect")
    assert said.count(" ok") == 11


@pytest.mark.long
def test_every_plan_on_a_standalone_cluster(cluster, tmp_path):
    said = run_everywhere(tmp_path, cluster.url)
    assert said.count(" ok") == 11
