"""Saved states: each identifies its kind, none that is damaged is read, and older ones still are."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import saved_states
import test_filler as filling
import test_windows as sliding
import windrow as wr
from bare_states import bare_state
from saved_states import Saved
from test_stream import Dictionary, plan_for
from windrow.errors import SourceError
from windrow.frames import shelf as timed
from windrow.frames.fill_stream import Filler
from windrow.frames.packing import save_tables, saved_tables
from windrow.frames.stream import Snapshot, StreamFramer
from windrow.saved import kind_of, seal
from windrow.synopses import Retention, TwoStacks
from windrow.windows import Tumbling
from windrow.windows.stream import StreamSlider

OPERATORS, SYNOPSES = saved_states.operators(), saved_states.synopses()
ALL = OPERATORS | SYNOPSES
each_state = pytest.mark.parametrize("name", ALL)


@cache
def state(name: str) -> Saved:
    return ALL[name]()


def changed(data: bytes, rng: np.random.Generator) -> bytes:
    """The bytes with some of them flipped, lost, added or repeated."""
    at, how = int(rng.integers(len(data))), int(rng.integers(5))
    if how == 0:
        return data[:at]
    if how == 1:
        return data + rng.bytes(1 + at % 64)
    if how == 2:
        return data[:at] + data[at + 1 + at % 8 :]
    if how == 3:
        return data[:at] + rng.bytes(8) + data[at + 8 :]
    return data[:at] + bytes([data[at] ^ (1 << int(rng.integers(8)))]) + data[at + 1 :]


@each_state
def test_a_damaged_state_is_always_refused(name: str) -> None:
    saved, rng = state(name), np.random.default_rng(5)
    for _ in range(300):
        data = changed(saved.data, rng)
        if data != saved.data:
            with pytest.raises(SourceError, match="the saved state"):
                saved.load(data)


@each_state
def test_a_state_is_loaded_as_it_was_saved(name: str) -> None:
    saved = state(name)
    assert kind_of(saved.data) == saved.kind
    saved.use(saved.load(saved.data))


@each_state
def test_a_state_of_another_kind_is_refused_with_both_kinds(name: str) -> None:
    saved = state(name)
    for other in map(state, [*OPERATORS, "TwoStacks count", "Ordered count"]):
        if other.kind != saved.kind:
            with pytest.raises(SourceError, match=f"of kind '{other.kind}', expected '{saved.kind}'"):
                saved.load(other.data)


def test_a_state_with_a_newer_header_is_refused_by_its_version() -> None:
    data = bytearray(seal("frames", b"something"))
    data[8] += 1
    with pytest.raises(SourceError, match="a header of version 2, written by a newer Windrow"):
        kind_of(bytes(data))


def test_a_waiting_piece_must_be_the_one_that_was_put_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timed, "ROWS_A_PIECE", 4)
    shelf = Dictionary()
    bucket = StreamFramer(plan_for(wr.Threshold("hit")), shelf)
    bucket.step([saved_states.MORE], 0)
    shelf[0], shelf[1] = shelf[1], shelf[0]
    with pytest.raises(SourceError, match="expected piece 0 of the waiting rows"):
        bucket.step([], 60)


def test_the_state_of_frames_from_before_headers_is_continued() -> None:
    shelf = Dictionary({0: bare_state("rows")})
    assert Snapshot(bare_state("frames")).rows([]).num_rows == 2
    bucket = StreamFramer.load(plan_for(wr.Threshold("hit")), shelf, bare_state("frames"))
    found, _ = bucket.step([], 9)
    assert [(row["g"], row["start"], row["closed_at"]) for row in found[0].to_pylist()] == [("a", 5, 9)]
    assert kind_of(bucket.save()) == "frames"


def test_the_state_of_windows_from_before_headers_is_continued() -> None:
    plan = sliding.plan_of(sliding.slide_of([Tumbling(10)], {"n": wr.count(), "median": wr.median("v")}))
    found, _ = StreamSlider.load(plan, Dictionary(), bare_state("slide")).step([], 20)
    assert [(row["g"], row["start"], row["median"]) for row in found[0].to_pylist()] == [(1, 10, 5.0)]


def test_the_state_of_filling_from_before_headers_is_continued() -> None:
    plan = filling.plan_for(filling.Story({}, [], [], []), {"n": wr.count()})
    shelf = Dictionary({0: bare_state("fill rows")})
    found = Filler.load(plan, shelf, bare_state("fill")).finish([])
    assert [row["aggregate0"] for table in found for row in table.to_pylist()] == [1]


def test_other_states_from_before_headers_are_continued() -> None:
    assert saved_tables(bare_state("assemble"), "assemble")[0]["count"].to_pylist() == [4]
    kept = TwoStacks(wr.sum("x"), Retention(3))
    kept.load(bare_state("TwoStacks"))
    assert kept.query() == 2.0 + 3.0 + 4.0


def test_a_state_from_before_headers_of_another_query_is_refused() -> None:
    with pytest.raises(SourceError, match="the checkpoint was written with"):
        StreamFramer.load(plan_for(wr.Threshold("hit")), Dictionary(), bare_state("slide"))
    with pytest.raises(SourceError, match="the saved state is damaged"):
        StreamFramer.load(plan_for(wr.Threshold("hit")), Dictionary(), bare_state("assemble"))


@pytest.mark.parametrize("name", OPERATORS)
def test_a_state_that_does_not_hold_together_is_refused_though_its_checksum_is_right(name: str) -> None:
    saved = state(name)
    tables = saved_tables(saved.data, saved.kind)
    refused = 0
    for i, table in enumerate(tables):
        for column in ("group", "open.0", "status"):
            if column in table.column_names and len(table) and not (column == "group" and i == 0):
                at = table.schema.get_field_index(column)
                wrong = pa.array(np.full(len(table), 99)).cast(table.schema.field(at).type)
                others = [*tables[:i], table.set_column(at, column, wrong), *tables[i + 1 :]]
                with pytest.raises(SourceError, match="the saved state is damaged: expected"):
                    saved.load(save_tables(saved.kind, others))
                refused += 1
    assert refused or name in ("assembling", "waiting rows")
