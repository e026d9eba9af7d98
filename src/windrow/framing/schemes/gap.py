"""Sessions: a new frame after a silence. Boundary frames without a boundary, cut only by the longest gap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa

from windrow.errors import SpecError
from windrow.framing.schemes.base import Closure, Property, Scheme
from windrow.framing.schemes.boundary import LabelRule
from windrow.framing.schemes.rules.loop import BoundRule, RuleScheme
from windrow.framing.schemes.text import duration_option
from windrow.framing.theory.intervals import Label
from windrow.framing.theory.local import Stream, are_close
from windrow.rows.checks import check_duration
from windrow.rows.clock import Clock
from windrow.rows.duration import Duration


@dataclass(frozen=True, repr=False)
class Gap(RuleScheme):
    """Sessions: maximal runs of rows in which neighbours are at most a gap apart.

    Parameters
    ----------
    gap
        The longest time between neighbouring rows. Two rows exactly this far apart are in the same session.
    min_count, min_duration, max_count, max_duration, extent
        As in `Threshold`.

    Examples
    --------
    >>> Gap("30 minutes")
    Gap('30 minutes')
    """

    gap: Duration = field(metadata=duration_option("sessions: a new frame after a silence", "30 minutes"))

    source: ClassVar[str] = "sessions; Frames (2016), section 3 (local condition on the extent)"
    drops_runs: ClassVar[bool] = True

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
    def closure(self) -> frozenset[Closure]:  # type: ignore[override]
        """Parts of a run, and overlapping runs together, are runs."""
        return self.closure_within_limits(frozenset({"union", "sub-interval"}))

    @property
    def properties(self) -> frozenset[Property]:
        """Lemma 1 and propositions 1 and 2; every row is in exactly one session."""
        always: set[Property] = {"unique", "drained", "maximal", "covering", "disjoint", "partitioning"}
        return self.properties_within_limits(frozenset(always))

    @property
    def is_run(self) -> bool:
        """Whether Spark SQL can apply the limits: all rows have the same label, and only gaps end a run."""
        return self.is_cut_in_sql

    def longest_gap(self, clock: Clock) -> int | float:
        """Return the gap, or `max_gap` if that is shorter."""
        return min(clock.at_most(self.gap, "gap"), super().longest_gap(clock))

    def rule(self, types: Mapping[str, pa.DataType]) -> BoundRule:
        """Return the rule of runs over no attributes."""
        return BoundRule(lambda batch, inputs: LabelRule(np.empty((0, 0), np.int64)))
