"""What footers of Parquet say of `on`, also where it is further out than any date of Python."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from windrow.spark.sources.parquet import footers_at, row_groups


@pytest.mark.parametrize("kind", [pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.date32()], ids=str)
def test_instants_past_the_year_9999_are_left_to_be_measured(kind, tmp_path):
    whole = pa.int32() if pa.types.is_date32(kind) else pa.int64()
    far = 2**31 - 1 if pa.types.is_date32(kind) else 2**63 - 1
    path = str(tmp_path / "far.parquet")
    pq.write_table(pa.table({"t": pa.array([0, 5, 9, far], whole).view(kind)}), path, row_group_size=2)
    found, nulls = row_groups(footers_at("/", [path]), "t", ["t"])
    assert [group.rows for group in found] == [2, 2]
    assert found[0].low is not None
    assert (found[1].low, found[1].high) == (None, None)
    assert sum(nulls.values()) == 0
