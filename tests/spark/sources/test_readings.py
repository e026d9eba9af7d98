"""Files are read with pyarrow only where Spark would read the same columns, types and values in them."""

from __future__ import annotations

import datetime
import json
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import types as T

from windrow.errors import SourceError
from windrow.spark.sources.parquet import (
    LeftToSpark,
    ParquetSource,
    check_layout,
    check_readings,
    read_footers,
    row_groups,
)
from windrow.spark.sources.paths import located
from windrow.spark.sources.readings import Settings, known_schema
from windrow.spark.versions import from_arrow_type

UTC = pa.timestamp("us", "UTC")
OLD, NEW = datetime.datetime(1500, 1, 1), datetime.datetime(2020, 1, 1)
SPARK = b"org.apache.spark.version"
MARK, MARK_INT96 = b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"


def source(*files, schema: T.StructType | None = None, **conf: str) -> ParquetSource:
    """Files as Spark names them, in a session with settings, without Spark."""
    found = pq.read_schema(files[0])
    made = schema or T.StructType([T.StructField(f.name, from_arrow_type(f.type)) for f in found])
    settings = {f"spark.sql.{key.replace('__', '.')}": value for key, value in conf.items()}
    df = SimpleNamespace(
        inputFiles=lambda: [file.as_uri() for file in files], schema=made, columns=[f.name for f in made.fields]
    )
    spark = SimpleNamespace(conf=SimpleNamespace(get=lambda key: settings.get(key, default(key))))
    return ParquetSource(spark, str(files[0].parent), df)


def default(key: str) -> str:
    return "CORRECTED" if "rebase" in key.lower() else "false"


def write(path, columns: dict[str, Any], metadata: dict[bytes, bytes] | None = None, **options: Any):
    pq.write_table(pa.table(columns).replace_schema_metadata(metadata), path, **options)
    return path


def refusal(given: ParquetSource, columns: list[str]) -> str | None:
    """Why the files are left to Spark, or None."""
    try:
        settings = Settings.of(given.spark)
        footers = read_footers(given, settings)
        check_layout(given, footers)
        check_readings(given, footers, columns, settings)
    except LeftToSpark as reason:
        return str(reason)
    return None


@pytest.mark.parametrize(
    ("metadata", "mode", "legacy"),
    [
        ({}, "CORRECTED", False),
        ({}, "LEGACY", True),
        ({}, "EXCEPTION", True),
        ({SPARK: b"2.4.8"}, "CORRECTED", True),
        ({SPARK: b"4.3.0"}, "LEGACY", False),
        ({SPARK: b"4.3.0", MARK: b""}, "CORRECTED", True),
    ],
)
@pytest.mark.parametrize("kind", [pa.date32(), UTC, pa.timestamp("ms", "UTC")])
def test_old_dates_are_left_to_spark_where_it_converts_them(tmp_path, metadata, mode, legacy, kind):
    conf = {"parquet__datetimeRebaseModeInRead": mode}
    for when, moved in ((OLD, legacy), (NEW, False)):
        file = write(tmp_path / f"{when.year}.parquet", {"t": pa.array([when], kind), "x": [1]}, metadata)
        said = refusal(source(file, **conf), ["t", "x"])
        assert (said is not None) == moved
        assert said is None or "'t' may have dates of the old calendar" in said
        assert refusal(source(file, **conf), ["x"]) is None


def test_old_local_times_are_never_converted(tmp_path):
    file = write(tmp_path / "a.parquet", {"t": pa.array([OLD], pa.timestamp("us"))}, {SPARK: b"4.3.0", MARK: b""})
    assert refusal(source(file), ["t"]) is None


@pytest.mark.parametrize(
    ("metadata", "conf", "said"),
    [
        ({}, {}, None),
        ({SPARK: b"3.0.1"}, {}, "old calendar"),
        ({SPARK: b"4.3.0", MARK_INT96: b""}, {}, "old calendar"),
        ({SPARK: b"4.3.0", MARK: b""}, {}, None),
        ({}, {"parquet__int96RebaseModeInRead": "LEGACY"}, "old calendar"),
        ({}, {"parquet__int96TimestampConversion": "true"}, "int96TimestampConversion"),
    ],
)
def test_instants_in_96_bits(tmp_path, metadata, conf, said):
    columns = {"t": pa.array([NEW], pa.timestamp("us")), "x": [1]}
    file = write(tmp_path / "a.parquet", columns, metadata, use_deprecated_int96_timestamps=True)
    schema = T.StructType([T.StructField("t", T.TimestampType()), T.StructField("x", T.LongType())])
    found = refusal(source(file, schema=schema, **conf), ["t"])
    assert found is None if said is None else said in (found or "")


