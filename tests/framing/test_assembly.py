"""Fragments are put together whatever order they come in and however often; what is missing is never made up."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from fragment_tables import SCHEMA, framings, pieces_of, rows_of, table_of, whole
from windrow.errors import SourceError
from windrow.framing.assembly import KIND, Assembly, put_together
from windrow.rows.buffers.waiting import MemoryShelf
from windrow.state.arrow import save_tables


@given(framings(), st.data())
def test_repeated_and_shuffled_fragments_give_each_frame_once(frames: list[list[dict]], data: st.DataObject) -> None:
    pieces = [piece for frame in frames for piece in frame]
    repeats = data.draw(st.lists(st.sampled_from(pieces)))
    result, rest = put_together(table_of(data.draw(st.permutations(pieces + repeats))), ["g"])
    assert rows_of(result) == whole(frames)
    assert rest.num_rows == 0


@given(framings(), st.data())
def test_a_frame_that_lacks_a_fragment_is_left_out(frames: list[list[dict]], data: st.DataObject) -> None:
    lacking = data.draw(st.sampled_from(frames))
    lost = data.draw(st.sampled_from(lacking))
    pieces = [piece for frame in frames for piece in frame if piece is not lost]
    result, rest = put_together(table_of(pieces), ["g"])
    assert rows_of(result) == whole([frame for frame in frames if frame is not lacking])
    assert rest.num_rows == len(lacking) - 1


@given(framings(), st.data())
def test_a_stream_returns_each_frame_once_when_its_last_missing_fragment_comes(
    frames: list[list[dict]], data: st.DataObject
) -> None:
    pieces = [piece for frame in frames for piece in frame]
    repeats = data.draw(st.lists(st.sampled_from(pieces)))
    arriving = data.draw(st.permutations(pieces + repeats))
    shelf = MemoryShelf()
    assembly, result, seen = Assembly(["g"], SCHEMA, shelf), [], []
    while arriving:
        n = data.draw(st.integers(1, len(arriving)))
        seen += arriving[:n]
        result.append(assembly.step([table_of(arriving[:n])]))
        arriving = arriving[n:]
        assembly = Assembly.load(assembly.save(), ["g"], SCHEMA, shelf)
        there = [frame for frame in frames if all(piece in seen for piece in frame)]
        assert rows_of(pa.concat_tables(result)) == whole(there)


def test_groups_that_are_mixed_up_are_refused() -> None:
    pieces = pieces_of("a", 0, 0, [2, 4]) + pieces_of("b", 0, 0, [2])
    with pytest.raises(
        wr.DataError, match=r"fragment 0 of frame 0 occurs with closed_at=None and with .*by= \(now \[\]\)"
    ):
        put_together(table_of(pieces), [])


def test_a_fragment_past_the_last_one_is_refused() -> None:
    pieces = pieces_of("a", 0, 0, [2, 4])
    pieces.append({**pieces[-1], "fragment": 2})
    with pytest.raises(wr.DataError, match="fragment 1 of frame 0 of group g='a' is marked as the last"):
        put_together(table_of(pieces), ["g"])


def test_a_number_that_is_used_again_is_refused_not_taken_for_a_repeat() -> None:
    assembly = Assembly(["g"], SCHEMA, MemoryShelf())
    assert assembly.step([table_of(pieces_of("a", 0, 0, [2]))]).num_rows == 1
    with pytest.raises(wr.DataError, match="its number has been used again"):
        assembly.step([table_of(pieces_of("a", 0, 100, [2]))])


def test_a_stream_without_groups_is_assembled_too() -> None:
    shelf = MemoryShelf()
    assembly = Assembly([], SCHEMA, shelf)
    first, second = pieces_of("a", 0, 0, [2, 4])
    assert assembly.step([table_of([second])]).num_rows == 0
    assembly = Assembly.load(assembly.save(), [], SCHEMA, shelf)
    assert assembly.step([table_of([first])])["count"].to_pylist() == [6]
    assembly = Assembly.load(assembly.save(), [], SCHEMA, shelf)
    assert assembly.step([table_of([first, second])]).num_rows == 0, "repeats"


def test_a_batch_writes_the_groups_that_it_has_fragments_of() -> None:
    written = []
    for groups in (500, 5_000):
        shelf = MemoryShelf()
        assembly = Assembly(["g"], SCHEMA, shelf)
        assembly.step([table_of([piece for g in range(groups) for piece in pieces_of(f"g{g}", 0, 0, [2])])])
        state, before = assembly.save(), set(shelf)
        for number in (1, 2, 3):
            assembly = Assembly.load(state, ["g"], SCHEMA, shelf)
            assert assembly.step([table_of(pieces_of("g7", number, 9 * number, [2, 1]))]).num_rows == 1
            state = assembly.save()
        written.append(len(state) + sum(len(shelf[piece]) for piece in set(shelf) - before))
        assert assembly.store.live == groups
    assert written[1] < 1.5 * written[0]


def test_a_state_of_an_older_version_is_refused_by_its_version() -> None:
    about = {"windrow": '{"version": 2, "plan": {"by": ["g"]}}'}
    state = save_tables(KIND, [pa.table({}).replace_schema_metadata(about), pa.table({}), table_of([])])
    with pytest.raises(SourceError, match="of version 2, written by an older Windrow"):
        Assembly.load(state, ["g"], SCHEMA, MemoryShelf())


def test_columns_of_fragments_may_have_any_name() -> None:
    shelf, names = (
        MemoryShelf(),
        ["group" if name == "g" else "below" if name == "total" else name for name in SCHEMA.names],
    )
    schema = table_of([]).rename_columns(names).schema
    assembly = Assembly(["group"], schema, shelf)
    first, second = (table_of([piece]).rename_columns(names) for piece in pieces_of("a", 0, 0, [2, 4]))
    assert assembly.step([second]).num_rows == 0
    assembly = Assembly.load(assembly.save(), ["group"], schema, shelf)
    assert assembly.step([first])["group"].to_pylist() == ["a"]
