"""A query that starts again with other buckets from the state of a stopped one: nothing is lost or comes twice."""

from __future__ import annotations

import datetime as dt
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException

import windrow as wr
from replays import replayed
from sweeps import sweep

pytestmark = pytest.mark.spark

BEGAN = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
HALVES = 2


@pytest.fixture(scope="module")
def landed(tmp_path_factory):
    """Rows of twelve groups in two halves, in the order of time, as folders of two files each."""
    rng = np.random.default_rng(5)
    n = 600
    t = np.sort(rng.integers(0, 3_000, n))
    table = pa.table(
        {
            "t": pa.array([BEGAN + dt.timedelta(seconds=int(s)) for s in t], pa.timestamp("us", "UTC")),
            "g": [f"g{k}" for k in rng.integers(0, 12, n)],
            "x": rng.random(n),
        }
    )
    folder = tmp_path_factory.mktemp("landed")
    for half in range(HALVES):
        (folder / str(half)).mkdir()
        for i in range(2):
            at = 2 * half + i
            path = folder / str(half) / f"{at}.parquet"
            pq.write_table(table.slice(at * n // 4, n // 4), path)
            os.utime(path, (1_600_000_000 + at, 1_600_000_000 + at))
    return table, folder


def stream(spark, folder):
    schema = "t timestamp, g string, x double"
    read = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
    return read.withWatermark("t", "100 seconds")


QUERIES = {
    "frames": lambda df, **o: wr.frames(df, wr.Threshold("x>0.3"), on="t", by="g", agg={"s": wr.sum("x")}, **o),
    "slide": lambda df, **o: wr.slide(df, wr.Sliding("5 minutes", every="1 minute"), on="t", by="g",
                                      agg={"n": wr.count(), "m": wr.max("x")}, **o),
}  # fmt: skip


@pytest.mark.parametrize("name", sweep(QUERIES, "frames"))
def test_a_query_with_other_buckets_continues_where_the_old_one_stopped(spark, landed, name, tmp_path):
    table, folder = landed
    query = QUERIES[name]
    first, _ = replayed(query(stream(spark, folder / "0"), buckets=3), tmp_path / "old")
    state = wr.migrate(spark, tmp_path / "old" / "checkpoint", buckets=5)
    source = stream(spark, folder / "1")
    second, _ = replayed(query(source, buckets=5, initial=state), tmp_path / "new")
    rest = query(source, buckets=5, flush=str(tmp_path / "new" / "checkpoint"))
    found = pa.concat_tables([part.drop("known_at").toArrow() for part in (first, second, rest)])
    wanted = query(spark.createDataFrame(table)).toArrow()
    shared = [c for c in wanted.column_names if c not in ("closed_at", "complete", "m", "s")]
    assert found.num_rows == wanted.num_rows
    assert sorted(map(str, found.select(shared).to_pylist())) == sorted(map(str, wanted.select(shared).to_pylist()))


@pytest.mark.long
def test_another_scheme_and_another_number_of_buckets_are_refused(spark, landed, tmp_path):
    _, folder = landed
    replayed(QUERIES["frames"](stream(spark, folder / "0"), buckets=3), tmp_path / "old")
    state = wr.migrate(spark, tmp_path / "old" / "checkpoint", buckets=2)
    other = wr.frames(stream(spark, folder / "1"), wr.Gap("1 minute"), on="t", by="g", buckets=2, initial=state)
    with pytest.raises(StreamingQueryException) as caught:
        replayed(other, tmp_path / "new")
    assert "the checkpoint was written with scheme=Threshold" in str(wr.failure(caught.value))
    with pytest.raises(wr.SpecError, match="initial: the state was migrated to 2 buckets, but the query has 3; pass"):
        QUERIES["frames"](stream(spark, folder / "1"), buckets=3, initial=state)


def test_a_state_that_is_not_whole_is_refused_before_the_query_starts(spark, landed, tmp_path):
    _, folder = landed
    replayed(QUERIES["frames"](stream(spark, folder / "0"), buckets=2), tmp_path / "old")
    wr.migrate(spark, tmp_path / "old" / "checkpoint", buckets=2).write.parquet(str(tmp_path / "state"))
    state = spark.read.parquet(str(tmp_path / "state"))
    rows = state.collect()
    other = max((row for row in rows if row["bucket"] == 1), key=lambda row: len(row["data"]))
    nothing = spark.createDataFrame([(1, None)], state.schema)
    cases = {
        "initial: the state has no rows; pass the whole result of wr.migrate": state.limit(0),
        "initial: a part of the state of bucket 0 is missing": state.where("bucket = 1"),
        "initial: a part of the state of bucket 1 is missing": [row for row in rows if row != other],
        "initial: the state of bucket 0 occurs more than once": state.unionAll(state),
        "initial: the state of bucket 1 occurs more than once": [*rows, other],
        "initial: 1 row with a null; pass the whole result": state.unionAll(nothing),
    }
    for message, initial in cases.items():
        if isinstance(initial, list):
            initial = spark.createDataFrame(initial, state.schema)
        with pytest.raises(wr.SpecError, match=message):
            QUERIES["frames"](stream(spark, folder / "1"), buckets=2, initial=initial)


def test_bad_arguments_are_refused(spark, landed, tmp_path):
    source = stream(spark, landed[1] / "0")
    with pytest.raises(wr.SpecError, match="buckets: expected an integer from 1 to 100000, got 0"):
        wr.migrate(spark, tmp_path, buckets=0)
    with pytest.raises(wr.SourceError, match="holds no state"):
        wr.migrate(spark, tmp_path)
    with pytest.raises(wr.SpecError, match=r"initial: expected a Spark DataFrame, got .*wr\.migrate returns one"):
        QUERIES["frames"](source, initial="old/checkpoint")
    with pytest.raises(wr.SpecError, match=r"initial: expected the result of wr\.migrate, a table of"):
        QUERIES["frames"](source, initial=spark.range(1))
    state = spark.createDataFrame([], "bucket int, data binary")
    with pytest.raises(wr.UnsupportedError, match="initial: an initial state is only for streams"):
        QUERIES["frames"](spark.createDataFrame(landed[0]), initial=state)
