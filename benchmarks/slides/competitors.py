"""Count, sum and variance over sliding windows by every method, each as well written as its engine allows.

A competitor returns the columns g, start, end, n, total, var: a Spark DataFrame, or an Arrow table that is already
computed. "By hand" means panes: one aggregation by group and pane, then a window function, or rolling sums, over the
panes. Their variance uses sums and sums of squares, which is cheaper than ours but loses digits; the numbers here are
small.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numba import njit
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import windrow as wr
from benchmarks.frames.peers import PRIME

STAMP = pa.timestamp("us", tz="UTC")
SECOND = 1_000_000


@dataclass(frozen=True)
class Window:
    """The length of windows and the distance between them, in seconds."""

    length: int
    every: int


def ours(spark: SparkSession, path: Path, window: Window, plan: str) -> DataFrame:
    """Run Windrow with one plan."""
    source = wr.parquet(spark, str(path))
    kind = wr.Sliding(f"{window.length} seconds", every=f"{window.every} seconds")
    agg = {"n": wr.count(), "total": wr.sum("x"), "var": wr.variance("x")}
    windows = wr.slide(source if plan == "scan" else source.df, kind, on="ts", by="g", agg=agg, plan=plan)
    return windows.select("g", "start", "end", "n", "total", "var")


def spark_window(spark: SparkSession, path: Path, window: Window) -> DataFrame:
    """Run Spark's own windows, which copy each row into every window that contains it."""
    cut = F.window("ts", f"{window.length} seconds", f"{window.every} seconds")
    grouped = spark.read.parquet(str(path)).groupBy("g", cut.alias("w"))
    sums = [F.count("*").alias("n"), F.sum("x").alias("total"), F.var_samp("x").alias("var")]
    return grouped.agg(*sums).select(
        "g", F.col("w.start").alias("start"), F.col("w.end").alias("end"), "n", "total", "var"
    )


def _by_hand(window: Window, source: str, micros: str, instant: str) -> str:
    """Return SQL that aggregates panes, then sums them with a window function.

    Each window is computed at its last pane. Windows that end after the last pane of a group have no such pane, so
    empty panes are added there.
    """
    pane, panes = window.every * SECOND, window.length // window.every
    start, end = (instant.format(at=f"(p + 1 - {back}) * {pane}") for back in (panes, 0))
    return f"""
        with panes as (
            select g, {micros} as p, count(*) as n, sum(x) as s, sum(x * x) as q from {source} group by g, {micros}
        ), ends as (
            select g, p, n, s, q from panes
            union all
            select g, last + k as p, 0 as n, 0.0 as s, 0.0 as q
            from (select g, max(p) as last from panes group by g) cross join {{series}}
        ), rolled as (
            select g, p, sum(n) over w as n, sum(s) over w as s, sum(q) over w as q from ends
            window w as (partition by g order by p range between {panes - 1} preceding and current row)
        )
        select g, {start} as start, {end} as "end", n, s as total, (q - s * s / n) / nullif(n - 1, 0) as var
        from rolled where n > 0
    """


def spark_by_hand(spark: SparkSession, path: Path, window: Window) -> DataFrame:
    """Run panes in Spark SQL, as a good author writes them."""
    pane = window.every * SECOND
    text = _by_hand(window, f"parquet.`{path}`", f"unix_micros(ts) div {pane}", "timestamp_micros({at})")
    series = f"(select explode(sequence(1, {window.length // window.every - 1})) as k)"
    return spark.sql(text.format(series=series).replace('"end"', "`end`"))


def duckdb_by_hand(path: Path, window: Window) -> pa.Table:
    """Run panes in DuckDB."""
    pane = window.every * SECOND
    text = _by_hand(window, f"'{path}/*.parquet'", f"epoch_us(ts) // {pane}", "make_timestamptz({at})")
    series = f"(select unnest(generate_series(1, {window.length // window.every - 1})) as k)"
    with duckdb.connect(config={"threads": 2}) as connection:
        return connection.sql(text.format(series=series)).to_arrow_table()


