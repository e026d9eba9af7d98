"""What the kernels of the synopses share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from windrow.jit import INLINED

LEAST = int(np.iinfo(np.int64).min)


@njit(cache=True, **INLINED)
def horizon(now: Any, length: Any) -> Any:
    """Return the latest time that has left a window of this length, or the least 64-bit integer if none has.

    No value has that `on`, so it also stands for every time below the 64-bit range.
    """
    return now - length if now >= LEAST + length else LEAST
