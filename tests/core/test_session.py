"""A session that cannot work is refused in one sentence, before any job."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from windrow.errors import SessionError
from windrow.spark.session import check_session


def session(**conf: str) -> SimpleNamespace:
    return SimpleNamespace(version="4.3.0", conf=SimpleNamespace(get=lambda key, other=None: conf.get(key, other)))


@pytest.fixture
def stranger(monkeypatch, tmp_path):
    """A `python3` on the PATH that knows nothing of Windrow."""
    (tmp_path / "python3").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "python3").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    monkeypatch.delenv("SPARK_LOCAL_REMOTE", raising=False)
    return tmp_path / "python3"


def test_workers_without_windrow_are_named(stranger, monkeypatch):
    wanted = f"run {stranger}, which cannot import windrow; set PYSPARK_PYTHON={sys.executable}"
    with pytest.raises(SessionError) as caught:
        check_session(session(**{"spark.master": "local[2]"}))
    assert wanted in str(caught.value)
    monkeypatch.setenv("SPARK_LOCAL_REMOTE", "1")  # what Spark Connect sets where it starts its own server
    with pytest.raises(SessionError, match="PYSPARK_PYTHON"):
        check_session(session())


def test_workers_that_cannot_be_seen_or_are_named_are_trusted(stranger, monkeypatch):
    check_session(session(**{"spark.master": "spark://elsewhere:7077"}))
    check_session(session(**{"spark.master": "local", "spark.pyspark.python": "/opt/python"}))
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    check_session(session(**{"spark.master": "local"}))


def test_a_version_that_is_too_old():
    old = session()
    old.version = "4.0.2"
    with pytest.raises(SessionError, match=r"^this session runs Spark 4\.0\.2; Windrow needs 4\.1 or newer$"):
        check_session(old)
