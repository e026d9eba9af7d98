"""What table functions refuse of their arguments, and how they reach `analyze`."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pyspark.errors import PySparkValueError
from pyspark.sql.types import CalendarIntervalType, IntegerType, StringType, StructType, YearMonthIntervalType
from pyspark.sql.udtf import AnalyzeArgument

import windrow as wr
from windrow.spark.sql.functions import frames_handler

TABLE = AnalyzeArgument(StructType().add("t", IntegerType()), None, isTable=True, isConstantExpression=False)
ON = AnalyzeArgument(StringType(), "t", isTable=False, isConstantExpression=True)


@pytest.mark.parametrize("kind", [YearMonthIntervalType(), CalendarIntervalType()])
def test_an_interval_of_months_is_refused_with_what_would_be_right(kind) -> None:
    gap = AnalyzeArgument(kind, 1, isTable=False, isConstantExpression=True)
    with pytest.raises(PySparkValueError, match=r"gap: expected a text such as '30 days' .* no fixed length"):
        frames_handler(wr.Gap).analyze(TABLE, on=ON, gap=gap)


@pytest.mark.parametrize("analyses", [True, False])
def test_intervals_of_months_reach_analyze_and_nothing_else_is_changed(analyses: bool) -> None:
    code = "import pyspark.sql.worker.analyze_udtf\n" if analyses else ""
    code += (
        "import windrow.spark.sql.functions\n"
        "from pyspark.sql.types import CalendarIntervalType, YearMonthIntervalType\n"
        f"assert YearMonthIntervalType().needConversion() is {not analyses}\n"
        f"assert CalendarIntervalType().needConversion() is {not analyses}\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
