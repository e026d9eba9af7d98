"""Shared validation of saved samples: shapes of arrays, places in rings, and links between items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from windrow.state.checks import check_indices, check_that

Array: TypeAlias = npt.NDArray[Any]

MOST_SEEN = 1 << 62
"""More values than there can have been; sums with this number stay within 64 bits."""


def check_shapes(sample: Any, like: Any, rings: Sequence[str]) -> None:
    """Raise unless arrays have the shapes of an empty sample; all `rings` may be longer, by the same length."""
    room = getattr(sample, rings[0]).shape[-1] if rings else 0
    for name, array in like._asdict().items():
        shape, expected = getattr(sample, name).shape, array.shape
        if name in rings:
            check_that(room >= expected[-1], f"room for at least {expected[-1]} values in {name!r}, got {room}")
            expected = (*expected[:-1], room)
        check_that(shape == expected, f"array {name!r} of {expected}, got {shape}")


def check_rings(head: Array, held: Array, room: int, full: bool) -> None:
    """Raise for rings that start outside their room, or that are full although none is marked so."""
    check_indices("the starts of rings", head, room)
    check_indices("the lengths of rings", held, room + full)


def check_filled(filled: Array, expected: Array) -> None:
    """Raise unless exactly the expected slots hold items."""
    wrong = np.flatnonzero(filled != expected)
    check_that(not wrong.size, f"items in {np.count_nonzero(expected)} slots, got {np.count_nonzero(filled)}")


def check_links(older: Array, newer: Array, oldest: int, newest: int, members: Array) -> None:
    """Raise unless the links lead from the oldest to the newest place, once through each member."""
    check_indices("links to older items", older[members], older.size, least=-1)
    check_indices("links to newer items", newer[members], newer.size, least=-1)
    check_indices("the ends of the links", np.array([oldest, newest]), newer.size, least=-1)
    visited: list[int] = []
    forth, back, before, place = newer.tolist(), older.tolist(), -1, oldest
    while place >= 0 and len(visited) <= members.size and back[place] == before:
        visited.append(place)
        before, place = place, forth[place]
    whole = place < 0 and before == newest and len(visited) == members.size
    check_that(whole and not np.setdiff1d(visited, members).size, f"links through {members.size} items in both ways")
