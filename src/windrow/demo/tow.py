"""A synthetic tow through a field of dye: a probe with a fluorimeter that goes up and down behind a ship.

Modelled on the cruise in sections 2 and 4.1 of "Frames" (2016): the probe is in dye now and then, between long
stretches near zero, and the dye appears as sharp, uneven peaks. Bubbles cause peaks too, but these are too short to be
dye.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Floats = npt.NDArray[np.float64]

SCANS_A_SECOND = 24
FLOOR = 0.02
SHALLOWEST, DEEPEST = 2.0, 32.0


@dataclass(frozen=True)
class Tow:
    """The scans, the dye in the water without noise and bubbles, and the first and last scan of each bubble."""

    table: pa.Table
    dye: Floats
    bubbles: tuple[tuple[int, int], ...]


def dye_tow(scans: int = 60_000, seed: int = 8) -> Tow:
    """Generate the scans of a tow; equal seeds give equal scans.

    >>> dye_tow(scans=1000).table.column_names
    ['scan', 'depth', 'temperature', 'flsp']
    """
    rng = np.random.default_rng(seed)
    at = np.arange(scans)
    depth = _depth(at, rng)
    dye = _dye(at, depth, rng)
    noise = rng.normal(0, 0.0035, scans) + dye * rng.normal(0, 0.02, scans)
    bubbles = _bubbles(dye, rng)
    flsp = FLOOR + dye + noise
    for first, last in bubbles:
        flsp[first : last + 1] += rng.uniform(0.3, 0.55)
    temperature = 8.2 + 4.5 / (1 + np.exp((depth - 13) / 2.2)) + rng.normal(0, 0.02, scans)
    columns = (at.astype(np.int64), depth.round(2), temperature.round(3), np.maximum(flsp, 0).round(4))
    table = pa.table([pa.array(column) for column in columns], ["scan", "depth", "temperature", "flsp"])
    return Tow(table, dye, bubbles)


def _depth(at: npt.NDArray[np.int64], rng: np.random.Generator) -> Floats:
    """Return depths that go down and up about every two minutes, never to quite the same depth."""
    legs = len(at) // 1400 + 3
    turns = np.concatenate([[0], np.cumsum(rng.uniform(1250, 1550, legs))])
    depths = np.where(np.arange(legs + 1) % 2 == 0, SHALLOWEST, DEEPEST) + rng.uniform(-1, 1, legs + 1)
    heave = 0.15 * np.sin(2 * np.pi * at / (8 * SCANS_A_SECOND))
    return np.interp(at, turns, depths) + heave


def _dye(at: npt.NDArray[np.int64], depth: Floats, rng: np.random.Generator) -> Floats:
    """Return patches of dye, each in one water layer and one stretch of the path, torn into filaments."""
    span = len(at)
    patches = max(2, round(span / 7500))
    middle = np.sort(rng.uniform(0.06, 0.94, patches)) * span
    length = rng.uniform(900, 2600, patches)
    layer, thickness = rng.uniform(6, 20, patches), rng.uniform(1.6, 3.6, patches)
    strength = rng.uniform(0.45, 1.5, patches)
    along = np.exp(-(((at[:, None] - middle) / length) ** 2))
    across = np.exp(-(((depth[:, None] - layer) / thickness) ** 2))
    filaments = np.exp(0.55 * _smooth_noise(span, 45, rng) + 0.25 * _smooth_noise(span, 9, rng))
    patchy: Floats = (along * across * strength).sum(axis=1) * filaments
    return patchy


def _smooth_noise(length: int, width: int, rng: np.random.Generator) -> Floats:
    """Return noise of unit variance that changes over about `width` scans."""
    window = np.exp(-0.5 * (np.arange(-3 * width, 3 * width + 1) / width) ** 2)
    window /= np.sqrt((window**2).sum())
    return np.convolve(rng.normal(size=length + window.size - 1), window, mode="valid")


def _bubbles(dye: Floats, rng: np.random.Generator) -> tuple[tuple[int, int], ...]:
    """Return short peaks away from any dye."""
    clear = np.flatnonzero(np.convolve(dye, np.ones(201), mode="same") < 1.0)
    begins = np.sort(rng.choice(clear, min(14, clear.size), replace=False)).tolist()
    ends = (begins + rng.integers(2, 13, len(begins))).tolist()
    return tuple((first, min(last, len(dye) - 1)) for first, last in zip(begins, ends, strict=True))
