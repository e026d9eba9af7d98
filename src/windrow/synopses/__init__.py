"""Synopses: summaries of a sliding window from which an aggregate can be answered at any time."""

from windrow.registry import Registry
from windrow.synopses.arasu_manku.heavy_hitters import ArasuMankuHeavyHitters
from windrow.synopses.arasu_manku.quantiles import ArasuMankuFixed, ArasuMankuVariable
from windrow.synopses.base import EXACT, Accuracy, Retention, Synopsis
from windrow.synopses.exact.daba import DABA
from windrow.synopses.exact.expiration_list import ExpirationList
from windrow.synopses.exact.fiba.synopsis import FiBA
from windrow.synopses.exact.panes import Panes
from windrow.synopses.exact.recomputation import Recomputation
from windrow.synopses.exact.two_stacks import TwoStacks
from windrow.synopses.histograms.exponential import ExponentialHistogram
from windrow.synopses.histograms.variance import VarianceHistogram
from windrow.synopses.quantiles.greenwald_khanna import GreenwaldKhanna
from windrow.synopses.quantiles.kll import KLLPanes
from windrow.synopses.quantiles.ordered import Ordered
from windrow.synopses.samples.bernoulli import BernoulliSample
from windrow.synopses.samples.biased_reservoir import BiasedReservoir
from windrow.synopses.samples.bounded_priority import BoundedPrioritySample
from windrow.synopses.samples.chain import ChainSample
from windrow.synopses.samples.pane_reservoirs import PaneReservoirs
from windrow.synopses.samples.priority import PrioritySample

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
"""All synopses of the package: exact ones, samples, histograms, quantiles."""

SYNOPSIS_REGISTRY: Registry[Synopsis] = Registry(
    Synopsis,  # type: ignore[type-abstract]
    SYNOPSES,
    "synopsis",
    "windrow.synopses",
    lambda kind: kind.__name__,
)
"""All synopses by name, those from outside the package too."""

__all__ = [
    "DABA",
    "EXACT",
    "SYNOPSES",
    "SYNOPSIS_REGISTRY",
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
