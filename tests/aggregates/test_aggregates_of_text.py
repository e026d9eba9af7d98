"""Aggregates of text, binary values, decimals and Booleans, wherever their states go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from frame_streams import KINDS, _reads, arrivals, table_of
from ordered_values import DEFINED, POOLS, WORDS, aggregates_of, results_of
from streams import FEWER, samples
from windows_by_definition import KINDS as KINDS_OF_WINDOWS
from windows_by_definition import Row, by_definition, ordered, plan_of, rows_in, slide_of, stories
from windows_by_definition import table_of as words_table
from windrow.aggregates.engine.accumulator import Accumulator
from windrow.aggregates.engine.codes import joined_values, union
from windrow.errors import SourceError, TypeMismatchError, UnsupportedError
from windrow.filling.filler import Filler
from windrow.filling.plan import FillPlan
from windrow.filling.sweep import Summary, SweepBatch
from windrow.framing.assembly import put_together
from windrow.framing.parallel.heads import HeadFramer
from windrow.framing.parallel.seams import Seams
from windrow.framing.query import FrameQuery
from windrow.framing.state import pack_frames, pack_state
from windrow.framing.stream import StreamFramer, StreamPlan
from windrow.rows.buffers.waiting import MemoryShelf
from windrow.rows.clock import Clock
from windrow.rows.query import Layout, Reader
from windrow.rows.roles import Roles
from windrow.windows.ranges import combined
from windrow.windows.specs import Shape
from windrow.windows.stream import StreamSlider
from windrow.windows.synopsis_spec import Keep

each_definition = pytest.mark.parametrize(("make", "defined"), DEFINED, ids=lambda each: getattr(each, "__name__", ""))
each_type = pytest.mark.parametrize("pool", POOLS.values(), ids=POOLS)
Make = Callable[[str], wr.AggregateFunction]
Defined = Callable[[list[Any]], Any]


@each_definition
@each_type
@FEWER
@given(data=st.data())
def test_the_result_is_that_of_plain_python(
    make: Make, defined: Defined, pool: tuple[pa.DataType, list[Any]], data: st.DataObject
) -> None:
    kind, choices = pool
    values = data.draw(st.lists(st.none() | st.sampled_from(choices), max_size=12))
    result = make("v").compute(pa.array(values, kind))
    assert result == defined([value for value in values if value is not None])


@given(values=st.lists(st.text(max_size=5), min_size=1))
def test_any_text_is_in_the_order_of_its_bytes(values: list[str]) -> None:
    assert wr.min("v").compute(values) == min(values, key=str.encode)
    assert wr.max("v").compute(values) == max(values, key=str.encode)
    assert wr.count_distinct("v").compute(values) == len(set(values))


@pytest.mark.parametrize("text", [True, False], ids=["text", "binary"])
@given(first=st.sets(st.text(max_size=4)), second=st.sets(st.text(max_size=4)), skipped=st.integers(0, 3))
def test_the_union_of_dictionaries(text: bool, first: set[str], second: set[str], skipped: int) -> None:
    kind = pa.large_string() if text else pa.large_binary()
    ordered_a, ordered_b = (sorted(value.encode() for value in values) for values in (first, second))
    a, b = (pa.array(values, pa.large_binary()).cast(kind) for values in (ordered_a, ordered_b))
    both, of_a, of_b = union(a.slice(skipped), b)
    expected = sorted({*ordered_a[skipped:], *ordered_b})
    assert both.cast(pa.large_binary()).to_pylist() == expected
    assert [expected[i] for i in of_a] == ordered_a[skipped:]
    assert [expected[i] for i in of_b] == ordered_b


WORDS_OR_NULLS = st.lists(st.none() | st.sampled_from(WORDS), max_size=6)


@given(first=WORDS_OR_NULLS, second=WORDS_OR_NULLS, chance=st.randoms(use_true_random=False))
def test_values_of_two_batches_are_joined(first: list[Any], second: list[Any], chance: Any) -> None:
    keep = np.array([chance.random() < 0.5 for _ in first], np.bool_)
    accumulator = Accumulator(wr.last("v"), pa.string())
    mine, theirs = (accumulator.read(pa.array(words, pa.string())) for words in (first, second))
    both = joined_values(accumulator.no_values(), joined_values(mine.at(keep), theirs))
    expected = [*(word for word, keeps in zip(first, keep, strict=True) if keeps), *second]
    assert both.dictionary is not None
    # The code of nulls may keep one value that does not occur.
    assert len(both.dictionary) <= len({word for word in expected if word is not None}) + 1
    missing = ~both.valid if both.valid.size else None
    assert both.dictionary.take(pa.array(both.numbers, mask=missing)).to_pylist() == expected


class Model:
    """States of frames next to lists of the values that they must have seen."""

    def __init__(self, make: Make, defined: Defined, kind: pa.DataType, frames: int) -> None:
        self.accumulator, self.defined, self.kind = Accumulator(make("v"), kind), defined, kind
        self.states, self.lists = self.accumulator.empty(frames), [[] for _ in range(frames)]

    def add(self, rows: Sequence[tuple[int, Any]]) -> None:
        slots = np.array([[slot % len(self.lists)] for slot, _ in rows], np.int64).reshape(-1, 1)
        values = pa.array([value for _, value in rows], self.kind)
        self.accumulator.accumulate(self.states, slots, self.accumulator.read(values))
        for slot, (_, value) in zip(slots[:, 0], rows, strict=True):
            self.lists[slot] += [] if value is None else [value]

    def save(self, rows: Sequence[tuple[int, Any]]) -> None:
        self.states = self.accumulator.empty(0).read("s.", pa.table(self.states.columns("s.")))

    def turn(self, rows: Sequence[tuple[int, Any]]) -> None:
        order = np.arange(len(self.lists))[::-1]
        self.states, self.lists = self.states.keep(order), self.lists[::-1]

    def merge_first_into_last(self, rows: Sequence[tuple[int, Any]]) -> None:
        last = len(self.lists) - 1
        self.accumulator.merge(self.states, np.full(len(self.lists), last), np.array([0]))
        self.lists[last] = self.lists[last] + self.lists[0]
        self.states, self.lists = self.states.keep(np.arange(1, len(self.lists))), self.lists[1:]

    def join(self, rows: Sequence[tuple[int, Any]]) -> None:
        other = self.of(rows)
        self.states, self.lists = self.states.joined(other.states), self.lists + other.lists
        other.check()

    def put(self, rows: Sequence[tuple[int, Any]]) -> None:
        other = self.of(rows)
        self.states.put(np.array([0]), other.states.take(np.array([1])))
        self.lists[0] = list(other.lists[1])
        other.check()

    def of(self, rows: Sequence[tuple[int, Any]]) -> Model:
        other = Model(lambda column: self.accumulator.aggregate, self.defined, self.kind, 2)
        other.add(rows)
        return other

    def check(self) -> None:
        assert self.accumulator.finish(self.states).to_pylist() == [self.defined(values) for values in self.lists]
        assert len(self.states) == len(self.lists)


@each_definition
@pytest.mark.parametrize("pool", [POOLS["text"], POOLS["decimal"]], ids=["text", "decimal"])
@FEWER
@given(data=st.data())
def test_states_that_are_changed_moved_and_saved(
    make: Make, defined: Defined, pool: tuple[pa.DataType, list[Any]], data: st.DataObject
) -> None:
    kind, choices = pool
    rows = st.lists(st.tuples(st.integers(0, 5), st.none() | st.sampled_from(choices)), max_size=6)
    model = Model(make, defined, kind, 3)
    for _ in range(data.draw(st.integers(1, 8))):
        step = data.draw(st.sampled_from(["add", "add", "save", "turn", "merge_first_into_last", "join", "put"]))
        if step == "merge_first_into_last" and len(model.lists) < 2:
            step = "join"
        getattr(model, step)(data.draw(rows))
        model.check()


def test_a_dictionary_keeps_only_the_values_that_states_refer_to() -> None:
    for aggregate, most in ((wr.last("v"), 1), (wr.max("v"), 1), (wr.mode("v"), 4)):
        accumulator = Accumulator(aggregate, pa.string())
        states = accumulator.empty(1)
        for i in range(50):
            slots = np.array([[0], [-1], [-1]])
            words = [f"{i % 4}", f"outside {i}", f"elsewhere {i}"]
            accumulator.accumulate(states, slots, accumulator.read(pa.array(words)))
            assert states.coding is not None
            assert len(states.coding.dictionary) <= most + 3


def test_a_saved_state_holds_values_and_not_codes() -> None:
    accumulator = Accumulator(wr.first("v"), pa.string())
    states = accumulator.empty(2)
    accumulator.accumulate(states, np.zeros((2, 1), np.int64), accumulator.read(pa.array(["b", "a"])))
    assert states.columns("")["numbers1"].to_pylist() == ["b", None]
    accumulator = Accumulator(wr.mode("v"), pa.string())
    states = accumulator.empty(2)
    accumulator.accumulate(states, np.zeros((3, 1), np.int64), accumulator.read(pa.array(["b", "a", "b"])))
    assert states.columns("")["values"].to_pylist() == [["a", "b"], []]
    assert states.columns("")["counts"].to_pylist() == [[1, 2], []]


@pytest.mark.parametrize("aggregate", [wr.max("v"), wr.mode("v")], ids=repr)
def test_a_saved_state_without_its_values_is_refused(aggregate: wr.AggregateFunction) -> None:
    accumulator = Accumulator(aggregate, pa.string())
    states = accumulator.empty(1)
    accumulator.accumulate(states, np.zeros((1, 1), np.int64), accumulator.read(pa.array(["b"])))
    saved = states.columns("")
    name = "values" if "values" in saved else "numbers0"
    saved[name] = pa.array([[None]] if name == "values" else [None], saved[name].type)
    with pytest.raises(SourceError):
        accumulator.empty(0).read("", pa.table(saved))


def test_states_of_decimals_that_were_saved_as_floats_are_read() -> None:
    accumulator = Accumulator(wr.max("v"), pa.decimal128(9, 2))
    saved = {"seen": pa.array([2, 0]), "numbers0": pa.array([1.25, -np.inf])}
    states = accumulator.empty(0).read("", pa.table(saved))
    assert [str(value) for value in accumulator.finish(states).to_pylist()] == ["1.25", "None"]


@each_definition
@given(panes=st.lists(st.lists(st.none() | st.sampled_from(WORDS), max_size=4), min_size=1, max_size=8), data=st.data())
def test_windows_of_panes(make: Make, defined: Defined, panes: list[list[Any]], data: st.DataObject) -> None:
    model = Model(make, defined, pa.string(), len(panes))
    model.add([(i, value) for i, pane in enumerate(panes) for value in pane])
    length = data.draw(st.integers(1, len(panes)))
    first = np.arange(len(panes) - length + 1)
    results = model.accumulator.finish(combined(model.accumulator, model.states, first, first + length))
    expected = [[value for pane in model.lists[i : i + length] for value in pane] for i in first]
    assert results.to_pylist() == [defined(values) for values in expected]


# Frames.

AGG = aggregates_of("word") | aggregates_of("money")
MEMBERS = {"rows": wr.max_n("position", 99)}
TYPES_OF_MORE = {"word": pa.string(), "money": pa.decimal128(38, 2)}
RUNS = [wr.Threshold("hit"), wr.Boundary({"x": 2.0}), wr.Gap(2)]


def with_words(table: pa.Table) -> pa.Table:
    """Return the table with a column of text and one of decimals in place of its integers."""
    for name, pool in (("word", POOLS["text"]), ("money", POOLS["decimal"])):
        kind, choices = pool
        values = [None if v is None else choices[v % len(choices)] for v in table["v"].to_pylist()]
        table = table.append_column(name, pa.array(values, kind))
    return table


def request_for(scheme: wr.Scheme) -> tuple[FrameQuery, Layout]:
    request = FrameQuery(scheme, Roles("on", ("g",), ("position",), AGG | MEMBERS, KINDS | TYPES_OF_MORE))
    predicates = {name: _reads(name) for name in scheme.predicates}
    attributes = {name: name for name in scheme.attributes}
    return request, Layout("on", ("g",), predicates, attributes, tuple(request.values), ("position",))


def check_frames(parts: Sequence[pa.Table], table: pa.Table) -> None:
    at = {(row["g"], row["position"]): row for row in table.to_pylist()}
    for row in (row for part in parts for row in part.to_pylist()):
        members = [at[row["g"], position] for position in sorted(row["rows"])]
        for column in TYPES_OF_MORE:
            expected = results_of(column, [member[column] for member in members])
            assert {name: row[name] for name in expected} == expected


@pytest.mark.parametrize("kind", [wr.Threshold, wr.Delta, wr.DoubleBoundary], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("fragments", [False, True], ids=["whole", "in fragments"])
@FEWER
@given(data=st.data())
def test_a_stream_that_is_saved_at_every_step(kind: type[wr.Scheme], fragments: bool, data: st.DataObject) -> None:
    scheme, table, batches, marks = data.draw(arrivals(kind))
    table = with_words(table)
    plan = StreamPlan(*request_for(scheme), fragments=fragments)
    shelf, state, parts = MemoryShelf(), None, []
    for rows, mark in zip(batches, marks, strict=True):
        bucket = StreamFramer.load(plan, shelf, state)
        parts += bucket.step([table.take(pa.array(rows, pa.int64()))], mark)[0]
        state = bucket.save()
    parts += StreamFramer.load(plan, shelf, state).finish()
    if fragments:
        parts = [part for part in parts if part.num_rows]
        parts = list(put_together(pa.concat_tables(parts), ["g"])) if parts else []
    check_frames(parts, table)


@pytest.mark.parametrize("scheme", RUNS, ids=lambda scheme: type(scheme).__name__)
@FEWER
@given(data=st.data())
def test_chunks_that_are_joined_at_their_seams(scheme: wr.Scheme, data: st.DataObject) -> None:
    groups = data.draw(st.lists(samples(scheme, missing=False, more=["v"]), min_size=1, max_size=3))
    table = with_words(table_of(groups)).sort_by([("on", "ascending"), ("g", "ascending"), ("position", "ascending")])
    cuts = sorted(data.draw(st.lists(st.integers(0, len(table)), max_size=3)))
    request, layout = request_for(scheme)
    seams, parts = Seams(request), []
    for begin, end in zip([0, *cuts], [*cuts, len(table)], strict=True):
        chunk = table.slice(begin, end - begin)
        reader, framer = Reader(request, layout), request.framer(HeadFramer)
        assert isinstance(framer, HeadFramer)
        frames = [pack_frames(framer.process(reader.read(chunk.slice(i, 3)))) for i in range(0, len(chunk), 3)]
        groups_here = np.arange(len(reader.directory))
        framer.grow(groups_here.size)
        keys = {f"by{i}": key for i, key in enumerate(reader.directory.keys())}
        state = [
            pa.table({"group": groups_here, **keys}),
            *pack_state(framer.export(groups_here)),
            framer.heads(groups_here),
        ]
        parts += seams.join(frames, state, lambda keys: pytest.fail("runs need no replay"))
    parts.append(seams.finish())
    check_frames(parts, table)


@FEWER
@given(
    frames=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 6)), min_size=1, max_size=6),
    rows=st.lists(st.tuples(st.integers(0, 20), st.none() | st.sampled_from(WORDS)), max_size=25),
    cuts=st.lists(st.integers(0, 30), max_size=3),
)
def test_a_fill_in_batches(frames: list[tuple[int, int]], rows: list[tuple[int, Any]], cuts: list[int]) -> None:
    agg = aggregates_of("word")
    accumulators = [Accumulator(aggregate, pa.string()) for aggregate in agg.values()]
    spans = [(start, start + length) for start, length in frames]
    rows = sorted(rows, key=lambda row: row[0])
    events = sorted(
        [(start, 0, i) for i, (start, _) in enumerate(spans)] + [(on, 1, i) for i, (on, _) in enumerate(rows)]
    )
    summary, parts = Summary(accumulators, np.dtype(np.int64), [], None), []
    bounds = [0, *sorted(min(cut, len(events)) for cut in cuts), len(events)]
    for begin, end in pairwise(bounds):
        some = events[begin:end]
        opened = [i for _, kind, i in some if kind == 0]
        words = pa.array([rows[i][1] if kind else None for _, kind, i in some], pa.string())
        batch = SweepBatch(
            np.zeros(len(some), np.int64),
            np.array([on for on, _, _ in some], np.int64),
            np.array([kind == 0 for _, kind, _ in some], np.bool_),
            np.array([spans[i][1] for i in opened], np.int64),
        )
        values = [accumulator.read(words) for accumulator in accumulators]
        parts.append(summary.add(batch, pa.table({"i": pa.array(opened, pa.int64())}), values))
    parts.append(summary.finish())
    filled = {row["i"]: row for part in parts if part is not None for row in part.to_pylist()}
    assert sorted(filled) == list(range(len(spans)))
    for i, (start, end) in enumerate(spans):
        expected = results_of("word", [word for on, word in rows if start <= on <= end])
        assert [filled[i][f"aggregate{j}"] for j in range(len(agg))] == list(expected.values())


@FEWER
@given(
    frames=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9)), max_size=6),
    rows=st.lists(st.tuples(st.integers(0, 24), st.none() | st.sampled_from(WORDS)), max_size=14),
    data=st.data(),
)
def test_a_fill_of_a_stream_that_is_saved_at_every_step(
    frames: list[tuple[int, int]], rows: list[tuple[int, Any]], data: st.DataObject
) -> None:
    agg = aggregates_of("word")
    types = {"word": pa.string(), "position": pa.int64()}
    accumulators = tuple(Accumulator.of(aggregate, types) for aggregate in agg.values())
    plan = FillPlan(
        Clock.of(pa.int64(), "on"), (pa.string(),), accumulators, ("word",) * len(agg), ("position",), (),
        ("c0", "c1"), {}, {"agg": repr(agg)},
    )  # fmt: skip
    batch_of_frame, batch_of_row = (data.draw(st.lists(st.integers(0, 2), min_size=len(each), max_size=len(each)))
                                    for each in (frames, rows))  # fmt: skip
    shelf, state, parts = MemoryShelf(), None, []
    for batch in range(3):
        filler = Filler.load(plan, shelf, state)
        mine = [(i, *row) for i, row in enumerate(rows) if batch_of_row[i] == batch]
        position, on, word = ([row[at] for row in mine] for at in range(3))
        kinds = {"by0": pa.string(), "on": pa.int64(), **types}
        arrived = pa.table(dict(zip(kinds, (["g"] * len(mine), on, word, position), strict=True)), pa.schema(kinds))
        opened = [(i, start, start + length) for i, (start, length) in enumerate(frames) if batch_of_frame[i] == batch]
        number, start, end = (pa.array([frame[at] for frame in opened], pa.int64()) for at in range(3))
        pieces = pa.table(
            {
                "by0": pa.array(["g"] * len(opened), pa.string()), "number": number, "start": start, "end": end,
                "fragment": pa.array([0] * len(opened), pa.int64()),
                "final": pa.array([True] * len(opened), pa.bool_()), "c0": start, "c1": end,
            }
        )  # fmt: skip
        later = [row[0] for i, row in enumerate(rows) if batch_of_row[i] > batch]
        later += [frame[0] for i, frame in enumerate(frames) if batch_of_frame[i] > batch]
        parts += filler.step([arrived], [pieces], min(later, default=99) - 1)
        state = filler.save()
    parts += Filler.load(plan, shelf, state).finish()
    filled = [list(row.values()) for part in parts for row in part.to_pylist()]
    assert sorted(row[:2] for row in filled) == sorted([start, start + length] for start, length in frames)
    in_order = sorted(range(len(rows)), key=lambda i: (rows[i][0], i))
    for start, end, *results in filled:
        inside = [rows[i][1] for i in in_order if start <= rows[i][0] <= end]
        assert results == list(results_of("word", inside).values())


ASCENDING = sorted([*WORDS, "c"], key=str.encode)
"""Text in place of the integers from -5 to 5."""


def in_words(rows: Sequence[Row]) -> list[Any]:
    return [row if row.v is None else row._replace(v=ASCENDING[row.v + 5]) for row in rows]


@FEWER
@given(stories(), KINDS_OF_WINDOWS, st.booleans())
def test_windows_of_a_stream_that_is_saved_at_every_step(story: Any, windows: list[Any], commute: bool) -> None:
    rows, batches, marks = story
    agg = {name: each for name, each in aggregates_of("v").items() if not (commute and each.order_sensitive)}
    plan = plan_of(slide_of(windows, agg, value=pa.string()))
    shelf, state, parts = MemoryShelf(), None, []
    for batch, mark in zip(batches, marks, strict=True):
        bucket = StreamSlider.load(plan, shelf, state)
        parts += bucket.step([words_table(in_words(batch), pa.string())], mark)[0]
        state = bucket.save()
    parts += StreamSlider.load(plan, shelf, state).finish()
    until = -100 if marks[-1] is None else marks[-1] + 1
    expected = []
    for window in by_definition(in_words(rows), windows, until):
        results = results_of("v", window.values)
        expected.append((window.g, window.kind, window.start, window.end, window.complete, *map(results.get, agg)))
    assert rows_in(parts) == ordered(expected)


# What is refused.


def test_a_type_without_an_order_is_refused() -> None:
    with pytest.raises(TypeMismatchError, match="must be a number, a timestamp, a date, text, a binary value or a Boo"):
        Accumulator(wr.min("v"), pa.list_(pa.string()))


def test_text_cannot_be_added_up() -> None:
    with pytest.raises(TypeMismatchError, match=r"column 'v' is of type string; it must be a number$"):
        Accumulator(wr.sum("v"), pa.string())


def test_functions_of_ones_own_do_not_receive_codes() -> None:
    class Longest(wr.max):
        @staticmethod
        def add(s: tuple[float], x: float) -> tuple[float]:
            return (s[0] + x,)

    with pytest.raises(TypeMismatchError, match="column 'v' is of type string"):
        Accumulator(Longest("v"), pa.string())


def test_a_synopsis_stores_numbers_only() -> None:
    shape = Shape("rows", 10, 1)
    with pytest.raises(UnsupportedError, match="using: a synopsis stores numbers, but column 'v' is of type string"):
        Keep("TwoStacks").make(Accumulator(wr.max("v"), pa.string()), shape)
