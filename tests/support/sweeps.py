"""Sweeps over options of which `make test` tries a few, and `make test-long` all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def sweep(cases: Iterable[Any], *keep: Any) -> list[Any]:
    """Return the cases as parameters of a test; those that are not to be kept are marked `long`."""
    cases = list(cases)
    assert set(keep) <= set(cases), "a case that is to be kept does not exist"
    return [case if case in keep else long(case) for case in cases]


def long(*values: Any, id: str | None = None) -> Any:
    """Return the parameters of a test as ones that `make test` leaves out."""
    return pytest.param(*values, marks=pytest.mark.long, id=id)


def crossed(first: Iterable[Any], second: Iterable[Any]) -> list[Any]:
    """Return all pairs as parameters; each case is in at least one that is not marked `long`."""
    rows, columns = list(first), list(second)
    kept = {(i % len(rows), i % len(columns)) for i in range(max(len(rows), len(columns)))}
    return [
        (row, column) if (i, j) in kept else long(row, column)
        for i, row in enumerate(rows)
        for j, column in enumerate(columns)
    ]
