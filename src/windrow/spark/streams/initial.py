"""The initial state of a query, checked before the query starts: all that `wr.migrate` returned, once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from windrow.errors import SpecError, quoted
from windrow.framing.migration import read_label
from windrow.spark.arguments import check_dataframe
from windrow.spark.failures import own_errors, plainly

_REMEDY = "pass the whole result of wr.migrate, once and unchanged"
_LABELS = pa.schema([("bucket", pa.int32()), ("buckets", pa.int32()), ("shares", pa.int32())])
_LABELS_SPARK = "bucket int, buckets int, shares int"


def check_columns(initial: Any) -> None:
    """Reject a DataFrame whose columns show that it is not the result of `wr.migrate`."""
    check_dataframe(initial, "initial", "; wr.migrate returns one")
    if initial.isStreaming or {"bucket", "data"} - {*initial.columns}:
        what = "a stream" if initial.isStreaming else f"a table of the columns {quoted(initial.columns)}"
        raise SpecError(f"initial: expected the result of wr.migrate, a table of 'bucket' and 'data', got {what}")


def check_complete(initial: DataFrame, buckets: int | None) -> int:
    """Reject a state for another number of buckets, and one whose rows are missing, repeated or null.

    Return the number of buckets that the state is for.
    """
    with own_errors():
        rows = initial.select("bucket", "data").mapInArrow(plainly(_labels), _LABELS_SPARK).collect()
    nulls = sum(row["bucket"] is None for row in rows)
    if nulls:
        raise SpecError(f"initial: {nulls} row{'s'[: nulls - 1]} with a null; {_REMEDY}")
    if not rows:
        raise SpecError(f"initial: the state has no rows; {_REMEDY}")
    of: int = rows[0]["buckets"]
    buckets = of if buckets is None else buckets
    if of != buckets:
        raise SpecError(
            f"initial: the state was migrated to {of} buckets, but the query has {buckets}; pass buckets={of}, or call "
            f"wr.migrate with buckets={buckets}"
        )
    first = Counter(row["bucket"] for row in rows if row["shares"] is not None)
    shares = Counter(row["bucket"] for row in rows if row["shares"] is None)
    expected = {row["bucket"]: row["shares"] for row in rows if row["shares"] is not None}
    for bucket in range(buckets):
        if first[bucket] > 1 or shares[bucket] > expected.get(bucket, shares[bucket]):
            raise SpecError(f"initial: the state of bucket {bucket} occurs more than once; {_REMEDY}")
        if not first[bucket] or shares[bucket] < expected[bucket]:
            raise SpecError(f"initial: a part of the state of bucket {bucket} is missing; {_REMEDY}")
    return buckets


def _labels(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the label of each share; nulls for a row in which anything is null."""
    for batch in batches:
        labels = []
        for bucket, data in zip(batch["bucket"].to_pylist(), batch["data"], strict=True):
            if bucket is None or not data.is_valid:
                labels.append(dict.fromkeys(_LABELS.names))
            else:
                labels.append({"bucket": bucket, **read_label(data.as_buffer())})
        yield pa.RecordBatch.from_pylist(labels, schema=_LABELS)
