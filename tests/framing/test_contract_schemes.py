"""The contract of a scheme, for each there is: batches, groups and handovers change nothing, and a spec is a value."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import FrozenInstanceError, fields
from itertools import chain

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import streams
import windrow as wr
from fuzz import rules
from fuzz.schemes import QUERIES, SPECIFICATIONS
from streams import FEWER, FLOAT, INTEGER, TYPES, Row, Sample, Span, Trail, batch_of, framed, rows_of, samples, traffic
from windrow.errors import TypeMismatchError
from windrow.framing.framer import Framer, Frames
from windrow.framing.schemes import SCHEMES
from windrow.framing.state import pack_state, unpack_state
from windrow.rows.clock import Clock
from windrow.rows.query import RowBatch
from windrow.state.arrow import pack, unpack

AGGREGATES = (wr.count(), wr.first("v"), wr.last("v"), wr.sum("v"), wr.variance("v"), Span("v"), Trail("v"))
each_scheme = pytest.mark.parametrize("kind", SCHEMES, ids=lambda kind: kind.__name__)


def test_every_scheme_has_specifications_to_be_tested_with() -> None:
    assert set(SPECIFICATIONS) == set(SCHEMES)


# Batches, groups and handovers.


@st.composite
def workloads(draw: st.DrawFn, kind: type[wr.Scheme]) -> tuple[wr.Scheme, Clock, list[Sample], list[list[int]]]:
    """A scheme, a clock, a stream for each of some groups, and batches, which say whose tuple comes next."""
    scheme = draw(SPECIFICATIONS[kind])
    missing = False if scheme.nulls == "error" else None
    groups = draw(st.lists(samples(scheme, max_size=8, missing=missing, more=["v"]), min_size=1, max_size=3))
    arrivals = draw(st.permutations([g for g, sample in enumerate(groups) for _ in range(len(sample))]))
    cuts = sorted(draw(st.lists(st.integers(0, len(arrivals)), max_size=4)))
    bounds = zip([0, *cuts], [*cuts, len(arrivals)], strict=True)
    # Aggregate and Custom compile a loop per aggregate or rule; `test_schemes` frames floats by all schemes.
    clocks = [INTEGER] if kind in (wr.Aggregate, wr.Custom) else [INTEGER, FLOAT]
    return scheme, draw(st.sampled_from(clocks)), groups, [list(arrivals[a:b]) for a, b in bounds]


def batches_of(scheme: wr.Scheme, clock: Clock, groups: list[Sample], batches: list[list[int]]) -> Iterable[RowBatch]:
    """Batches of rows, each group's own in order."""
    positions = [iter(range(len(sample))) for sample in groups]
    for batch in batches:
        yield batch_of(scheme, clock, AGGREGATES, [(g, groups[g], next(positions[g])) for g in batch])


def by_group(parts: Iterable[Frames], n: int) -> list[list[Row]]:
    """All frames of each group in the order of their numbers."""
    rows = [row for part in parts for row in rows_of(part)]
    return [sorted((row for group, row in rows if group == g), key=lambda row: row.frame) for g in range(n)]


def assert_same(result: Sequence[list[Row]], expected: Sequence[list[Row]]) -> None:
    """Equal frames; their aggregates up to the rounding of floats, which are merged in another order."""
    assert [[row[:-1] for row in rows] for rows in result] == [[row[:-1] for row in rows] for rows in expected]
    for mine, theirs in zip(chain.from_iterable(result), chain.from_iterable(expected), strict=True):
        assert all(map(is_close, mine.aggregates, theirs.aggregates)), (mine, theirs)


def is_close(a: float | None, b: float | None) -> bool:
    return a == b or (a is not None and b is not None and math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12))


def alone(scheme: wr.Scheme, clock: Clock, groups: list[Sample]) -> list[list[Row]]:
    """Each group framed by itself, in one batch."""
    return [framed(scheme, clock, sample, AGGREGATES) for sample in groups]


@each_scheme
@FEWER
@given(data=st.data())
def test_any_cut_into_batches_and_any_mix_of_groups_gives_the_same_frames(
    kind: type[wr.Scheme], data: st.DataObject
) -> None:
    scheme, clock, groups, batches = data.draw(workloads(kind))
    framer = Framer(scheme, clock, TYPES, AGGREGATES)
    done = [framer.process(batch) for batch in batches_of(scheme, clock, groups, batches)]
    assert_same(by_group([*done, framer.finish()], len(groups)), alone(scheme, clock, groups))


