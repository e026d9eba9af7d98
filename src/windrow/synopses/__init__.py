"""Synopses: what is kept of a sliding window so that an aggregate of it can be told at any time."""

from windrow.synopses.base import EXACT, Accuracy, Retention, Synopsis
from windrow.synopses.daba import DABA
from windrow.synopses.fiba import FiBA
from windrow.synopses.lists import ExpirationList, Recomputation
from windrow.synopses.panes import Panes
from windrow.synopses.stacks import TwoStacks

SYNOPSES: tuple[type[Synopsis], ...] = (
    Recomputation,
    ExpirationList,
    Panes,
    TwoStacks,
    DABA,
    FiBA,
)
"""All synopses of the package, in the order of the taxonomy: exact ones, samples, histograms, quantiles."""

__all__ = [
    "DABA",
    "EXACT",
    "SYNOPSES",
    "Accuracy",
    "ExpirationList",
    "FiBA",
    "Panes",
    "Recomputation",
    "Retention",
    "Synopsis",
    "TwoStacks",
]
