"""Settings and fixtures of all tests: one Spark session and one Redis server per process, started when first used.

Tests marked `long` run with `--long` only, as in `make test-long`. HYPOTHESIS_PROFILE=thorough tries many more
examples. There is no deadline: the first example may compile a kernel.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    import redis
    from pyspark.sql import SparkSession

    from cluster import Cluster
    from windrow.tuning import Tuning

COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("core", max_examples=120, **COMMON)
settings.register_profile("thorough", max_examples=3000, **COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "core"))

IMPORTED = [str(Path(__file__).parent / "support"), str(Path(__file__).parents[1])]
"""Where tests import their own modules from, apart from the installed packages."""

LONGEST = (
    "test_cli_stream",
    "test_stream_frames",
    "test_engines",
    "test_fill_stream",
    "test_slide",
    "test_everywhere",
    "test_sql",
    "test_checkpoint_kinds",
    "test_stream_killed",
    "test_cli",
    "test_synopses_exact",
    "test_synopses_bulk",
    "test_saved",
    "test_synopses_quantiles",
    "test_seams",
    "test_planner_advice",
)
"""The files that take longest, longest first: started last, one of them would keep a process busy after the others."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the tests marked `long` as well")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Start the longest files first, and leave out what is marked `long` unless it was requested."""
    place = {name: i for i, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(LONGEST)))
    if not config.getoption("--long"):
        long = [item for item in items if item.get_closest_marker("long")]
        items[:] = [item for item in items if not item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=long)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    import windrow as wr
    from short_session import SETTINGS

    # Spark's workers must find the functions of `cases.py` and `fuzz`, as they must find any module of a user's own.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [*IMPORTED, os.environ.get("PYTHONPATH")]))
    session = wr.session(config=SETTINGS)
    yield session
    session.stop()


@pytest.fixture
def tune() -> Iterator[Callable[..., Tuning]]:
    """A function that changes the tuning of queries for the rest of the test."""
    from windrow.tuning import tuned

    with ExitStack() as stack:
        yield lambda **changes: stack.enter_context(tuned(**changes))


@pytest.fixture
def few_buckets(tune) -> None:
    """Each bucket costs a round trip in each batch, and the streams of tests are small."""
    tune(buckets=3)


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory) -> Iterator[str]:
    from redis_server import redis_server

    with redis_server(tmp_path_factory.mktemp("redis")) as url:
        yield url


@pytest.fixture
def store(redis_url) -> Iterator[redis.Redis]:
    """A client of the server, in which there is nothing yet."""
    import redis

    with redis.Redis.from_url(redis_url, decode_responses=True) as client:
        client.flushall()
        yield client


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    from cluster import Cluster

    made = Cluster(tmp_path)
    yield made
    made.stop()
