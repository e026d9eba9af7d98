"""Values that no argument can have, or hardly any: what a sweep over all public names tries in each place."""

from __future__ import annotations

import datetime
import decimal
import fractions
import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl


class Unshowable:
    """A value of a user's class, with a bug where it is shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class Incomparable:
    """A value whose comparisons have no truth value, as with arrays and Columns."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")


def nested(depth: int) -> list[Any]:
    """A list in a list, and so on."""
    made: list[Any] = []
    for _ in range(depth):
        made = [made]
    return made


NUMBERS: dict[str, Any] = {
    "zero": 0, "negative": -1, "fraction": 2.5, "nan": math.nan, "inf": math.inf, "-inf": -math.inf, "huge": 10**400,
    "endless": 10**5000, "past 64 bits": 2**63, "bool": True, "numpy int": np.int64(3), "numpy nan": np.float64("nan"),
    "numpy bool": np.bool_(True), "complex": 1 + 2j, "decimal nan": decimal.Decimal("NaN"),
    "rational": fractions.Fraction(1, 3),
}  # fmt: skip
TEXTS: dict[str, Any] = {
    "empty": "", "blank": "  ", "long": "x" * 100_000, "null byte": "a\0b", "unicode": "ü😀", "surrogate": "\ud800",
    "bytes": b"x",
}  # fmt: skip
LISTS: dict[str, Any] = {
    "no list": [], "no dict": {}, "list": [1, 2], "names": ["a", "b"], "dict": {"a": 1}, "numbers": {1: 2},
    "nulls": [None], "nested": [[1]], "nan in dict": {"x": math.nan}, "huge in dict": {"x": 10**400},
    "endless in dict": {"x": 10**5000}, "text in dict": {"x": "a"}, "nothing in dict": {"x": []},
    "twice in dict": {"x": [1, 1]}, "nan in list": {"x": [math.nan]}, "no name": {"": 1}, "range": range(3),
    "tuple": (1,), "set": {1},
}  # fmt: skip
OBJECTS: dict[str, Any] = {
    "array": np.array([1, 2]), "scalar array": np.array(3), "pandas": pd.DataFrame({"x": [1]}),
    "series": pd.Series([1, 2]), "polars": pl.DataFrame({"x": [1]}), "object": object(), "function": lambda x: x,
    "type": int, "negative timedelta": datetime.timedelta(days=-1), "longest timedelta": datetime.timedelta.max,
    "date": datetime.date(2020, 1, 1), "None": None, "unshowable": Unshowable(), "incomparable": Incomparable(),
    "deep list": nested(3_000), "deep dict": {"x": nested(3_000)},
}  # fmt: skip
BAD: dict[str, Any] = {**NUMBERS, **TEXTS, **LISTS, **OBJECTS}
