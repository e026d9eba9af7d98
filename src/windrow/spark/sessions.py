"""A local Spark session with suitable settings, and checks for any other session."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from windrow.errors import SessionError, SpecError, is_one_of, quoted
from windrow.spark.arguments import is_text
from windrow.spark.versions import OLDEST_SPARK, check_version
from windrow.tuning import Tuning

OLDEST_JAVA = 17
MOST_CORES = 10_000
_MEMORY = re.compile(r"[1-9][0-9]{0,9}[kmgt]b?", re.IGNORECASE)
ROWS_PER_BATCH = 100_000
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
STATE_PARTITIONS = "spark.sql.streaming.internal.stateStore.partitions"
"""The number of partitions of a stream's state. Without it, Spark takes that of shuffles. A query that is restarted
keeps the number that its checkpoint holds."""

LOW_LATENCY = {
    # A batch writes its changes instead of a snapshot of the whole state.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Counting the rows of the state costs a read per write.
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
}
"""Settings that shorten the batches of a stream."""

THROUGHPUT = "-XX:+UseParallelGC"
"""Java's default collector spends a quarter of the time of sorts and shuffles in barriers."""


def session(
    *,
    name: str = "windrow",
    cores: int | None = None,
    memory: str | None = None,
    config: Mapping[str, str] | None = None,
) -> SparkSession:
    """Return a local Spark session with the settings that work best for Windrow.

    If a session is active, it is returned unchanged. Windrow also works with any other session.

    The state of a new streaming query has one partition per core, which keeps batches short. Tables are shuffled into
    two per core. If `config` has `spark.sql.shuffle.partitions`, it is the number for both.

    Parameters
    ----------
    name
        The application name.
    cores
        The number of cores; all by default.
    memory
        The heap size of the Java process, e.g. `"4g"`; by default half of the machine's memory, at most 8 GiB.
    config
        Further Spark settings. They override Windrow's.

    Examples
    --------
    >>> spark = session()
    >>> spark.range(3).count()
    3
    """
    _check_arguments(name, cores, memory, config)
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    _check_java()
    python = sys.executable
    os.environ.setdefault("PYSPARK_PYTHON", python)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", python)
    used = cores or len(os.sched_getaffinity(0))
    settings = {
        "spark.driver.extraJavaOptions": THROUGHPUT,
        "spark.python.daemon.module": "windrow.spark.workers.daemon",
        "spark.driver.memory": memory or _half_of_memory(),
        SHUFFLE_PARTITIONS: str(max(2, 2 * used)),
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(ROWS_PER_BATCH),
        **({} if SHUFFLE_PARTITIONS in (config or {}) else {STATE_PARTITIONS: str(used)}),
        "spark.sql.streaming.stateStore.providerClass": _ROCKSDB,
        **LOW_LATENCY,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }
    builder = SparkSession.builder.master(f"local[{used}]").appName(name)
    for key, value in {**settings, **(config or {})}.items():
        builder = builder.config(key, value)
    try:
        made: SparkSession = builder.getOrCreate()
    except (PySparkException, Py4JError) as error:
        raise SessionError(f"Spark cannot be started: {_reason(error)}") from None
    return made


def _check_arguments(name: Any, cores: Any, memory: Any, config: Any) -> None:
    """Reject arguments that Spark or Java would only reject after a process has been started."""
    if not is_text(name):
        raise SpecError(f"name: expected the name of an application, got {quoted(name)}")
    if cores is not None and (isinstance(cores, bool) or not isinstance(cores, int) or not 1 <= cores <= MOST_CORES):
        raise SpecError(f"cores: expected an integer from 1 to {MOST_CORES}, got {quoted(cores)}")
    if memory is not None and (not isinstance(memory, str) or _MEMORY.fullmatch(memory) is None):
        raise SpecError(f"memory: expected a size such as '4g' or '900m', got {quoted(memory)}")
    if not isinstance(config, Mapping | None):
        raise SpecError(f"config: expected a dict of Spark settings, got {quoted(config)}")
    for key, value in (config or {}).items():
        if not is_text(key):
            raise SpecError(f"config: expected the name of a Spark setting, got {quoted(key)}")
        is_number = isinstance(value, int | float) and abs(value) < 2**63
        if not is_number and not is_one_of(value, ("",)) and not is_text(value):
            raise SpecError(f"config: expected a string or a number for {quoted(key)}, got {quoted(value)}")


def _reason(error: Exception) -> str:
    """Return Java's error message, which is deep in a stack trace."""
    causes = re.findall(r"^(?:Caused by: |: )?[\w.]+(?:Exception|Error): (.+)$", str(error), re.MULTILINE)
    return quoted(causes[-1] if causes else next(iter(str(error).strip().splitlines()), type(error).__name__))


def check_session(spark: SparkSession) -> None:
    """Reject a session whose Spark is too old or, as far as can be checked, whose workers cannot import Windrow."""
    check_version(spark, OLDEST_SPARK, "Windrow")
    if "PYSPARK_PYTHON" not in os.environ:
        _check_python(spark)


def _check_python(spark: SparkSession) -> None:
    """Reject a local session whose workers run the first `python3` on the PATH if that Python lacks Windrow."""
    used = shutil.which("python3")
    if used is None or Path(used).parent == Path(sys.executable).parent:
        return
    here = "SPARK_LOCAL_REMOTE" in os.environ or (spark.conf.get("spark.master", None) or "").startswith("local")
    if here and not spark.conf.get("spark.pyspark.python", None) and not _has_windrow(used):
        raise SessionError(
            f"the workers of this session run {used}, which cannot import windrow; "
            f"set PYSPARK_PYTHON={sys.executable} before the session is started"
        )


@lru_cache
def _has_windrow(python: str) -> bool:
    tried = subprocess.run([python, "-c", "import windrow, pyspark"], capture_output=True, check=False)
    return tried.returncode == 0


def parallelism(spark: SparkSession, tuning: Tuning | None = None) -> int:
    """Return how many tasks the session can run at once, as far as its settings show; `tuning` may override them."""
    if tuning is not None and tuning.cores is not None:
        return tuning.cores
    for key in ("spark.sql.leafNodeDefaultParallelism", "spark.default.parallelism"):
        value = spark.conf.get(key, None)
        if value and value.isdigit():
            return int(value)
    local = re.fullmatch(r"local\[(\d+|\*)(?:,.*)?\]", spark.conf.get("spark.master", None) or "")
    if local:
        return os.cpu_count() or 1 if local[1] == "*" else int(local[1])
    executors = spark.conf.get("spark.executor.instances", None) or "0"
    cores = spark.conf.get("spark.cores.max", None) or str(
        int(executors) * int(spark.conf.get("spark.executor.cores", None) or 1)
    )
    return int(cores) or 8


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if not java or not Path(java).exists():
        raise SessionError(
            f"Spark needs Java {OLDEST_JAVA} or newer, but none was found on PATH or in JAVA_HOME; "
            f"on Debian or Ubuntu: apt-get install openjdk-{OLDEST_JAVA}-jre-headless"
        )
    output = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(?:1\.)?(\d+)', output)
    if version and int(version[1]) < OLDEST_JAVA:
        raise SessionError(f"Spark needs Java {OLDEST_JAVA} or newer; {java} is Java {version[1]}")


def _half_of_memory() -> str:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{max(1, min(8, total // 2**31))}g"
