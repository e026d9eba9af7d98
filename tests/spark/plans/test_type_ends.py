"""Spark's plans at the ends of every type, with ANSI arithmetic and without: they follow the rule of the kernel."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import windrow as wr
from cases import frame_locally, rows_of

pytestmark = pytest.mark.spark

DAY = 86_400_000_000
INSTANTS = [-719162 * DAY, -1, 0, 1_700_000_000_000_000, 2932897 * DAY - 1]
TYPES: dict[str, tuple[pa.DataType, list[Any], Any]] = {
    "tinyint": (pa.int8(), [-128, -100, 100, 127], 150),
    "smallint": (pa.int16(), [-(2**15), -600, 40, 2**15 - 1], 40_000),
    "int": (pa.int32(), [-(2**31), -5, 7, 2**31 - 1], 2**31),
    "bigint": (pa.int64(), [-(2**63), -(2**63) + 2, 0, 2**62, 2**63 - 1], 2**62),
    "float": (pa.float32(), [-math.inf, -math.inf, 0.125, 2.0, math.inf, math.inf], 1.5),
    "double": (pa.float64(), [-math.inf, -1e308, 0.1, 0.3, 1e308, math.inf, math.inf], 1e300),
    "date": (pa.date32(), [-719162, -1, 0, 19_000, 2932896], "20000 days"),
    "timestamp": (pa.timestamp("us", "UTC"), INSTANTS, "20000 days"),
    "timestamp_ntz": (pa.timestamp("us"), INSTANTS, "20000 days"),
}


@pytest.fixture(params=["true", "false"])
def ansi(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[str]:
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", request.param)
    yield request.param
    assert before is not None
    spark.conf.set("spark.sql.ansi.enabled", before)


def table_of(name: str) -> pa.Table:
    kind, numbers, _ = TYPES[name]
    storage = pa.int32() if name == "date" else pa.int64() if name.startswith("timestamp") else kind
    return pa.table({"t": pa.array(numbers, storage).cast(kind), "x": [1] * len(numbers)})


@pytest.mark.parametrize("name", TYPES)
def test_native_distances_are_those_of_the_kernel(spark: SparkSession, ansi: str, name: str) -> None:
    table, length = table_of(name), TYPES[name][2]
    df = spark.createDataFrame(table, f"t {name}, x bigint")
    for scheme in (wr.Gap(length), wr.Threshold("x = 1", min_duration=length)):
        expected = rows_of(frame_locally(table, scheme, "t", [], {}), [])
        assert rows_of(wr.frames(df, scheme, on="t", plan="native").toArrow(), []) == expected, scheme


@pytest.mark.parametrize("grid", [10.0, 1e300, [0.0, 5.0]])
def test_native_cells_of_infinities_are_those_of_the_kernel(spark: SparkSession, ansi: str, grid: Any) -> None:
    values = [-math.inf, -1e300, -9.1e19, -10.0, 0.0, 5.0, 9.1e19, 1e300, math.inf]
    table = pa.table({"t": list(range(len(values))), "x": values})
    df = spark.createDataFrame(table, "t bigint, x double")
    scheme = wr.Boundary({"x": grid})
    expected = rows_of(frame_locally(table, scheme, "t", [], {}), [])
    assert rows_of(wr.frames(df, scheme, on="t", plan="native").toArrow(), []) == expected


@pytest.mark.parametrize("plan", ["native", "shuffle"])
@pytest.mark.parametrize(
    ("kind", "on", "message"),
    [
        ("smallint", "600", "40000"),
        ("bigint", "-9223372036854775808", "64 bits|-9223372036854800000"),
        ("double", "1e300", "too far from zero for windows"),
        ("double", "double('infinity')", "too far from zero for windows"),
    ],
)
def test_a_bound_that_the_type_cannot_hold_is_refused(
    spark: SparkSession, ansi: str, plan: str, kind: str, on: str, message: str
) -> None:
    df = spark.sql(f"select cast({on} as {kind}) t")
    with pytest.raises(Exception, match=message):
        wr.slide(df, wr.Tumbling(40_000), on="t", agg={"n": wr.count()}, plan=plan).collect()
