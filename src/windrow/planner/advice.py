"""`advise`: rank the ways to compute an aggregate over a sliding window by their predicted cost."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np

from windrow.aggregates import AggregateFunction
from windrow.errors import OutputError, SpecError, UnsupportedError
from windrow.outputs.html import html_table, html_text
from windrow.planner.model import Model, Predicted, current_model, load_model
from windrow.planner.units import as_bytes, as_time
from windrow.planner.workload import WHOLE, Workload, approaches, is_real, is_whole, short
from windrow.synopses import Synopsis
from windrow.synopses.base import RetentionKind

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Prefer: TypeAlias = Literal["balanced", "time", "space"]
CLOSE = 1.3
"""Two ways whose costs differ by less than this factor, and whose bounds overlap, are too close to call."""
AS_GOOD = 1.1
"""An exact way within this factor of the cheapest is preferred, unless memory is limited."""


MOST_BYTES = 1e300
UNSURE, WIDTH = "†", 100
NOT_MEASURED = "not measured; run `windrow calibrate`, with --import if it is from outside the package"
NO_COSTS = "not measured; it does not declare its costs"


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
        lines = [
            self.title,
            f"{'':2}{'approach':23}{'per slide':>9}{'95% within':>18}{'bytes':>9}{'95% within':>18}  answers",
        ]
        for mark, name, time, times, size, sizes, answers in self._rows():
            lines.append(f"{mark:2}{name:23}{time:>9}{times:>18}{size:>9}{sizes:>18}  {answers}")
        lines += [_wrapped(f"  {name:23}{note}", 25) for name, note in self._notes()]
        return "\n".join([*lines, "", _wrapped(self.verdict, 0)])

    __repr__ = __str__

    @property
    def title(self) -> str:
        """The workload in one line."""
        work = self.work
        title = f"{work.aggregate!r} over {work.retention:,} values, every {work.slide:,}"
        if work.batch is not None:
            title += f", in batches of {work.batch:,}"
        return f"{title}, {self.groups:,} groups" if self.groups > 1 else title

    @property
    def verdict(self) -> str:
        """The pick and the reason for it, as a sentence."""
        return f"pick: {self.pick.name}. {self.reason}"

    def _rows(self) -> list[tuple[str, ...]]:
        """Return the cells of each way with a cost: mark, name, time with bounds, bytes with bounds, answers."""
        n = self.groups
        rows: list[tuple[str, ...]] = []
        for way in self.ways:
            cost = way.predicted
            if cost is not None:
                times = f"{as_time(n * cost.time_low)}-{as_time(n * cost.time_high)}"
                sizes = f"{as_bytes(n * cost.bytes_low)}-{as_bytes(n * cost.bytes_high)}"
                mark = "*" if way is self.pick else "~" if way in self.close else " "
                answers = way.answers if way.caution is None else f"{way.answers} {UNSURE}"
                rows.append((mark, way.name, as_time(n * cost.time), times, as_bytes(n * cost.bytes), sizes, answers))
        return rows

    def _notes(self) -> list[tuple[str, str]]:
        """Return the name of each way that does not apply or is not picked, with the reason."""
        notes = [(way.name, way.obstacle or (f"{UNSURE} {way.caution}" if way.caution else "")) for way in self.ways]
        return [(name, note) for name, note in notes if note]

    def _repr_html_(self) -> str:
        """Return the advice as HTML tables, for notebooks."""
        header = ("", "approach", "per slide", "95% within", "bytes", "95% within", "answers")
        notes = html_table((), self._notes()) if self._notes() else ""
        return html_text(self.title) + html_table(header, self._rows()) + notes + html_text(self.verdict)

    @overload
    def plot(self, path: None = None) -> Figure: ...

    @overload
    def plot(self, path: str | Path) -> Path: ...

    def plot(self, path: str | Path | None = None) -> Figure | Path:
        """Plot the ways that apply by space and time, with quadrants around the pick and the Pareto front.

        Returns the matplotlib figure, which a notebook shows, or writes it to `path`, whose suffix selects the format.
        """
        from windrow.planner.plot import draw, figure_of

        if path is None:
            return figure_of(self)
        if not isinstance(path, str | Path):
            raise OutputError(f"plot: expected the name of a file, got {short(path)}")
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
        raise SpecError(f"groups: expected an integer from 1 to 2**62, got {short(groups)}")
    if not isinstance(prefer, str) or prefer not in ("balanced", "time", "space"):
        raise SpecError(f"prefer: expected 'balanced', 'time' or 'space', got {short(prefer)}")
    if limit_bytes is not None and not (is_real(limit_bytes) and 0 < limit_bytes <= MOST_BYTES):
        raise SpecError(f"limit_bytes: expected a number above 0 and up to 1e300, got {short(limit_bytes)}")
    costs = _model(model)
    ways = [_way(work, synopsis, costs) for synopsis in approaches()]
    return _choose(work, groups, prefer, limit_bytes, ways)


def _model(model: Any) -> Model:
    if model is None:
        return current_model()
    if isinstance(model, str | Path):
        return load_model(model)
    if not isinstance(model, Model):
        raise SpecError(f"model: expected a model or a file written by `windrow calibrate --out`, got {short(model)}")
    return model


def _workload(
    aggregate: Any, retention: int, slide: int, eps: float | None, delta: float, batch: int | None,
    kind: RetentionKind, whole: bool,
) -> Workload:  # fmt: skip
    if not isinstance(aggregate, AggregateFunction):
        raise SpecError(f"aggregate: expected an aggregate such as wr.sum('volume'), got {short(aggregate)}")
    if not isinstance(kind, str) or kind not in ("count", "time"):
        raise SpecError(f"kind: expected 'count' or 'time', got {short(kind)}")
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
        obstacle = NOT_MEASURED if synopsis.costs(work.aggregate) else NO_COSTS
    return Way(synopsis, answers, obstacle=obstacle)


def cost_of(prefer: Prefer) -> Callable[[Predicted], float]:
    """Return the function of predicted costs to minimise."""
    if prefer == "time":
        return lambda cost: cost.time
    if prefer == "space":
        return lambda cost: cost.bytes
    return lambda cost: math.sqrt(cost.time * cost.bytes)


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
        looser = "a larger error" if work.eps else "an error with eps= and delta="
        raise UnsupportedError(
            f"limit_bytes: no applicable synopsis is certain to fit into {as_bytes(float(limit))}; "
            f"{least.name} may take {as_bytes(groups * _most(least))}. Allow more memory, or {looser}"
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
    if NOT_MEASURED in obstacles:
        return f"the model has no costs of a synopsis that supports {work.aggregate!r}; run `windrow calibrate`"
    # Large enough to matter, and smaller than any share that heavy hitters may be defined by.
    generous = replace(work, eps=1e-6, delta=0.5)
    obstacle = next((way.obstacle for way in ways if generous.why_not(way.synopsis) is None), None)
    if obstacle:
        return f"no synopsis supports {work.aggregate!r} with eps={work.eps:g} and delta={work.delta:g}: {obstacle}"
    return f"no synopsis supports {work.aggregate!r} ({obstacles[0]}); wr.slide stores it in panes instead"


def _within(way: Way, limit: float, shown: str) -> Way:
    """Return the way, with a caution added if it may exceed the limit; `shown` is the limit for all groups."""
    fits = way.caution is not None or _most(way) <= limit
    return way if fits else replace(way, caution=f"it may take more than the allowed {shown}")


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
    least = {"time": "the least time", "space": "the least memory", "balanced": "the least time and memory combined"}
    others = [way for way in fitting if way not in (pick, fitting[0], *close)]
    reason = f"Of all that apply, it takes {least[prefer]}"
    if pick is not fitting[0]:
        reason = f"It is exact, and within {AS_GOOD - 1:.0%} of {fitting[0].name}, the cheapest"
    if others:
        reason += f"; the next, {others[0].name}, takes {price(others[0]) / price(pick):.1f} times as much"
    if close:
        reason += f". Too close to call: {', '.join(way.name for way in close)}"
    cheaper = [way for way in applying if way.caution is not None and way is not pick and price(way) < price(pick)]
    if cheaper:
        share = price(cheaper[0]) / price(pick)
        reason += f". {cheaper[0].name} would take {share:.2f} times as much, but {cheaper[0].caution}"
    if pick.predicted is not None and pick.predicted.stands_in is not None:
        reason += f". The costs are those of {pick.predicted.stands_in}, the most similar aggregate that was measured"
    return reason + "."
