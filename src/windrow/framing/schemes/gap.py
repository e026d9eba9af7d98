"""Sessions: a new frame after a silence. Boundary frames without a boundary, cut only by the longest gap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa

from windrow.errors import SpecError
from windrow.framing.schemes.base import Scheme
from windrow.framing.schemes.rules.loop import BoundRule
from windrow.framing.schemes.rules.runs import LabelRule, RunScheme
from windrow.framing.schemes.text import duration_option
from windrow.framing.theory.intervals import Label
from windrow.framing.theory.local import Stream, are_close
from windrow.rows.checks import check_duration
from windrow.rows.clock import Clock
from windrow.rows.duration import Duration


@dataclass(frozen=True, repr=False)
class Gap(RunScheme):
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

    def longest_gap(self, clock: Clock) -> int | float:
        """Return the gap, or `max_gap` if that is shorter."""
        return min(clock.at_most(self.gap, "gap"), super().longest_gap(clock))

    def rule(self, types: Mapping[str, pa.DataType]) -> BoundRule:
        """Return the rule of runs over no attributes."""
        return BoundRule(lambda batch, inputs: LabelRule(np.empty((0, 0), np.int64)))
