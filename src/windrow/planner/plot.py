"""The space-time plot of an advice: one point per way, four quadrants around the pick, and the Pareto front."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from windrow.extras import require
from windrow.outputs.pictures import picture_target, save_picture

if TYPE_CHECKING:
    from windrow.planner.advice import Advice, Way


def draw(advice: Advice, path: Path) -> Path:
    """Plot an advice to a file; its suffix selects the format, and an existing picture is replaced."""
    require("plotting", "plot")
    target = picture_target(path, "plot")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot(xscale="log", yscale="log")
    n = advice.groups
    shown = [way for way in advice.ways if way.predicted is not None]
    for way in shown:
        found = way.predicted
        assert found is not None
        colour = "tab:red" if way is advice.pick else "tab:blue" if way.caution is None else "tab:gray"
        axes.errorbar(
            n * found.time / 1e3, n * found.bytes,
            xerr=[[n * (found.time - found.time_low) / 1e3], [n * (found.time_high - found.time) / 1e3]],
            yerr=[[n * (found.bytes - found.bytes_low)], [n * (found.bytes_high - found.bytes)]],
            fmt="o" if way.synopsis.exact else "s", color=colour, ecolor=colour, elinewidth=0.8, capsize=2,
        )  # fmt: skip
        axes.annotate(
            way.name, (n * found.time / 1e3, n * found.bytes), textcoords="offset points", xytext=(6, 5), fontsize=8
        )
    best = advice.pick.predicted
    assert best is not None
    axes.axvline(n * best.time / 1e3, color="tab:red", linewidth=0.7, linestyle=":")
    axes.axhline(n * best.bytes, color="tab:red", linewidth=0.7, linestyle=":")
    front = pareto_front(shown)
    axes.step(
        [n * way.predicted.time / 1e3 for way in front if way.predicted],
        [n * way.predicted.bytes for way in front if way.predicted],
        where="post", color="black", linewidth=0.8, alpha=0.5, label="Pareto front",
    )  # fmt: skip
    axes.margins(0.2)  # room for the names
    axes.set_xlabel("time a slide, µs")
    axes.set_ylabel("memory, bytes")
    work = advice.work
    title = f"{work.aggregate!r} over {work.retention:,} elements, every {work.slide:,}: {advice.pick.name}"
    axes.set_title(title, parse_math=False)
    axes.legend(loc="best", fontsize=8)
    save_picture(figure, target)
    return path


def pareto_front(ways: list[Way]) -> list[Way]:
    """Return the ways that no other beats in both time and memory, sorted by time."""
    front: list[Way] = []
    for way in sorted(ways, key=lambda each: (each.predicted.time, each.predicted.bytes) if each.predicted else (0, 0)):
        if not front or _bytes(way) < _bytes(front[-1]):
            front.append(way)
    return front


def _bytes(way: Way) -> float:
    return way.predicted.bytes if way.predicted else 0.0
