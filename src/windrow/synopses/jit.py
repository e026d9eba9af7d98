"""How the small functions that kernels are made of are compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from windrow.synopses.exact.algebra import WITHOUT_COUNTING

INLINED = {**WITHOUT_COUNTING, "forceinline": True}
"""For what is called for each element: to hand over a state of many arrays would cost more than all the rest."""
LEAST = int(np.iinfo(np.int64).min)


@njit(cache=True, **INLINED)
def horizon(now: Any, length: Any) -> Any:
    """Return the latest moment that has left a window of this length, or the least 64-bit number if none has.

    No element comes at that number, so it stands for all moments that 64 bits do not hold.
    """
    return now - length if now >= LEAST + length else LEAST
