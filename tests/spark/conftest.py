"""One Spark session and one Redis server for all tests that need one."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from pyspark.sql import SparkSession

import windrow as wr
from cluster import Cluster
from redis_server import redis_server
from windrow.spark.session import THROUGHPUT

HERE = str(Path(__file__).parent)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    # Spark's workers must find the functions of `cases.py`, as they must find any module of a user's own.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [HERE, os.environ.get("PYTHONPATH")]))
    # Tests are over before Java's second compiler has paid for itself.
    session = wr.session(config={"spark.driver.extraJavaOptions": f"{THROUGHPUT} -XX:TieredStopAtLevel=1"})
    yield session
    session.stop()


@pytest.fixture
def few_buckets(monkeypatch) -> None:
    """Each bucket costs a round trip in each batch, and the streams of tests are small."""
    for module in ("assemble", "fill_stream", "stream"):
        monkeypatch.setattr(importlib.import_module(f"windrow.spark.{module}"), "BUCKETS", 4)


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory) -> Iterator[str]:
    with redis_server(tmp_path_factory.mktemp("redis")) as url:
        yield url


@pytest.fixture
def store(redis_url) -> Iterator[redis.Redis]:
    """A client of the server, in which there is nothing yet."""
    with redis.Redis.from_url(redis_url, decode_responses=True) as client:
        client.flushall()
        yield client


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path)
    yield made
    made.stop()
