"""Framing schemes: how the data says where a window starts and ends."""

from windrow.frames.aggregate import Aggregate
from windrow.frames.base import Scheme
from windrow.frames.boundary import Boundary
from windrow.frames.custom import Custom
from windrow.frames.delta import Delta
from windrow.frames.double_boundary import DoubleBoundary
from windrow.frames.gap import Gap
from windrow.frames.threshold import Threshold

SCHEMES: tuple[type[Scheme], ...] = (Aggregate, Boundary, Custom, Delta, DoubleBoundary, Gap, Threshold)

__all__ = ["SCHEMES", "Aggregate", "Boundary", "Custom", "Delta", "DoubleBoundary", "Gap", "Scheme", "Threshold"]
