"""`advise`: rank the ways to compute an aggregate over a sliding window by their predicted cost."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from windrow.aggregates import AggregateFunction
from windrow.errors import OutputError, SpecError, UnsupportedError
from windrow.planner.model import Model, Predicted, current_model, load_model
from windrow.planner.units import as_bytes, as_time
from windrow.planner.workload import WHOLE, Workload, approaches, is_real, is_whole, short
from windrow.synopses import Synopsis
from windrow.synopses.base import RetentionKind

Prefer: TypeAlias = Literal["balanced", "time", "space"]
CLOSE = 1.3
"""Two ways whose costs differ by less than this factor, and whose bounds overlap, are too close to call."""
AS_GOOD = 1.1
"""An exact way within this factor of the cheapest is preferred, unless memory is limited."""


MOST_BYTES = 1e300
UNSURE, WIDTH = "†", 100
UNKNOWN = "the model knows nothing of it"


@dataclass(frozen=True)
class Way:
    """One way to compute the aggregate: its cost, or why it does not apply."""

    synopsis: type[Synopsis]
    answers: str
    """Whether answers are exact, or within which error."""
    predicted: Predicted | None = None
    obstacle: str | None = None
    """Why the way does not apply."""
    caution: str | None = None
    """Why the way is not picked although it applies."""

    @property
    def name(self) -> str:
        """The name of the synopsis."""
        return self.synopsis.__name__


@dataclass(frozen=True)
class Advice:
    """The cost of each way, the one picked, and the reason. Prints as a table."""

    work: Workload
    groups: int
    prefer: Prefer
    ways: tuple[Way, ...]
    """The ways that apply, best first, then those that do not."""
    pick: Way
    reason: str
    close: tuple[Way, ...]
    """Other ways that are too close to the pick to call."""

    @property
    def synopsis(self) -> str:
        """The name of the picked synopsis, as accepted by `wr.slide(using=…)`."""
        return self.pick.name

    def __str__(self) -> str:
        work = self.work
        asked = f"{work.aggregate!r} over {work.retention:,} elements, every {work.slide:,}"
        if work.batch is not None:
            asked += f", in batches of {work.batch:,}"
        if self.groups > 1:
            asked += f", {self.groups:,} groups"
        lines = [
            asked,
            f"{'':2}{'approach':23}{'a slide':>9}{'95 % within':>18}{'bytes':>9}{'95 % within':>18}  answers",
        ]
        for way in self.ways:
            if way.predicted is not None:
                lines.append(self._line(way))
        for way in self.ways:
            said = way.obstacle or (f"{UNSURE} {way.caution}" if way.caution else None)
            if said:
                lines.append(_wrapped(f"  {way.name:23}{said}", 25))
        lines += ["", _wrapped(f"pick: {self.pick.name}. {self.reason}", 0)]
        return "\n".join(lines)

    def _line(self, way: Way) -> str:
        found = way.predicted
        assert found is not None
        n = self.groups
        times = f"{as_time(n * found.time_low)}-{as_time(n * found.time_high)}"
        sizes = f"{as_bytes(n * found.bytes_low)}-{as_bytes(n * found.bytes_high)}"
        mark = "*" if way is self.pick else "~" if way in self.close else " "
        answers = way.answers if way.caution is None else f"{way.answers} {UNSURE}"
        return (
            f"{mark:2}{way.name:23}{as_time(n * found.time):>9}{times:>18}{as_bytes(n * found.bytes):>9}{sizes:>18}"
            f"  {answers}"
        )

    __repr__ = __str__

    def plot(self, path: str | Path) -> Path:
        """Plot the ways that apply by space and time, with quadrants around the pick and the Pareto front."""
        from windrow.planner.plot import draw

        if not isinstance(path, str | Path):
            raise OutputError(f"plot: {path!r} is no name of a file")
        return draw(self, Path(path))


def advise(
    aggregate: AggregateFunction,
    *,
    retention: int,
    slide: int,
    eps: float | None = None,
    delta: float = 0.0,
    groups: int = 1,
    prefer: Prefer = "balanced",
    limit_bytes: float | None = None,
    batch: int | None = None,
    kind: RetentionKind = "count",
    whole: bool = False,
    model: Model | str | Path | None = None,
) -> Advice:
    """Recommend how to compute an aggregate over a sliding window.

    Parameters
    ----------
    aggregate
        Aggregate to compute per window.
    retention, slide
        Number of values per window, and number of values between consecutive windows.
    eps
        Allowed error of an answer. Defaults to the aggregate's own `eps`, or 0.
    delta
        Allowed probability that the error exceeds `eps`. 0 rules out randomised synopses.
    groups
        Number of groups, each with its own window.
    prefer
        What to minimise: `"time"`, `"space"`, or `"balanced"` (default), the geometric mean of both.
    limit_bytes
        Memory limit for all groups together. Ways that may exceed it are not picked.
    batch
        Number of values that arrive at a time. By default many slides arrive at once.
    kind
        Whether values expire by `"count"` (default) or by `"time"`.
    whole
        Whether all values are non-negative integers.
    model
        Cost model, or a file written by `windrow calibrate --out`. Defaults to the model that `windrow calibrate`
        saved on this machine, otherwise to the one shipped with the package.

    Examples
    --------
    >>> import windrow as wr
    >>> advice = wr.advise(wr.variance("helium"), retention=1_152_000, slide=19_200)
    >>> advice.synopsis
    'Panes'
    """
    if not isinstance(whole, bool | np.bool_):
        raise SpecError(f"whole: expected True or False, got {short(whole)}")
    work = _workload(aggregate, retention, slide, eps, delta, batch, kind, whole)
    if not is_whole(groups):
        raise SpecError(f"groups: {short(groups)} must be a whole number from 1 to 2**62")
    if not isinstance(prefer, str) or prefer not in ("balanced", "time", "space"):
        raise SpecError(f"prefer: {short(prefer)} must be 'balanced', 'time' or 'space'")
    if limit_bytes is not None and not (is_real(limit_bytes) and 0 < limit_bytes <= MOST_BYTES):
        raise SpecError(f"limit_bytes: {short(limit_bytes)} must be a number of bytes above 0 and up to 1e300")
    known = _known(model)
    ways = [_way(work, synopsis, known) for synopsis in approaches()]
    return _choose(work, groups, prefer, limit_bytes, ways)


def _known(model: Any) -> Model:
    if model is None:
        return current_model()
    if isinstance(model, str | Path):
        return load_model(model)
    if not isinstance(model, Model):
        raise SpecError(f"model: {short(model)} is neither a model nor the name of a file by `windrow calibrate --out`")
    return model


def _workload(
    aggregate: Any, retention: int, slide: int, eps: float | None, delta: float, batch: int | None,
    kind: RetentionKind, whole: bool,
) -> Workload:  # fmt: skip
    if not isinstance(aggregate, AggregateFunction):
        raise SpecError(f"aggregate: {short(aggregate)} is no aggregate; give one such as wr.sum('volume')")
    if not isinstance(kind, str) or kind not in ("count", "time"):
        raise SpecError(f"kind: {short(kind)} is not a kind of retention; it must be 'count' or 'time'")
    eps = float(getattr(aggregate, "eps", 0.0)) if eps is None else eps
    return Workload(aggregate, retention, slide, eps, delta, batch, WHOLE if whole else "uniform", kind)


def _way(work: Workload, synopsis: type[Synopsis], model: Model) -> Way:
    answers = "exact"
    if not synopsis.exact:
        answers = f"ε {work.eps:g}" + ("" if synopsis.deterministic else f", δ {work.delta:g}")
    obstacle = work.why_not(synopsis)
    if obstacle is None:
        predicted = model.predict(work, synopsis)
        if predicted is not None:
            return Way(synopsis, answers, predicted, caution=synopsis.unsure(work.aggregate))
        obstacle = UNKNOWN
    return Way(synopsis, answers, obstacle=obstacle)


def cost_of(prefer: Prefer) -> Callable[[Predicted], float]:
    """Return the function of predicted costs to minimise."""
    if prefer == "time":
        return lambda found: found.time
    if prefer == "space":
        return lambda found: found.bytes
    return lambda found: math.sqrt(found.time * found.bytes)


def _choose(work: Workload, groups: int, prefer: Prefer, limit: float | None, ways: list[Way]) -> Advice:
    cost = cost_of(prefer)

    def price(way: Way) -> float:
        assert way.predicted is not None
        return cost(way.predicted)

    applying = sorted((way for way in ways if way.predicted is not None), key=price)
    if not applying:
        raise UnsupportedError(_why_none(work, ways))
    least = min(applying, key=lambda way: (way.caution is not None, _most(way)))
    if limit is not None:
        applying = [_within(way, float(limit) / groups, as_bytes(float(limit))) for way in applying]
    fitting = [way for way in applying if way.caution is None]
    if not fitting and limit is not None:
        looser = "a larger error" if work.eps else "an error by eps= and delta="
        raise UnsupportedError(
            f"limit_bytes: nothing that applies is sure to take so little as {as_bytes(float(limit))}; "
            f"{least.name} may take {as_bytes(groups * _most(least))}. Allow more, or {looser}"
        )
    fitting = fitting or applying
    pick = _pick(fitting, price, 1.0 if limit is not None else AS_GOOD)
    close = tuple(
        way for way in fitting if way is not pick and price(way) < CLOSE * price(pick) and _overlap(way, pick)
    )
    reason = _reason(pick, close, fitting, applying, prefer, price)
    rest = [way for way in ways if way.predicted is None]
    return Advice(work, groups, prefer, (*applying, *rest), pick, reason, close)


def _pick(fitting: list[Way], price: Callable[[Way], float], as_good: float) -> Way:
    """Return the cheapest way, or the cheapest exact way if it costs at most `as_good` times as much.

    Allowing a larger error or more memory must never raise the cost of the pick. An exact way costs the same for every
    error, so preferring it by a factor is sound. With a memory limit it is not: as the limit grows, an exact way could
    start to fit and displace a cheaper one.
    """
    best = min(fitting, key=lambda way: (price(way), not way.synopsis.exact, not way.synopsis.deterministic))
    exact = min((way for way in fitting if way.synopsis.exact), key=price, default=best)
    return exact if price(exact) <= as_good * price(best) else best


def _wrapped(text: str, indent: int) -> str:
    lines = textwrap.wrap(text, WIDTH, subsequent_indent=" " * indent, drop_whitespace=True, break_on_hyphens=False)
    return "\n".join(lines)


def _why_none(work: Workload, ways: list[Way]) -> str:
    """Return why nothing applies: the error allowed is too small, the model lacks the synopses, or none exists."""
    obstacles = [way.obstacle or "" for way in ways]
    if UNKNOWN in obstacles:
        return f"the model knows no synopsis that keeps {work.aggregate!r}; calibrate anew by `windrow calibrate`"
    # Large enough to matter, and smaller than any share that heavy hitters are asked for.
    generous = replace(work, eps=1e-6, delta=0.5)
    told = next((way.obstacle for way in ways if generous.why_not(way.synopsis) is None), None)
    if told:
        return f"no synopsis keeps {work.aggregate!r} with eps={work.eps:g} and delta={work.delta:g}: {told}"
    return f"no synopsis keeps {work.aggregate!r} ({obstacles[0]}); wr.slide keeps it by panes of its own"


def _within(way: Way, limit: float, told: str) -> Way:
    """Return the way, with a caution added if it may exceed the limit."""
    fits = way.caution is not None or _most(way) <= limit
    return way if fits else replace(way, caution=f"it may take more than the {told} that are allowed")


def _most(way: Way) -> float:
    assert way.predicted is not None
    return way.predicted.bytes_high


def _overlap(way: Way, other: Way) -> bool:
    """Return whether the bounds of the two costs overlap, so that either way may be cheaper."""
    a, b = way.predicted, other.predicted
    assert a is not None
    assert b is not None
    time = a.time_low <= b.time_high and b.time_low <= a.time_high
    return time or (a.bytes_low <= b.bytes_high and b.bytes_low <= a.bytes_high)


def _reason(
    pick: Way, close: tuple[Way, ...], fitting: list[Way], applying: list[Way], prefer: Prefer,
    price: Callable[[Way], float],
) -> str:  # fmt: skip
    what = {
        "time": "the least time",
        "space": "the least memory",
        "balanced": "the least time and memory, weighed alike,",
    }
    others = [way for way in fitting if way not in (pick, fitting[0], *close)]
    said = f"It takes {what[prefer]} of what applies"
    if pick is not fitting[0]:
        said = f"It is exact, and as good as {fitting[0].name} within {AS_GOOD - 1:.0%}"
    if others:
        said += f"; the next, {others[0].name}, takes {price(others[0]) / price(pick):.1f} times as much"
    if close:
        said += f". Too close to call: {', '.join(way.name for way in close)}"
    cheaper = [way for way in applying if way.caution is not None and way is not pick and price(way) < price(pick)]
    if cheaper:
        said += (
            f". {cheaper[0].name} would take {price(cheaper[0]) / price(pick):.2f} of that, but {cheaper[0].caution}"
        )
    found = pick.predicted
    if found is not None and found.stands_in is not None:
        said += f". The costs are those of {found.stands_in}, which is like it"
    return said + "."
