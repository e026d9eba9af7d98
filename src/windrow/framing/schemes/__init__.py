"""Framing schemes: rules by which the data decides where a window starts and ends."""

from windrow.framing.schemes.aggregate import Aggregate
from windrow.framing.schemes.base import Scheme
from windrow.framing.schemes.boundary import Boundary
from windrow.framing.schemes.change import Change
from windrow.framing.schemes.conjunction import Conjunction
from windrow.framing.schemes.custom import Custom
from windrow.framing.schemes.delta import Delta
from windrow.framing.schemes.double_boundary import DoubleBoundary
from windrow.framing.schemes.gap import Gap
from windrow.framing.schemes.threshold import Threshold
from windrow.registry import Registry

SCHEMES: tuple[type[Scheme], ...] = (
    Aggregate,
    Boundary,
    Change,
    Conjunction,
    Custom,
    Delta,
    DoubleBoundary,
    Gap,
    Threshold,
)

SCHEME_REGISTRY: Registry[Scheme] = Registry(
    Scheme,  # type: ignore[type-abstract]
    SCHEMES,
    "scheme",
    "windrow.schemes",
    lambda kind: kind.name(),
)
"""All schemes by name, those from outside the package too."""

__all__ = [
    "SCHEMES",
    "SCHEME_REGISTRY",
    "Aggregate",
    "Boundary",
    "Change",
    "Conjunction",
    "Custom",
    "Delta",
    "DoubleBoundary",
    "Gap",
    "Scheme",
    "Threshold",
]
