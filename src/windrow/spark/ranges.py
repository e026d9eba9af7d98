"""The shuffle plan for one group, a few, or a hot one: cut by range of group and `on`, so that all cores share it.

A sample of the keys tells whether groups alone would keep the cores busy, and where to cut if not. A range may begin in
the middle of a group. So each is framed from the empty state and the seams are reconciled as in a scan. A DataFrame
cannot be read again from the middle: a scheme that is not stitched sends along the tuples of the group that the cut
before its range goes through, which is the only one that can be open there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructType, TimestampType

from windrow.aggregates.keeper import is_instant, is_number
from windrow.frames.framer import Framer, Tuples
from windrow.frames.groups import Directory
from windrow.frames.heads import HeadFramer
from windrow.frames.ordering import read_in_order, whole_instants
from windrow.frames.request import Layout, Reader, Request
from windrow.spark.pieces import PIECES, MapInArrow, ReplayChunk, Sender, reconciled
from windrow.spark.resolve import column
from windrow.spark.session import parallelism
from windrow.spark.shuffle import in_larger_tables, select_tuples

RANGES_A_CORE = 2
SAMPLED = 0.01
"""The part of all tuples whose keys are looked at."""
MOST_SAMPLED = 20_000
FEWEST_SAMPLED = 100
"""With fewer than this in the sample the table is so small that one core is enough."""


@dataclass(frozen=True)
class Cuts:
    """Where to cut: keys (`by` columns and `on`, in order) that are the last of their range; and why to cut at all."""

    keys: pa.Table
    reason: str


def find_cuts(df: DataFrame, request: Request) -> Cuts | None:
    """Where to cut a table into ranges; None where groups alone keep all cores busy."""
    cores = parallelism(df.sparkSession)
    if cores == 1 or not all(map(_has_literals, request.by_types)):
        return None
    names = (*request.by, request.on)
    chosen = df.select(*(column(name).alias(str(i)) for i, name in enumerate(names)))
    sample = chosen.sample(fraction=SAMPLED, seed=1).orderBy(F.rand(1)).limit(MOST_SAMPLED).toArrow()
    hot = why_ranges(sample, cores) if sample.num_rows >= FEWEST_SAMPLED else None
    return Cuts(_quantiles(sample, RANGES_A_CORE * cores), hot) if hot else None


def _has_literals(kind: pa.DataType) -> bool:
    """Whether a value of this type can be written into a query as it is."""
    plain = (is_number, is_instant, pa.types.is_string, pa.types.is_boolean)
    return any(is_kind(kind) for is_kind in plain)


def why_ranges(sample: pa.Table, cores: int) -> str | None:
    """Why groups alone would not keep so many cores busy; None if they would."""
    by = sample.column_names[:-1]
    if not by:
        return "there is one group"
    largest = pc.max(sample.group_by(by).aggregate([([], "count_all")])["count_all"]).as_py() / sample.num_rows
    return f"one group has about {largest:.0%} of the tuples" if largest > 1 / cores else None


def _quantiles(sample: pa.Table, ranges: int) -> pa.Table:
    """The distinct keys at which a sample is cut into so many parts of about equal size."""
    ordered = sample.sort_by([(name, "ascending") for name in sample.column_names])
    cuts = ordered.take(pa.array(np.linspace(0, ordered.num_rows, ranges + 1)[1:-1].astype(np.int64)))
    return cuts.group_by(cuts.column_names, use_threads=False).aggregate([])


def range_frames(df: DataFrame, request: Request, cuts: Cuts, schema: StructType) -> DataFrame:
    """Frames by a sort over ranges and the kernel, with reconciled seams."""
    tuples, layout = select_tuples(df, request)
    ranges = cuts.keys.num_rows + 1
    number = _range_number(tuples, (*layout.by, layout.on), cuts.keys)
    ordered = tuples.repartitionById(ranges, number).sortWithinPartitions(layout.on)
    pieces = ordered.mapInArrow(_speculate(request, layout, cuts.keys), PIECES)
    return reconciled(pieces, ranges if request.by else 1, request, _replay(request, layout), schema)


def _range_number(df: DataFrame, names: Sequence[str], keys: pa.Table) -> Column:
    """The number of a tuple's range, by a binary search over the cuts."""
    kinds = [df.schema[name].dataType for name in names]
    rows = [[_literal(keys[i][row], kind) for i, kind in enumerate(kinds)] for row in range(keys.num_rows)]

    def after(cut: list[Column]) -> Column:
        """Whether a tuple's key is greater than the cut's, column by column."""
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
    """A constant of a column's type."""
    if isinstance(kind, TimestampType):
        return F.timestamp_micros(F.lit(value.cast(pa.timestamp("us", value.type.tz)).value))
    plain = value.as_py()
    return F.lit(plain if isinstance(plain, (bool, int, float, str)) else str(plain)).cast(kind)


def _speculate(request: Request, layout: Layout, cuts: pa.Table) -> MapInArrow:
    """The function of the first stage: frame each range from the empty state."""
    stitched = request.scheme.is_run

    def run_range(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader, framer = Reader(request, layout), request.framer(HeadFramer if stitched else Framer)
        task = TaskContext.get()
        assert task is not None
        number = task.partitionId()
        sender = Sender(number, cuts.num_rows + 1 if request.by else 1, reader.directory, framer)
        cut_group = Directory(request.by_types)
        if number:
            cut_group.encode([cuts[i].slice(number - 1, 1) for i in range(len(layout.by))])
        for table in whole_instants(in_larger_tables(batches), layout.on, request.clock):
            yield from sender.frames(framer.process(read_in_order(reader, table)))
            if number and not stitched:
                cut = cut_group.encode([table.column(name) for name in layout.by], table.num_rows) == 0
                yield from sender.tuples(table.filter(pa.array(cut)), layout.by)
        yield from sender.last()

    return run_range


def _replay(request: Request, layout: Layout) -> ReplayChunk:
    """How the group that was cut is read again: from the tuples that were sent along."""

    def replay(number: int, tables: list[pa.Table], keys: list[pa.Array]) -> Iterator[Tuples]:
        reader = Reader(request, layout)
        reader.directory.encode(keys)
        return (read_in_order(reader, table) for table in tables)

    return replay
