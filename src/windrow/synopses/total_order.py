"""Floats as integers in the same order, so that kernels compare integers and NaN sorts above all other values."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Keys: TypeAlias = npt.NDArray[np.int64]

_ALL_BUT_SIGN = np.int64(0x7FFF_FFFF_FFFF_FFFF)


def to_keys(x: npt.NDArray[np.float64]) -> Keys:
    """Return an integer per number, in the same order; both zeros share one, and so do all NaNs.

    >>> import numpy as np
    >>> bool((np.diff(to_keys(np.array([-np.inf, -2.0, 0.0, 3.5, np.inf, np.nan]))) > 0).all())
    True
    """
    numbers = np.asarray(x, np.float64) + 0.0
    numbers[np.isnan(numbers)] = np.nan
    bits: Keys = numbers.view(np.int64)
    return _flip(bits)


def to_numbers(keys: Keys) -> npt.NDArray[np.float64]:
    """Return the numbers of keys.

    >>> import numpy as np
    >>> to_numbers(to_keys(np.array([1.5, -2.0])))
    array([ 1.5, -2. ])
    """
    numbers: npt.NDArray[np.float64] = _flip(keys).view(np.float64)
    return numbers


def _flip(bits: Keys) -> Keys:
    flipped: Keys = bits ^ ((bits >> np.int64(63)) & _ALL_BUT_SIGN)
    return flipped
