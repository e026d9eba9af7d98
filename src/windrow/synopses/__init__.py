"""Synopses: what is kept of a sliding window so that an aggregate of it can be told at any time."""

from windrow.synopses.arasu_manku import ArasuMankuFixed, ArasuMankuVariable
from windrow.synopses.base import EXACT, Accuracy, Retention, Synopsis
from windrow.synopses.daba import DABA
from windrow.synopses.fiba import FiBA
from windrow.synopses.gk import GreenwaldKhanna
from windrow.synopses.heavy_hitters import ArasuMankuHeavyHitters
from windrow.synopses.histograms import ExponentialHistogram, VarianceHistogram
from windrow.synopses.kll import KLLPanes
from windrow.synopses.lists import ExpirationList, Recomputation
from windrow.synopses.ordered import Ordered
from windrow.synopses.panes import Panes
from windrow.synopses.samples_bernoulli import BernoulliSample
from windrow.synopses.samples_biased import BiasedReservoir
from windrow.synopses.samples_bounded import BoundedPrioritySample
from windrow.synopses.samples_chain import ChainSample
from windrow.synopses.samples_panes import PaneReservoirs
from windrow.synopses.samples_priority import PrioritySample
from windrow.synopses.two_stacks import TwoStacks

SYNOPSES: tuple[type[Synopsis], ...] = (
    Recomputation,
    ExpirationList,
    Panes,
    TwoStacks,
    DABA,
    FiBA,
    Ordered,
    BernoulliSample,
    ChainSample,
    PrioritySample,
    BoundedPrioritySample,
    PaneReservoirs,
    BiasedReservoir,
    ExponentialHistogram,
    VarianceHistogram,
    GreenwaldKhanna,
    ArasuMankuFixed,
    ArasuMankuVariable,
    ArasuMankuHeavyHitters,
    KLLPanes,
)
"""All synopses of the package, in the order of the taxonomy: exact ones, samples, histograms, quantiles."""

__all__ = [
    "DABA",
    "EXACT",
    "SYNOPSES",
    "Accuracy",
    "ArasuMankuFixed",
    "ArasuMankuHeavyHitters",
    "ArasuMankuVariable",
    "BernoulliSample",
    "BiasedReservoir",
    "BoundedPrioritySample",
    "ChainSample",
    "ExpirationList",
    "ExponentialHistogram",
    "FiBA",
    "GreenwaldKhanna",
    "KLLPanes",
    "Ordered",
    "PaneReservoirs",
    "Panes",
    "PrioritySample",
    "Recomputation",
    "Retention",
    "Synopsis",
    "TwoStacks",
    "VarianceHistogram",
]
