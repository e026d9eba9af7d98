"""One Spark session for all tests that need one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import windrow as wr

HERE = str(Path(__file__).parent)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    # Spark's workers must find the functions of `cases.py`, as they must find any module of a user's own.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [HERE, os.environ.get("PYTHONPATH")]))
    session = wr.session()
    yield session
    session.stop()
