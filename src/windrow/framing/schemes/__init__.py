"""Framing schemes: rules by which the data decides where a window starts and ends."""

from windrow.framing.schemes.aggregate import Aggregate
from windrow.framing.schemes.base import Scheme
from windrow.framing.schemes.boundary import Boundary
from windrow.framing.schemes.custom import Custom
from windrow.framing.schemes.delta import Delta
from windrow.framing.schemes.double_boundary import DoubleBoundary
from windrow.framing.schemes.gap import Gap
from windrow.framing.schemes.threshold import Threshold

SCHEMES: tuple[type[Scheme], ...] = (Aggregate, Boundary, Custom, Delta, DoubleBoundary, Gap, Threshold)

__all__ = ["SCHEMES", "Aggregate", "Boundary", "Custom", "Delta", "DoubleBoundary", "Gap", "Scheme", "Threshold"]
