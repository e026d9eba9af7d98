"""The cost model by its symbols: the thesis' examples and propositions, and the terms that models are fitted to."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

import windrow as wr
from windrow.aggregates import BUILTIN
from windrow.errors import SpecError
from windrow.planner.asymptotics import Bounds, bounds, bounds_of, grows
from windrow.planner.workload import AGGREGATES, WHOLE, Workload, approaches
from windrow.synopses import (
    SYNOPSES,
    ArasuMankuFixed,
    ExpirationList,
    ExponentialHistogram,
    GreenwaldKhanna,
    Ordered,
    Panes,
    Recomputation,
    TwoStacks,
    VarianceHistogram,
)
from windrow.synopses.costs import TERMS, Complexity, symbols
from windrow.testing import example_aggregate

R, S, B = sympy.symbols("R S B", positive=True)


def test_example_3_2_5_a_running_sum_beats_recomputation() -> None:
    instantaneous, incremental = R, (S * 3 + 1).subs(S, 1)
    relation = grows(incremental, instantaneous, R)
    assert relation.limit == 0
    assert relation.is_at_most
    assert not relation.is_same
    assert grows(instantaneous, incremental, R).is_at_least
    assert grows(R, R, R).is_same  # memory grows alike


def test_example_8_1_1_quantiles() -> None:
    relation = grows(S * sympy.log(R) + R, R * sympy.log(R) + R, R)
    assert relation.limit == 0
    assert str(relation) == "O"


@pytest.mark.parametrize(
    ("bounded", "differential", "update", "query", "space"),
    [
        (True, True, 1 + 4 / B, 1, R / B + 1),  # 3.4.5, 3.4.7
        (True, False, 1 + 2 / B, R / B, R / B + 1),  # 3.4.8
        (False, True, 1 + 4 / B, 1, R),  # 3.4.6, 3.4.9
        (False, False, 2, R, R),  # 3.4.10
    ],
)
def test_propositions_3_4(bounded: bool, differential: bool, update: object, query: object, space: object) -> None:
    found = bounds(bounded=bounded, differential=differential)
    assert sympy.simplify(found.update - update) == 0
    assert sympy.simplify(found.query - query) == 0
    assert sympy.simplify(found.space - space) == 0
    assert grows(found.space, R, R).is_same
    assert grows(found.update, sympy.Integer(1), R).is_same
    assert found.tight == (bounded and differential)


def test_bounds_follow_from_what_an_aggregate_declares() -> None:
    def same(a: Bounds, b: Bounds) -> bool:
        return a == b

    assert same(bounds_of(wr.sum("x")), bounds(bounded=True, differential=True))
    assert same(bounds_of(wr.max("x")), bounds(bounded=True, differential=False))
    assert same(bounds_of(wr.median("x")), bounds(bounded=False, differential=False))


def test_limits_of_slide_and_batch() -> None:
    q = symbols()
    panes = Panes.costs(wr.sum("x"))
    at_one, at_all = (panes.time(q).subs(q.S, slide) for slide in (1, q.R))
    assert grows(at_one, q.R, q.R).limit == 0
    assert grows(at_all, q.R, q.R).is_same
    assert grows(panes.size(q).subs(q.P, q.R), sympy.Integer(1), q.R).is_same
    assert grows(panes.size(q).subs(q.P, 1), q.R, q.R).is_same


@pytest.mark.parametrize(
    ("kind", "aggregate", "time", "space"),
    [
        (Recomputation, wr.variance("x"), "Θ", "Θ"),
        (ExpirationList, wr.sum("x"), "O", "Θ"),
        (TwoStacks, wr.variance("x"), "O", "Θ"),
        (Ordered, wr.median("x"), "O", "Θ"),
        (VarianceHistogram, wr.variance("x"), "O", "O"),
        (ExponentialHistogram, wr.sum("x"), "O", "O"),
        (ArasuMankuFixed, wr.median("x"), "O", "O"),
    ],
)
def test_table_8_1_beside_a_window_of_all_elements(kind: type, aggregate: object, time: str, space: str) -> None:
    q = symbols()
    costs = kind.costs(aggregate)
    assert str(grows(costs.time(q).subs(q.S, 1), q.R, q.R)) == time
    assert str(grows(costs.size(q), q.R, q.R)) == space


def test_every_synopsis_of_windows_declares_its_costs() -> None:
    assert {kind for kind in SYNOPSES if not kind.retentions} == {GreenwaldKhanna}
    assert GreenwaldKhanna.costs(wr.median("x")) is None
    for kind in approaches():
        for aggregate in AGGREGATES.values():
            assert isinstance(kind.costs(aggregate), Complexity)


def test_costs_of_unknown_terms_are_refused() -> None:
    with pytest.raises(SpecError, match=r"costs: unknown term 'R²'; available: one, R, S, "):
        Complexity(("one",), ("R²",), ("one",))


def test_terms_are_numbers_above_nothing_for_all_that_can_be_asked() -> None:
    for retention, slide, eps, delta in ((1, 1, 0.0, 0.0), (100, 7, 0.1, 0.01), (2_000_000, 2_000_000, 0.01, 1e-6)):
        q = Workload(wr.median("x"), retention, slide, eps, delta).quantities
        values = np.array([float(term(q)) for term in TERMS.values()])
        assert np.isfinite(values).all()
        assert (values >= 0).all()


@pytest.mark.parametrize("kind", BUILTIN, ids=lambda kind: kind.__name__)
def test_every_aggregate_that_a_synopsis_keeps_is_among_those_measured(kind: type[wr.AggregateFunction]) -> None:
    """So that a new aggregate, or a new synopsis, is not forgotten."""
    work = Workload(example_aggregate(kind), 100, 10, 0.1, 0.1, data=WHOLE)
    kept = any(work.why_not(synopsis) is None for synopsis in approaches())
    assert kept == (kind in {type(aggregate) for aggregate in AGGREGATES.values()})
