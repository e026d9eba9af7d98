"""The demo's pictures: signals with their frames."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from windrow.demo.tow import Tow
from windrow.demo.traffic import DAY, FIRST_ID, HOURS, READINGS, SECONDS_PER_READING, TrafficDay
from windrow.outputs.pictures import picture_target, save_picture

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

INK, SOFT, SIGNAL, FRAME, LIMIT, GONE = "#22303c", "#7b8794", "#2f6690", "#f2a65a", "#c8553d", "#c3cad1"
SPEEDS = LinearSegmentedColormap.from_list("speeds", ["#7a1f1f", "#d1495b", "#f2a65a", "#fbe3b5", "#e3efe6", "#cfe3da"])
STYLE: Any = {
    "font.size": 11, "font.family": "DejaVu Sans", "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": SOFT,
    "axes.titlesize": 12.5, "axes.titlelocation": "left", "axes.titlepad": 9, "axes.spines.top": False,
    "axes.spines.right": False, "xtick.color": SOFT, "ytick.color": SOFT, "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,     "legend.frameon": False, "legend.fontsize": 10, "axes.grid": False,
}  # fmt: skip


@contextmanager
def _picture(path: Path, height: float) -> Iterator[Figure]:
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(13, height), dpi=120, layout="constrained", facecolor="white")
        FigureCanvasAgg(figure)
        yield figure
        save_picture(figure, picture_target(path, "--out"))


def draw_traffic(day: TrafficDay, jams: pa.Table, path: Path) -> None:
    """Draw the day as a map of speeds with jams outlined, and one detector with its jams shaded."""
    with _picture(path, 9.5) as figure:
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=[1.7, 1])
        _draw_map(figure, above, day, jams)
        detector = _detector_to_draw(day, jams)
        _draw_detector(below, day, jams, detector)
        above.axhline(detector, color=INK, linewidth=0.8, linestyle=(0, (2, 3)))
        below.set_xlim(0, 24)
        below.set_xticks(range(0, 25, 2))
        below.xaxis.set_major_formatter("{x:02.0f}:00")


def _draw_map(figure: Figure, axes: Axes, day: TrafficDay, jams: pa.Table) -> None:
    detectors = day.speed.shape[1]
    extent = (0.0, 24.0, FIRST_ID - 0.5, FIRST_ID + detectors - 0.5)
    speeds = _minute_means(day.speed)
    axes.set_facecolor(GONE)
    image = axes.imshow(
        speeds.T, origin="lower", aspect="auto", extent=extent, cmap=SPEEDS, vmin=5, vmax=65, interpolation="nearest"
    )
    inside = _in_frames(jams, detectors)
    axes.contour(HOURS, FIRST_ID + np.arange(detectors), inside.T, levels=[0.5], colors=INK, linewidths=0.7)
    axes.set_title(f"Speed along the road, {DAY:%A %d %B %Y}, with the {jams.num_rows} jams that were found outlined")
    axes.set_ylabel("detector (traffic flows upwards)")
    bar = figure.colorbar(image, ax=axes, pad=0.012, aspect=32)
    bar.set_label("mph")
    bar.outline.set_visible(False)
    marks = [Line2D([], [], color=INK, linewidth=0.9, label="jam"), Patch(color=GONE, label="no reading")]
    axes.legend(handles=marks, loc="lower right", bbox_to_anchor=(1, 1), ncols=2, borderaxespad=0.2)


def _minute_means(speed: npt.NDArray[np.float32], readings: int = 6) -> npt.NDArray[np.float32]:
    """Return means over a few readings each, ignoring missing ones: there are more readings than pixels."""
    blocks = speed.reshape(READINGS // readings, readings, -1)
    seen = ~np.isnan(blocks)
    counts = np.where(seen.any(axis=1), seen.sum(axis=1), np.nan)
    means: npt.NDArray[np.float32] = np.where(seen, blocks, 0).sum(axis=1) / counts
    return means


def _in_frames(jams: pa.Table, detectors: int) -> npt.NDArray[np.float32]:
    """Return which readings of which detectors lie in a frame."""
    inside = np.zeros((READINGS, detectors), np.float32)
    for detector, start, end in _rows(jams, "detectorid", "start", "end"):
        inside[_reading(start) : _reading(end) + 1, detector - FIRST_ID] = 1
    return inside


def _hour(time: datetime) -> float:
    return (time - DAY).total_seconds() / 3600


def _reading(time: datetime) -> int:
    return round(_hour(time) * 3600) // SECONDS_PER_READING


def _detector_to_draw(day: TrafficDay, jams: pa.Table) -> int:
    """Return the detector with an outage during a jam, if it has a jam, otherwise the one with the most jams."""
    detectors: list[Any] = jams["detectorid"].to_pylist()
    broken = FIRST_ID + day.outages[0].detector
    return int(broken if broken in detectors else max(detectors, key=detectors.count, default=FIRST_ID))


def _draw_detector(axes: Axes, day: TrafficDay, jams: pa.Table, detector: int) -> None:
    mine = [row for row in _rows(jams, "detectorid", "start", "end") if row[0] == detector]
    for _, start, end in mine:
        axes.axvspan(_hour(start), _hour(end), color=FRAME, alpha=0.45, linewidth=0)
    outages = [outage for outage in day.outages if FIRST_ID + outage.detector == detector]
    for outage in outages:
        axes.axvspan(HOURS[outage.first], HOURS[outage.last], fill=False, edgecolor=SOFT, hatch="////", linewidth=0)
    axes.plot(HOURS, day.speed[:, detector - FIRST_ID], ".", color=SIGNAL, markersize=1.6, alpha=0.7)
    axes.axhline(40, color=LIMIT, linewidth=1, linestyle=(0, (5, 3)))
    axes.text(0.13, 38.5, "40 mph", color=LIMIT, fontsize=10, va="top")
    axes.set_title(f"Detector {detector}, dotted above, and its {len(mine)} jams: 3 minutes or more under 40 mph")
    axes.set_ylabel("speed, mph, every 20 s")
    axes.set_ylim(0, 75)
    marks: list[Line2D | Patch] = [
        Line2D([], [], color=SIGNAL, marker=".", linestyle="", label="reading"),
        Patch(color=FRAME, alpha=0.45, label="jam"),
    ]
    if outages:
        marks.append(Patch(facecolor="none", edgecolor=SOFT, hatch="////", linewidth=0, label="out of order"))
    axes.legend(handles=marks, loc="lower right", bbox_to_anchor=(1, 1), ncols=3, borderaxespad=0.2)


def draw_tow(tow: Tow, episodes: pa.Table, steps: pa.Table, path: Path) -> None:
    """Draw the fluorescence with its episodes shaded, the path of the probe, and one episode as delta frames."""
    with _picture(path, 10.5) as figure:
        whole, track, near = figure.subplots(3, 1, height_ratios=[1, 0.8, 1])
        scan, depth, flsp = (tow.table[name].to_numpy() for name in ("scan", "depth", "flsp"))
        _draw_fluorescence(whole, scan, flsp, episodes)
        _draw_path(figure, track, scan, depth, flsp, episodes)
        track.sharex(whole)
        whole.set_xlim(0, scan[-1])
        whole.tick_params(labelbottom=False)
        for axes in (track, near):
            axes.xaxis.set_major_formatter("{x:,.0f}")
        _draw_steps(near, scan, flsp, episodes, steps)


def _draw_fluorescence(axes: Axes, scan: Ints, flsp: Floats, episodes: pa.Table) -> None:
    _shade(axes, episodes)
    axes.plot(scan, flsp, color=SIGNAL, linewidth=0.8)
    axes.axhline(0.2, color=LIMIT, linewidth=1, linestyle=(0, (5, 3)))
    axes.set_title(f"Fluorescence along the tow, and the {episodes.num_rows} episodes: over 0.2 for at least 20 scans")
    axes.set_ylabel("fluorescence, units")
    axes.set_ylim(bottom=0)
    marks = [
        Line2D([], [], color=SIGNAL, linewidth=1.2, label="reading"),
        Patch(color=FRAME, alpha=0.45, label="episode"),
        Line2D([], [], color=LIMIT, linewidth=1, linestyle=(0, (5, 3)), label="0.2"),
    ]
    axes.legend(handles=marks, loc="lower right", bbox_to_anchor=(1, 1), ncols=3, borderaxespad=0.2)


def _draw_path(figure: Figure, axes: Axes, scan: Ints, depth: Floats, flsp: Floats, episodes: pa.Table) -> None:
    axes.plot(scan, depth, color=GONE, linewidth=1.2, zorder=1)
    inside = np.zeros(len(scan), bool)
    for start, end in _rows(episodes, "start", "end"):
        inside[start : end + 1] = True
    dots = axes.scatter(scan[inside], depth[inside], c=flsp[inside], s=9, cmap="YlOrRd", vmin=0, linewidths=0, zorder=2)
    axes.invert_yaxis()
    axes.set_title("The path of the probe, coloured where it passed through dye")
    axes.set_ylabel("depth, m")
    axes.set_xlabel("scan (24 per second)")
    bar = figure.colorbar(dots, ax=axes, pad=0.012, aspect=14)
    bar.set_label("fluorescence")
    bar.outline.set_visible(False)


def _draw_steps(axes: Axes, scan: Ints, flsp: Floats, episodes: pa.Table, steps: pa.Table) -> None:
    middle = max(_rows(episodes, "count", "start", "end"), default=(0, 0, int(scan[-1])))
    low, high = max(0, middle[1] - 400), min(int(scan[-1]), middle[2] + 400)
    near = [row for row in _rows(steps, "start", "end", "flsp") if row[1] >= low and row[0] <= high]
    _shade(axes, episodes)
    axes.plot(scan[low : high + 1], flsp[low : high + 1], ".", color=SIGNAL, markersize=2.5, alpha=0.5)
    for k, (start, end, mean) in enumerate(near):
        following = near[k + 1] if k + 1 < len(near) else (end, end, mean)
        axes.plot([start, following[0], following[0]], [mean, mean, following[2]], color=INK, linewidth=1.3)
    axes.set_xlim(low, high)
    axes.set_ylim(bottom=0)
    axes.set_title(f"One episode close up: {high - low + 1:,} scans in {len(near)} delta frames of at most 0.05")
    axes.set_ylabel("fluorescence, units")
    axes.set_xlabel("scan (24 per second)")
    marks = [
        Line2D([], [], color=SIGNAL, marker=".", linestyle="", label="reading"),
        Line2D([], [], color=INK, linewidth=1.3, label="mean of each delta frame"),
        Patch(color=FRAME, alpha=0.45, label="episode"),
    ]
    axes.legend(handles=marks, loc="lower right", bbox_to_anchor=(1, 1), ncols=3, borderaxespad=0.2)


def _shade(axes: Axes, episodes: pa.Table) -> None:
    for start, end in _rows(episodes, "start", "end"):
        axes.axvspan(start, end, color=FRAME, alpha=0.45, linewidth=0)


def _rows(table: pa.Table, *names: str) -> list[tuple[Any, ...]]:
    return list(zip(*(table[name].to_pylist() for name in names), strict=True))
