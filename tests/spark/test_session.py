"""A session that cannot work is refused in one sentence, before any job."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
from pyspark.sql import SparkSession

import windrow as wr
from bad_values import BAD
from windrow.errors import SessionError, SpecError
from windrow.spark.sessions import SHUFFLE_PARTITIONS, STATE_PARTITIONS, check_session


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


ACCEPTED = {
    "name": {"long", "unicode"},
    "cores": {"None"},
    "memory": {"None"},
    "config": {"None", "no dict", "dict", "text in dict"},
}


@pytest.mark.parametrize("option", ACCEPTED)
def test_a_session_is_asked_for_in_terms_that_java_understands(option, monkeypatch):
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: "the active session")
    for name, value in BAD.items():
        if name in ACCEPTED[option]:
            assert wr.session(**{option: value}) == "the active session"
            continue
        with pytest.raises(SpecError, match=rf"^{option}: expected") as caught:
            wr.session(**{option: value})
        assert len(str(caught.value)) < 2000


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


def test_streams_have_a_partition_per_core_unless_shuffles_are_set(monkeypatch):
    started: dict[str, str] = {}

    class Builder:
        def __getattr__(self, name):
            return lambda *values: (started.update([values]) if name == "config" else None) or self

    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setattr(SparkSession, "builder", Builder())
    wr.session(cores=3)
    assert (started[STATE_PARTITIONS], started[SHUFFLE_PARTITIONS]) == ("3", "6")
    assert started["spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"] == "true"
    started.clear()
    wr.session(cores=3, config={SHUFFLE_PARTITIONS: "8"})
    assert started[SHUFFLE_PARTITIONS] == "8"
    assert STATE_PARTITIONS not in started
