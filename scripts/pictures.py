"""Draws the pictures of the docs: what the schemes find in the demo's data, as SVG files.

`make pictures` writes them to docs/assets. Nothing depends on the clock, the machine or the session, so drawing them
again changes no file unless the data, a kernel, the drawing or matplotlib has changed. Every picture carries its own
background and follows the reader's colour scheme, so that it is readable on light and on dark pages.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import windrow as wr
from windrow.demo import Tow, TrafficDay, dye_tow, traffic_day
from windrow.demo.run import JAM
from windrow.framing.parallel.in_process import Case
from windrow.synopses import Retention, TwoStacks

FOLDER = Path(__file__).parents[1] / "docs" / "assets"
MICROSECONDS = 1_000_000

# Colours of Okabe and Ito, which colour-blind readers can tell apart, on light and on dark paper.
PAPER, INK, SOFT, SIGNAL, FRAME, LIMIT = "#fffffe", "#22303c", "#7b8794", "#0072b2", "#e69f00", "#d55e00"
ON_DARK = {
    PAPER: "#1e2129", INK: "#e8eaed", SOFT: "#9aa4ae", SIGNAL: "#6cc0f5", FRAME: "#e69f00", LIMIT: "#ff8a4c",
}  # fmt: skip
NAMES = dict(zip(ON_DARK, ("paper", "ink", "soft", "signal", "frame", "limit"), strict=True))
STYLE: Any = {
    "font.family": "DejaVu Sans", "font.size": 11, "figure.facecolor": PAPER, "axes.facecolor": "none",
    "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": SOFT, "axes.linewidth": 0.8, "axes.grid": False,
    "axes.spines.top": False, "axes.spines.right": False, "axes.titlelocation": "left", "axes.titlesize": 11,
    "axes.titlepad": 8, "xtick.color": SOFT, "ytick.color": SOFT, "xtick.labelcolor": INK, "ytick.labelcolor": INK,
    "lines.linewidth": 1.2, "svg.hashsalt": "windrow", "svg.fonttype": "path",
}  # fmt: skip
CODE = {"family": "DejaVu Sans Mono", "size": 10.5}
WIDTH = 5.8
"""In inches: with this width, text of 11 points is still readable on a phone."""


class Frame(NamedTuple):
    """Where a frame lies on the x axis of a picture."""

    start: float
    end: float


def main() -> None:
    """Draw all pictures, or those that are named."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[1:] or PICTURES:
        PICTURES[name]()


# Data and frames.


@cache
def day() -> TrafficDay:
    """Return the demo's day of traffic."""
    return traffic_day()


@cache
def tow() -> Tow:
    """Return the demo's tow of a probe through dye."""
    return dye_tow()


def framed(table: pa.Table, scheme: wr.Scheme, on: str, by: Sequence[str] = (), **agg: Any) -> pa.Table:
    """Frame a table in this process, with the kernels that Spark's tasks run."""
    return Case(table, scheme, on, tuple(by), agg).whole()


def readings(detector: int, first: float, last: float) -> pa.Table:
    """Return the readings of a detector between two hours of the day, with the hour as a column."""
    table = day().table.filter(pc.field("detectorid") == detector)
    table = table.append_column("hour", pa.array(hours(table["starttime"])))
    return table.filter((pc.field("hour") >= first) & (pc.field("hour") <= last))


def scans(first: int, last: int) -> pa.Table:
    """Return the scans of the tow between two numbers."""
    return tow().table.slice(first, last - first + 1)


def hours(times: pa.ChunkedArray) -> np.ndarray:
    """Return the hours since midnight."""
    micros = times.cast(pa.int64()).to_numpy()
    return (micros % (24 * 3600 * MICROSECONDS)) / (3600 * MICROSECONDS)


def hours_of(frames: pa.Table) -> list[Frame]:
    """Return the frames as hours of the day."""
    return [Frame(*bounds) for bounds in zip(hours(frames["start"]), hours(frames["end"]), strict=True)]


def bounds_of(frames: pa.Table) -> list[Frame]:
    """Return the frames in the unit of `on`."""
    return [Frame(*bounds) for bounds in zip(frames["start"].to_pylist(), frames["end"].to_pylist(), strict=True)]


def numbers(table: pa.Table, name: str) -> np.ndarray:
    """Return a column as floats, with NaN for null."""
    return table[name].cast(pa.float64()).to_numpy()


