"""`wr.parquet` has the rows and values that Spark reads, whatever wrote the files and however the session is set."""

from __future__ import annotations

import datetime
import json
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import types as T

import windrow as wr
from windrow.errors import ColumnError, DataError, SourceError

pytestmark = pytest.mark.spark

TABLE = pa.table({"t": [1, 2, 3, 4], "x": [1.0, 0.0, 2.0, 3.0]})
HIT = wr.Threshold("x > 0.5")


@contextmanager
def configured(spark, **conf: str):
    names = {f"spark.sql.{key.replace('__', '.')}": value for key, value in conf.items()}
    before = {name: spark.conf.get(name) for name in names}
    try:
        for name, value in names.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def starts(source: wr.ParquetSource) -> list:
    return sorted(row.start for row in wr.frames(source, wr.Gap(0), on="t").select("start").collect())


def read_by_spark(source: wr.ParquetSource) -> list:
    return sorted(row.t for row in source.spark.read.parquet(source.path).select("t").collect())


@pytest.mark.parametrize("kind", ["date", "timestamp", "INT96"])
def test_dates_of_the_old_calendar(spark, tmp_path, kind):
    path = str(tmp_path / kind)
    old = spark.sql("SELECT explode(array(date'1500-01-01', date'1500-03-01', date'2000-01-01')) AS d")
    modes = {"parquet__datetimeRebaseModeInWrite": "LEGACY", "parquet__int96RebaseModeInWrite": "LEGACY"}
    output = "INT96" if kind == "INT96" else "TIMESTAMP_MICROS"
    with configured(spark, **modes, parquet__outputTimestampType=output):
        wanted = old.selectExpr(f"CAST(d AS {'timestamp' if kind == 'INT96' else kind}) AS t").coalesce(1)
        wanted.write.parquet(path)
    source = wr.parquet(spark, path)
    explained = wr.explain(source, wr.Gap("1 day"), on="t")
    assert "old calendar" in str(explained)
    found = wr.frames(source, wr.Gap("1 day"), on="t").selectExpr("CAST(start AS string) AS s").collect()
    assert sorted(row.s[:10] for row in found) == ["1500-01-01", "1500-03-01", "2000-01-01"]


def test_instants_in_96_bits_that_spark_converts(spark, tmp_path):
    at = pa.array([datetime.datetime(2020, 7, 1, 12)], pa.timestamp("us"))
    pq.write_table(pa.table({"t": at}), tmp_path / "a.parquet", use_deprecated_int96_timestamps=True)
    with configured(spark, parquet__int96TimestampConversion="true", session__timeZone="America/New_York"):
        source = wr.parquet(spark, tmp_path / "a.parquet")
        assert "int96TimestampConversion" in str(wr.explain(source, wr.Gap("1 day"), on="t"))
        (row,) = wr.frames(source, wr.Gap("1 day"), on="t").selectExpr("unix_seconds(start) AS s").collect()
        (same,) = spark.read.parquet(source.path).selectExpr("unix_seconds(t) AS s").collect()
        assert row == same


def test_only_the_files_in_the_log_of_a_stream(spark, tmp_path):
    for i in range(3):
        pq.write_table(TABLE.slice(i, 1), tmp_path / f"part-{i}.parquet")
    kept = [tmp_path / f"part-{i}.parquet" for i in (0, 2)]
    (tmp_path / "_spark_metadata").mkdir()
    entry = {"isDir": False, "modificationTime": 1, "blockReplication": 1, "blockSize": 1, "action": "add"}
    lines = [json.dumps({"path": p.as_uri(), "size": p.stat().st_size, **entry}) for p in kept]
    (tmp_path / "_spark_metadata" / "0").write_text("\n".join(["v1", *lines]))
    source = wr.parquet(spark, tmp_path)
    assert wr.explain(source, HIT, on="t").plan == "scan"
    assert starts(source) == read_by_spark(source) == [1, 3]


def test_files_that_spark_does_not_list(spark, tmp_path):
    pq.write_table(TABLE.slice(0, 2), tmp_path / "part.parquet")
    for name in ("_x.parquet", ".x.parquet", "y.parquet._COPYING_"):
        pq.write_table(TABLE.slice(2, 1), tmp_path / name)
    source = wr.parquet(spark, tmp_path)
    assert wr.explain(source, HIT, on="t").plan == "scan"
    assert starts(source) == read_by_spark(source) == [1, 2]


def test_day_time_intervals_stay_intervals(spark, tmp_path):
    spark.sql("SELECT 1L AS t, INTERVAL '1' DAY AS d").write.parquet(str(tmp_path / "a"))
    source = wr.parquet(spark, tmp_path / "a")
    assert isinstance(source.df.schema["d"].dataType, T.DayTimeIntervalType)
    assert wr.frames(source, wr.Gap(1), on="t", agg={"d": wr.first("t")}).count() == 1


def test_schemas_are_merged_where_the_session_says_so(spark, tmp_path):
    pq.write_table(pa.table({"t": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"t": [2], "x": [1.0]}), tmp_path / "b.parquet")
    assert wr.parquet(spark, tmp_path).df.columns == ["t"]
    with configured(spark, parquet__mergeSchema="true"):
        source = wr.parquet(spark, tmp_path)
        assert source.df.columns == ["t", "x"]
        assert [row.start for row in wr.frames(source, HIT, on="t").collect()] == [2]


