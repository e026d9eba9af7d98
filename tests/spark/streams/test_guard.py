"""`wr.guard`: a row from the future does not make all later rows late."""

from __future__ import annotations

import datetime as dt
import os

import pytest

import windrow as wr
from replays import replayed

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("few_buckets")]

COLUMNS = "t timestamp, x int"
FUTURE = dt.datetime(9999, 12, 1, tzinfo=dt.UTC)


@pytest.fixture
def landed(spark, tmp_path):
    """Three files of ten rows each, ten seconds apart; the first also has a row from the year 9999."""
    began = dt.datetime.now(dt.UTC).replace(microsecond=0) - dt.timedelta(hours=2)
    for i in range(3):
        rows = [(began + dt.timedelta(seconds=100 * i + 10 * j), j % 5) for j in range(10)]
        rows += [(FUTURE, 1)] * (i == 0)
        folder = tmp_path / "in" / str(i)
        spark.createDataFrame(rows, COLUMNS).coalesce(1).write.parquet(str(folder))
        for path in folder.glob("*.parquet"):
            os.utime(path, (1_600_000_000 + i, 1_600_000_000 + i))
    read = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).option("recursiveFileLookup", "true")
    return read.parquet(str(tmp_path / "in"))


def counted(progress: list, name: str) -> int:
    return sum(metrics[name] or 0 for p in progress for metrics in p["observedMetrics"].values() if name in metrics)


def test_a_row_from_the_future_makes_no_other_row_late(landed, tmp_path):
    guarded = wr.guard(landed, on="t").withWatermark("t", "10 seconds")
    found, progress = replayed(wr.frames(guarded, wr.Threshold("x > 0"), on="t"), tmp_path)
    assert counted(progress, "held") == 1
    assert counted(progress, "late") == 0
    assert found.count() >= 3


@pytest.mark.long
def test_without_a_guard_all_rows_past_the_next_batch_are_late(landed, tmp_path):
    _, progress = replayed(wr.frames(landed.withWatermark("t", "10 seconds"), wr.Threshold("x > 0"), on="t"), tmp_path)
    assert counted(progress, "late") == 10


def test_rows_that_are_held_back_can_be_had(landed, tmp_path):
    found, _ = replayed(wr.guard(landed, on="T", held=True), tmp_path)
    assert [row["t"].year for row in found.collect()] == [9999]


def test_null_passes_and_the_limit_is_exact(spark):
    rows = spark.sql(
        "select timestamp_micros(unix_micros(current_timestamp()) + d * 1000000L) t, d from values (-5), (0), (3000), "
        "(4000), (null) v(d)"
    )
    assert sorted(str(r["d"]) for r in wr.guard(rows, on="t", ahead="1 hour").collect()) == ["-5", "0", "3000", "None"]
    assert [r["d"] for r in wr.guard(rows, on="t", ahead=dt.timedelta(minutes=50), held=True).collect()] == [4000]


def test_a_duration_past_all_instants_holds_nothing_back(spark):
    rows = spark.sql("select timestamp_micros(9223372036854775807L) t union all select timestamp_micros(-1L << 63)")
    longest = dt.timedelta.max
    assert wr.guard(rows, on="t", ahead=longest).count() == 2
    assert wr.guard(rows, on="t", ahead=longest, held=True).count() == 0
    assert wr.guard(rows, on="t", ahead="100000000 days").count() == 1


def test_bad_arguments_are_refused(spark, landed):
    rows = spark.sql("select timestamp'2024-01-01' t, 1 x")
    with pytest.raises(wr.TypeMismatchError, match="column 'x' is of type int; expected a timestamp"):
        wr.guard(rows, on="x")
    with pytest.raises(wr.SpecError, match=r"call wr\.guard before withWatermark"):
        wr.guard(landed.withWatermark("t", "1 second"), on="t")
    with pytest.raises(wr.SpecError, match="ahead"):
        wr.guard(rows, on="t", ahead=5)
    with pytest.raises(wr.SpecError, match="held: expected True or False, got 'yes'"):
        wr.guard(rows, on="t", held="yes")
    with pytest.raises(wr.SpecError, match="expected a Spark DataFrame, got"):
        wr.guard(5, on="t")
