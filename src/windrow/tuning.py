"""Sizes and limits that bound memory and decide between plans. None of them changes a result.

A query captures the current tuning when it is resolved on the driver, and carries it to Spark's tasks. Tests and
benchmarks change it for a while:

    with tuned(buckets=4, fewest_rows_per_chunk=100):
        frames = wr.frames(...)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from typing import Any

from windrow.errors import SpecError, quoted


@dataclass(frozen=True)
class Tuning:
    """The sizes and limits of a query.

    >>> Tuning(buckets=0)
    Traceback (most recent call last):
    ...
    windrow.errors.SpecError: buckets: expected an integer of at least 1, got 0
    """

    rows_per_table: int = 100_000
    """The rows that a task collects from record batches for one call of the kernel."""
    rows_per_call: int = 10_000
    """The same for a table function of SQL, whose rows arrive one by one."""

    cores: int | None = None
    """The number of tasks that run at once; None for what the session's settings show."""
    fewest_rows_per_chunk: int = 4_000_000
    """The scan plan cuts no smaller chunks: in the time it takes to reconcile the seams, one core frames this many."""
    rows_per_replay: int = 65_536
    """The rows that are read at a time when a chunk is replayed, which usually ends after a few."""
    rows_per_bucket: int = 10_000_000
    """The rows per bucket of panes. A task holds the panes of one bucket at a time, at most one pane per row."""

    by_ranges: bool | None = None
    """Whether the shuffle plan cuts a table by ranges of group and `on`; None lets a sample of the keys decide."""
    ranges_per_core: int = 2
    """The ranges per core."""
    sampled: float = 0.01
    """The fraction of all rows whose keys are sampled."""
    most_sampled: int = 20_000
    """The most rows in the sample."""
    fewest_sampled: int = 100
    """With fewer rows than this in the sample, the table is so small that one core is enough."""

    buckets: int | None = None
    """The default number of buckets of a stream's state, which limits how many cores one query can use; None for one
    per partition of the query's state."""
    rows_per_piece: int = 4_096
    """The intended rows per piece of a stream's buffered rows; a large batch gets larger pieces."""
    pieces_per_batch: int = 8
    """The most pieces that the buffered rows of one batch are split into."""
    groups_per_piece: int = 8_192
    """The groups per piece of a stream's stored groups."""

    pairs_per_result: int = 1 << 17
    """The pairs of rows and frames that a sweep returns at a time, since many frames may be open at once."""
    most_windows: int = 200_000_000
    """The most windows that a task may report at a time, since they are held in memory."""

    def __post_init__(self) -> None:
        for field in fields(self):
            _check(field.name, getattr(self, field.name))


def _check(name: str, value: Any) -> None:
    if name == "by_ranges":
        if not isinstance(value, bool | None):
            raise SpecError(f"{name}: expected true, false or None, got {quoted(value)}")
    elif name == "sampled":
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
            raise SpecError(f"{name}: expected a fraction above 0 and up to 1, got {quoted(value)}")
    elif isinstance(value, bool) or not isinstance(value, int) or value < 1:
        if name in ("cores", "buckets") and value is None:
            return
        raise SpecError(f"{name}: expected an integer of at least 1, got {quoted(value)}")


_current: ContextVar[Tuning] = ContextVar("windrow tuning", default=Tuning())  # noqa: B039 - it is frozen


def current_tuning() -> Tuning:
    """Return the tuning that queries capture now."""
    return _current.get()


@contextmanager
def tuned(**changes: Any) -> Iterator[Tuning]:
    """Change some fields of the current tuning, for the queries that are resolved in this context.

    >>> with tuned(buckets=4) as tuning:
    ...     tuning.buckets, current_tuning() is tuning
    (4, True)
    >>> current_tuning().buckets is None
    True
    """
    token = _current.set(replace(current_tuning(), **changes))
    try:
        yield current_tuning()
    finally:
        _current.reset(token)
