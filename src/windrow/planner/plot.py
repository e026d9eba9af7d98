"""The space-time plot of an advice: one point per way, four quadrants around the pick, and the Pareto front."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from windrow.extras import require
from windrow.outputs.pictures import picture_target, save_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from windrow.planner.advice import Advice, Way


def draw(advice: Advice, path: Path) -> Path:
    """Plot an advice to a file; its suffix selects the format, and an existing picture is replaced."""
    target = picture_target(path, "plot")
    save_picture(figure_of(advice), target)
    return path


def figure_of(advice: Advice) -> Figure:
    """Return the plot of an advice as a figure."""
    require("plotting", "plot")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot(xscale="log", yscale="log")
    shown = [way for way in advice.ways if way.predicted is not None]
    for way in shown:
        _add_point(axes, advice, way)
    _add_quadrants(axes, advice)
    _add_front(axes, advice, shown)
    axes.margins(0.2)  # room for the names
    axes.set_xlabel("time per slide, µs")
    axes.set_ylabel("memory, bytes")
    work = advice.work
    title = f"{work.aggregate!r} over {work.retention:,} values, every {work.slide:,}: {advice.pick.name}"
    axes.set_title(title, parse_math=False)
    axes.legend(loc="best", fontsize=8)
    return figure


def _add_point(axes: Axes, advice: Advice, way: Way) -> None:
    """Add a way with its bounds; the pick is red, and a way that is not picked although it applies is gray."""
    n, cost = advice.groups, way.predicted
    assert cost is not None
    colour = "tab:red" if way is advice.pick else "tab:blue" if way.caution is None else "tab:gray"
    axes.errorbar(
        n * cost.time / 1e3, n * cost.bytes,
        xerr=[[n * (cost.time - cost.time_low) / 1e3], [n * (cost.time_high - cost.time) / 1e3]],
        yerr=[[n * (cost.bytes - cost.bytes_low)], [n * (cost.bytes_high - cost.bytes)]],
        fmt="o" if way.synopsis.exact else "s", color=colour, ecolor=colour, elinewidth=0.8, capsize=2,
    )  # fmt: skip
    place = (n * cost.time / 1e3, n * cost.bytes)
    axes.annotate(way.name, place, textcoords="offset points", xytext=(6, 5), fontsize=8)


def _add_quadrants(axes: Axes, advice: Advice) -> None:
    n, best = advice.groups, advice.pick.predicted
    assert best is not None
    axes.axvline(n * best.time / 1e3, color="tab:red", linewidth=0.7, linestyle=":")
    axes.axhline(n * best.bytes, color="tab:red", linewidth=0.7, linestyle=":")


def _add_front(axes: Axes, advice: Advice, shown: list[Way]) -> None:
    n, front = advice.groups, pareto_front(shown)
    axes.step(
        [n * way.predicted.time / 1e3 for way in front if way.predicted],
        [n * way.predicted.bytes for way in front if way.predicted],
        where="post", color="black", linewidth=0.8, alpha=0.5, label="Pareto front",
    )  # fmt: skip


def pareto_front(ways: list[Way]) -> list[Way]:
    """Return the ways that no other beats in both time and memory, sorted by time."""
    front: list[Way] = []
    for way in sorted(ways, key=lambda each: (each.predicted.time, each.predicted.bytes) if each.predicted else (0, 0)):
        if not front or _bytes(way) < _bytes(front[-1]):
            front.append(way)
    return front


def _bytes(way: Way) -> float:
    return way.predicted.bytes if way.predicted else 0.0