@each_scheme
@FEWER
@given(data=st.data())
def test_state_can_be_handed_over_between_any_two_batches(kind: type[wr.Scheme], data: st.DataObject) -> None:
    scheme, clock, groups, batches = data.draw(workloads(kind))
    n = len(groups)
    everyone = np.arange(n)
    framer = Framer(scheme, clock, TYPES, AGGREGATES)
    framer.grow(n)
    done = []
    for batch in batches_of(scheme, clock, groups, batches):
        done.append(framer.process(batch))
        heir = Framer(scheme, clock, TYPES, AGGREGATES)
        # Each half of the groups is handed over by itself, one of them as bytes, in an order of its own.
        for half in np.array_split(np.array(data.draw(st.permutations(everyone.tolist()))), 2):
            state = framer.export(half)
            if half.size and half[0] == 0:
                state = unpack_state(unpack(pack(pack_state(state))), heir)
            heir.adopt(half, state)
        framer = heir
    assert_same(by_group([*done, framer.finish()], n), alone(scheme, clock, groups))


@each_scheme
@FEWER
@given(data=st.data())
def test_groups_end_or_are_forgotten_one_by_one(kind: type[wr.Scheme], data: st.DataObject) -> None:
    scheme, clock, groups, batches = data.draw(workloads(kind))
    framer = Framer(scheme, clock, TYPES, AGGREGATES)
    framer.grow(len(groups))
    done = [framer.process(batch) for batch in batches_of(scheme, clock, groups, batches)]
    ended = np.array([data.draw(st.integers(0, len(groups) - 1))])
    done += [framer.finish(ended)]
    assert not (framer.records.group == ended[0]).any()
    assert_same(by_group([*done, framer.finish()], len(groups)), alone(scheme, clock, groups))
    # A group that is forgotten starts over.
    framer.forget(np.arange(len(groups)))
    again = [framer.process(batch) for batch in batches_of(scheme, clock, groups, batches)]
    framer.forget(ended)
    rows = by_group([*again, framer.finish()], len(groups))
    assert all(row.closed_at is not None for row in rows[ended[0]])
    others = [g for g in range(len(groups)) if g != ended[0]]
    assert_same([rows[g] for g in others], alone(scheme, clock, [groups[g] for g in others]))


def examples_of(kind: type[wr.Scheme]) -> list[wr.Scheme]:
    """The queries by a scheme, over integers."""
    return [scheme for scheme in QUERIES.values() if type(scheme) is kind]


@each_scheme
def test_no_tuples_give_no_frames(kind: type[wr.Scheme]) -> None:
    nothing = traffic([], hit=[], stop=[], x=[], y=[], v=[], state=[])
    for scheme in examples_of(kind):
        assert framed(scheme, INTEGER, nothing) == []


# A spec is a value.


@each_scheme
@FEWER
@given(data=st.data())
def test_repr_gives_the_spec_back(kind: type[wr.Scheme], data: st.DataObject) -> None:
    scheme = data.draw(SPECIFICATIONS[kind])
    names = {**vars(wr), **vars(streams), **vars(rules)}
    assert eval(repr(scheme), names) == scheme


@each_scheme
@FEWER
@given(data=st.data())
def test_specs_are_equal_hashable_and_picklable_by_value(kind: type[wr.Scheme], data: st.DataObject) -> None:
    scheme = data.draw(SPECIFICATIONS[kind])
    for twin in (copy.deepcopy(scheme), pickle.loads(pickle.dumps(scheme))):
        assert twin == scheme
        assert hash(twin) == hash(scheme)
        assert repr(twin) == repr(scheme)


@pytest.mark.parametrize(
    "make",
    [
        lambda *names: wr.Boundary(dict.fromkeys(names, 1.0)),
        lambda *names: wr.Delta(dict.fromkeys(names, 1.0)),
        lambda *names: wr.Custom(["x"], **{**rules.RULES["highs"], "state": dict.fromkeys(names, 1.0)}),
    ],
    ids=["Boundary", "Delta", "Custom"],
)
def test_equal_specs_have_equal_hashes_whatever_the_order_of_their_names(make: Callable[..., wr.Scheme]) -> None:
    assert make("a", "b") == make("b", "a")
    assert hash(make("a", "b")) == hash(make("b", "a"))


@each_scheme
def test_specs_are_frozen(kind: type[wr.Scheme]) -> None:
    for scheme in examples_of(kind):
        for item in fields(scheme):
            with pytest.raises(FrozenInstanceError):
                setattr(scheme, item.name, None)


@each_scheme
def test_a_spec_says_where_it_comes_from_and_what_it_reads(kind: type[wr.Scheme]) -> None:
    assert examples_of(kind)
    assert kind.examples()
    for scheme in examples_of(kind):
        assert scheme.source
        reads = scheme.predicates or scheme.attributes or scheme.label_columns
        assert reads or scheme.longest_gap(INTEGER) < INTEGER.greatest
        widths = [label.width(TYPES[label.column]) for label in scheme.label_columns.values()]
        assert len(scheme.extras) + sum(widths) == scheme.bind(INTEGER, TYPES).labels


@each_scheme
def test_attributes_must_be_numbers(kind: type[wr.Scheme]) -> None:
    for scheme in examples_of(kind):
        for name in scheme.attributes:
            with pytest.raises(TypeMismatchError, match=f"expected a numeric column, got '{name}' of type string"):
                scheme.check(INTEGER, {**TYPES, name: pa.string()})
