"""The shuffle plan for one group, a few groups or a hot group: cut by ranges of group and `on`, so all cores share it.

A sample of the keys shows whether partitioning by group would keep the cores busy and, if not, where to cut. Spark
collects and sorts the rows of each range. `windrow.framing.parallel.ranges` frames each range and reconciles the seams.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from operator import and_

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructType, TimestampType

from windrow.arrays import is_instant, is_number
from windrow.framing.parallel.pieces import MapInArrow
from windrow.framing.parallel.ranges import Cuts, buckets_of, quantiles, replay_sent, run_range, why_ranges
from windrow.framing.query import FrameQuery
from windrow.rows.query import Layout
from windrow.spark.failures import own_errors, plainly
from windrow.spark.plans.pieces import PIECES, reconciled
from windrow.spark.plans.shuffle import select_rows
from windrow.spark.resolve.columns import column
from windrow.spark.sessions import parallelism


def find_cuts(df: DataFrame, request: FrameQuery) -> Cuts | None:
    """Return where to cut a table into ranges, or None if partitioning by group keeps all cores busy."""
    tuning = request.tuning
    cores = parallelism(df.sparkSession, tuning)
    if cores == 1 or tuning.by_ranges is False or not all(map(_has_literals, request.by_types)):
        return None
    names = (*request.by, request.on)
    chosen = df.select(*(column(name).alias(str(i)) for i, name in enumerate(names)))
    with own_errors():
        sampled = chosen.sample(fraction=float(tuning.sampled), seed=1).orderBy(F.rand(1))
        sample = sampled.limit(tuning.most_sampled).toArrow()
    if sample.num_rows < tuning.fewest_sampled:
        return None
    reason = "the tuning asks for ranges" if tuning.by_ranges else why_ranges(sample, cores)
    return Cuts(quantiles(sample, tuning.ranges_per_core * cores), reason) if reason else None


def _has_literals(kind: pa.DataType) -> bool:
    """Return whether a value of this type can be written into a query as a literal."""
    plain = (is_number, is_instant, pa.types.is_string, pa.types.is_boolean)
    return any(is_kind(kind) for is_kind in plain)


def range_frames(df: DataFrame, request: FrameQuery, cuts: Cuts, schema: StructType) -> DataFrame:
    """Compute frames with a sort over ranges and the kernel, and reconcile the seams."""
    rows, layout = select_rows(df, request)
    ranges = cuts.keys.num_rows + 1
    number = _range_number(rows, (*layout.by, layout.on), cuts.keys)
    ordered = rows.repartitionById(ranges, number).sortWithinPartitions(layout.on)
    pieces = ordered.mapInArrow(plainly(_speculate(request, layout, cuts.keys)), PIECES)
    return reconciled(pieces, buckets_of(request, cuts.keys), request, replay_sent(request, layout), schema)


def _range_number(df: DataFrame, names: Sequence[str], keys: pa.Table) -> Column:
    """Return the number of a row's range, by binary search over the cuts."""
    kinds = [df.schema[name].dataType for name in names]
    rows = [[_literal(keys[i][row], kind) for i, kind in enumerate(kinds)] for row in range(keys.num_rows)]

    def after(cut: list[Column]) -> Column:
        """Return whether a row's key is greater than the cut, compared column by column."""
        equal = [F.col(name) == value for name, value in zip(names, cut, strict=True)]
        greater = [F.col(name) > value for name, value in zip(names, cut, strict=True)]
        terms = [reduce(and_, [*equal[:i], is_greater]) for i, is_greater in enumerate(greater)]
        return reduce(lambda a, b: a | b, terms)

    def search(low: int, high: int) -> Column:
        if low == high:
            return F.lit(low)
        middle = (low + high) // 2
        return F.when(after(rows[middle]), search(middle + 1, high)).otherwise(search(low, middle))

    return search(0, len(rows))


def _literal(value: pa.Scalar, kind: DataType) -> Column:
    """Return a constant of a column's type."""
    if isinstance(kind, TimestampType):
        return F.timestamp_micros(F.lit(value.cast(pa.timestamp("us", value.type.tz)).value))
    plain = value.as_py()
    return F.lit(plain if isinstance(plain, (bool, int, float, str)) else str(plain)).cast(kind)


def _speculate(request: FrameQuery, layout: Layout, cuts: pa.Table) -> MapInArrow:
    """Return the function of the first stage: it frames the range whose number is the task's partition id."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task = TaskContext.get()
        assert task is not None
        yield from run_range(request, layout, cuts, task.partitionId(), batches)

    return run
