"""Kernels are compiled once on a machine: a second process finds them on disk."""

from __future__ import annotations

import json
import subprocess
import sys

SCRIPT = """
import json, sys
import numpy as np, pyarrow as pa
from numba.core.registry import CPUDispatcher
import windrow as wr
from windrow.aggregates import BUILTIN
from windrow.aggregates.engine.accumulator import Accumulator
from windrow.arrays import Values
from windrow.rows.clock import Clock
from windrow.framing.framer import Framer
from windrow.rows.groups import Directory
from windrow.rows.query import RowBatch
from windrow.framing.schemes import SCHEMES
from windrow.testing import example_aggregate
from windrow.windows.gather import Gatherer
from windrow.windows.query import WindowOptions, WindowQuery
from windrow.windows.slider import Slider
from windrow.rows.roles import Roles

def column(numbers):
    return Values(np.array(numbers), np.empty(0, np.bool_))

EXAMPLES = [
    *(scheme for kind in SCHEMES if kind is not wr.Custom for scheme in kind.examples()),
    wr.Threshold("hit", close="stop", segments=True),
    *(wr.Aggregate(example_aggregate(kind), ">", 3) for kind in (wr.sum, wr.covariance, wr.rank)),
]
for scheme in EXAMPLES:
    types = {name: pa.float64() for name in scheme.attributes}
    types |= {label.column: pa.int64() for label in scheme.label_columns.values()}
    framer = Framer(scheme, Clock.of(pa.timestamp("us"), "on"), types, [])
    inputs = {name: column([1.0, 5.0, 2.0]) for name in scheme.attributes}
    inputs |= {name: column([name == "hit", False, name != "hit"]) for name in scheme.predicates}
    inputs |= {name: column([[1], [1], [2]]) for name in scheme.label_columns}
    framer.process(RowBatch(np.zeros(3, np.int64), np.arange(3), inputs, []))
    framer.finish()
for kind in BUILTIN:
    accumulator = Accumulator(example_aggregate(kind), *[pa.float64()] * kind.reads)
    states = accumulator.empty(2)
    columns = [pa.array([1.0, None, 2.0])] * kind.reads
    accumulator.accumulate(states, np.array([[0], [0], [1]]), accumulator.read(*columns))
    accumulator.merge(states, np.zeros(2, np.int64), np.array([1]))
    accumulator.finish(states)
for window in (wr.Sliding(10, every=5), wr.Rows(2), wr.Landmark(5)):
    types = {"on": pa.int64(), "x": pa.float64()}
    options = WindowOptions({"w": window}, named=False)
    slide = WindowQuery(options, Roles("on", (), (), {"s": wr.sum("x"), "v": wr.variance("x")}, types))
    slider = Slider(slide, Directory([]))
    rows = RowBatch(np.zeros(3, np.int64), np.arange(3), {}, [column([1.0, 5.0, 2.0])] * 2)
    slider.add(*Gatherer(slide).gather(rows))
    list(slider.report(np.array([2]), final=True))
counts = {"hits": {}, "misses": {}}
modules = [vars(module).values() for name, module in list(sys.modules.items()) if name.startswith("windrow.")]
for kernel in {id(value): value for values in modules for value in values if isinstance(value, CPUDispatcher)}.values():
    for what, found in (("hits", kernel.stats.cache_hits), ("misses", kernel.stats.cache_misses)):
        counts[what][kernel.__name__] = counts[what].get(kernel.__name__, 0) + sum(found.values())
print(json.dumps(counts))
"""

KERNELS = {"_maximal": 5, "_minimal": 4, "_accumulate": 24, "_merge": 20, "_finish": 23, "_finish_lists": 5,
           "_append": 1, "_append_parts": 1, "_combine": 4, "_count": 1, "_find": 1, "_pairs": 1, "_segments": 1,
           "_width_cells": 1, "needed_from": 1}  # fmt: skip
"""The kernels that the script runs, and how many kinds of arguments each meets."""


def run() -> dict[str, dict[str, int]]:
    done = subprocess.run([sys.executable, "-c", SCRIPT], check=True, capture_output=True, text=True, timeout=500)
    return json.loads(done.stdout)


def test_a_second_process_compiles_no_kernel_again() -> None:
    run()
    counts = run()
    assert {name: n for name, n in counts["misses"].items() if n} == {}
    assert {name: counts["hits"].get(name, 0) for name in KERNELS} == KERNELS