# Drawing.


@contextmanager
def picture(name: str, height: float, **subplots: Any) -> Iterator[Any]:
    """Give axes to draw on, then write the picture."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)
        FigureCanvasSVG(figure)
        yield figure.subplots(**subplots)
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": "Windrow"})
    (FOLDER / f"{name}.svg").write_text(finished(drawn.getvalue()))


def finished(svg: str) -> str:
    """Replace colours by variables that follow the reader's colour scheme, and shorten numbers."""
    for colour, name in NAMES.items():
        svg = svg.replace(f": {colour}", f": var(--{name})")
    light = ";".join(f"--{name}:{colour}" for colour, name in NAMES.items())
    dark = ";".join(f"--{name}:{ON_DARK[colour]}" for colour, name in NAMES.items())
    style = f"svg{{{light}}}@media(prefers-color-scheme:dark){{svg{{{dark}}}}}"
    svg = svg.replace('<style type="text/css">', f'<style type="text/css">{style}', 1)
    places = r' (?:d|x|y)="[^"]*"|translate\([^)]*\)'
    svg = re.sub(places, lambda place: re.sub(r"\d+\.\d{2,}", shorter, place[0]), svg)
    return re.sub(r"[ \t]+$", "", svg, flags=re.MULTILINE)


def shorter(number: re.Match[str]) -> str:
    """Return a coordinate with one decimal, which is a tenth of a point."""
    return f"{float(number[0]):.1f}"


def title(axes: Axes, code: str) -> None:
    """Put the scheme above a picture."""
    axes.set_title(code, **CODE)


def shade(axes: Axes, frames: Sequence[Frame], *, alternate: bool = False) -> None:
    """Shade frames; frames that follow each other get two tints in turn."""
    for i, frame in enumerate(frames):
        tint = 0.18 if alternate and i % 2 else 0.42
        axes.axvspan(frame.start, frame.end, color=FRAME, alpha=tint, linewidth=0, zorder=0)


def limit(axes: Axes, value: float, text: str, x: float, *, above: bool = True) -> None:
    """Draw a dashed line at a limit and label it."""
    axes.axhline(value, color=LIMIT, linewidth=1, linestyle=(0, (5, 3)), zorder=1)
    place = {"va": "bottom"} if above else {"va": "top"}
    axes.annotate(text, (x, value), (0, 2 if above else -3), textcoords="offset points", color=LIMIT, **place)


def label(axes: Axes, text: str, at: tuple[float, float], **options: Any) -> None:
    """Write a text into a picture."""
    axes.text(*at, text, **{"ha": "center", "va": "center", "color": INK, **options})


def point_at(axes: Axes, text: str, target: tuple[float, float], at: tuple[float, float]) -> None:
    """Write a text and draw a thin line from it to what it is about."""
    line = {"arrowstyle": "-", "color": SOFT, "linewidth": 0.9}
    axes.annotate(text, target, at, arrowprops=line, ha="center", va="center", color=INK)


def clock(axes: Axes, first: float, last: float, every: float) -> None:
    """Label the x axis with times of the day."""
    axes.set_xlim(first, last)
    axes.set_xticks(np.arange(first, last + 1e-9, every))
    axes.xaxis.set_major_formatter(lambda hour, _: f"{int(hour + 1e-9):02}:{round(hour % 1 * 60) % 60:02}")


def speed_axis(axes: Axes, top: float = 75) -> None:
    """Scale the y axis for speeds."""
    axes.set_ylim(0, top)
    axes.set_yticks([0, 20, 40, 60])
    axes.set_ylabel("mph")


# The pictures.


