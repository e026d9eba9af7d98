"""The shuffle plan: any scheme over any DataFrame. Spark sorts each group's tuples, the compiled kernel frames them.

Only the columns that are needed are shuffled, predicates are evaluated by Catalyst before that, and the state of one
group is all that is kept from one record batch to the next, so memory does not grow with a group's size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from windrow.frames.groups import Directory
from windrow.frames.request import Layout, Reader, Request, frames_table
from windrow.spark.resolve import column, condition

ROWS_AT_ONCE = 100_000


def shuffle_frames(df: DataFrame, request: Request, schema: StructType) -> DataFrame:
    """Frames by a sort within groups and the kernel."""
    tuples, layout = select_tuples(df, request)
    names = tuples.columns
    return tuples.repartition(*layout.by).sortWithinPartitions(*names).mapInArrow(frame_sorted(request, layout), schema)


def select_tuples(df: DataFrame, request: Request) -> tuple[DataFrame, Layout]:
    """What the kernel reads, under names of our own, in the order by which tuples are sorted."""
    by = tuple(f"by{i}" for i in range(len(request.by)))
    ties = tuple(f"tie{i}" for i in range(len(request.order_by)))
    predicates = {name: f"p_{name}" for name in request.scheme.predicates}
    attributes = {name: f"a{i}" for i, name in enumerate(request.scheme.attributes)}
    values = tuple(None if at is None else f"v{j}" for j, at in enumerate(request.values))
    chosen = [column(name).alias(at) for name, at in zip(request.by, by, strict=True)]
    chosen += [column(request.on).alias("on")]
    chosen += [column(name).alias(at) for name, at in zip(request.order_by, ties, strict=True)]
    chosen += [condition(request.scheme.predicates[name]).alias(at) for name, at in predicates.items()]
    chosen += [column(name).cast("double").alias(at) for name, at in attributes.items()]
    chosen += [column(name).alias(at) for name, at in zip(request.values, values, strict=True) if name and at]
    evaluate = {name: read_column(at) for name, at in predicates.items()}
    return df.select(*chosen), Layout("on", by, evaluate, attributes, values, ties)


def read_column(name: str) -> Callable[[pa.Table], pa.BooleanArray]:
    """How to read a predicate that is a column already."""

    def read(table: pa.Table) -> pa.BooleanArray:
        return table.column(name).combine_chunks()

    return read


def frame_sorted(request: Request, layout: Layout) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that a Spark task runs over its sorted record batches."""

    def frame(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader, framer = Reader(request, layout), request.framer()
        for table in in_larger_tables(batches):
            tuples = reader.read(table)
            last = tuples.group[-1:]
            keys = reader.directory.keys()
            yield from frames_table(request, keys, framer.process(tuples)).to_batches()
            # Groups are contiguous, so every group but the last has ended and can be forgotten.
            ended = np.setdiff1d(np.arange(len(reader.directory)), last)
            yield from frames_table(request, keys, framer.finish(ended)).to_batches()
            state = framer.export(last)
            framer.clear()
            framer.adopt(np.zeros(1, np.int64), state)
            reader.directory = Directory(request.by_types)
            reader.directory.encode([key.take(pa.array(last)) for key in keys])
        yield from frames_table(request, reader.directory.keys(), framer.finish()).to_batches()

    return frame


def in_larger_tables(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Record batches put together until they are worth a call of the kernel."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in chain(batches, [None]):
        if batch is not None and batch.num_rows:
            waiting.append(batch)
            rows += batch.num_rows
        if waiting and (batch is None or rows >= ROWS_AT_ONCE):
            yield pa.Table.from_batches(waiting).combine_chunks()
            waiting, rows = [], 0
