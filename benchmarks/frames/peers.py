"""Other ways to compute the same frames, each as well written as its engine allows.

A peer takes the table's path (Spark's peers also take the session) and returns its frames with columns g, start, end,
count: a Spark DataFrame, or an Arrow table that is already computed. `totals` reduces both to numbers that must agree.
"""

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.frames.kernels import delta_frames
from benchmarks.frames.limit import threshold_frames

LIMIT, MIN_COUNT, DELTA = 0.5, 20, 1.0
PRIME = 1_000_003
RESULT = "g int, start timestamp, end timestamp, count bigint"
Totals = tuple[int, int, int, int]


def totals(frames: DataFrame | pa.Table) -> Totals:
    """Return the number of frames and of their rows, and sums of start and end modulo a prime: equal for equal frames.

    The remainders keep the sums of microseconds within 64 bits, and a shift of all times by the same amount shows.
    """
    if isinstance(frames, DataFrame):
        times = [F.sum(F.unix_micros(c) % PRIME) for c in ("start", "end")]
        row = frames.agg(F.count("*"), F.sum("count"), *times).first()
        return tuple(int(v or 0) for v in row)
    times = [frames[c].cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_numpy() % PRIME for c in ("start", "end")]
    return (frames.num_rows, int(frames["count"].to_numpy().sum()), *(int(t.sum()) for t in times))


# Threshold frames on Spark


def sql_running_misses(spark: SparkSession, path: Path) -> DataFrame:
    """Run the best known Spark SQL: hits between misses share the running count of misses; one ROWS window, no lag."""
    return spark.sql(
        f"""
        select g, min(ts) as start, max(ts) as end, count(*) as count
        from (select g, ts, x, sum(case when x > {LIMIT} then 0 else 1 end)
                over (partition by g order by ts rows unbounded preceding) as misses
              from parquet.`{path}`)
        where x > {LIMIT}
        group by g, misses
        having count(*) >= {MIN_COUNT}
        """
    )


def sql_lag_and_sum(spark: SparkSession, path: Path) -> DataFrame:
    """Run what most people write: lag marks the changes, and a running sum numbers them."""
    return spark.sql(
        f"""
        with hits as (select g, ts, x > {LIMIT} as hit from parquet.`{path}`),
        marked as (select *, case when hit = lag(hit) over (partition by g order by ts) then 0 else 1 end as change
                   from hits),
        numbered as (select *, sum(change) over (partition by g order by ts rows unbounded preceding) as run
                     from marked)
        select g, min(ts) as start, max(ts) as end, count(*) as count
        from numbered where hit group by g, run having count(*) >= {MIN_COUNT}
        """
    )


def apply_in_pandas(spark: SparkSession, path: Path) -> DataFrame:
    """Run `applyInPandas` with numpy and no Python loop over the rows."""
    limit, min_count = LIMIT, MIN_COUNT

    def frame_group(rows: pd.DataFrame) -> pd.DataFrame:
        rows = rows.sort_values("ts", ignore_index=True)
        ts = rows["ts"].to_numpy()
        edges = np.diff(np.concatenate(([0], (rows["x"].to_numpy() > limit).astype(np.int8), [0])))
        first, after = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
        long = after - first >= min_count
        first, after = first[long], after[long]
        return pd.DataFrame({"g": rows["g"].iloc[0], "start": ts[first], "end": ts[after - 1], "count": after - first})

    return _read(spark, path).groupBy("g").applyInPandas(frame_group, RESULT)


def shuffle_sort_drop(spark: SparkSession, path: Path) -> DataFrame:
    """Shuffle, sort, pass to Python as Arrow and drop: the minimum cost of any plan that sorts and uses Python."""

    def drop(batches):
        for _ in batches:
            pass
        return iter(())

    ordered = _read(spark, path).repartition("g").sortWithinPartitions("g", "ts")
    return ordered.mapInArrow(drop, RESULT)


# Delta frames on Spark: a row with |x - first| > DELTA opens the next frame


def delta_python_loop(spark: SparkSession, path: Path) -> DataFrame:
    """Run `applyInPandas` with a plain loop over the values."""
    delta = DELTA

    def begins(x: np.ndarray) -> np.ndarray:
        starts: list[int] = []
        first = 0.0
        for i, value in enumerate(x.tolist()):
            if not starts or abs(value - first) > delta:
                starts.append(i)
                first = value
        return np.array(starts, np.int64)

    return _delta(spark, path, begins)


def delta_compiled(spark: SparkSession, path: Path) -> DataFrame:
    """Run `applyInPandas` with the loop compiled by numba."""
    delta = DELTA
    return _delta(spark, path, lambda x: delta_frames(x, delta))


