"""Saved states: each identifies its kind, none that is damaged is read, and older ones still are."""

from __future__ import annotations

from collections.abc import Iterator
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
from windrow.frames.store import KIND as GROUPS
from windrow.frames.stream import Snapshot, StreamFramer
from windrow.saved import kind_of, seal, unseal
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


def test_a_bucket_from_before_headers_is_refused_by_its_version() -> None:
    framing = plan_for(wr.Threshold("hit"))
    windows = sliding.plan_of(sliding.slide_of([Tumbling(10)], {"n": wr.count(), "median": wr.median("v")}))
    filled = filling.plan_for(filling.Story({}, [], [], []), {"n": wr.count()})
    for kind, load in (
        ("frames", lambda data: StreamFramer.load(framing, Dictionary(), data)),
        ("frames", Snapshot),
        ("slide", lambda data: StreamSlider.load(windows, Dictionary(), data)),
        ("fill", lambda data: Filler.load(filled, Dictionary(), data)),
    ):
        with pytest.raises(SourceError, match="a state of version 1, written by an older Windrow"):
            load(bare_state(kind))


def test_a_synopsis_from_before_headers_is_refused_by_its_version() -> None:
    with pytest.raises(SourceError, match="a state of TwoStacks of version 1, written by an older Windrow"):
        TwoStacks(wr.sum("x"), Retention(3)).load(bare_state("TwoStacks"))


def test_tables_from_before_headers_are_read() -> None:
    assert saved_tables(bare_state("assemble"), "assemble")[0]["count"].to_pylist() == [4]


def spoiled(tables: list[pa.Table], *, first: bool) -> Iterator[list[pa.Table]]:
    """The tables with one column each that says something impossible."""
    for i, table in enumerate(tables):
        for column in ("group", "open.0", "status"):
            if column in table.column_names and len(table) and not (column == "group" and i == 0 and first):
                at = table.schema.get_field_index(column)
                wrong = pa.array(np.full(len(table), 99)).cast(table.schema.field(at).type)
                yield [*tables[:i], table.set_column(at, column, wrong), *tables[i + 1 :]]


@pytest.mark.parametrize("name", ["filling", "tagging"])
def test_a_state_that_does_not_hold_together_is_refused_though_its_checksum_is_right(name: str) -> None:
    saved = state(name)
    wrong = [*spoiled(saved_tables(saved.data, saved.kind), first=True)]
    assert wrong
    for tables in wrong:
        with pytest.raises(SourceError, match="the saved state is damaged: expected"):
            saved.load(save_tables(saved.kind, tables))


@pytest.mark.parametrize("name", [name for name in OPERATORS if name.startswith(("frames", "windows"))])
def test_entries_of_groups_that_do_not_hold_together_are_refused(name: str) -> None:
    saved = ALL[name]()
    (number,) = (number for number in saved.shelf if number < 0)
    before = saved.shelf[number]
    wrong = [*spoiled(saved_tables(before, GROUPS), first=False)]
    assert wrong
    for tables in wrong:
        saved.shelf[number] = save_tables(GROUPS, tables)
        with pytest.raises(SourceError, match="the saved state is damaged: expected"):
            saved.use(saved.load(saved.data))
    rng = np.random.default_rng(5)
    for _ in range(100):
        saved.shelf[number] = changed(before, rng)
        if saved.shelf[number] != before:
            with pytest.raises(SourceError, match="the saved state is damaged"):
                saved.use(saved.load(saved.data))


CURSORS = ("Recomputation", "ExpirationList", "Panes", "TwoStacks", "DABA", "GreenwaldKhanna")


@pytest.mark.parametrize("name", [name for name in SYNOPSES if name.split()[0] in CURSORS])
def test_the_cursors_of_a_synopsis_must_be_places_in_it(name: str) -> None:
    saved = state(name)
    reader = pa.ipc.open_stream(unseal(saved.data, saved.kind))
    batch, at = reader.read_next_batch(), reader.schema.get_field_index("cursors")
    cursors = batch.column("cursors").values.to_numpy()
    # Those of a list behind the first two are counts.
    for i in range(2 if name.split()[0] in ("Recomputation", "ExpirationList") else min(3, cursors.size)):
        for wrong in (-1, 1 << 40, 1 << 62):
            other = cursors.copy()
            other[i] = wrong
            column = pa.LargeListArray.from_arrays(pa.array([0, other.size], pa.int64()), pa.array(other))
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, reader.schema) as writer:
                writer.write_batch(batch.set_column(at, reader.schema.field(at), column))
            with pytest.raises(SourceError, match="the saved state is damaged: expected"):
                saved.load(seal(saved.kind, sink.getvalue()))
