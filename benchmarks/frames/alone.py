"""One measurement in its own process, pinned to a number of cores, so that nothing is warm from another run.

Memory is observed from outside.

    python -m benchmarks.frames.alone PATH PLAN CORES
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.bench import ROOT, materialise

RUNS = 4


@dataclass(frozen=True)
class Cost:
    """The best time of a few runs, and the peak memory of all Python workers and of the JVM."""

    seconds: float
    workers_mb: float
    jvm_mb: float


def measure(path: Path, plan: str, cores: int) -> Cost:
    """Measure in a new process."""
    command = [sys.executable, "-m", "benchmarks.frames.alone", str(path.resolve()), plan, str(cores)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr[-3000:])
    return Cost(**json.loads(done.stdout.splitlines()[-1]))


class Watch(threading.Thread):
    """A thread that samples the memory of this process's descendants three times per second."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.workers = self.jvm = 0.0
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.3):
            sizes = list(self.sizes())
            self.workers = max(self.workers, sum(size for name, size in sizes if "java" not in name) / 2**20)
            self.jvm = max(self.jvm, sum(size for name, size in sizes if "java" in name) / 2**20)

    def sizes(self) -> Iterator[tuple[str, int]]:
        for child in psutil.Process().children(recursive=True):
            try:
                yield child.name(), child.memory_full_info().uss
            except psutil.Error:
                continue


def main(path: str, plan: str, cores: int) -> None:
    import windrow as wr
    from benchmarks.frames.sections import THRESHOLD, ours

    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    spark = wr.session(cores=cores)
    spark.sparkContext.setLogLevel("ERROR")
    watch = Watch()
    watch.start()
    seconds = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        materialise(ours(spark, Path(path), THRESHOLD, plan))
        seconds.append(time.perf_counter() - begin)
    watch.over.set()
    watch.join()
    print(json.dumps({"seconds": min(seconds), "workers_mb": watch.workers, "jvm_mb": watch.jvm}))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