def _delta(spark: SparkSession, path: Path, begins) -> DataFrame:
    def frame_group(rows: pd.DataFrame) -> pd.DataFrame:
        rows = rows.sort_values("ts", ignore_index=True)
        ts = rows["ts"].to_numpy()
        first = begins(rows["x"].to_numpy())
        after = np.append(first[1:], len(ts))
        return pd.DataFrame({"g": rows["g"].iloc[0], "start": ts[first], "end": ts[after - 1], "count": after - first})

    return _read(spark, path).groupBy("g").applyInPandas(frame_group, RESULT)


def _read(spark: SparkSession, path: Path) -> DataFrame:
    return spark.read.parquet(str(path)).select("g", "ts", "x")


# Threshold frames without Spark


def duckdb_sql(path: Path, threads: int = 2) -> pa.Table:
    """Run the best Spark SQL in DuckDB."""
    with duckdb.connect(config={"threads": threads}) as connection:
        return connection.sql(
            f"""
            select g, min(ts) as start, max(ts) as "end", count(*) as count
            from (select g, ts, x, sum(case when x > {LIMIT} then 0 else 1 end)
                    over (partition by g order by ts rows unbounded preceding) as misses
                  from '{path}/*.parquet')
            where x > {LIMIT}
            group by g, misses
            having count(*) >= {MIN_COUNT}
            """
        ).to_arrow_table()


def polars_trusted(path: Path) -> pa.Table:
    """Run Polars' streaming engine, which takes the rows of each group in file order."""
    return _polars_frames(_polars_runs(path).filter("hit")).collect(engine="streaming").to_arrow()


def polars_checked_first(path: Path) -> pa.Table:
    """Verify the time order of each group with a separate query, then run Polars: the obvious way to add the check."""
    ordered = pl.scan_parquet(path / "*.parquet").group_by("g").agg(ok=pl.col("ts").is_sorted())
    if not ordered.select(pl.col("ok").all()).collect(engine="streaming").item():
        raise ValueError(f"{path} is not in time order")
    return polars_trusted(path)


def polars_checked(path: Path) -> pa.Table:
    """Run Polars with the check in the same pass: a row earlier than its group's previous one is kept and detected."""
    back = (pl.col("ts") < pl.col("ts").shift().over("g")).alias("back")
    runs = _polars_runs(path, back).filter(pl.col("hit") | pl.col("back"))
    frames = _polars_frames(runs, pl.col("back").any()).collect(engine="streaming")
    if frames["back"].any():
        raise ValueError(f"{path} is not in time order")
    return frames.drop("back").to_arrow()


def _polars_runs(path: Path, *more: pl.Expr) -> pl.LazyFrame:
    """Return each row with the number of misses before it; `more` columns are computed in the same pass."""
    rows = pl.scan_parquet(path / "*.parquet").select("g", "ts", hit=pl.col("x") > LIMIT)
    return rows.with_columns((~pl.col("hit")).cum_sum().over("g").alias("misses"), *more)


def _polars_frames(runs: pl.LazyFrame, *keep: pl.Expr) -> pl.LazyFrame:
    """Return the long runs as frames, plus any run for which a `keep` expression holds, with these as columns."""
    frames = runs.group_by("g", "misses").agg(
        pl.col("ts").min().alias("start"), pl.col("ts").max().alias("end"), pl.len().alias("count"), *keep
    )
    long = pl.any_horizontal(pl.col("count") >= MIN_COUNT, *(pl.col(k.meta.output_name()) for k in keep))
    return frames.filter(long).drop("misses")


def limit_one_thread(path: Path) -> pa.Table:
    """Run the kernel, fed by pyarrow, in one thread."""
    return threshold_frames(path, 1, LIMIT, MIN_COUNT)


def limit_two_threads(path: Path) -> pa.Table:
    """Run the kernel, fed by pyarrow, in two threads."""
    return threshold_frames(path, 2, LIMIT, MIN_COUNT)


SPARK_THRESHOLD = {
    "Spark SQL, running misses": sql_running_misses,
    "Spark SQL, lag and sum": sql_lag_and_sum,
    "Spark applyInPandas": apply_in_pandas,
}
SPARK_DELTA = {"applyInPandas, Python loop": delta_python_loop, "applyInPandas, compiled": delta_compiled}
LOCAL_THRESHOLD = {
    "DuckDB": duckdb_sql,
    "Polars, order trusted": polars_trusted,
    "Polars, order checked": polars_checked,
    "Polars, order checked first": polars_checked_first,
    "limit, one thread": limit_one_thread,
    "limit, two threads": limit_two_threads,
}
