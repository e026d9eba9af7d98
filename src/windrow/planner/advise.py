"""`advise`: how an aggregate over a sliding window is best computed, by what each way costs on this kind of machine."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from windrow.aggregates import AggregateFunction
from windrow.errors import SpecError, UnsupportedError
from windrow.planner.model import Model, Predicted, current_model, load_model
from windrow.planner.units import as_bytes, as_time
from windrow.planner.workload import APPROACHES, WHOLE, Workload
from windrow.synopses import Synopsis
from windrow.synopses.base import RetentionKind

Prefer: TypeAlias = Literal["balanced", "time", "space"]
CLOSE = 1.3
"""Two ways whose costs differ by less than this factor, and whose bounds overlap, are too close to call."""
AS_GOOD = 1.1
"""Of ways that differ by less than this factor, an exact one is taken."""


UNSURE, WIDTH = "†", 100


@dataclass(frozen=True)
class Way:
    """One way to compute the aggregate: what it costs, or why it does not apply."""

    synopsis: type[Synopsis]
    answers: str
    """Exact, or within which error."""
    predicted: Predicted | None = None
    obstacle: str | None = None
    """Why it does not apply."""
    caution: str | None = None
    """Why it is not picked though it applies."""

    @property
    def name(self) -> str:
        """What it is called."""
        return self.synopsis.__name__


@dataclass(frozen=True)
class Advice:
    """What each way costs, which one is picked, and why. Prints as a table."""

    work: Workload
    groups: int
    prefer: Prefer
    ways: tuple[Way, ...]
    """Those that apply, the best first, then those that do not."""
    pick: Way
    reason: str
    close: tuple[Way, ...]
    """Others that are too close to the pick to call."""

    @property
    def synopsis(self) -> str:
        """The name of what is picked, to be given to `wr.slide(using=…)`."""
        return self.pick.name

    def __str__(self) -> str:
        work = self.work
        asked = f"{work.aggregate!r} over {work.retention:,} elements, every {work.slide:,}"
        if work.batch is not None:
            asked += f", in batches of {work.batch:,}"
        if self.groups > 1:
            asked += f", {self.groups:,} groups"
        lines = [asked, f"{'':2}{'approach':23}{'time a slide':>13}{'(95 %)':>21}{'bytes':>10}{'(95 %)':>21}  answers"]
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
        times = f"{as_time(n * found.time_low)} to {as_time(n * found.time_high)}"
        sizes = f"{as_bytes(n * found.bytes_low)} to {as_bytes(n * found.bytes_high)}"
        mark = "*" if way is self.pick else "~" if way in self.close else " "
        answers = way.answers if way.caution is None else f"{way.answers} {UNSURE}"
        return (
            f"{mark:2}{way.name:23}{as_time(n * found.time):>13}{times:>21}{as_bytes(n * found.bytes):>10}{sizes:>21}"
            f"  {answers}"
        )

    __repr__ = __str__

    def plot(self, path: str | Path) -> Path:
        """Draw all ways that apply by space and time, with the four quadrants around the pick and the Pareto front."""
        from windrow.planner.plot import draw

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
    """Say how an aggregate over a sliding window is best computed.

    Parameters
    ----------
    aggregate
        What is asked of each window.
    retention, slide
        How many elements a window has, and after how many there is a window again.
    eps
        How wrong an answer may be; by default what the aggregate says, else not at all.
    delta
        With which probability it may be more wrong; 0 rules out whatever is drawn at random.
    groups
        How many groups have such a window each.
    prefer
        `"time"`, `"space"`, or `"balanced"` (default): the least product of both.
    limit_bytes
        How much memory all groups may take; ways that take more are not picked.
    batch
        How many elements come at a time, if they do not come many slides at once.
    kind
        Whether elements leave by their number, `"count"` (default), or by their `"time"`.
    whole
        Whether the values are whole numbers of at least 0.
    model
        What things cost, or a file by `windrow calibrate --out`; by default as `windrow calibrate` found on this
        machine, else as the package says.

    Examples
    --------
    >>> import windrow as wr
    >>> advice = wr.advise(wr.variance("helium"), retention=1_152_000, slide=19_200)
    >>> advice.synopsis
    'Panes'
    """
    work = _workload(aggregate, retention, slide, eps, delta, batch, kind, whole)
    if isinstance(groups, bool) or not isinstance(groups, int) or groups < 1:
        raise SpecError(f"groups: {groups!r} must be a whole number of at least 1")
    if prefer not in ("balanced", "time", "space"):
        raise SpecError(f"prefer: {prefer!r} must be 'balanced', 'time' or 'space'")
    if limit_bytes is not None and not _is_above_nothing(limit_bytes):
        raise SpecError(f"limit_bytes: {limit_bytes!r} must be a number of bytes above 0")
    known = current_model() if model is None else model if isinstance(model, Model) else load_model(model)
    ways = [_way(work, synopsis, known) for synopsis in APPROACHES]
    return _choose(work, groups, prefer, limit_bytes, ways)


def _is_above_nothing(number: Any) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and number > 0


def _workload(
    aggregate: Any, retention: int, slide: int, eps: float | None, delta: float, batch: int | None,
    kind: RetentionKind, whole: bool,
) -> Workload:  # fmt: skip
    if not isinstance(aggregate, AggregateFunction):
        raise SpecError(f"aggregate: {aggregate!r} is no aggregate; give one such as wr.sum('volume')")
    if kind not in ("count", "time"):
        raise SpecError(f"kind: {kind!r} is not a kind of retention; it must be 'count' or 'time'")
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
        obstacle = "the model knows nothing of it"
    return Way(synopsis, answers, obstacle=obstacle)


def cost_of(prefer: Prefer) -> Callable[[Predicted], float]:
    """What is to be as small as can be."""
    if prefer == "time":
        return lambda found: found.time
    if prefer == "space":
        return lambda found: found.bytes
    return lambda found: math.sqrt(max(found.time, 0.0) * max(found.bytes, 0.0))


def _choose(work: Workload, groups: int, prefer: Prefer, limit: float | None, ways: list[Way]) -> Advice:
    cost = cost_of(prefer)

    def price(way: Way) -> float:
        assert way.predicted is not None
        return cost(way.predicted)

    applying = sorted((way for way in ways if way.predicted is not None), key=price)
    if not applying:
        why = next((way.obstacle for way in ways if way.obstacle), "")
        raise UnsupportedError(f"no synopsis keeps {work.aggregate!r} ({why}); wr.slide keeps it by panes of its own")
    sure = [way for way in applying if way.caution is None] or applying
    fitting = [way for way in sure if limit is None or groups * _size(way) <= limit]
    if not fitting:
        least = min(sure, key=_size)
        raise UnsupportedError(
            f"limit_bytes: nothing that applies takes so little as {as_bytes(float(limit or 0))}; the least is "
            f"{as_bytes(groups * _size(least))} by {least.name}. Allow more, or an error by eps= and delta="
        )
    best = fitting[0]
    alike = [way for way in fitting if price(way) <= AS_GOOD * price(best)]
    pick = min(alike, key=lambda way: (not way.synopsis.exact, not way.synopsis.deterministic, price(way)))
    close = tuple(
        way for way in fitting if way is not pick and price(way) < CLOSE * price(pick) and _overlap(way, pick)
    )
    reason = _reason(pick, close, fitting, applying, prefer, price)
    rest = [way for way in ways if way.predicted is None]
    return Advice(work, groups, prefer, (*applying, *rest), pick, reason, close)


def _wrapped(text: str, indent: int) -> str:
    lines = textwrap.wrap(text, WIDTH, subsequent_indent=" " * indent, drop_whitespace=True, break_on_hyphens=False)
    return "\n".join(lines)


def _size(way: Way) -> float:
    assert way.predicted is not None
    return way.predicted.bytes


def _overlap(way: Way, other: Way) -> bool:
    """Whether the bounds of both costs leave open which way is cheaper."""
    a, b = way.predicted, other.predicted
    assert a is not None
    assert b is not None
    time = a.time_low <= b.time_high and b.time_low <= a.time_high
    return time or (a.bytes_low <= b.bytes_high and b.bytes_low <= a.bytes_high)


def _reason(
    pick: Way, close: tuple[Way, ...], fitting: list[Way], applying: list[Way], prefer: Prefer,
    price: Callable[[Way], float],
) -> str:  # fmt: skip
    what = {"time": "the least time", "space": "the least memory", "balanced": "the least product of time and memory"}
    others = [way for way in fitting if way is not pick and way not in close]
    said = f"It takes {what[prefer]} of what applies"
    if pick is not fitting[0]:
        better = "exact" if pick.synopsis.exact else "certain to keep to its error"
        said = f"It is {better}, and as good as {fitting[0].name} within {AS_GOOD - 1:.0%}"
    if others:
        said += f"; the next, {others[0].name}, takes {price(others[0]) / price(pick):.1f} times of it"
    if close:
        said += f". Too close to call: {', '.join(way.name for way in close)}"
    cheaper = [way for way in applying if way.caution is not None and price(way) < price(pick)]
    if cheaper:
        said += f". {cheaper[0].name} would take {price(cheaper[0]) / price(pick):.2f} of it, but {cheaper[0].caution}"
    found = pick.predicted
    if found is not None and found.stands_in is not None:
        said += f". The costs are those of {found.stands_in}, which is like it"
    return said + "."
