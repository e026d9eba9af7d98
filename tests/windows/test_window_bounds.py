"""Windows at the ends of every type: their bounds are exact or refused, and there is a limit to how many there are."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.errors import DataError, SpecError
from windrow.rows.buffers.waiting import MemoryShelf
from windrow.rows.clock import LARGEST, Clock
from windrow.rows.ordering import read_in_order
from windrow.rows.query import Layout, Reader
from windrow.rows.roles import Roles
from windrow.windows.changes import Changes
from windrow.windows.gather import Gatherer, pane_numbers
from windrow.windows.query import WindowOptions, WindowQuery
from windrow.windows.slider import Slider
from windrow.windows.stream import SlidePlan, StreamSlider


def query_for(kind: pa.DataType, window: wr.Window, **options: Any) -> tuple[WindowQuery, Layout]:
    kinds = WindowOptions({"w": window}, named=False, **options)
    return WindowQuery(kinds, Roles("t", (), (), {"n": wr.count()}, {"t": kind})), Layout("t", (), {}, {}, (None,))


def windows(on: list[Any], kind: pa.DataType, window: wr.Window, **options: Any) -> list[tuple[Any, ...]]:
    slide, layout = query_for(kind, window, **options)
    reader = Reader(slide, layout)
    slider = Slider(slide, reader.directory)
    gatherer = Gatherer(slide, slider.synopsis_windows)
    storage = pa.int32() if pa.types.is_date32(kind) else pa.int64() if pa.types.is_timestamp(kind) else kind
    table = pa.table({"t": pa.array(on, storage).cast(kind)})
    slider.add(*gatherer.gather(read_in_order(reader, table)))
    found = pa.concat_tables(slider.report(gatherer.past(slider.latest()), final=True))
    bounds = [found[name].cast(storage).to_pylist() for name in ("start", "end")]
    return list(zip(*bounds, found["n"].to_pylist(), strict=True))


@pytest.mark.parametrize(
    ("kind", "on", "window", "bound"),
    [
        (pa.int8(), 20, wr.Sliding(168, every=24), "144"),
        (pa.int8(), -120, wr.Tumbling(100), "-200"),
        (pa.int16(), 600, wr.Tumbling(40_000), "40000"),
        (pa.int32(), 2**31 - 1, wr.Tumbling(10), str(2**31 + 2)),
        (pa.int32(), -(2**31), wr.Sliding(10, every=10), "-2147483650"),
        (pa.date32(), 2**31 - 1, wr.Tumbling("10 days"), "2147483650 days"),
        (pa.float32(), 2.0**24 + 2, wr.Tumbling(3), "16777221.*cast it to double"),
        (pa.int64(), 2**63 - 1, wr.Tumbling(10), "64 bits|9223372036854775810"),
        (pa.int64(), -(2**63), wr.Sliding(10, every=1), "64 bits"),
        (pa.int64(), 2**63 - 1, wr.Sliding(10, every=1), "64 bits"),
        (pa.timestamp("us", "UTC"), 2**63 - 1, wr.Tumbling("1 hour"), "microseconds"),
        (pa.timestamp("us"), -(2**63), wr.Tumbling("1 hour"), "microseconds"),
        (pa.float64(), 1e300, wr.Tumbling(10), "1e.300"),
        (pa.float64(), math.inf, wr.Tumbling(10), "inf"),
        (pa.float64(), 9.2e18, wr.Tumbling(10**18), "10000000000000000000"),
    ],
    ids=str,
)
def test_a_bound_that_the_type_cannot_hold_is_refused(
    kind: pa.DataType, on: Any, window: wr.Window, bound: str
) -> None:
    with pytest.raises(DataError, match=rf"on: .*({bound})"):
        windows([0, on], kind, window)


@pytest.mark.parametrize(
    ("kind", "on", "expected"),
    [
        (pa.int8(), [-128, 119], [(-128, -120, 1), (112, 120, 1)]),
        (pa.int16(), [-(2**15), 2**15 - 9], [(-(2**15), -(2**15) + 8, 1), (2**15 - 16, 2**15 - 8, 1)]),
        (pa.int64(), [-(2**60), 2**60], [(-(2**60), -(2**60) + 8, 1), (2**60, 2**60 + 8, 1)]),
        (pa.float64(), [-(2.0**60), 2.0**60], [(-(2.0**60), -(2.0**60) + 1024, 1), (2.0**60, 2.0**60 + 1024, 1)]),
    ],
    ids=str,
)
def test_a_bound_that_the_type_can_hold_is_exact(kind: pa.DataType, on: list[Any], expected: list[Any]) -> None:
    assert windows(on, kind, wr.Tumbling(1024 if pa.types.is_floating(kind) else 8)) == expected


def test_the_bounds_of_dates_reach_past_the_year_9999() -> None:
    assert windows([-719162, 2932896], pa.date32(), wr.Tumbling("10 days")) == [
        (-719170, -719160, 1),
        (2932890, 2932900, 1),
    ]


def test_a_float_lies_in_the_window_that_it_is_put_into() -> None:
    rng = np.random.default_rng(5)
    for pane in (3, 7, 10, 49, 1_000_003):
        edges = pane * rng.integers(-(10**12), 10**12, 2_000).astype(float)
        on = np.concatenate([edges, np.nextafter(edges, -math.inf), np.nextafter(edges, math.inf)])
        number = pane_numbers(on, pane)
        assert ((number * pane <= on) & (on < (number + 1) * pane)).all()


def test_windows_that_never_end_are_refused() -> None:
    clock = Clock.of(pa.timestamp("us"), "t")
    with pytest.raises(
        SpecError, match=r"every='1 microsecond' .*'1000 days' .*86,400,000,000,000 .*at most 10,000,000"
    ):
        wr.Sliding("1000 days", every="1 microsecond").shape(clock)
    with pytest.raises(SpecError, match="emit='1 microsecond'"):
        wr.Tumbling("1000 days", emit="1 microsecond").shape(clock)
    for window in (wr.Sliding(2**70, 5), wr.Tumbling(2**63), wr.Landmark(2**64)):
        with pytest.raises(SpecError, match=r"at most 2\*\*63 - 1"):
            window.shape(Clock.of(pa.int64(), "t"))
    for make in (wr.Rows, wr.DistinctTimes):
        with pytest.raises(SpecError, match=r"2\*\*62"):
            make(2**70)
    assert wr.Sliding(10_000_000, 1).shape(Clock.of(pa.int64(), "t")).length == 10_000_000


def test_windows_that_fill_the_memory_are_refused(tune: Callable[..., object]) -> None:
    tune(most_windows=1_000)
    for window, options in ((wr.Landmark(1), {}), (wr.Tumbling(1), {"empty": True})):
        with pytest.raises(DataError, match="more than 1,000"):
            windows([0, 10_000], pa.int64(), window, **options)
    assert len(windows([0, 900], pa.int64(), wr.Landmark(1))) == 901


def test_lists_with_nan_are_not_reported_again() -> None:
    nan, other = [math.nan, 1.0], [1.0, math.nan]
    kind = pa.list_(pa.float64())
    changes = Changes()
    found = changes.update(np.zeros(5, np.int64), [pa.array([nan, nan, other, None, None], kind)])
    assert found.to_pylist() == [True, False, True, True, False]
    counted = pa.list_(pa.struct([("value", pa.float64()), ("count", pa.int64())]))
    items = [[{"value": math.nan, "count": n}] for n in (1, 1, 2)]
    assert Changes().update(np.zeros(3, np.int64), [pa.array(items, counted)]).to_pylist() == [True, False, True]


def test_a_window_is_complete_by_the_same_rule_when_a_stream_is_flushed() -> None:
    kind = pa.timestamp("us", "UTC")
    slide, layout = query_for(kind, wr.Tumbling("10 seconds"))
    stream = StreamSlider(SlidePlan(slide, layout), MemoryShelf())
    on = pa.array([5_000_000, 15_000_000]).cast(kind)
    rows, _ = stream.step([pa.table({"t": on})], -45_000_000)
    assert not rows
    flushed = pa.concat_tables(stream.finish())
    assert flushed["complete"].to_pylist() == [True, False]
    watermarked = StreamSlider(SlidePlan(slide, layout), MemoryShelf())
    watermarked.step([pa.table({"t": on})], None)
    rows, _ = watermarked.step([], 20_000_000)
    assert pa.concat_tables(rows)["complete"].to_pylist() == [True, True]


def test_the_largest_number_is_a_bound_of_no_window() -> None:
    with pytest.raises(DataError, match="64 bits"):
        windows([LARGEST], pa.int64(), wr.Tumbling(1))