def polars_by_hand(path: Path, window: Window) -> pa.Table:
    """Run panes in Polars."""
    panes, pane = window.length // window.every, window.every * SECOND
    x = pl.col("x")
    sums = (
        pl.scan_parquet(str(path / "*.parquet"))
        .group_by("g", p=pl.col("ts").to_physical() // pane)
        .agg(n=pl.len().cast(pl.Int64), s=x.sum(), q=(x * x).sum())
        .collect()
    )
    last = sums.group_by("g").agg(p=pl.col("p").max())
    more = last.select("g", p=pl.int_ranges(pl.col("p") + 1, pl.col("p") + panes)).explode("p").drop_nulls()
    more = more.with_columns(n=pl.lit(0, pl.Int64), s=pl.lit(0.0), q=pl.lit(0.0))
    ends = pl.concat([sums, more]).sort("g", "p")
    rolled = ends.rolling("p", period=f"{panes}i", group_by="g").agg(
        n=pl.col("n").sum(), total=pl.col("s").sum(), q=pl.col("q").sum()
    )
    at = lambda e: (e * pane).cast(pl.Datetime("us", "UTC"))  # noqa: E731
    n, total = pl.col("n"), pl.col("total")
    return rolled.select(
        "g", start=at(pl.col("p") + 1 - panes), end=at(pl.col("p") + 1), n=n, total=total,
        var=(pl.col("q") - total * total / n) / (n - 1),
    ).filter(n > 0).to_arrow()  # fmt: skip


def polars_dynamic(path: Path, window: Window) -> pa.Table:
    """Run Polars' own windows, over rows in time order."""
    x = pl.col("x")
    windows = (
        pl.scan_parquet(str(path / "*.parquet")).set_sorted("ts")
        .group_by_dynamic("ts", every=f"{window.every}s", period=f"{window.length}s", group_by="g", start_by="window")
        .agg(n=pl.len().cast(pl.Int64), total=x.sum(), var=x.var())
        .collect()
    )  # fmt: skip
    return windows.select(
        "g", start="ts", end=pl.col("ts") + pl.duration(seconds=window.length), n="n", total="total", var="var"
    ).to_arrow()


def limit(path: Path, window: Window) -> pa.Table:
    """Run one thread: pyarrow reads, one kernel sums all panes of all groups, and another rolls over them."""
    pane, panes = window.every * SECOND, window.length // window.every
    files = [pq.ParquetFile(file) for file in sorted(path.glob("*.parquet"))]
    extents = [f.metadata.row_group(i) for f in files for i in range(f.num_row_groups)]
    low = min(e.column(1).statistics.min for e in extents)
    high = max(e.column(1).statistics.max for e in extents)
    groups = max(e.column(0).statistics.max for e in extents) + 1
    first, last = (int(np.datetime64(t.replace(tzinfo=None), "us").astype(np.int64)) // pane for t in (low, high))
    sums = np.zeros((groups, last - first + 1, 3))
    for file in files:
        for i in range(file.num_row_groups):
            rows = file.read_row_group(i, columns=["g", "ts", "x"], use_threads=False).combine_chunks()
            _sum_panes(rows["g"].chunk(0).to_numpy(), rows["ts"].chunk(0).view(pa.int64()).to_numpy(),
                       rows["x"].chunk(0).to_numpy(), pane, first, sums)  # fmt: skip
        file.close()
    rolled = np.empty((groups, sums.shape[1] + panes - 1, 3))
    _roll(sums, panes, rolled)
    g, p = (index.ravel() for index in np.indices(rolled.shape[:2]))
    n, total, q = rolled.reshape(-1, 3).T
    with np.errstate(all="ignore"):
        var = (q - total * total / n) / (n - 1)
    end = (p + first + 1) * pane
    stamps = [pa.array(at).cast(STAMP) for at in (end - panes * pane, end)]
    return pa.table([pa.array(g), *stamps, pa.array(n.astype(np.int64)), pa.array(total), pa.array(var)],
                    names=["g", "start", "end", "n", "total", "var"]).filter(pa.array(n > 0))  # fmt: skip


@njit(cache=True)
def _sum_panes(g, ts, x, pane, first, sums):
    for i in range(g.size):
        at = sums[g[i], ts[i] // pane - first]
        at[0] += 1.0
        at[1] += x[i]
        at[2] += x[i] * x[i]


@njit(cache=True)
def _roll(sums, panes, rolled):
    groups, n, width = sums.shape
    for g in range(groups):
        for p in range(n + panes - 1):
            for j in range(width):
                rolled[g, p, j] = 0.0
                for k in range(max(0, p - panes + 1), min(n, p + 1)):
                    rolled[g, p, j] += sums[g, k, j]


SPARK: dict[str, Callable[[SparkSession, Path, Window], DataFrame]] = {
    "Spark SQL, panes by hand": spark_by_hand,
    "Spark window()": spark_window,
}
LOCAL: dict[str, Callable[[Path, Window], pa.Table]] = {
    "DuckDB, panes by hand": duckdb_by_hand,
    "Polars, panes by hand": polars_by_hand,
    "Polars group_by_dynamic": polars_dynamic,
    "limit, one thread": limit,
}
FEWER_WINDOWS = ("Polars group_by_dynamic",)
"""Competitors that omit windows starting before the first row."""


def totals(windows: DataFrame | pa.Table) -> tuple[int, int, int, int, int]:
    """Return the number of windows and of their rows, the sum of their ends, and rounded sums of `total` and `var`."""
    if isinstance(windows, DataFrame):
        sums = [F.sum("n"), F.sum(F.unix_micros("end") % PRIME), F.sum("total"), F.sum("var")]
        count, n, end, total, var = windows.agg(F.count("*"), *sums).first()
    else:
        count, n = windows.num_rows, windows["n"].to_numpy().sum()
        end = (windows["end"].cast(STAMP).cast(pa.int64()).to_numpy() % PRIME).sum()
        total, var = (np.nansum(windows[name].to_numpy()) for name in ("total", "var"))
    return int(count), int(n), int(end), round(float(total) / 1e3), round(float(var) / 1e1)
