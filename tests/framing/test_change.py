"""Change frames over columns of every type, against a definition in a few lines of plain Python."""

from __future__ import annotations

import datetime
import hashlib
import math
from decimal import Decimal
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from every_type import IGNORED, KINDS, VALUES
from windrow.aggregates.engine.codes import encode
from windrow.errors import DataError, SpecError, TypeMismatchError
from windrow.framing.parallel.in_process import Case
from windrow.framing.schemes.rules.conversion import Written, converted
from windrow.framing.schemes.rules.labels import LabelColumn, check_labels


def frames_of(values: list[Any], *ignore: Any, breaks: bool = False) -> list[tuple[Any, list[int]]]:
    """The runs of equal values, each with the positions of its rows; rows without a value are skipped, or break."""

    def is_missing(value: Any) -> bool:
        return value is None or value != value or value in ignore

    seen = [(i, None if is_missing(value) else value) for i, value in enumerate(values)]
    if not breaks:
        seen = [(i, value) for i, value in seen if value is not None]
    runs = [(value, [i for i, _ in run]) for value, run in groupby(seen, key=lambda pair: pair[1])]
    return [(value, rows) for value, rows in runs if value is not None]


def found(table: pa.Table, scheme: wr.Scheme, column: str) -> list[tuple[Any, list[int]]]:
    """The frames, which must be the same for any cut of the table."""
    case = Case(table, scheme, "t", agg={"sum": wr.sum("t")})
    frames = case.whole()
    for upto in ([3, 20], [1, 2, 11, 12, 13]):
        assert case.chunks(upto, batch=4) == case.ranges(pa.table({"t": upto}), batch=4) == frames
    assert frames.schema.field(column).type == table.schema.field(column).type
    rows = frames.to_pylist()
    assert list(rows[0])[5:8] == ["complete", column, "sum"]
    return [(row[column], [row["start"], row["end"], row["count"], row["sum"]]) for row in rows]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("nulls", ["skip", "break"])
def test_frames_are_runs_of_equal_values_of_any_type(kind: str, nulls: str) -> None:
    rng = np.random.default_rng(5)
    palette = [*VALUES[kind], None]
    values = [palette[i] for i in np.repeat(rng.integers(0, len(palette), 40), rng.integers(1, 4, 40))]
    table = pa.table({"t": range(len(values)), "s": pa.array(values, KINDS[kind], from_pandas=False)})
    for ignore in ([], [IGNORED[kind]]):
        expected = [
            (value, [rows[0], rows[-1], len(rows), sum(rows)])
            for value, rows in frames_of(table["s"].to_pylist(), *ignore, breaks=nulls == "break")
        ]
        assert found(table, wr.Change("s", ignore=ignore, nulls=nulls), "s") == expected


def test_a_value_between_two_equal_ones_can_be_ignored() -> None:
    table = pa.table({"t": range(5), "state": ["A", "OFF", "A", "B", "A"]})

    def states(scheme: wr.Scheme) -> list[tuple[int, int, str]]:
        return [(r["start"], r["end"], r["state"]) for r in Case(table, scheme, "t").whole().to_pylist()]

    assert states(wr.Change("state")) == [(0, 0, "A"), (1, 1, "OFF"), (2, 2, "A"), (3, 3, "B"), (4, 4, "A")]
    assert states(wr.Change("state", ignore="OFF")) == [(0, 2, "A"), (3, 3, "B"), (4, 4, "A")]
    assert states(wr.Change("state", ignore=["OFF", "B"])) == [(0, 4, "A")]
    assert states(wr.Change("state", ignore="OFF", nulls="break")) == [
        (0, 0, "A"),
        (2, 2, "A"),
        (3, 3, "B"),
        (4, 4, "A"),
    ]


def test_several_columns_end_a_frame_together_and_any_of_them_may_be_missing() -> None:
    table = pa.table(
        {"t": range(6), "state": ["A", "A", "A", None, "A", "A"], "gear": [1, 1, 2, 2, 0, 2], "x": [1.0] * 6}
    )
    frames = Case(table, wr.Change(["state", "gear"], ignore=0), "t", agg={"n": wr.count()}).whole().to_pylist()
    assert [(row["start"], row["end"], row["state"], row["gear"], row["n"]) for row in frames] == [
        (0, 1, "A", 1, 2),
        (2, 5, "A", 2, 2),
    ]


def test_zeros_of_either_sign_are_equal_and_shown_as_zero() -> None:
    table = pa.table({"t": range(4), "x": [-0.0, 0.0, math.nan, -0.0]})
    (frame,) = Case(table, wr.Change("x"), "t").whole().to_pylist()
    assert (frame["count"], math.copysign(1, frame["x"])) == (3, 1.0)


def test_an_ignored_value_is_missing_and_may_be_an_error() -> None:
    table = pa.table({"t": range(3), "state": ["A", "OFF", "OFF"]})
    with pytest.raises(DataError, match=r"column 'state', with ignore=\['OFF'\], is null or NaN in"):
        Case(table, wr.Change("state", ignore="OFF", nulls="error"), "t").whole()


