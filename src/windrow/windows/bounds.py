"""The bounds of windows as values of `on`: exact, or refused. A bound that its type cannot hold is never wrapped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.errors import DataError
from windrow.rows.clock import LARGEST, Clock
from windrow.windows.specs import Shape

Indices = npt.NDArray[np.int64]
_UNITS = {"timestamp": " microseconds since 1970", "date": " days since 1970"}


def check_panes(number: Indices, shapes: Sequence[Shape], pane: int, clock: Clock, on: str) -> None:
    """Refuse panes so near to the ends of 64 bits that windows over them could not be counted."""
    if not number.size:
        return
    reach = max(sum(shape.in_panes(pane)) for shape in shapes)
    for furthest in (int(number.min()), int(number.max())):
        if abs(furthest) + reach > LARGEST:
            raise DataError(
                f"on: column {on!r} has a value near {furthest * pane}{_UNITS.get(clock.kind, '')}, "
                "whose windows do not fit in 64 bits; drop such rows"
            )


def as_instants(number: Indices, pane: int, clock: Clock, on: str) -> pa.Array:
    """The beginnings of panes as values of `on`; refused where the type of the column does not have them."""
    if number.size:
        for furthest in (int(number.min()) * pane, int(number.max()) * pane):
            _check(furthest, clock, on)
    places: npt.NDArray[Any] = (number * pane).astype(clock.dtype)
    if clock.kind == "float":
        with np.errstate(invalid="ignore"):
            inexact = places.astype(clock.type.to_pandas_dtype()).astype(np.int64) != number * pane
        if inexact.any():
            _refuse(int(number[inexact][0]) * pane, clock, on, "double")
    return clock.write(pa.array(places))


def _check(bound: int, clock: Clock, on: str) -> None:
    bits = 64 if clock.kind == "float" else clock.type.bit_width
    if not -(2 ** (bits - 1)) <= bound < 2 ** (bits - 1):
        _refuse(bound, clock, on, "bigint" if bits < 64 and clock.kind == "integer" else None)


def _refuse(bound: int, clock: Clock, on: str, wider: str | None) -> None:
    remedy = f"cast it to {wider}" if wider and str(clock.type) != wider else "drop rows that far out, or scale it"
    raise DataError(
        f"on: column {on!r} is of type {clock.type}, which cannot hold the bound of a window at "
        f"{bound}{_UNITS.get(clock.kind, '')}; {remedy}"
    )
