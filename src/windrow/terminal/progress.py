"""A progress line on stderr for Spark and other long-running work, if stderr is a terminal."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

from pyspark.sql import SparkSession
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

SECONDS_BETWEEN_LOOKS = 0.25


@contextmanager
def working(what: str, spark: SparkSession | None = None) -> Iterator[None]:
    """Show the current activity, the elapsed time and the completed Spark tasks.

    Spark's status tracker reports the tasks. Spark Connect has none, so only the elapsed time is shown.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[tasks]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        line = progress.add_task(what, total=None, tasks="")
        done = threading.Event()
        watcher = threading.Thread(target=_watch, args=(spark, progress, line, done), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join(timeout=1)


@contextmanager
def steps(total: int, done: int = 0) -> Iterator[Callable[[str], None]]:
    """Show the current step, the elapsed time and the estimated remaining time.

    Yields a function to call with the name of each step as it starts; `done` steps are already complete.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    columns = (
        SpinnerColumn(),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console, transient=True, speed_estimate_period=300) as progress:
        line, numbers = progress.add_task("", total=total, completed=done), count(done)

        def begin(what: str) -> None:
            progress.update(line, description=what, completed=next(numbers))
            progress.refresh()

        yield begin


def _watch(spark: SparkSession | None, progress: Progress, line: TaskID, done: threading.Event) -> None:
    while not done.wait(SECONDS_BETWEEN_LOOKS):
        counted = tasks_of(spark) if spark is not None else None
        if counted:
            progress.update(line, completed=counted[0], total=counted[1], tasks=f"{counted[0]}/{counted[1]} tasks")


def tasks_of(spark: SparkSession) -> tuple[int, int] | None:
    """Return the completed and the total tasks of the active stages, or None if unknown."""
    try:
        tracker = spark.sparkContext.statusTracker()
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    except Exception:  # Connect has no context, and the session may stop meanwhile
        return None
    counts = [(stage.numCompletedTasks, stage.numTasks) for stage in stages if stage is not None]
    return (sum(done for done, _ in counts), sum(tasks for _, tasks in counts)) if counts else None
