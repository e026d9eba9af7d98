"""Columns of every type that can be compared for equality, with values that are easily taken for one another."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa

UTC = datetime.UTC
LONG = "a text that is longer than its digest"

KINDS: dict[str, pa.DataType] = {
    "string": pa.string(),
    "binary": pa.binary(),
    "small": pa.decimal128(9, 2),
    "large": pa.decimal128(38, 10),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "date": pa.date32(),
    "double": pa.float64(),
    "float": pa.float32(),
    "tinyint": pa.int8(),
    "bigint": pa.int64(),
}
"""The types by name."""
NIGHT = datetime.datetime(2024, 10, 27, 0, 30, tzinfo=UTC)
"""Half past two in Berlin, for the first time that night."""
VALUES: dict[str, list[Any]] = {
    "string": ["", " ", "a", "A", "ä", "a\u0308", LONG, LONG + " "],
    "binary": [b"", b"\0", b"\0\0", b"\xff"],
    "small": [Decimal("1.50"), Decimal("-1.50"), Decimal("15.00"), Decimal(0)],
    "large": [Decimal("12345678901234567890.1"), Decimal("12345678901234567890.2")],
    "boolean": [True, False],
    "timestamp": [NIGHT, NIGHT + datetime.timedelta(hours=1), NIGHT + datetime.timedelta(microseconds=1)],
    "timestamp_ntz": [NIGHT.replace(tzinfo=None), datetime.datetime(2024, 10, 27, 2, 30)],
    "date": [datetime.date(2024, 10, 27), datetime.date(1900, 1, 1)],
    "double": [0.0, -0.0, math.nan, math.inf, 0.1, 0.1 + 2**-56],
    "float": [0.0, -0.0, math.nan, 1e-45, 0.5],
    "tinyint": [0, 1, -128],
    "bigint": [2**63 - 1, 2**63 - 2, -(2**63)],
}
IGNORED: dict[str, Any] = {
    "string": LONG,
    "binary": b"\0",
    "small": Decimal("1.5"),
    "large": Decimal("12345678901234567890.2"),
    "boolean": False,
    "timestamp": NIGHT,
    "timestamp_ntz": NIGHT.replace(tzinfo=None),
    "date": datetime.date(1900, 1, 1),
    "double": 0.1,
    "float": 0.5,
    "tinyint": -128,
    "bigint": 2**63 - 1,
}
"""A value per type."""
