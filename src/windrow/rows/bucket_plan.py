"""The plan of a query on a stream whose state is stored per bucket of groups: how rows are read and state is saved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import pyarrow as pa

from windrow.rows import wire
from windrow.rows.arrivals import Arrivals
from windrow.rows.query import Layout, Query
from windrow.state.arrow import about_of, check_state, described, save_tables, saved_tables

Q = TypeVar("Q", bound=Query[Any])


@dataclass(frozen=True)
class BucketPlan(Generic[Q]):
    """A query on a stream and how its rows are read; base of the plans of frames and of windows."""

    request: Q
    layout: Layout
    ordered: bool = False
    """Whether the rows of each group arrive in order."""
    keep_groups: int | float | None = None
    """How long after its last row a group with nothing open is forgotten; None for never."""
    idle: int | None = None
    """How long a group may send nothing before what it has open is closed, in milliseconds of the wall clock."""
    delay: int | float | None = None
    """How much newer a row of the same group must be for a row to be due; None if the watermark decides."""

    kind: ClassVar[str]
    """The kind of state that a saved bucket has in its header."""
    version: ClassVar[int]
    """The version of that state."""
    state: ClassVar[tuple[str, str]]
    """The state-store names of a bucket's state and of its pieces."""

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Everything that a saved state depends on; a state is only valid for an equal fingerprint.

        The delay itself may change: what has been framed, not the delay, decides which rows are late.
        """
        return {**self.request.roles.fingerprint, "ordered": self.ordered if self.delay is None else "by delay"}

    @property
    def per_group(self) -> bool:
        """Whether each group progresses by its own rows, rather than all groups by the watermark."""
        return self.ordered or self.delay is not None

    def save(
        self, arrivals: Arrivals, tables: Iterable[pa.Table], types: Mapping[str, pa.DataType] | None = None
    ) -> bytes:
        """Return a bucket's state: a head with the query, its progress and its types, then the tables."""
        about = {"version": self.version, "plan": self.fingerprint, **arrivals.about()}
        keys = arrivals.reader.directory.types
        fields = [*zip(wire.keys(len(keys)), keys, strict=True), *(types or {}).items()]
        return save_tables(self.kind, [described(pa.schema(fields).empty_table(), about), *tables])

    def read(self, data: bytes) -> tuple[dict[str, Any], list[pa.Table]]:
        """Return the description and the tables of a bucket that this plan saved; reject any other."""
        head, *tables = saved_tables(data, self.kind)
        about = about_of(head)
        check_state(about, self.version, self.fingerprint)
        return about, tables