def test_limits_apply_to_runs() -> None:
    table = pa.table({"t": range(9), "state": [*"AAAAA", *"BB", *"AA"]})

    def extents(**limits: Any) -> list[tuple[int, int]]:
        frames = Case(table, wr.Change("state", **limits), "t").whole()
        return list(zip(frames["start"].to_pylist(), frames["end"].to_pylist(), strict=True))

    assert extents(min_count=3) == [(0, 4)]
    assert extents(max_count=3) == [(0, 2), (3, 4), (5, 6), (7, 8)]
    assert extents(max_duration=3, min_duration=1) == [(0, 3), (5, 6), (7, 8)]
    assert extents(min_duration=2, extent="half-open") == [(0, 4), (5, 6)]


def test_labels_are_the_same_in_every_process_because_saved_states_contain_them() -> None:
    label = LabelColumn("s")
    words = ["b", "", None, 15 * "x", 16 * "x"]
    text = label.read(encode(pa.array(words), pa.string()), pa.string())
    digest = hashlib.blake2b(16 * b"x", digest_size=15).digest()
    assert text.numbers[[0, 1, 3, 4]].tobytes() == b"".join(
        [b"b" + 14 * b"\0" + b"\x01", 16 * b"\0", 15 * b"x" + b"\x0f", digest + b"\xff"]
    )
    assert text.valid.tolist() == [True, True, False, True, True]
    decimals = encode(pa.array([Decimal("1.5"), Decimal("-0.1")], pa.decimal128(9, 1)), pa.decimal128(9, 1))
    assert label.read(decimals, pa.decimal128(9, 1)).numbers.tolist() == [[15, 0], [-1, -1]]


UTC = datetime.UTC
NOON = datetime.datetime(2024, 3, 1, 12)


@pytest.mark.parametrize(
    ("value", "kind", "result"),
    [
        ("OFF", pa.string(), "OFF"),
        (b"OFF", pa.string(), None),
        (0, pa.string(), None),
        (True, pa.int32(), None),
        (1, pa.bool_(), None),
        (1.0, pa.int8(), 1),
        (np.int64(1), pa.int8(), 1),
        (1.5, pa.int8(), None),
        (300, pa.int8(), None),
        (math.inf, pa.int8(), None),
        (0.1, pa.float32(), float(np.float32(0.1))),
        (0.1, pa.decimal128(9, 1), Decimal("0.1")),
        (Decimal("0.15"), pa.decimal128(9, 1), None),
        (10**30, pa.decimal128(9, 1), None),
        (NOON, pa.timestamp("us"), NOON),
        (NOON, pa.timestamp("us", "UTC"), None),
        (NOON.replace(tzinfo=UTC), pa.timestamp("us", "UTC"), NOON.replace(tzinfo=UTC)),
        (NOON, pa.date32(), None),
        (NOON.date(), pa.date32(), NOON.date()),
        (NOON.date(), pa.timestamp("us"), None),
        (Written("0"), pa.int8(), 0),
        (Written("0"), pa.string(), "0"),
        (Written("off"), pa.int8(), None),
        (Written("False"), pa.bool_(), False),
        (Written("no"), pa.bool_(), None),
        (Written("0.1"), pa.decimal128(9, 1), Decimal("0.1")),
        (Written("a"), pa.binary(), b"a"),
        (Written("2024-03-01"), pa.date32(), NOON.date()),
        (Written("2024-03-01 12:00"), pa.timestamp("us"), NOON),
        (Written("soon"), pa.timestamp("us"), None),
    ],
)
def test_a_value_suits_a_column_of_its_own_type(value: Any, kind: pa.DataType, result: Any) -> None:
    assert converted(value, kind) == result
    assert type(converted(value, kind)) is type(result)


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.int8()), pa.struct([("a", pa.int8())]), pa.map_(pa.int8(), pa.int8()), pa.null()], ids=str
)
def test_types_without_plain_equality_are_refused(kind: pa.DataType) -> None:
    with pytest.raises(TypeMismatchError, match=r"Change: column 's' is of type .*; it must be a number, a timestamp"):
        check_labels({"label0": LabelColumn("s")}, {"s": kind}, "Change")


def test_an_ignored_value_must_suit_one_of_the_columns() -> None:
    types = {"state": pa.string(), "gear": pa.int32()}
    labels = wr.Change(["state", "gear"], ignore=["OFF", 0]).label_columns
    check_labels(labels, types, "Change")
    with pytest.raises(
        SpecError, match=r"ignore: expected values of any of the columns 'state' of type string, 'gear'"
    ):
        check_labels(wr.Change(["state", "gear"], ignore=[0.5]).label_columns, types, "Change")
    with pytest.raises(
        SpecError, match=r"column 'at' of type timestamp\[us, tz=UTC\]; got .* expected a time zone in it"
    ):
        check_labels({"label0": LabelColumn("at", (NOON,))}, {"at": pa.timestamp("us", "UTC")}, "Change")
    with pytest.raises(SpecError, match="ignore: expected values of column 'state' of type string; got 0"):
        check_labels(wr.Change("state", ignore=0).label_columns, types, "Change")
