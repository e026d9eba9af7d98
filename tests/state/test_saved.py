"""Saved states: each identifies its kind, none that is damaged is read, and older ones still are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import decoded_states
import fill_streams as filling
import saved_states
import windows_by_definition as sliding
import windrow as wr
from bare_states import bare_state
from decoded_states import decoded
from frame_streams import plan_for
from saved_states import Saved
from windrow.errors import SourceError
from windrow.filling.filler import Filler
from windrow.framing.snapshot import Snapshot
from windrow.framing.stream import StreamFramer
from windrow.rows.buffers.waiting import MemoryShelf
from windrow.rows.group_store import KIND as GROUPS
from windrow.state.arrow import save_tables, saved_tables
from windrow.state.header import kind_of, seal, unseal
from windrow.synopses import Retention, TwoStacks
from windrow.synopses.saved import pack_arrays
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


def test_a_waiting_piece_must_be_the_one_that_was_put_there(tune: Callable[..., object]) -> None:
    tune(rows_per_piece=4)
    shelf = MemoryShelf()
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
        ("frames", lambda data: StreamFramer.load(framing, MemoryShelf(), data)),
        ("frames", Snapshot),
        ("slide", lambda data: StreamSlider.load(windows, MemoryShelf(), data)),
        ("fill", lambda data: Filler.load(filled, MemoryShelf(), data)),
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


def test_a_synopsis_with_wrong_arrays_is_refused_or_harmless() -> None:
    """Neither a crash nor a loop without end, whatever the arrays say under a checksum that is right."""
    script = Path(decoded_states.__file__)
    paths = {"PYTHONPATH": os.pathsep.join(sys.path)}
    trial = subprocess.run(
        [sys.executable, script, "1", "20"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=os.environ | paths,
    )
    last = trial.stdout.splitlines()[-1:]
    assert trial.returncode == 0, f"exit code {trial.returncode} after {last}:\n{trial.stderr}"
    outcomes = json.loads(last[0])
    assert outcomes.keys() > SYNOPSES.keys()
    assert all({"used", "refused"} <= found.keys() for found in outcomes.values()), outcomes


EVERY = slice(None)
WRONG = {
    "FiBA count": [
        ("cursors", 0, 41),
        ("levels", 0, 9),
        ("kids", EVERY, 99),
        ("free_leaves", EVERY, 9),
        ("leaf_span", EVERY, 33),
    ],
    "ChainSample count": [("kept.head", 0, 4), ("kept.held", 0, 9), ("kept.heap", 0, -1), ("kept.due", 0, 1)],
    "PrioritySample time": [("kept.head", 0, 16), ("kept.held", 0, 17), ("filled", 0, 0), ("counts.first", 0, 99)],
    "BoundedPrioritySample count": [("kept.heap", 0, 5000), ("kept.older", EVERY, 5000), ("kept.rank", EVERY, 5000)],
    "BernoulliSample count": [("kept.cursors", 0, 64), ("kept.cursors", 1, 65), ("filled", 0, 2)],
    "BiasedReservoir count": [("kept.cursors", 0, 5000), ("kept.cursors", 1, 5000), ("kept.newer", EVERY, 0)],
    "PaneReservoirs count": [("kept.cursors", 0, 10), ("kept.cursors", 1, 11), ("kept.elements", EVERY, -1)],
    "ExponentialHistogram count": [("counts.first", 0, -1), ("counts.runs", 0, 99), ("counts.cursors", 1, 8)],
    "VarianceHistogram count": [("cursors", 1, -1), ("cursors", 2, 9999), ("cursors", 3, 9999)],
    "ArasuMankuFixed count": [("cursors", 2, 48), ("shelves", 3, 7), ("places", EVERY, 99), ("making", 1, 99)],
    "ArasuMankuVariable time": [("cursors", 0, 2**61), ("shelves", 1, 99), ("making", 5, 99), ("places", EVERY, 9)],
    "GreenwaldKhanna": [("cursors", 0, 99), ("g", 0, -1), ("delta", 0, -1)],
    "KLLPanes count": [("sketches", 18, 200), ("sketches", 20, 255), ("n", 0, 7), ("sizes", 0, 9)],
}
"""Arrays of synopses, places in them, and numbers that cannot be there."""


@pytest.mark.parametrize("name", WRONG)
def test_links_and_counts_out_of_range_are_refused_by_a_synopsis(name: str) -> None:
    saved = state(name)
    about, arrays = decoded(saved.data, saved.kind)
    for array, at, number in WRONG[name]:
        other = arrays[array].copy()
        other.reshape(-1)[at] = number
        assert (other != arrays[array]).any()
        data = pack_arrays(about["kind"], about["version"], about["arguments"], {**arrays, array: other})
        with pytest.raises(SourceError, match="the saved state is damaged: expected"):
            saved.load(data)