def draw_jams() -> None:
    """All jams of the demo's day, and one detector with its jams."""
    table, detector = day().table, 1104
    jams = framed(table, JAM, "starttime", ["detectorid"])
    with picture("jams", 4.9, nrows=2, sharex=True, height_ratios=[1.25, 1]) as (every, one):
        for row, frame in zip(jams["detectorid"].to_pylist(), hours_of(jams), strict=True):
            bar = Rectangle((frame.start, row - 0.5), frame.end - frame.start, 1, color=FRAME, linewidth=0)
            every.add_patch(bar)
        every.axhline(detector, color=SIGNAL, linewidth=1)
        every.set_ylim(1000, 1201)
        every.set_yticks([1001, 1050, 1100, 1150, 1200])
        every.set_ylabel("detector")
        every.set_title(f"{jams.num_rows} traffic jams at 200 detectors: each bar is a frame")
        label(every, f"detector {detector}", (0.3, detector + 7), ha="left", color=SIGNAL)

        mine = readings(detector, 0, 24)
        found = hours_of(jams.filter(pc.field("detectorid") == detector))
        shade(one, found)
        speed = numbers(mine, "speed")[: mine.num_rows // 3 * 3].reshape(-1, 3)
        means = np.nanmean(np.where(np.isnan(speed).all(axis=1)[:, None], 0, speed), axis=1)
        means[np.isnan(speed).all(axis=1)] = np.nan
        one.plot(numbers(mine, "hour")[: speed.size : 3], means, color=SIGNAL, linewidth=0.9)
        limit(one, 40, "40 mph", 0.3, above=False)
        speed_axis(one)
        one.set_title("Speed at this detector: a jam is 3 minutes or more below 40 mph")
        clock(one, 0, 24, 4)


def draw_threshold() -> None:
    """Two jams, and between them a dip that is too short."""
    table = readings(1021, 16.25, 17.75)
    scheme = wr.Threshold("speed < 40", min_duration="3 minutes", nulls="skip")
    every = framed(table, wr.Threshold("speed < 40", nulls="skip"), "starttime")
    jams = hours_of(framed(table, scheme, "starttime"))
    short = [frame for frame in hours_of(every) if frame not in jams]
    with picture("threshold", 2.3) as axes:
        shade(axes, jams)
        axes.plot(numbers(table, "hour"), numbers(table, "speed"), color=SIGNAL)
        limit(axes, 40, "40 mph", 16.78, above=False)
        for i, jam in enumerate(jams):
            label(axes, f"{i}", ((jam.start + jam.end) / 2, 6))
        longest = max(short, key=lambda frame: frame.end - frame.start)
        point_at(axes, "too short", ((longest.start + longest.end) / 2, 34), ((longest.start + longest.end) / 2, 8))
        speed_axis(axes)
        clock(axes, 16.25, 17.75, 0.25)
        title(axes, 'Threshold("speed < 40", min_duration="3 minutes")')


def draw_boundary() -> None:
    """Draw the depth of the probe in layers of 10 m."""
    table = scans(1000, 7000)
    frames = framed(table, wr.Boundary({"depth": 10.0}), "scan")
    with picture("boundary", 2.4) as axes:
        for frame, cell in zip(bounds_of(frames), frames["cell_depth"].to_pylist(), strict=True):
            box = Rectangle((frame.start, 10 * (cell - 1)), frame.end - frame.start, 10, linewidth=0)
            box.set(color=FRAME, alpha=0.42 if cell % 2 else 0.2)
            axes.add_patch(box)
        for edge in (10, 20, 30):
            axes.axhline(edge, color=LIMIT, linewidth=0.8, linestyle=(0, (5, 3)))
        depth_lines(axes, table)
        for cell in (1, 2, 3, 4):
            label(axes, f"cell {cell}", (7060, 10 * cell - 5 if cell < 4 else 32.3), ha="left", color=LIMIT)
        title(axes, 'Boundary({"depth": 10.0})')


def depth_lines(axes: Axes, table: pa.Table) -> None:
    """Draw the way of the probe, the surface above."""
    axes.plot(numbers(table, "scan")[::10], numbers(table, "depth")[::10], color=SIGNAL)
    axes.set_ylim(34.5, 0)
    axes.set_yticks([0, 10, 20, 30])
    axes.set_ylabel("depth, m")
    axes.set_xlim(table["scan"][0].as_py(), table["scan"][-1].as_py())
    axes.set_xticks([])
    axes.set_xlabel("scans")


def draw_double_boundary() -> None:
    """Draw the depth of the probe, and below it the overlapping frames, each over two neighbouring layers."""
    table = scans(1000, 7000)
    frames = framed(table, wr.DoubleBoundary({"depth": 10.0}), "scan")
    with picture("double-boundary", 3.3, nrows=2, sharex=True, height_ratios=[1, 0.85]) as (above, below):
        for edge in (10, 20, 30):
            above.axhline(edge, color=LIMIT, linewidth=0.8, linestyle=(0, (5, 3)))
        depth_lines(above, table)
        above.set_xlabel("")
        for frame, cell in zip(bounds_of(frames), frames["cell_depth"].to_pylist(), strict=True):
            bar = Rectangle((frame.start, cell - 0.4), frame.end - frame.start, 0.8, color=FRAME, linewidth=0)
            bar.set_alpha(0.75 if cell % 2 else 0.4)
            below.add_patch(bar)
        below.set_ylim(4.6, -0.6)
        below.set_yticks(range(5), [f"{cell} and {cell + 1}" for cell in range(5)])
        below.set_ylabel("cells")
        below.set_xlabel("scans: each is in two frames")
        title(above, 'DoubleBoundary({"depth": 10.0})')


def draw_change() -> None:
    """Draw the traffic at a detector by its state, which is a text."""
    table = readings(1021, 16.25, 17.75).filter(pc.field("speed").is_valid())
    state = np.select([numbers(table, "speed") < 38, numbers(table, "speed") < 50], ["jam", "slow"], "free")
    table = table.append_column("state", pa.array(state))
    frames = framed(table, wr.Change("state", min_duration="3 minutes"), "starttime")
    with picture("change", 2.3) as axes:
        for frame, state in zip(hours_of(frames), frames["state"].to_pylist(), strict=True):
            tint, height = {"free": (0.12, 70), "slow": (0.3, 6), "jam": (0.55, 6)}[state]
            axes.axvspan(frame.start, frame.end, color=FRAME, alpha=tint, linewidth=0, zorder=0)
            label(axes, state, ((frame.start + frame.end) / 2, height))
        axes.plot(numbers(table, "hour"), numbers(table, "speed"), color=SIGNAL)
        speed_axis(axes)
        clock(axes, 16.25, 17.75, 0.25)
        title(axes, 'Change("state", min_duration="3 minutes")')


def draw_delta() -> None:
    """Draw a patch of dye, with a box around each frame: no box is higher than the limit."""
    table = scans(14560, 15040)
    frames = framed(table, wr.Delta({"flsp": 0.2}), "scan", low=wr.min("flsp"), high=wr.max("flsp"))
    low, high = numbers(frames, "low"), numbers(frames, "high")
    with picture("delta", 2.4) as axes:
        for i, (frame, bottom, top) in enumerate(zip(bounds_of(frames), low, high, strict=True)):
            box = Rectangle((frame.start, bottom), max(frame.end - frame.start, 1), top - bottom, linewidth=0)
            box.set(color=FRAME, alpha=0.3 if i % 2 else 0.6)
            axes.add_patch(box)
        axes.plot(numbers(table, "scan"), numbers(table, "flsp"), color=SIGNAL)
        tallest = int(np.argmax(high - low))
        x = bounds_of(frames)[tallest].start - 4
        axes.annotate(
            "",
            (x, low[tallest]),
            (x, high[tallest]),
            arrowprops={"arrowstyle": "|-|,widthA=0.25,widthB=0.25", "color": LIMIT},
        )
        label(axes, "at most 0.2", (x - 6, high[tallest] + 0.02), ha="right", color=LIMIT)
        axes.set_xlim(14560, 15040)
        axes.set_ylim(0, None)
        axes.set_ylabel("dye")
        axes.set_xlabel(f"{table.num_rows} scans in {frames.num_rows} frames")
        axes.set_xticks([])
        title(axes, 'Delta({"dye": 0.2})')


def draw_conjunction() -> None:
    """Draw a patch of dye, with a box around each stretch in which there is enough of it and it is nearly constant."""
    table = scans(14560, 15040)
    scheme = wr.Threshold("flsp > 0.2") & wr.Delta({"flsp": 0.2}, min_count=10)
    frames = framed(table, scheme, "scan", low=wr.min("flsp"), high=wr.max("flsp"))
    with picture("conjunction", 2.4) as axes:
        boxes = zip(bounds_of(frames), numbers(frames, "low"), numbers(frames, "high"), strict=True)
        for i, (frame, bottom, top) in enumerate(boxes):
            box = Rectangle((frame.start, bottom), frame.end - frame.start, top - bottom, linewidth=0)
            box.set(color=FRAME, alpha=0.3 if i % 2 else 0.6)
            axes.add_patch(box)
        axes.plot(numbers(table, "scan"), numbers(table, "flsp"), color=SIGNAL)
        limit(axes, 0.2, "0.2", 14563)
        axes.set_xlim(14560, 15040)
        axes.set_ylim(0, None)
        axes.set_ylabel("dye")
        axes.set_xlabel(f"{table.num_rows} scans, {frames.num_rows} frames of 10 or more")
        axes.set_xticks([])
        title(axes, 'Threshold("dye > 0.2") & Delta({"dye": 0.2}, min_count=10)')


def draw_aggregate() -> None:
    """Cars in the early morning: frames get shorter as traffic grows."""
    table = readings(1104, 5, 6)
    frames = framed(table, wr.Aggregate(wr.sum("volume"), ">", 100), "starttime", cars=wr.sum("volume"))
    with picture("aggregate", 2.3) as axes:
        hour, volume = numbers(table, "hour"), numbers(table, "volume")
        shade(axes, [Frame(frame.start, frame.end + 1 / 180) for frame in hours_of(frames)], alternate=True)
        axes.bar(hour, volume, width=1 / 200, align="edge", color=SIGNAL, linewidth=0)
        for frame, cars, done in zip(hours_of(frames), frames["cars"], frames["complete"], strict=True):
            text = f"{cars}" if done.as_py() else f"{cars} so far"
            if frame.end - frame.start > 0.06:
                label(axes, text, ((frame.start + frame.end) / 2, volume.max() + 2))
        axes.set_ylim(0, volume.max() + 4)
        axes.set_yticks([0, 5, 10])
        axes.set_ylabel("cars in 20 s")
        clock(axes, 5, 6, 0.25)
        title(axes, 'Aggregate(wr.sum("cars"), ">", 100)')


def draw_gap() -> None:
    """Cars at night: readings with a car, and the platoons that they form."""
    night = readings(1104, 2, 2.5)
    table = night.filter(pc.field("volume") > 0)
    frames = hours_of(framed(table, wr.Gap("40 seconds"), "starttime"))
    with picture("gap", 1.9) as axes:
        shade(axes, [Frame(frame.start - 0.0015, frame.end + 0.0015) for frame in frames])
        axes.vlines(numbers(table, "hour"), 0, 1, color=SIGNAL, linewidth=1.4)
        for i, frame in enumerate(frames):
            label(axes, f"{i}", ((frame.start + frame.end) / 2, 1.18))
        axes.set_ylim(0, 1.35)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("readings with at least one car")
        clock(axes, 2, 2.5, 0.125)
        axes.set_xticks([2, 2 + 1 / 6, 2 + 1 / 3, 2.5])
        title(axes, 'Gap("40 seconds")')


def opens(t: Any, s: Any) -> bool:
    """Return whether a peak begins: the dye exceeds 0.2."""
    s.peak = t.flsp
    return t.flsp > 0.2


def closes(t: Any, s: Any) -> bool:
    """Return whether a peak ends: the dye has fallen to half of its highest value."""
    s.peak = max(s.peak, t.flsp)
    return t.flsp < s.peak / 2


def draw_custom() -> None:
    """Peaks of dye, each until half of its height is lost."""
    table = scans(24900, 25750)
    scheme = wr.Custom(["flsp"], open=opens, close=closes, state={"peak": 0.0})
    frames = framed(table, scheme, "scan", peak=wr.max("flsp"))
    with picture("custom", 2.4) as axes:
        shade(axes, bounds_of(frames), alternate=True)
        axes.plot(numbers(table, "scan"), numbers(table, "flsp"), color=SIGNAL)
        limit(axes, 0.2, "0.2", 24905)
        for frame, peak in zip(bounds_of(frames), numbers(frames, "peak"), strict=True):
            axes.hlines(peak / 2, frame.start, frame.end, color=LIMIT, linewidth=1.4)
        axes.set_xlim(24900, 25750)
        axes.set_ylim(0, None)
        axes.set_xticks([])
        axes.set_ylabel("dye")
        axes.set_xlabel("each bar is at half the height of its peak")
        title(axes, 'Custom(["dye"], open=opens, close=closes, …)')


def draw_sliding() -> None:
    """Means over overlapping windows of half an hour, and three of these windows."""
    table = readings(1032, 6.5, 9.5)
    known = table.filter(pc.field("speed").is_valid())
    on, speed = known["starttime"].cast(pa.int64()).to_numpy(), numbers(known, "speed")
    midnight = on[0] - on[0] % (24 * 3600 * MICROSECONDS)
    ends = np.arange(7, 9.51, 1 / 6)
    moments = midnight + np.round(ends * 3600).astype(np.int64) * MICROSECONDS - 1
    windows = TwoStacks(wr.mean("speed"), Retention(1800 * MICROSECONDS, "time"))
    means = windows.answers(on, speed, moments).to_numpy(zero_copy_only=False)
    with picture("sliding", 2.6) as axes:
        axes.plot(numbers(table, "hour"), numbers(table, "speed"), ".", color=SOFT, markersize=2.2)
        axes.plot(ends, means, "o-", color=SIGNAL, markersize=4)
        for i in (3, 4, 5):
            height = 5.5 * (i - 3) + 3
            axes.hlines(height, ends[i] - 0.5, ends[i], color=FRAME, linewidth=4)
            axes.vlines(ends[i], height, means[i], color=FRAME, linewidth=1)
        label(axes, "windows", (ends[3] - 0.55, 8), ha="right")
        point_at(axes, "mean", (ends[8], means[8]), (ends[8] + 0.1, 15))
        speed_axis(axes)
        clock(axes, 6.5, 9.5, 0.5)
        title(axes, 'Sliding("30 minutes", every="10 minutes")')


def draw_time() -> None:
    """Values of a window and how long each holds: one is carried in, and one ends after max_hold."""
    on, value, hold, start, end = (-2.0, 1.0, 8.0, 9.5), (2.0, 4.0, 3.0, 1.5), 5.0, 0.0, 12.0
    upto = [min(later, each + hold) for each, later in zip(on, (*on[1:], end), strict=True)]
    with picture("time", 2.5) as axes:
        for x, y, until in zip(on, value, upto, strict=True):
            begin = max(x, start)
            axes.add_patch(Rectangle((begin, 0), until - begin, y, color=FRAME, alpha=0.35, linewidth=0))
            axes.hlines(y, x, until, color=SIGNAL, linewidth=1.6)
            axes.plot([x], [y], "o", color=SIGNAL, markersize=5)
        for bound in (start, end):
            axes.axvline(bound, color=SOFT, linestyle="--", linewidth=1)
        label(axes, "start", (start + 0.12, 5.1), ha="left")
        label(axes, "end", (end - 0.12, 5.1), ha="right")
        point_at(axes, "carry=True", (-0.9, 2.0), (-1.8, 3.2))
        point_at(axes, "max_hold", (upto[1], 4.0), (7.4, 4.6))
        label(axes, "unknown", ((upto[1] + on[2]) / 2, 0.45), color=SOFT)
        axes.set_xlim(-3.6, 12.4)
        axes.set_ylim(0, 5.6)
        axes.set_yticks([0, 2, 4])
        axes.set_xticks([0, 4, 8, 12])
        title(axes, 'time_mean("x", max_hold=5, carry=True)')


def draw_fill() -> None:
    """Jams of one detector, filled with the readings of another."""
    framed_one, filling_one = 1022, 1027
    table, source = readings(framed_one, 16, 18), readings(filling_one, 16, 18)
    jams = hours_of(framed(table, JAM, "starttime"))
    with picture("fill", 3.4, nrows=2, sharex=True) as (above, below):
        shade(above, jams)
        above.plot(numbers(table, "hour"), numbers(table, "speed"), color=SIGNAL, linewidth=0.9)
        limit(above, 40, "40 mph", 16.02, above=False)
        above.set_title(f"jams at detector {framed_one} …")
        hour, speed = numbers(source, "hour"), numbers(source, "speed")
        inside = np.any([(frame.start <= hour) & (hour <= frame.end) for frame in jams], axis=0)
        below.plot(hour[~inside], speed[~inside], ".", color=SOFT, markersize=2)
        below.plot(hour[inside], speed[inside], ".", color=LIMIT, markersize=3.5)
        shade(below, jams)
        below.set_title(f"… filled with the readings of detector {filling_one}")
        for axes in (above, below):
            speed_axis(axes)
        clock(below, 16, 18, 0.5)


PICTURES: dict[str, Callable[[], None]] = {
    "jams": draw_jams,
    "threshold": draw_threshold,
    "boundary": draw_boundary,
    "double-boundary": draw_double_boundary,
    "change": draw_change,
    "delta": draw_delta,
    "aggregate": draw_aggregate,
    "gap": draw_gap,
    "conjunction": draw_conjunction,
    "custom": draw_custom,
    "sliding": draw_sliding,
    "time": draw_time,
    "fill": draw_fill,
}

if __name__ == "__main__":
    main()
