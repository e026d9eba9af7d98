"""Sessions: a new frame after a silence. Boundary frames without a boundary, cut only by the longest gap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa

from windrow.arrays import Array
from windrow.errors import SpecError
from windrow.framing.records import Batch, Groups, Records
from windrow.framing.schemes.base import Automaton, Closure, Property, Scheme
from windrow.framing.schemes.boundary import label_runs
from windrow.framing.schemes.text import duration_option
from windrow.framing.theory.intervals import Label
from windrow.framing.theory.local import Stream, are_close
from windrow.rows.checks import check_duration
from windrow.rows.clock import Clock
from windrow.rows.duration import Duration


@dataclass(frozen=True, repr=False)
class Gap(Scheme):
    """Sessions: maximal runs of rows in which neighbours are at most a gap apart.

    Parameters
    ----------
    gap
        The longest time between neighbouring rows. Two rows exactly this far apart are in the same session.

    Examples
    --------
    >>> Gap("30 minutes")
    Gap('30 minutes')
    """

    gap: Duration = field(metadata=duration_option("sessions: a new frame after a silence", "30 minutes"))

    source: ClassVar[str] = "sessions; Frames (2016), section 3 (local condition on the extent)"
    closure: ClassVar[frozenset[Closure]] = frozenset({"union", "sub-interval"})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gap is None:
            raise SpecError("Gap expects the longest time between two rows of a session, e.g. '30 minutes'; got None")
        check_duration(self.gap, "gap")

    @classmethod
    def examples(cls) -> tuple[Scheme, ...]:
        """Return sessions."""
        return (cls("30 minutes"),)

    def local_condition(self, extent: Stream) -> Iterable[Label]:
        """Return the empty label if neighbours are at most the gap apart."""
        return [()] if are_close(extent, self.gap) else []

    @property
    def properties(self) -> frozenset[Property]:
        """Lemma 1 and propositions 1 and 2; every row is in exactly one session."""
        return frozenset({"unique", "drained", "maximal", "covering", "partitioning"})

    @property
    def is_run(self) -> bool:
        """Always true: all rows have the same label, and only gaps end a run."""
        return True

    def longest_gap(self, clock: Clock) -> int | float:
        """Return the gap, or `max_gap` if that is shorter."""
        return min(clock.at_most(self.gap, "gap"), super().longest_gap(clock))

    def bind(self, clock: Clock, types: Mapping[str, pa.DataType]) -> Automaton:
        """Return the kernel of boundary frames over no attributes."""
        gap = self.longest_gap(clock)

        def kernel(
            batch: Batch, inputs: Mapping[str, Array], groups: Groups, records: Records, used: int, slots: Array
        ) -> int:
            return int(label_runs(batch, np.empty((batch.on.size, 0), np.int64), groups, records, used, slots, gap))

        return Automaton(kernel)
