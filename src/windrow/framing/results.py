"""The aggregates of frames that have ended, and the errors that some of them raise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.engine.accumulator import Accumulator
from windrow.aggregates.engine.states import States
from windrow.aggregates.over_time.clock import Extents
from windrow.errors import DataError


def finish_frames(
    accumulators: Sequence[Accumulator], states: Sequence[States], done: npt.NDArray[np.int64], extents: Extents
) -> tuple[pa.Array, ...]:
    """Return the aggregates of the given frames, one array per aggregate."""
    return tuple(
        accumulator.finish(each.take(done), extents.take(done))
        for accumulator, each in zip(accumulators, states, strict=True)
    )


def finish_guesses(
    accumulators: Sequence[Accumulator], states: Sequence[States], done: npt.NDArray[np.int64], extents: Extents
) -> tuple[tuple[pa.Array, ...], pa.Array]:
    """Return the aggregates of frames that may turn out not to be frames, and the error that each frame raises, if any.

    The aggregates of a frame that raises an error are null.
    """
    try:
        return finish_frames(accumulators, states, done, extents), pa.nulls(done.size, pa.string())
    except DataError:
        rows: list[tuple[pa.Array, ...]] = []
        errors: list[str | None] = []
        for k in done:
            try:
                rows.append(finish_frames(accumulators, states, np.array([k]), extents))
                errors.append(None)
            except DataError as error:
                rows.append(tuple(pa.nulls(1, accumulator.result) for accumulator in accumulators))
                errors.append(str(error))
        aggregates = tuple(pa.concat_arrays(parts) for parts in zip(*rows, strict=True))
        return aggregates, pa.array(errors, pa.string())