@pytest.mark.parametrize(
    ("kind", "read_as", "same"),
    [
        (pa.int64(), T.LongType(), True),
        (pa.int64(), T.DayTimeIntervalType(), False),
        (pa.duration("us"), T.LongType(), False),
        (pa.uint32(), T.LongType(), False),
        (pa.uint64(), T.DecimalType(20, 0), False),
        (pa.decimal128(5, 2), T.DecimalType(5, 2), True),
        (pa.decimal128(5, 2), T.DecimalType(7, 2), False),
        (pa.timestamp("ns", "UTC"), T.LongType(), False),
        (pa.timestamp("ns", "UTC"), T.TimestampType(), False),
        (pa.timestamp("ms", "Europe/Berlin"), T.TimestampType(), True),
        (pa.timestamp("us"), T.TimestampNTZType(), True),
        (pa.timestamp("us"), T.TimestampType(), False),
        (pa.date64(), T.DateType(), True),
        (pa.binary(), T.StringType(), False),
        (pa.large_string(), T.StringType(), True),
        (pa.dictionary(pa.int32(), pa.string()), T.StringType(), True),
        (pa.list_(pa.int32()), T.ArrayType(T.IntegerType()), True),
        (pa.struct([("a", pa.uint8())]), T.StructType([T.StructField("a", T.ShortType())]), False),
        (pa.null(), T.StringType(), False),
    ],
)
def test_a_column_is_read_only_as_the_type_that_spark_reads(tmp_path, kind, read_as, same):
    table = pa.table({"c": pa.nulls(1, kind)})
    pq.write_table(table, tmp_path / "a.parquet", store_decimal_as_integer=True)
    schema = T.StructType([T.StructField("c", read_as)])
    assert (refusal(source(tmp_path / "a.parquet", schema=schema), ["c"]) is None) == same


@pytest.mark.parametrize(
    "key", ["files__ignoreCorruptFiles", "files__ignoreMissingFiles", "parquet__fieldId__read__enabled"]
)
def test_settings_by_which_spark_reads_otherwise(tmp_path, key):
    file = write(tmp_path / "a.parquet", {"x": [1]})
    assert "spark.sql." in (refusal(source(file, **{key: "true"}), ["x"]) or "")


@pytest.mark.parametrize(
    "other", [{"x": pa.array([1], pa.int32())}, {"y": [1]}, {"x": [1], "y": [1]}, {"X": [1]}, {"x": pa.array([1.5])}]
)
def test_files_that_differ_are_left_to_spark(tmp_path, other):
    files = [write(tmp_path / "a.parquet", {"x": [1]}), write(tmp_path / "b.parquet", other)]
    assert "do not have the same columns" in (refusal(source(*files), ["x"]) or "")


def test_files_that_keep_instants_in_96_and_64_bits_differ(tmp_path):
    columns = {"t": pa.array([NEW], pa.timestamp("ns"))}
    files = [
        write(tmp_path / "a.parquet", columns, use_deprecated_int96_timestamps=True),
        write(tmp_path / "b.parquet", columns, version="2.6"),
    ]
    schema = T.StructType([T.StructField("t", T.TimestampType())])
    assert "do not have the same columns" in (refusal(source(*files, schema=schema), ["t"]) or "")


def test_columns_that_folders_name_are_left_to_spark(tmp_path):
    (tmp_path / "day=2026-01-01").mkdir()
    file = write(tmp_path / "day=2026-01-01" / "a.parquet", {"x": [1]})
    schema = T.StructType([T.StructField("x", T.LongType()), T.StructField("day", T.DateType())])
    assert "'day' comes from folder names" in (refusal(source(file, schema=schema), ["x", "day"]) or "")
    assert "'day' comes from folder names" in (refusal(source(file, schema=schema), ["x"]) or "")
    assert refusal(source(file), ["x"]) is None  # as where a pattern names the folder


