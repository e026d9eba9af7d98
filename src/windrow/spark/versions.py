"""The differences between the supported versions of Spark. The rest of `windrow.spark` is the same for all of them.

When PySpark 4.3 creates Arrow types, it takes the time zone of instants by name. Earlier versions take a flag instead,
and read Arrow timestamps without a time zone as instants by default.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas import types as spark_types
from pyspark.sql.types import DataType, StructType

from windrow.errors import SessionError

OLDEST_SPARK = (4, 1)

_TAKES_ZONE = "timezone" in inspect.signature(spark_types.to_arrow_type).parameters
_IN_UTC: dict[str, Any] = {"timezone": "UTC"} if _TAKES_ZONE else {"timestamp_utc": True}


def to_arrow_type(kind: DataType) -> pa.DataType:
    """Return the Arrow type in which Spark hands over values of a type. Instants are in UTC.

    >>> from pyspark.sql.types import TimestampType
    >>> to_arrow_type(TimestampType())
    TimestampType(timestamp[us, tz=UTC])
    """
    return spark_types.to_arrow_type(kind, **_IN_UTC)


def to_arrow_schema(schema: StructType) -> pa.Schema:
    """Return the Arrow schema in which Spark hands over rows of a schema. Instants are in UTC."""
    return spark_types.to_arrow_schema(schema, **_IN_UTC)


def from_arrow_type(kind: pa.DataType) -> DataType:
    """Return the Spark type of an Arrow type. A timestamp without a time zone stays without one.

    >>> from_arrow_type(pa.timestamp("us"))
    TimestampNTZType()
    """
    return spark_types.from_arrow_type(kind, prefer_timestamp_ntz=True)


def from_arrow_schema(schema: pa.Schema) -> StructType:
    """Return the Spark schema of an Arrow schema. Timestamps without a time zone stay without one."""
    return spark_types.from_arrow_schema(schema, prefer_timestamp_ntz=True)


def check_version(spark: SparkSession, oldest: tuple[int, int], what: str) -> None:
    """Reject a session whose Spark is older than `what` requires."""
    running = tuple(int(part) for part in re.findall(r"\d+", spark.version)[:2])
    if running < oldest:
        needed = ".".join(map(str, oldest))
        raise SessionError(f"this session runs Spark {spark.version}; {what} needs {needed} or newer")
