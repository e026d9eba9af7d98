"""`wr.assemble` on tables and streams: groups stay apart, repeats are dropped, nothing is returned half."""

from __future__ import annotations

import os
from typing import Any

import pytest
from pyspark.errors import PythonException, StreamingQueryException
from pyspark.sql import functions as F

import windrow as wr
from replays import finished
from windrow.spark.resolve.frames import FRAME_COLUMNS

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("few_buckets")]

COLUMNS = (
    "g int, frame long, start int, end int, closed_at int, count long, complete boolean, fragment long, final boolean"
)
COLUMN_NAMES = ["g", *FRAME_COLUMNS, "fragment", "final"]
PIECES = [
    (1, 0, 1, 4, None, 4, False, 0, False),
    (1, 0, 5, 5, None, 1, False, 1, False),
    (1, 0, 6, 6, 7, 1, True, 2, True),
    (2, 0, 1, 2, 3, 2, True, 0, True),
]
WHOLE = [(1, 0, 1, 6, 7, 6, True), (2, 0, 1, 2, 3, 2, True)]


def rows(found: Any) -> list[tuple]:
    return sorted(map(tuple, found.select("g", "frame", "start", "end", "closed_at", "count", "complete").collect()))


def test_groups_of_a_table_partitioned_by_their_column_stay_apart(spark, tmp_path):
    spark.createDataFrame(PIECES, COLUMNS).write.partitionBy("g").parquet(str(tmp_path / "pieces"))
    pieces = spark.read.parquet(str(tmp_path / "pieces"))
    assert pieces.columns[-1] == "g"
    with pytest.raises(wr.SpecError, match=r"by: 'g' after 'final'.*e\.g\. by=\['g'\]"):
        wr.assemble(pieces)
    assert rows(wr.assemble(pieces, by="g")) == WHOLE


def test_by_must_name_group_columns(spark):
    pieces = spark.createDataFrame(PIECES, COLUMNS)
    with pytest.raises(wr.ColumnError, match="by: 'frame' describes a frame"):
        wr.assemble(pieces, by=["frame"])
    with pytest.raises(wr.ColumnError, match="'h'"):
        wr.assemble(pieces, by="h")
    with pytest.raises(wr.SpecError, match=r"not in the order of wr\.frames"):
        wr.assemble(pieces.select("frame", "g", *pieces.columns[2:]))
    with pytest.raises(wr.SpecError, match="fragments: expected a Spark DataFrame, got "):
        wr.assemble(PIECES)


def test_late_rows_are_no_fragments(spark):
    pieces = spark.createDataFrame(
        [(*piece, None) for piece in PIECES] + [(1, *[None] * 8, (3,))], f"{COLUMNS}, late struct<t: int>"
    )
    found = wr.assemble(pieces)
    assert "late" not in found.columns
    assert rows(found) == WHOLE


@pytest.mark.parametrize("name", ["a.b", "a b", "a`b"])
def test_columns_of_any_name_are_kept(spark, name):
    pieces = spark.createDataFrame(PIECES, COLUMNS).withColumnRenamed("g", name)
    assert wr.assemble(pieces).columns == [name, *FRAME_COLUMNS]
    assert rows(wr.assemble(pieces, by=name).withColumnsRenamed({name: "g"})) == WHOLE


def test_an_aggregate_may_be_named_late(spark):
    pieces = (
        spark.createDataFrame(PIECES, COLUMNS)
        .selectExpr("*", "start late")
        .select(*[name for name in COLUMN_NAMES if name not in ("fragment", "final")], "late", "fragment", "final")
    )
    assert sorted(row["late"] for row in wr.assemble(pieces).collect()) == [1, 6]


def test_fragments_of_other_types_and_columns_that_occur_twice_are_refused(spark):
    pieces = spark.createDataFrame(PIECES, COLUMNS)
    for name, expected in (("frame", "an integer"), ("fragment", "an integer"), ("final", "a boolean")):
        with pytest.raises(wr.TypeMismatchError, match=f"column '{name}' is of type string; expected {expected}"):
            wr.assemble(pieces.withColumn(name, pieces[name].cast("string")))
    with pytest.raises(wr.TypeMismatchError, match="column 'start' is of type string"):
        wr.assemble(pieces.withColumn("start", pieces["start"].cast("string")))
    with pytest.raises(wr.ColumnError, match="two columns named 'start'"):
        wr.assemble(pieces.select("*", "start"))


@pytest.mark.parametrize("name", ["g", "frame", "count", "fragment", "final"])
def test_a_null_where_no_fragment_has_one_is_refused(spark, name):
    odd = spark.createDataFrame([PIECES[0]], COLUMNS).withColumn(name, F.lit(None))
    pieces = spark.createDataFrame(PIECES, COLUMNS)
    with pytest.raises(PythonException) as caught:
        wr.assemble(pieces.unionByName(odd), by="g").collect()
    found = wr.failure(caught.value)
    assert isinstance(found, wr.DataError)
    assert f"column '{name}' is null or NaN in 1 row" in str(found)


def test_a_stream_waits_for_the_middle_and_returns_no_frame_twice(spark, tmp_path):
    """The last fragment comes before the middle one; then everything comes again."""
    batches = [[PIECES[0], PIECES[2]], [PIECES[3]], [PIECES[1], PIECES[0]], PIECES, [PIECES[2]]]
    for i, batch in enumerate(batches):
        path = tmp_path / "in" / f"{i}.parquet"
        spark.createDataFrame(batch, COLUMNS).toPandas().astype({"closed_at": "Int32"}).to_parquet(_made(path))
        os.utime(path, (1_600_000_000 + i, 1_600_000_000 + i))
    source = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
    assert rows(finished(wr.assemble(source), tmp_path)) == WHOLE


def test_a_stream_refuses_groups_that_are_mixed(spark, tmp_path):
    spark.createDataFrame(PIECES, COLUMNS).write.parquet(str(tmp_path / "in"))
    source = spark.readStream.schema(COLUMNS).parquet(str(tmp_path / "in"))
    with pytest.raises(StreamingQueryException, match=r"fragment 0 of frame 0 occurs with .*by="):
        finished(wr.assemble(source, by=[]), tmp_path)


def _made(path):
    path.parent.mkdir(exist_ok=True)
    return path