def test_what_is_not_data_and_what_is_empty_is_passed_over(tmp_path):
    file = write(tmp_path / "a.parquet", {"x": [1]})
    (tmp_path / "empty.parquet").touch()
    for name in ("_metadata", "_x.parquet", ".x.parquet", "b.parquet._COPYING_"):
        (tmp_path / name).write_bytes(b"nothing of the kind")
    given = source(file, *(path for path in sorted(tmp_path.iterdir()) if path != file))
    assert list(read_footers(given, Settings()).files) == [str(file)]


@pytest.mark.parametrize("cut", ["footer", "short", "magic"])
def test_a_damaged_footer_names_the_file(tmp_path, cut):
    file = write(tmp_path / "a.parquet", {"x": [1, 2, 3]})
    bad = bytearray(file.read_bytes())
    if cut == "footer":
        bad[-40:-10] = b"\xff" * 30
    elif cut == "short":
        bad = bad[:-20]
    else:
        bad[-4:] = b"JUNK"
    (tmp_path / "b.parquet").write_bytes(bytes(bad))
    with pytest.raises(SourceError, match=r"b\.parquet: cannot be read as Parquet; it may be damaged"):
        read_footers(source(file, tmp_path / "b.parquet"), Settings())


def test_a_damaged_page_names_the_file(tmp_path):
    from windrow.spark.sources.parquet import read_row_group

    file = write(tmp_path / "a.parquet", {"x": list(range(1_000))}, compression="zstd")
    footers = read_footers(source(file), Settings())
    (group,), _ = row_groups(footers, "x", ["x"])
    bad = bytearray(file.read_bytes())
    bad[4:200] = b"\xff" * 196
    file.write_bytes(bytes(bad))
    with pytest.raises(SourceError, match=r"a\.parquet: cannot be read; it may be damaged"):
        read_row_group(group, footers.place, ["x"])
    file.unlink()
    with pytest.raises(SourceError, match=r"a\.parquet: cannot be read"):
        read_row_group(group, footers.place, ["x"])


def test_a_file_that_is_gone_is_named(tmp_path):
    file = write(tmp_path / "a.parquet", {"x": [1]})
    given = source(file)
    file.unlink()
    with pytest.raises(SourceError, match=r"a\.parquet: "):
        read_footers(given, Settings())


def own(*types: object) -> dict[bytes, bytes]:
    fields = [{"name": "c", "type": kind, "nullable": True, "metadata": {}} for kind in types]
    return {b"org.apache.spark.sql.parquet.row.metadata": json.dumps({"type": "struct", "fields": fields}).encode()}


@pytest.mark.parametrize(
    ("kind", "metadata", "wanted"),
    [
        (pa.int64(), {}, T.LongType()),
        (pa.int64(), own("long"), T.LongType()),
        (pa.int64(), own("interval day to second"), None),
        (pa.int64(), own({"type": "udt"}), None),
        (pa.int64(), {b"org.apache.spark.sql.parquet.row.metadata": b"StructType(...)"}, None),
        (pa.timestamp("us"), own("timestamp_ntz"), T.TimestampNTZType()),
        (pa.timestamp("us"), {}, None),
        (pa.uint8(), {}, None),
        (pa.duration("us"), {}, None),
    ],
)
def test_the_schema_of_a_file_is_known_without_spark_where_it_has_one_reading(tmp_path, kind, metadata, wanted):
    file = write(tmp_path / "a.parquet", {"c": pa.nulls(1, kind)}, metadata)
    footer = pq.read_metadata(file)
    found = known_schema(footer, Settings())
    assert found == (None if wanted is None else T.StructType([T.StructField("c", wanted)]))
    assert known_schema(footer, Settings(merges_schemas=True)) is None


def test_addresses_are_paths_of_their_file_system():
    assert located(["file:/a/b%2520c%23.parquet"]) == ("/", ["/a/b%20c#.parquet"])
    with pytest.raises(OSError, match="more than one file system"):
        located(["file:/a", "s3://b/a"])
    with pytest.raises(OSError, match="pattern or escape"):
        located(["s3://b/a%20c"])


def test_an_encrypted_file_is_left_to_spark(tmp_path):
    file = write(tmp_path / "a.parquet", {"x": [1]})
    (tmp_path / "b.parquet").write_bytes(file.read_bytes()[:-4] + b"PARE")
    assert "encrypted" in (refusal(source(file, tmp_path / "b.parquet"), ["x"]) or "")