def test_files_that_the_session_passes_over(spark, tmp_path):
    pq.write_table(TABLE, tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes(b"PAR1 and no more of it PAR1")
    with pytest.raises(SourceError, match=r"b\.parquet"):
        wr.frames(wr.parquet(spark, tmp_path), HIT, on="t")
    with configured(spark, files__ignoreCorruptFiles="true"):
        source = wr.parquet(spark, tmp_path)
        assert "ignoreCorruptFiles" in str(wr.explain(source, HIT, on="t"))
        assert starts(source) == read_by_spark(source) == [1, 2, 3, 4]


def test_letter_case_where_it_matters(spark, tmp_path):
    pq.write_table(TABLE, tmp_path / "a.parquet")
    source = wr.parquet(spark, tmp_path / "a.parquet")
    assert wr.frames(source, wr.Threshold("X > 0.5"), on="T").count() == 2
    with configured(spark, caseSensitive="true"), pytest.raises(ColumnError, match="'X'"):
        wr.frames(source, wr.Threshold("X > 0.5"), on="t")


def test_folders_that_name_a_column_are_read_by_spark_and_patterns_are_scanned(spark, tmp_path):
    for day in ("2026-01-01", "2026-01-02", "2026-01-13"):
        (tmp_path / f"date={day}").mkdir()
        pq.write_table(TABLE, tmp_path / f"date={day}" / "part.parquet")
    whole = wr.parquet(spark, tmp_path)
    for scheme in (HIT, wr.Threshold("x > 0.5 and date > date'2026-01-05'")):
        explained = str(wr.explain(whole, scheme, on="t", by="date"))
        assert "'date'" in explained
        assert "folder names" in explained
    assert wr.frames(whole, HIT, on="t", by="date").count() == 6
    some = wr.parquet(spark, f"{tmp_path}/date=2026-01-0[12]")
    assert wr.explain(some, HIT, on="t").plan == "scan"
    assert [row["count"] for row in wr.frames(some, wr.Gap(0), on="t").collect()] == [2, 2, 2, 2]
    assert len(read_by_spark(some)) == 8


def test_forbidden_nulls_are_refused_before_a_scan(spark, tmp_path):
    table = pa.table({"t": [1, 2, 3], "x": [1.0, None, float("nan")]})
    pq.write_table(table, tmp_path / "a.parquet")
    source = wr.parquet(spark, tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"column 'x' is null or NaN in 2 rows: nulls='error' forbids that"):
        wr.frames(source, wr.Delta({"x": 1.0}, nulls="error"), on="t", plan="scan")
    with pytest.raises(DataError, match=r"the predicate 'x > 0\.5' is null or NaN in 1 row"):
        wr.frames(source, wr.Threshold("x > 0.5", nulls="error"), on="t", plan="scan")


@pytest.mark.parametrize("plan", ["scan", "shuffle"])
def test_what_a_worker_refuses_is_said_last_and_alone(spark, tmp_path, plan):
    pq.write_table(pa.table({"t": [1, 2], "x": [2**63 - 1, 2**63 - 1]}), tmp_path / "a.parquet")
    source = wr.parquet(spark, tmp_path / "a.parquet")
    with pytest.raises(PySparkException) as caught:
        wr.frames(source, wr.Gap(5), on="t", agg={"s": wr.sum("x")}, plan=plan).collect()
    said = str(caught.value)
    assert "Traceback" not in said
    assert said.strip().splitlines()[-1].startswith("windrow.errors.DataError: sum('x')")


def test_a_damaged_page_names_the_file_without_a_traceback(spark, tmp_path):
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"t": list(range(2_000)), "x": [float(i) for i in range(2_000)]}), file, compression="zstd")
    bad = bytearray(file.read_bytes())
    bad[4:300] = b"\xff" * 296
    file.write_bytes(bytes(bad))
    source = wr.parquet(spark, file)
    with pytest.raises(PySparkException) as caught:
        wr.frames(source, HIT, on="t", plan="scan").collect()
    said = str(caught.value)
    assert "Traceback" not in said
    assert f"SourceError: {file}: cannot be read; it may be damaged" in said


def test_a_path_that_no_file_can_have(spark):
    with pytest.raises(SourceError, match=r"File name too long$") as caught:
        wr.parquet(spark, "a" * 5_000)
    assert len(str(caught.value)) < 500


def test_words_of_sql_name_columns_as_they_do_for_spark(spark):
    words = [
        "any",
        "create",
        "cross",
        "distinct",
        "drop",
        "else",
        "except",
        "explain",
        "from",
        "inner",
        "into",
        "join",
        "on",
        "select",
        "union",
        "using",
        "values",
        "where",
    ]
    rows = spark.createDataFrame([(1, *range(len(words)))], ["t", *words])
    for i, word in enumerate(words):
        assert len(wr.frames(rows, wr.Threshold(f"{word} = {i}"), on="t").columns) == 6
