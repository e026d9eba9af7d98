"""Quantiles that may be off by a share of all values: the state is a summary, whatever the batches and merges were."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import fill_streams as filling
import windows_by_definition as sliding
import windrow as wr
from windrow.aggregates.engine.accumulator import Accumulator
from windrow.aggregates.engine.states import States
from windrow.arrays import ALL_VALID, Values
from windrow.errors import DataError, SpecError
from windrow.filling.filler import Filler
from windrow.filling.sweep import Summary, SweepBatch
from windrow.framing.parallel.in_process import Case
from windrow.rows.buffers.waiting import MemoryShelf
from windrow.windows import Tumbling
from windrow.windows.stream import StreamSlider

N = 60_000
KINDS = [pa.float64(), pa.int64()]


def drawn(kind: pa.DataType, seed: int) -> Any:
    """Values with ties, in an order that is neither random nor sorted; NaN among floats."""
    rng = np.random.default_rng(seed)
    x = np.where(rng.random(N) < 0.3, np.arange(N) % 7, np.sort(rng.normal(0, 1e6, N)))
    if pa.types.is_integer(kind):
        return x.astype(np.int64)
    x[::997] = np.nan
    return x


def rank_error(found: float, q: float, x: Any) -> float:
    ordered = np.sort(x)
    wanted = max(1, int(np.ceil(q * x.size)))
    first, last = np.searchsorted(ordered, found, "left") + 1, np.searchsorted(ordered, found, "right")
    assert first <= last, "an answer must be one of the values"
    return float(max(0, first - wanted, wanted - last) / x.size)


def accumulated(accumulator: Accumulator, x: Any, parts: int, seed: int) -> States:
    """States that batches of any size were added to, now and then saved and read again."""
    rng, states, at = np.random.default_rng(seed), accumulator.empty(parts), 0
    while at < x.size:
        batch = x[at : at + int(rng.integers(1, 9_000))]
        slots = rng.integers(0, parts, (batch.size, 1)) if rng.random() < 0.5 else np.full((batch.size, 1), at % parts)
        accumulator.accumulate(states, slots, Values(batch, ALL_VALID))
        at += batch.size
        if rng.random() < 0.3:
            states = accumulator.empty(0).read("", pa.table(states.columns("")))
    return states


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("eps", [0.1, 0.01, 0.001])
def test_a_summary_is_small_and_its_ranks_are_within_eps(kind: pa.DataType, eps: float) -> None:
    x = drawn(kind, 1)
    for seed, q in enumerate((0.0, 0.25, 0.5, 0.99, 1.0)):
        accumulator = Accumulator(wr.quantile("x", q, eps=eps), kind)
        states = accumulated(accumulator, x, 5, seed)
        accumulator.merge(states, np.zeros(5, np.int64), np.arange(1, 5))
        found = accumulator.finish(states)[0].as_py()
        assert states.seen[0] == N
        assert rank_error(found, q, x) <= eps
        assert states.runs is not None
        assert states.runs.lengths.max() <= 30 / eps


def test_few_values_are_exact_in_spite_of_eps() -> None:
    x = np.random.default_rng(3).permutation(199).tolist()
    assert wr.quantile("x", 0.37, eps=0.01).compute(x) == wr.quantile("x", 0.37).compute(x)
    assert wr.median("x", eps=0.01).compute(x) == wr.median("x").compute(x)


def one_long_frame(agg: dict[str, Any], n: int = 30_000) -> Case:
    x = np.random.default_rng(5).normal(size=n)
    table = pa.table({"t": np.arange(n), "g": ["m4"] * n, "x": x, "up": np.ones(n, np.int64)})
    return Case(table, wr.Threshold("up > 0"), on="t", by=("g",), agg=agg)


def test_plans_agree_on_a_quantile_within_eps() -> None:
    case = one_long_frame({"q": wr.quantile("x", 0.9, eps=0.01), "m": wr.median("x", eps=0.05)})
    x = case.table.column("x").to_numpy()
    runs = [
        case.whole(),
        case.whole(batch=777),
        case.chunks(upto=[4_000, 4_100, 20_000], batch=1_000),
        case.ranges(pa.table({"g": ["m4"] * 2, "t": [9_000, 15_000]})),
    ]
    for frames in runs:
        assert frames.num_rows == 1
        assert rank_error(frames.column("q")[0].as_py(), 0.9, x) <= 0.01
        assert rank_error(frames.column("m")[0].as_py(), 0.5, x) <= 0.05


@pytest.mark.parametrize("name", ["median", "mode", "count_distinct", "top_k", "heavy_hitters"])
def test_more_values_than_a_frame_may_keep_are_refused(name: str) -> None:
    options = {"top_k": [3], "heavy_hitters": [0.1]}.get(name, [])
    aggregate = getattr(wr, name)("x", *options, max_values=1_000)
    said = r"max_values=1000\): a frame or window has more than 1,000 distinct values of column 'x'.*"
    said += r"max_values= .*group 'm4' that starts at 0"
    for run in (lambda case: case.whole(), lambda case: case.whole(batch=500)):
        with pytest.raises(DataError, match=said) as raised:
            run(one_long_frame({"v": aggregate}, 1_001))
        assert ("eps=" in str(raised.value)) == (name == "median")
        assert run(one_long_frame({"v": aggregate}, 1_000)).num_rows == 1


def test_a_summary_has_no_limit() -> None:
    assert one_long_frame({"v": wr.median("x", eps=0.05, max_values=100)}).whole(batch=1_000).num_rows == 1


def test_values_that_come_again_do_not_count_towards_the_limit() -> None:
    accumulator = Accumulator(wr.mode("x", max_values=10), pa.int64())
    states = accumulator.empty(1)
    for _ in range(5):
        accumulator.accumulate(states, np.zeros((1_000, 1), np.int64), Values(np.arange(1_000) % 10, ALL_VALID))
    assert accumulator.finish(states).to_pylist() == [0]


@pytest.mark.parametrize("most", [0, -1, 1.5, True])
def test_a_limit_is_an_integer(most: Any) -> None:
    with pytest.raises(SpecError, match="max_values: expected an integer from 1"):
        wr.mode("x", max_values=most)


def slide_over(groups: list[int], most: int, batches: int) -> None:
    """A median over windows of these groups, as a stream gathers them in so many batches."""
    slide = sliding.slide_of([Tumbling(1_000)], {"m": wr.median("v", max_values=most)})
    bucket = StreamSlider(sliding.plan_of(slide), MemoryShelf())
    rows = [sliding.Row(g, t, t) for t in range(100) for g in groups]
    size = -(-len(rows) // batches)
    for at in range(0, len(rows), size):
        bucket.step([sliding.table_of(rows[at : at + size])], None)
    bucket.step([], 5_000)
    bucket.finish()


@pytest.mark.parametrize("batches", [1, 7])
def test_the_group_of_a_window_with_too_many_values_is_named(batches: int) -> None:
    slide_over([3], 100, batches)
    with pytest.raises(DataError, match=r"more than 50 distinct values of column 'v'.* It is a window of group 3"):
        slide_over([3], 50, batches)


def test_a_filled_frame_with_too_many_values_is_named() -> None:
    plan = filling.plan_for(filling.Story({}, [], [], []), {"m": wr.median("v", max_values=50)})
    rows = filling.rows_table([filling.Row("b", t, t, t, 0) for t in range(100)])
    filler = Filler(plan, MemoryShelf())
    with pytest.raises(DataError, match=r"more than 50 .* It is the frame of group 'b' that starts at 2$"):
        filler.step([rows], [filling.pieces_table([filling.Piece("b", 0, 2, 99, 0, True, 0)])], 200, None)


def test_a_frame_of_a_table_with_too_many_values_is_named() -> None:
    accumulator = Accumulator(wr.median("v", max_values=50), pa.int64())
    summary = Summary([accumulator], np.dtype(np.int64), ["g"], "start")
    opens = np.zeros(101, np.bool_)
    opens[0] = True
    rows = SweepBatch(np.zeros(101, np.int64), np.arange(-1, 100), opens, np.array([99]))
    frames, values = pa.table({"g": ["b"], "start": [0]}), Values(np.arange(101), ALL_VALID)
    with pytest.raises(DataError, match=r"more than 50 .* It is the frame of group 'b' that starts at 0$"):
        summary.add(rows, frames, [values])
