"""`Custom`: the outcomes of `close`, several open frames, records of frames, labels, and the types of fields."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from frame_streams import plan_for
from fuzz.rules import RULES
from streams import FEWER, INTEGER, TYPES, batch_of, framed, samples, traffic
from windrow.errors import DataError, SpecError
from windrow.framing.framer import Framer
from windrow.framing.parallel.in_process import Case
from windrow.framing.snapshot import Snapshot
from windrow.framing.state import pack_state
from windrow.framing.stream import StreamFramer
from windrow.rows.buffers.waiting import MemoryShelf


def case(scheme: wr.Scheme, x: list[float], **options: Any) -> Case:
    """A query over one group with a row per instant."""
    return Case(pa.table({"t": list(range(len(x))), "x": pa.array(x, pa.float64())}), scheme, on="t", **options)


# The rules under test. `x` often is a number of rows, or what `close` shall return.


def opens_above(t, s):
    return t.x > 0


def opens_with_code(t, s, f):
    f.code = int(t.x)
    return t.x > 0


def closes_by_code(t, s, f):
    """0 ends the frames that opened with an even number, which are discarded; -1 those with an odd one."""
    if t.x == 0:
        return 2 if f.code % 2 == 0 else 0
    if t.x < 0:
        return 1 if f.code % 2 == 1 else 0
    return 0


CODES = {"open": opens_with_code, "close": closes_by_code, "labels": {"code": 0}}


def rows_of(frames: pa.Table, *names: str) -> list[tuple[Any, ...]]:
    """Frames in the order of their numbers, which must be 0, 1, …"""
    rows = frames.sort_by("frame").to_pylist()
    assert [row["frame"] for row in rows] == list(range(len(rows)))
    return [tuple(row[name] for name in names) for row in rows]


# The paper's operator.


def opens_run(t, s, f):
    f.began = f.latest = t.on
    return t.x > 0


def updates_run(t, s, f):
    f.rows += 1
    f.latest = t.on
    return True


def closes_run(t, s, f):
    if t.x > 0:
        return 0
    return 1 if f.rows >= 2 and f.latest - f.began >= 3 else 2


@FEWER
@given(data=st.data())
def test_the_papers_threshold_operator_with_duration_gives_threshold_frames(data: st.DataObject) -> None:
    threshold = wr.Threshold("hit", min_count=2, min_duration=3)
    operator = wr.Custom(
        ["x"], open=opens_run, update=updates_run, close=closes_run, record={"rows": 1, "began": 0, "latest": 0}
    )
    drawn = data.draw(samples(operator, max_size=30, missing=False))
    # The last row is below the threshold: whether it qualifies is not known of a frame that the end of the data cuts.
    last = drawn.on[-1] + 1 if drawn.on else 0
    x = [*drawn.columns["x"], 0.0]
    sample = traffic([*drawn.on, last], x=x, hit=[value > 0 for value in x])
    assert framed(operator, INTEGER, sample) == framed(threshold, INTEGER, sample)


# What `close` returns.


def test_discarded_frames_get_no_number() -> None:
    frames = case(wr.Custom(["x"], **CODES), [1, -1, 2, 0, 3, -1, 4]).whole()
    assert rows_of(frames, "code", "start", "closed_at", "complete") == [
        (1, 0, 1, True), (3, 4, 5, True), (4, 6, None, False),
    ]  # fmt: skip


def test_an_outcome_without_a_meaning_is_refused() -> None:
    scheme = wr.Custom(["x"], open=opens_above, close=lambda t, s: 3)
    with pytest.raises(DataError, match=r"close: expected 0 \(stay open\), 1 \(report\) or 2 \(discard\), got another"):
        case(scheme, [1, 1]).whole()


@pytest.mark.parametrize("close", [lambda t, s: t.x, lambda t, s: None])
def test_a_close_that_returns_neither_booleans_nor_integers_is_refused_before_any_row(close: Any) -> None:
    scheme = wr.Custom(["x"], open=opens_above, close=close)
    with pytest.raises(
        SpecError, match=r"close: expected a function that returns a boolean, or 0 .* returns (float|no)"
    ):
        scheme.check(INTEGER, {"x": pa.float64()})


# Several open frames.


def test_overlapping_frames_are_numbered_in_the_order_in_which_they_open() -> None:
    scheme = wr.Custom(["x"], **CODES, open_frames=3)
    # 2 opens first and stays open while 1 and 3 are reported; a fourth frame, 5, finds no room.
    frames = case(scheme, [2, 1, 3, 5, -1, 7, -1], agg={"total": wr.sum("x")}).whole()
    assert rows_of(frames, "code", "start", "end", "closed_at", "total") == [
        (2, 0, 6, None, 16.0), (1, 1, 3, 4, 9.0), (3, 2, 3, 4, 8.0), (7, 5, 5, 6, 7.0),
    ]  # fmt: skip
    assert [row for (row,) in rows_of(case(scheme, [2, 1, 3, -1, 7, -1, 0]).whole(), "code")] == [1, 3, 7]


def code_framer() -> Framer:
    return Framer(wr.Custom(["x"], **CODES, open_frames=3), INTEGER, TYPES, [])


def process(framer: Framer, on: int, *x: float) -> list[tuple[int, int]]:
    """Frame further rows, and return the numbers and codes of the frames that are reported."""
    sample = traffic(range(on, on + len(x)), x=x)
    rows = batch_of(framer.scheme, INTEGER, [], [(0, sample, i) for i in range(len(x))])
    records = framer.process(rows).records
    return list(zip(records.number.tolist(), records.label[:, 0].tolist(), strict=True))


@pytest.mark.parametrize("outcome", ["discarded", "reported", "cut"])
def test_a_closed_frame_waits_until_those_that_opened_before_it_are_decided(outcome: str) -> None:
    framer = code_framer()
    first, (ends_first, ends_others) = (1, (-1, 0)) if outcome == "reported" else (2, (0, -1))
    assert process(framer, 0, first, first) == []
    if outcome == "reported":
        # Discarded frames do not wait, but leave no gap in the numbers.
        assert process(framer, 2, 4, ends_others) == []
        assert process(framer, 4, ends_first) == [(0, 1), (1, 1)]
        return
    assert process(framer, 2, 3, ends_others, 5, ends_others) == []
    if outcome == "discarded":
        assert process(framer, 6, ends_first) == [(0, 3), (1, 5)]
        return
    end = framer.finish()
    assert end.records.number.tolist() == [0, 1, 2, 3]
    assert end.records.label[:, 0].tolist() == [2, 2, 3, 5]
    # The end of the stream cuts the first two; rows closed the others.
    assert end.closed.tolist() == [False, False, True, True]
    assert end.records.closed[2:].tolist() == [3, 5]
    assert end.records.complete.tolist() == [False, False, True, True]


def test_frames_that_cannot_be_discarded_do_not_wait() -> None:
    scheme = wr.Custom(
        ["x"], open=opens_with_code, close=lambda t, s, f: t.x < -f.code, record={"code": 0}, open_frames=2
    )
    framer = Framer(scheme, INTEGER, TYPES, [])
    sample = traffic(range(3), x=[5, 1, -2])
    done = framer.process(batch_of(scheme, INTEGER, [], [(0, sample, i) for i in range(3)]))
    assert (done.records.number.tolist(), done.records.start.tolist()) == ([1], [1])
    assert framer.finish().records.number.tolist() == [0]


def closes_with_trace(t, s, f):
    s.trace = s.trace * 10 + 1
    return False


def updates_with_trace(t, s, f):
    s.trace = s.trace * 10 + 2
    return True


def opens_with_trace(t, s, f):
    s.trace = s.trace * 10 + 3
    f.trace_at_opening = s.trace
    return True


def test_all_frames_are_closed_before_any_is_updated_and_then_one_may_open() -> None:
    rules = {"open": opens_with_trace, "update": updates_with_trace, "close": closes_with_trace}
    scheme = wr.Custom(["x"], **rules, state={"trace": 0}, labels={"trace_at_opening": 0}, open_frames=3)
    frames = case(scheme, [0, 0, 0, 0]).whole()
    assert rows_of(frames, "trace_at_opening") == [(3,), (3123,), (312311223,)]


def test_a_frame_that_waits_is_not_among_the_open_frames_of_a_checkpoint() -> None:
    shelf = MemoryShelf()
    plan = plan_for(wr.Custom(["x"], **CODES, open_frames=3))
    bucket = StreamFramer(plan, shelf)
    table = pa.table({name: pa.array([], kind) for name, kind in plan.request.types.items()})
    rows = [{"g": "a", "on": on, "x": float(x)} for on, x in enumerate([2, 1, -1, 5])]
    assert bucket.step([pa.Table.from_pylist(rows, table.schema)], 3)[0] == []
    opened = Snapshot(bucket.save()).rows(shelf)
    assert opened["start"].to_pylist() == [0, 3]


# Fields.


def opens_counting(t, s, f):
    s.rows += 1
    s.even = not s.even
    f.number, f.even_number, f.half = s.rows, s.even, s.rows / 2
    return True


def closes_always(t, s):
    return True


def test_fields_have_the_types_of_their_starting_values() -> None:
    labels = {"number": 0, "even_number": False, "half": 0.0}
    scheme = wr.Custom(
        ["x"], open=opens_counting, close=closes_always, state={"rows": 2**53, "even": True}, labels=labels
    )
    frames = case(scheme, [0, 0, 0]).whole()
    assert frames.column_names[-4:] == ["complete", "number", "even_number", "half"]
    assert frames.schema.types[-3:] == [pa.int64(), pa.bool_(), pa.float64()]
    # A float could not count from 2**53 on.
    assert rows_of(frames, "number", "even_number") == [(2**53 + 1, False), (2**53 + 2, True), (2**53 + 3, False)]
    assert frames["half"].to_pylist() == [(2**53 + 1) / 2, (2**53 + 2) / 2, (2**53 + 3) / 2]


@pytest.mark.parametrize("start", [0, False])
@pytest.mark.parametrize("where", ["state", "record", "labels"])
def test_a_float_is_never_truncated_to_fit_a_field(where: str, start: int) -> None:
    def opens(t, s, f):
        s.high = t.x
        return True

    def opens_with_own(t, s, f):
        f.high = t.x
        return True

    rule = opens if where == "state" else opens_with_own
    scheme = wr.Custom(["x"], open=rule, close=closes_always, **{where: {"high": start}})
    with pytest.raises(
        SpecError, match=r"open: opens\w* assigns a float to field 'high', which starts with an integer"
    ):
        scheme.check(INTEGER, {"x": pa.float64()})
    wr.Custom(["x"], open=rule, close=closes_always, **{where: {"high": 0.0}}).bind(INTEGER, TYPES)


def test_a_function_may_be_compiled_already_and_may_have_defaults() -> None:
    from numba import njit

    def opens(t, s, limit=1.0):
        return t.x > limit

    scheme = wr.Custom(["x"], open=njit(opens), close=lambda t, s, limit=1.0: t.x <= limit)
    assert rows_of(case(scheme, [1, 2, 3, 1]).whole(), "start", "end") == [(1, 2)]


def opens_at_two(t, s):
    return t.x > 2


def test_a_function_may_come_from_the_cache_of_numba() -> None:
    from numba import njit

    for _ in range(2):
        scheme = wr.Custom(["x"], open=njit(cache=True)(opens_at_two), close=closes_always)
        scheme.bind(INTEGER, TYPES)


def test_a_float_is_not_truncated_by_a_function_that_is_called_either() -> None:
    from numba import njit

    @njit
    def note(f, x):
        f.high = x

    def opens(t, s, f):
        note(f, t.x)
        return True

    scheme = wr.Custom(["x"], open=opens, close=closes_always, record={"high": 0})
    with pytest.raises(SpecError, match="open: opens assigns a float to field 'high'"):
        scheme.check(INTEGER, {"x": pa.float64()})


# Saved states.


def test_states_of_float_fields_are_saved_as_in_version_0_1() -> None:
    framer = Framer(wr.Custom(["x"], **RULES["highs"]), INTEGER, TYPES, [])
    framer.process(batch_of(framer.scheme, INTEGER, [], [(0, traffic([7], x=[3.0]), 0)]))
    groups, records, *_ = pack_state(framer.export(np.arange(1)))
    assert [(field.name, str(field.type)) for field in groups.schema] == [
        ("next", "int64"), ("open.0", "int64"), ("memo.0", "double"), ("memo.1", "double"),
    ]  # fmt: skip
    assert groups.to_pylist() == [{"next": 0, "open.0": 0, "memo.0": 3.0, "memo.1": 7.0}]
    assert records.column_names == [
        "group", "number", "start", "end", "closed", "count", "status", "complete", "into",
    ]  # fmt: skip
    assert framer.scheme.fingerprint == (
        "Custom(('x',), open=opens_at_new_high, close=closes_at_half, update=updates_when_positive, "
        "state={'high': -2.0, 'opened': 0.0})"
    )


def opens_and_forgets(t, s):
    was_lost = s.level != s.level
    s.level = math.nan
    return was_lost


def test_a_state_that_has_become_nan_is_stored() -> None:
    plan = plan_for(wr.Custom(["x"], open=opens_and_forgets, close=closes_always, state={"level": 0.0}))
    bucket = StreamFramer(plan, MemoryShelf())
    schema = pa.schema(list(plan.request.types.items()))
    for on in (1, 2):
        bucket.step([pa.Table.from_pylist([{"g": "a", "on": on, "x": 0.0}], schema)], on)
        bucket = StreamFramer.load(plan, bucket.shelf, bucket.save())
    assert [row["start"] for table in bucket.finish() for row in table.to_pylist()] == [2]
