"""Saved states of synopses whose arrays say something else than they did, under a checksum that is right.

Compiled code that follows a wrong link may crash or never return, so this is run in a process of its own:

    python decoded_states.py <seed> <trials a synopsis> [<name> ...]

It prints each trial before it is made, and fails at the first one that is neither refused nor harmless.
"""

from __future__ import annotations

import faulthandler
import json
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import saved_states
import windrow as wr
from saved_states import Saved
from windrow.errors import SourceError, WindrowError
from windrow.state.header import unseal
from windrow.synopses import (
    Accuracy,
    ArasuMankuFixed,
    ArasuMankuHeavyHitters,
    ArasuMankuVariable,
    BoundedPrioritySample,
    ExponentialHistogram,
    FiBA,
    Retention,
)
from windrow.synopses.saved import ABOUT, pack_arrays

Arrays = dict[str, npt.NDArray[Any]]
WHOLE = (-(2**63), -(2**40), -2, -1, 0, 1, 2, 7, 63, 64, 1000, 2**31, 2**40, 2**62, 2**63 - 1)
BROKEN = (np.nan, np.inf, -np.inf, -1.0, 0.0, 0.5, 1.0, 1e300)
SECONDS = 60
"""After so long a trial is taken to be one that never ends."""


def large() -> dict[str, Any]:
    """Synopses that have seen enough for their state to have many levels."""
    coarse, count, time = Accuracy(eps=0.4, delta=0.2), Retention(700), Retention(900, "time")
    return {
        "FiBA large": (FiBA, wr.sum("x"), time, coarse),
        "ArasuMankuFixed large": (ArasuMankuFixed, wr.median("x"), count, coarse),
        "ArasuMankuVariable large": (ArasuMankuVariable, wr.median("x"), time, coarse),
        "ArasuMankuHeavyHitters large": (ArasuMankuHeavyHitters, wr.heavy_hitters("x", 0.5), time, coarse),
        "BoundedPrioritySample large": (BoundedPrioritySample, wr.sum("x"), time, coarse),
        "ExponentialHistogram large": (ExponentialHistogram, wr.sum("x"), time, coarse),
    }


def states() -> dict[str, Any]:
    """Every synopsis, and larger ones of some."""
    more = {
        name: partial(saved_states.synopsis, partial(kind, *given), 1500) for name, (kind, *given) in large().items()
    }
    return saved_states.synopses() | more


def decoded(data: bytes, kind: str) -> tuple[dict[str, Any], Arrays]:
    """What the state is of, and its arrays."""
    reader = pa.ipc.open_stream(unseal(data, kind))
    batch, about = reader.read_next_batch(), json.loads(reader.schema.metadata[ABOUT])
    shapes = about["shapes"]
    return about, {name: np.array(batch.column(name).flatten()).reshape(shapes[name]) for name in shapes}


def changed(arrays: Arrays, rng: np.random.Generator) -> tuple[str, Arrays]:
    """The arrays with one of them changed, and what was done to it."""
    name = str(rng.choice([name for name, array in arrays.items() if array.size]))
    array, how = arrays[name].copy(), int(rng.integers(12))
    if how == 0:
        axis = int(rng.integers(array.ndim))
        array = np.delete(array, -1, axis) if rng.integers(2) else np.repeat(array, 2, axis)
        return f"{name} of shape {array.shape}", {**arrays, name: array}
    if how == 1 and array.ndim == 1:
        return f"{name} as floats", {
            **arrays,
            name: array.astype(float) if array.dtype.kind != "f" else array.view(int),
        }
    places = rng.integers(array.size, size=1 + int(rng.integers(3)))
    flat = array.reshape(-1)
    for place in places.tolist():
        if how < 5 and array.dtype.kind != "f":
            flat[place : place + 1] += np.array(rng.choice([-1, 1])).astype(array.dtype)
        elif how < 7:
            flat[place] = flat[int(rng.integers(flat.size))]
        elif array.dtype.kind == "f":
            flat[place] = rng.choice(BROKEN)
        else:
            flat[place] = rng.choice(np.array(WHOLE)).astype(array.dtype)
    array = flat.reshape(array.shape)
    return f"{name} at {places} = {flat[places]}", {**arrays, name: array}


def trials(saved: Saved, seed: int, many: int) -> Iterator[tuple[str, bytes]]:
    """States that were changed, with what was changed."""
    about, arrays = decoded(saved.data, saved.kind)
    rng = np.random.default_rng(seed)
    for _ in range(many):
        what, other = changed(arrays, rng)
        yield what, pack_arrays(about["kind"], about["version"], about["arguments"], other)


def attempt(saved: Saved, data: bytes) -> str:
    """What came of a state: refused, or as good as another."""
    try:
        loaded = saved.load(data)
    except SourceError:
        return "refused"
    try:
        saved.use(loaded)
    except WindrowError as problem:
        return type(problem).__name__
    return "used"


def main(seed: int, many: int, *names: str) -> None:
    """Try changed states of the synopses of these names, or of all."""
    outcomes: dict[str, dict[str, int]] = {}
    for name, make in states().items():
        if names and name not in names:
            continue
        saved, found = make(), outcomes.setdefault(name, {})
        for what, data in trials(saved, seed, many):
            print(f"{name}: {what}", flush=True)
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            outcome = attempt(saved, data)
            faulthandler.cancel_dump_traceback_later()
            found[outcome] = found.get(outcome, 0) + 1
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
