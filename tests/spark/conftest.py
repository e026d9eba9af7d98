"""One Spark session for all tests that need one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import windrow as wr


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = wr.session()
    yield session
    session.stop()
